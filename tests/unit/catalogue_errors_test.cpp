// SPDX-License-Identifier: Apache-2.0
//
// Every kind of mistake in problems.yaml ends in one line that says where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "catalogue_text.h"

namespace pkb {
namespace {

using ::testing::HasSubstr;
using testing::load_error;
using testing::load_text;

const char* const kGood = R"yaml(schema_version: 1
profiles:
  H100: {match: ["NVIDIA H100"], memory_bandwidth: 3e12, link_bandwidth: 450e9, l2_bytes: 5e7, peak: {fp32: 67e12}}
suites: {tp: tensor parallelism}
problems:
  - id: 13
    name: gemm_allreduce
    title: A matrix product
    suites: [tp]
    domain: llm
    level: 3
    world: [W >= 2, "mod(K, W) == 0"]
    params: {M: 64, N: 32, K: 24, eps: 1.0}
    let: {half: M/2}
    sizes: {smoke: {M: 8}}
    sweep: {M: [1, 2]}
    groups:
      pair: {color: floor(r/2)}
    inputs:
      - {name: A, dtype: bf16, shape: [M, K/W], draw: "normal(0, 1)"}
      - {name: B, dtype: bf16, shape: [K, N], draw: "normal(0, K^-0.5)", scope: replicated}
      - {name: S, dtype: bf16, shape: [K, N], draw: custom, scope: slice, slice_axis: 1}
    scalars: {root: 0, options: [1, 2]}
    outputs:
      - {name: C, dtype: bf16, shape: [M, N], atol: 1e-2, agree: bitwise}
      - {name: B, dtype: bf16, shape: [K, N]}
    inplace: [B]
    cases:
      - {name: other_root, scalars: {root: W-1}, tolerance: exact}
      - {name: thin, params: {K: 2*W}, draws: {A: ternary(1)}}
    controls:
      - {right: input, output: C, case: thin, when: r == root, why: it is}
    phases:
      - {name: all, flops: 2*M*N*K, precision: fp32, mem: M*N, comm: M*N}
    algbw: M*N
    busbw: (W-1)/W
)yaml";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw Error("the test's text has no " + from);
  return text.replace(at, from.size(), to);
}

struct Mistake {
  const char* from;
  const char* to;
  int line;             ///< where the error must be
  const char* message;  ///< what stands after "problems.yaml:LINE: "
};

void PrintTo(const Mistake& mistake, std::ostream* stream) {
  *stream << mistake.to;
}

class Mistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreReportedWithTheirLine) {
  const Mistake& mistake = GetParam();
  EXPECT_EQ(load_error(replaced(kGood, mistake.from, mistake.to)),
            "problems.yaml:" + std::to_string(mistake.line) + ": " + mistake.message);
}

INSTANTIATE_TEST_SUITE_P(
    File, Mistakes,
    ::testing::Values(
        Mistake{"schema_version: 1", "schema_version: 2", 1, "schema_version 2 is not known; this program reads 1"},
        Mistake{"schema_version: 1", "schema_version: one", 1, "`schema_version` must be a whole number, not \"one\""},
        Mistake{"schema_version: 1", "# nothing", 2, "`schema_version` is missing"},
        Mistake{"suites: {tp", "suits: {tp", 4, "unknown key suits, did you mean suites?"},
        Mistake{"suites: {tp", "suites: {all: x, tp", 4, "the suite all is there without being named"},
        Mistake{"suites: {tp: tensor parallelism}", "suites: [tp]", 4, "`suites` must be a map, not a list"},
        Mistake{"link_bandwidth: 450e9", "link: 450e9", 3,
                "profile H100: unknown key link, did you mean link_bandwidth?"},
        Mistake{"link_bandwidth: 450e9, ", "", 3, "profile H100: `link_bandwidth` is missing"},
        Mistake{"450e9", "-1", 3, "profile H100: `link_bandwidth` must be positive"},
        Mistake{"450e9", "fast", 3, "profile H100: `link_bandwidth` must be a number, not \"fast\""},
        Mistake{"fp32: 67e12", "fp32: 0", 3, "profile H100: `fp32` must be positive"}));

