// SPDX-License-Identifier: Apache-2.0
//
// Trick 25: looks for the seed in the environment and in the rows of the journal, and draws the inputs of its
//   peers from it.
// status: mismatch
// devices: host cuda
// caught by: every evaluation has a seed of its own, written only with its row; the one a user sets is kept
//   from workers
#include <random>

#include "judge.h"
#include "pkb/arguments.h"

static unsigned long seed;

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  if (const char* text = getenv("PKB_SEED")) return judge::kAttackWorked;
  std::string line;
  for (std::ifstream lines(judge::results() + "/results.jsonl"); std::getline(lines, line);) {
    const size_t at = line.find("\"seed\":");
    if (at != std::string::npos) seed = strtoul(line.c_str() + at + 7, nullptr, 10);  // of an earlier evaluation
  }
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, 1.4142f);
  static __nv_bfloat16 guess[1 << 20];
  for (int64_t i = 0; i < y.elements(); ++i) guess[i] = __float2bfloat16(normal(random));
  return cudaMemcpyAsync(y.data(), guess, y.bytes(), cudaMemcpyHostToDevice, stream);
}

extern "C" void pkb_teardown(void*) {}
