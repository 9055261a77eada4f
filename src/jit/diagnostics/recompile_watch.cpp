#include "jit/diagnostics/recompile_watch.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "jit/diagnostics/file_and_line.h"
#include "support/text/text.h"

namespace fulgurite::detail {

namespace {

constexpr std::string_view subgraph_advice =
    "what it does differs from call to call: a number taken out of a tensor with item() is a constant of the "
    "subgraph after it, so keep such numbers tensors";

std::string_view advice(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::size:
      return "Cache::symbolic_values, or mark_dynamic() of what varies, lets one cache entry serve many sizes";
    case Change::Kind::number:
      return "Cache::symbolic_values with a parameter of type Int or Float, or a tensor in its place, lets one cache "
             "entry serve many numbers";
    case Change::Kind::guard: return "a condition on a size or number (an if, a conversion to a C++ number) fixes it";
    case Change::Kind::other: break;
  }
  return "make functions of their own of what differs";
}

}  // namespace

std::string text_of(const std::vector<Change>& changes) {
  return text::join(
      changes, [](const Change& change) { return change.text; }, "; ");
}

std::optional<std::string> RecompileWatch::count(const std::vector<Change>& changes, SourceLocation called_at) {
  const std::lock_guard lock(mutex_);
  if (limits_.refuse_after > 0 && compiles_ >= limits_.refuse_after)
    throw UserError(
        text::cat("jit: the function jitted at ", file_and_line(made_at_), " has been compiled ", compiles_,
                  " times, as often as CacheLimits::refuse_after allows, and no cache entry holds for this call: ",
                  text_of(changes), "; ", advice(changes.empty() ? Change::Kind::other : changes.front().kind)),
        called_at);
  ++compiles_;
  for (const Change& change : changes) {
    Changed& changed = changed_[change.what];
    ++changed.times;
    changed.newest = change;
  }
  if (has_warned_ || limits_.warn_after <= 0 || compiles_ < limits_.warn_after || changed_.empty()) return std::nullopt;
  has_warned_ = true;
  std::vector<const Changed*> most;
  for (const auto& [what, changed] : changed_) most.push_back(&changed);
  std::ranges::stable_sort(most, [](const Changed* a, const Changed* b) { return a->times > b->times; });
  most.resize(std::min<size_t>(most.size(), 3));
  const auto described = [](const Changed* one) {
    return text::cat(one->newest.what, " (", one->times, one->times == 1 ? " time" : " times", ", last ",
                     one->newest.text, ")");
  };
  return text::cat("the function jitted at ", file_and_line(made_at_), " has been compiled ", compiles_,
                   " times, last for the call at ", file_and_line(called_at),
                   "; what changed: ", text::join(most, described), "; ", advice(most.front()->newest.kind),
                   "; explain() lists every compile");
}

std::optional<std::string> RecompileWatch::count_subgraph(SourceLocation start, SourceLocation called_at) {
  const std::lock_guard lock(mutex_);
  int64_t& compiles = subgraphs_[{start.line > 0 ? start.file : "", start.line}];
  const std::string where =
      start.line > 0 ? text::cat("that begins at ", file_and_line(start)) : "with which it begins";
  if (limits_.refuse_after > 0 && compiles >= limits_.refuse_after)
    throw UserError(
        text::cat("jit: the subgraph of the function jitted at ", file_and_line(made_at_), " ", where,
                  " has been compiled ", compiles,
                  " times, as often as CacheLimits::refuse_after allows, and does something else in this call; ",
                  subgraph_advice),
        called_at);
  ++compiles;
  if (has_warned_ || limits_.warn_after <= 0 || compiles < limits_.warn_after) return std::nullopt;
  has_warned_ = true;
  return text::cat("the subgraph of the function jitted at ", file_and_line(made_at_), " ", where,
                   " has been compiled ", compiles, " times, last for the call at ", file_and_line(called_at), ": ",
                   subgraph_advice);
}

}  // namespace fulgurite::detail