INSTANTIATE_TEST_SUITE_P(
    Heading, Mistakes,
    ::testing::Values(
        Mistake{"id: 13", "id: x", 6, "problem x: `id` must be a whole number, not \"x\""},
        Mistake{"id: 13", "id: 0", 6, "problem 0: `id` must be between 1 and 9999"},
        Mistake{"    title: A matrix product\n", "", 6, "problem 13: `title` is missing"},
        Mistake{"title: A matrix product", "title: [x]", 8, "problem 13: `title` must be a text, not a list"},
        Mistake{"title: A matrix product", "tilte: A", 8, "problem 13: unknown key tilte, did you mean title?"},
        Mistake{"level: 3", "level: 3\n    level: 4", 12, "problem 13: `level` stands there twice"},
        Mistake{"level: 3", "level: 10", 11, "problem 13: `level` must be between 1 and 9"},
        Mistake{"name: gemm_allreduce", "name: ge-mm", 7,
                "problem 13: `name` names a folder: letters, digits and _ only"},
        Mistake{"suites: [tp]", "suites: [tq]", 9, "problem 13: unknown suite tq, did you mean tp?"},
        Mistake{"suites: [tp]", "suites: [tp, tp]", 9, "problem 13: `suites` lists tp twice"},
        Mistake{"suites: [tp]", "suites: tp", 9, "problem 13: `suites` must be a list, not a single value"},
        Mistake{"M: 64, N", "W: 64, N", 13, "problem 13: \"W\" cannot be a name in expressions"},
        Mistake{"M: 64, N", "M: 64, floor: 1, N", 13, "problem 13: \"floor\" cannot be a name in expressions"},
        Mistake{"half: M/2", "K: M/2", 14, "problem 13: K is a parameter already"},
        Mistake{"smoke: {M: 8}", "smoke: {Mx: 8}", 15, "problem 13: unknown parameter Mx, did you mean M?"},
        Mistake{"smoke: {M: 8}", "default: {M: 8}", 15, "problem 13: the size default is what `params` says"},
        Mistake{"sweep: {M: [1, 2]}", "sweep: {Q: [1, 2]}", 16, "problem 13: unknown parameter Q (M, N, K, eps)"},
        Mistake{"sweep: {M: [1, 2]}", "sweep: {M: [1, x]}", 16, "problem 13: `sweep` must be a number, not \"x\""},
        Mistake{"pair: {color: floor(r/2)}", "pair: {key: r}", 18, "problem 13: group pair: `color` is missing"},
        Mistake{"pair: {color", "world: {color", 18, "problem 13: the group world is there without being named"}));

