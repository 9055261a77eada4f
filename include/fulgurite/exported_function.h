#pragma once
#include <fulgurite/detail/requirements.h>

#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fulgurite/jit.h>
#include <fulgurite/operators.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite {

/// The function that a shared library exports to `fulgurite trace | examine | repro | explain NAME --library FILE`, and
/// its call, set by a function with C linkage:
///
///   extern "C" void block(fulgurite::ExportedFunction& exported) {
///     exported.set(attention_block, fulgurite::randn({8, 64, 32}), weights);
///   }
///
/// The library is linked with libfulgurite; the command lends it its own copy of it.
class ExportedFunction {
 public:
  /// With `runs_backward`, a call is followed by the backward of its result's sum.
  explicit ExportedFunction(JitOptions options = {}, bool runs_backward = false)
      : options_(std::move(options)), runs_backward_(runs_backward) {}

  /// Sets a callable accepted by jit(), and the arguments of a call. There is no backward if its result is neither a
  /// tensor nor a tuple or pair that begins with one, or needs no gradient.
  template <class F, class... A>
  void set(F callable, A... arguments) {
    const auto f = jit(std::move(callable), options_);
    function_ = f;
    call_ = [f, runs_backward = runs_backward_, arguments...] {
      const auto result = f(arguments...);
      if (runs_backward) run_backward(result);
    };
  }

  /// None and empty before set().
  const std::optional<Jitted>& function() const { return function_; }
  const std::function<void()>& call() const { return call_; }

 private:
  template <class Result>
  static void run_backward(const Result& result) {
    if constexpr (std::is_same_v<Result, Tensor>) {
      if (result.requires_grad()) sum(result).backward();
    } else if constexpr (requires { std::get<0>(result); }) {
      run_backward(std::get<0>(result));
    }
  }

  JitOptions options_;
  bool runs_backward_;
  std::optional<Jitted> function_;
  std::function<void()> call_;
};

}  // namespace fulgurite

#include <fulgurite/detail/restore_macros.h>
