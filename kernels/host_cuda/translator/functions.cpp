// SPDX-License-Identifier: Apache-2.0
//
// Kernels and launches.
#include <algorithm>
#include <array>

#include "rewriter.h"

namespace pkb::translate {

namespace {

// Words at the end of a parameter that are part of its type and not its name.
constexpr std::array<std::string_view, 20> kTypeWords = {
    "int",     "char",     "float", "double", "long",     "short", "unsigned",     "signed",     "bool",
    "const",   "volatile", "auto",  "class",  "typename", "void",  "__restrict__", "__restrict", "__grid_constant__",
    "wchar_t", "struct"};

bool is_type_word(std::string_view word) {
  return std::find(kTypeWords.begin(), kTypeWords.end(), word) != kTypeWords.end();
}

}  // namespace

// template <class T> __global__ void k(T* p) { body }  ->  ... { enter<&k<T>>(name, bound, [=]() mutable { body }); }
void Rewriter::kernel(std::size_t index) {
  edits_.erase(tokens_[index]);
  const std::size_t start = statement_start(index);
  std::size_t open = index + 1;
  while (open < tokens_.size() && !list_.is(open, "(")) {
    const bool takes_arguments = list_.is(open, "__launch_bounds__") || list_.is(open, "__maxnreg__") ||
                                 list_.is(open, "__attribute__") || list_.is(open, "alignas") ||
                                 list_.is(open, "__cluster_dims__");
    open = takes_arguments && list_.is(open + 1, "(") ? list_.partner[open + 1] + 1 : open + 1;
  }
  if (open >= tokens_.size()) return fault(index, "__global__ without a function");
  const std::size_t close = list_.partner[open];
  std::size_t body = close + 1;
  while (body < tokens_.size() && !list_.is(body, "{") && !list_.is(body, ";")) ++body;
  if (!list_.is(body, "{")) return;  // a declaration
  device_bodies_.push_back({body, list_.partner[body]});

  // The kernel's own name, with its arguments where it is a template or a specialization of one.
  std::size_t name = open - 1;
  if (list_.is(name, ">")) name = list_.opening_angle(name) - 1;
  std::string function = list_.flat(name, open);
  if (list_.is(start, "template") && !list_.is(start + 2, ">")) {
    const std::size_t end = list_.closing_angle(start + 1);
    if (end == kNone) return fault(start, "this template header is too much for the translator");
    function += "<" + name_template_parameters(start + 1, end) + ">";
  }
  const std::string types = name_parameters(open, close);
  edits_.insert_after(tokens_[body], " ::pkb::hostcuda::enter<static_cast<void (*)(" + types + ")>(&" + function +
                                         ")>(__PRETTY_FUNCTION__, " + launch_bound(start, body) + ", [=]() mutable {");
  edits_.insert_before(tokens_[list_.partner[body]], "}); ");
}

// Remembers the body: nothing may be launched there.
void Rewriter::device_function(std::size_t index) {
  edits_.erase(tokens_[index]);
  const bool for_both = list_.is(index + 1, "__host__") || list_.is(index - 1, "__host__");
  if (for_both) return;
  for (std::size_t i = index + 1; i < tokens_.size(); ++i) {
    if (list_.is(i, ";") || list_.is(i, "=") || list_.is(i, "}")) return;
    if (list_.is(i, "{")) {
      device_bodies_.push_back({i, list_.partner[i]});
      return;
    }
    if (list_.is(i, "(") || list_.is(i, "[")) i = list_.partner[i];
  }
}

// k<T><<<grid, block>>>(a)  ->  (push_launch(grid, block), k<T>(a))
std::size_t Rewriter::launch(std::size_t index) {
  std::size_t end = index + 1;
  while (end + 3 < tokens_.size()) {
    if (list_.is(end, ">") && list_.is(end + 1, ">") && list_.is(end + 2, ">") && list_.is(end + 3, "(") &&
        tokens_[end + 2].offset == tokens_[end].offset + 2) {
      break;
    }
    if (list_.is(end, ";") || list_.is(end, "}")) break;
    end = list_.partner[end] != kNone ? list_.partner[end] + 1 : end + 1;
  }
  if (!list_.is(end, ">")) {
    fault(index, "'<<<' without its '>>>(' ");
    return index;
  }
  for (const Range& body : device_bodies_) {
    if (!body.contains(index)) continue;
    fault(index, "a launch in device code (dynamic parallelism) does not run on the host device");
    return index;
  }
  const std::size_t start = callee_start(index);
  const std::string configuration = list_.flat(index + 1, end);
  edits_.insert_before(tokens_[start], "(::pkb::hostcuda::push_launch(" + configuration + "), ");
  for (std::size_t i = index; i < end + 3; ++i) edits_.erase(tokens_[i]);
  edits_.insert_after(tokens_[list_.partner[end + 3]], ")");
  return end + 2;
}

// The first token of the expression before `<<<`.
std::size_t Rewriter::callee_start(std::size_t launch) const {
  std::size_t at = launch - 1;
  for (;;) {
    if (list_.is(at, ">")) {
      const std::size_t open = list_.opening_angle(at);
      if (open == kNone || open == 0) return at;
      at = open - 1;
      continue;
    }
    if (list_.is(at, ")") || list_.is(at, "]")) {
      at = list_.partner[at];
      const bool is_postfix = at > 0 && (list_.is_identifier(at - 1) || list_.is(at - 1, ")") || list_.is(at - 1, "]"));
      if (!is_postfix) return at;
      --at;
      continue;
    }
    if (at >= 1 && list_.is(at - 1, "::")) {
      const bool has_scope = at >= 2 && (list_.is_identifier(at - 2) || list_.is(at - 2, ">"));
      if (!has_scope) return at - 1;
      at -= 2;
      continue;
    }
    if (at >= 2 && (list_.is(at - 1, ".") || list_.is(at - 1, "->"))) {
      at -= 2;
      continue;
    }
    return at;
  }
}

std::size_t Rewriter::statement_start(std::size_t index) const {
  std::size_t at = index;
  while (at > 0 && !list_.is(at - 1, ";") && !list_.is(at - 1, "{") && !list_.is(at - 1, "}") &&
         !list_.is(at - 1, ":")) {
    --at;
    if (list_.is(at, ")") || list_.is(at, "]")) at = list_.partner[at];
  }
  return at;
}

std::string Rewriter::launch_bound(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    if (!list_.is(i, "__launch_bounds__") || !list_.is(i + 1, "(")) continue;
    const std::size_t end = std::min(split(i + 1, list_.partner[i + 1]).front().last, list_.partner[i + 1]);
    return "static_cast<int>(" + list_.flat(i + 2, end) + ")";
  }
  return "1024";
}

