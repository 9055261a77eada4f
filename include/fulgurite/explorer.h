#pragma once
#include <fulgurite/detail/requirements.h>

#include <string>

#include <fulgurite/profile.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace examine {

/// Members are given in this order.
struct HtmlOptions {
  std::string title = {};            // empty: the name of the function's trace
  const Report* profile = nullptr;   // times beside the lines that it measured
};
/// A page in one file, which loads nothing: every trace of the function's last call from as recorded to as run with what each pass changed,
/// forward and backward linked line to line, the user's source, the kernels of fusions, memory, and time where it was profiled.
std::string html(const Jitted&, const HtmlOptions& = {});
/// The page written to a file; throws UserError where that fails.
void write_html(const Jitted&, const std::string& path, const HtmlOptions& = {});

}  // namespace examine
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
