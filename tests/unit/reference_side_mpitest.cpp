// SPDX-License-Identifier: Apache-2.0
//
// The trusted side as a whole on the host device, with shipped references. Part of the program whose main is in
// reference_comm_test.cpp; runs under mpirun.
#include "reference/reference_side.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <string>

#include "core/error.h"
#include "reference_support.h"

namespace {

using pkb::Dtype;
using pkb::TensorView;
using pkb::protocol::TimeReply;
using pkb::protocol::TimeRequest;
using pkb::test::Declared;
using Mode = TimeRequest::Mode;

at::Tensor tensor_of(const TensorView& view) {
  const at::ScalarType type = view.dtype == Dtype::bf16 ? at::kBFloat16 : at::kLong;
  return at::from_blob(const_cast<void*>(view.data), view.shape, at::TensorOptions().dtype(type)).clone();
}

class ReferenceSideTest : public testing::Test {
 protected:
  ReferenceSideTest()
      : team_(MPI_COMM_WORLD),
        device_(pkb::make_device(pkb::DeviceKind::host, 0, "pkb-side-" + std::to_string(getppid()))),
        side_(team_, *device_, {.ranks_share_gpus = false}) {
    side_.set_seed(5);
  }

  void load(const std::string& folder) {
    side_.load(std::string(PKB_BUILD_DIR "/lib/pkb/") + folder + "/reference.so");
  }

  template <class Call>
  static std::string error_of(Call call) {
    try {
      call();
    } catch (const pkb::Error& error) {
      return error.what();
    }
    return "no error";
  }

