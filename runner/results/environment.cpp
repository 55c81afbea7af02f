// SPDX-License-Identifier: Apache-2.0
#include "results/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pkb_build_info.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>
#include <thread>

namespace pkb {
namespace {

constexpr std::array<std::string_view, 9> kRecordedPrefixes = {"NCCL_", "TORCH_NCCL_", "CUDA_", "OMPI_MCA_", "UCX_",
                                                               "UCC_",  "OMP_",        "PKB_",  "GLOO_"};

constexpr std::array<std::string_view, 22> kRecordedNames = {
    "NVIDIA_VISIBLE_DEVICES", "TORCH_CUDA_ARCH_LIST", "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",     "MKL_NUM_THREADS",      "OMPI_COMM_WORLD_SIZE",
    "OMPI_UNIVERSE_SIZE",     "SLURM_JOB_ID",         "SLURM_JOB_PARTITION",
    "SLURM_NNODES",           "SLURM_NTASKS",         "SLURM_NTASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",   "SLURM_CPUS_PER_TASK",  "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_ON_NODE",     "SLURM_GPUS_PER_TASK",  "SLURM_GPU_BIND",
    "SLURM_CPU_BIND_TYPE",    "SLURM_MPI_TYPE",       "SLURM_DISTRIBUTION",
    "SLURM_GTIDS_RANGE"};

constexpr std::array<std::string_view, 11> kSecretWords = {"TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "KEY",
                                                           "AUTH",  "COOKIE", "URI",      "URL",    "TRANSPORTS"};

/// What Open MPI's launcher tells its processes, in the guise of settings.
constexpr std::array<std::string_view, 3> kLauncherPrefixes = {"OMPI_MCA_orte_", "OMPI_MCA_ess",
                                                               "OMPI_MCA_initial_wdir"};

bool is_recorded(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (std::ranges::any_of(kSecretWords, [&](auto word) { return upper.find(word) != std::string::npos; })) return false;
  const auto begins_name = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::ranges::any_of(kLauncherPrefixes, begins_name)) return false;
  return std::ranges::any_of(kRecordedPrefixes, begins_name) ||
         std::ranges::find(kRecordedNames, name) != kRecordedNames.end();
}

std::string kernel_version() {
  utsname names{};
  if (::uname(&names) != 0) return "";
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson() : OrderedJson(text);
}

template <class Number>
OrderedJson positive_or_null(Number number) {
  return number > 0 ? OrderedJson(number) : OrderedJson();
}

OrderedJson build_record() {
  const BuildInfo& build = build_info();
  OrderedJson record;
  record["pkb_version"] = build.version;
  record["git_commit"] = text_or_null(build.git_commit);
  record["git_dirty"] = build.git_commit.empty() ? OrderedJson() : OrderedJson(build.git_dirty);
  record["compiler"] = build.compiler;
  record["build_type"] = build.build_type;
  return record;
}

}  // namespace

const BuildInfo& build_info() {
  static const BuildInfo info = {.version = PKB_VERSION,
                                 .git_commit = PKB_GIT_COMMIT,
                                 .git_dirty = PKB_GIT_DIRTY != 0,
                                 .compiler = PKB_COMPILER,
                                 .build_type = PKB_BUILD_TYPE};
  return info;
}

std::string version_text() {
  const BuildInfo& build = build_info();
  const std::string commit = build.git_commit.empty() ? "no git" : build.git_commit.substr(0, 10);
  return fmt::format("pkb {} ({}{}), {}, {}", build.version, commit, build.git_dirty ? ", modified" : "",
                     build.compiler, build.build_type);
}

RunRecord start_record(const std::vector<std::string>& command_line) {
  RunRecord run;
  run.started_utc = utc_now();
  run.command_line = command_line;
  run.environment = recorded_environment(::environ);
  run.kernel = kernel_version();
  run.cpu = cpu_model();
  run.cpu_count = static_cast<int>(std::thread::hardware_concurrency());
  return run;
}

OrderedJson to_record(const DeviceRecord& device) {
  OrderedJson record;
  record["rank"] = device.rank;
  record["host"] = device.host;
  record["node"] = device.node;
  record["kind"] = device.kind;
  record["ordinal"] = device.ordinal;
  record["name"] = device.name;
  record["uuid"] = text_or_null(device.uuid);
  record["pci"] = text_or_null(device.pci);
  record["sm_count"] = positive_or_null(device.sm_count);
  record["compute_capability"] = text_or_null(device.compute_capability);
  record["memory_bytes"] = positive_or_null(device.memory_bytes);
  record["driver"] = text_or_null(device.driver);
  return record;
}

OrderedJson to_record(const RunRecord& run) {
  OrderedJson meta = build_record();
  meta["started_utc"] = run.started_utc;
  meta["command_line"] = run.command_line;
  meta["hosts"] = run.hosts;
  meta["kernel"] = text_or_null(run.kernel);
  meta["cpu"] = text_or_null(run.cpu);
  meta["cpu_count"] = positive_or_null(run.cpu_count);
  meta["versions"] = run.versions;
  meta["topology"] = text_or_null(run.topology);
  meta["seed"] = run.seed == 0 ? OrderedJson(nullptr) : OrderedJson(run.seed);
  meta["environment"] = run.environment;

  OrderedJson devices = OrderedJson::array();
  for (const DeviceRecord& device : run.devices) devices.push_back(to_record(device));

  OrderedJson record;
  record["schema_version"] = kSchemaVersion;
  record["meta"] = std::move(meta);
  record["devices"] = std::move(devices);
  record["config"] = run.config;
  return record;
}

std::map<std::string, std::string> recorded_environment(const char* const* entries) {
  std::map<std::string, std::string> recorded;
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    const std::string_view entry = *entries;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || !is_recorded(entry.substr(0, equals))) continue;
    recorded.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return recorded;
}

namespace {

std::tm utc_seconds() {
  return fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
}

}  // namespace

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", utc_seconds());
}

std::string utc_now_compact() {
  return fmt::format("{:%Y%m%dT%H%M%SZ}", utc_seconds());
}

}  // namespace pkb
