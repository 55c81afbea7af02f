// SPDX-License-Identifier: Apache-2.0
#include "reference/draws.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/error.h"
#include "reference/library.h"
#include "reference_support.h"

namespace {

using pkb::Dtype;
using pkb::Instance;
using pkb::Scope;
using pkb::Slot;
using pkb::test::Declared;

class DrawsTest : public testing::Test {
 protected:
  DrawsTest()
      : device_(pkb::make_device(pkb::DeviceKind::host, 0, "pkb-draws-test")), stream_(device_->create_stream()) {}
  ~DrawsTest() override { device_->destroy(stream_); }

  Slot slot(const Instance& instance, int64_t draw = 0, uint64_t seed = 1, pkb::InputsFunction custom = nullptr) {
    Slot made;
    redraw(made, instance, draw, seed, custom);
    return made;
  }
  bool redraw(Slot& made, const Instance& instance, int64_t draw, uint64_t seed = 1,
              pkb::InputsFunction custom = nullptr) {
    pkb::BaseDraws base(*device_, at::kCPU, stream_, seed);
    return pkb::draw_slot(base, instance, custom, draw, made);
  }
  at::Tensor drawn(Declared& declared, int64_t draw = 0, uint64_t seed = 1) {
    return slot(declared.instance(), draw, seed).tensors.at(0);
  }