  pkb::Team team_;
  std::unique_ptr<pkb::Device> device_;
  pkb::ReferenceSide side_;
};

class AllReduceSide : public ReferenceSideTest {
 protected:
  AllReduceSide() : problem_(1, "allreduce", team_.size(), team_.rank()) {
    problem_.input("x", Dtype::bf16, {32, 16}, "normal", {0, 1});
    problem_.output("y", Dtype::bf16, {32, 16});
    load("01_allreduce");
  }
  Declared problem_;
};

TEST_F(AllReduceSide, ExpectedOutputsComeFromTheReference) {
  side_.make_draws(problem_.instance(), 10, 3);
  EXPECT_EQ(side_.slots(), 3);
  const at::Tensor before = tensor_of(side_.input(1, 0));
  side_.make_expected(1);
  const TensorView view = side_.expected(0);
  EXPECT_EQ(view.shape, (std::vector<int64_t>{32, 16}));
  at::Tensor sum = before.to(at::kFloat), others = at::empty({team_.size(), 32, 16});
  MPI_Allgather(sum.data_ptr(), 512, MPI_FLOAT, others.data_ptr(), 512, MPI_FLOAT, MPI_COMM_WORLD);
  EXPECT_TRUE(at::allclose(tensor_of(view).to(at::kFloat), others.sum(0), 0x1p-8, 1e-6));
  EXPECT_TRUE(at::equal(tensor_of(side_.input(1, 0)), before));
  EXPECT_FALSE(at::equal(tensor_of(side_.input(0, 0)), before));
  side_.drop_expected();
  EXPECT_NE(error_of([&] { side_.expected(0); }).find("no expected output"), std::string::npos);
}

TEST_F(AllReduceSide, WrongDeclarationsAreNamed) {
  Declared shape(1, "allreduce", team_.size(), team_.rank());
  shape.input("x", Dtype::bf16, {32, 16}, "normal", {0, 1});
  shape.output("y", Dtype::bf16, {16, 32});
  side_.make_draws(shape.instance(), 0, 1);
  EXPECT_EQ(
      error_of([&] { side_.make_expected(0); }),
      "problem 1 (allreduce): y: the reference returns BFloat16 [32, 16] on cpu, the catalogue declares bf16 [16, 32]");

  Declared dtype(1, "allreduce", team_.size(), team_.rank());
  dtype.input("x", Dtype::bf16, {32, 16}, "normal", {0, 1});
  dtype.output("y", Dtype::fp32, {32, 16});
  side_.make_draws(dtype.instance(), 0, 1);
  EXPECT_NE(error_of([&] { side_.make_expected(0); }).find("declares fp32 [32, 16]"), std::string::npos);

  Declared absent(1, "allreduce", team_.size(), team_.rank());
  absent.input("x", Dtype::bf16, {32, 16}, "normal", {0, 1});
  absent.output("y", Dtype::bf16, {32, 16});
  absent.instance().outputs[0].present = false;
  side_.make_draws(absent.instance(), 0, 1);
  EXPECT_NE(error_of([&] { side_.make_expected(0); }).find("declares it absent"), std::string::npos);

  Declared unknown(1, "allreduce", team_.size(), team_.rank());
  unknown.input("x", Dtype::bf16, {32, 16}, "normal", {0, 1});
  side_.make_draws(unknown.instance(), 0, 1);
  EXPECT_NE(error_of([&] { side_.make_expected(0); }).find("returns \"y\", which the catalogue does not"),
            std::string::npos);
}

TEST_F(ReferenceSideTest, OutputsLieAsDeclared) {
  const int64_t inner = 2 * team_.size();
  const auto expected = [&](std::vector<int> layout, at::IntArrayRef strides) {
    Declared problem(11, "allgather_gemm_AT", team_.size(), team_.rank());
    problem.input("A_local", Dtype::bf16, {4, 2}, "normal", {0, 1});
    problem.input("B", Dtype::bf16, {inner, 6}, "normal", {0, 1});
    problem.output("y", Dtype::bf16, {4, 6}).layout = std::move(layout);
    load("11_allgather_gemm_AT");
    side_.make_draws(problem.instance(), 0, 1);
    side_.make_expected(0);
    const TensorView view = side_.expected(0);
    EXPECT_EQ(view.shape, (std::vector<int64_t>{4, 6}));
    return at::from_blob(const_cast<void*>(view.data), view.shape, strides, at::kBFloat16).clone();
  };
  EXPECT_TRUE(at::equal(expected({}, {6, 1}), expected({1, 0}, {1, 4})));
}

TEST_F(ReferenceSideTest, TheReferencesOwnCheckIsAsked) {
  const int64_t experts = 2 * team_.size();
  Declared problem(26, "moe_token_preprocess", team_.size(), team_.rank());
  pkb::Instance& instance = problem.instance();
  instance.params.insert({{"E", experts}, {"K", 2}, {"M", 8}});
  problem.input("expert_mask", Dtype::fp32, {experts, 2, 8}, "custom");
  problem.output("input_splits", Dtype::i64, {team_.size()});
  problem.output("output_splits", Dtype::i64, {team_.size()});
  problem.output("per_local_expert", Dtype::fp32, {team_.size(), 2});
  problem.output("sum_per_local_expert", Dtype::fp32, {2});
  for (pkb::TensorInstance& output : instance.outputs) output.host = true;
  load("26_moe_token_preprocess");
  side_.make_draws(instance, 0, 1);
  side_.make_expected(0);

  std::vector<const void*> outputs;
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) outputs.push_back(side_.expected(i).data);
  EXPECT_EQ(side_.check(0, outputs), "");
  at::Tensor splits = tensor_of(side_.expected(0));
  if (team_.rank() == 0) splits[team_.size() - 1] += 1;
  outputs[0] = splits.const_data_ptr();
  const std::string wrong = side_.check(0, outputs);
  if (team_.rank() == 0) {
    EXPECT_EQ(wrong, "input_splits do not add up to M*K");
  } else {
    EXPECT_EQ(wrong.empty(), team_.rank() != team_.size() - 1) << wrong;
  }
}

TEST_F(ReferenceSideTest, WhatIsLeftToTheCheckNeedsOne) {
  Declared problem(1, "allreduce", team_.size(), team_.rank());
  problem.input("x", Dtype::bf16, {4}, "normal", {0, 1});
  problem.output("y", Dtype::bf16, {4}).left_to_check = true;
  load("01_allreduce");
  side_.make_draws(problem.instance(), 0, 1);
  side_.make_expected(0);
  EXPECT_EQ(error_of([&] { side_.check(0, {side_.expected(0).data}); }),
            "problem 1 (allreduce): y has `compare: check`, the reference none");
}