// The parts between commas, each as [first, last).
std::vector<Rewriter::Range> Rewriter::split(std::size_t open, std::size_t close) const {
  std::vector<Range> parts;
  std::size_t first = open + 1;
  for (std::size_t i = open + 1; i <= close; ++i) {
    if (i == close || list_.is(i, ",")) {
      if (i > first) parts.push_back({first, i});
      first = i + 1;
    } else if (list_.is(i, "<")) {
      if (const std::size_t end = list_.closing_angle(i); end != kNone && end < close) i = end;
    } else if (list_.is(i, "(") || list_.is(i, "[") || list_.is(i, "{")) {
      i = list_.partner[i];
    }
  }
  return parts;
}

// Gives a parameter a name if it has none.
std::string Rewriter::name_of(Range parameter, bool of_template, bool& is_pack) {
  std::size_t end = parameter.first;
  std::size_t pointer_name = kNone, last_word = kNone;
  is_pack = false;
  std::size_t words = 0;
  for (; end < parameter.last && !list_.is(end, "="); ++end) {
    if (list_.is(end, "...")) is_pack = true;
    if (list_.is(end, "<")) {
      if (const std::size_t close = list_.closing_angle(end); close != kNone && close < parameter.last) end = close;
      last_word = kNone;
    } else if (list_.is(end, "(")) {
      // void (*name)(int), float (&name)[4]
      if ((list_.is(end + 1, "*") || list_.is(end + 1, "&")) && list_.is_identifier(end + 2)) {
        if (pointer_name == kNone) pointer_name = end + 2;
      }
      end = list_.partner[end];
    } else if (list_.is(end, "[")) {
      end = list_.partner[end];
    } else if (list_.is_identifier(end)) {
      last_word = end;
      words += !list_.is(end, "const") && !list_.is(end, "volatile");
    } else {
      last_word = kNone;
      words += 2;  // a type with more to it than a word
    }
  }
  if (pointer_name != kNone) return std::string(tokens_[pointer_name].text);
  const bool after_scope = last_word != kNone && last_word > 0 && list_.is(last_word - 1, "::");
  if (last_word != kNone && words > 1 && !after_scope && !is_type_word(tokens_[last_word].text)) {
    return std::string(tokens_[last_word].text);
  }
  const std::string name = "pkb_" + std::string(of_template ? "argument" : "parameter") + std::to_string(counter_++);
  edits_.insert_after(tokens_[end - 1], " " + name);
  return name;
}

std::string Rewriter::name_template_parameters(std::size_t open, std::size_t close) {
  std::string arguments;
  for (const Range& parameter : split(open, close)) {
    bool is_pack = false;
    const std::string name = name_of(parameter, true, is_pack);
    arguments += (arguments.empty() ? "" : ", ") + name + (is_pack ? "..." : "");
  }
  return arguments;
}

std::string Rewriter::name_parameters(std::size_t open, std::size_t close) {
  std::string types;
  if (close == open + 2 && list_.is(open + 1, "void")) return types;
  for (const Range& parameter : split(open, close)) {
    bool is_pack = false;
    const std::string name = name_of(parameter, false, is_pack);
    types += (types.empty() ? "" : ", ") + ("::pkb::hostcuda::Plain<decltype(" + name + ")>") + (is_pack ? "..." : "");
  }
  return types;
}

}  // namespace pkb::translate
