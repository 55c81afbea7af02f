// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "evaluate/sha256.h"

namespace pkb {
namespace {

// The examples of FIPS 180-4's companion document, and the lengths around a block's end.
TEST(Sha256, AgreesWithPublishedDigests) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, EveryLengthAroundABlockDiffers) {
  EXPECT_EQ(sha256(std::string(64, 'x')).size(), 64U);
  for (std::size_t length = 54; length < 66; ++length) {
    EXPECT_NE(sha256(std::string(length, 'x')), sha256(std::string(length + 1, 'x'))) << length;
  }
}

}  // namespace
}  // namespace pkb
