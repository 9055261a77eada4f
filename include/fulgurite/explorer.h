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
  std::string title = {};           // empty: the name of the function's trace
  const Report* profile = nullptr;  // times beside the ops that it measured
};
/// Returns a self-contained page: every trace of the function's last call from as recorded to as run with the changes
/// of each pass, forward and backward ops linked, the user's source, the kernels of fusions, memory, and time if it was
/// profiled.
std::string html(const Jitted&, const HtmlOptions& = {});
/// Writes the page to a file; throws UserError if that fails.
void write_html(const Jitted&, const std::string& path, const HtmlOptions& = {});

}  // namespace examine
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
