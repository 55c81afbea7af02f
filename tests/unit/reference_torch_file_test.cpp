// SPDX-License-Identifier: Apache-2.0
//
// Files for torch.load: what C++ writes, Python reads (reference_torch_file.py checks every value).
#include "reference/torch_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "core/error.h"
#include "reference/dump.h"
#include "reference_support.h"

namespace {

namespace fs = std::filesystem;
using pkb::Dtype;
using pkb::TorchDict;
using pkb::TorchList;
using pkb::TorchValue;
using pkb::test::Declared;

class TorchFile : public testing::Test {
 protected:
  TorchFile() { fs::create_directories(folder_); }
  ~TorchFile() override { fs::remove_all(folder_); }

  /// Opens the file with Python's torch; `what` names the check.
  void check_in_python(const fs::path& file, const std::string& what) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > 1) GTEST_SKIP() << "with one rank only: importing torch takes seconds";
    if (std::string(PKB_TORCH_PYTHON).empty()) GTEST_SKIP() << "no Python with torch was found when pkb was configured";
    const std::string command =
        PKB_TORCH_PYTHON " " PKB_SOURCE_DIR "/tests/unit/reference_torch_file.py " + what + " " + file.string();
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }

  fs::path folder_ = fs::temp_directory_path() / ("pkb-torch-file-" + std::to_string(getpid()));
};

TEST_F(TorchFile, EveryKindOfValueOpens) {
  const double infinity = std::numeric_limits<double>::infinity();
  const TorchDict scalars{
      {"none", {}},
      {"true", true},
      {"false", false},
      {"integers", TorchList{int64_t{0}, int64_t{-1}, int64_t{1} << 31, -(int64_t{1} << 40)}},
      {"limits", TorchList{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}},
      {"floats", TorchList{0.1, -infinity, std::numeric_limits<double>::quiet_NaN()}},
      {"text", std::string("\xC3\xA9\n")},
      {"empty", TorchList{TorchList{}, TorchDict{}, std::string()}}};
  TorchDict tensors;
  for (const auto type : {at::kBFloat16, at::kHalf, at::kFloat, at::kDouble, at::kFloat8_e4m3fn, at::kInt, at::kLong,
                          at::kByte, at::kComplexFloat}) {
    tensors.emplace_back(at::toString(type), at::arange(6, at::kFloat).reshape({2, 3}).to(type));
  }
  tensors.emplace_back("Bool", at::arange(6).reshape({2, 3}) > 2);
  tensors.emplace_back("rank 0", at::scalar_tensor(2.5));
  tensors.emplace_back("no rows", at::empty({0, 3}, at::kBFloat16));
  tensors.emplace_back("columns", at::arange(6, at::kFloat).reshape({2, 3}).t());
  tensors.emplace_back("part", at::arange(12).reshape({3, 4}).slice(1, 1, 3));
  tensors.emplace_back("expanded", at::arange(3).expand({2, 3}));
  tensors.emplace_back("absent", at::Tensor());
  const fs::path file = folder_ / "everything.pt";
  pkb::write_torch_file(file, TorchDict{{"scalars", scalars}, {"tensors", tensors}});
  check_in_python(file, "everything");
}

TEST_F(TorchFile, ErrorsNameTheFileAndLeaveNothing) {
  const auto error_of = [](const fs::path& file) -> std::string {
    try {
      pkb::write_torch_file(file, TorchDict{{"x", at::ones({100, 100})}});
    } catch (const pkb::Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(folder_ / "missing" / "x.pt"),
            "cannot write " + (folder_ / "missing" / "x.pt").string() + ": No such file or directory");
  fs::create_directory_symlink("/dev/full", folder_ / "full.pt.tmp");
  EXPECT_EQ(error_of(folder_ / "full.pt"),
            "cannot write " + (folder_ / "full.pt").string() + ": No space left on device");
  EXPECT_FALSE(fs::exists(folder_ / "full.pt"));
  EXPECT_FALSE(fs::is_symlink(folder_ / "full.pt.tmp"));
}

TEST_F(TorchFile, ADumpSaysAllThatAnOracleNeeds) {
  Declared problem(5, "example", 2, 1);
  pkb::Instance& instance = problem.instance();
  instance.params.insert({{"M", 4}, {"eps", 1e-5}});
  instance.groups.push_back({.name = "tp", .members = {1}, .index = 0});
  problem.input("x", Dtype::bf16, {2, 2}, "custom");
  for (int i = 0; i < 3; ++i) {
    problem.input("many", Dtype::i32, {i}, "custom");
    instance.inputs.back().list_index = i;
  }
  problem.input("optional", Dtype::fp32, {2}, "custom");
  problem.output("sum", Dtype::fp32, {2}).tolerance.atol.text = "1e-2";
  problem.output("moved", Dtype::bf16, {4, 2});
  instance.outputs.back().dynamic = true;
  instance.tolerances["sum"] = {.atol = 1e-2, .rtol = 2e-2, .frobenius = 3e-2, .atol_in_rms = true};
  instance.tolerances["moved"] = {};
  pkb::Slot slot;
  slot.tensors = {at::ones({2, 2}, at::kBFloat16), at::arange(0, at::kInt), at::arange(1, at::kInt),
                  at::arange(2, at::kInt), at::Tensor()};
  slot.inputs.scalars = {{"splits", pkb::IntegerList{{1, 2, 3, 4, 5, 6}, {2, 3}}},
                         {"none", std::monostate()},
                         {"flag", true},
                         {"p", 0.9},
                         {"group", pkb::GroupName{"tp"}}};
  const std::vector<at::Tensor> expected{at::ones({2}), at::ones({1, 2}, at::kBFloat16)};
  const std::vector<at::Tensor> actual{at::zeros({2}), at::zeros({3, 2}, at::kBFloat16)};
  const fs::path file = folder_ / "dump.pt", alone = folder_ / "alone.pt";
  pkb::write_torch_file(file, pkb::dump_of(instance, slot, expected, actual, {3, 9, {}, {-1, 3}}));
  check_in_python(file, "dump");
  pkb::write_torch_file(alone, pkb::dump_of(instance, slot, expected, {}, {3, 9, {}, {}}));
  check_in_python(alone, "alone");
}

}  // namespace
