// SPDX-License-Identifier: Apache-2.0
//
// The one table of what is recorded of an evaluation. The journal, results.csv, results.json, `pkb columns` and the
// table in docs/results.md are all made from it, so that a new value is one line here and one member of Row.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "results/row.h"

namespace pkb {

/// JSON whose objects keep the order in which their keys were added.
using OrderedJson = nlohmann::ordered_json;

/// Grows when the meaning of a column changes. Appending a column does not change it.
inline constexpr int kSchemaVersion = 1;

/// What the values of a column are. A printer formats by this and needs to know no column by name.
enum class Hint {
  text,   ///< free text, may hold any character
  word,   ///< one of a fixed set, or a name without spaces
  list,   ///< names; separated by spaces in CSV, an array in JSON
  index,  ///< counted from 0
  count,
  number,  ///< dimensionless, or in the units of the data
  microseconds,
  seconds,
  bytes,
  gbps,  ///< 1e9 bytes a second
  megahertz,
  ratio,
  percent,
  samples,  ///< microseconds, [rank][call]
};
std::string_view name_of(Hint hint);

struct Column {
  std::string name;  ///< snake_case, with the unit as suffix
  Hint hint = Hint::text;
  std::string description;                            ///< one sentence, for people
  bool in_csv = true;                                 ///< false: journal and JSON only
  std::function<OrderedJson(const Row&)> get;         ///< null: no value
  std::function<void(Row&, const OrderedJson&)> set;  ///< the inverse; throws nlohmann's exceptions on a wrong type
};

/// In the order of the CSV header, which is fixed for ever: new columns go to the end.
const std::vector<Column>& columns();

/// All columns of a row, in order; numbers are finite, what is missing is null.
OrderedJson to_record(const Row& row);

/// The inverse. Unknown keys are ignored and missing ones leave Row's defaults, so that files of other versions with
/// the same schema can be read. Throws Error that names the key, or says that the schema is newer than this program.
Row from_record(const OrderedJson& record);

/// The table of columns as Markdown, for docs/results.md.
std::string columns_markdown();

}  // namespace pkb
