// SPDX-License-Identifier: Apache-2.0
#include "options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "core/error.h"
#include "options/option_table.h"

namespace pkb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Options parse(std::vector<std::string> arguments, Program program = Program::runner) {
  return parse_options(program, arguments);
}

std::string error_of(std::vector<std::string> arguments, Program program = Program::runner) {
  try {
    parse_options(program, arguments);
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "no error";
}

TEST(Options, Defaults) {
  const Options options = parse({});
  EXPECT_TRUE(options.selection.suites.empty() && options.selection.problems.empty() &&
              options.selection.levels.empty());
  EXPECT_TRUE(options.selection.domains.empty() && options.selection.exclude.empty());
  EXPECT_EQ(options.size, "");
  EXPECT_FALSE(options.device.has_value());
  EXPECT_EQ(options.candidate, "shipped");
  EXPECT_EQ(options.trials, 5);
  EXPECT_EQ(options.warmup, 500);
  EXPECT_EQ(options.iterations, 100);
  EXPECT_EQ(options.time_budget_s, 2);
  EXPECT_THAT(options.timing, ElementsAre("stream"));
  EXPECT_EQ(options.io, "private");
  EXPECT_EQ(options.timeout_s, 60);
  EXPECT_TRUE(options.out.empty() && options.resume.empty() && options.dump.empty() && options.catalogue.empty());
  EXPECT_FALSE(options.list || options.dry_run || options.verbose || options.skew || options.multicast ||
               options.help || options.version);
}

TEST(Options, EveryOptionReachesItsField) {
  const Options options = parse({"--suite=tp",
                                 "--problem",
                                 "13",
                                 "--level",
                                 "2-3,5",
                                 "--domain",
                                 "llm",
                                 "--exclude",
                                 "1-2",
                                 "--size",
                                 "large",
                                 "--set",
                                 "M=4096,N=1e3",
                                 "--device",
                                 "cuda",
                                 "--candidate",
                                 "dir/with,comma",
                                 "--trials",
                                 "7",
                                 "--warmup",
                                 "0",
                                 "--repeat",
                                 "3",
                                 "--iterations",
                                 "20",
                                 "--time-budget",
                                 "0.5",
                                 "--timing",
                                 "graph,isolated",
                                 "--io",
                                 "symmetric",
                                 "--seed",
                                 "18446744073709551615",
                                 "--out",
                                 "o",
                                 "--dump",
                                 "d",
                                 "--list",
                                 "--dry-run",
                                 "--timeout",
                                 "5",
                                 "--catalogue",
                                 "c.yaml",
                                 "--profile",
                                 "H200",
                                 "--skew",
                                 "--multicast",
                                 "--verbose"});
  EXPECT_THAT(options.selection.suites, ElementsAre("tp"));
  EXPECT_THAT(options.selection.problems, ElementsAre("13"));
  EXPECT_THAT(options.selection.levels, ElementsAre(2, 3, 5));
  EXPECT_THAT(options.selection.domains, ElementsAre("llm"));
  EXPECT_THAT(options.selection.exclude, ElementsAre("1-2"));
  EXPECT_EQ(options.size, "large");
  EXPECT_THAT(options.overrides, ElementsAre(std::pair{"M", 4096.0}, std::pair{"N", 1000.0}));
  EXPECT_EQ(options.device, DeviceKind::cuda);
  EXPECT_EQ(options.candidate, "dir/with,comma");
  EXPECT_EQ(options.trials, 7);
  EXPECT_EQ(options.warmup, 0);
  EXPECT_EQ(options.iterations, 20);
  EXPECT_EQ(options.repeat, 3);
  EXPECT_EQ(options.time_budget_s, 0.5);
  EXPECT_THAT(options.timing, ElementsAre("graph", "isolated"));
  EXPECT_EQ(options.io, "symmetric");
  EXPECT_EQ(options.seed, 18446744073709551615u);
  EXPECT_EQ(options.out, "o");
  EXPECT_EQ(options.dump, "d");
  EXPECT_EQ(options.timeout_s, 5);
  EXPECT_EQ(options.catalogue, "c.yaml");
  EXPECT_EQ(options.profile, "H200");
  EXPECT_TRUE(options.list && options.dry_run && options.skew && options.multicast && options.verbose);
  EXPECT_EQ(parse({"--resume", "r"}).resume, "r");
  EXPECT_EQ(parse({"--device", "host"}).device, DeviceKind::host);
  EXPECT_FALSE(parse({"--device", "host", "--device", "auto"}).device.has_value());
}

TEST(Options, ListsAreSplitAndGrowSingleValuesAreReplaced) {
  const Options options = parse({"--suite", "tp,sp", "--suite", "ep", "--set", "M=1", "--set", "M=2", "--trials", "3",
                                 "--trials", "4", "--timing", "graph", "--timing", "stream,graph"});
  EXPECT_THAT(options.selection.suites, ElementsAre("tp", "sp", "ep"));
  EXPECT_THAT(options.overrides, ElementsAre(std::pair{"M", 2.0}));
  EXPECT_EQ(options.trials, 4);
  EXPECT_THAT(options.timing, ElementsAre("graph", "stream"));
}

TEST(Options, UnknownNamesGetTheNearest) {
  EXPECT_EQ(error_of({"--problm", "13"}), "unknown option --problm; did you mean --problem?");
  EXPECT_EQ(error_of({"--time_budget=3"}), "unknown option --time_budget; did you mean --time-budget?");
  EXPECT_EQ(error_of({"--zzzzzz"}), "unknown option --zzzzzz; see --help");
  EXPECT_EQ(error_of({"--prob", "13"}), "unknown option --prob; did you mean --problem?");  // no silent abbreviations
  EXPECT_THAT(error_of({"-suite", "tp"}), HasSubstr("unknown option -s"));
  EXPECT_EQ(error_of({"--device", "cud"}), "--device is one of auto, cuda, host, not 'cud'; did you mean cuda?");
  EXPECT_EQ(error_of({"--timing", "stream,grpah"}),
            "--timing is one of stream, isolated, graph, not 'grpah'; did you mean graph?");
  EXPECT_EQ(error_of({"--io", "x"}), "--io is one of private, symmetric, not 'x'");
}

TEST(Options, WrongValuesSayWhatIsNeeded) {
  for (const char* value : {"0", "-1", "x", "1.5", "5x", " 5", "99999999999"}) {
    EXPECT_EQ(error_of({std::string("--trials=") + value}),
              std::string("--trials needs a whole number of at least 1, not '") + value + "'");
  }
  EXPECT_THAT(error_of({"--warmup=-1"}), HasSubstr("--warmup needs a whole number of at least 0"));
  EXPECT_THAT(error_of({"--iterations=0"}), HasSubstr("--iterations needs a whole number of at least 1"));
  for (const char* value : {"-1", "nan", "inf", "1s"}) {
    EXPECT_THAT(error_of({std::string("--time-budget=") + value}), HasSubstr("--time-budget needs seconds, 0 or more"));
  }
  EXPECT_THAT(error_of({"--timeout", "0"}), HasSubstr("--timeout needs seconds, more than 0"));
  EXPECT_THAT(error_of({"--seed=-1"}), HasSubstr("--seed needs a whole number"));
  for (const char* value : {"M", "=1", "M=", "M=x", "M=1,,N=2", "M=inf"}) {
    EXPECT_THAT(error_of({"--set", value}), HasSubstr("--set needs PARAMETER=NUMBER")) << value;
  }
  for (const char* value : {"x", "3-1", "1-", "1,,2"}) {
    EXPECT_THAT(error_of({"--level", value}), HasSubstr("--level needs levels")) << value;
  }
  EXPECT_THAT(error_of({"--suite", "tp,"}), HasSubstr("--suite needs names separated by commas"));
}

TEST(Options, SyntaxErrorsAreOneLineOfPkb) {
  EXPECT_EQ(error_of({"--trials"}), "--trials needs a value; see --help");
  EXPECT_EQ(error_of({"--trials="}), "--trials needs a value; see --help");
  EXPECT_EQ(error_of({"--trials", "--list"}), "--trials needs a value; see --help");
  EXPECT_EQ(error_of({"--list=yes"}), "--list takes no value");
  EXPECT_THAT(error_of({"tp"}), HasSubstr("unexpected argument 'tp'; usage: mpirun"));
  EXPECT_THAT(error_of({"--out", "a", "--resume", "b"}), HasSubstr("--out and --resume exclude each other"));
}

TEST(Options, HelpAndVersionWinOverWhatIsWrongTogether) {
  EXPECT_TRUE(parse({"--help", "--out", "a", "--resume", "b"}).help);
  EXPECT_TRUE(parse({"-h"}).help);
  EXPECT_TRUE(parse({"--version"}).version);
}

TEST(Options, ToolsHaveTheirOwn) {
  const Options list = parse({"--suite", "tp", "--world", "8", "-v", "--profile", "B200"}, Program::list);
  EXPECT_EQ(list.world, 8);
  EXPECT_TRUE(list.verbose);
  EXPECT_THAT(parse({"13"}, Program::show).arguments, ElementsAre("13"));
  EXPECT_EQ(error_of({"--trials", "3"}, Program::list), "unknown option --trials; see --help");
  EXPECT_EQ(error_of({}, Program::show),
            "needs a problem, such as 13 or gemm_allreduce; usage: pkb show PROBLEM [options]");
  EXPECT_THAT(error_of({"a", "b"}, Program::results), HasSubstr("unexpected argument 'b'"));
  EXPECT_THAT(error_of({"--world", "0"}, Program::list), HasSubstr("--world needs a whole number of at least 1"));
}

class Help : public ::testing::TestWithParam<Program> {};

TEST_P(Help, ListsEveryOptionOnceWithinAHundredColumns) {
  const std::string help = help_text(GetParam());
  std::multiset<std::string> first_words;
  std::istringstream stream(help);
  for (std::string line; std::getline(stream, line);) {
    EXPECT_LE(line.size(), 100u) << line;
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "-h" || word == "-v") words >> word >> word;  // "-h [ --help ]"
    if (word.starts_with("--") && line.starts_with("  -")) first_words.insert(word);
  }
  std::size_t expected = 0;
  for (const OptionSpec& spec : option_table()) {
    if ((spec.programs & static_cast<unsigned>(GetParam())) == 0) continue;
    ++expected;
    EXPECT_EQ(first_words.count(std::string("--") + spec.name), 1u) << spec.name;
  }
  EXPECT_EQ(first_words.size(), expected);
}

INSTANTIATE_TEST_SUITE_P(EveryProgram, Help,
                         ::testing::Values(Program::runner, Program::list, Program::show, Program::columns,
                                           Program::results, Program::version));

TEST(HelpText, HasGroupsAndDefaults) {
  const std::string help = help_text(Program::runner);
  for (const char* part :
       {"usage: mpirun", "Selection", "Device", "Protocol", "Output", "(default 500)", "(default 5)"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

TEST(Options, AreRecordedWithTheirValues) {
  const auto record = to_record(parse({"--suite", "tp", "--set", "M=2", "--device", "host", "--time-budget", "0.5"}));
  EXPECT_EQ(record.at("suite"), nlohmann::ordered_json({"tp"}));
  EXPECT_EQ(record.at("set").at("M"), 2.0);
  EXPECT_EQ(record.at("device"), "host");
  EXPECT_EQ(record.at("time_budget"), 0.5);
  EXPECT_EQ(record.at("trials"), 5);
  EXPECT_TRUE(record.at("size").is_null());
  EXPECT_FALSE(record.contains("out"));
}

}  // namespace
}  // namespace pkb
