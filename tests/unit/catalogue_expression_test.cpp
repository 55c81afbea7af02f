// SPDX-License-Identifier: Apache-2.0
#include "catalogue/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace pkb {
namespace {

const Variables kVariables{{"W", 4}, {"r", 3}, {"M", 1024}, {"K", 100}, {"tokens", 7}};

double value(const std::string& text) {
  return evaluate({text, 1}, kVariables);
}

std::string error(const std::string& text) {
  try {
    evaluate_integer({text, 42}, kVariables);
  } catch (const ExpressionError& fault) {
    EXPECT_EQ(fault.line(), 42);
    EXPECT_EQ(std::string(fault.what()), fault.detail() + " (line 42)");
    return fault.detail();
  }
  return "no error";
}

TEST(Expression, Evaluates) {
  EXPECT_EQ(value("1024"), 1024);
  EXPECT_EQ(value("-2.5e-1"), -0.25);
  EXPECT_EQ(value("M"), 1024);
  EXPECT_EQ(value("2*(W-1)/W*M"), 1536);
  EXPECT_EQ(value("M^0.5"), 32);
  EXPECT_EQ(value("(W*K)^-0.5"), 0.05);
  EXPECT_EQ(value("W > 2 && r == W-1 ? 5 : 6"), 5);
  EXPECT_EQ(value("r != 3 || W < 4"), 0);
  EXPECT_EQ(value("min(W, 3, M) + max(r, 1)"), 6);
  EXPECT_EQ(value("sqrt(M) + exp(0)"), 33);
}

TEST(Expression, RoundsToWholeNumbers) {
  EXPECT_EQ(value("floor(tokens/2)"), 3);
  EXPECT_EQ(value("ceil(tokens/2)"), 4);
  EXPECT_EQ(value("floor(-tokens/2)"), -4);
  EXPECT_EQ(value("mod(tokens, W)"), 3);
  EXPECT_EQ(value("mod(r-W, W)"), 3);  // the sign of the second argument, for rank arithmetic
  EXPECT_EQ(value("mod(-W, W)"), 0);
  EXPECT_EQ(value("mod(5.5, 2)"), 1.5);
}

TEST(Expression, KnownTraps) {
  EXPECT_EQ(value("-2^2"), -4);
  EXPECT_EQ(value("rint(2.5)"), 3);
  EXPECT_EQ(value("2^3^2"), 512);
  EXPECT_EQ(value("7/2"), 3.5);  // division is never of integers
}

TEST(Expression, WholeNumbers) {
  EXPECT_EQ(evaluate_integer({"M/W", 1}, kVariables), 256);
  EXPECT_EQ(evaluate_integer({"10*(0.1 + 0.2)", 1}, kVariables), 3);
  EXPECT_EQ(error("tokens/W"), "tokens/W is 1.75, not a whole number; W = 4, tokens = 7");
  EXPECT_EQ(error("2^60"), "2^60 is 1.15292e+18, too large");
  EXPECT_EQ(error("1/(W-4)"), "1/(W-4) is inf, not a number to work with; W = 4");
}

TEST(Expression, Conditions) {
  EXPECT_TRUE(evaluate_condition({}, kVariables));
  EXPECT_TRUE(evaluate_condition({"mod(M, W) == 0", 1}, kVariables));
  EXPECT_FALSE(evaluate_condition({"W >= 5", 1}, kVariables));
}

TEST(Expression, FaultsAreNamed) {
  EXPECT_EQ(error("M*KK"), "\"M*KK\": unknown name KK, did you mean K?");
  EXPECT_EQ(error("token"), "\"token\": unknown name token, did you mean tokens?");
  EXPECT_EQ(error("zzzzzz"), "\"zzzzzz\": unknown name zzzzzz");
  EXPECT_THAT(error("M*(K+1"), ::testing::HasSubstr("\"M*(K+1\": Missing parenthesis"));
  EXPECT_THAT(error("M+"), ::testing::HasSubstr("end of expression"));
  EXPECT_EQ(error("2*flor (M)"), "\"2*flor (M)\": unknown function flor, did you mean floor?");
  EXPECT_EQ(error("M(2)"), "\"M(2)\": unknown function M");
  EXPECT_EQ(error("M, K"), "\"M, K\": several values, one is wanted");
  EXPECT_THAT(error("2M"), ::testing::HasSubstr("\"2M\": Unexpected"));
  EXPECT_THAT(error("inf"), ::testing::HasSubstr("unknown name inf"));
}

TEST(Expression, OperatorsOfOtherLanguagesAreRefused) {
  EXPECT_EQ(error("W = 2"), "\"W = 2\": unexpected '=' at position 2: write == to compare");
  EXPECT_EQ(error("M % W"), "\"M % W\": unexpected '%' at position 2: write mod(a, b)");
  EXPECT_EQ(error("M ** 2"), "\"M ** 2\": unexpected '*' at position 2: write a^b");
  EXPECT_EQ(error("M // 2"), "\"M // 2\": unexpected '/' at position 2: write floor(a/b)");
  EXPECT_EQ(value("W <= 4 && W >= 4 && W != 5 && W == 4"), 1);
}

TEST(Evaluator, KeepsCompiledFormsButNoValues) {
  Evaluator evaluator;
  const Expression expression{"2*n", 1};
  EXPECT_EQ(evaluator.number(expression, {{"n", 3}}), 6);
  EXPECT_EQ(evaluator.number(expression, {{"n", 5}}), 10);
  EXPECT_THROW(evaluator.number(expression, {}), ExpressionError);
  EXPECT_THAT(evaluator.names({"a*b + min(a, c)", 1}), ::testing::ElementsAre("a", "b", "c"));
}

TEST(Expression, NamesThatExpressionsOwn) {
  EXPECT_TRUE(is_free_name("tokens"));
  for (const char* taken : {"W", "r", "i", "draw", "min", "floor", "mod", "2x", "a-b", ""}) {
    EXPECT_FALSE(is_free_name(taken)) << taken;
  }
}

}  // namespace
}  // namespace pkb
