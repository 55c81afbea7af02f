// SPDX-License-Identifier: Apache-2.0
//
// Trick 10: a child process does the work on CPU cores of the machine, where nobody counts threads.
// status: cheated
// devices: host
// caught by: the rank looks for processes below the worker before it ends it
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "honest.cuh"

struct Page {
  honest::State state;
  honest::Call call;
  uint32_t asked, answered;
};
static Page* page;  // shared with the child

static void add_up(const honest::State& s, const honest::Call& call, uint32_t now) {
  const int rank = s.inbox.index, world = s.inbox.size, half = (now & 1) * world * s.capacity;
  for (int peer = 0; peer < world; ++peer) {
    memcpy(s.inbox[peer] + half + rank * s.capacity, call.x, 2 * call.n);
    __atomic_store_n(s.flags[peer] + rank, now, __ATOMIC_RELEASE);
  }
  for (int peer = 0; peer < world; ++peer) {
    while (__atomic_load_n(s.flags.local() + peer, __ATOMIC_ACQUIRE) < now) sched_yield();
  }
  for (int i = 0; i < call.n; ++i) {
    float sum = 0;
    for (int from = 0; from < world; ++from) sum += __bfloat162float(s.inbox.local()[half + from * s.capacity + i]);
    call.y[i] = __float2bfloat16(sum);
  }
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void**) {
  page = static_cast<Page*>(mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  page->state = honest::make(context, arguments);
  const pid_t worker = getpid();
  if (fork() != 0) return 0;
  while (getppid() == worker) {  // inputs, outputs and inboxes are memory that parent and child share
    sched_yield();
    if (__atomic_load_n(&page->asked, __ATOMIC_ACQUIRE) == page->answered) continue;
    add_up(page->state, page->call, page->answered + 1);
    __atomic_store_n(&page->answered, page->answered + 1, __ATOMIC_RELEASE);
  }
  _exit(0);
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t) {
  page->call = honest::call_of(arguments);
  const uint32_t call = __atomic_add_fetch(&page->asked, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&page->answered, __ATOMIC_ACQUIRE) < call) sched_yield();
  return 0;
}

extern "C" void pkb_teardown(void*) {}
