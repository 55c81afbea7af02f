// SPDX-License-Identifier: Apache-2.0
//
// X = x / |x| (Frobenius); steps times X <- a X + (b G + c G G) X,  G = X X^T,  a, b, c of the step; y = X; all in fp32
// x and y bf16 [R, C/W]: column blocks of [R, C] matrices; partition_dim 0: row blocks [R/W, C], handled as transposes
#include <pkb/reference.h>

#include <array>
#include <string_view>

namespace {

struct Coefficients {
  double a, b, c;
};

constexpr std::array kQuintic = {Coefficients{4.0848, -6.8946, 2.9270}, Coefficients{3.9505, -6.3029, 2.6377},
                                 Coefficients{3.7418, -5.5913, 2.3037}, Coefficients{2.8769, -3.1427, 1.2046},
                                 Coefficients{2.8366, -3.0525, 1.2012}};
constexpr std::array kSimple = {Coefficients{3.4445, -4.7750, 2.0315}};
constexpr std::array kPolarExpress = {Coefficients{8.2051, -22.9019, 16.4607}, Coefficients{4.0664, -2.8612, 0.5184},
                                      Coefficients{3.9096, -2.8234, 0.5250},   Coefficients{3.2856, -2.4647, 0.5074},
                                      Coefficients{2.2779, -1.6447, 0.4162},   Coefficients{1.8726, -1.2307, 0.3585},
                                      Coefficients{1.8564, -1.2132, 0.3568},   Coefficients{1.8750, -1.2500, 0.3750}};
constexpr std::array kAol = {Coefficients{4.0098, -7.0585, 2.4635}, Coefficients{3.4585, -5.5479, 2.5959},
                             Coefficients{2.7573, -3.2939, 1.4254}, Coefficients{2.7215, -3.0494, 1.3169}};

/// Of step `step`; the lists repeat.
Coefficients coefficients(std::string_view type, int64_t step) {
  const auto of = [&](const auto& list) { return list[static_cast<size_t>(step) % list.size()]; };
  if (type == "quintic") return of(kQuintic);
  if (type == "simple") return of(kSimple);
  if (type == "polar_express") return of(kPolarExpress);
  TORCH_CHECK(type == "aol", "no coefficients are called ", type);
  return of(kAol);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  constexpr double kLeastNorm = 1e-7;
  const bool by_rows = in.integer("partition_dim") == 0;
  at::Tensor x = (by_rows ? in["x"].t() : in["x"]).to(at::kFloat);
  for (int64_t step = 0; step < in.integer("steps"); ++step) {
    const auto [a, b, c] = coefficients(in.string("coefficient_type"), step);
    at::Tensor gram = at::mm(x, x.t());
    comm.all_reduce(gram);
    if (step == 0) {  // |x|^2 is the trace
      const at::Tensor norm = gram.trace().sqrt_().clamp_min_(kLeastNorm);
      gram.div_(norm * norm);
      x = x / norm;
    }
    // (b G + c G G) X is G (b X + c G X); whichever is less work.
    x = x.size(1) < x.size(0) ? at::addmm(x, gram, at::addmm(x, gram, x, b, c), a, 1)
                              : at::addmm(x, at::addmm(gram, gram, gram, b, c), x, a, 1);
  }
  const at::Tensor y = x.to(at::kBFloat16);
  return {{"y", by_rows ? y.t().contiguous() : y}};
}

/// y = U f(S) V^T for x = U S V^T: the steps bring singular values from 2e-3 of the norm up near to 1. Small x only.
std::string check(const pkb::Inputs& in, const pkb::Outputs& got, const pkb::Outputs&, pkb::Comm& comm) {
  constexpr int64_t kMostElements = 1 << 16;
  const auto whole = [&](const at::Tensor& part) {
    at::Tensor parts = at::empty({comm.size(), part.size(0), part.size(1)}, part.options());
    comm.all_gather_into_tensor(parts, part);
    return at::cat(parts.unbind(0), in.integer("partition_dim")).to(at::kDouble);
  };
  if (in["x"].numel() * comm.size() > kMostElements) return {};
  const auto [u, s, v] = at::linalg_svd(whole(in["x"]), /*full_matrices=*/false);
  const at::Tensor diagonal = u.t().mm(whole(std::get<at::Tensor>(got.at("y")))).mm(v.t()).diagonal();
  const at::Tensor right = (diagonal >= 0.8).logical_and(diagonal <= 1.2).logical_or(s <= 2e-3 * s.norm());
  return right.all().item<bool>() ? "" : "a singular value of all ranks' y together is not within [0.8, 1.2]";
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, nullptr, check};
  return &reference;
}
