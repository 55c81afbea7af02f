// SPDX-License-Identifier: Apache-2.0
#include "device/host_device.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "core/error.h"
#include "device_support.h"

namespace pkb {
namespace {

using Clock = std::chrono::steady_clock;

std::string unit_prefix() {
  return "pkb-unit-" + std::to_string(getpid());
}

/// Names in /dev/shm that begin so.
std::vector<std::string> left_over(const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().starts_with(prefix)) names.push_back(entry.path().filename());
  }
  return names;
}

/// A forked process. It must not touch the host runtime, whose threads stay behind in the parent.
class Child {
 public:
  explicit Child(const std::function<int()>& work) : pid_(fork()) {
    if (pid_ != 0) return;
    alarm(60);  // does not outlive a test that failed
    _exit(work());
  }
  pid_t pid() const { return pid_; }
  int wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
};

class Host : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = make_device(DeviceKind::host, 0, unit_prefix());
};

TEST_F(Host, HasFacts) {
  const DeviceFacts& facts = device_->facts();
  EXPECT_EQ(facts.kind, DeviceKind::host);
  EXPECT_FALSE(facts.name.empty());
  EXPECT_FALSE(facts.uuid.empty());
  EXPECT_GT(facts.sm_count, 0);
  EXPECT_GT(facts.total_bytes, 100 << 20);
  EXPECT_GT(device_->free_bytes(), 0);
  EXPECT_EQ(name_of(device_->kind()), "host");
  EXPECT_FALSE(facts.exclusive_process);
}

TEST_F(Host, CopiesAndFillsInStreamOrder) {
  const Stream stream = device_->create_stream();
  test::Buffer<unsigned char> a(*device_, 1000), b(*device_, 1000);
  device_->spin(20'000'000, stream);
  device_->fill_bytes(a.data(), 7, 1000, stream);
  device_->copy(b.data(), a.data(), 1000, stream);
  device_->fill_bytes(a.data(), 8, 1000, stream);
  device_->synchronize(stream);
  EXPECT_EQ(b.read(), std::vector<unsigned char>(1000, 7));
  EXPECT_EQ(a.read(), std::vector<unsigned char>(1000, 8));
  device_->destroy(stream);
}

TEST_F(Host, EventsMeasureWhatLiesBetween) {
  const Stream stream = device_->create_stream();
  const Event start = device_->create_event(), stop = device_->create_event();
  device_->record(start, stream);
  device_->spin(30'000'000, stream);
  device_->record(stop, stream);
  device_->synchronize(stream);
  EXPECT_GE(device_->elapsed_us(start, stop), 29'000);
  EXPECT_LT(device_->elapsed_us(start, stop), 3'000'000);
  device_->destroy(start);
  device_->destroy(stop);
  device_->destroy(stream);
}

TEST_F(Host, SaysWhyThereAreNoGraphs) {
  EXPECT_FALSE(device_->why_no_graphs().empty());
  EXPECT_THROW(device_->begin_capture(Stream{}), Error);
  device_->abandon_capture(Stream{});
  EXPECT_EQ(device_->take_error(), "");
}

TEST_F(Host, AllocationsAreAligned) {
  for (const std::size_t bytes : {0u, 1u, 255u, 257u}) {
    void* data = device_->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
    device_->free(data);
    MemoryHandle handle;
    void* shared = device_->allocate_shared(bytes, handle);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(shared) % 256, 0u);
    EXPECT_GE(handle.bytes, bytes);
    device_->free_shared(shared);
  }
}

// ---- shared memory

TEST_F(Host, AnotherProcessSharesMemoryAndNothingIsLeft) {
  MemoryHandle handle;
  auto* words = static_cast<uint32_t*>(device_->allocate_shared(4096, handle));
  EXPECT_EQ(words[1000], 0u);
  EXPECT_EQ(left_over(unit_prefix()).size(), 1u);
  const Child child([&] {
    auto* theirs = static_cast<uint32_t*>(map_shared_memory(handle.payload.data(), handle.bytes));
    theirs[0] = 42;
    std::atomic_ref(theirs[1]).store(1);
    while (std::atomic_ref(theirs[2]).load() == 0) std::this_thread::yield();  // the name is gone by then
    return theirs[3] == 43 ? 0 : 1;
  });
  while (std::atomic_ref(words[1]).load() == 0) std::this_thread::yield();
  device_->all_opened(words);
  EXPECT_EQ(left_over(unit_prefix()).size(), 0u);
  EXPECT_EQ(words[0], 42u);
  words[3] = 43;
  std::atomic_ref(words[2]).store(1);
  EXPECT_EQ(child.wait(), 0);
  device_->free_shared(words);
}

