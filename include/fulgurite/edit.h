#pragma once
#include <fulgurite/detail/requirements.h>

// Runs edited prints of traces instead of the traces.
#include <string>
#include <tuple>
#include <vector>

#include <fulgurite/fulgurite.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::examine {

/// The printed text of last_traces(f).back().cpp() and last_backward_traces(f).back().cpp(), edited: the functions'
/// names and arguments, and the number and types of their results, must not change.
struct EditedTraces {
  std::string forward = {}, backward = {};  // empty: unchanged
  /// The folders of the library's headers, if these are neither installed beside it nor on CPATH.
  std::vector<std::string> include_folders = {};
};
std::shared_ptr<detail::JitState> state_with_edited(const Jitted&, const EditedTraces&, SourceLocation);
/// Returns `f` with edited traces instead of those that its last call ran. They are built immediately by the host's
/// compiler, and run as written: operator by operator, on eager. Calls with other argument types than the last call's
/// run as before. Throws UserError with the compiler's output.
template <std::derived_from<Jitted> F>
F with_edited(const F& f, const EditedTraces& edited, SourceLocation at = SourceLocation::here()) {
  return F(state_with_edited(f, edited, at));
}

// Called by the built code: collects a printed function's results in a list.
inline void collect(const Tensor& result, std::vector<Tensor>& out) { out.push_back(result); }
inline void collect(const std::vector<Tensor>& results, std::vector<Tensor>& out) {
  out.insert(out.end(), results.begin(), results.end());
}
template <class... Results>
void collect(const std::tuple<Results...>& results, std::vector<Tensor>& out) {
  std::apply([&](const auto&... result) { (collect(result, out), ...); }, results);
}
inline void collect(const AugmentedForward& results, std::vector<Tensor>& out) {
  collect(results.output, out);
  collect(std::get<0>(results.saved_for_backward), out);
}

}  // namespace fulgurite::examine
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
