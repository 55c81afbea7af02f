// SPDX-License-Identifier: Apache-2.0
#include "error_text.h"

#include <algorithm>
#include <array>

namespace pkb::hostcuda {

namespace {

struct Text {
  int code;
  const char* name;
  const char* description;
};

constexpr std::array kTexts = {
    Text{0, "cudaSuccess", "no error"},
    Text{1, "cudaErrorInvalidValue", "invalid argument"},
    Text{2, "cudaErrorMemoryAllocation", "out of memory"},
    Text{9, "cudaErrorInvalidConfiguration", "invalid launch configuration"},
    Text{13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    Text{98, "cudaErrorInvalidDeviceFunction", "not a kernel of this device"},
    Text{101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    Text{400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    Text{600, "cudaErrorNotReady", "not ready yet"},
    Text{704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    Text{719, "cudaErrorLaunchFailure", "a kernel failed"},
    Text{720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in a cooperative launch"},
    Text{801, "cudaErrorNotSupported", "not supported by the host device"},
};
constexpr Text kUnknown{999, "cudaErrorUnknown", "unknown error"};

const Text& find(int code) {
  const auto found = std::find_if(kTexts.begin(), kTexts.end(), [&](const Text& text) { return text.code == code; });
  return found == kTexts.end() ? kUnknown : *found;
}

}  // namespace

const char* error_name(int code) {
  return find(code).name;
}

const char* error_description(int code) {
  return find(code).description;
}

std::string error_text(ErrorCode code) {
  const Text& text = find(static_cast<int>(code));
  return std::string(text.name) + " (" + text.description + ")";
}

}  // namespace pkb::hostcuda
