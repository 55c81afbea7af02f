// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/expression.h"
#include "catalogue_text.h"

namespace pkb {
namespace {

using ::testing::ElementsAre;
using testing::load_problem;
using testing::shipped;
using testing::shipped_problem;

using Shape = std::vector<int64_t>;

int case_named(const Problem& problem, const std::string& name) {
  for (std::size_t i = 0; i < problem.cases.size(); ++i) {
    if (problem.cases[i].name == name) return static_cast<int>(i);
  }
  throw Error("no case " + name);
}

Instance instance(int id, const std::string& size, int world, int rank, const std::string& name = "default") {
  const Problem& problem = shipped_problem(id);
  return make_instance(problem, size, {}, world, rank, case_named(problem, name));
}

std::vector<std::string> case_names(int id, int world, const std::string& size = "default") {
  const Problem& problem = shipped_problem(id);
  std::vector<std::string> names;
  for (const int index : cases_of(problem, size, {}, world)) {
    names.push_back(problem.cases[static_cast<std::size_t>(index)].name);
  }
  return names;
}

// ---- the shipped problems

TEST(Shipped, EveryInstanceCanBeMade) {
  for (const Problem& problem : shipped().problems()) {
    for (const SizeSpec& size : problem.sizes) {
      for (const int world : {2, 3, 4, 8}) {
        const std::string reason = why_illegal(problem, size.name, {}, world);
        EXPECT_TRUE(reason.empty() || world == 3) << problem.name << " " << size.name << ": " << reason;
        if (!reason.empty()) continue;
        const auto cases = cases_of(problem, size.name, {}, world);
        ASSERT_FALSE(cases.empty());
        EXPECT_EQ(cases.front(), 0);
        for (const int index : cases) {
          for (int rank = 0; rank < world; ++rank) {
            const Instance made = make_instance(problem, size.name, {}, world, rank, index);
            EXPECT_GE(made.inputs.size(), problem.inputs.size());  // lists have several
            EXPECT_GE(made.outputs.size(), problem.outputs.size());
            for (const auto* tensors : {&made.inputs, &made.outputs}) {
              for (const TensorInstance& tensor : *tensors) EXPECT_LE(tensor.elements(), tensor.capacity);
            }
          }
        }
      }
    }
  }
}

TEST(Shipped, LargeFitsOneGpu) {
  for (const Problem& problem : shipped().problems()) {
    for (const int index : cases_of(problem, "large", {}, 2)) {
      const Instance made = make_instance(problem, "large", {}, 2, 0, index);
      int64_t bytes = 0;
      for (const auto* tensors : {&made.inputs, &made.outputs}) {
        for (const TensorInstance& tensor : *tensors) bytes += tensor.capacity_bytes();
      }
      // Two draws of inputs and outputs on the candidate's side, as much on the reference's, and a copy to spare.
      EXPECT_LT(5 * bytes, int64_t{139} << 30) << problem.name;
    }
  }
}

TEST(Shipped, Headings) {
  const Problem& problem = shipped_problem(13);
  EXPECT_EQ(problem.folder, "llm/13_gemm_allreduce");
  EXPECT_EQ(problem.folder_name(), "13_gemm_allreduce");
  EXPECT_EQ(problem.world_text, "W >= 2");
  EXPECT_EQ(shipped_problem(1).folder, "collective/01_allreduce");
  EXPECT_EQ(shipped_problem(16).world_text, "W >= 2, M divisible by W, K divisible by W");
  EXPECT_EQ(shipped_problem(16).suites, (std::vector<std::string>{"tp", "sp"}));
  std::vector<std::string> sizes;
  for (const SizeSpec& size : problem.sizes) sizes.push_back(size.name);
  EXPECT_THAT(sizes, ElementsAre("smoke", "default", "large"));
}

TEST(Shipped, Scatter) {
  const Instance root = instance(5, "smoke", 4, 1, "root_1");
  EXPECT_EQ(root.inputs[0].shape, (Shape{4, 32, 64}));
  EXPECT_EQ(std::get<int64_t>(root.scalars.at("src")), 1);
  const Instance other = instance(5, "smoke", 4, 2, "root_1");
  EXPECT_EQ(other.inputs[0].shape, (Shape{32, 64}));
  EXPECT_EQ(other.inputs[0].capacity, 4 * 32 * 64);  // a rank may become the root
  EXPECT_EQ(other.outputs[0].capacity, 32 * 64);
  EXPECT_THAT(case_names(5, 2), ElementsAre("default", "root_1", "odd_shape"));
  EXPECT_THAT(case_names(5, 4), ElementsAre("default", "root_1", "root_last", "odd_shape"));
}

TEST(Shipped, GatherHasOneOutput) {
  for (int rank = 0; rank < 3; ++rank) {
    const Instance made = instance(6, "default", 3, rank, "root_last");
    EXPECT_EQ(made.outputs[0].present, rank == 2);
    EXPECT_EQ(made.outputs[0].capacity, 3 * 1024 * 1024);
  }
}

TEST(Shipped, CasesOverride) {
  const Instance lattice = instance(1, "default", 8, 0, "lattice");
  EXPECT_EQ(lattice.draws.at("x").kind, "integers");
  EXPECT_THAT(lattice.draws.at("x").arguments, ElementsAre(-16, 16));
  EXPECT_TRUE(lattice.tolerances.at("y").exact());
  EXPECT_FALSE(lattice.overrides_params);
  const Instance plain = instance(1, "default", 8, 0);
  EXPECT_EQ(plain.draws.at("x").kind, "normal");
  EXPECT_DOUBLE_EQ(plain.tolerances.at("y").atol, 0.1);
  EXPECT_DOUBLE_EQ(plain.tolerances.at("y").rtol, 0.01);
  EXPECT_EQ(plain.outputs[0].spec->agree, "bitwise");
  const Instance odd = instance(1, "large", 2, 0, "odd_shape");
  EXPECT_TRUE(odd.overrides_params);
  EXPECT_EQ(odd.inputs[0].capacity, 65);  // by itself: this case has its own setup
  EXPECT_DOUBLE_EQ(odd.params.at("M"), 5);
}

TEST(Shipped, AllGatherGemm) {
  const Instance plain = instance(12, "default", 4, 1);
  EXPECT_EQ(plain.inputs[0].shape, (Shape{1024, 128}));
  EXPECT_EQ(plain.inputs[1].shape, (Shape{512, 1024}));
  EXPECT_NEAR(plain.draws.at("B").arguments[1], 0.0441942, 1e-7);
  EXPECT_EQ(instance(12, "default", 4, 1, "one_row").outputs[0].shape, (Shape{1, 1024}));
  const Instance thin = instance(12, "large", 8, 0, "thin_slabs");
  EXPECT_EQ(thin.inputs[0].shape, (Shape{8192, 16}));
  EXPECT_DOUBLE_EQ(thin.params.at("K"), 128);
  EXPECT_NEAR(thin.draws.at("B").arguments[1], 0.0883883, 1e-7);  // follows the case's K
  EXPECT_EQ(why_illegal(shipped_problem(12), "default", {}, 3), "needs K divisible by W; K = 512, W = 3");
  EXPECT_EQ(why_illegal(shipped_problem(12), "default", {}, 1), "needs W >= 2; W = 1");
}

TEST(Shipped, RankScales) {
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_DOUBLE_EQ(instance(16, "smoke", 4, rank).draws.at("A_local").arguments[1], 1 + 0.5 * rank);
  }
  const Tolerance tolerance = instance(16, "smoke", 4, 0).tolerances.at("C_local");
  EXPECT_TRUE(tolerance.atol_in_rms);
  EXPECT_DOUBLE_EQ(tolerance.atol, 0.03);
}

TEST(Shipped, LatticeProbabilities) {
  EXPECT_DOUBLE_EQ(instance(13, "smoke", 2, 0, "lattice").draws.at("A_local").arguments[0], 1);
  EXPECT_DOUBLE_EQ(instance(13, "default", 8, 0, "lattice").draws.at("A_local").arguments[0], 0.5);
}

TEST(Shipped, Scalars) {
  EXPECT_DOUBLE_EQ(std::get<double>(instance(18, "smoke", 2, 0).scalars.at("variance_epsilon")), 1e-5);
  const Instance both = instance(82, "smoke", 2, 0);
  EXPECT_EQ(std::get<int64_t>(both.scalars.at("top_k")), 5);
  EXPECT_DOUBLE_EQ(std::get<double>(both.scalars.at("top_p")), 0.9);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(instance(82, "smoke", 2, 0, "top_p_only").scalars.at("top_k")));
  const Instance unfiltered = instance(82, "smoke", 2, 0, "unfiltered");
  EXPECT_EQ(std::get<int64_t>(unfiltered.scalars.at("top_k")), 0);
  EXPECT_DOUBLE_EQ(std::get<double>(unfiltered.scalars.at("top_p")), 1);
  EXPECT_THAT(case_names(82, 2, "large"), ElementsAre("default", "top_k_only", "unfiltered"));
}

