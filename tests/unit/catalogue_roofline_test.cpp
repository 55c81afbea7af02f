// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "catalogue_text.h"

namespace pkb {
namespace {

// A causal depthwise convolution over sequence shards: W = 4, B = 1, 1024 channels, 7 taps, 1024 positions a chunk.
const char* const kConvolution = R"yaml(    params: {B: 1, C: 1024, K: 7, L: 1024}
    inputs:
      - {name: x, dtype: bf16, shape: [B, C, 2*L], draw: "normal(0, 1)"}
    outputs:
      - {name: y, dtype: bf16, shape: [B, C, 2*L], atol: 2e-2, rtol: 1e-2}
    phases:
      - {flops: 2*K*B*C*2*L, precision: fp32, mem: 2*B*C*2*L*2 + C*K*2, comm: "min(W-1, 2)*B*C*(K-1)*2"}
)yaml";

TEST(Roofline, WorkedExample) {
  const Catalogue catalogue = testing::load_problem(kConvolution);
  const Profile& h100 = *catalogue.profile_for_device("NVIDIA H100 80GB HBM3");
  const auto phases = phases_of(catalogue.problems().front(), "default", {}, 4);
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_NEAR(phases[0].flops / h100.peak.at("fp32") * 1e9, 438, 0.5);
  EXPECT_NEAR(phases[0].mem_bytes / h100.memory_bandwidth * 1e9, 2508, 0.5);
  EXPECT_NEAR(phases[0].comm_bytes / h100.link_bandwidth * 1e9, 55, 0.5);
  const Roofline result = roofline(phases, h100, false);
  EXPECT_NEAR(result.seconds * 1e6, 2.51, 0.005);
  EXPECT_EQ(result.seconds, result.floor_seconds);
  EXPECT_NEAR(result.floor_without_memory * 1e9, 438, 0.5);
  EXPECT_EQ(result.bound, "memory");
}

Profile unit_profile() {
  Profile profile;
  profile.peak = {{"fp32", 1}, {"bf16_tensor", 10}};
  profile.memory_bandwidth = 2;
  profile.link_bandwidth = 4;
  return profile;
}

TEST(Roofline, PhasesAddUpAndTheFloorDoesNot) {
  const std::vector<PhaseInstance> phases{
      {"a", "fp32", "", 6, 2, 4, 4},           // 6 s compute, 1 s memory, 1 s link
      {"b", "bf16_tensor", "", 10, 10, 4, 4},  // 1 s, 5 s, 1 s
      {"c", "", "", 0, 0, 16, 8},              // 4 s of link, 2 s with multicast
  };
  const Roofline plain = roofline(phases, unit_profile(), false);
  EXPECT_DOUBLE_EQ(plain.seconds, 6 + 5 + 4);
  EXPECT_DOUBLE_EQ(plain.floor_seconds, 6);  // memory 6, link 6, fp32 6, tensor 1
  EXPECT_DOUBLE_EQ(plain.floor_without_memory, 6);
  EXPECT_EQ(plain.bound, "compute");
  EXPECT_DOUBLE_EQ(plain.flops, 16);
  EXPECT_DOUBLE_EQ(plain.mem_bytes, 12);
  EXPECT_DOUBLE_EQ(plain.comm_bytes, 24);
  const Roofline multicast = roofline(phases, unit_profile(), true);
  EXPECT_DOUBLE_EQ(multicast.seconds, 6 + 5 + 2);
  EXPECT_DOUBLE_EQ(multicast.comm_bytes, 16);
}

TEST(Roofline, TheBoundIsWhatTakesMostOfTheTime) {
  EXPECT_EQ(roofline({{"a", "", "", 0, 2, 40, 40}, {"b", "", "", 0, 6, 0, 0}}, unit_profile(), false).bound, "link");
  EXPECT_EQ(roofline({{"a", "", "", 0, 2, 8, 8}, {"b", "", "", 0, 6, 0, 0}}, unit_profile(), false).bound, "memory");
  EXPECT_EQ(roofline({}, unit_profile(), false).bound, "");
}

TEST(Roofline, UnknownPrecision) {
  EXPECT_THROW(roofline({{"a", "fp8_tensor", "", 1, 0, 0, 0}}, unit_profile(), false), UsageError);
}

TEST(Roofline, ShippedAllReduce) {
  const auto phases = phases_of(testing::shipped_problem(1), "default", {}, 4);
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_DOUBLE_EQ(phases[0].flops, 3.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(phases[0].mem_bytes, 4.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(phases[0].comm_bytes, 3.0 * 1024 * 1024);       // 2 * 3/4 * 2 MiB
  EXPECT_DOUBLE_EQ(phases[0].comm_nvls_bytes, 2.5 * 1024 * 1024);  // 5/4 * 2 MiB
  const auto scatter = phases_of(testing::shipped_problem(5), "default", {}, 4);
  EXPECT_DOUBLE_EQ(scatter[0].comm_nvls_bytes, scatter[0].comm_bytes);  // left out: the same
  EXPECT_THROW(phases_of(testing::shipped_problem(12), "default", {}, 3), UsageError);
}

}  // namespace
}  // namespace pkb
