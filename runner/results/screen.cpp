// SPDX-License-Identifier: Apache-2.0
#include "results/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <utility>

namespace pkb {
namespace {

constexpr std::size_t kLongestLabel = 48;
constexpr std::size_t kShortestReason = 24;

/// A column of the table; the label's width is set by `begin`, the reason has what is left.
struct TableColumn {
  std::string_view name, unit;
  std::size_t width;
  bool left;
  std::string (*text)(const Row& row);
};

std::string word(const std::string& text) {
  return text.empty() ? "-" : text;
}

/// Four significant digits or so; never wider than 10.
std::string number(double value) {
  if (!std::isfinite(value)) return "-";
  const double magnitude = std::abs(value);
  if (magnitude < 100) return fmt::format("{:.2f}", value);
  if (magnitude < 10'000) return fmt::format("{:.1f}", value);
  return magnitude < 1e10 ? fmt::format("{:.0f}", value) : fmt::format("{:.3e}", value);
}

/// Why a row has no time although nothing is wrong with it comes after why it failed.
std::string remark(const Row& row) {
  if (!row.reason.empty()) return row.reason;
  if (!row.candidate_times.null_reason.empty()) return "candidate: " + row.candidate_times.null_reason;
  if (!row.reference.null_reason.empty()) return "reference: " + row.reference.null_reason;
  return "";
}

constexpr std::string_view kLabel = "problem";

const std::vector<TableColumn>& table() {
  static const std::vector<TableColumn> columns = {
      {"id", "", 4, false, [](const Row& row) { return std::to_string(row.problem_id); }},
      {kLabel, "", 0, true, [](const Row& row) { return label_of(row.problem, row.sample); }},
      {"size", "", 8, true, [](const Row& row) { return word(row.size); }},
      {"W", "", 3, false, [](const Row& row) { return std::to_string(row.world); }},
      {"timing", "", 8, true, [](const Row& row) { return word(row.timing); }},
      {"status", "", 13, true, [](const Row& row) { return word(row.status); }},
      {"reference", "(us)", 10, false, [](const Row& row) { return number(row.reference.mean_us); }},
      {"candidate", "(us)", 10, false, [](const Row& row) { return number(row.candidate_times.mean_us); }},
      {"speed-up", "(x)", 8, false, [](const Row& row) { return number(row.speedup); }},
      {"roofline", "(%)", 8, false, [](const Row& row) { return number(row.roofline_percent); }},
  };
  return columns;
}

std::string aligned(std::string_view text, std::size_t width, bool left) {
  const std::string cut = text.size() > width ? std::string(text.substr(0, width - 1)) + "~" : std::string(text);
  return left ? fmt::format("{:<{}}", cut, width) : fmt::format("{:>{}}", cut, width);
}

/// One line of the table. The first two places are the header's "# ".
template <class TextOf>
std::string table_line(std::string_view start, std::size_t label_width, TextOf text_of) {
  std::string line(start);
  for (const TableColumn& column : table()) {
    const std::size_t width = column.name == kLabel ? label_width : column.width;
    line += aligned(text_of(column), width, column.left) + "  ";
  }
  return line;
}

std::string without_end_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string counts_by_status(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, int>> counts;  // in the order of first appearance, passed first
  counts.emplace_back("passed", 0);
  for (const Row& row : rows) {
    const auto found = std::ranges::find(counts, row.status, &std::pair<std::string, int>::first);
    found == counts.end() ? void(counts.emplace_back(row.status, 1)) : void(++found->second);
  }
  std::vector<std::string> texts;
  for (const auto& [status, count] : counts) texts.push_back(fmt::format("{} {}", count, status));
  return fmt::format("{} row{}: {}", rows.size(), rows.size() == 1 ? "" : "s", fmt::join(texts, ", "));
}

/// By timing mode, since a mean over modes would mean nothing.
std::string geometric_means(const std::vector<Row>& rows) {
  struct Logs {
    std::string timing;
    double sum = 0;
    int count = 0;
  };
  std::vector<Logs> modes;
  for (const Row& row : rows) {
    if (row.status != "passed" || !std::isfinite(row.speedup) || row.speedup <= 0) continue;
    auto mode = std::ranges::find(modes, row.timing, &Logs::timing);
    if (mode == modes.end()) mode = modes.insert(mode, Logs{.timing = row.timing});
    mode->sum += std::log(row.speedup);
    ++mode->count;
  }
  std::vector<std::string> texts;
  for (const Logs& mode : modes) {
    texts.push_back(fmt::format("{:.2f}x {} (over {})", std::exp(mode.sum / mode.count), mode.timing, mode.count));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string duration(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::max(0.0, seconds)));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", (whole + 30) / 60);
  return fmt::format("{:.1f} h", static_cast<double>(whole) / 3600);
}

/// None: not a terminal.
std::optional<std::size_t> terminal_width(int descriptor) {
  if (::isatty(descriptor) == 0) return std::nullopt;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string label_of(std::string_view problem, std::string_view sample) {
  // The shipped candidates and everyone's first one are called so; the word would only make lines longer.
  if (sample.empty() || sample == "candidate") return std::string(problem);
  return fmt::format("{}/{}", problem, sample);
}

std::string progress_text(std::size_t done, std::size_t expected, double elapsed_s, std::string_view doing) {
  std::string text = fmt::format("[{}/{}] {}", done, expected, duration(elapsed_s));
  if (done > 0 && done < expected) {
    const double left = elapsed_s / static_cast<double>(done) * static_cast<double>(expected - done);
    text += fmt::format(", about {} left", duration(left));
  }
  return doing.empty() ? text : fmt::format("{}: {}", text, doing);
}

std::string one_line(std::string_view text, std::size_t width) {
  std::string line;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const char shown = byte < 0x20 || byte == 0x7f ? ' ' : c;
    if (shown != ' ' || !line.ends_with(' ')) line += shown;
  }
  line = without_end_spaces(std::move(line));
  if (line.size() <= width) return line;
  std::size_t end = width - std::min<std::size_t>(width, 3);
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return without_end_spaces(line.substr(0, end)) + std::string(std::min<std::size_t>(width, 3), '.');
}

Screen::Settings Screen::settings_of_terminal() {
  Settings settings;
  settings.width = terminal_width(STDOUT_FILENO).value_or(settings.width);
  settings.progress_width = terminal_width(STDERR_FILENO).value_or(0);
  return settings;
}

Screen::Screen(std::ostream& out, std::ostream& err, Settings settings)
    : out_(out), err_(err), settings_(settings), start_(std::chrono::steady_clock::now()) {}

void Screen::show_devices(const std::vector<DeviceRecord>& devices) {
  clear_progress();
  std::size_t host_width = 4, name_width = 6;
  for (const DeviceRecord& device : devices) {
    host_width = std::max(host_width, device.host.size());
    name_width = std::max(name_width, device.name.size());
  }
  out_ << fmt::format("# rank  {:<{}}  device  {:<{}}  pci\n", "host", host_width, "name", name_width);
  for (const DeviceRecord& device : devices) {
    const std::string ordinal = device.kind == "host" ? "host" : fmt::format("{}:{}", device.kind, device.ordinal);
    out_ << fmt::format("# {:>4}  {:<{}}  {:<6}  {:<{}}  {}\n", device.rank, device.host, host_width, ordinal,
                        device.name, name_width, word(device.pci));
  }
  out_ << "#\n" << std::flush;
}

void Screen::note(std::string_view text) {
  clear_progress();
  out_ << "# " << text << '\n' << std::flush;
}

void Screen::begin(std::size_t rows, std::size_t longest_label) {
  clear_progress();
  expected_rows_ = rows;
  label_width_ = std::clamp(longest_label, kLabel.size(), kLongestLabel);
  start_ = std::chrono::steady_clock::now();
  out_ << without_end_spaces(table_line("# ", label_width_, [](const auto& column) { return column.name; }) + "reason")
       << '\n'
       << without_end_spaces(table_line("# ", label_width_, [](const auto& column) { return column.unit; })) << '\n'
       << std::flush;
}

void Screen::progress(std::string_view doing) {
  if (settings_.progress_width == 0) return;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const std::string text = progress_text(rows_.size(), expected_rows_, elapsed, doing);
  err_ << "\r\033[K" << one_line(text, settings_.progress_width - 1) << std::flush;
  progress_shown_ = true;
}

void Screen::clear_progress() {
  if (!std::exchange(progress_shown_, false)) return;
  err_ << "\r\033[K" << std::flush;
}

void Screen::show(const Row& row) {
  clear_progress();
  const std::string line = table_line("  ", label_width_, [&](const auto& column) { return column.text(row); });
  const std::size_t left = settings_.width > line.size() ? settings_.width - line.size() : 0;
  out_ << without_end_spaces(line + one_line(remark(row), std::max(left, kShortestReason))) << '\n' << std::flush;
  rows_.push_back(row);
  rows_.back().reference = rows_.back().candidate_times = {};
  rows_.back().log_tail.clear();
}

void Screen::finish(const std::filesystem::path& folder) {
  clear_progress();
  out_ << "#\n# " << counts_by_status(rows_) << '\n';
  if (const std::string means = geometric_means(rows_); !means.empty()) {
    out_ << "# speed-up, geometric mean: " << means << '\n';
  }
  out_ << fmt::format("# files: {}/results.{{csv,json,jsonl}}\n", folder.string()) << std::flush;
}

}  // namespace pkb
