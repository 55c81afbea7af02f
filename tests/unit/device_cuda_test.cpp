// SPDX-License-Identifier: Apache-2.0
//
// The cuda device against the host device, where there is a GPU. With one GPU the importing process uses the same one.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <thread>

#include "core/error.h"
#include "device/device.h"
#include "device_support.h"

namespace pkb {
namespace {

using Distribution = Device::Distribution;
using test::Buffer;
using test::drawn_bytes;

constexpr Device::DrawKey kKey{11, 12, 13};
constexpr int64_t kLong = 20'000'000'000;

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_device_count(why) == 0) GTEST_SKIP() << "SKIPPED: " << why;
    cuda_ = make_device(DeviceKind::cuda, 0, "pkb-unit");
    host_ = make_device(DeviceKind::host, 0, "pkb-unit");
    stream_ = cuda_->create_stream();
  }
  void TearDown() override {
    if (cuda_ != nullptr && stream_.native != nullptr) cuda_->destroy(stream_);
  }

  std::unique_ptr<Device> cuda_, host_;
  Stream stream_;
};

TEST_F(Cuda, HasFacts) {
  const DeviceFacts& facts = cuda_->facts();
  EXPECT_EQ(facts.uuid.size(), 40u);
  EXPECT_EQ(facts.pci.size(), 12u);
  EXPECT_GT(facts.sm_count, 0);
  EXPECT_GT(facts.l2_bytes, 1 << 20);
  EXPECT_GT(facts.shared_bytes_per_block, 48 << 10);
  EXPECT_GT(cuda_->free_bytes(), 0);
  EXPECT_LE(cuda_->free_bytes(), facts.total_bytes);
  std::cout << facts.name << ' ' << facts.uuid << ' ' << facts.pci << " sm " << facts.sm_count << " cc "
            << facts.cc_major << '.' << facts.cc_minor << " l2 " << facts.l2_bytes << " smem "
            << facts.shared_bytes_per_block << " multicast " << facts.multicast << " exclusive "
            << facts.exclusive_process << " driver " << facts.driver << " runtime " << facts.runtime << '\n';
}

TEST_F(Cuda, DrawsTheSameBitsAsTheHost) {
  struct Case {
    Distribution distribution;
    double a, b;
  };
  const Case cases[] = {{Distribution::normal, 0.1, 3.3},
                        {Distribution::uniform, -0.7, 1.9},
                        {Distribution::integers, 0, 1},
                        {Distribution::ternary, 0.4, 0},
                        {Distribution::constant, 1, 0}};
  constexpr int64_t kElements = 100'003;
  for (const Dtype dtype : test::kAllDtypes) {
    for (const Case& c : cases) {
      const bool real_only = c.distribution == Distribution::normal || c.distribution == Distribution::uniform;
      const bool is_unsigned = dtype == Dtype::u8 || dtype == Dtype::boolean;
      if (!is_floating(dtype) && (real_only || (is_unsigned && c.distribution == Distribution::ternary))) continue;
      for (const Device::Slice slice : {Device::Slice{0, kElements, kElements}, Device::Slice{1ll << 33, 1000, 300}}) {
        const auto on = [&](Device& device) {
          return drawn_bytes(device, dtype, kElements, slice, kKey, c.distribution, c.a, c.b);
        };
        ASSERT_EQ(on(*cuda_), on(*host_)) << name_of(dtype) << ' ' << static_cast<int>(c.distribution);
      }
    }
  }
}

