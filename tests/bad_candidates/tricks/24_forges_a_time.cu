// SPDX-License-Identifier: Apache-2.0
//
// Trick 24: answers for the worker with a time of its own, before the work is done.
// status: mismatch
// devices: host
// caught by: the rank stops the worker at a reply and compares the outputs of every timed call
#include <unistd.h>

#include "honest.cuh"

// A frame of the worker's protocol on the descriptor that a guess, or a look at /proc/self/fd, finds.
static void forge_reply(const char* body, uint64_t length) {
  const struct {
    uint32_t magic, type;
    uint64_t length;
  } header{0x31424b50, 32, length};
  char frame[256];
  memcpy(frame, &header, sizeof header);
  memcpy(frame + sizeof header, body, length);
  if (write(3, frame, sizeof header + length) < 0) perror("write");
}

static int calls;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  if (++calls == 24) {
    static const char body[] =
        "\x88\xa2ok\xc3\xa8"
        "event_us\x01\xa7"
        "wall_us\x01\xa7"
        "tail_us\x00\xa7"
        "call_us\x90"
        "\xae"
        "threads_before\x03\xad"
        "threads_after\x03\xac"
        "not_captured\xa0";
    forge_reply(body, sizeof body - 1);
    sleep(2);
  }
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
