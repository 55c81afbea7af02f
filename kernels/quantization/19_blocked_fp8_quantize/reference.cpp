// SPDX-License-Identifier: Apache-2.0
//
// s = max|x| / 448,  code = e4m3(x / (s == 0 ? 1 : s))     per block of block_size elements of a row; fp32, IEEE
// y_global = codes and s_global = scales of all ranks, one below the other
// x = local_tensor [M, N] bf16, y_global [W*M, N] fp8, s_global [W*M, N/block_size] fp32; every rank gets both
#include <pkb/reference.h>

#include <limits>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["local_tensor"];
  const int64_t rows = x.size(0), columns = x.size(1), block = in.integer("block_size");
  const at::Tensor blocks = x.view({rows, columns / block, block});

  const at::Tensor largest =
      at::linalg_vector_norm(blocks, std::numeric_limits<double>::infinity(), {-1}, /*keepdim=*/true, at::kFloat);
  // A tensor on the device: by a host number CUDA multiplies with the reciprocal.
  const at::Tensor scale = largest / at::full({}, 448, largest.options());
  at::Tensor codes = at::empty_like(blocks, blocks.options().dtype(at::kFloat8_e4m3fn));
  // A block whose scale is 0 is 0: any positive number divides it.
  at::div_out(codes, blocks, scale.clamp_min(std::numeric_limits<float>::denorm_min()));

  at::Tensor all_codes = at::empty({comm.size() * rows, columns}, codes.options());
  at::Tensor all_bytes = all_codes.view(at::kByte);
  comm.all_gather_into_tensor(all_bytes, codes.view(at::kByte));
  at::Tensor all_scales = at::empty({comm.size() * rows, columns / block}, scale.options());
  comm.all_gather_into_tensor(all_scales, scale);
  return {{"y_global", all_codes}, {"s_global", all_scales}};
}
PKB_REFERENCE(baseline)