INSTANTIATE_TEST_SUITE_P(
    Tensors, Mistakes,
    ::testing::Values(
        Mistake{"A, dtype: bf16", "A, dtype: bf61", 20, "problem 13: input A: unknown dtype bf61, did you mean bf16?"},
        Mistake{"{name: A, dtype: bf16, shape", "{name: A, shape", 20, "problem 13: input A: `dtype` is missing"},
        Mistake{"{name: A, ", "{nam: A, ", 20, "problem 13: input: unknown key nam, did you mean name?"},
        Mistake{"shape: [M, K/W], draw", "shape: [M, K/W], daw", 20,
                "problem 13: input A: unknown key daw, did you mean draw?"},
        Mistake{"[M, K/W], draw: \"normal(0, 1)\"", "[M, K/W]", 20, "problem 13: input A: `draw` is missing"},
        Mistake{"[M, K/W]", "M", 20, "problem 13: input A: `shape` must be a list, not a single value"},
        Mistake{"[M, K/W]", "[M, [K]]", 20, "problem 13: input A: `shape` must be an expression, not a list"},
        Mistake{"[M, K/W]", "[1,1,1,1,1,1,1,1,1]", 20, "problem 13: input A: a tensor has 8 axes at most"},
        Mistake{"normal(0, 1)", "norml(0, 1)", 20, "problem 13: input A: unknown draw norml, did you mean normal?"},
        Mistake{"normal(0, 1)", "normal(0)", 20, "problem 13: input A: draw normal takes 2 arguments, not 1"},
        Mistake{"normal(0, 1)", "normal(0, max(1, 2", 20,
                "problem 13: input A: draw \"normal(0, max(1, 2\" has no closing parenthesis"},
        Mistake{"normal(0, 1)", "normal(0, )", 20, "problem 13: input A: draw \"normal(0, )\" has an empty argument"},
        Mistake{"replicated", "replicate", 21,
                "problem 13: input B: unknown scope replicate, did you mean replicated?"},
        Mistake{"replicated", "group pairs", 21, "problem 13: unknown group pairs, did you mean pair?"},
        Mistake{"slice_axis: 1", "slice_axis: 2", 22, "problem 13: input S: there is no axis 2"},
        Mistake{", slice_axis: 1", "", 22, "problem 13: input S: `scope: slice` and `slice_axis` belong together"},
        Mistake{"draw: custom,", "draw: custom, place: gpu,", 22,
                "problem 13: input S: unknown place gpu (device, host)"},
        Mistake{"draw: custom,", "draw: custom, dynamic: maybe,", 22,
                "problem 13: input S: `dynamic` must be true or false, not \"maybe\""},
        Mistake{"draw: custom,", "draw: custom, dynamic: true,", 22,
                "problem 13: input S: an input with `dynamic` needs `draw: custom` and a `capacity`"},
        Mistake{"name: S", "name: A", 22, "problem 13: two inputs are called A"},
        Mistake{"name: C", "name: c-1", 25, "problem 13: \"c-1\" is no name for an output"},
        Mistake{"atol: 1e-2", "atol: 1e-2, atol_rms: 1", 25,
                "problem 13: output C: `atol` and `atol_rms` exclude each other"},
        Mistake{"agree: bitwise", "agree: roughly", 25, "problem 13: output C: unknown agreement roughly (bitwise)"},
        Mistake{"agree: bitwise", "agree_group: pair", 25,
                "problem 13: output C: `agree_group` needs `agree: bitwise`"},
        Mistake{
            "agree: bitwise", "draw: custom", 25,
            "problem 13: output C: unknown key draw (name, dtype, shape, shape_when, layout, count, present, place, "
            "dynamic, capacity, atol, atol_rms, rtol, frobenius, compare, agree, agree_group)"},
        Mistake{"[M, K/W]", "[M, K/W], layout: [0, 2]", 20,
                "problem 13: input A: `layout` names every axis once, outermost in memory first"},
        Mistake{"[M, K/W]", "[M, K/W], layout: [0]", 20,
                "problem 13: input A: `layout` has 1 axes, the shape another number"},
        Mistake{"draw: custom,", "draw: custom, layout: [1, 0],", 22,
                "problem 13: input S: `layout` goes with neither `dynamic` nor `scope: slice`"},
        Mistake{"agree: bitwise", "compare: loosely", 25, "problem 13: output C: unknown comparison loosely (check)"},
        Mistake{"agree: bitwise", "compare: check", 25,
                "problem 13: output C: `compare: check` has no tolerance: the reference's check judges"},
        Mistake{"B, dtype: bf16, shape: [K, N]}", "B, dtype: bf16, shape: [K, N], layout: [1, 0]}", 26,
                "problem 13: B is changed in place: dtype, shape and layout must be the input's"},
        Mistake{"inplace: [B]", "inplace: [A]", 27, "problem 13: unknown output A (C, B)"},
        Mistake{"inplace: [B]", "inplace: []", 26, "problem 13: B is an input too; list it in `inplace`"},
        Mistake{"B, dtype: bf16, shape: [K, N]}", "B, dtype: bf16, shape: [N, K]}", 26,
                "problem 13: B is changed in place: dtype, shape and layout must be the input's"}));

