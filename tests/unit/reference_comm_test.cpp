// SPDX-License-Identifier: Apache-2.0
//
// Comm over MPI, every verb, under mpirun with 1 or more ranks. Each rank runs all tests; the program fails when any
// rank does.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "reference/comm.h"

namespace {

using pkb::Comm;
using pkb::ReduceOp;

class CommTest : public testing::Test {
 protected:
  CommTest()
      : groups_(pkb::make_mpi_groups(MPI_COMM_WORLD)),
        comm_(groups_->world()),
        rank_(comm_.rank()),
        size_(comm_.size()) {}

  /// Rank `rank`'s data; every rank can make every other's.
  static at::Tensor data(int rank, at::IntArrayRef shape, at::ScalarType type = at::kFloat, uint64_t seed = 0) {
    auto generator = at::detail::createCPUGenerator(1000 * seed + static_cast<uint64_t>(rank));
    return at::randn(shape, generator, at::kFloat).mul_(8).to(type);
  }

  /// As the harness defines it: in rank order, narrow types in fp32 and rounded once.
  at::Tensor sum(at::IntArrayRef shape, at::ScalarType type, int members) const {
    const bool narrow = type == at::kBFloat16 || type == at::kHalf;
    at::Tensor total = data(0, shape, type).to(narrow ? at::kFloat : type);
    for (int s = 1; s < members; ++s) total = total + data(s, shape, type).to(total.scalar_type());
    return total.to(type);
  }

  template <class Call>
  static std::string error_of(Call call) {
    try {
      call();
    } catch (const pkb::Error& error) {
      return error.what();
    }
    return "no error";
  }

  std::unique_ptr<pkb::CommGroups> groups_;
  Comm& comm_;
  int rank_, size_;
};

TEST_F(CommTest, AllReduceSumsEveryTypeInRankOrder) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf, at::kFloat, at::kDouble, at::kInt, at::kLong}) {
    for (const int64_t length : {0, 1, 3, 64, 1001}) {
      at::Tensor tensor = data(rank_, {length}, type);
      comm_.all_reduce(tensor);
      EXPECT_TRUE(at::equal(tensor, sum({length}, type, size_))) << type << " of " << length;
    }
  }
}

TEST_F(CommTest, NarrowSumsAreRoundedOnce) {
  // 256 + 1 is no bf16 (step 2), so adding one at a time in bf16 would leave 256.
  at::Tensor tensor = at::full({5}, rank_ == 0 ? 256.0 : 1.0, at::kBFloat16);
  comm_.all_reduce(tensor);
  EXPECT_TRUE(at::equal(tensor, at::full({5}, 255.0 + size_, at::kFloat).to(at::kBFloat16)));
}

