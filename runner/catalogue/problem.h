// SPDX-License-Identifier: Apache-2.0
//
// The data model of problems.yaml. `Problem` holds what the file says, with unevaluated expressions; `Instance` is one
// problem at one size, world and case with everything evaluated, for one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "pkb/scalar.h"

namespace pkb {

/// A muParser expression with the line it was written at. What it may name: W, the parameters, the `let` names, and
/// where a rank is known r and the numeric scalars; in lists of tensors `i`, in scalars `draw` (the draw's index).
struct Expression {
  std::string text;
  int line = 0;
  bool empty() const { return text.empty(); }
};

enum class Scope { per_rank, replicated, group, slice };

/// How a tensor's values are drawn, one word and its arguments: normal(mean, sigma), uniform(low, high), integers(low,
/// high), ternary(p) ({-1,0,1}, nonzero with probability p), permutation(n), constant(value), custom, custom(name).
/// Arguments are expressions.
struct DrawSpec {
  std::string kind;
  std::vector<Expression> arguments;
  int line = 0;
};

struct ToleranceSpec {
  Expression atol;  ///< absolute, an expression ("0.0125*W")
  Expression rtol;
  Expression frobenius;      ///< bound on |x - ref| / |ref| (Frobenius), beside the element-wise rule; may be empty
  bool atol_in_rms = false;  ///< atol counts in units of the expected output's rms
};

struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::bf16;
  std::vector<Expression> shape;
  Expression present;  ///< condition over r and scalars ("r == dst"); empty: always
  /// (condition, shape): the first that holds wins over `shape`.
  std::vector<std::pair<Expression, std::vector<Expression>>> shape_when;
  Expression count;  ///< a list of tensors; the shape may use the index `i`
  DrawSpec draw;     ///< inputs only
  Scope scope = Scope::per_rank;
  std::string scope_group;  ///< scope: group
  int slice_axis = -1;      ///< scope: slice (equal parts of one global tensor along this axis, in rank order)
  std::vector<int> layout;  ///< the axes as they lie in memory, outermost first; empty: in order (row-major)
  bool host = false;        ///< place: host
  bool constant = false;    ///< the same in every draw
  bool dynamic = false;     ///< the rows depend on the draw: inputs as drawn (custom), outputs as the candidate reports
  Expression capacity;      ///< rows (axis 0) to allocate for; empty: the maximum of the shape
  ToleranceSpec tolerance;  ///< outputs only
  bool left_to_check = false;  ///< compare: check. Not compared by elements, the reference's check judges it
  std::string agree;  ///< "bitwise": identical on all ranks that have it (or on the group named in agree_group)
  std::string agree_group;
  int line = 0;
};

/// A scalar's value: a literal, an expression (kind integer or float), or a list of expressions (kind list of
/// integers).
struct ScalarSpec {
  std::string name;
  Scalar literal;  ///< used when `expression` and `list_shape` are empty
  Expression expression;
  bool is_float = false;
  std::vector<Expression> elements;  ///< of a list, flat
  std::vector<int64_t> list_shape;
  bool per_draw = false;  ///< names `draw`: changes from draw to draw, see scalars_of_draw
  int line = 0;
};

/// A variant of a problem within a size. The first case is "default" and is the one that is timed.
struct CaseSpec {
  std::string name;
  Expression when;                                  ///< over parameters and W; empty: always
  std::map<std::string, Expression> params;         ///< overrides
  std::vector<ScalarSpec> scalars;                  ///< overrides
  std::map<std::string, DrawSpec> draws;            ///< overrides by tensor
  std::map<std::string, ToleranceSpec> tolerances;  ///< overrides by output ("*": all)
  std::string why;
  int line = 0;
};

/// A control (an answer that should be wrong) that is right here, or an expectation that looks like one.
struct ControlSpec {
  std::string control;  ///< zeros ones constant nan input stale mute partial one_off baseline
  std::string output;
  std::string case_name;  ///< empty: every case
  Expression when;        ///< over W, parameters, r and scalars; empty: always
  std::string why;
  int line = 0;
};

struct PhaseSpec {
  std::string name;
  Expression flops, mem, comm, comm_nvls;  ///< FLOP, bytes, bytes, bytes
  std::string precision;                   ///< a key of Profile::peak
  std::string axis;                        ///< the group whose links carry `comm`; empty: the world
  std::string why;
  int line = 0;
};

/// A process group: ranks of equal colour, ordered by key. Expressions over r, W and parameters.
struct GroupSpec {
  std::string name;
  Expression color, key;
  int line = 0;
};

struct SizeSpec {
  std::string name;
  std::map<std::string, Expression> overrides;
  int line = 0;
};

