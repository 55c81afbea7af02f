// SPDX-License-Identifier: Apache-2.0
#include "catalogue/expression.h"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "catalogue/catalogue.h"

namespace pkb {

namespace {

constexpr double kWholeTolerance = 1e-6;
constexpr double kLargestWhole = 9007199254740992.0;  // 2^53: beyond it doubles skip whole numbers

double floored_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::optional<double> number_literal(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

mu::Parser make_parser() {
  mu::Parser parser;
  parser.DefineFun("ceil", [](double x) { return std::ceil(x); });
  parser.DefineFun("floor", [](double x) { return std::floor(x); });
  parser.DefineFun("mod", floored_modulo);
  return parser;
}

std::string suggestion_text(const std::string& word, const std::vector<std::string>& valid) {
  const std::string suggestion = nearest(word, valid);
  return suggestion.empty() ? "" : fmt::format(", did you mean {}?", suggestion);
}

/// muParser would take `W = 2` for an assignment and `a % b` for nonsense; say what to write instead.
void refuse_foreign_operators(const Expression& expression) {
  const std::string& text = expression.text;
  const auto syntax = [&](std::size_t at, std::string_view advice) {
    throw ExpressionError(ExpressionError::Kind::syntax, expression,
                          fmt::format("\"{}\": unexpected '{}' at position {}: {}", text, text[at], at, advice));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') syntax(i, "write mod(a, b)");
    if (text.compare(i, 2, "**") == 0) syntax(i, "write a^b");
    if (text.compare(i, 2, "//") == 0) syntax(i, "write floor(a/b)");
    if (text[i] != '=') continue;
    if (text.compare(i, 2, "==") == 0) {
      ++i;
    } else if (i == 0 || std::string_view("<>!").find(text[i - 1]) == std::string_view::npos) {
      syntax(i, "write == to compare");
    }
  }
}

/// muParser takes an unknown function for a variable and stumbles over the parenthesis.
void refuse_unknown_functions(const Expression& expression, const mu::Parser& parser) {
  const std::string& text = expression.text;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_identifier(std::string_view(text).substr(i, end + 1 - i))) ++end;
    const std::string word = text.substr(i, end - i);
    const std::size_t next = std::min(text.find_first_not_of(' ', end), text.size());
    if (end > i && next < text.size() && text[next] == '(' && parser.GetFunDef().count(word) == 0) {
      std::vector<std::string> valid;
      for (const auto& [name, function] : parser.GetFunDef()) valid.push_back(name);
      throw ExpressionError(ExpressionError::Kind::syntax, expression,
                            fmt::format("\"{}\": unknown function {}{}", text, word, suggestion_text(word, valid)));
    }
    i = std::max(end, i + 1);
  }
}

}  // namespace

ExpressionError::ExpressionError(Kind kind, const Expression& expression, const std::string& detail)
    : Error(expression.line > 0 ? fmt::format("{} (line {})", detail, expression.line) : detail),
      kind_(kind),
      line_(expression.line),
      detail_(detail) {}

struct Evaluator::Compiled {
  std::optional<double> constant;      // a number alone needs no parser,
  std::unique_ptr<mu::Parser> parser;  // nor does a single name
  std::vector<std::string> names;
  std::vector<double> values;  // bound to the parser by address
};

Evaluator::Evaluator() = default;
Evaluator::~Evaluator() = default;

Evaluator::Compiled& Evaluator::compile(const Expression& expression) {
  std::unique_ptr<Compiled>& slot = compiled_[expression.text];
  if (slot) return *slot;
  auto made = std::make_unique<Compiled>();
  made->constant = number_literal(expression.text);
  if (made->constant) {
    slot = std::move(made);
    return *slot;
  }
  if (is_identifier(expression.text)) {
    made->names = {expression.text};
    made->values = {0};
    slot = std::move(made);
    return *slot;
  }
  refuse_foreign_operators(expression);
  try {
    made->parser = std::make_unique<mu::Parser>(make_parser());
    refuse_unknown_functions(expression, *made->parser);
    made->parser->SetExpr(expression.text);
    for (const auto& [name, address] : mu::varmap_type(made->parser->GetUsedVar())) made->names.push_back(name);
    made->values.resize(made->names.size());
    for (std::size_t i = 0; i < made->names.size(); ++i) made->parser->DefineVar(made->names[i], &made->values[i]);
    made->parser->Eval();
  } catch (const mu::Parser::exception_type& fault) {
    throw ExpressionError(ExpressionError::Kind::syntax, expression,
                          fmt::format("\"{}\": {}", expression.text, fault.GetMsg()));
  }
  if (made->parser->GetNumResults() != 1) {
    throw ExpressionError(ExpressionError::Kind::syntax, expression,
                          fmt::format("\"{}\": several values, one is wanted", expression.text));
  }
  slot = std::move(made);
  return *slot;
}

