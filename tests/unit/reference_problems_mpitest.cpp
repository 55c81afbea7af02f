// SPDX-License-Identifier: Apache-2.0
//
// The shipped references against plain computations in fp64, from all ranks' inputs, on every rank. Part of the program
// whose main is in reference_comm_test.cpp; runs under mpirun.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <limits>

#include "reference/comm.h"
#include "reference/library.h"

namespace {

using pkb::Inputs;
using pkb::Outputs;

class ReferencesTest : public testing::Test {
 protected:
  ReferencesTest()
      : groups_(pkb::make_mpi_groups(MPI_COMM_WORLD)),
        comm_(groups_->world()),
        rank_(comm_.rank()),
        size_(comm_.size()) {}

  void load(const std::string& folder) {
    library_ = std::make_unique<pkb::Library>(std::string(PKB_BUILD_DIR "/lib/pkb/") + folder + "/reference.so");
    in_ = Inputs();
  }

  /// bf16 normals; tensor `what` of rank `rank`.
  static at::Tensor normal(int rank, at::IntArrayRef shape, double sigma = 1, uint64_t what = 0) {
    auto generator = at::detail::createCPUGenerator(100 * what + static_cast<uint64_t>(rank));
    return at::randn(shape, generator, at::kFloat).mul_(sigma).to(at::kBFloat16);
  }
  static at::Tensor wide(const at::Tensor& tensor) { return tensor.to(at::kDouble); }

  at::Tensor run(const char* output) {
    Outputs outputs = library_->baseline(library_->baselines().front())(in_, comm_);
    if (!outputs.contains(output)) return {};
    return std::get<at::Tensor>(outputs.at(output));
  }
  at::Tensor run_expected(const char* output) {
    return std::get<at::Tensor>(library_->answer()(in_, comm_).at(output));
  }

  template <class Make>
  at::Tensor over_ranks(Make make) const {
    std::vector<at::Tensor> all;
    for (int s = 0; s < size_; ++s) all.push_back(make(s));
    return at::stack(all);
  }

  static void expect_near(const at::Tensor& got, const at::Tensor& truth, double atol, double rtol) {
    ASSERT_TRUE(got.defined());
    ASSERT_EQ(got.sizes(), truth.sizes());
    const at::Tensor difference = (wide(got) - truth).abs();
    const at::Tensor bound = truth.abs() * rtol + atol;
    EXPECT_TRUE((difference <= bound).all().item<bool>()) << "off by " << difference.max().item<double>();
  }