TEST(Shipped, InPlaceArgumentStandsOnBothSides) {
  const Instance made = instance(73, "default", 4, 0);
  EXPECT_THAT(made.problem->inplace, ElementsAre("vocab_parallel_logits"));
  EXPECT_EQ(made.inputs[0].name, made.outputs[1].name);
  EXPECT_EQ(made.inputs[0].shape, (Shape{8, 1024, 128}));
  EXPECT_TRUE(made.tolerances.at("vocab_parallel_logits").exact());
  EXPECT_EQ(made.draws.at("target").kind, "custom");
  EXPECT_EQ(made.inputs[1].spec->scope, Scope::replicated);
}

TEST(Shipped, Slices) {
  const Instance made = instance(46, "large", 3, 2);
  EXPECT_EQ(made.inputs[1].shape, (Shape{42752, 8192}));
  EXPECT_EQ(made.inputs[1].spec->scope, Scope::slice);
  EXPECT_EQ(made.inputs[1].spec->slice_axis, 0);
  EXPECT_THAT(case_names(46, 2, "smoke"), ElementsAre("default"));
  EXPECT_THAT(case_names(46, 2), ElementsAre("default", "three_tokens"));
}

TEST(Shipped, BandwidthsAsNcclTestsCountsThem) {
  const auto values = [](int id, int world) {
    const Problem& problem = shipped_problem(id);
    const Instance made = instance(id, "default", world, 0);
    return std::pair(evaluate({problem.algorithm_bytes, 0}, made.params),
                     evaluate({problem.bus_bytes, 0}, made.params));
  };
  constexpr double kMiB = 1024 * 1024;
  EXPECT_EQ(values(1, 4), std::pair(2 * kMiB, 1.5));
  EXPECT_EQ(values(2, 4), std::pair(8 * kMiB, 0.75));
  EXPECT_EQ(values(3, 4), std::pair(2 * kMiB, 1.0));
  EXPECT_EQ(values(4, 4), std::pair(2 * kMiB, 1.0));
  EXPECT_EQ(values(5, 4), std::pair(8 * kMiB, 0.75));
  EXPECT_EQ(values(6, 4), std::pair(8 * kMiB, 0.75));
  EXPECT_EQ(values(7, 4), std::pair(8 * kMiB, 0.75));
  EXPECT_EQ(values(8, 4), std::pair(8 * kMiB, 0.75));
}

