#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/detail/callable.h>
#include <fulgurite/trace.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

namespace detail {

Trace record(const CallableTable&, void* callable, const void* const* arguments, SourceLocation);

/// A callable's result and its pullback.
struct Linearized {
  CallResult result;
  std::shared_ptr<const void> backward;  // the backward trace and its saved values
};
/// Runs a callable and saves the values for the gradients of the arguments `wrt`. `what` is for messages.
Linearized linearize(const CallableTable&, void* callable, const void* const* arguments, const std::vector<int>& wrt,
                     const char* what, SourceLocation);
/// Returns the gradients of all tensors among the arguments' leaves, in order: zeros if nothing depends on one, the
/// tensor itself if it has no gradient. Cotangents are those of the tensors among the result's leaves; undefined for
/// none.
std::vector<Tensor> pull_back(const Linearized&, const std::vector<Tensor>& cotangents, SourceLocation);
/// The same from a cotangent of 1 for the first tensor, which must be a scalar.
std::vector<Tensor> pull_back_from_scalar(const Linearized&, const char* what, SourceLocation);

/// Counts the tensors of an object.
struct TensorCounter {
  size_t count = 0;
  void leaf(const Tensor&) { ++count; }
  template <class T>
  void leaf(const T&) {}
};
template <class T>
T replace_tensors(const T& object, const Tensor*& next) {
  T replaced = object;
  TensorWriter writer{next};
  walk(replaced, writer);
  next = writer.next;
  return replaced;
}
template <class T>
void skip_tensors(const T& object, const Tensor*& next) {
  TensorCounter counter;
  walk(object, counter);
  next += counter.count;
}

template <class R>
constexpr bool has_scalar_first() {
  if constexpr (std::is_same_v<R, Tensor>) return true;
  else if constexpr (is_tuple<R>) return std::is_same_v<std::tuple_element_t<0, R>, Tensor>;
  else return false;
}

/// value_and_grad of a callable called with these arguments.
template <class F, class... A>
class Differentiated {
  using Table = CallableFor<F, A...>;
  static_assert(has_scalar_first<typename Table::Result>(),
                "fulgurite: grad needs a function that returns a scalar tensor, or a tuple whose first element is one");

 public:
  template <size_t... I>
  static auto run(F& callable, SourceLocation at, const char* what, std::index_sequence<I...>,
                  const Stored<A>&... arguments) {
    static_assert(((I < sizeof...(A)) && ...), "fulgurite: grad<I> names an argument that the function does not have");
    const void* const addresses[] = {static_cast<const void*>(std::addressof(arguments))..., nullptr};
    Linearized linearized = linearize(Table::table, &callable, addresses, {static_cast<int>(I)...}, what, at);
    const std::vector<Tensor> gradients = pull_back_from_scalar(linearized, what, at);
    const Tensor* next = gradients.data();
    // Braces: the elements are initialized from left to right, each consuming its gradients.
    std::tuple<Stored<A>...> all{replace_tensors(arguments, next)...};
    auto result = assemble_result<typename Table::Result>(linearized.result);
    if constexpr (sizeof...(I) == 1) return std::pair(std::move(result), std::get<I...>(std::move(all)));
    else return std::pair(std::move(result), std::tuple(std::move(std::get<I>(all))...));
  }
};

template <bool with_value, class Pair>
auto value_or_gradient(Pair&& pair) {
  if constexpr (with_value) return std::forward<Pair>(pair);
  else return std::forward<Pair>(pair).second;
}

}  // namespace detail

/// The return type of grad() and value_and_grad(): a callable with the wrapped one's arguments.
template <class F, class Parameters, class Indexes, bool with_value>
class GradFunction;

template <class F, class... A, size_t... I, bool with_value>
class GradFunction<F, detail::Types<A...>, std::index_sequence<I...>, with_value> {
 public:
  explicit GradFunction(F callable) : callable_(std::make_shared<F>(std::move(callable))) {}
  auto operator()(const detail::Stored<A>&... arguments, SourceLocation at = SourceLocation::here()) const {
    return detail::value_or_gradient<with_value>(detail::Differentiated<F, A...>::run(
        *callable_, at, with_value ? "value_and_grad" : "grad", std::index_sequence<I...>(), arguments...));
  }
  const F& wrapped() const { return *callable_; }

