#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <fulgurite/source_location.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace examine {

/// A report on all of a function's unsupported operators at once.
struct Supported {
  /// One operator that the function calls.
  struct Operator {
    std::string name;  // "torch.nn.functional.gelu"
    int calls = 0;
    /// The first of the default list that accepts the first call; "decomposed": its subsymbols run instead.
    std::string executor;
    bool has_gradient = true;
    SourceLocation source;  // of the first call
  };
  enum class Kind : uint8_t {
    unknown_operator,  // there is no operator of that name
    refused,           // the operator does not accept these arguments
    no_gradient,       // the result needs a gradient, but the operator has none
    graph_break,       // jit compiles the function as several subgraphs; an error with fullgraph
  };
  /// One unsupported call.
  struct Problem {
    Kind kind = Kind::refused;
    std::string what;     // "there is no operator 'torch.fft'"
    std::string instead;  // the nearest supported spelling, or the remedy; may be empty
    SourceLocation source;
  };
  std::vector<Operator> operators;  // in the order of their first calls
  std::vector<Problem> problems;    // in the order found; breaks among them
  /// Returns true if it runs and differentiates as written; graph breaks are allowed.
  bool all() const;
};
/// Prints operators with their executors, then the problems, each with its line.
std::ostream& operator<<(std::ostream&, const Supported&);

/// Runs `body` eagerly. A failing call is noted, and its result replaced by a tensor like its first tensor argument:
/// later problems may be consequences of the first.
Supported supported_body(const std::function<void()>& body);
/// Runs and checks `callable` on these arguments; they are not copied, so its writes take effect.
template <class F, class... A>
Supported supported(F callable, const A&... arguments) {
  return supported_body([&] { static_cast<void>(std::invoke(callable, arguments...)); });
}

}  // namespace examine
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
