// SPDX-License-Identifier: Apache-2.0
#include "rewriter.h"

#include <algorithm>
#include <array>

namespace pkb::translate {

namespace {

constexpr std::array<std::string_view, 6> kDropped = {"__host__",          "__constant__",       "__managed__",
                                                      "__grid_constant__", "__device_builtin__", "__cudart_builtin__"};

}  // namespace

std::string Edits::apply(std::string_view source) const {
  std::string result;
  result.reserve(source.size() + edits_.size() * 64);
  std::size_t at = 0;
  for (const auto& [offset, edit] : edits_) {
    result.append(source, at, offset - at);
    result += edit.after;
    result += edit.before;
    at = offset + edit.erased;
  }
  result.append(source, at);
  return result;
}

std::string Rewriter::run() {
  foreign_headers();
  if (!faults_.empty()) throw TranslationError(faults_);  // the rest would only repeat it
  pragmas();
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].is("<<<") && !list_.is(i - 1, "operator")) {
      i = launch(i);
    } else {
      token(i);
    }
  }
  if (!faults_.empty()) throw TranslationError(faults_);
  return edits_.apply(source_);
}

void Rewriter::token(std::size_t index) {
  const Token& token = tokens_[index];
  if (token.is("[")) return lambda(index);
  if (token.kind != TokenKind::identifier) return;
  if (token.is("while") || token.is("for")) return loop(index);
  if (token.is("do")) return do_loop(index);
  if (token.is("goto")) return edits_.insert_before(token, "if (::pkb::hostcuda::tick()) {} else ");
  if (token.is("asm") || token.is("__asm") || token.is("__asm__")) return inline_assembly(index);
  if (!token.text.starts_with("__")) return refused_name(index);
  if (token.is("__global__")) return kernel(index);
  if (token.is("__device__")) return device_function(index);
  if (token.is("__shared__")) return shared(index);
  if (token.is("__launch_bounds__") || token.is("__maxnreg__")) return erase_call(index);
  if (token.is("__noinline__")) {
    // The standard spelling of the attribute uses the same word.
    if (index > 1 && tokens_[index - 1].is("(") && tokens_[index - 2].is("(")) return;
    return edits_.replace(token, "__attribute__((noinline))");
  }
  if (std::find(kDropped.begin(), kDropped.end(), token.text) != kDropped.end()) return edits_.erase(token);
  refused_name(index);
}

// `#pragma unroll` means nothing here, and would have to stand directly before its loop.
void Rewriter::pragmas() {
  for (const TokenList::Pragma& pragma : list_.pragmas) {
    if (pragma.text.find("unroll") != std::string_view::npos || pragma.text.find("nv_") != std::string_view::npos) {
      edits_.erase(pragma.offset, pragma.text.size());
    }
  }
}

void Rewriter::erase_call(std::size_t index) {
  const std::size_t last = list_.is(index + 1, "(") ? list_.partner[index + 1] : index;
  for (std::size_t i = index; i <= last; ++i) edits_.erase(tokens_[i]);
}

void Rewriter::fault(std::size_t index, const std::string& what) {
  faults_ += list_.where(index) + ": error: " + what + "\n";
}

}  // namespace pkb::translate