  std::unique_ptr<pkb::Device> device_;
  pkb::Stream stream_;
};

at::Tensor bits(const at::Tensor& tensor) {
  return tensor.contiguous().view(at::kByte);
}

bool same(const at::Tensor& a, const at::Tensor& b) {
  return at::equal(bits(a), bits(b));
}

TEST(StreamNameTest, IsFixedForEver) {
  // Results recorded anywhere name these inputs by seed: the hash may never change.
  EXPECT_EQ(pkb::StreamName().hash(), 0xcbf29ce484222325u);
  EXPECT_EQ(pkb::StreamName().add("x").hash(), 0x08f1c907b58eba68u);
  EXPECT_NE(pkb::StreamName().add("ab").add("c").hash(), pkb::StreamName().add("a").add("bc").hash());
}

TEST_F(DrawsTest, ASharedInputIsThatOfTheFirstSlot) {
  Declared declared(1, "p", 4, 0);
  declared.input("table", Dtype::bf16, {64, 3}, "normal", {0, 1});
  declared.input("ids", Dtype::i64, {64}, "integers", {0, 63});
  Instance& instance = declared.instance();
  instance.inputs[0].shared = true;
  const Slot first = slot(instance, 7);
  pkb::BaseDraws base(*device_, at::kCPU, stream_, 1);
  Slot second;
  EXPECT_TRUE(pkb::draw_slot(base, instance, nullptr, 8, second, &first));
  EXPECT_TRUE(second.tensors[0].is_same(first.tensors[0]));
  EXPECT_TRUE(same(second.tensors[1], slot(instance, 8).tensors[1]));
  EXPECT_FALSE(pkb::draw_slot(base, instance, nullptr, 9, second, &first));
}

TEST_F(DrawsTest, DependOnEverythingThatNamesThem) {
  const auto make = [&](int id, int rank, const std::string& name, const std::string& case_name, int64_t draw,
                        uint64_t seed) {
    Declared declared(id, "p", 4, rank);
    declared.input(name, Dtype::bf16, {64, 3}, "normal", {0, 1});
    declared.instance().case_name = case_name;
    return drawn(declared, draw, seed);
  };
  const at::Tensor one = make(1, 0, "x", "default", 0, 1);
  EXPECT_TRUE(same(one, make(1, 0, "x", "default", 0, 1)));
  EXPECT_FALSE(same(one, make(2, 0, "x", "default", 0, 1)));
  EXPECT_FALSE(same(one, make(1, 1, "x", "default", 0, 1)));
  EXPECT_FALSE(same(one, make(1, 0, "z", "default", 0, 1)));
  EXPECT_FALSE(same(one, make(1, 0, "x", "lattice", 0, 1)));
  EXPECT_FALSE(same(one, make(1, 0, "x", "default", 1, 1)));
  EXPECT_FALSE(same(one, make(1, 0, "x", "default", 0, 2)));
}

TEST_F(DrawsTest, ScopesDecideWhoShares) {
  const auto make = [&](int rank, Scope scope) {
    Declared declared(1, "p", 4, rank);
    auto& spec = declared.input("x", Dtype::fp32, {50}, "uniform", {-1, 1});
    spec.scope = scope;
    spec.scope_group = "tp";
    const int low = rank / 2 * 2;
    declared.instance().groups.push_back({"tp", {low, low + 1}, rank % 2});
    return drawn(declared);
  };
  EXPECT_TRUE(same(make(0, Scope::replicated), make(3, Scope::replicated)));
  EXPECT_FALSE(same(make(0, Scope::per_rank), make(3, Scope::per_rank)));
  EXPECT_TRUE(same(make(0, Scope::group), make(1, Scope::group)));
  EXPECT_FALSE(same(make(1, Scope::group), make(2, Scope::group)));
}

TEST_F(DrawsTest, SlicesMakeUpTheGlobalTensor) {
  for (const int axis : {0, 1, 2}) {
    const auto make = [&](int world, int rank) {
      std::vector<int64_t> shape{12, 8, 4};
      shape[static_cast<std::size_t>(axis)] /= world;
      Declared declared(1, "p", world, rank);
      auto& spec = declared.input("w", Dtype::bf16, shape, "normal", {0, 1});
      spec.scope = Scope::slice;
      spec.slice_axis = axis;
      return drawn(declared);
    };
    const at::Tensor parts = at::cat({make(4, 0), make(4, 1), make(4, 2), make(4, 3)}, axis);
    EXPECT_TRUE(same(parts, make(1, 0))) << "axis " << axis;
  }
}

TEST_F(DrawsTest, Kinds) {
  Declared declared(1, "p", 2, 0);
  declared.input("normal", Dtype::fp32, {20000}, "normal", {3, 2});
  declared.input("integers", Dtype::i32, {5000}, "integers", {-2, 2});
  declared.input("ternary", Dtype::bf16, {20000}, "ternary", {0.25});
  declared.input("constant", Dtype::fp64, {7}, "constant", {1.5});
  declared.input("order", Dtype::i64, {100}, "permutation", {100});
  const Slot made = slot(declared.instance());
  const auto in = [&](const char* name) { return made.inputs[name]; };
  EXPECT_NEAR(in("normal").mean().item<double>(), 3, 0.1);
  EXPECT_NEAR(in("normal").std().item<double>(), 2, 0.1);
  EXPECT_EQ(in("integers").min().item<int>(), -2);
  EXPECT_EQ(in("integers").max().item<int>(), 2);
  EXPECT_NEAR(in("ternary").to(at::kFloat).abs().mean().item<double>(), 0.25, 0.02);
  EXPECT_TRUE(in("constant").eq(1.5).all().item<bool>());
  EXPECT_TRUE(at::equal(std::get<0>(in("order").sort()), at::arange(100)));
  EXPECT_FALSE(at::equal(in("order"), at::arange(100)));
  EXPECT_FALSE(at::equal(in("order"), slot(declared.instance(), 1).inputs["order"]));
}

TEST_F(DrawsTest, ConstantTensorsStayFromDrawToDraw) {
  Declared declared(1, "p", 2, 0);
  declared.input("x", Dtype::bf16, {64}, "normal", {0, 1}).constant = true;
  declared.input("y", Dtype::bf16, {64}, "normal", {0, 1});
  const Slot first = slot(declared.instance(), 0), later = slot(declared.instance(), 5);
  EXPECT_TRUE(same(first.inputs["x"], later.inputs["x"]));
  EXPECT_FALSE(same(first.inputs["y"], later.inputs["y"]));
}

TEST_F(DrawsTest, RedrawsWhereTheTensorsAre) {
  Declared declared(1, "p", 2, 0);
  declared.input("x", Dtype::bf16, {64}, "normal", {0, 1});
  Slot made;
  EXPECT_TRUE(redraw(made, declared.instance(), 0));
  const void* address = made.inputs["x"].data_ptr();
  const at::Tensor before = made.inputs["x"].clone();
  EXPECT_FALSE(redraw(made, declared.instance(), 1));
  EXPECT_EQ(made.inputs["x"].data_ptr(), address);
  EXPECT_FALSE(same(made.inputs["x"], before));
  declared.instance().inputs[0].shape = {65};
  EXPECT_TRUE(redraw(made, declared.instance(), 1));
}

TEST_F(DrawsTest, ListsAndAbsentTensors) {
  Declared declared(1, "p", 2, 0);
  for (int i = 0; i < 3; ++i) {
    declared.input("many", Dtype::fp32, {i}, "normal", {0, 1});
    declared.instance().inputs.back().list_index = i;
  }
  declared.input("none", Dtype::fp32, {4}, "normal", {0, 1});
  declared.instance().inputs.back().present = false;
  const Slot made = slot(declared.instance());
  EXPECT_EQ(made.inputs.list("many").size(), 3u);
  EXPECT_EQ(made.inputs.list("many")[2].numel(), 2);
  EXPECT_FALSE(made.inputs.optional("none").has_value());
  EXPECT_THROW(made.inputs["none"], pkb::Error);
  const pkb::TensorView absent = pkb::view_of(made.tensors[3], declared.instance().inputs[3]);
  const pkb::TensorView empty = pkb::view_of(made.tensors[0], declared.instance().inputs[0]);
  EXPECT_FALSE(absent.present());
  EXPECT_TRUE(empty.present());
  EXPECT_EQ(empty.elements(), 0);
}

void custom_draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const at::Tensor own = draws.normal("x", request.rank, {4, 8}, 0, 1);
  out["x"] = own.to(at::kBFloat16);
  out["again"] = draws.attempt(3).normal("x", request.rank, {4, 8}, 0, 1);
  out["first"] = draws.attempt(3).attempt(0).normal("x", request.rank, {4, 8}, 0, 1);
  out["neighbour"] = draws.normal("x", 1 - request.rank, {4, 8}, 0, 1);
}

