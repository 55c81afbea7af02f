// SPDX-License-Identifier: Apache-2.0
#include "team/team.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <thread>

#include "core/error.h"
#include "team/alarm_bell.h"
#include "team/polling.h"

namespace pkb {
namespace {

constexpr int kLooks = 50;  // a few microseconds of MPI_Test
constexpr int kLongestSleepUs = 200;

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// Tells machines apart that share a host name. Empty where /proc does not have it.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

/// The lowest rank of `communicator` that shares memory with this one.
int shared_memory_leader(MPI_Comm communicator, int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int leader = rank;
  MPI_Bcast(&leader, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  return leader;
}

int checked_count(int64_t bytes) {
  if (bytes > std::numeric_limits<int>::max()) {
    throw Error("the ranks exchange " + std::to_string(bytes) +
                " bytes at once; a team's messages are limited to 2^31");
  }
  return static_cast<int>(bytes);
}

}  // namespace

void Backoff::pause() {
  if (++looks_ <= kLooks) return;
  std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
  sleep_us_ = std::min(kLongestSleepUs, sleep_us_ + sleep_us_ / 2);
}

void wait_for(MPI_Request& request) {
  int done = 0;
  for (Backoff backoff; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) backoff.pause();
}

Team::Team(MPI_Comm communicator) : uncaught_(std::uncaught_exceptions()) {
  MPI_Comm_dup(communicator, &communicator_);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
  bell_ = std::make_unique<AlarmBell>(communicator_);
  find_places();
}

Team::~Team() {
  // With an exception on its way the other ranks may never come here; the job is about to be aborted.
  if (std::uncaught_exceptions() > uncaught_ && size_ > 1) {
    static_cast<void>(bell_.release());
    return;
  }
  bell_->settle();
  bell_.reset();
  MPI_Comm_free(&communicator_);
}

void Team::find_places() {
  const std::string host = host_name();
  const std::string node = std::to_string(shared_memory_leader(communicator_, rank_)) + '\n' + boot_id() + '\n' + host;
  const std::vector<std::string> nodes = all_gather(node);
  const std::vector<std::string> hosts = all_gather(host);
  std::map<std::string, int> node_index, ranks_on;
  for (int rank = 0; rank < size_; ++rank) {
    const std::string& key = nodes[static_cast<std::size_t>(rank)];
    const int index = node_index.try_emplace(key, static_cast<int>(node_index.size())).first->second;
    places_.push_back({rank, index, ranks_on[key]++, 0, hosts[static_cast<std::size_t>(rank)]});
  }
  for (RankPlace& place : places_) place.local_size = ranks_on[nodes[static_cast<std::size_t>(place.rank)]];
}

std::vector<std::string> Team::all_gather(std::string_view contribution) {
  const auto ranks = static_cast<std::size_t>(size_);
  const auto mine = static_cast<int64_t>(contribution.size());
  std::vector<int64_t> sizes(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&mine, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, communicator_, &request);
  wait_for(request);

  const int total = checked_count(std::reduce(sizes.begin(), sizes.end()));
  std::vector<int> counts(ranks), offsets(ranks);
  std::ranges::transform(sizes, counts.begin(), [](int64_t size) { return static_cast<int>(size); });
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Iallgatherv(contribution.data(), static_cast<int>(mine), MPI_BYTE, all.data(), counts.data(), offsets.data(),
                  MPI_BYTE, communicator_, &request);
  wait_for(request);

  std::vector<std::string> gathered;
  for (std::size_t i = 0; i < ranks; ++i) {
    gathered.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(counts[i])));
  }
  return gathered;
}

std::string Team::broadcast(std::string_view from_root) {
  auto size = static_cast<int64_t>(from_root.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&size, 1, MPI_INT64_T, 0, communicator_, &request);
  wait_for(request);
  const int count = checked_count(size);
  std::string text = is_root() ? std::string(from_root) : std::string(static_cast<std::size_t>(count), '\0');
  MPI_Ibcast(text.data(), count, MPI_BYTE, 0, communicator_, &request);
  wait_for(request);
  return text;
}

void Team::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator_, &request);
  wait_for(request);
}

bool Team::all(bool mine) {
  const int contribution = mine ? 1 : 0;
  int result = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&contribution, &result, 1, MPI_INT, MPI_LAND, communicator_, &request);
  wait_for(request);
  return result != 0;
}

std::vector<std::vector<double>> Team::all_gather(std::span<const double> contribution) {
  const auto bytes = std::as_bytes(contribution);
  std::vector<std::vector<double>> gathered;
  for (const std::string& part :
       all_gather(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()))) {
    std::vector<double>& values = gathered.emplace_back(part.size() / sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), part.data(), part.size());
  }
  return gathered;
}

double Team::maximum(double mine) {
  double result = mine;
  for (const std::vector<double>& values : all_gather(std::span<const double>(&mine, 1))) {
    if (std::isnan(values[0])) return values[0];
    result = std::max(result, values[0]);
  }
  return result;
}

void Team::raise_alarm(uint64_t evaluation) {
  bell_->ring(evaluation);
}
bool Team::alarm(uint64_t evaluation) {
  return bell_->heard(evaluation);
}

}  // namespace pkb