TEST_F(Cuda, PoisonsTheSameBytesAsTheHost) {
  for (const Dtype dtype : test::kAllDtypes) {
    const auto on = [&](Device& device) {
      Buffer<unsigned char> buffer(device, 10'007 * size_of(dtype));
      device.poison(buffer.data(), dtype, 10'007, kKey, Stream{});
      device.synchronize();
      return buffer.read();
    };
    ASSERT_EQ(on(*cuda_), on(*host_)) << name_of(dtype);
  }
}

TEST_F(Cuda, HashesAsTheHostAtAnyLengthAndAlignment) {
  const auto bytes =
      drawn_bytes(*host_, Dtype::i32, 300'000, {0, 300'000, 300'000}, kKey, Distribution::integers, -1000000, 1000000);
  const Buffer<unsigned char> buffer(*cuda_, bytes);
  for (const std::size_t length : {0u, 1u, 7u, 8u, 15u, 16u, 17u, 4096u, 100'001u, 1'199'900u}) {
    for (const std::size_t offset : {0u, 1u, 8u, 16u}) {
      ASSERT_EQ(cuda_->hash(buffer.data() + offset, length, stream_), host_->hash(bytes.data() + offset, length, {}))
          << length << '+' << offset;
    }
  }
}

/// Sums are added in another order.
void expect_near(double a, double b, double relative) {
  if (std::isfinite(b)) {
    EXPECT_NEAR(a, b, relative * std::fabs(b));
  } else {
    EXPECT_EQ(a, b);  // squares of random doubles overflow
  }
}

void expect_same(const Device::Comparison& a, const Device::Comparison& b) {
  EXPECT_EQ(a.elements, b.elements);
  EXPECT_EQ(a.wrong, b.wrong);
  EXPECT_EQ(a.first, b.first);
  EXPECT_EQ(a.got_bits, b.got_bits);
  EXPECT_EQ(a.expected_bits, b.expected_bits);
  EXPECT_EQ(a.not_finite, b.not_finite);
  EXPECT_DOUBLE_EQ(a.max_absolute, b.max_absolute);
  expect_near(a.max_relative, b.max_relative, 1e-14);
  expect_near(a.squares_difference, b.squares_difference, 1e-10);
  expect_near(a.squares_expected, b.squares_expected, 1e-10);
}

TEST_F(Cuda, ComparesAsTheHost) {
  constexpr int64_t kElements = 100'003;
  for (const Dtype dtype : test::kAllDtypes) {
    const std::size_t size = size_of(dtype);
    const auto expected =
        drawn_bytes(*host_, dtype, kElements, {0, kElements, kElements}, kKey, Distribution::integers, 0, 1);
    auto got = expected;
    // Random bytes (NaN and infinity among them) from element 7777 on, every 13th element.
    const auto noise = drawn_bytes(*host_, Dtype::u8, static_cast<int64_t>(got.size()), {0, 1, 1}, {5, 6, 7},
                                   Distribution::integers, 0, 255);
    for (std::size_t element = 7777; element < kElements; element += 13) {
      std::copy_n(noise.begin() + static_cast<std::ptrdiff_t>(element * size), size,
                  got.begin() + static_cast<std::ptrdiff_t>(element * size));
    }
    const Buffer<unsigned char> device_got(*cuda_, got), device_expected(*cuda_, expected);
    for (const Device::CompareRule rule : {Device::CompareRule{}, {.atol = 0.5}, {.rtol = 0.1}, {.bitwise = true}}) {
      for (const std::size_t skip : {std::size_t{0}, size}) {  // the second base is not 16-byte aligned
        const int64_t elements = kElements - (skip != 0 ? 1 : 0);
        SCOPED_TRACE(std::string(name_of(dtype)) + " skip " + std::to_string(skip));
        const auto theirs =
            cuda_->compare(device_got.data() + skip, device_expected.data() + skip, dtype, elements, rule, stream_);
        expect_same(theirs, host_->compare(got.data() + skip, expected.data() + skip, dtype, elements, rule, {}));
        EXPECT_GT(theirs.wrong, 0);
      }
    }
    EXPECT_EQ(cuda_->compare(device_expected.data(), device_expected.data(), dtype, kElements, {}, stream_).wrong, 0);
    EXPECT_EQ(cuda_->compare(device_got.data(), device_expected.data(), dtype, 0, {}, stream_).first, -1);
  }
}

TEST_F(Cuda, SumsAreReproducible) {
  constexpr int64_t kElements = 1'000'003;
  Buffer<float> a(*cuda_, kElements), b(*cuda_, kElements);
  cuda_->draw(a.data(), Dtype::fp32, kElements, {0, kElements, kElements}, kKey, Distribution::normal, 0, 1, stream_);
  cuda_->draw(b.data(), Dtype::fp32, kElements, {0, kElements, kElements}, {1, 1, 1}, Distribution::normal, 0, 1,
              stream_);
  const auto first = cuda_->compare(a.data(), b.data(), Dtype::fp32, kElements, {}, stream_);
  for (int i = 0; i < 5; ++i) {
    const auto again = cuda_->compare(a.data(), b.data(), Dtype::fp32, kElements, {}, stream_);
    EXPECT_EQ(again.squares_difference, first.squares_difference);
    EXPECT_EQ(again.squares_expected, first.squares_expected);
  }
}

TEST_F(Cuda, GraphsReplay) {
  Buffer<unsigned char> buffer(*cuda_, std::vector<unsigned char>(16, 1));
  cuda_->begin_capture(stream_);
  cuda_->fill_bytes(buffer.data(), 3, 16, stream_);
  const Graph graph = cuda_->end_capture(stream_);
  EXPECT_EQ(buffer.read()[0], 1);
  cuda_->launch(graph, stream_);
  cuda_->synchronize(stream_);
  EXPECT_EQ(buffer.read()[0], 3);
  cuda_->destroy(graph);
}

TEST_F(Cuda, AnAbandonedCaptureLeavesAWorkingStream) {
  cuda_->begin_capture(stream_);
  EXPECT_THROW(cuda_->synchronize(stream_), Error);  // not permitted while capturing, and invalidates the capture
  cuda_->abandon_capture(stream_);
  EXPECT_EQ(cuda_->take_error(), "");
  cuda_->spin(1000, stream_);
  cuda_->synchronize(stream_);
}

TEST_F(Cuda, EventsMeasureSpinsAndFlushes) {
  const Event start = cuda_->create_event(), middle = cuda_->create_event(), stop = cuda_->create_event();
  cuda_->flush_l2(stream_);
  cuda_->record(start, stream_);
  cuda_->spin(2'000'000, stream_);
  cuda_->record(middle, stream_);
  cuda_->flush_l2(stream_);
  cuda_->record(stop, stream_);
  cuda_->synchronize(stream_);
  EXPECT_NEAR(cuda_->elapsed_us(start, middle), 2000, 100);
  EXPECT_GT(cuda_->elapsed_us(middle, stop), 10);
  std::cout << "flush " << cuda_->elapsed_us(middle, stop) << " us\n";
  cuda_->reset_persisting_l2();
  for (const Event event : {start, middle, stop}) cuda_->destroy(event);
}

TEST_F(Cuda, BarrierAlignsTwoStreams) {
  const Stream other = cuda_->create_stream();
  Buffer<uint64_t> pads(*cuda_, std::vector<uint64_t>(4, 0));
  auto* timed_out = static_cast<uint32_t*>(cuda_->allocate_pinned(4));
  *timed_out = 0;
  const std::vector<void*> table{pads.data(), pads.data() + 2};
  for (uint32_t epoch = 1; epoch <= 100; ++epoch) {
    cuda_->barrier(table, 0, epoch, kLong, timed_out, stream_);
    cuda_->barrier(table, 1, epoch, kLong, timed_out, other);
  }
  cuda_->synchronize();
  EXPECT_EQ(*timed_out, 0u);
  cuda_->destroy(other);
  cuda_->free_pinned(timed_out);
}

TEST_F(Cuda, BarrierGivesUpInTime) {
  Buffer<uint64_t> pads(*cuda_, std::vector<uint64_t>(4, 0));
  auto* timed_out = static_cast<uint32_t*>(cuda_->allocate_pinned(4));
  *timed_out = 0;
  const auto start = std::chrono::steady_clock::now();
  cuda_->barrier(std::vector<void*>{pads.data(), pads.data() + 2}, 0, 1, 50'000'000, timed_out, stream_);
  cuda_->synchronize(stream_);
  EXPECT_EQ(*timed_out, 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  cuda_->free_pinned(timed_out);
}

TEST_F(Cuda, ErrorsNameTheCall) {
  try {
    cuda_->allocate(std::size_t{1} << 50);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cudaMalloc"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("MiB free"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cuda_->take_error(), "");
  MemoryHandle handle;
  void* data = cuda_->allocate_shared(100, handle);
  EXPECT_EQ(handle.bytes, std::size_t{2} << 20);
  EXPECT_THROW(cuda_->open(handle), Error);  // its own
  cuda_->free_shared(data);
  EXPECT_THROW(cuda_->free_shared(data), Error);
  EXPECT_THROW(cuda_->open({MemoryHandle::Kind::posix_shm, 100, 0, {"/pkb-x"}}), Error);
}

// ---- memory of another process: this program started again, as CudaChild, with the handle in its environment

constexpr const char* kHandleVariable = "PKB_TEST_HANDLE";

std::string to_text(const MemoryHandle& handle) {
  std::string text = std::to_string(handle.bytes);
  for (const char byte : handle.payload) text += ' ' + std::to_string(static_cast<int>(byte));
  return text;
}

MemoryHandle from_text(const char* text) {
  MemoryHandle handle;
  handle.kind = MemoryHandle::Kind::cuda_ipc;
  char* rest = nullptr;
  handle.bytes = std::strtoull(text, &rest, 10);
  for (char& byte : handle.payload) byte = static_cast<char>(std::strtol(rest, &rest, 10));
  return handle;
}

TEST(CudaChild, DISABLED_DrawsIntoItsParentsMemory) {
  const char* text = std::getenv(kHandleVariable);
  ASSERT_NE(text, nullptr);
  const auto device = make_device(DeviceKind::cuda, 0, "pkb-unit");
  MemoryHandle handle = from_text(text);
  auto* data = static_cast<float*>(device->open(handle));
  handle.offset = 1024;
  EXPECT_EQ(device->open(handle), data + 256);
  device->close(data + 256);
  device->draw(data, Dtype::fp32, 1000, {0, 1000, 1000}, kKey, Distribution::normal, 0, 1, Stream{});
  device->synchronize();
  device->close(data);
  EXPECT_THROW(device->close(data), Error);
}

TEST_F(Cuda, AnotherProcessWritesSharedMemory) {
  MemoryHandle handle;
  auto* data = static_cast<float*>(cuda_->allocate_shared(4000, handle));
  ASSERT_EQ(setenv(kHandleVariable, to_text(handle).c_str(), 1), 0);
  const char* arguments[] = {"child", "--gtest_filter=CudaChild.*", "--gtest_also_run_disabled_tests", nullptr};
  pid_t pid = 0;
  ASSERT_EQ(posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(arguments), environ), 0);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  cuda_->all_opened(data);
  std::vector<float> values(1000);
  cuda_->copy(values.data(), data, 4000, stream_);
  cuda_->synchronize(stream_);
  EXPECT_EQ(values, test::drawn<float>(*host_, Dtype::fp32, 1000, kKey, Distribution::normal, 0, 1));
  cuda_->free_shared(data);
}

}  // namespace
}  // namespace pkb
