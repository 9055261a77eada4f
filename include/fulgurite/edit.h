#pragma once
#include <fulgurite/detail/requirements.h>

// Traces that were printed, changed, and run in the place of those that they were.
#include <string>
#include <tuple>
#include <vector>

#include <fulgurite/fulgurite.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::examine {

/// What last_traces(f).back().cpp() and last_backward_traces(f).back().cpp() printed, changed in whatever way: the functions' names,
/// arguments, and how many results of which types they give must stay.
struct EditedTraces {
  std::string forward = {}, backward = {};  // empty: as it is
  /// Where the library's headers are, if they are neither installed beside it nor where CPATH says.
  std::vector<std::string> include_folders = {};
};
std::shared_ptr<detail::JitState> state_with_edited(const Jitted&, const EditedTraces&, SourceLocation);
/// `f` with edited traces in the place of those that its last call ran. They are built by the host's compiler, at once, and run as the C++
/// that they are: operator by operator, on eager. Calls whose arguments have other types than those of the last call run as before. Throws
/// UserError with what the compiler says.
template <std::derived_from<Jitted> F>
F with_edited(const F& f, const EditedTraces& edited, SourceLocation at = SourceLocation::here()) {
  return F(state_with_edited(f, edited, at));
}

// What the built code calls: puts what a printed function returns into a list.
inline void collect(const Tensor& result, std::vector<Tensor>& out) { out.push_back(result); }
inline void collect(const std::vector<Tensor>& results, std::vector<Tensor>& out) { out.insert(out.end(), results.begin(), results.end()); }
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
