// SPDX-License-Identifier: Apache-2.0
//
// Accessors of pkb::Inputs, and the inputs.cpp of the shipped problems: what they promise about every draw.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "core/error.h"
#include "reference/draws.h"
#include "reference/library.h"
#include "reference_support.h"

namespace {

using pkb::Dtype;
using pkb::Slot;
using pkb::test::Declared;

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const pkb::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(InputsTest, AccessorsGiveWhatIsThere) {
  pkb::Inputs in;
  in.tensors["x"] = at::ones({2});
  in.tensors["many"] = std::vector<at::Tensor>{at::ones({1}), at::ones({2})};
  in.tensors["bias"] = pkb::Value();
  in.params = {{"M", 64}, {"eps", 1e-5}};
  in.scalars = {{"src", int64_t{3}},
                {"p", 0.9},
                {"flag", true},
                {"nothing", {}},
                {"axis", pkb::GroupName{"tp"}},
                {"splits", pkb::IntegerList{{1, 2}, {2}}}};
  EXPECT_EQ(in["x"].numel(), 2);
  EXPECT_EQ(in.list("many").size(), 2u);
  EXPECT_FALSE(in.optional("bias"));
  EXPECT_TRUE(in.optional("x"));
  EXPECT_EQ(in.param("M"), 64);
  EXPECT_EQ(in.real_param("eps"), 1e-5);
  EXPECT_EQ(in.integer("src"), 3);
  EXPECT_EQ(in.real("src"), 3.0);
  EXPECT_EQ(in.real("p"), 0.9);
  EXPECT_TRUE(in.boolean("flag"));
  EXPECT_TRUE(in.is_null("nothing"));
  EXPECT_FALSE(in.is_null("p"));
  EXPECT_EQ(in.string("axis"), "tp");
  EXPECT_EQ(in.integers("splits").values.size(), 2u);
  EXPECT_TRUE(in.has_scalar("p"));
  EXPECT_FALSE(in.has_scalar("q"));

  EXPECT_EQ(error_of([&] { in["y"]; }), "the reference asks for input \"y\", but the catalogue declares bias, many, x");
  EXPECT_EQ(error_of([&] { in["bias"]; }),
            "the reference takes input \"bias\" as a tensor, but it is absent on this rank");
  EXPECT_EQ(error_of([&] { in.integer("p"); }), "the reference takes scalar \"p\" as an integer, but it is a float");
  EXPECT_NE(error_of([&] { in.param("eps"); }).find("a whole number"), std::string::npos);
  EXPECT_NE(error_of([&] { in.param("K"); }).find("declares M, eps"), std::string::npos);
}

class CustomInputsTest : public testing::Test {
 protected:
  CustomInputsTest()
      : device_(pkb::make_device(pkb::DeviceKind::host, 0, "pkb-inputs-test")), stream_(device_->create_stream()) {}
  ~CustomInputsTest() override { device_->destroy(stream_); }

  /// Rank `rank`'s inputs of draw `draw`, by the shipped inputs.cpp.
  pkb::Inputs drawn(const std::string& folder, Declared& declared, int64_t draw) {
    const pkb::Library library(PKB_BUILD_DIR "/lib/pkb/" + folder + "/reference.so");
    pkb::BaseDraws base(*device_, at::kCPU, stream_, 1);
    Slot slot;
    pkb::draw_slot(base, declared.instance(), library.custom_inputs(), draw, slot);
    return slot.inputs;
  }