 private:
  std::shared_ptr<F> callable_;
};
template <class F, size_t... I, bool with_value>
class GradFunction<F, void, std::index_sequence<I...>, with_value> {
 public:
  explicit GradFunction(F callable) : callable_(std::make_shared<F>(std::move(callable))) {}
  template <class... A>
  requires std::invocable<F&, detail::Stored<const A&>...>
  auto operator()(const A&... arguments) const {
    return detail::value_or_gradient<with_value>(detail::Differentiated<F, detail::Stored<const A&>...>::run(
        *callable_, SourceLocation(), with_value ? "value_and_grad" : "grad", std::index_sequence<I...>(),
        detail::Stored<const A&>(arguments)...));
  }
  const F& wrapped() const { return *callable_; }

 private:
  std::shared_ptr<F> callable_;
};

namespace detail {
template <class F, bool with_value, size_t... I>
auto make_grad_function(F callable) {
  using Indexes = std::conditional_t<sizeof...(I) == 0, std::index_sequence<0>, std::index_sequence<I...>>;
  return GradFunction<F, typename SignatureOf<F>::Parameters, Indexes, with_value>(std::move(callable));
}
}  // namespace detail

/// d result / d argument, of that argument's type: a structure for a structure. `grad(f)` differentiates by the first
/// argument, `grad<0, 2>(f)` returns a tuple. The result, or the first element of its tuple, must be a scalar tensor.
/// Leaves that are not floating tensors are returned unchanged.
template <size_t... I, class F>
auto grad(F callable) {
  return detail::make_grad_function<F, false, I...>(std::move(callable));
}

/// Returns the callable's result and that of grad(), as a std::pair.
template <size_t... I, class F>
auto value_and_grad(F callable) {
  return detail::make_grad_function<F, true, I...>(std::move(callable));
}

/// The pullback of vjp(): from a cotangent of the result's type to a tuple with one entry for each argument.
template <class R, class... A>
class Pullback {
 public:
  Pullback(detail::Linearized linearized, std::tuple<A...> arguments)
      : linearized_(std::move(linearized)), arguments_(std::move(arguments)) {}

  std::tuple<A...> operator()(const R& cotangent, SourceLocation at = SourceLocation::here()) const {
    R taken = cotangent;
    std::vector<Tensor> cotangents;
    detail::TensorTaker taker{cotangents};
    detail::walk(taken, taker);
    const std::vector<Tensor> gradients = detail::pull_back(linearized_, cotangents, at);
    const Tensor* next = gradients.data();
    const auto replace = [&](const A&... arguments) {
      return std::tuple<A...>{detail::replace_tensors(arguments, next)...};
    };
    return std::apply(replace, arguments_);
  }

 private:
  detail::Linearized linearized_;
  std::tuple<A...> arguments_;
};

namespace detail {
template <class Parameters>
struct CallWith;
/// Converts the given arguments to the parameters' types, once.
template <class... A>
struct CallWith<Types<A...>> {
  template <class F>
  static Trace trace(F& callable, SourceLocation at, const Stored<A>&... arguments) {
    const void* const addresses[] = {static_cast<const void*>(std::addressof(arguments))..., nullptr};
    return record(CallableFor<F, A...>::table, &callable, addresses, at);
  }
  template <class F>
  static auto vjp(F& callable, SourceLocation at, const Stored<A>&... arguments) {
    using Result = typename CallableFor<F, A...>::Result;
    static_assert(!std::is_void_v<Result>, "fulgurite: vjp needs a function with a result");
    const void* const addresses[] = {static_cast<const void*>(std::addressof(arguments))..., nullptr};
    std::vector<int> all;
    for (size_t i = 0; i < sizeof...(A); ++i) all.push_back(static_cast<int>(i));
    Linearized linearized = linearize(CallableFor<F, A...>::table, &callable, addresses, all, "vjp", at);
    CallResult result = linearized.result;
    return std::pair(assemble_result<Result>(result),
                     Pullback<Result, Stored<A>...>(std::move(linearized), std::tuple<Stored<A>...>(arguments...)));
  }
};
}  // namespace detail

