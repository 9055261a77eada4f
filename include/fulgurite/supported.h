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

/// What of a function is supported, all of it at once.
struct Supported {
  /// One operator that the function calls.
  struct Operator {
    std::string name;        // "torch.nn.functional.gelu"
    int calls = 0;
    std::string executor;    // who runs it: the first of the default list that takes it as it was called first; "decomposed": its parts are run
    bool has_gradient = true;
    SourceLocation source;   // of the first call
  };
  enum class Kind : uint8_t {
    unknown_operator,  // there is none of that name
    refused,           // the operator does not take these arguments
    no_gradient,       // the result needs a gradient, and the operator has none
    graph_break,       // jit compiles the function in pieces; an error with fullgraph
  };
  /// One unsupported call.
  struct Problem {
    Kind kind = Kind::refused;
    std::string what;     // "there is no operator 'torch.fft'"
    std::string instead;  // the nearest spelling that is supported, or what to do; may be empty
    SourceLocation source;
  };
  std::vector<Operator> operators;  // in the order of their first calls
  std::vector<Problem> problems;    // in the order met; breaks among them
  /// Whether it runs and differentiates as it stands; graph breaks are allowed.
  bool all() const;
};
/// Operators with their executors, then the problems, each with its line.
std::ostream& operator<<(std::ostream&, const Supported&);

/// Runs `body` eagerly. A call that fails is noted, and goes on with a tensor like its first tensor argument: what is said after the first
/// problem may be its consequence.
Supported supported_body(const std::function<void()>& body);
/// Of a call of `callable` with these arguments, which is made; copies of the arguments are not taken, so what it writes is written.
template <class F, class... A>
Supported supported(F callable, const A&... arguments) {
  return supported_body([&] { static_cast<void>(std::invoke(callable, arguments...)); });
}

}  // namespace examine
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
