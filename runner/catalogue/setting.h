// SPDX-License-Identifier: Apache-2.0
//
// Inside the catalogue: one problem at one size and W, where all its expressions have values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalogue/catalogue.h"
#include "catalogue/expression.h"

namespace pkb {

/// What expressions may name on one rank in one case, and what the rank's arguments are made of.
struct Environment {
  std::map<std::string, double, std::less<>> params;  ///< with W and r
  std::map<std::string, Scalar, std::less<>> scalars;
  Variables variables;  ///< params, `let` names and numeric scalars
};

class Setting {
 public:
  /// Throws UsageError for an unknown size or overridden parameter. The arguments must outlive the setting.
  Setting(const Problem& problem, std::string_view size, const Overrides& overrides, int world, Evaluator& evaluator);

  // Expressions that have no value here throw ExpressionError, with what they belong to.
  bool exists(const CaseSpec& spec);  ///< `when`, over the size's own parameters
  Environment environment(const CaseSpec& spec, int rank, int64_t draw = 0);
  std::vector<TensorInstance> tensors(const std::vector<TensorSpec>& specs, const Environment& environment);
  DrawInstance draw(const TensorSpec& input, const CaseSpec& spec, const Environment& environment);
  Tolerance tolerance(const TensorSpec& output, const CaseSpec& spec, const Environment& environment);
  std::vector<GroupInstance> groups(const CaseSpec& spec, int rank);
  std::vector<const ControlSpec*> controls(const CaseSpec& spec, const Environment& environment);  ///< right there
  std::vector<PhaseInstance> phases();
  /// Elements to allocate by (name, index in its list): the maximum over ranks and over the cases that share the
  /// parameters.
  using Capacities = std::map<std::pair<std::string, int>, int64_t>;
  Capacities capacities(const std::vector<TensorSpec>& specs, const CaseSpec& spec);

  /// Why this case cannot run here; empty: it can. Errors that are wrong everywhere (unknown names) throw.
  std::string why_illegal(const CaseSpec& spec);
  /// The same for the default case and all that share its parameters.
  std::string why_illegal();

 private:
  Variables parameters(const CaseSpec& spec, int rank);  ///< with W and r
  Variables with_shorthands(Variables variables);
  Scalar scalar(const ScalarSpec& spec, const Variables& variables);
  TensorInstance tensor(const TensorSpec& spec, int list_index, const Variables& variables);
  std::string failed_condition(const CaseSpec& spec);
  void evaluate_all(const CaseSpec& spec);

  const Problem& problem_;
  const SizeSpec& size_;
  const Overrides& overrides_;
  int world_;
  Evaluator& evaluator_;
};

/// "K divisible by W" for mod(K, W) == 0; else the expression as it stands.
std::string condition_text(const Expression& condition);

}  // namespace pkb
