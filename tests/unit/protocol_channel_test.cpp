// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "core/error.h"
#include "worker/protocol.h"

namespace pkb::protocol {
namespace {

using std::chrono::milliseconds;

Clock::time_point in(milliseconds time) {
  return Clock::now() + time;
}

std::string header(uint32_t magic, uint32_t type, uint64_t length) {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &magic, 4);
  std::memcpy(bytes.data() + 4, &type, 4);
  std::memcpy(bytes.data() + 8, &length, 8);
  return bytes;
}

std::string frame(const std::string& body, Type type = Type::reply) {
  return header(kMagic, static_cast<uint32_t>(type), body.size()) + body;
}

/// A channel whose other end the test writes and reads as bytes.
class ChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    channel_ = Channel(ends[0]);
    other_ = ends[1];
  }
  void TearDown() override { hang_up(); }
  void hang_up() {
    if (other_ >= 0) ::close(other_);
    other_ = -1;
  }
  void write(std::string_view bytes) const {
    ASSERT_EQ(::write(other_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  ReadResult after(std::string_view bytes) {
    write(bytes);
    return channel_.receive(in(milliseconds(2000)));
  }

  Channel channel_{-1};
  int other_ = -1;
};

TEST_F(ChannelTest, CarriesFramesBothWays) {
  Channel other(other_);
  other_ = -1;
  const Json body{{"text", std::string("\xff\0x", 3)}, {"values", {1, -2, 3.5}}, {"bytes", Json::binary({0, 255})}};
  ASSERT_TRUE(channel_.send(Type::setup, body, in(milliseconds(1000))));
  ASSERT_TRUE(channel_.send(Type::quit, Json::object(), in(milliseconds(1000))));
  const ReadResult first = other.receive(in(milliseconds(1000)));
  ASSERT_EQ(first.status, ReadStatus::frame);
  EXPECT_EQ(first.frame.type, Type::setup);
  EXPECT_EQ(first.frame.body, body);
  EXPECT_EQ(other.receive(in(milliseconds(1000))).frame.type, Type::quit);
  EXPECT_FALSE(other.poll().has_value());
}

TEST_F(ChannelTest, JoinsFramesThatArriveInPieces) {
  const std::string bytes = frame(std::string(1, '\x80')) + frame(std::string("\x81\xa1k\x07", 4), Type::exchange);
  for (std::size_t i = 0; i + 1 < 17; ++i) {
    write(bytes.substr(i, 1));
    EXPECT_FALSE(channel_.poll().has_value()) << i;
  }
  write(bytes.substr(16, 6));  // the end of the first and the beginning of the second
  const auto first = channel_.poll();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->frame.type, Type::reply);
  EXPECT_FALSE(channel_.poll().has_value());
  write(bytes.substr(22));
  const auto second = channel_.poll();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->frame.type, Type::exchange);
  EXPECT_EQ(second->frame.body, (Json{{"k", 7}}));
}

TEST_F(ChannelTest, CarriesLargeBodiesWhileTheOtherSideReads) {
  Channel other(other_);
  other_ = -1;
  const std::string text(6 << 20, 'x');
  std::thread reader([&] {
    const ReadResult read = other.receive(in(milliseconds(20000)));
    ASSERT_EQ(read.status, ReadStatus::frame);
    EXPECT_EQ(read.frame.body.at("text").get_ref<const std::string&>().size(), text.size());
  });
  EXPECT_TRUE(channel_.send(Type::bind, {{"text", text}}, in(milliseconds(20000))));
  reader.join();
}

TEST_F(ChannelTest, ReceivingEndsAtTheDeadline) {
  const auto start = Clock::now();
  EXPECT_EQ(channel_.receive(in(milliseconds(80))).status, ReadStatus::timeout);
  const auto took = Clock::now() - start;
  EXPECT_GE(took, milliseconds(80));
  EXPECT_LT(took, milliseconds(2000));
  write(header(kMagic, 32, 100));  // a frame that never ends is no frame
  EXPECT_EQ(channel_.receive(in(milliseconds(30))).status, ReadStatus::timeout);
}

TEST_F(ChannelTest, SendingToSomeoneWhoDoesNotReadEndsAtTheDeadline) {
  const auto start = Clock::now();
  EXPECT_FALSE(channel_.send(Type::bind, {{"text", std::string(8 << 20, 'x')}}, in(milliseconds(80))));
  EXPECT_LT(Clock::now() - start, milliseconds(5000));
}

TEST_F(ChannelTest, NoticesThatTheOtherSideIsGone) {
  write(frame(std::string(1, '\x80')) + "PK");
  hang_up();
  EXPECT_EQ(channel_.receive(in(milliseconds(1000))).status, ReadStatus::frame);
  const ReadResult end = channel_.receive(in(milliseconds(1000)));
  EXPECT_EQ(end.status, ReadStatus::closed);
  EXPECT_EQ(end.reason, "closed in the middle of a message");
  EXPECT_FALSE(channel_.send(Type::quit, Json::object(), in(milliseconds(1000))));
}

