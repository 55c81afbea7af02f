// SPDX-License-Identifier: Apache-2.0
#include "evaluate/contestant.h"

#include <algorithm>

namespace pkb {

using protocol::Json;
using protocol::Type;

WorkerPool::WorkerPool(WorkerOptions options, std::filesystem::path logs, int rank, bool ready)
    : options_(std::move(options)), logs_(std::move(logs)), rank_(rank) {
  if (ready) start_next();
}

void WorkerPool::start_next() {
  next_options_ = options_;
  next_options_.log = logs_ / (std::to_string(started_++) + ".rank" + std::to_string(rank_) + ".log");
  next_ = std::make_unique<WorkerProcess>(next_options_);
}

std::unique_ptr<WorkerProcess> WorkerPool::take(WorkerOptions& options) {
  if (!next_ || next_->how_it_ended()) start_next();
  options = next_options_;
  auto taken = std::move(next_);
  start_next();
  return taken;
}

Contestant::Contestant(Job& job, WorkerPool& pool, const Instance& instance, const std::filesystem::path& module,
                       uint64_t evaluation)
    : job_(job),
      stream_(job.device.create_stream()),
      session_(job.team, pool.take(options_), options_, instance, evaluation) {
  call(Type::load, Json{{"path", module.string()}});
}

Contestant::~Contestant() {
  slab_.reset();
  job_.device.destroy(stream_);
}

std::chrono::duration<double> Contestant::deadline(std::size_t calls) const {
  return std::max(std::chrono::duration<double>(job_.options.timeout_s),
                  20.0 * expected_call_ * static_cast<double>(calls));
}

CallOutcome Contestant::call(Type type, const Json& body, std::size_t calls) {
  CallOutcome outcome = session_.call(type, body, deadline(calls));
  require(outcome);
  return outcome;
}

void Contestant::set_up(const Instance& instance, int slots) {
  tear_down();
  const SlabLayout layout(instance, slots);
  const bool symmetric = job_.options.io == "symmetric";
  const Json allocated = call(Type::allocate, Json{{"bytes", layout.bytes()}, {"symmetric", symmetric}}).reply;
  together(job_.team, [&] { slab_ = std::make_unique<Slab>(job_.device, stream_, allocated.at("handle"), layout); });
  call(Type::opened, Json::object());
  const Json reply = call(Type::setup, Json{{"arguments", arguments_of(instance, nullptr, 0, instance.scalars)}}).reply;
  setup_us_ = reply.value("setup_us", 0.0);
  is_set_up_ = true;
}

void Contestant::tear_down() {
  if (!is_set_up_ && !slab_) return;
  is_set_up_ = false;
  // The rank lets go of the slab before its owner frees it.
  slab_.reset();
  job_.team.barrier();
  call(Type::teardown, Json::object());
}

void Contestant::load_draws(const Instance& instance) {
  const int used = std::min(slots(), job_.reference.slots());
  Json draws = Json::array();
  together(job_.team, [&] {
    for (int slot = 0; slot < used; ++slot) {
      slab_->fill(instance, job_.reference, slot, job_.seed);
      const Instance drawn = as_drawn(instance, job_.reference, slot);
      draws.push_back(arguments_of(drawn, &slab_->layout(), slot, job_.reference.scalars(slot)));
    }
    slab_->synchronize();
  });
  call(Type::bind, Json{{"draws", std::move(draws)}});
}

void Contestant::run(const std::vector<int32_t>& draws, const std::vector<int64_t>& delays_ns) {
  call(Type::run, Json{{"draws", draws}, {"delays_ns", delays_ns}}, draws.size());
}

protocol::TimeReply Contestant::time(const protocol::TimeRequest& request) {
  const std::size_t calls = request.draws.size(), all_calls = calls + request.lead_in.size();
  const CallOutcome outcome = call(Type::time, Json(request), all_calls);
  auto reply = outcome.reply.get<protocol::TimeReply>();
  const bool had_head_start = request.mode == protocol::TimeRequest::Mode::replay;
  const double clocked_us = outcome.worker_us - (had_head_start ? 1e-3 * protocol::kReplayHeadStartNs : 0);
  reply.wall_us = std::max(clocked_us, 0.0) * static_cast<double>(calls) / static_cast<double>(all_calls);
  reply.threads_after = reply.threads_before + outcome.new_threads;
  return reply;
}

}  // namespace pkb
