// SPDX-License-Identifier: Apache-2.0
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "team/launch.h"
#include "team/polling.h"
#include "team/team.h"

namespace pkb {
namespace {

constexpr auto kFinalizeLimit = std::chrono::seconds(10);

bool mpi_is_up() {
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  return initialised && !finalised;
}

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Transports that read a peer's memory, or its files under /proc, fail on ranks that are not dumpable. Users' settings
/// win.
void avoid_transports_through_proc() {
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  ::setenv("OMPI_MCA_smsc", "^cma", 0);
  ::setenv("UCX_TLS", "^cma", 0);
  ::setenv("UCX_POSIX_USE_PROC_LINK", "n", 0);
}

/// MPI_Finalize waits for every rank; after a while this rank goes without.
void finalize_within_limit(int exit_code) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread guard([&] {
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, kFinalizeLimit, [&] { return done; })) return;
    std::fputs("pkb: harness: MPI_Finalize did not finish within 10 s; leaving without it\n", stderr);
    ::_exit(exit_code);
  });
  MPI_Finalize();
  {
    const std::lock_guard lock(mutex);
    done = true;
  }
  changed.notify_one();
  guard.join();
}

}  // namespace

void make_undumpable() {
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) throw SystemError("prctl(PR_SET_DUMPABLE)", errno);
}

void abort_job(int code) {
  std::fflush(nullptr);
  if (mpi_is_up() && world_size() > 1) MPI_Abort(MPI_COMM_WORLD, code);
  ::_exit(code);
}

MpiSession::MpiSession(int& argc, char**& argv) : uncaught_(std::uncaught_exceptions()) {
  // MPI_Init adds to the environment, also when it found no launcher: look first.
  const Lookup before = environment_snapshot();
  avoid_transports_through_proc();
  int provided = 0;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw Error("MPI_Init_thread failed");
  const std::string why_alone = why_singleton(world_size(), before);
  if (why_alone.empty()) return;
  MPI_Finalize();
  throw UsageError(why_alone);
}

MpiSession::~MpiSession() {
  if (!mpi_is_up()) return;
  if (std::uncaught_exceptions() > uncaught_ && world_size() > 1) abort_job(kExitHarness);
  finalize_within_limit(exit_code_);
}

}  // namespace pkb