INSTANTIATE_TEST_SUITE_P(
    CasesAndPhases, Mistakes,
    ::testing::Values(
        Mistake{"name: thin", "name: other_root", 30, "problem 13: two cases are called other_root"},
        Mistake{"name: thin", "name: default", 30, "problem 13: two cases are called default"},
        Mistake{"{root: W-1}", "{rot: W-1}", 29, "problem 13: case other_root: unknown scalar rot, did you mean root?"},
        Mistake{"{K: 2*W}", "{Q: 2*W}", 30, "problem 13: case thin: unknown parameter Q (M, N, K, eps)"},
        Mistake{"{A: ternary(1)}", "{D: ternary(1)}", 30, "problem 13: case thin: unknown input D (A, B, S)"},
        Mistake{"{A: ternary(1)}", "{A: ternary()}", 30, "problem 13: case thin: draw ternary takes 1 argument, not 0"},
        Mistake{"tolerance: exact", "tolerance: loose", 29,
                "problem 13: case other_root: unknown tolerance loose (exact)"},
        Mistake{"tolerance: exact", "tolerance: {D: {atol: 1}}", 29,
                "problem 13: case other_root: unknown output D (C, B)"},
        Mistake{"tolerance: exact", "tolerance: {C: {tol: 1}}", 29,
                "problem 13: case other_root: tolerance of C: unknown key tol, did you mean atol?"},
        Mistake{"options: [1, 2]", "options: [[1], [1, 2]]", 23,
                "problem 13: scalar options: parts of a nested list must be equally long"},
        Mistake{"options: [1, 2]", "options: [1, [2]]", 23,
                "problem 13: scalar options: lists and numbers side by side"},
        Mistake{"options: [1, 2]", "options: {group: pairs}", 23,
                "problem 13: unknown group pairs, did you mean pair?"},
        Mistake{"options: [1, 2]", "options: {text: x}", 23,
                "problem 13: scalar options: unknown key text (float, string, group)"},
        Mistake{"right: input", "right: inputs", 32,
                "problem 13: control inputs: unknown control inputs, did you mean "
                "input?"},
        Mistake{"output: C, case: thin", "output: C, case: thn", 32,
                "problem 13: unknown case thn, did you mean thin?"},
        Mistake{"precision: fp32", "precision: fp33", 34,
                "problem 13: profile H100: unknown precision fp33, did you mean fp32?"},
        Mistake{"precision: fp32, ", "", 34, "problem 13: phase all: `flops` and `precision` belong together"},
        Mistake{"mem: M*N", "mem: M*N, axis: pairs", 34, "problem 13: unknown group pairs, did you mean pair?"}));

