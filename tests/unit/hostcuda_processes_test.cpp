// SPDX-License-Identifier: Apache-2.0
//
// Ranks as processes that share memory. A process that has used the runtime cannot fork and go on using it, so the
// ranks are this program started anew.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "hostcuda_support.h"

namespace pkb::hostcuda::testing {
namespace {

constexpr int kElements = 16 * 64;
constexpr std::size_t kSlotBytes = 64 << 10;

/// A POSIX shared-memory object without a name, which child processes inherit as a descriptor.
class SharedMemory {
 public:
  explicit SharedMemory(int descriptor, std::size_t bytes) : bytes_(bytes) {
    void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (address == MAP_FAILED) throw std::runtime_error("mmap");
    address_ = static_cast<char*>(address);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { munmap(address_, bytes_); }

  static int create(std::size_t bytes) {
    const std::string name = "/pkb_hostcuda_test." + std::to_string(getpid());
    const int descriptor = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    shm_unlink(name.c_str());
    if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("shm_open");
    fcntl(descriptor, F_SETFD, 0);
    return descriptor;
  }
  char* address() const { return address_; }

 private:
  std::size_t bytes_;
  char* address_ = nullptr;
};

std::size_t bytes_for(int world) {
  return static_cast<std::size_t>(world) * 2 * kSlotBytes;
}

/// Runs this program's test RankOf.DISABLED_<name> in a process a rank, and returns how each ended.
std::vector<int> run_ranks(const std::string& name, int world, bool by_fence = false) {
  const int descriptor = SharedMemory::create(bytes_for(world));
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < world; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("WORLD", std::to_string(world).c_str(), 1);
      setenv("MEMORY", std::to_string(descriptor).c_str(), 1);
      setenv("BY_FENCE", by_fence ? "1" : "0", 1);
      alarm(60);  // nothing hangs
      execl("/proc/self/exe", "rank", ("--gtest_filter=RankOf.DISABLED_" + name).c_str(),
            "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr);
      _exit(127);
    }
    ranks.push_back(child);
  }
  std::vector<int> ends;
  for (const pid_t rank : ranks) {
    int status = 0;
    waitpid(rank, &status, 0);
    ends.push_back(status);
  }
  close(descriptor);
  return ends;
}

void expect_all_good(const std::vector<int>& ends) {
  for (std::size_t rank = 0; rank < ends.size(); ++rank) EXPECT_EQ(ends[rank], 0) << "rank " << rank;
}

TEST(HostCudaProcesses, AllReduceByAcquireAndRelease) {
  expect_all_good(run_ranks("AllReduce", 2));
}
TEST(HostCudaProcesses, AllReduceByVolatileAndFences) {
  expect_all_good(run_ranks("AllReduce", 2, true));
}
TEST(HostCudaProcesses, AllReduceOfEight) {
  expect_all_good(run_ranks("AllReduce", 8));
}
TEST(HostCudaProcesses, CostOfAnAllReduce) {
  expect_all_good(run_ranks("Cost", 2));
}

TEST(HostCudaProcesses, ASegmentationFaultEndsTheProcess) {
  const int status = run_ranks("Fault", 1).front();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

// ---- what the ranks run

class RankOf : public ::testing::Test {
 protected:
  using AllReduce = int(void**, void**, int, int, const float*, float*, int, unsigned, int, int);

  RankOf() {
    for (int r = 0; r < world_; ++r) {
      flags_.push_back(memory_.address() + bytes_for(r));
      slots_.push_back(memory_.address() + bytes_for(r) + kSlotBytes);
    }
    for (int i = 0; i < kElements; ++i) x_[static_cast<std::size_t>(i)] = static_cast<float>(i * (rank_ + 1));
  }
  int run(unsigned first_epoch, int rounds) {
    return run_(flags_.data(), slots_.data(), rank_, world_, x_.data(), y_.data(), kElements, first_epoch, rounds,
                number("BY_FENCE"));
  }
  static int number(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr) throw std::runtime_error("this test is a rank of another");
    return std::atoi(text);
  }

  int rank_ = number("RANK"), world_ = number("WORLD");
  SharedMemory memory_{number("MEMORY"), bytes_for(world_)};
  Module module_{"exchange"};
  AllReduce* run_ = module_.get<AllReduce>("run_all_reduce");
  std::vector<void*> flags_, slots_;
  std::vector<float> x_ = std::vector<float>(kElements), y_ = x_;
};

TEST_F(RankOf, DISABLED_AllReduce) {
  const int rounds = 3;
  for (int call = 0; call < 10; ++call) {
    ASSERT_EQ(run(static_cast<unsigned>(1 + call * 2 * rounds), rounds), kSuccess);
    for (int i = 0; i < kElements; ++i) {
      ASSERT_EQ(y_[static_cast<std::size_t>(i)],
                static_cast<float>(i * world_ * (world_ + 1) / 2 + world_ * (rounds - 1)));
    }
  }
}

TEST_F(RankOf, DISABLED_Cost) {
  const int rounds = 200;
  ASSERT_EQ(run(1, 10), kSuccess);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run(21, rounds), kSuccess);
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / rounds;
  if (rank_ == 0) std::printf("all-reduce iteration of 16 blocks x 64 threads, two processes: %.3f ms\n", ms);
  EXPECT_LT(ms, 20) << "a generous bound: 1 ms where nothing else runs";
}

TEST_F(RankOf, DISABLED_Fault) {
  flags_[0] = nullptr;
  run(1, 1);
}

}  // namespace
}  // namespace pkb::hostcuda::testing