TEST_F(Host, OpensWhatAnotherProcessMade) {
  int to_parent[2], to_child[2];
  ASSERT_EQ(pipe(to_parent) + pipe(to_child), 0);
  const Child child([&] {
    uint64_t counter = 0;
    SharedMemory memory(unit_prefix(), counter, 4096);
    static_cast<char*>(memory.data())[256] = 5;
    char name[128] = {};
    memory.name().copy(name, sizeof(name) - 1);
    char go = 0;
    if (write(to_parent[1], name, sizeof(name)) != sizeof(name) || read(to_child[0], &go, 1) != 1) return 1;
    return static_cast<char*>(memory.data())[257] == 6 ? 0 : 2;
  });
  MemoryHandle handle{MemoryHandle::Kind::posix_shm, 4096, 256, {}};
  ASSERT_EQ(read(to_parent[0], handle.payload.data(), handle.payload.size()), 128);
  auto* data = static_cast<char*>(device_->open(handle));
  EXPECT_EQ(data[0], 5);
  EXPECT_EQ(device_->open(handle), data);  // one mapping, counted
  device_->close(data);
  data[1] = 6;
  device_->close(data);
  EXPECT_THROW(device_->close(data), Error);
  EXPECT_EQ(write(to_child[1], "", 1), 1);
  EXPECT_EQ(child.wait(), 0);
  for (const int descriptor : {to_parent[0], to_parent[1], to_child[0], to_child[1]}) ::close(descriptor);
}

TEST_F(Host, RefusesBadHandles) {
  MemoryHandle own;
  void* data = device_->allocate_shared(100, own);
  EXPECT_THROW(device_->open(own), Error);
  device_->free_shared(data);
  EXPECT_THROW(device_->open(own), Error);  // gone
  EXPECT_THROW(device_->open({MemoryHandle::Kind::cuda_ipc, 100, 0, {}}), Error);
  EXPECT_THROW(device_->open({MemoryHandle::Kind::posix_shm, 100, 100, {"/pkb-x"}}), Error);
  EXPECT_THROW(device_->free_shared(data), Error);
  EXPECT_THROW(device_->all_opened(data), Error);
  EXPECT_THROW(make_device(DeviceKind::host, 0, "a/b"), Error);
}

TEST_F(Host, RefusesAHandleThatClaimsTooMuch) {
  uint64_t counter = 1000;
  const SharedMemory memory(unit_prefix(), counter, 4096);
  EXPECT_THROW(map_shared_memory(memory.name(), 8192), Error);
}

TEST_F(Host, AFullSharedMemoryIsAMessage) {
  MemoryHandle handle;
  try {
    device_->allocate_shared(std::size_t{1} << 50, handle);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--shm-size"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("1073741824.0 MiB"), std::string::npos) << error.what();
  }
  EXPECT_EQ(left_over(unit_prefix()).size(), 0u);
}

TEST_F(Host, ADeviceTakesItsSharedMemoryAlong) {
  MemoryHandle handle;
  device_->allocate_shared(100, handle);
  EXPECT_EQ(left_over(unit_prefix()).size(), 1u);
  device_.reset();
  EXPECT_EQ(left_over(unit_prefix()).size(), 0u);
}

TEST(SharedMemorySweep, RemovesWhatDeadProcessesLeft) {
  const std::string prefix = unit_prefix() + "-sweep";
  const Child child([&] {
    uint64_t counter = 0;
    new SharedMemory(prefix, counter, 4096);  // dies without its destructor
    return 0;
  });
  ASSERT_EQ(child.wait(), 0);
  uint64_t counter = 0;
  const SharedMemory alive(prefix, counter, 4096);
  EXPECT_EQ(left_over(prefix).size(), 2u);
  sweep_shared_memory();
  EXPECT_EQ(left_over(prefix), std::vector<std::string>{alive.name().substr(1)});
}