  std::unique_ptr<pkb::CommGroups> groups_;
  pkb::Comm& comm_;
  int rank_, size_;
  std::unique_ptr<pkb::Library> library_;
  Inputs in_;
};

constexpr int64_t kM = 12, kN = 10;

TEST_F(ReferencesTest, AllReduce) {
  load("01_allreduce");
  in_.tensors["x"] = normal(rank_, {kM, kN});
  const at::Tensor truth = over_ranks([](int s) { return wide(normal(s, {kM, kN})); }).sum(0);
  expect_near(run("y"), truth, 1e-6, 0x1p-8);
  EXPECT_TRUE(at::equal(in_["x"], normal(rank_, {kM, kN})));
}

TEST_F(ReferencesTest, AllGather) {
  load("02_allgather");
  in_.tensors["x"] = normal(rank_, {kM, kN});
  EXPECT_TRUE(at::equal(run("y"), over_ranks([](int s) { return normal(s, {kM, kN}); })));
}

TEST_F(ReferencesTest, Broadcast) {
  load("03_broadcast");
  in_.tensors["x"] = normal(rank_, {kM, kN});
  for (int64_t src = 0; src < size_; ++src) {
    in_.scalars["src"] = src;
    const at::Tensor y = run("y");
    EXPECT_TRUE(at::equal(y, normal(static_cast<int>(src), {kM, kN})));
    EXPECT_FALSE(y.is_alias_of(in_["x"]));
    EXPECT_TRUE(at::equal(in_["x"], normal(rank_, {kM, kN})));
  }
}

TEST_F(ReferencesTest, Reduce) {
  load("04_reduce");
  in_.tensors["x"] = normal(rank_, {kM, kN});
  const at::Tensor truth = over_ranks([](int s) { return wide(normal(s, {kM, kN})); }).sum(0);
  for (int64_t dst = 0; dst < size_; ++dst) {
    in_.scalars["dst"] = dst;
    const at::Tensor y = run("y");
    EXPECT_EQ(y.defined(), rank_ == dst);
    if (rank_ == dst) expect_near(y, truth, 1e-6, 0x1p-8);
    EXPECT_TRUE(at::equal(in_["x"], normal(rank_, {kM, kN})));
  }
}

TEST_F(ReferencesTest, Scatter) {
  load("05_scatter");
  for (int64_t src = 0; src < size_; ++src) {
    in_.scalars["src"] = src;
    in_.tensors["x"] = rank_ == src ? normal(rank_, {size_, kM, kN}) : normal(rank_, {kM, kN});
    EXPECT_TRUE(at::equal(run("y"), normal(static_cast<int>(src), {size_, kM, kN})[rank_]));
  }
}

TEST_F(ReferencesTest, Gather) {
  load("06_gather");
  in_.tensors["x"] = normal(rank_, {kM, kN});
  for (int64_t dst = 0; dst < size_; ++dst) {
    in_.scalars["dst"] = dst;
    const at::Tensor y = run("y");
    EXPECT_EQ(y.defined(), rank_ == dst);
    if (rank_ == dst) {
      EXPECT_TRUE(at::equal(y, over_ranks([](int s) { return normal(s, {kM, kN}); })));
    }
  }
}

TEST_F(ReferencesTest, ReduceScatter) {
  load("07_reducescatter");
  const std::vector<int64_t> shape{size_ * kM, kN};
  in_.tensors["x"] = normal(rank_, shape);
  const at::Tensor sum = over_ranks([&](int s) { return wide(normal(s, shape)); }).sum(0);
  expect_near(run("y"), sum.narrow(0, rank_ * kM, kM), 1e-6, 0x1p-8);
}

TEST_F(ReferencesTest, AllToAll) {
  load("08_alltoall");
  const std::vector<int64_t> shape{size_, kM, kN};
  in_.tensors["x"] = normal(rank_, shape);
  EXPECT_TRUE(at::equal(run("y"), over_ranks([&](int s) { return normal(s, shape)[rank_]; })));
}

TEST_F(ReferencesTest, AllGatherGemm) {
  load("12_allgather_gemm");
  const int64_t part = 16, inner = part * size_;
  in_.tensors["A_local"] = normal(rank_, {kM, part});
  in_.tensors["B"] = normal(rank_, {inner, kN}, std::pow(inner, -0.5), 1);
  const at::Tensor a = over_ranks([&](int s) {
                         return wide(normal(s, {kM, part}));
                       })
                           .transpose(0, 1)
                           .reshape({kM, inner});
  expect_near(run("y"), a.matmul(wide(in_["B"])), 1e-4, 0x1p-8);
}

TEST_F(ReferencesTest, GemmAllReduce) {
  load("13_gemm_allreduce");
  const int64_t inner = 64;
  const auto a = [&](int s) { return normal(s, {kM, inner}); };
  const auto b = [&](int s) { return normal(s, {inner, kN}, 0.125, 1); };
  in_.tensors["A_local"] = a(rank_);
  in_.tensors["B_local"] = b(rank_);
  const at::Tensor truth = over_ranks([&](int s) { return wide(a(s)).matmul(wide(b(s))); }).sum(0);
  expect_near(run("y"), truth, 0.0125 * size_, 0.01);
}

TEST_F(ReferencesTest, GemmReduceScatter) {
  load("16_gemm_reducescatter");
  const int64_t rows = 8 * size_, part = 16;
  const auto a = [&](int s) { return normal(s, {rows, part}, 1 + 0.5 * s); };
  const auto b = [&](int s) { return normal(s, {part, kN}, std::pow(part * size_, -0.5), 1); };
  in_.tensors["A_local"] = a(rank_);
  in_.tensors["B_local"] = b(rank_);
  const at::Tensor sum = over_ranks([&](int s) { return wide(a(s)).matmul(wide(b(s))); }).sum(0);
  const at::Tensor truth = sum.narrow(0, 8 * rank_, 8);
  expect_near(run("C_local"), truth, 0.03 * sum.pow(2).mean().sqrt().item<double>(), 0.01);
  expect_near(run_expected("C_local"), truth, 1e-5, 0x1p-8);
}

TEST_F(ReferencesTest, RmsNorm) {
  load("18_tp_rms_norm");
  const auto hidden = [&](int s) { return normal(s, {kM, kN}, 1 + s); };
  in_.tensors["hidden_local"] = hidden(rank_).index_fill_(0, at::tensor({3}, at::kLong), 0);
  in_.tensors["weight_local"] = normal(rank_, {kN}, 1, 1);
  in_.scalars["variance_epsilon"] = 1e-5;
  const at::Tensor mean = over_ranks([&](int s) { return wide(hidden(s)).pow(2).sum(-1, true); }).sum(0) / (kN * size_);
  at::Tensor truth = wide(in_["weight_local"]) * wide(hidden(rank_)) * (mean + 1e-5).rsqrt();
  truth[3].zero_();
  expect_near(run("y_local"), truth, 1e-4, 1.6e-2);
}

TEST_F(ReferencesTest, GemvDecode) {
  load("46_gemv_decode");
  const int64_t tokens = 3, hidden = 32, width = 8;
  const auto weight = [&](int s) { return normal(s, {width, hidden}, std::pow(hidden, -0.5), 1); };
  const auto bias = [&](int s) { return normal(s, {width}, 1, 2); };
  const at::Tensor states = normal(0, {tokens, hidden});
  in_.tensors["hidden_states"] = states;
  in_.tensors["weight_shard"] = weight(rank_);
  in_.tensors["bias_shard"] = bias(rank_);
  const at::Tensor parts = over_ranks([&](int s) { return wide(states).matmul(wide(weight(s)).t()) + wide(bias(s)); });
  expect_near(run("logits"), parts.transpose(0, 1).reshape({tokens, size_ * width}), 1.6e-2, 1.6e-2);
}

TEST_F(ReferencesTest, VocabParallelCrossEntropy) {
  load("73_vocab_parallel_cross_entropy_loss");
  const int64_t batch = 2, length = 6, width = 16;
  const auto logits = [&](int s) {
    at::Tensor x = normal(s, {batch, length, width}, 3).to(at::kFloat);
    if (s == size_ - 1) x.select(0, 1).add_(100);
    return x.to(at::kBFloat16);
  };
  auto generator = at::detail::createCPUGenerator(7);
  const at::Tensor target = at::randint(0, width * size_, {batch, length}, generator, at::kLong);
  in_.tensors["vocab_parallel_logits"] = logits(rank_);
  in_.tensors["target"] = target;
  const at::Tensor all =
      over_ranks([&](int s) { return wide(logits(s)); }).permute({1, 2, 0, 3}).reshape({batch, length, -1});
  const at::Tensor truth = all.logsumexp(-1) - all.gather(-1, target.unsqueeze(-1)).squeeze(-1);
  expect_near(run("loss"), truth, 7e-2, 1e-2);
  const at::Tensor shifted = (logits(rank_) - all.amax(-1, true).to(at::kBFloat16));
  EXPECT_TRUE(at::equal(in_["vocab_parallel_logits"], shifted));
}

/// One row, filtered by the definition: no sort of LibTorch, no cumsum.
at::Tensor filtered(const at::Tensor& row, int64_t top_k, double top_p) {
  const int64_t n = row.numel();
  std::vector<double> x(row.data_ptr<double>(), row.data_ptr<double>() + n);
  std::vector<std::size_t> order(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  constexpr double kGone = -std::numeric_limits<double>::infinity();
  if (top_k > 0) {
    const double threshold = x[order[static_cast<std::size_t>(n - std::min(top_k, n))]];
    for (double& value : x) value = value < threshold ? kGone : value;
  }
  if (top_p < 1) {
    double total = 0, sum = 0;
    for (const double value : x) total += std::exp(value);
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      sum += std::exp(x[order[i]]) / total;
      if (sum <= 1 - top_p) x[order[i]] = kGone;
    }
  }
  return at::tensor(x, at::kDouble);
}

TEST_F(ReferencesTest, VocabParallelLogProb) {
  load("82_vocab_parallel_log_prob_topk");
  const int64_t batch = 2, length = 2 * size_, width = 8, vocabulary = width * size_, tokens = batch * length;
  const auto logits = [&](int s) { return normal(s, {batch, length, width}, 2); };
  auto generator = at::detail::createCPUGenerator(9);
  const at::Tensor target = at::randint(0, vocabulary, {batch, length}, generator, at::kLong);
  const at::Tensor all =
      over_ranks([&](int s) { return wide(logits(s)); }).permute({1, 2, 0, 3}).reshape({tokens, vocabulary});
  in_.tensors["logits"] = logits(rank_);
  in_.tensors["target"] = target;
  for (const auto& [top_k, top_p] : {std::pair<int64_t, double>{5, 0.9}, {5, 1.0}, {0, 0.9}, {0, 1.0}}) {
    in_.scalars["top_k"] = top_k > 0 ? pkb::Scalar(top_k) : pkb::Scalar();
    in_.scalars["top_p"] = top_p;
    const at::Tensor got = run("logprob").view(-1);
    for (int64_t t = 0; t < tokens; ++t) {
      const at::Tensor row = filtered(all[t].contiguous(), top_k, top_p);
      const double truth = (row - row.logsumexp(0))[target.view(-1)[t].item<int64_t>()].item<double>();
      const double value = got[t].item<double>();
      if (std::isinf(truth)) {
        EXPECT_EQ(value, truth) << "token " << t << ", top_k " << top_k << ", top_p " << top_p;
      } else {
        EXPECT_NEAR(value, truth, 1e-4) << "token " << t << ", top_k " << top_k << ", top_p " << top_p;
      }
    }
  }
}

/// [B, T, H, D] as fp64 [B, H, T, D].
at::Tensor heads(const at::Tensor& x) {
  return x.transpose(1, 2).to(at::kDouble);
}

constexpr int64_t kOwnTokens = 5, kHeads = 2, kHeadSize = 8;

class RingTest : public ReferencesTest {
 protected:
  static at::Tensor part(int rank, uint64_t what) { return normal(rank, {2, kOwnTokens, kHeads, kHeadSize}, 1, what); }
  at::Tensor whole(uint64_t what) const {
    std::vector<at::Tensor> parts;
    for (int s = 0; s < size_; ++s) parts.push_back(heads(part(s, what)));
    return at::cat(parts, 2);
  }
  /// Of the whole sequence, keys after the query left out.
  at::Tensor scores(const at::Tensor& q, const at::Tensor& k) const {
    const at::Tensor all = q.matmul(k.transpose(-2, -1)) / std::sqrt(static_cast<double>(kHeadSize));
    const at::Tensor future = at::ones({all.size(-2), all.size(-1)}, at::kBool).triu(1);
    return all.masked_fill(future, -std::numeric_limits<double>::infinity());
  }
  at::Tensor own(const at::Tensor& x) const { return x.narrow(2, rank_ * kOwnTokens, kOwnTokens).transpose(1, 2); }
  void set(const char* name, uint64_t what) { in_.tensors[name] = part(rank_, what); }
};

TEST_F(RingTest, Attention) {
  load("54_ring_attention");
  set("q", 1);
  set("k", 2);
  set("v", 3);
  in_.scalars = {{"softmax_scale", pkb::Scalar()}, {"causal", true}};
  const at::Tensor truth = scores(whole(1), whole(2)).softmax(-1).matmul(whole(3));
  expect_near(run("out"), own(truth), 1e-2, 1.6e-2);
}

TEST_F(RingTest, AttentionBackward) {
  load("57_ring_attention_backward_dp");
  std::vector<int> everybody;
  for (int s = 0; s < size_; ++s) everybody.push_back(s);
  groups_->name_groups({{"cp", everybody, rank_}, {"dp", {rank_}, 0}});
  const at::Tensor q = whole(1), k = whole(2), v = whole(3), dout = whole(4), x = scores(q, k);
  const at::Tensor p = x.softmax(-1), out = p.matmul(v);
  for (const auto& [name, what] : {std::pair<const char*, uint64_t>{"q", 1}, {"k", 2}, {"v", 3}, {"dout", 4}}) {
    set(name, what);
  }
  in_.tensors["out"] = own(out).contiguous().to(at::kBFloat16);
  in_.tensors["softmax_lse"] = x.logsumexp(-1).narrow(2, rank_ * kOwnTokens, kOwnTokens).contiguous().to(at::kFloat);
  in_.scalars = {{"softmax_scale", pkb::Scalar()}, {"causal", true}};

  const double scale = 1 / std::sqrt(static_cast<double>(kHeadSize));
  const at::Tensor dx = p * (dout.matmul(v.transpose(-2, -1)) - (dout * out).sum(-1, true)) * scale;
  expect_near(run("dq"), own(dx.matmul(k)), 5e-2, 2e-2);
  expect_near(run("dk"), own(dx.transpose(-2, -1).matmul(q)), 5e-2, 2e-2);
  expect_near(run("dv"), own(p.transpose(-2, -1).matmul(dout)), 5e-2, 2e-2);
}

TEST_F(ReferencesTest, AttentionOverRanges) {
  load("77_magi1_cso_async_attention");
  const int64_t ranges = 3, tokens = 4, chunk = tokens * size_, size = 8, key_heads = size_, query_heads = 2 * size_;
  const auto query = [&](int s) { return normal(s, {ranges * tokens, query_heads, size}); };
  const auto key_value = [&](int s) { return normal(s, {ranges * tokens, key_heads, 2 * size}, 1, 1); };
  in_.tensors["query"] = query(rank_);
  in_.tensors["key_value"] = key_value(rank_);
  const std::vector<int64_t> ends{0, chunk, 1, chunk + 3, chunk - 1, ranges * chunk};
  in_.tensors["k_ranges"] = at::tensor(ends, at::kLong).view({ranges, 2});
  in_.scalars = {{"cp_shuffle_num", ranges}, {"clip_token_nums", chunk}};

  // Rows of all ranks, range by range: [heads, ranges * chunk, 2 * size].
  const at::Tensor all = over_ranks([&](int s) {
                           return wide(key_value(s)).unflatten(0, {ranges, tokens});
                         })
                             .transpose(0, 1)
                             .reshape({ranges * chunk, key_heads, 2 * size})
                             .transpose(0, 1)
                             .repeat_interleave(2, 0);
  const at::Tensor queries = wide(query(rank_)).transpose(0, 1);
  std::vector<at::Tensor> truth;
  for (int64_t i = 0; i < ranges; ++i) {
    const int64_t first = ends[static_cast<std::size_t>(2 * i)], end = ends[static_cast<std::size_t>(2 * i + 1)];
    const at::Tensor own = all.narrow(1, first, end - first), keys = own.narrow(2, 0, size);
    const at::Tensor x = queries.narrow(1, i * tokens, tokens).matmul(keys.transpose(1, 2));
    truth.push_back((x / std::sqrt(static_cast<double>(size))).softmax(-1).matmul(own.narrow(2, size, size)));
  }
  expect_near(run("out"), at::cat(truth, 1).transpose(0, 1), 2e-2, 2e-2);
}

}  // namespace