TEST_F(AllReduceSide, TimesAreComplete) {
  side_.make_draws(problem_.instance(), 0, 2);
  ASSERT_EQ(side_.baselines(), std::vector<std::string>{"baseline"});
  side_.time("baseline", {Mode::warm_up, {0, 1}, true});
  const TimeReply burst = side_.time("baseline", {Mode::burst, {0, 1, 1, 0}, true});
  EXPECT_GT(burst.event_us, 0);
  EXPECT_GE(burst.wall_us, burst.event_us);
  EXPECT_LT(burst.wall_us, 10e6);
  const TimeReply each = side_.time("baseline", {Mode::each, {0, 1, 0}, true});
  ASSERT_EQ(each.call_us.size(), 3u);
  double sum = 0;
  for (const double call : each.call_us) {
    EXPECT_GT(call, 0);
    sum += call;
  }
  EXPECT_NEAR(sum, each.event_us, 1e-3 * each.event_us + 1);
  const TimeReply isolated = side_.time("baseline", {Mode::isolated, {1, 0}, true});
  EXPECT_EQ(isolated.call_us.size(), 2u);
  EXPECT_GT(isolated.event_us, 0);
  EXPECT_LE(isolated.event_us, isolated.wall_us);
  const TimeReply graph = side_.time("baseline", {Mode::graph, {0, 1}, true});
  EXPECT_FALSE(graph.not_captured.empty());
  EXPECT_NE(error_of([&] {
              side_.time("baseline", {Mode::replay, {0, 1}, true});
            }).find("no graph"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              side_.time("fast", {Mode::burst, {0}, true});
            }).find("no baseline \"fast\""),
            std::string::npos);
  EXPECT_NE(error_of([&] { side_.time("baseline", {Mode::burst, {2}, true}); }).find("it holds 2"), std::string::npos);
}

TEST_F(ReferenceSideTest, InPlaceArgumentsStayAsDrawn) {
  const int64_t width = 8;
  Declared problem(73, "vocab_parallel_cross_entropy_loss", team_.size(), team_.rank());
  problem.instance().params.insert({{"B", 2}, {"S", 4}, {"V", width * team_.size()}});
  problem.input("vocab_parallel_logits", Dtype::bf16, {2, 4, width}, "custom");
  problem.input("target", Dtype::i64, {2, 4}, "custom").scope = pkb::Scope::replicated;
  problem.output("loss", Dtype::bf16, {2, 4});
  problem.output("vocab_parallel_logits", Dtype::bf16, {2, 4, width});
  problem.in_place("vocab_parallel_logits");
  load("73_vocab_parallel_cross_entropy_loss");
  side_.make_draws(problem.instance(), 0, 2);
  const at::Tensor drawn = tensor_of(side_.input(1, 0));

  side_.make_expected(1);
  EXPECT_TRUE(at::equal(tensor_of(side_.input(1, 0)), drawn));
  EXPECT_FALSE(at::equal(tensor_of(side_.expected(1)), drawn));
  for (const Mode mode : {Mode::warm_up, Mode::isolated}) {
    side_.time("baseline", {mode, {1, 0, 1}, true});
    EXPECT_TRUE(at::equal(tensor_of(side_.input(1, 0)), drawn));
  }
}

TEST_F(ReferenceSideTest, LoadingFailsWithTheReason) {
  EXPECT_NE(error_of([&] { side_.load("/nonexistent/reference.so"); }).find("cannot load the reference /nonexistent"),
            std::string::npos);
  EXPECT_NE(error_of([&] { side_.load("/lib/x86_64-linux-gnu/libm.so.6"); }).find("exports no pkb_reference"),
            std::string::npos);
  EXPECT_NE(error_of([&] { side_.baselines(); }).find("no reference is loaded"), std::string::npos);
}

TEST_F(ReferenceSideTest, VersionsAreKnown) {
  EXPECT_EQ(side_.versions().rfind("torch 2.", 0), 0u);
  side_.release();
  EXPECT_EQ(side_.allocated_bytes(), 0);
}

}  // namespace