double Evaluator::number(const Expression& expression, const Variables& variables) {
  Compiled& compiled = compile(expression);
  if (compiled.constant) return *compiled.constant;
  for (std::size_t i = 0; i < compiled.names.size(); ++i) {
    const auto known = variables.find(compiled.names[i]);
    if (known == variables.end()) {
      std::vector<std::string> valid;
      for (const auto& [name, value] : variables) valid.push_back(name);
      throw ExpressionError(ExpressionError::Kind::unknown_name, expression,
                            fmt::format("\"{}\": unknown name {}{}", expression.text, compiled.names[i],
                                        suggestion_text(compiled.names[i], valid)));
    }
    compiled.values[i] = known->second;
  }
  const double result = compiled.parser ? compiled.parser->Eval() : compiled.values[0];
  if (!std::isfinite(result)) {
    fail_value(expression, variables, result, "not a number to work with");
  }
  return result;
}

int64_t Evaluator::integer(const Expression& expression, const Variables& variables) {
  const double result = number(expression, variables);
  const double whole = std::round(result);
  if (std::abs(result - whole) > kWholeTolerance) fail_value(expression, variables, result, "not a whole number");
  if (std::abs(whole) > kLargestWhole) fail_value(expression, variables, result, "too large");
  return static_cast<int64_t>(whole);
}

int64_t Evaluator::extent(const Expression& expression, const Variables& variables) {
  const int64_t result = integer(expression, variables);
  if (result < 0) fail_value(expression, variables, static_cast<double>(result), "negative");
  return result;
}

double Evaluator::amount(const Expression& expression, const Variables& variables) {
  const double result = number(expression, variables);
  if (result < 0) fail_value(expression, variables, result, "negative");
  return result;
}

bool Evaluator::condition(const Expression& expression, const Variables& variables) {
  return expression.empty() || number(expression, variables) != 0;
}

void Evaluator::fail_value(const Expression& expression, const Variables& variables, double result,
                           std::string_view why) {
  const std::string values = values_text(expression, variables);
  throw ExpressionError(
      ExpressionError::Kind::value, expression,
      fmt::format("{} is {}, {}{}{}", expression.text, number_text(result), why, values.empty() ? "" : "; ", values));
}

std::string Evaluator::values_text(const Expression& expression, const Variables& variables) {
  std::string text;
  for (const std::string& name : names(expression)) {
    const auto known = variables.find(name);
    if (known == variables.end()) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, number_text(known->second));
  }
  return text;
}

const std::vector<std::string>& Evaluator::names(const Expression& expression) {
  return compile(expression).names;
}

double evaluate(const Expression& expression, const Variables& variables) {
  return Evaluator().number(expression, variables);
}

int64_t evaluate_integer(const Expression& expression, const Variables& variables) {
  return Evaluator().integer(expression, variables);
}

bool evaluate_condition(const Expression& expression, const Variables& variables) {
  return Evaluator().condition(expression, variables);
}

bool is_identifier(std::string_view text) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) || c == '_'; };
  const auto is_word = [&](unsigned char c) { return is_letter(c) || std::isdigit(c); };
  return !text.empty() && is_letter(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), is_word);
}

bool is_free_name(const std::string& name) {
  if (!is_identifier(name) || name == "W" || name == "r" || name == "i" || name == "draw") return false;
  return make_parser().GetFunDef().count(name) == 0;
}

std::string number_text(double value) {
  const bool whole = std::abs(value) < kLargestWhole && value == std::round(value);
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

}  // namespace pkb