  std::unique_ptr<pkb::Device> device_;
  pkb::Stream stream_;
};

constexpr int kWorld = 4;

TEST_F(CustomInputsTest, RmsNormScalesRowsAndZeroesTwo) {
  const int64_t rows = 64, columns = 32;
  int64_t zero_before = -1;
  bool zero_row_moves = false;
  for (int64_t draw = 0; draw < 6; ++draw) {
    std::vector<at::Tensor> norms;
    for (int rank = 0; rank < kWorld; ++rank) {
      Declared declared(18, "tp_rms_norm", kWorld, rank);
      declared.instance().params.insert({{"M", rows}, {"N", columns}});
      declared.input("hidden_local", Dtype::bf16, {rows, columns}, "custom");
      norms.push_back(drawn("18_tp_rms_norm", declared, draw)["hidden_local"].to(at::kDouble).pow(2).mean(1).sqrt());
    }
    const at::Tensor rms = at::stack(norms, 1);  // [rows, ranks]
    const at::Tensor zeros = rms.eq(0).sum(1);
    EXPECT_EQ(zeros.eq(kWorld).sum().item<int64_t>(), 1);
    EXPECT_EQ(zeros.eq(kWorld - 1).sum().item<int64_t>(), 1);
    EXPECT_EQ(zeros.eq(0).sum().item<int64_t>(), rows - 2);
    const int64_t zero = zeros.argmax().item<int64_t>();
    zero_row_moves = zero_row_moves || (draw > 0 && zero != zero_before);
    zero_before = zero;
    const at::Tensor small = rms.slice(0, 15, rows, 16);
    EXPECT_LT(small.max().item<double>(), 2e-3);
    // Apart from those, scales spread over 2^-4 .. 2^4 by row and rank.
    EXPECT_GT(rms.max().item<double>(), 8);
    EXPECT_GT((rms.select(1, 0) / rms.select(1, 1)).nan_to_num(0, 0, 0).max().item<double>(), 8);
  }
  EXPECT_TRUE(zero_row_moves);
}

TEST_F(CustomInputsTest, CrossEntropyRaisesOneRankOfEveryOddToken) {
  const int64_t batch = 8, length = 64, vocabulary = 64, width = vocabulary / kWorld, tokens = batch * length;
  at::Tensor first_target;
  for (int rank = 0; rank < kWorld; ++rank) {
    Declared declared(73, "vocab_parallel_cross_entropy_loss", kWorld, rank);
    declared.instance().params.insert({{"B", batch}, {"S", length}, {"V", vocabulary}});
    declared.input("vocab_parallel_logits", Dtype::bf16, {batch, length, width}, "custom");
    declared.input("target", Dtype::i64, {batch, length}, "custom").scope = pkb::Scope::replicated;
    const pkb::Inputs in = drawn("73_vocab_parallel_cross_entropy_loss", declared, 3);
    const at::Tensor low = in["vocab_parallel_logits"].to(at::kDouble).view({tokens, width}).amin(1);
    for (int64_t t = 0; t < tokens; ++t) {
      EXPECT_EQ(low[t].item<double>() > 50, t % 2 == 1 && t / 2 % kWorld == rank)
          << "token " << t << " on rank " << rank;
    }
    const at::Tensor target = in["target"];
    if (rank == 0) first_target = target;
    EXPECT_TRUE(at::equal(target, first_target));
  }
  EXPECT_GE(first_target.min().item<int64_t>(), 0);
  EXPECT_LT(first_target.max().item<int64_t>(), vocabulary);
  const at::Tensor place = first_target.remainder(width);
  const double at_edges = at::logical_or(place == 0, place == width - 1).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(at_edges, 0.05 + 0.95 * 2 / static_cast<double>(width), 0.05);
}

struct FilterCase {
  const char* name;
  pkb::Scalar top_k;
  double top_p;
};

/// Checks whole rows against the definition of the filter, in fp64.
class Rows {
 public:
  Rows(const at::Tensor& values, int64_t top_k, double top_p) : sorted_(std::get<0>(values.sort(1))) {
    constexpr double kGone = -std::numeric_limits<double>::infinity();
    if (top_k > 0) sorted_ = sorted_.masked_fill(sorted_ < sorted_.narrow(1, sorted_.size(1) - top_k, 1), kGone);
    after_top_k_ = sorted_.isfinite().sum(1);
    if (top_p < 1) {
      cumulative_ = sorted_.softmax(1).cumsum(1);
      margin_ = (cumulative_ - (1 - top_p)).abs().masked_fill(sorted_.isinf(), 1).min().item<double>();
      at::Tensor drop = cumulative_ <= 1 - top_p;
      drop.select(1, -1).fill_(false);
      sorted_ = sorted_.masked_fill(drop, kGone);
    }
    least_kept_ = sorted_.masked_fill(sorted_.isinf(), 1e9).amin(1);
  }
  double margin() const { return margin_; }
  const at::Tensor& kept_by_top_k() const { return after_top_k_; }
  const at::Tensor& least_kept() const { return least_kept_; }

 private:
  at::Tensor sorted_, cumulative_, after_top_k_, least_kept_;
  double margin_ = 1;
};

TEST_F(CustomInputsTest, LadderLogitsDecideEveryFilterWithAMargin) {
  const int64_t batch = 2, length = 40, vocabulary = 64, k = 5, width = vocabulary / kWorld, tokens = batch * length;
  for (const FilterCase& filter : {FilterCase{"both", k, 0.9}, FilterCase{"top_k", k, 1.0},
                                   FilterCase{"top_p", {}, 0.9}, FilterCase{"neither", {}, 1.0}}) {
    SCOPED_TRACE(filter.name);
    std::vector<at::Tensor> parts;
    at::Tensor target;
    for (int rank = 0; rank < kWorld; ++rank) {
      Declared declared(82, "vocab_parallel_log_prob_topk", kWorld, rank);
      declared.instance().params.insert({{"B", batch}, {"S", length}, {"V", vocabulary}, {"K", k}});
      declared.instance().case_name = filter.name;
      declared.instance().scalars = {{"top_k", filter.top_k}, {"top_p", filter.top_p}};
      declared.input("logits", Dtype::bf16, {batch, length, width}, "custom");
      declared.input("target", Dtype::i64, {batch, length}, "custom").scope = pkb::Scope::replicated;
      const pkb::Inputs in = drawn("82_vocab_parallel_log_prob_topk", declared, 2);
      parts.push_back(in["logits"].to(at::kDouble).view({tokens, width}));
      if (rank > 0) {
        EXPECT_TRUE(at::equal(target, in["target"]));
      }
      target = in["target"];
    }
    const at::Tensor values = at::cat(parts, 1);
    const int64_t top_k = std::holds_alternative<int64_t>(filter.top_k) ? k : 0;
    const Rows rows(values, top_k, filter.top_p);
    EXPECT_GE(rows.margin(), 4.99e-3);
    const at::Tensor chosen = values.gather(1, target.view({tokens, 1})).squeeze(1);
    const int64_t kept = (chosen >= rows.least_kept()).sum().item<int64_t>();
    const bool filters = top_k > 0 || filter.top_p < 1;
    EXPECT_EQ(kept, filters ? tokens * 3 / 4 : tokens);
    if (top_k > 0) {
      const at::Tensor ties = rows.kept_by_top_k() == k + 1;
      EXPECT_EQ(ties.sum().item<int64_t>(), tokens / 8);
      EXPECT_TRUE(at::logical_or(ties, rows.kept_by_top_k() == k).all().item<bool>());
    }
    EXPECT_GT(std::get<0>(at::_unique(values.argmax(1))).numel(), vocabulary / 3);  // the ladder lies anywhere
  }
}

}  // namespace