TEST_F(ChannelTest, RefusesAWrongMagicNumber) {
  const ReadResult read = after(header(0x12345678, 32, 1) + "\x80");
  EXPECT_EQ(read.status, ReadStatus::malformed);
  EXPECT_EQ(read.reason, "the frame has no magic number");
  EXPECT_EQ(channel_.receive(in(milliseconds(100))).status, ReadStatus::malformed) << "nothing after it can be trusted";
}

TEST_F(ChannelTest, RefusesUnknownTypes) {
  for (const uint32_t type : {0U, 12U, 31U, 34U, 0xFFFFFFFFU}) {
    TearDown();
    SetUp();
    EXPECT_EQ(after(header(kMagic, type, 1) + "\x80").status, ReadStatus::malformed) << type;
  }
}

TEST_F(ChannelTest, RefusesOversizedBodiesBeforeTheyArrive) {
  const ReadResult read = after(header(kMagic, 32, kMaximumBody + 1));
  EXPECT_EQ(read.status, ReadStatus::malformed);
  EXPECT_EQ(read.reason, "a body of 67108865 bytes");
  TearDown();
  SetUp();
  EXPECT_EQ(after(header(kMagic, 32, ~uint64_t{0})).status, ReadStatus::malformed);
}

TEST_F(ChannelTest, RefusesBodiesThatAreNoMessagePackMap) {
  for (const std::string& body :
       {std::string("\xc1", 1), std::string("\x81\xa1", 2), std::string("\x80\x80", 2), std::string(),
        std::string("\x07", 1), std::string("\x90", 1), std::string("\x81\x01\x02", 3)}) {
    TearDown();
    SetUp();
    EXPECT_EQ(after(frame(body)).status, ReadStatus::malformed) << testing::PrintToString(body);
  }
}

TEST_F(ChannelTest, RefusesDeepNesting) {
  const ReadResult read = after(frame("\x81\xa1k" + std::string(100'000, '\x91') + "\x01"));
  EXPECT_EQ(read.status, ReadStatus::malformed);
  EXPECT_EQ(read.reason, "the body is nested too deeply");
}

TEST_F(ChannelTest, RefusesMoreValuesThanAnyMessageNeeds) {
  std::string body("\x81\xa1k\xdd\x00\x50\x00\x00", 8);  // an array of 5 Mi
  body += std::string(0x500000, '\xc0');
  const std::string bytes = frame(body);
  std::thread writer([&] {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::write(other_, bytes.data() + sent, bytes.size() - sent);
      ASSERT_GT(count, 0);
      sent += static_cast<std::size_t>(count);
    }
  });
  const ReadResult read = channel_.receive(in(milliseconds(20000)));
  writer.join();
  EXPECT_EQ(read.status, ReadStatus::malformed);
  EXPECT_EQ(read.reason, "the body holds too many values");
}

TEST_F(ChannelTest, RandomBytesNeverDoHarm) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    TearDown();
    SetUp();
    std::string body(random() % 64, '\0');
    for (char& c : body) c = static_cast<char>(random());
    const uint64_t length = round % 3 == 0 ? random() % 80 : body.size();
    write(header(round % 5 == 0 ? static_cast<uint32_t>(random()) : kMagic, 32 + static_cast<uint32_t>(random() % 2),
                 length) +
          body);
    hang_up();
    for (int i = 0; i < 4; ++i) {
      const ReadResult read = channel_.receive(in(milliseconds(1000)));
      ASSERT_NE(read.status, ReadStatus::timeout);
      ASSERT_TRUE(read.status != ReadStatus::frame || read.frame.body.is_object());
    }
  }
}

TEST_F(ChannelTest, FlippedBitsInAGoodFrameNeverDoHarm) {
  std::string body;
  Json::to_msgpack(Json(TimeReply{.event_us = 1.5, .call_us = {1, 2, 3}, .not_captured = "no"}), body);
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    TearDown();
    SetUp();
    std::string bytes = frame(body);
    bytes[random() % bytes.size()] ^= static_cast<char>(1U << random() % 8);
    write(bytes);
    hang_up();
    const ReadResult read = channel_.receive(in(milliseconds(1000)));
    if (read.status != ReadStatus::frame) continue;
    try {
      check_reply(Type::time, Json(TimeRequest{TimeRequest::Mode::each, {0, 1, 2}, true}), read.frame.body);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("malformed message: "), 0U) << error.what();
    }
  }
}

TEST_F(ChannelTest, RefusesToSendWhatTheOtherSideWouldRefuse) {
  EXPECT_THROW(channel_.send(Type::bind, {{"text", std::string(kMaximumBody + 1, 'x')}}, in(milliseconds(10))), Error);
}

TEST(Channel, WithoutDescriptorIsClosed) {
  Channel channel(-1);
  EXPECT_EQ(channel.receive(in(milliseconds(10))).status, ReadStatus::closed);
  EXPECT_FALSE(channel.send(Type::quit, Json::object(), in(milliseconds(10))));
}

}  // namespace
}  // namespace pkb::protocol
