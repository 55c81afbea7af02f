// SPDX-License-Identifier: Apache-2.0
#include "results/writers.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "core/error.h"
#include "results/files.h"

namespace pkb {
namespace {

std::string shortest(double number) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

std::string joined(const OrderedJson& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : " ") + name.get<std::string>();
  return text;
}

std::string to_csv_field(const OrderedJson& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_field(value.get_ref<const std::string&>());
  if (value.is_number_float()) return shortest(value.get<double>());
  if (value.is_array()) return csv_field(joined(value));
  return value.dump();
}

std::string csv_line(const std::vector<std::string>& fields) {
  return fmt::format("{}\n", fmt::join(fields, ","));
}

/// Objects as one line an element: readable, and a diff shows which row changed.
std::string lines_of(const OrderedJson& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "\n    " : ",\n    ") + to_line(values[i]);
  return text + (values.empty() ? "]" : "\n  ]");
}

std::string indented(const OrderedJson& value) {
  std::string text = value.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.insert(at + 1, "  ");
  return text;
}

OrderedJson part(const OrderedJson& run, const char* name, OrderedJson otherwise) {
  return run.contains(name) ? run.at(name) : std::move(otherwise);
}

}  // namespace

std::string csv_field(std::string_view text) {
  const bool plain =
      text.find_first_of(",\"\r\n") == std::string_view::npos && !text.starts_with(' ') && !text.ends_with(' ');
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string to_csv(const std::vector<Row>& rows) {
  std::vector<std::string> fields;
  for (const Column& column : columns()) {
    if (column.in_csv) fields.push_back(column.name);
  }
  std::string text = csv_line(fields);
  for (const Row& row : rows) {
    fields.clear();
    for (const Column& column : columns()) {
      if (column.in_csv) fields.push_back(to_csv_field(column.get(row)));
    }
    text += csv_line(fields);
  }
  return text;
}

std::string to_json(const JournalContents& journal) {
  const OrderedJson newest = journal.runs.empty() ? OrderedJson::object() : journal.runs.back();
  OrderedJson earlier = OrderedJson::array();
  for (std::size_t i = 0; i + 1 < journal.runs.size(); ++i) earlier.push_back(journal.runs[i]);
  OrderedJson results = OrderedJson::array();
  for (const Row& row : journal.rows) results.push_back(to_record(row));

  return fmt::format(
      "{{\n  \"schema_version\": {},\n  \"meta\": {},\n  \"devices\": {},\n  \"config\": {},\n  \"earlier_runs\": {},\n"
      "  \"results\": {}\n}}\n",
      kSchemaVersion, indented(part(newest, "meta", OrderedJson::object())),
      lines_of(part(newest, "devices", OrderedJson::array())), indented(part(newest, "config", OrderedJson::object())),
      lines_of(earlier), lines_of(results));
}

void write_results(const std::filesystem::path& folder) {
  const JournalContents journal = read_journal(folder);
  replace_file(folder / "results.csv", to_csv(journal.rows));
  replace_file(folder / "results.json", to_json(journal));
}

}  // namespace pkb
