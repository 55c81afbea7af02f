// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "worker/protocol.h"

namespace pkb::protocol {
namespace {

struct Header {
  uint32_t magic = kMagic;
  uint32_t type = 0;
  uint64_t length = 0;
};
static_assert(sizeof(Header) == 16);

constexpr std::size_t kChunk = 64 << 10;
constexpr int kMaximumDepth = 32;
constexpr int kMaximumValues = 4 << 20;

bool is_known(uint32_t type) {
  const auto in = [type](Type first, Type last) {
    return type >= static_cast<uint32_t>(first) && type <= static_cast<uint32_t>(last);
  };
  return in(Type::begin, Type::exchanged) || in(Type::reply, Type::exchange);
}

/// Walks a body before it is built: nesting costs stack and values cost memory, so both have a limit.
class BodyLimits final : public nlohmann::json_sax<Json> {
 public:
  const std::string& reason() const { return reason_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(Json::number_integer_t) override { return value(); }
  bool number_unsigned(Json::number_unsigned_t) override { return value(); }
  bool number_float(Json::number_float_t, const Json::string_t&) override { return value(); }
  bool string(Json::string_t&) override { return value(); }
  bool binary(Json::binary_t&) override { return value(); }
  bool key(Json::string_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    reason_ = "the body is no MessagePack (byte " + std::to_string(position) + ")";
    return false;
  }

 private:
  bool value() {
    if (++values_ <= kMaximumValues) return true;
    reason_ = "the body holds too many values";
    return false;
  }
  bool enter() {
    if (++depth_ > kMaximumDepth) {
      reason_ = "the body is nested too deeply";
      return false;
    }
    return value();
  }
  bool leave() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  int values_ = 0;
  std::string reason_;
};

/// Milliseconds for poll(2), rounded up; far deadlines are cut, callers loop.
int milliseconds_until(Clock::time_point deadline) {
  const Clock::time_point now = Clock::now();
  if (deadline <= now) return 0;
  constexpr auto kLongest = std::chrono::hours(1);
  if (deadline - now > kLongest) return static_cast<int>(std::chrono::milliseconds(kLongest).count());
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count());
}

/// Waits for the descriptor; false when the deadline passed.
bool wait_for(int descriptor, short events, Clock::time_point deadline) {
  while (true) {
    pollfd entry{descriptor, events, 0};
    const int ready = ::poll(&entry, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the following call reports it
    if (Clock::now() >= deadline) return false;
  }
}

ReadResult malformed(std::string reason) {
  return {ReadStatus::malformed, {}, std::move(reason)};
}

}  // namespace

Channel::Channel(int descriptor) : descriptor_(descriptor) {
  if (descriptor_ < 0) return;
  const int flags = ::fcntl(descriptor_, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor_, F_SETFL, flags | O_NONBLOCK) < 0) throw SystemError("channel", errno);
}

Channel::~Channel() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Channel::Channel(Channel&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), buffer_(std::move(other.buffer_)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

bool Channel::send(Type type, const Json& body, Clock::time_point deadline) {
  std::string bytes(sizeof(Header), '\0');
  Json::to_msgpack(body, bytes);
  const uint64_t length = bytes.size() - sizeof(Header);
  if (length > kMaximumBody) throw Error("a message of " + std::to_string(length) + " bytes is too long to send");
  const Header header{.magic = kMagic, .type = static_cast<uint32_t>(type), .length = length};
  std::memcpy(bytes.data(), &header, sizeof header);

  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(descriptor_, POLLOUT, deadline)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

ReadResult Channel::take_arrived() {
  while (true) {
    ReadResult result = parse();
    if (result.status != ReadStatus::timeout) return result;
    char chunk[kChunk];
    const ssize_t count = ::recv(descriptor_, chunk, sizeof chunk, MSG_DONTWAIT);
    if (count > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(count));
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return result;
    } else if (count == 0 || errno != EINTR) {
      return {ReadStatus::closed, {}, buffer_.empty() ? "" : "closed in the middle of a message"};
    }
  }
}

std::optional<ReadResult> Channel::poll() {
  ReadResult result = take_arrived();
  if (result.status == ReadStatus::timeout) return std::nullopt;
  return result;
}

ReadResult Channel::receive(Clock::time_point deadline) {
  while (true) {
    ReadResult result = take_arrived();
    if (result.status != ReadStatus::timeout || !wait_for(descriptor_, POLLIN, deadline)) return result;
  }
}

/// A frame that is malformed stays in the buffer: where the next one starts is unknown.
ReadResult Channel::parse() {
  Header header;
  if (buffer_.size() < sizeof header) return {ReadStatus::timeout, {}, ""};
  std::memcpy(&header, buffer_.data(), sizeof header);
  if (header.magic != kMagic) return malformed("the frame has no magic number");
  if (!is_known(header.type)) return malformed("unknown message type " + std::to_string(header.type));
  if (header.length > kMaximumBody) return malformed("a body of " + std::to_string(header.length) + " bytes");
  const std::size_t size = sizeof header + header.length;
  if (buffer_.size() < size) return {ReadStatus::timeout, {}, ""};

  const auto first = buffer_.cbegin() + sizeof header, last = buffer_.cbegin() + static_cast<std::ptrdiff_t>(size);
  BodyLimits limits;
  if (!Json::sax_parse(first, last, &limits, Json::input_format_t::msgpack)) return malformed(limits.reason());
  ReadResult result{ReadStatus::frame, {static_cast<Type>(header.type), Json::from_msgpack(first, last)}, ""};
  if (!result.frame.body.is_object()) return malformed("the body is no map");
  buffer_.erase(0, size);
  return result;
}

}  // namespace pkb::protocol
