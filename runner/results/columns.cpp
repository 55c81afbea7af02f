// SPDX-License-Identifier: Apache-2.0
#include "results/columns.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/error.h"

namespace pkb {
namespace {

// ---- values: how the fields of a row become JSON and come back

OrderedJson to_value(double number) {
  return std::isfinite(number) ? OrderedJson(number) : OrderedJson(nullptr);
}
OrderedJson to_value(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}
OrderedJson to_value(int number) {
  return number;
}
OrderedJson to_value(int64_t number) {
  return number;
}
OrderedJson to_value(uint64_t number) {
  return number;
}
OrderedJson to_value(const std::vector<std::string>& names) {
  return names;
}

OrderedJson to_value(const std::vector<std::vector<double>>& samples) {
  if (samples.empty()) return nullptr;
  OrderedJson ranks = OrderedJson::array();
  for (const auto& calls : samples) {
    OrderedJson& rank = ranks.emplace_back(OrderedJson::array());
    for (double call : calls) rank.push_back(to_value(call));
  }
  return ranks;
}

double to_number(const OrderedJson& value) {
  return value.is_null() ? kNoValue : value.get<double>();
}

template <class Field>
void from_value(const OrderedJson& value, Field& field) {
  field = value.is_null() ? Field{} : value.get<Field>();
}
void from_value(const OrderedJson& value, double& field) {
  field = to_number(value);
}
void from_value(const OrderedJson& value, std::vector<std::vector<double>>& field) {
  field.clear();
  for (const auto& rank : value) {
    auto& calls = field.emplace_back();
    for (const auto& call : rank) calls.push_back(to_number(call));
  }
}

// ---- makers of columns; `path` leads from a row to the value: &Row::reference, &SideTimes::mean_us

template <class... Path>
auto member_at(Path... path) {
  return [path...](auto& row) -> auto& {
    return (row.*....*path);
  };  // a fold over `.*`
}

template <class... Path>
Column column(std::string name, Hint hint, std::string description, Path... path) {
  const auto field = member_at(path...);
  return {.name = std::move(name),
          .hint = hint,
          .description = std::move(description),
          .in_csv = true,
          .get = [field](const Row& row) { return to_value(field(row)); },
          .set = [field](Row& row, const OrderedJson& value) { from_value(value, field(row)); }};
}

/// A whole number for which `absent` means that there is none.
template <class... Path>
Column column_absent_at(int absent, std::string name, Hint hint, std::string description, Path... path) {
  Column result = column(std::move(name), hint, std::move(description), path...);
  const auto field = member_at(path...);
  result.get = [field, absent](const Row& row) { return field(row) == absent ? OrderedJson() : to_value(field(row)); };
  result.set = [field, absent](Row& row, const OrderedJson& value) {
    from_value(value.is_null() ? OrderedJson(absent) : value, field(row));
  };
  return result;
}

/// Too large or too ragged for a table.
template <class... Path>
Column json_column(std::string name, Hint hint, std::string description, Path... path) {
  Column result = column(std::move(name), hint, std::move(description), path...);
  result.in_csv = false;
  return result;
}

Column schema_column() {
  return {.name = "schema_version",
          .hint = Hint::number,
          .description =
              fmt::format("The version of this table, {}; it grows when a column changes its meaning.", kSchemaVersion),
          .in_csv = true,
          .get = [](const Row&) { return OrderedJson(kSchemaVersion); },
          .set =
              [](Row&, const OrderedJson& value) {
                if (value.get<int>() > kSchemaVersion) {
                  throw Error(fmt::format("is {}, and this program knows up to {}; use a newer pkb", value.get<int>(),
                                          kSchemaVersion));
                }
              }};
}

std::vector<Column> make_columns() {
  using enum Hint;
  return {
      schema_column(),

      // What was judged.
      column("problem_id", index, "The problem's number in the catalogue.", &Row::problem_id),
      column("problem", word, "The problem's name.", &Row::problem),
      column("title", text, "What the problem computes, in a few words.", &Row::title),
      column("suites", list, "The suites the problem belongs to.", &Row::suites),
      column("domain", word, "The field the workload comes from.", &Row::domain),
      column("level", index, "The problem's difficulty; higher is harder.", &Row::level),
      column("candidate", text, "The folder or file as given; `shipped`; `none`; `control:NAME`.", &Row::candidate),
      column("sample", text, "Which of several candidates: its file name without the ending.", &Row::sample),
      column("candidate_sha256", word, "Of the candidate's file.", &Row::candidate_sha256),
      column("size", word, "The preset of the problem's parameters.", &Row::size),
      column("params", text, "The parameters as they were run, overrides included: `M=1024 N=1024`.", &Row::params),
      column("world_size", count, "Ranks that worked on the problem (W).", &Row::world),
      column("device", word, "`cuda`, or `host`: the candidate ran on CPU cores.", &Row::device),
      column("io", word, "Where inputs and outputs lay: `private` or `symmetric` memory.", &Row::io),
      column("timing", word, "`stream`, `isolated` or `graph`; none: not timed.", &Row::timing),

      // The verdict.
      column("status", word, "The verdict, see the table of statuses.", &Row::status),
      column("reason", text, "Why it is not `passed`.", &Row::reason),
      column_absent_at(-1, "failing_rank", index, "The first rank at fault.", &Row::failing_rank),
      column("trials", count, "Correctness trials that were run.", &Row::trials),
      column_absent_at(-1, "mismatch_rank", index, "First wrong element of the worst output: its rank.", &Row::mismatch,
                       &MismatchDetail::rank),
      column("mismatch_output", word, "Its output.", &Row::mismatch, &MismatchDetail::output),
      column("mismatch_case", word, "The case it was found in.", &Row::mismatch, &MismatchDetail::case_name),
      column_absent_at(-1, "mismatch_trial", index, "The trial it was found in; none: found in the timed calls.",
                       &Row::mismatch, &MismatchDetail::trial),
      column_absent_at(-1, "mismatch_call", index, "The call of the trial's burst, or the draw of the timed calls.",
                       &Row::mismatch, &MismatchDetail::call),
      column_absent_at(-1, "mismatch_index", index, "Its flat index in the output.", &Row::mismatch,
                       &MismatchDetail::index),
      column("mismatch_got", number,
             "What the candidate gave there; none as well when it is not finite (then `reason` has it).",
             &Row::mismatch, &MismatchDetail::got),
      column("mismatch_expected", number, "What was expected there; as above.", &Row::mismatch,
             &MismatchDetail::expected),
      column_absent_at(0, "mismatch_wrong", count, "Wrong elements of that output; none: no mismatch.", &Row::mismatch,
                       &MismatchDetail::wrong),
      column_absent_at(0, "mismatch_elements", count, "Elements of that output that were compared.", &Row::mismatch,
                       &MismatchDetail::elements),
      column("max_absolute_error", number, "Largest |got - expected| over all outputs.", &Row::max_absolute_error),
      column("max_relative_error", number, "Largest |got - expected| / |expected|.", &Row::max_relative_error),

      // Times, microseconds a call.
      column("warmup", count, "Warm-up calls before the timed ones, as they were made.", &Row::warmup),
      column("iterations", count, "Timed calls, as they were made.", &Row::iterations),
      column("draws", count, "Sets of inputs the timed calls rotated over.", &Row::draws),
      column("l2", word, "`warm`: all draws together are smaller than three times the L2; else `cold`.", &Row::l2),
      column("baseline", word, "The reference's baseline that was fastest, the one compared with.", &Row::baseline),
      column("reference_mean_us", microseconds,
             "Reference: mean time a call, slowest rank (`isolated`: mean over calls of the slowest rank's time).",
             &Row::reference, &SideTimes::mean_us),
      column("reference_wall_us", microseconds, "Reference: the same loop by the rank's own clock, slowest rank.",
             &Row::reference, &SideTimes::wall_us),
      column("reference_min_us", microseconds,
             "Reference: minimum over calls of the slowest rank's time, instrumented pass.", &Row::reference,
             &SideTimes::min_us),
      column("reference_median_us", microseconds, "Reference: their median.", &Row::reference, &SideTimes::median_us),
      column("reference_p95_us", microseconds, "Reference: their 95th percentile.", &Row::reference,
             &SideTimes::p95_us),
      column("reference_stdev_us", microseconds, "Reference: their standard deviation.", &Row::reference,
             &SideTimes::stdev_us),
      column("reference_null_reason", text, "Why the reference has no time.", &Row::reference, &SideTimes::null_reason),
      column("candidate_mean_us", microseconds,
             "Candidate: mean time a call, slowest rank (`isolated`: mean over calls of the slowest rank's time).",
             &Row::candidate_times, &SideTimes::mean_us),
      column("candidate_wall_us", microseconds,
             "Candidate: the same loop by the rank's own clock, messages included, slowest rank.",
             &Row::candidate_times, &SideTimes::wall_us),
      column("candidate_min_us", microseconds,
             "Candidate: minimum over calls of the slowest rank's time, instrumented pass.", &Row::candidate_times,
             &SideTimes::min_us),
      column("candidate_median_us", microseconds, "Candidate: their median.", &Row::candidate_times,
             &SideTimes::median_us),
      column("candidate_p95_us", microseconds, "Candidate: their 95th percentile.", &Row::candidate_times,
             &SideTimes::p95_us),
      column("candidate_stdev_us", microseconds, "Candidate: their standard deviation.", &Row::candidate_times,
             &SideTimes::stdev_us),
      column("candidate_null_reason", text, "Why the candidate has no time.", &Row::candidate_times,
             &SideTimes::null_reason),
      column("speedup", ratio, "reference_mean_us / candidate_mean_us, on `cuda` with one rank a GPU only.",
             &Row::speedup),
      column("setup_us", microseconds, "The candidate's pkb_setup, slowest rank; not in its time.", &Row::setup_us),

      // Limits of the hardware.
      column("profile", word, "The hardware profile the roofline is drawn for.", &Row::profile),
      column("roofline_us", microseconds, "The roofline time T_roof.", &Row::roofline_us),
      column("roofline_percent", percent, "100 * roofline_us / candidate_mean_us.", &Row::roofline_percent),
      column("bound", word, "What takes most of T_roof: `compute`, `memory` or `link`.", &Row::bound),
      column("flops", count, "Floating-point operations of one rank and call, by the catalogue.", &Row::flops),
      column("memory_bytes", bytes, "Bytes one rank must move to and from its device memory.", &Row::memory_bytes),
      column("link_bytes", bytes, "Bytes one rank must move over its links, one direction.", &Row::link_bytes),
      column("algbw_gbps", gbps, "Message bytes / candidate time; pure collectives only.", &Row::algbw_gbps),
      column("busbw_gbps", gbps,
             "algbw_gbps scaled by the collective's factor to compare with link rates, as nccl-tests defines it.",
             &Row::busbw_gbps),
      column("sm_clock_mhz", megahertz, "SM clock while the candidate was timed.", &Row::sm_clock_mhz),
      column("throttle", text, "Throttle reasons the driver reported meanwhile.", &Row::throttle),

      // The evaluation itself.
      column("seed", number,
             "Seed of this evaluation's inputs, orders and delays (`--seed`); a 64-bit unsigned whole number.",
             &Row::seed),
      column("started_utc", word, "When the evaluation started, ISO 8601.", &Row::started),
      column("evaluation_s", seconds, "How long the whole evaluation took.", &Row::seconds),
      column_absent_at(0, "peak_memory_bytes", bytes,
                       "Device memory in use on the fullest GPU; on `host` resident memory.", &Row::memory_bytes_peak),
      column("repeat", index, "Which pass over the selection (`--repeat`), from 0.", &Row::repeat),
      column("shared_inputs", text,
             "Inputs too large to be drawn for every call: all draws between two refreshments share them.",
             &Row::shared_inputs),
      column("mechanisms", list,
             "What a CUDA candidate's machine code and imports can move data with: `copy_engine`, `sm` (accesses at "
             "system "
             "scope), `tma`, `multicast`.",
             &Row::mechanisms),

      // Journal and JSON only.
      json_column("log_tail", text, "The end of what the compiler or the candidate wrote, when it failed.",
                  &Row::log_tail),
      json_column("reference_call_us", samples,
                  "Reference: time of every call on every rank, [rank][call], instrumented pass.", &Row::reference,
                  &SideTimes::call_us),
      json_column("candidate_call_us", samples, "Candidate: the same.", &Row::candidate_times, &SideTimes::call_us),
  };
}

}  // namespace

std::string_view name_of(Hint hint) {
  constexpr std::array<std::string_view, 14> kNames = {"text",   "word",  "list",    "index",           "count",
                                                       "number", "us",    "s",       "bytes",           "GB/s",
                                                       "MHz",    "ratio", "percent", "us, [rank][call]"};
  return kNames.at(static_cast<std::size_t>(hint));
}

const std::vector<Column>& columns() {
  static const std::vector<Column> table = make_columns();
  return table;
}

OrderedJson to_record(const Row& row) {
  OrderedJson record = OrderedJson::object();
  for (const Column& column : columns()) record[column.name] = column.get(row);
  return record;
}

Row from_record(const OrderedJson& record) {
  if (!record.is_object()) throw Error("is not a JSON object");
  Row row;
  for (const Column& column : columns()) {
    const auto found = record.find(column.name);
    if (found == record.end()) continue;
    try {
      column.set(row, *found);
    } catch (const std::exception& error) {
      throw Error(fmt::format("{}: {}", column.name, error.what()));
    }
  }
  return row;
}

std::string columns_markdown() {
  std::string text = "| column | values | description |\n|---|---|---|\n";
  for (const Column& column : columns()) {
    text += fmt::format("| `{}`{} | {} | {} |\n", column.name, column.in_csv ? "" : " (JSON)", name_of(column.hint),
                        column.description);
  }
  return text;
}

}  // namespace pkb