TEST_F(DrawsTest, CustomDrawsSeeTheSameBaseDraws) {
  const auto make = [&](int rank, const std::string& kind) {
    Declared declared(1, "p", 2, rank);
    declared.input("x", Dtype::bf16, {4, 8}, kind, {0, 1});
    for (const char* name : {"again", "first", "neighbour"}) declared.input(name, Dtype::fp32, {4, 8}, "custom");
    return slot(declared.instance(), 0, 1, custom_draw);
  };
  const Slot custom = make(0, "custom"), catalogue = make(0, "normal"), other = make(1, "custom");
  EXPECT_TRUE(same(custom.inputs["x"], catalogue.inputs["x"]));
  EXPECT_TRUE(same(custom.inputs["neighbour"], other.inputs["first"]));
  EXPECT_FALSE(same(custom.inputs["again"], custom.inputs["first"]));
}

/// As many rows as the draw's index.
void draw_rows(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  out["x"] = draws.normal("x", request.rank, {request.draw, 3}, 0, 1);
}

TEST_F(DrawsTest, TheDrawDecidesTheRowsOfDynamicTensors) {
  Declared declared(1, "p", 2, 0);
  declared.input("x", Dtype::fp32, {4, 3}, "custom");
  declared.instance().inputs[0].dynamic = true;
  declared.instance().inputs[0].capacity = 6 * 3;
  Slot made;
  EXPECT_TRUE(redraw(made, declared.instance(), 6, 1, draw_rows));
  EXPECT_EQ(made.inputs["x"].sizes(), (at::IntArrayRef{6, 3}));
  const at::Tensor before = made.inputs["x"].clone();
  const void* address = made.inputs["x"].data_ptr();
  EXPECT_FALSE(redraw(made, declared.instance(), 6, 2, draw_rows));
  EXPECT_EQ(made.inputs["x"].data_ptr(), address);
  EXPECT_FALSE(same(made.inputs["x"], before));
  EXPECT_TRUE(redraw(made, declared.instance(), 0, 1, draw_rows));
  EXPECT_EQ(made.inputs["x"].sizes(), (at::IntArrayRef{0, 3}));
  EXPECT_TRUE(pkb::view_of(made.tensors[0], declared.instance().inputs[0]).present());
  EXPECT_THROW(redraw(made, declared.instance(), 7, 1, draw_rows), pkb::Error) << "beyond the capacity";
  declared.instance().inputs[0].dynamic = false;
  EXPECT_THROW(redraw(made, declared.instance(), 6, 1, draw_rows), pkb::Error);
}

