// SPDX-License-Identifier: Apache-2.0
//
// mean_grad = bf16(sum_s s_b q / W),  q = round(x / s_b) in -127 .. 127,  s_b = max(max|x|, 1e-8) * fp32(1/127)
// per block b of block_size elements, the last one may be shorter; x = flat_grad [n] bf16, mean_grad [n] bf16, between
// them fp32, IEEE division, halves to even; every rank quantises with scales of its own and gets mean_grad
#include <pkb/reference.h>

#include <limits>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  constexpr double kLeastMaximum = 1e-8, kLargest = 127;
  const at::Tensor& x = in["flat_grad"];
  const int64_t n = x.size(0), block = in.integer("block_size"), blocks = (n + block - 1) / block;
  const at::Tensor padded = blocks * block == n ? x : at::constant_pad_nd(x, {0, blocks * block - n});
  const at::Tensor rows = padded.view({blocks, block});

  const at::Tensor scale =
      at::linalg_vector_norm(rows, std::numeric_limits<double>::infinity(), {-1}, /*keepdim=*/true, at::kFloat)
          .clamp_min_(kLeastMaximum)
          .mul_(1 / kLargest);
  // |x / s_b| exceeds 127 by a rounding at most.
  at::Tensor mean = (rows / scale).round_().mul_(scale).view(-1).narrow(0, 0, n);
  comm.all_reduce(mean, pkb::ReduceOp::avg);
  return {{"mean_grad", mean.to(at::kBFloat16)}};
}
PKB_REFERENCE(baseline)
