// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "catalogue/problem.h"
#include "core/error.h"

namespace pkb {

using Variables = std::map<std::string, double, std::less<>>;

/// What is wrong with an expression. `what()` ends with the line; `detail()` is the same without it.
class ExpressionError : public Error {
 public:
  enum class Kind {
    syntax,
    unknown_name,
    value
  };  ///< value: infinite, not whole, negative: wrong for these variables only
  ExpressionError(Kind kind, const Expression& expression, const std::string& detail);
  Kind kind() const { return kind_; }
  int line() const { return line_; }
  const std::string& detail() const { return detail_; }

 private:
  Kind kind_;
  int line_;
  std::string detail_;
};

/// Evaluates expressions and keeps their compiled forms for as long as it lives: for who evaluates many, many times.
/// The functions below say what the results and errors are.
class Evaluator {
 public:
  Evaluator();
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  double number(const Expression& expression, const Variables& variables);
  int64_t integer(const Expression& expression, const Variables& variables);
  int64_t extent(const Expression& expression, const Variables& variables);  ///< whole and not negative
  double amount(const Expression& expression, const Variables& variables);   ///< not negative
  bool condition(const Expression& expression, const Variables& variables);

  const std::vector<std::string>& names(const Expression& expression);                ///< the variables it names
  std::string values_text(const Expression& expression, const Variables& variables);  ///< "K = 100, W = 3"

 private:
  struct Compiled;
  [[noreturn]] void fail_value(const Expression& expression, const Variables& variables, double result,
                               std::string_view why);
  Compiled& compile(const Expression& expression);
  std::unordered_map<std::string, std::unique_ptr<Compiled>> compiled_;
};

/// Evaluates with muParser, `ceil floor mod min max` and conditions registered; `mod` has the sign of its second
/// argument. Throws ExpressionError naming the expression, its line and the unknown name or the position of the fault,
/// or the result when it is not finite.
double evaluate(const Expression& expression, const Variables& variables);
/// As above; throws when the result is not a whole number (within 1e-6) or does not fit.
int64_t evaluate_integer(const Expression& expression, const Variables& variables);
bool evaluate_condition(const Expression& expression, const Variables& variables);  ///< empty: true

bool is_identifier(std::string_view text);

/// May a parameter, scalar or `let` have this name? False for W, r, i, draw, functions, and what is no identifier.
bool is_free_name(const std::string& name);

/// A number as messages write it: "1024", "0.9".
std::string number_text(double value);

}  // namespace pkb