struct Problem {
  int id = 0;
  std::string name;  ///< "gemm_allreduce"
  std::string title;
  std::vector<std::string> suites;
  std::string domain;
  int level = 0;
  Expression world;  ///< condition over W and parameters; all of world_conditions
  std::vector<Expression> world_conditions;
  std::string world_text;  ///< what a person reads: "W >= 2, K divisible by W"
  Expression judged;       ///< where a pass counts (groups may be degenerate elsewhere); empty: always
  std::vector<std::pair<std::string, Expression>> params;  ///< in file order, values at size default
  std::vector<std::pair<std::string, Expression>> let;     ///< shorthands, in file order; not passed to candidates
  std::vector<SizeSpec> sizes;                             ///< smoke, default, large, ...
  std::optional<std::pair<std::string, std::vector<double>>> sweep;
  std::vector<GroupSpec> groups;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<ScalarSpec> scalars;
  std::vector<std::string> inplace;  ///< inputs the call changes; also outputs under the same name
  std::vector<CaseSpec> cases;       ///< at least one
  std::vector<ControlSpec> controls;
  std::vector<PhaseSpec> phases;
  std::string capture;          ///< why the reference cannot be captured in a graph; empty: it can
  std::string bus_bytes;        ///< pure collectives: busbw factor as nccl-tests defines it (expression)
  std::string algorithm_bytes;  ///< pure collectives: message bytes for algbw (expression)
  std::string folder;           ///< "collective/01_allreduce", below kernels/
  int line = 0;
  std::map<std::string, int, std::less<>> key_lines;  ///< of the entry's own keys
  int line_of(std::string_view key) const;            ///< of the entry when the key is not there
  std::string folder_name() const;                    ///< "01_allreduce"
};

struct Profile {
  std::string name;                    ///< "H100"
  std::map<std::string, double> peak;  ///< FLOP/s by precision
  double memory_bandwidth = 0;         ///< bytes/s
  double link_bandwidth = 0;           ///< bytes/s, one direction
  int64_t l2_bytes = 0;
  std::vector<std::string> matches;  ///< globs of device names that select it ("NVIDIA H200")
  int line = 0;
};

/// One tensor of an instance on one rank.
/// From this size on an input is drawn once for all draws that are made together: they share it, and differ in the
/// others.
inline constexpr int64_t kSharedInputBytes = int64_t{4} << 30;

struct TensorInstance {
  std::string name;     ///< the argument's name
  int list_index = -1;  ///< in a list of tensors; -1: not a list
  Dtype dtype = Dtype::bf16;
  bool present = true;
  std::vector<int64_t> shape;  ///< also where absent: what it would have
  int64_t capacity = 0;        ///< elements: maximum over ranks and cases
  bool host = false;
  bool dynamic = false;
  bool shared = false;  ///< an input of kSharedInputBytes or more
  const TensorSpec* spec = nullptr;
  int64_t elements() const;
  std::vector<int64_t> strides() const;  ///< in elements; no gaps, axes in the order of spec->layout
  int64_t capacity_bytes() const { return capacity * static_cast<int64_t>(size_of(dtype)); }
};

struct Tolerance {
  double atol = 0;
  double rtol = 0;
  double frobenius = 0;  ///< 0: not asked for
  bool atol_in_rms = false;
  bool exact() const { return atol == 0 && rtol == 0 && frobenius == 0; }
  bool operator==(const Tolerance&) const = default;
};

/// Integers, and what is only moved. Sums that happen to be exact (a case with whole numbers) may differ in the sign of
/// zero.
bool is_bit_for_bit(const TensorInstance& output, const Tolerance& tolerance);

/// A draw with evaluated arguments.
struct DrawInstance {
  std::string kind;
  std::vector<double> arguments;
  std::string custom_name;  ///< custom(name)
};

struct GroupInstance {
  std::string name;
  std::vector<int> members;  ///< world ranks in group order
  int index = 0;
};

struct PhaseInstance {
  std::string name, precision, axis;
  double flops = 0, mem_bytes = 0, comm_bytes = 0, comm_nvls_bytes = 0;
};

/// One problem at one size, world, case, for one rank.
struct Instance {
  const Problem* problem = nullptr;
  std::string size;
  int world = 0, rank = 0;
  std::string case_name;
  std::map<std::string, double, std::less<>> params;  ///< with W and r
  std::map<std::string, Scalar, std::less<>> scalars;
  std::vector<TensorInstance> inputs, outputs;  ///< one entry a tensor; lists are expanded
  std::map<std::string, DrawInstance> draws;    ///< by input name
  std::map<std::string, Tolerance> tolerances;  ///< by output name
  std::vector<GroupInstance> groups;            ///< of this rank; groups[0] is "world"
  std::vector<const ControlSpec*> controls;     ///< that are right in this case on this rank
  bool overrides_params = false;                ///< this case needs a setup of its own
};

}  // namespace pkb
