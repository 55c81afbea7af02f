// SPDX-License-Identifier: Apache-2.0
#include "results/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "results/journal.h"
#include "results_fixture.h"

namespace pkb {
namespace {

TEST(Environment, RecordsWhatInfluencesResultsAndNoSecret) {
  const char* const entries[] = {"NCCL_DEBUG=INFO", "CUDA_VISIBLE_DEVICES=0,1", "OMPI_MCA_btl=^openib", "UCX_TLS=tcp",
                                 "OMP_NUM_THREADS=1", "SLURM_JOB_ID=7", "SLURM_NTASKS=8", "NCCL_EQUALS=a=b",
                                 // Not on the list, or of the kind that is never recorded.
                                 "HOME=/root", "PATH=/bin", "AWS_SECRET_ACCESS_KEY=x", "HF_TOKEN=x", "PKB_API_TOKEN=x",
                                 "NCCL_AUTH_KEY=x", "OMPI_MCA_orte_precondition_transports=x",
                                 "OMPI_MCA_orte_hnp_uri=x", "SLURM_JWT=x", "OMPI_MCA_orte_tmpdir_base=/tmp",
                                 "OMPI_MCA_ess=pmi", "SLURM_JOB_USER=me", "CUDA_PASSWORD=x", "no_equals_sign", nullptr};
  const auto recorded = recorded_environment(entries);
  EXPECT_THAT(recorded,
              ::testing::ElementsAre(std::pair{"CUDA_VISIBLE_DEVICES", "0,1"}, std::pair{"NCCL_DEBUG", "INFO"},
                                     std::pair{"NCCL_EQUALS", "a=b"}, std::pair{"OMPI_MCA_btl", "^openib"},
                                     std::pair{"OMP_NUM_THREADS", "1"}, std::pair{"SLURM_JOB_ID", "7"},
                                     std::pair{"SLURM_NTASKS", "8"}, std::pair{"UCX_TLS", "tcp"}));
  EXPECT_TRUE(recorded_environment(nullptr).empty());
}

TEST(Environment, TimesAreUtcAndSortable) {
  EXPECT_TRUE(std::regex_match(utc_now(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"))) << utc_now();
  const std::string folder = default_folder().string();
  EXPECT_TRUE(std::regex_match(folder, std::regex(R"(pkb-results-\d{8}T\d{6}Z)"))) << folder;
}

TEST(Environment, TheRecordOfARunHasItsParts) {
  const OrderedJson record = to_record(start_record({"pkb_runner", "--list"}));
  EXPECT_EQ(record.at("schema_version"), kSchemaVersion);
  const OrderedJson& meta = record.at("meta");
  EXPECT_FALSE(meta.at("pkb_version").get<std::string>().empty());
  EXPECT_FALSE(meta.at("compiler").get<std::string>().empty());
  EXPECT_THAT(meta.at("kernel").get<std::string>(), ::testing::StartsWith("Linux"));
  EXPECT_EQ(meta.at("command_line"), OrderedJson({"pkb_runner", "--list"}));
  EXPECT_TRUE(record.at("devices").is_array());
  EXPECT_TRUE(record.at("config").is_object());
}

TEST(Environment, WhatADeviceDoesNotHaveIsNull) {
  DeviceRecord device;
  device.rank = 1;
  device.kind = "host";
  const OrderedJson record = to_record(device);
  for (const char* name : {"pci", "uuid", "compute_capability", "memory_bytes", "driver", "sm_count"}) {
    EXPECT_TRUE(record.at(name).is_null()) << name;
  }
  EXPECT_EQ(record.at("rank"), 1);
}

TEST(Environment, TheVersionNamesItsSource) {
  EXPECT_THAT(version_text(), ::testing::StartsWith("pkb "));
}

}  // namespace
}  // namespace pkb
