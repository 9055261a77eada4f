#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/jit.h>
#include <fulgurite/trace.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

namespace detail {
struct PassList;
}

/// The passes between a recorded trace and a program, in their order: at first those of the library, which
/// docs/extending.md explains. Those before "split" run on the recorded trace, or, after "grad" and if the function is
/// differentiated, on the joint trace; those between "split" and "choose_executors" on the backward alone; those after
/// it on the forward and on the backward.
class Passes {
 public:
  /// The library's passes.
  Passes();

  /// The names, in order.
  std::vector<std::string> names() const;

  /// Adds a pass directly before or after another one. Ops that a pass after "claims" adds are claimed after it.
  /// UserError for an unknown `other`, for a name in use, and for a position before the first pass or after the last.
  Passes& insert_before(std::string_view other, std::string_view name, Transform pass,
                        SourceLocation at = SourceLocation::here());
  Passes& insert_after(std::string_view other, std::string_view name, Transform pass,
                       SourceLocation at = SourceLocation::here());
  /// Removes a pass. UserError if there is none of this name, or if programs cannot be made without it.
  Passes& remove(std::string_view name, SourceLocation at = SourceLocation::here());
  /// Moves a pass directly before another one. UserError for an unknown name, or if a pass of the library would
  /// cross one that cannot be removed.
  Passes& move_before(std::string_view name, std::string_view other, SourceLocation at = SourceLocation::here());

  /// For with_passes().
  const std::shared_ptr<const detail::PassList>& list() const { return list_; }

 private:
  std::shared_ptr<const detail::PassList> list_;
};

namespace detail {
std::shared_ptr<JitState> with_passes(const JitState&, const Passes&, SourceLocation);
}

/// Returns `f` compiled by these passes. A separate function, which shares no cache entries with `f`. The result of
/// each added pass is checked: a complete trace with the arguments and results of its input, UserError otherwise.
template <std::derived_from<Jitted> F>
F with_passes(const F& f, const Passes& passes, SourceLocation at = SourceLocation::here()) {
  return F(detail::with_passes(*f.state(), passes, at));
}

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