/// Returns the callable's result, and its pullback: the function from the result's cotangent to those of the arguments.
template <class F, class... Given>
auto vjp(F callable, const Given&... arguments) {
  using Call = detail::CallWith<typename detail::ParametersOf<F, detail::Stored<const Given&>...>::Type>;
  return Call::vjp(callable, SourceLocation(), detail::Stored<const Given&>(arguments)...);
}

/// Returns the trace of the callable on these arguments, without running it.
template <class F, class... Given>
requires(!std::same_as<F, Tensor>) Trace trace(F callable, const Given&... arguments) {
  using Call = detail::CallWith<typename detail::ParametersOf<F, detail::Stored<const Given&>...>::Type>;
  return Call::trace(callable, SourceLocation(), detail::Stored<const Given&>(arguments)...);
}

namespace detail {
/// Marks ops recorded while alive for recomputation in backward.
class RecomputeScope {
 public:
  RecomputeScope();
  ~RecomputeScope();
  RecomputeScope(const RecomputeScope&) = delete;
  RecomputeScope& operator=(const RecomputeScope&) = delete;
  /// Results of the marked part are saved like any other value.
  void leave(std::span<const Tensor> results) const;

 private:
  bool is_outermost_ = false;
};

/// A call inside such a scope.
template <class Call>
auto recomputed(Call&& call) {
  const RecomputeScope scope;
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
  } else {
    auto result = call();
    std::vector<Tensor> tensors;
    TensorTaker taker{tensors};
    auto copy = result;
    walk(copy, taker);
    scope.leave(tensors);
    return result;
  }
}
}  // namespace detail