void draw_named(const pkb::DrawRequest& request, const pkb::Draws&, pkb::DrawnInputs& out) {
  for (const char* name : {"a", "b"}) {
    if (request.wants(name)) out[name] = at::full({2}, request.custom(name) == "sevens" ? 7.0 : 1.0, at::kFloat);
  }
}

TEST_F(DrawsTest, CustomDrawsAreNamed) {
  Declared declared(1, "p", 2, 0);
  declared.input("a", Dtype::fp32, {2}, "custom");
  declared.input("b", Dtype::fp32, {2}, "custom").constant = true;
  declared.instance().draws["b"].custom_name = "sevens";
  const Slot made = slot(declared.instance(), 0, 1, draw_named);
  EXPECT_TRUE(at::equal(made.inputs["a"], at::full({2}, 1.0)));
  EXPECT_TRUE(at::equal(made.inputs["b"], at::full({2}, 7.0)));
}

void draw_counting(const pkb::DrawRequest& request, const pkb::Draws&, pkb::DrawnInputs& out) {
  out["turned"] = at::arange(request.rank, request.rank + 6, at::kFloat).view({2, 3});
}

TEST_F(DrawsTest, LayoutsAreKept) {
  Declared declared(1, "p", 2, 0);
  declared.input("turned", Dtype::fp32, {2, 3}, "custom").layout = {1, 0};
  declared.input("drawn", Dtype::fp32, {2, 3}, "normal", {0, 1}).layout = {1, 0};
  const Slot made = slot(declared.instance(), 0, 1, draw_counting);
  EXPECT_TRUE(at::equal(made.inputs["turned"], at::arange(6, at::kFloat).view({2, 3})));
  for (const char* name : {"turned", "drawn"}) EXPECT_EQ(made.inputs[name].strides(), (at::IntArrayRef{1, 2})) << name;
  EXPECT_TRUE(made.inputs["drawn"].isfinite().all().item<bool>());
}

TEST_F(DrawsTest, ErrorsSayWhatIsWrong) {
  const auto error_of = [&](Declared& declared, pkb::InputsFunction custom) -> std::string {
    try {
      slot(declared.instance(), 0, 1, custom);
    } catch (const pkb::Error& error) {
      return error.what();
    }
    return "no error";
  };
  Declared missing(7, "p", 2, 0), wrong(7, "p", 2, 0), unknown(7, "p", 2, 0), nobody(7, "p", 2, 0);
  missing.input("z", Dtype::bf16, {4}, "custom");
  EXPECT_EQ(error_of(missing, custom_draw), "problem 7 (p): z: inputs.cpp does not make it");
  EXPECT_EQ(error_of(missing, nullptr), "problem 7 has inputs with `draw: custom`, but no inputs.cpp");
  wrong.input("x", Dtype::fp32, {4, 8}, "custom");
  EXPECT_EQ(error_of(wrong, custom_draw),
            "problem 7 (p): x: inputs.cpp makes BFloat16 [4, 8] on cpu, the catalogue declares fp32 [4, 8]");
  unknown.input("x", Dtype::bf16, {4}, "gamma");
  EXPECT_EQ(error_of(unknown, nullptr), "problem 7 (p): x: unknown draw \"gamma\"");
  nobody.input("x", Dtype::bf16, {4}, "normal", {0, 1}).scope = Scope::group;
  EXPECT_NE(error_of(nobody, nullptr).find("scope group"), std::string::npos);
}

}  // namespace
