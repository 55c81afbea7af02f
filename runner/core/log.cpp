// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

namespace pkb::log {
namespace {

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("pkb", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("pkb: %v");
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

void write(Level level, std::string_view word, std::string_view text) {
  const spdlog::level::level_enum spdlog_level = level_of(level);
  if (!logger().should_log(spdlog_level)) return;
  std::string line(word);
  line += text;
  logger().log(spdlog_level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void initialise(Level lowest, std::string_view prefix) {
  std::string pattern = "pkb: ";
  for (const char c : prefix) pattern += c == '%' ? std::string("%%") : std::string(1, c);
  if (!prefix.empty()) pattern += ": ";
  logger().set_pattern(pattern + "%v");
  logger().set_level(level_of(lowest));
}

void debug(std::string_view text) {
  write(Level::debug, "debug: ", text);
}
void info(std::string_view text) {
  write(Level::info, "", text);
}
void warning(std::string_view text) {
  write(Level::warning, "warning: ", text);
}
void error(std::string_view text) {
  write(Level::error, "error: ", text);
}

}  // namespace pkb::log
