// SPDX-License-Identifier: Apache-2.0
#include "evaluate/slab.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "pkb/candidate.h"

namespace pkb {
namespace {

/// A problem with an in-place argument, a list, a dynamic output and an absent one.
struct Example {
  Problem problem;
  TensorSpec spec;
  Instance instance;

  Example() {
    problem.inplace = {"state"};
    instance.problem = &problem;
    instance.inputs = {tensor("x", -1, {4, 3}, 12), tensor("state", -1, {5}, 5), tensor("list", 0, {2}, 2),
                       tensor("list", 1, {7}, 9)};
    instance.outputs = {tensor("y", -1, {4, 3}, 40), tensor("state", -1, {5}, 5), tensor("ragged", -1, {6, 2}, 20),
                        tensor("absent", -1, {3}, 3)};
    instance.outputs[2].dynamic = true;
    instance.outputs[3].present = false;
    instance.params = {{"M", 4}, {"eps", 1e-5}};
  }

  TensorInstance tensor(const char* name, int list_index, std::vector<int64_t> shape, int64_t capacity) {
    TensorInstance made;
    made.name = name;
    made.list_index = list_index;
    made.dtype = Dtype::fp32;
    made.shape = std::move(shape);
    made.capacity = capacity;
    made.spec = &spec;
    return made;
  }
};

TEST(SlabLayout, TensorsAreAlignedAndDoNotOverlap) {
  const Example example;
  const SlabLayout layout(example.instance, 3);
  std::set<int64_t> starts;
  for (int slot = 0; slot < 3; ++slot) {
    for (std::size_t i = 0; i < example.instance.inputs.size(); ++i) starts.insert(layout.input(slot, i));
    for (std::size_t i = 0; i < example.instance.outputs.size(); ++i) starts.insert(layout.output(slot, i));
    starts.insert(layout.rows(slot, 2));
  }
  // 4 inputs, 4 outputs of which one is in place, one row counter.
  EXPECT_EQ(starts.size(), 3U * 8U);
  int64_t previous = -1;
  for (const int64_t start : starts) {
    EXPECT_EQ(start % 256, 0);
    EXPECT_TRUE(previous < 0 || start - previous >= 256);
    previous = start;
  }
  EXPECT_LE(previous + 256, layout.bytes());
}

TEST(SlabLayout, SharedInputsStandOnceBeforeTheSlots) {
  Example example;
  example.instance.inputs[2].shared = true;
  const SlabLayout layout(example.instance, 3), apart(Example().instance, 3);
  EXPECT_EQ(layout.input(2, 2), layout.input(0, 2));
  EXPECT_LT(layout.input(0, 2), layout.input(0, 0));
  EXPECT_NE(layout.input(1, 0), layout.input(0, 0));
  EXPECT_EQ(layout.output(1, 1), layout.input(1, 1));
  EXPECT_EQ(layout.shared_bytes(), 256);
  EXPECT_EQ(apart.bytes() - layout.bytes(), 2 * 256);
}

TEST(SlabLayout, InPlaceOutputIsItsInput) {
  const Example example;
  const SlabLayout layout(example.instance, 2);
  EXPECT_EQ(layout.output(1, 1), layout.input(1, 1));
  EXPECT_EQ(layout.rows(0, 0), -1);
}

TEST(SlabLayout, InPlaceOutputWithoutAnInputIsAnError) {
  Example example;
  example.instance.inputs.erase(example.instance.inputs.begin() + 1);
  EXPECT_THROW(SlabLayout(example.instance, 1), Error);
}

TEST(Arguments, ListsAreOneArgumentAndAbsentTensorsHaveNoData) {
  const Example example;
  const SlabLayout layout(example.instance, 1);
  const auto message = arguments_of(example.instance, &layout, 0, {});
  ASSERT_EQ(message.inputs.size(), 3U);
  EXPECT_TRUE(message.inputs[2].is_list);
  EXPECT_EQ(message.inputs[2].tensors.size(), 2U);
  EXPECT_EQ(message.inputs[0].tensors[0].stride, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(message.outputs[3].tensors[0].offset, -1);
  EXPECT_GE(message.outputs[2].tensors[0].rows_offset, 0);
}

TEST(Arguments, StridesFollowTheLayout) {
  Example example;
  example.spec.layout = {1, 0};
  example.instance.inputs.resize(1);
  example.instance.outputs.resize(1);
  const auto message = arguments_of(example.instance, nullptr, 0, {});
  EXPECT_EQ(message.inputs[0].tensors[0].shape, (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(message.inputs[0].tensors[0].stride, (std::vector<int64_t>{1, 4}));
}

TEST(Arguments, SetupSeesNoData) {
  const Example example;
  const auto message = arguments_of(example.instance, nullptr, 0, {});
  for (const auto& argument : message.inputs) {
    for (const auto& tensor : argument.tensors) EXPECT_EQ(tensor.offset, -1);
  }
}

TEST(Arguments, ScalarsOfEveryKind) {
  const Example example;
  const std::map<std::string, Scalar, std::less<>> scalars{{"none", std::monostate{}},
                                                           {"count", int64_t{7}},
                                                           {"scale", 2.5},
                                                           {"flag", true},
                                                           {"text", std::string("abc")},
                                                           {"list", IntegerList{{1, 2}, {2}}},
                                                           {"axis", GroupName{"tp"}}};
  std::map<std::string, protocol::ScalarMessage> found;
  for (const auto& scalar : arguments_of(example.instance, nullptr, 0, scalars).scalars) found[scalar.name] = scalar;
  EXPECT_EQ(found["none"].kind, PKB_SCALAR_NULL);
  EXPECT_EQ(found["count"].integer, 7);
  EXPECT_EQ(found["count"].real, 7.0);
  EXPECT_EQ(found["scale"].kind, PKB_SCALAR_FLOAT);
  EXPECT_EQ(found["flag"].kind, PKB_SCALAR_BOOLEAN);
  EXPECT_EQ(found["text"].text, "abc");
  EXPECT_EQ(found["list"].list, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(found["axis"].kind, PKB_SCALAR_GROUP);
}

TEST(Arguments, WholeParametersAreIntegers) {
  const Example example;
  std::map<std::string, protocol::ScalarMessage> found;
  for (const auto& param : arguments_of(example.instance, nullptr, 0, {}).params) found[param.name] = param;
  EXPECT_EQ(found["M"].kind, PKB_SCALAR_INTEGER);
  EXPECT_EQ(found["eps"].kind, PKB_SCALAR_FLOAT);
}

}  // namespace
}  // namespace pkb