namespace detail {
/// Returns true if operators run immediately and record for backward.
bool records_eagerly();

/// While alive, operators save nothing for backward: `run` recomputes the values from `inputs` when backward needs
/// them.
class CheckpointScope {
 public:
  CheckpointScope(const std::vector<Tensor>& inputs, std::function<void(const std::vector<Tensor>&)> run,
                  SourceLocation at);
  ~CheckpointScope();
  CheckpointScope(const CheckpointScope&) = delete;
  CheckpointScope& operator=(const CheckpointScope&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Calls `first_run` on the inputs without recording a history, and returns the tensors of its result with one: its
/// backward calls `run`, on the same inputs and with the same RNG states, and runs backward on its results.
std::vector<Tensor> run_reentrant_checkpoint(
    const std::vector<Tensor>& inputs, const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& first_run,
    std::function<std::vector<Tensor>(const std::vector<Tensor>&)> run, SourceLocation at);

template <class T>
void take_tensors(T& object, std::vector<Tensor>& tensors) {
  TensorTaker taker{tensors};
  if constexpr (looks_walkable<T>()) walk(object, taker);
}
template <class T>
T with_tensors(const T& object, const Tensor*& next) {
  if constexpr (looks_walkable<T>()) return replace_tensors(object, next);
  else return object;
}

}  // namespace detail

/// The kind of checkpoint()'s backward.
struct CheckpointOptions {
  /// Eager mode only: backward of the call runs the function again and differentiates that run immediately, a backward
  /// inside the backward, with hooks and callbacks of its own. An error if backward computes only certain gradients
  /// (autograd::grad, `inputs`), and for second derivatives. PyTorch: torch.utils.checkpoint's use_reentrant.
  bool use_reentrant = false;
};

namespace detail {
/// A call of a checkpointed function.
template <class F, class... Held>
auto run_checkpointed(const std::shared_ptr<F>& callable, CheckpointOptions options, SourceLocation at,
                      const Held&... arguments) {
  if (!records_eagerly()) return recomputed([&] { return invoke_at(*callable, at, Held(arguments)...); });
  using Result = decltype(invoke_at(*callable, at, Held(arguments)...));
  std::tuple<Held...> held(arguments...);
  std::vector<Tensor> inputs;
  std::apply([&](Held&... each) { (take_tensors(each, inputs), ...); }, held);
  const auto run_on = [callable, at, held = std::move(held)](const std::vector<Tensor>& tensors) {
    const Tensor* next = tensors.data();
    const auto replaced = [&](const Held&... each) { return std::tuple<Held...>{with_tensors(each, next)...}; };
    return std::apply([&](Held&&... each) { return invoke_at(*callable, at, std::move(each)...); },
                      std::apply(replaced, held));
  };
  if constexpr (!std::is_void_v<Result>) {
    const auto tensors_of = [](Result& result) {
      std::vector<Tensor> tensors;
      take_tensors(result, tensors);
      return tensors;
    };
    if (options.use_reentrant) {
      std::optional<Result> result;
      const auto first_run = [&](const std::vector<Tensor>& tensors) {
        return tensors_of(result.emplace(run_on(tensors)));
      };
      const auto run = [run_on, tensors_of](const std::vector<Tensor>& tensors) {
        Result again = run_on(tensors);
        return tensors_of(again);
      };
      const std::vector<Tensor> tensors = run_reentrant_checkpoint(inputs, first_run, run, at);
      const Tensor* next = tensors.data();
      return with_tensors(*result, next);
    }
  }
  const CheckpointScope scope(
      inputs, [run_on](const std::vector<Tensor>& tensors) { (void)run_on(tensors); }, at);
  return invoke_at(*callable, at, Held(arguments)...);
}
}  // namespace detail

/// The return type of checkpoint().
template <class F, class Parameters>
class Checkpointed;
template <class F, class... A>
class Checkpointed<F, detail::Types<A...>> {
 public:
  Checkpointed(F callable, CheckpointOptions options, SourceLocation)
      : callable_(std::make_shared<F>(std::move(callable))), options_(options) {}
  auto operator()(const detail::Stored<A>&... arguments, SourceLocation at = SourceLocation::here()) const {
    return detail::run_checkpointed(callable_, options_, at, arguments...);
  }
  const F& wrapped() const { return *callable_; }

 private:
  std::shared_ptr<F> callable_;
  CheckpointOptions options_;
};
template <class F>
class Checkpointed<F, void> {
 public:
  Checkpointed(F callable, CheckpointOptions options, SourceLocation at)
      : callable_(std::make_shared<F>(std::move(callable))), options_(options), at_(at) {}
  template <class... A>
  requires std::invocable<F&, detail::Stored<const A&>...>
  auto operator()(const A&... arguments) const {
    return detail::run_checkpointed(callable_, options_, at_, detail::Stored<const A&>(arguments)...);
  }
  const F& wrapped() const { return *callable_; }

 private:
  std::shared_ptr<F> callable_;
  CheckpointOptions options_;
  SourceLocation at_;
};

/// Returns `callable` without saved intermediate values: only its arguments are saved for backward, and its values are
/// recomputed when backward needs them. Inside a traced function the compiler recomputes the necessary ops; in eager
/// mode the callable runs again, on the same arguments and with the same random numbers. It must then behave as in the
/// first run, and objects captured by reference must still exist; an argument that is written in place between the call
/// and backward() is an error.
template <class F>
auto checkpoint(F callable, CheckpointOptions options = {}, SourceLocation at = SourceLocation::here()) {
  return Checkpointed<F, typename detail::SignatureOf<F>::Parameters>(std::move(callable), options, at);
}
/// The result of the checkpointed function for these arguments (torch.utils.checkpoint.checkpoint):
/// `Tensor y = checkpoint(block, x);`.
template <class F, class First, class... Rest>
requires(!std::is_convertible_v<const First&, CheckpointOptions> &&
         std::is_invocable_v<F&, const First&, const Rest&...>) auto checkpoint(F callable, const First& first,
                                                                                const Rest&... rest) {
  return checkpoint(std::move(callable))(first, rest...);
}

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
