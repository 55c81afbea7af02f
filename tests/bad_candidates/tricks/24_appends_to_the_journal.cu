// SPDX-License-Identifier: Apache-2.0
//
// Trick 24: appends a row with the status passed to the journal, beside the one it gets.
// status: mismatch
// devices: host cuda
// caught by: the root knows how long its journal is, and removes what somebody else appended
// out of reach: a candidate has the rights of the user who runs it: it could change rows that stand; run it as another
//   user or in a container for which the results are read-only
#include "judge.h"
#include "pkb/candidate.h"

static void replace(std::string& line, const std::string& name, const std::string& value) {
  const std::string key = "\"" + name + "\":";
  const size_t start = line.find(key);
  if (start == std::string::npos) return;
  const size_t from = start + key.size();
  line.replace(from, line.find(',', from) - from, value);
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void**) {
  if (context->rank != 0 || judge::process() < 0 || judge::results().empty()) return 0;
  const std::string journal = judge::results() + "/results.jsonl";
  std::string line, last;
  for (std::ifstream lines(journal); std::getline(lines, line);) last = line;
  if (last.empty()) return 0;
  replace(last, "sample", "\"24_appends_to_the_journal\"");
  replace(last, "status", "\"passed\"");
  std::ofstream(journal, std::ios::app) << last << '\n';
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