TEST(SharedMemorySweep, LeavesWhatIsLockedOrNotOurs) {
  const Child child([] { return 0; });
  ASSERT_EQ(child.wait(), 0);
  const std::string dead = std::to_string(child.pid());
  // As seen from another container: the owner's process id says nothing, but it holds its lock.
  const std::string locked = unit_prefix() + "-" + dead + "-0";
  const std::string foreign = "unit-" + std::to_string(getpid()) + "-" + dead + "-0";
  const std::string malformed = unit_prefix() + "-" + dead + "-x-0";
  const std::string starting = unit_prefix() + "-" + std::to_string(getpid()) + "-0";  // not locked yet
  std::vector<int> descriptors;
  for (const std::string& name : {locked, foreign, malformed, starting}) {
    descriptors.push_back(shm_open(("/" + name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    ASSERT_GE(descriptors.back(), 0);
  }
  ASSERT_EQ(flock(descriptors[0], LOCK_SH), 0);
  sweep_shared_memory();
  for (const std::string& name : {locked, foreign, malformed, starting}) EXPECT_EQ(left_over(name).size(), 1u) << name;
  flock(descriptors[0], LOCK_UN);
  sweep_shared_memory();
  EXPECT_EQ(left_over(locked).size(), 0u);
  for (const std::string& name : {foreign, malformed, starting}) shm_unlink(("/" + name).c_str());
  for (const int descriptor : descriptors) ::close(descriptor);
}

// ---- barrier

struct Pads {
  explicit Pads(std::size_t members) : words(members, std::vector<uint64_t>(members)) {
    for (auto& pad : words) table.push_back(pad.data());
  }
  std::vector<std::vector<uint64_t>> words;
  std::vector<void*> table;
};

constexpr int64_t kLong = 20'000'000'000;

TEST(HostBarrier, NoThreadIsAhead) {
  constexpr int kMembers = 8, kRounds = 100;
  Pads pads(kMembers);
  std::vector<std::atomic<int>> rounds(kMembers);
  std::atomic<int> ahead = 0;
  std::vector<uint32_t> timed_out(kMembers, 0);
  std::vector<std::jthread> members;
  for (int self = 0; self < kMembers; ++self) {
    members.emplace_back([&, self] {
      for (int round = 1; round <= kRounds; ++round) {
        rounds[static_cast<std::size_t>(self)] = round;
        // Starts shortly before the sign bit and runs over it.
        align_members(pads.table, self, 0x7fffffc0u + static_cast<uint32_t>(round), kLong,
                      &timed_out[static_cast<std::size_t>(self)]);
        for (const auto& other : rounds) ahead += other < round;
      }
    });
  }
  // Pads start at 0, and 0x7fffffc1 counts as later than 0.
  members.clear();
  EXPECT_EQ(ahead, 0);
  EXPECT_EQ(timed_out, std::vector<uint32_t>(kMembers, 0));
}

TEST(HostBarrier, AlignsProcesses) {
  constexpr std::size_t kMembers = 4;
  uint64_t counter = 0;
  const SharedMemory memory(unit_prefix(), counter, 4096);
  auto* words = static_cast<uint64_t*>(memory.data());
  std::vector<void*> table;
  for (std::size_t member = 0; member < kMembers; ++member) table.push_back(words + 64 * member);
  auto* arrived = reinterpret_cast<uint32_t*>(words + 400);
  std::vector<Child> children;
  for (std::size_t self = 0; self < kMembers; ++self) {
    children.emplace_back([&, self] {
      uint32_t timed_out = 0;
      for (uint32_t epoch = 1; epoch <= 50; ++epoch) {
        std::atomic_ref(*arrived).fetch_add(1);
        align_members(table, static_cast<int>(self), epoch, kLong, &timed_out);
        if (std::atomic_ref(*arrived).load() < epoch * kMembers) return 1;
      }
      return timed_out == 0 ? 0 : 2;
    });
  }
  for (const Child& child : children) EXPECT_EQ(child.wait(), 0);
}

TEST_F(Host, BarrierOnAStreamWaitsForTheOther) {
  const Stream stream = device_->create_stream();
  Pads pads(2);
  uint32_t timed_out = 0, theirs = 0;
  test::Buffer<unsigned char> after(*device_, std::vector<unsigned char>{0});
  device_->barrier(pads.table, 0, 1, kLong, &timed_out, stream);
  device_->fill_bytes(after.data(), 9, 1, stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(*after.data(), 0);
  align_members(pads.table, 1, 1, kLong, &theirs);
  device_->synchronize(stream);
  EXPECT_EQ(*after.data(), 9);
  EXPECT_EQ(timed_out + theirs, 0u);
  device_->destroy(stream);
}

TEST_F(Host, BarrierGivesUpInTime) {
  const Stream stream = device_->create_stream();
  Pads pads(3);
  auto* timed_out = static_cast<uint32_t*>(device_->allocate_pinned(4));
  *timed_out = 0;
  const auto start = Clock::now();
  device_->barrier(pads.table, 1, 1, 50'000'000, timed_out, stream);
  device_->synchronize(stream);
  EXPECT_EQ(*timed_out, 1u);
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(50));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
  device_->free_pinned(timed_out);
  device_->destroy(stream);
}

TEST(MakeDevice, RefusesAGpuThatIsNotThere) {
  std::string why;
  const int count = cuda_device_count(why);
  EXPECT_EQ(why.empty(), count > 0);
  EXPECT_THROW(make_device(DeviceKind::cuda, count, "pkb-unit"), UsageError);
  EXPECT_THROW(make_device(DeviceKind::cuda, -1, "pkb-unit"), UsageError);
}

}  // namespace
}  // namespace pkb