TEST_F(CommTest, OtherReductions) {
  std::vector<at::Tensor> all;
  for (int s = 0; s < size_; ++s) all.push_back(data(s, {3, 7}));
  const at::Tensor stacked = at::stack(all);
  const auto reduced = [&](ReduceOp op) {
    at::Tensor tensor = data(rank_, {3, 7});
    comm_.all_reduce(tensor, op);
    return tensor;
  };
  EXPECT_TRUE(at::equal(reduced(ReduceOp::max), stacked.amax(0)));
  EXPECT_TRUE(at::equal(reduced(ReduceOp::min), stacked.amin(0)));
  EXPECT_TRUE(at::allclose(reduced(ReduceOp::avg), stacked.mean(0), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(reduced(ReduceOp::prod), stacked.prod(0), 1e-5, 1e-6));
  at::Tensor narrow = data(rank_, {9}, at::kBFloat16);
  comm_.all_reduce(narrow, ReduceOp::max);
  for (int s = 0; s < size_; ++s) EXPECT_TRUE((narrow >= data(s, {9}, at::kBFloat16)).all().item<bool>());
  at::Tensor flags = at::zeros({2}, at::kBool);
  if (rank_ == size_ - 1) flags[1].fill_(true);
  comm_.all_reduce(flags, ReduceOp::max);
  EXPECT_FALSE(flags[0].item<bool>());
  EXPECT_TRUE(flags[1].item<bool>());
}

TEST_F(CommTest, ComplexNumbersAreSummed) {
  at::Tensor tensor = at::complex(data(rank_, {6}), data(rank_, {6}, at::kFloat, 1));
  comm_.all_reduce(tensor);
  EXPECT_TRUE(at::equal(at::real(tensor), sum({6}, at::kFloat, size_)));
  EXPECT_NE(error_of([&] { comm_.all_reduce(tensor, ReduceOp::max); }).find("all_reduce"), std::string::npos);
}

TEST_F(CommTest, ReduceGivesTheSumToOneRank) {
  for (int dst = 0; dst < size_; ++dst) {
    at::Tensor tensor = data(rank_, {5, 3}, at::kBFloat16);
    comm_.reduce(tensor, dst);
    if (rank_ == dst) {
      EXPECT_TRUE(at::equal(tensor, sum({5, 3}, at::kBFloat16, size_)));
    }
  }
}

TEST_F(CommTest, BroadcastKeepsBits) {
  for (int src = 0; src < size_; ++src) {
    at::Tensor tensor = rank_ == src ? data(src, {33}, at::kBFloat16) : at::zeros({33}, at::kBFloat16);
    comm_.broadcast(tensor, src);
    EXPECT_TRUE(at::equal(tensor.view(at::kShort), data(src, {33}, at::kBFloat16).view(at::kShort)));
  }
}

TEST_F(CommTest, AllGatherIntoTensor) {
  at::Tensor output = at::empty({size_, 2, 5}, at::kHalf);
  comm_.all_gather_into_tensor(output, data(rank_, {2, 5}, at::kHalf));
  for (int s = 0; s < size_; ++s) EXPECT_TRUE(at::equal(output[s], data(s, {2, 5}, at::kHalf)));
}

TEST_F(CommTest, AllGatherOfShapesThatDiffer) {
  std::vector<at::Tensor> outputs;
  for (int s = 0; s < size_; ++s) outputs.push_back(at::empty({s, 4}));
  comm_.all_gather(outputs, data(rank_, {rank_, 4}));
  for (int s = 0; s < size_; ++s) EXPECT_TRUE(at::equal(outputs[static_cast<std::size_t>(s)], data(s, {s, 4})));
}

TEST_F(CommTest, Fp8TravelsAsBytes) {
  const auto type = at::kFloat8_e4m3fn;
  at::Tensor output = at::empty({size_ * 16}, type);
  comm_.all_gather_into_tensor(output, data(rank_, {16}, type));
  for (int s = 0; s < size_; ++s) {
    EXPECT_TRUE(at::equal(output.narrow(0, 16 * s, 16).view(at::kByte), data(s, {16}, type).view(at::kByte)));
  }
  at::Tensor one = data(rank_, {4}, type);
  EXPECT_NE(error_of([&] { comm_.all_reduce(one); }).find("fp8"), std::string::npos);
}

TEST_F(CommTest, ReduceScatterTensor) {
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
    at::Tensor output = at::empty({3, 2}, type);
    comm_.reduce_scatter_tensor(output, data(rank_, {3 * size_, 2}, type));
    EXPECT_TRUE(at::equal(output, sum({3 * size_, 2}, type, size_).narrow(0, 3 * rank_, 3)));
  }
}

TEST_F(CommTest, ScatterAndGather) {
  for (int root = 0; root < size_; ++root) {
    std::vector<at::Tensor> parts;
    if (rank_ == root) parts = data(root, {size_, 6}).unbind(0);
    at::Tensor own = at::empty({6});
    comm_.scatter(own, parts, root);
    EXPECT_TRUE(at::equal(own, data(root, {size_, 6})[rank_]));

    std::vector<at::Tensor> back;
    for (int s = 0; rank_ == root && s < size_; ++s) back.push_back(at::empty({6}));
    comm_.gather(back, own, root);
    if (rank_ == root) {
      EXPECT_TRUE(at::equal(at::stack(back), data(root, {size_, 6})));
    }
  }
}

TEST_F(CommTest, AllToAllSingleInEqualParts) {
  at::Tensor output = at::empty({2 * size_, 3});
  comm_.all_to_all_single(output, data(rank_, {2 * size_, 3}));
  for (int s = 0; s < size_; ++s) {
    EXPECT_TRUE(at::equal(output.narrow(0, 2 * s, 2), data(s, {2 * size_, 3}).narrow(0, 2 * rank_, 2)));
  }
  at::Tensor nothing = at::empty({0, 3});
  comm_.all_to_all_single(nothing, at::empty({0, 3}));
}