TEST(Overrides, FromTheCommandLine) {
  const Problem& problem = shipped_problem(1);
  const Instance made = make_instance(problem, "default", {{"M", 1}, {"N", 512}}, 2, 0, 0);
  EXPECT_EQ(made.inputs[0].shape, (Shape{1, 512}));
  EXPECT_EQ(phases_of(problem, "large", {{"M", 1}, {"N", 512}}, 2)[0].comm_bytes, 1024);
  EXPECT_EQ(why_illegal(shipped_problem(12), "default", {{"K", 510}}, 3), "");
  EXPECT_EQ(why_illegal(problem, "default", {{"M", 1.5}}, 2), "x: M is 1.5, not a whole number; M = 1.5");
  EXPECT_EQ(why_illegal(problem, "default", {{"M", -1}}, 2), "x: M is -1, negative; M = -1");
}

std::string error_of(auto&& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Overrides, UnknownNamesSuggest) {
  const Problem& problem = shipped_problem(46);
  EXPECT_EQ(error_of([&] {
              why_illegal(problem, "default", {{"token", 1}}, 2);
            }),
            "problem 46 gemv_decode: unknown parameter token, did you mean tokens?");
  EXPECT_EQ(error_of([&] { cases_of(problem, "smke", {}, 2); }),
            "problem 46 gemv_decode: unknown size smke, did you mean smoke?");
  EXPECT_EQ(error_of([&] { make_instance(problem, "huge", {}, 2, 0, 0); }),
            "problem 46 gemv_decode: unknown size huge (smoke, default, large)");
  EXPECT_EQ(
      error_of([&] { make_instance(problem, "default", {}, 3, 0, 0); }),
      "problem 46 gemv_decode, size default, case default, W = 3: needs vocab divisible by W; W = 3, vocab = 4096");
  EXPECT_THROW(make_instance(problem, "default", {}, 2, 2, 0), Error);
  EXPECT_THROW(make_instance(problem, "default", {}, 2, 0, 9), Error);
}

