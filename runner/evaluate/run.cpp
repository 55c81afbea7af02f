// SPDX-License-Identifier: Apache-2.0
#include "evaluate/run.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <stop_token>
#include <system_error>
#include <thread>

#include "core/log.h"
#include "results/listing.h"
#include "results/writers.h"
#include "team/strays.h"

namespace pkb {
namespace {

/// The one thing a signal handler may touch.
std::atomic<int>& stop_signal() {
  static std::atomic<int> signal{0};
  return signal;
}

void request_stop(int signal) {
  stop_signal() = signal;
}

/// Writes the derived files as soon as a signal asks to stop: launchers kill what still runs a second later, be it in
/// the middle of an evaluation.
class EarlyResults {
 public:
  explicit EarlyResults(std::filesystem::path folder)
      : writer_([folder = std::move(folder)](const std::stop_token& done) {
          while (stop_signal() == 0 && !done.stop_requested()) std::this_thread::sleep_for(kPoll);
          if (stop_signal() == 0) return;
          try {
            write_results(folder);
          } catch (const std::exception& error) {
            log::error(error.what());
          }
        }) {}

 private:
  static constexpr std::chrono::milliseconds kPoll{20};
  std::jthread writer_;
};

/// SIGTERM and SIGINT end the sweep after the current evaluation; a second one ends the program. A file that may not
/// grow is an error of the write, not the end.
void install_signal_handlers() {
  ::signal(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

std::string job_prefix(Team& team) {
  const auto ticks = std::chrono::system_clock::now().time_since_epoch().count();
  return team.broadcast("pkb-" + std::to_string(getpid()) + "-" + std::to_string(ticks % 1'000'000));
}

DeviceRecord device_record(const DeviceFacts& facts, const RankPlace& place) {
  DeviceRecord record;
  record.rank = place.rank;
  record.host = place.host;
  record.node = place.node;
  record.kind = name_of(facts.kind);
  record.ordinal = facts.ordinal;
  record.name = facts.name;
  record.uuid = facts.uuid;
  record.pci = facts.pci;
  record.sm_count = facts.sm_count;
  if (facts.kind == DeviceKind::cuda) {
    record.compute_capability = std::to_string(facts.cc_major) + "." + std::to_string(facts.cc_minor);
  }
  record.memory_bytes = facts.total_bytes;
  record.driver = facts.driver;
  return record;
}

std::size_t longest_label(const std::vector<Item>& plan) {
  std::size_t longest = 0;
  for (const Item& item : plan) {
    longest = std::max(longest, label_of(item.problem->name, item.candidate.sample).size());
  }
  return longest;
}

}  // namespace

bool answer_without_running(const Options& options, Team& team) {
  if (!options.help && !options.version && !options.list) return false;
  if (!team.is_root()) return true;
  if (options.help) {
    std::cout << help_text(Program::runner);
  } else if (options.version) {
    std::cout << version_text() << '\n';
  } else {
    const Resources resources = Resources::of_this_program();
    const Catalogue catalogue = Catalogue::load(options.catalogue.empty() ? resources.catalogue() : options.catalogue);
    show_list(std::cout, catalogue, options);
  }
  std::cout << std::flush;
  return true;
}

int leave(Team& team, ExitCode code, const std::string& text) {
  constexpr std::chrono::seconds kAlone{3};
  MPI_Request request;
  MPI_Ibarrier(team.communicator(), &request);
  if (team.is_root()) std::fprintf(stderr, "pkb: %s\n", text.c_str());
  const auto deadline = Clock::now() + kAlone;
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return code;
    if (Clock::now() > deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (!team.is_root()) std::fprintf(stderr, "pkb: rank %d: %s\n", team.rank(), text.c_str());
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, code);
  return code;
}

Run::Run(const Options& options, Team& team, std::vector<std::string> command_line)
    : options_(options),
      command_line_(std::move(command_line)),
      team_(team),
      resources_(Resources::of_this_program()),
      catalogue_(Catalogue::load(options.catalogue.empty() ? resources_.catalogue() : options.catalogue)),
      placement_(choose_device(team, options.device)),
      name_prefix_(job_prefix(team)) {
  log::initialise(options.verbose ? log::Level::debug : log::Level::warning, "rank " + std::to_string(team.rank()));
  if (team_.place().local_rank == 0) sweep_shared_memory();
  team_.barrier();
  device_ = make_device(placement_.kind, placement_.ordinal, name_prefix_);
  facts_ = gather_facts(team_, device_->facts());
  refuse_unfit_gpus(facts_);
  placement_.ranks_per_gpu = most_ranks_per_device(facts_);
  probe_peers(team_, *device_);
  profile_ = options_.profile.empty() ? catalogue_.profile_for_device(facts_.front().name)
                                      : &catalogue_.profile_named(options_.profile);
  if (!is_root()) return;
  screen_.emplace(std::cout, std::cerr, Screen::settings_of_terminal());
  std::vector<DeviceRecord> records;
  for (std::size_t rank = 0; rank < facts_.size(); ++rank)
    records.push_back(device_record(facts_[rank], team_.places()[rank]));
  screen_->show_devices(records);
  if (!placement_.notice.empty()) screen_->note(placement_.notice);
  if (placement_.ranks_per_gpu > 1) {
    screen_->note("ranks share GPUs: correctness counts, times do not; references communicate through MPI");
  }
}

Run::~Run() = default;

void Run::plan() {
  plan_ = make_plan(options_, catalogue_, placement_.kind, team_.size(), resources_);
  if (is_root() && options_.dry_run) show_plan();
}

void Run::show_plan() const {
  for (const Item& item : plan_) {
    const std::string why = !item.skip.empty() ? item.skip : item.candidate.missing;
    const std::string what = item.candidate.none()            ? "reference only"
                             : item.candidate.control.empty() ? item.candidate.file.string()
                                                              : "control " + item.candidate.control;
    std::cout << item.problem->folder_name() << "  " << item.size << "  W=" << team_.size() << "  "
              << (why.empty() ? what : "skipped: " + why) << '\n';
  }
  std::cout << std::flush;
}

void Run::open_journal() {
  std::string folder, refusal;
  if (is_root()) {
    try {
      journal_.emplace(options_.resume.empty() ? Journal::create(options_.out) : Journal::resume(options_.resume));
      folder = std::filesystem::absolute(journal_->folder()).string();
      std::filesystem::create_directories(std::filesystem::path(folder) / "logs");
    } catch (const UsageError& error) {
      refusal = error.what();
    }
  }
  // The root alone can tell, but all must end together.
  refusal = team_.broadcast(refusal);
  if (!refusal.empty()) throw UsageError(refusal);
  folder_ = team_.broadcast(folder);
}

void Run::make_dump_folder() {
  if (options_.dump.empty()) return;
  std::string refusal;
  std::error_code error;
  std::filesystem::create_directories(options_.dump, error);
  if (error || access(options_.dump.c_str(), W_OK | X_OK) != 0) {
    const std::string why = error ? error.message() : std::generic_category().message(errno);
    refusal = "--dump " + options_.dump.string() + ": cannot make files there (" + why + "); name another folder";
  } else if (options_.resume.empty() && !std::filesystem::is_empty(options_.dump, error)) {
    refusal = "--dump " + options_.dump.string() + " is not empty; name a new folder";
  }
  // Nodes need not share the folder, but all must end together.
  for (const std::string& text : team_.all_gather(refusal)) {
    if (!text.empty()) throw UsageError(text);
  }
}

RunRecord Run::record() const {
  RunRecord record = start_record(command_line_);
  record.seed = options_.seed;
  for (std::size_t rank = 0; rank < facts_.size(); ++rank) {
    record.devices.push_back(device_record(facts_[rank], team_.places()[rank]));
    const std::string& host = team_.places()[rank].host;
    if (std::find(record.hosts.begin(), record.hosts.end(), host) == record.hosts.end()) record.hosts.push_back(host);
  }
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  record.versions["mpi"] = one_line({library, static_cast<std::size_t>(length)}, 80);
  record.versions["libraries"] = reference_->versions();
  if (placement_.kind == DeviceKind::cuda) {
    record.versions["cuda_driver"] = facts_.front().driver;
    record.versions["cuda_runtime"] = facts_.front().runtime;
  }
  record.config = to_record(options_);
  return record;
}

SweepResult Run::execute() {
  make_dump_folder();
  open_journal();
  install_signal_handlers();
  reference_ = std::make_unique<ReferenceSide>(team_, *device_, ReferenceOptions{placement_.ranks_per_gpu > 1});
  if (is_root()) {
    journal_->begin(to_record(record()));
    std::size_t rows = 0;
    for (const Item& item : plan_) rows += item.problem->inplace.empty() ? options_.timing.size() : 1;
    screen_->begin(rows, longest_label(plan_));
  }
  const GpuClocks clocks(placement_.kind == DeviceKind::cuda ? device_->facts().uuid : "");
  Job job{.options = options_,
          .resources = resources_,
          .team = team_,
          .device = *device_,
          .reference = *reference_,
          .watchdog = watchdog_,
          .clocks = clocks,
          .profile = profile_,
          .ranks_per_gpu = placement_.ranks_per_gpu,
          .logs = folder_ / "logs",
          .name_prefix = name_prefix_};
  WorkerOptions worker;
  worker.executable = resources_.program("pkb_worker");
  worker.device = placement_.kind;
  worker.ordinal = placement_.ordinal;
  worker.ranks_per_gpu = placement_.ranks_per_gpu;
  worker.multicast = options_.multicast;
  worker.name_prefix = name_prefix_;
  // From here on there are workers, which must not read this process's memory.
  make_undumpable();
  adopt_orphans();
  const bool judges =
      std::any_of(plan_.begin(), plan_.end(), [](const Item& item) { return !item.candidate.file.empty(); });
  std::optional<EarlyResults> early;
  if (is_root()) early.emplace(folder_);
  WorkerPool pool(worker, job.logs, team_.rank(), judges);
  Reporter reporter(journal_ ? &*journal_ : nullptr, screen_ ? &*screen_ : nullptr);
  return sweep(job, pool, plan_, reporter, stop_signal());
}

void Run::report(const SweepResult& result) {
  if (!is_root()) return;
  if (result.unsaved > 0) {
    log::error(std::to_string(result.unsaved) + " rows could not be written to " + folder_.string() +
               "; they stand in the table alone");
  }
  write_results(folder_);
  if (result.stopped) screen_->note("stopped by a signal; continue with --resume " + folder_.string());
  screen_->finish(folder_);
}

}  // namespace pkb