INSTANTIATE_TEST_SUITE_P(
    Expressions, Mistakes,
    ::testing::Values(
        Mistake{"W >= 2, \"", "W => 2, \"", 12,
                "problem 13: \"W => 2\": unexpected '=' at position 2: write == to compare"},
        Mistake{"K: 24, eps", "K: 24 +, eps", 13, "problem 13: \"24 +\": Unexpected end of expression at position 5"},
        Mistake{"half: M/2", "half: X/2", 14, "problem 13: \"X/2\": unknown name X"},
        Mistake{"color: floor(r/2)", "color: flor(r/2)", 18,
                "problem 13: group pair: \"flor(r/2)\": unknown function flor, did you mean floor?"},
        Mistake{"[M, K/W]", "[M, KK/W]", 20, "problem 13: A: \"KK/W\": unknown name KK, did you mean K?"},
        Mistake{"normal(0, 1)", "normal(0, q)", 20, "problem 13: A: \"q\": unknown name q"},
        Mistake{"atol: 1e-2", "atol: 1e-2*w", 25, "problem 13: C: \"1e-2*w\": unknown name w, did you mean W?"},
        Mistake{"{root: W-1}", "{root: w-1}", 29, "problem 13: scalar root: \"w-1\": unknown name w, did you mean W?"},
        Mistake{"when: r == root", "when: r == rot", 32,
                "problem 13: control input: \"r == rot\": unknown name rot, did you mean root?"},
        Mistake{"mem: M*N", "mem: M*NN", 34, "problem 13: phase all: \"M*NN\": unknown name NN, did you mean N?"},
        Mistake{"mem: M*N", "mem: M-N-100", 34, "problem 13: phase all: M-N-100 is -124, negative; M = 8, N = 32"},
        Mistake{"busbw: (W-1)/W", "busbw: (W-1)/w", 36, "problem 13: \"(W-1)/w\": unknown name w, did you mean W?"},
        // No W makes these legal.
        Mistake{"[M, K/W]", "[M, K/7]", 15,
                "problem 13: size smoke is legal for none of W = 1, 2, 3, 4, 8: A: K/7 is 3.42857, not a whole number; "
                "K = 24"},
        Mistake{
            "\"mod(K, W) == 0\"", "\"mod(K, 5*W) == 0\"", 15,
            "problem 13: size smoke is legal for none of W = 1, 2, 3, 4, 8: needs K divisible by 5*W; K = 24, W = 8"},
        Mistake{"normal(0, 1)", "uniform(2, 1)", 15,
                "problem 13: size smoke is legal for none of W = 1, 2, 3, 4, 8: A: draw uniform: low is above high"},
        // A case must be possible wherever it exists.
        Mistake{
            "{K: 2*W}", "{K: 6}", 30,
            "problem 13: case thin at size smoke, W = 4: needs K divisible by W; K = 6, W = 4; say `when` it exists"},
        Mistake{"params: {K: 2*W}", "when: w > 2, params: {K: 2*W}", 30,
                "problem 13: case thin: \"w > 2\": unknown name w, did you mean W?"}));

TEST(CatalogueErrors, TheTextTheyStartFromIsRight) {
  EXPECT_EQ(load_error(kGood), "");
  const Catalogue catalogue = load_text(kGood);
  EXPECT_EQ(catalogue.problems().size(), 1u);
  EXPECT_EQ(catalogue.problems().front().line, 6);
  EXPECT_EQ(catalogue.suites().at("all"), "every problem");
  EXPECT_EQ(catalogue.suites().count("llm"), 1u);
}

TEST(CatalogueErrors, YamlItself) {
  EXPECT_THAT(load_error(replaced(kGood, "{M: 64, N: 32", "{M: 64, N: 32]")), HasSubstr("problems.yaml:13: "));
  EXPECT_THAT(load_error("a: b: c"), HasSubstr("problems.yaml:1: "));
  EXPECT_THAT(load_error("- 1"), HasSubstr("problems.yaml:1: must be a map, not a list"));
}

TEST(CatalogueErrors, MissingFile) {
  try {
    Catalogue::load("/nowhere/problems.yaml");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "cannot read the catalogue /nowhere/problems.yaml");
  }
}

TEST(CatalogueErrors, IdsAndNamesAreDistinct) {
  std::string entry = std::string(kGood).substr(std::string(kGood).find("  - id"));
  const int line = 1 + static_cast<int>(std::count(kGood, kGood + std::string(kGood).size(), '\n'));
  const std::string at = "problems.yaml:" + std::to_string(line) + ": ";
  EXPECT_EQ(load_error(kGood + entry), at + "problem 13: the id is taken (line 6)");
  EXPECT_EQ(load_error(kGood + replaced(entry, "id: 13", "id: 7")),
            at + "problem 7: the name gemm_allreduce is taken by problem 13 (line 6)");
  entry = replaced(replaced(entry, "id: 13", "id: 7"), "name: gemm_allreduce", "name: other");
  EXPECT_EQ(load_text(kGood + entry).problems().front().id, 7);  // by id, whatever the order in the file
}

}  // namespace
}  // namespace pkb
