// SPDX-License-Identifier: Apache-2.0
//
// Trick 24: answers the rank itself, "all went well", on the descriptor of the worker.
// status: mismatch
// devices: host cuda
// caught by: a reply says that the call is over, not that its answers are right; the worker is stopped and the
//   outputs compared
#include <stdio.h>
#include <unistd.h>

#include "pkb/candidate.h"

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

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  forge_reply("\x81\xa2ok\xc3", 5);  // {"ok": true}
  return 0;
}

extern "C" void pkb_teardown(void*) {}