// ---- what the other problems will need

TEST(Instances, GroupsAreColoursAndKeys) {
  const Catalogue catalogue = load_problem(R"yaml(    world: "mod(W, 2) == 0"
    params: {cp: 2}
    let: {dp: W/cp, place: "mod(r, cp)"}
    groups:
      pair: {color: floor(r/cp), key: -r}
      stride: {color: place}
      alone: {color: r}
    inputs:
      - {name: x, dtype: fp32, shape: [dp, place + 1], draw: "normal(0, 1)", scope: group stride}
    outputs:
      - {name: y, dtype: fp32, shape: [], agree: bitwise, agree_group: pair}
    phases:
      - {mem: dp, axis: pair}
)yaml");
  const Problem& problem = catalogue.problems().front();
  const Instance made = make_instance(problem, "default", {}, 4, 3, 0);
  ASSERT_EQ(made.groups.size(), 4u);
  EXPECT_EQ(made.groups[0].name, "world");
  EXPECT_THAT(made.groups[0].members, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(made.groups[0].index, 3);
  EXPECT_THAT(made.groups[1].members, ElementsAre(3, 2));  // ordered by key
  EXPECT_EQ(made.groups[1].index, 0);
  EXPECT_THAT(made.groups[2].members, ElementsAre(1, 3));
  EXPECT_EQ(made.groups[2].index, 1);
  EXPECT_THAT(made.groups[3].members, ElementsAre(3));  // a group of one is a group
  EXPECT_EQ(made.inputs[0].shape, (Shape{2, 2}));
  EXPECT_EQ(made.inputs[0].spec->scope_group, "stride");
  EXPECT_EQ(made.outputs[0].elements(), 1);  // rank 0
  EXPECT_EQ(made.params.count("dp"), 0u);    // shorthands are not passed on
  EXPECT_EQ(phases_of(problem, "default", {}, 8)[0].axis, "pair");
}

TEST(Instances, ListsOptionalsAndRowsThatTheDrawDecides) {
  const Catalogue catalogue = load_problem(R"yaml(    params: {M: 4, G: 3}
    scalars: {weighted: false}
    inputs:
      - {name: parts, dtype: bf16, shape: [M + i, 2], count: G, draw: "normal(0, 1)"}
      - {name: ragged, dtype: i64, shape: [M], draw: custom, dynamic: true, capacity: 4*M}
      - {name: weights, dtype: fp32, shape: [M*(W-r)], present: weighted, draw: "uniform(0, 1)"}
      - {name: sizes, dtype: i64, shape: [W], draw: custom(splits), place: host, constant: true, scope: replicated}
    outputs:
      - {name: rows, dtype: i64, shape: [M, 3], dynamic: true, capacity: W*M, frobenius: 1e-2}
      - {name: none, dtype: bool, shape: [0, M], count: "r == 0 ? 0 : 1"}
    cases:
      - {name: with_weights, scalars: {weighted: true}, tolerance: {rows: {atol_rms: 1e-2, rtol: 0.5}}}
    phases:
      - {mem: M}
)yaml");
  const Problem& problem = catalogue.problems().front();
  const Instance made = make_instance(problem, "default", {}, 2, 0, 0);
  ASSERT_EQ(made.inputs.size(), 6u);
  EXPECT_EQ(made.inputs[2].name, "parts");
  EXPECT_EQ(made.inputs[2].list_index, 2);
  EXPECT_EQ(made.inputs[2].shape, (Shape{6, 2}));
  EXPECT_TRUE(made.inputs[3].dynamic);
  EXPECT_EQ(made.inputs[3].capacity, 16);
  EXPECT_EQ(made.inputs[3].list_index, -1);
  EXPECT_FALSE(made.inputs[4].present);
  EXPECT_TRUE(made.inputs[5].host);
  EXPECT_EQ(made.draws.at("sizes").custom_name, "splits");
  EXPECT_TRUE(made.inputs[5].spec->constant);
  ASSERT_EQ(made.outputs.size(), 1u);  // an empty list on rank 0
  EXPECT_TRUE(made.outputs[0].dynamic);
  EXPECT_EQ(made.outputs[0].capacity, 2 * 4 * 3);
  EXPECT_DOUBLE_EQ(made.tolerances.at("rows").frobenius, 1e-2);
  EXPECT_FALSE(made.tolerances.at("rows").exact());
  const Instance weighted = make_instance(problem, "default", {}, 2, 1, 1);
  EXPECT_TRUE(weighted.inputs[4].present);
  EXPECT_EQ(weighted.inputs[4].elements(), 4);
  EXPECT_EQ(weighted.inputs[4].capacity, 8);  // rank 0's
  EXPECT_TRUE(weighted.tolerances.at("rows").atol_in_rms);
  ASSERT_EQ(weighted.outputs.size(), 2u);
  EXPECT_EQ(weighted.outputs[1].elements(), 0);
}

TEST(Instances, ScalarsOfEveryKind) {
  const Catalogue catalogue = load_problem(R"yaml(    params: {D: 16, whole: 1.0}
    groups: {tp: {color: 0}}
    scalars:
      integer: D/2
      literal: 2.0
      real: {float: D^-0.5}
      written_as_float: whole
      yes: true
      quoted: "3"
      nothing: null
      text: {string: ortho}
      group: {group: tp}
      list: [D, W, -1]
      nested: [[D, 2], [3, r]]
      empty: []
      step: 1 + mod(draw, 7)
      rate: {float: 0.9 + draw/100}
    outputs:
      - {name: y, dtype: fp32, shape: [integer + yes]}
    phases:
      - {mem: D}
)yaml");
  const Instance made = make_instance(catalogue.problems().front(), "default", {}, 4, 3, 0);
  const auto& scalars = made.scalars;
  EXPECT_EQ(scalars.at("integer"), Scalar(int64_t{8}));
  EXPECT_EQ(scalars.at("literal"), Scalar(2.0));
  EXPECT_EQ(scalars.at("real"), Scalar(0.25));
  EXPECT_EQ(scalars.at("written_as_float"), Scalar(1.0));
  EXPECT_EQ(scalars.at("yes"), Scalar(true));
  EXPECT_EQ(scalars.at("quoted"), Scalar(int64_t{3}));
  EXPECT_EQ(scalars.at("nothing"), Scalar(std::monostate()));
  EXPECT_EQ(scalars.at("text"), Scalar(std::string("ortho")));
  EXPECT_EQ(scalars.at("group"), Scalar(GroupName{"tp"}));
  EXPECT_EQ(scalars.at("list"), Scalar(IntegerList{{16, 4, -1}, {3}}));
  EXPECT_EQ(scalars.at("nested"), Scalar(IntegerList{{16, 2, 3, 3}, {2, 2}}));
  EXPECT_EQ(scalars.at("empty"), Scalar(IntegerList{{}, {0}}));
  EXPECT_EQ(scalars.at("step"), Scalar(int64_t{1}));
  EXPECT_EQ(made.outputs[0].shape, (Shape{9}));  // numeric scalars may be named in shapes
  const auto later = scalars_of_draw(made, 8);
  EXPECT_EQ(later.at("step"), Scalar(int64_t{2}));
  EXPECT_DOUBLE_EQ(std::get<double>(later.at("rate")), 0.98);
  EXPECT_EQ(later.at("integer"), scalars.at("integer"));
}

TEST(Instances, ScalarsOfADrawKeepTheCasesParameters) {
  const Catalogue catalogue = load_problem(R"yaml(    params: {M: 4}
    scalars: {rows: M, step: M + draw}
    outputs:
      - {name: y, dtype: fp32, shape: [rows]}
    cases:
      - {name: doubled, params: {M: 2*M}}
    phases:
      - {mem: M}
)yaml");
  const Instance made = make_instance(catalogue.problems().front(), "default", {{"M", 10}}, 2, 0, 1);
  EXPECT_EQ(made.outputs[0].shape, (Shape{20}));
  EXPECT_EQ(scalars_of_draw(made, 3).at("step"), Scalar(int64_t{23}));
  EXPECT_TRUE(arguments_change(made));
  EXPECT_FALSE(arguments_change(make_instance(shipped_problem(1), "smoke", {}, 2, 0, 0)));
}

TEST(Instances, NullCountsAsNothingInExpressions) {
  const Catalogue catalogue = load_problem(R"yaml(    params: {M: 4}
    scalars: {kept: null}
    outputs:
      - {name: y, dtype: fp32, shape: ["kept > 0 ? kept : M"]}
    cases:
      - {name: padded, scalars: {kept: M - 1}}
    phases:
      - {mem: M}
)yaml");
  const Problem& problem = catalogue.problems().front();
  EXPECT_EQ(make_instance(problem, "default", {}, 2, 0, 0).outputs[0].shape, (Shape{4}));
  EXPECT_EQ(make_instance(problem, "default", {}, 2, 0, 1).outputs[0].shape, (Shape{3}));
}

TEST(Instances, LayoutsAreStridesWithoutGaps) {
  const Catalogue catalogue = load_problem(R"yaml(    params: {M: 4}
    outputs:
      - {name: plain, dtype: fp32, shape: [2, M, 5]}
      - {name: turned, dtype: fp32, shape: [2, M, 5], layout: [2, 0, 1]}
      - {name: empty, dtype: fp32, shape: [0, M], layout: [1, 0]}
    phases:
      - {mem: M}
)yaml");
  const Instance made = make_instance(catalogue.problems().front(), "default", {}, 2, 0, 0);
  EXPECT_EQ(made.outputs[0].strides(), (Shape{20, 5, 1}));
  EXPECT_EQ(made.outputs[1].strides(), (Shape{4, 1, 8}));
  EXPECT_EQ(made.outputs[2].strides(), (Shape{1, 1}));
}

TEST(Instances, ConditionsAreReadAloudOnlyWhereTheyAreOneDivision) {
  const auto text_of = [](const char* world) {
    return load_problem("    world: \"" + std::string(world) + R"yaml("
    params: {H: 4}
    outputs:
      - {name: y, dtype: fp32, shape: [H]}
    phases:
      - {mem: H}
)yaml")
        .problems()
        .front()
        .world_text;
  };
  EXPECT_EQ(text_of("mod(H, W) == 0"), "H divisible by W");
  EXPECT_EQ(text_of("mod(H, W) == 0 || mod(W, H) == 0"), "mod(H, W) == 0 || mod(W, H) == 0");
  EXPECT_EQ(text_of("mod(H, max(1, W)) == 0"), "mod(H, max(1, W)) == 0");
}

TEST(Instances, SizesSetAndCasesInThisOrder) {
  const Catalogue catalogue = load_problem(R"yaml(    params: {M: 4, N: 2*M}
    sizes: {smoke: {M: 3}}
    outputs:
      - {name: y, dtype: fp32, shape: [M, N]}
    cases:
      - {name: wide, params: {N: N + M}}
      - {name: split, when: "mod(M, W) == 0", params: {M: M/W}}
    phases:
      - {mem: M}
)yaml");
  const Problem& problem = catalogue.problems().front();
  EXPECT_EQ(make_instance(problem, "default", {}, 2, 0, 0).outputs[0].shape, (Shape{4, 8}));
  EXPECT_EQ(make_instance(problem, "smoke", {}, 2, 0, 0).outputs[0].shape, (Shape{3, 6}));
  EXPECT_EQ(make_instance(problem, "smoke", {{"M", 5}}, 2, 0, 0).outputs[0].shape, (Shape{5, 10}));
  EXPECT_EQ(make_instance(problem, "smoke", {{"M", 5}}, 2, 0, 1).outputs[0].shape, (Shape{5, 15}));
  EXPECT_THAT(cases_of(problem, "smoke", {}, 2), ElementsAre(0, 1));
  EXPECT_THAT(cases_of(problem, "smoke", {{"M", 6}}, 2), ElementsAre(0, 1, 2));
}

TEST(Instances, OneRankWhereTheCatalogueAllowsIt) {
  const Catalogue catalogue = load_problem(R"yaml(    world: W >= 1
    params: {M: 4}
    outputs:
      - {name: y, dtype: fp32, shape: [M]}
    phases:
      - {mem: M}
)yaml");
  const Problem& problem = catalogue.problems().front();
  EXPECT_EQ(why_illegal(problem, "default", {}, 1), "");
  const Instance made = make_instance(problem, "default", {}, 1, 0, 0);
  EXPECT_THAT(made.groups[0].members, ElementsAre(0));
  EXPECT_DOUBLE_EQ(made.params.at("W"), 1);
  EXPECT_DOUBLE_EQ(made.params.at("r"), 0);
}

TEST(Instances, AWorldWhereAShapeIsNotWholeIsIllegal) {
  const Catalogue catalogue = load_problem(R"yaml(    params: {M: 8}
    outputs:
      - {name: y, dtype: fp32, shape: [M/W]}
    phases:
      - {mem: M}
)yaml");
  const Problem& problem = catalogue.problems().front();
  EXPECT_EQ(why_illegal(problem, "default", {}, 4), "");
  EXPECT_EQ(why_illegal(problem, "default", {}, 3), "y: M/W is 2.66667, not a whole number; M = 8, W = 3");
}

}  // namespace
}  // namespace pkb