TEST_F(CommTest, AllToAllSingleWithSplits) {
  // Rank s sends s + d rows to rank d: zero rows from 0 to 0.
  const auto rows = [](int from, int to) { return int64_t{from} + to; };
  const auto sent_by = [&](int from) {
    std::vector<int64_t> splits;
    for (int to = 0; to < size_; ++to) splits.push_back(rows(from, to));
    return splits;
  };
  const auto total = [](const std::vector<int64_t>& splits) {
    return std::accumulate(splits.begin(), splits.end(), int64_t{0});
  };
  const std::vector<int64_t> splits = sent_by(rank_);  // rows(from, to) is symmetric: received alike
  at::Tensor output = at::empty({total(splits), 2});
  comm_.all_to_all_single(output, data(rank_, {total(splits), 2}), splits, splits);
  const std::vector<at::Tensor> parts = output.split_with_sizes(splits, 0);
  for (int s = 0; s < size_; ++s) {
    const std::vector<int64_t> theirs = sent_by(s);
    const auto sent = data(s, {total(theirs), 2}).split_with_sizes(theirs, 0);
    EXPECT_TRUE(at::equal(parts[static_cast<std::size_t>(s)], sent[static_cast<std::size_t>(rank_)]));
  }
}

TEST_F(CommTest, AllToAllOfLists) {
  std::vector<at::Tensor> outputs, inputs;
  for (int s = 0; s < size_; ++s) {
    inputs.push_back(data(rank_, {1 + rank_ + s}, at::kFloat, static_cast<uint64_t>(s)));
    outputs.push_back(at::empty({1 + rank_ + s}));
  }
  comm_.all_to_all(outputs, inputs);
  for (int s = 0; s < size_; ++s) {
    const at::Tensor sent = data(s, {1 + rank_ + s}, at::kFloat, static_cast<uint64_t>(rank_));
    EXPECT_TRUE(at::equal(outputs[static_cast<std::size_t>(s)], sent));
  }
}

TEST_F(CommTest, SendsAndReceivesInARing) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  at::Tensor received = at::empty({8});
  std::vector<Comm::P2p> ring{{Comm::P2p::Kind::send, data(rank_, {8}), next},
                              {Comm::P2p::Kind::receive, received, previous}};
  comm_.batch_send_receive(ring);
  EXPECT_TRUE(at::equal(received, data(previous, {8})));
}

TEST_F(CommTest, StartedExchangesGoOnBesideOthers) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  at::Tensor first = at::empty({size_, 3}), second = at::empty({size_, 3}), received = at::empty({8});
  const auto one = comm_.start_all_to_all_single(first, data(rank_, {size_, 3}));
  const auto two = comm_.start_all_to_all_single(second, data(rank_, {size_, 3}, at::kFloat, 1));
  std::vector<Comm::P2p> ring{{Comm::P2p::Kind::send, data(rank_, {8}), next},
                              {Comm::P2p::Kind::receive, received, previous}};
  const auto three = comm_.start_batch_send_receive(ring);
  at::Tensor sum_of = data(rank_, {5});
  comm_.all_reduce(sum_of);
  two->wait();
  three->wait();
  one->wait();
  one->wait();  // does no harm
  EXPECT_TRUE(at::equal(sum_of, sum({5}, at::kFloat, size_)));
  EXPECT_TRUE(at::equal(received, data(previous, {8})));
  for (int s = 0; s < size_; ++s) {
    EXPECT_TRUE(at::equal(first[s], data(s, {size_, 3})[rank_]));
    EXPECT_TRUE(at::equal(second[s], data(s, {size_, 3}, at::kFloat, 1)[rank_]));
  }
}

TEST_F(CommTest, StartedExchangesNeedNotBeWaitedFor) {
  at::Tensor output = at::empty({size_, 3});
  { const auto dropped = comm_.start_all_to_all_single(output, data(rank_, {size_, 3})); }
  for (int s = 0; s < size_; ++s) EXPECT_TRUE(at::equal(output[s], data(s, {size_, 3})[rank_]));
  std::vector<Comm::P2p> nothing;
  comm_.start_batch_send_receive(nothing)->wait();
}

TEST_F(CommTest, BarrierReturns) {
  for (int i = 0; i < 10; ++i) comm_.barrier();
}

TEST_F(CommTest, SubGroups) {
  // Ranks of equal parity in falling order, and a group of one.
  std::vector<int> alike;
  for (int s = size_ - 1; s >= 0; --s) {
    if (s % 2 == rank_ % 2) alike.push_back(s);
  }
  const auto place = static_cast<int>(std::find(alike.begin(), alike.end(), rank_) - alike.begin());
  groups_->name_groups({{"world", {}, rank_}, {"parity", alike, place}, {"self", {rank_}, 0}});

  Comm& parity = comm_.group("parity");
  EXPECT_EQ(parity.rank(), place);
  EXPECT_EQ(parity.size(), static_cast<int>(alike.size()));
  EXPECT_EQ(&parity, &comm_.group("parity"));
  at::Tensor output = at::empty({parity.size(), 4});
  parity.all_gather_into_tensor(output, data(rank_, {4}));
  for (std::size_t s = 0; s < alike.size(); ++s) {
    EXPECT_TRUE(at::equal(output[static_cast<int64_t>(s)], data(alike[s], {4})));
  }

  Comm& self = comm_.group("self");
  at::Tensor alone = data(rank_, {4});
  self.all_reduce(alone);
  EXPECT_TRUE(at::equal(alone, data(rank_, {4})));
  at::Tensor moved = at::empty({4});
  self.all_to_all_single(moved, alone);
  EXPECT_TRUE(at::equal(moved, alone));
  EXPECT_NE(error_of([&] { comm_.group("tp"); }).find("no group \"tp\"; this problem has world, parity, self"),
            std::string::npos);
}

TEST_F(CommTest, ErrorsNameTheCall) {
  at::Tensor four = at::empty({4}), five = at::empty({5}), strided = at::empty({4, 4}).t();
  at::Tensor whole = at::empty({4 * size_}), doubles = at::empty({4 * size_}, at::kDouble), undefined;
  std::vector<at::Tensor> none, list(static_cast<std::size_t>(size_), five);
  const auto expect = [&](const char* text, const auto& call) {
    const std::string error = error_of(call);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  expect("Comm::all_reduce: tensor is an undefined", [&] { comm_.all_reduce(undefined); });
  expect("Comm::all_reduce: tensor, Float [4, 4] on cpu, is not contiguous", [&] { comm_.all_reduce(strided); });
  expect("Comm::broadcast: src is 99", [&] { comm_.broadcast(four, 99); });
  expect("Comm::reduce: dst is -1", [&] { comm_.reduce(four, -1); });
  expect("Comm::all_gather_into_tensor: output", [&] { comm_.all_gather_into_tensor(whole, five); });
  expect("must have one dtype", [&] { comm_.all_gather_into_tensor(doubles, four); });
  expect("Comm::all_gather: 0 outputs", [&] { comm_.all_gather(none, four); });
  expect("Comm::all_gather: the own entry", [&] { comm_.all_gather(list, four); });
  expect("Comm::reduce_scatter_tensor: input", [&] { comm_.reduce_scatter_tensor(five, whole); });
  expect("Comm::scatter: ", [&] { comm_.scatter(four, rank_ == 0 ? none : list, 0); });
  expect("Comm::gather: ", [&] { comm_.gather(rank_ == 0 ? none : list, four, 0); });
  expect("add up to",
         [&] { comm_.all_to_all_single(whole, whole, std::vector<int64_t>(static_cast<std::size_t>(size_), 5), {}); });
  expect("Comm::all_to_all: 0 inputs", [&] { comm_.all_to_all(list, none); });
  std::vector<Comm::P2p> far{{Comm::P2p::Kind::send, four, size_}};
  expect("Comm::batch_send_receive: peer", [&] { comm_.batch_send_receive(far); });
}

TEST_F(CommTest, RanksThatDisagreeAboutSizesAreToldSo) {
  at::Tensor tensor = at::zeros({rank_ == 0 ? 4 : 8});
  const std::string error = error_of([&] { comm_.broadcast(tensor, 0); });
  if (rank_ > 0) {
    EXPECT_EQ(error, "Comm::broadcast: rank 0 sent 16 bytes where 32 were expected");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  at::set_num_threads(1);
  int mine = RUN_ALL_TESTS(), any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
