#pragma once
#include <fulgurite/detail/requirements.h>

#include <any>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/autograd.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

struct FunctionState;

namespace autograd {

/// The state that a custom function's forward leaves for its backward. A handle, valid during both.
class Context {
 public:
  /// Saves tensors for backward(): inputs, outputs or any others. Their versions are checked as for operators; call it
  /// once.
  void save_for_backward(const TensorList& tensors);
  /// Returns the saved tensors, in order. Throws if one was freed or written since.
  std::vector<Tensor> saved_tensors() const;
  /// Saved values other than tensors.
  std::map<std::string, std::any>& saved_data() const;
  /// Marks arguments that forward() wrote; it must return them.
  void mark_dirty(const TensorList& tensors);
  /// Marks outputs that carry no gradient.
  void mark_non_differentiable(const TensorList& tensors);
  /// If true (the default), backward() gets zeros for outputs without a gradient, otherwise undefined tensors.
  void set_materialize_grads(bool value);
  /// Returns true if the i-th argument of apply() is a tensor whose gradient is needed.
  bool needs_input_grad(size_t argument) const;

 private:
  friend FunctionState;
  explicit Context(FunctionState& state) : state_(&state) {}
  FunctionState* state_;
};

}  // namespace autograd

namespace detail {

/// A custom function as the engine and recordings see it.
struct CustomFunction {
  std::string_view name;
  bool once_differentiable = false;
  /// One gradient for each argument of apply(); undefined if there is none. Empty if the function has no backward().
  std::function<std::vector<Tensor>(autograd::Context&, const std::vector<Tensor>&)> backward;
};

/// One call of apply(): its arguments, and the history of its results. `inputs` has a tensor for each tensor argument,
/// and an undefined one for any other.
class CustomCall {
 public:
  CustomCall(CustomFunction function, std::vector<Tensor> inputs, SourceLocation at);
  ~CustomCall();
  CustomCall(const CustomCall&) = delete;
  CustomCall& operator=(const CustomCall&) = delete;

  /// Calls forward() with a substitute for each tensor argument.
  using Forward = std::function<std::vector<Tensor>(autograd::Context&, const std::vector<Tensor>&)>;
  /// Runs `forward` without recording a history; returns the results with the function's. Inside a traced function the
  /// forward is recorded, and the backward with it.
  std::vector<Tensor> run(const Forward& forward);

 private:
  CustomFunction function_;
  std::vector<Tensor> inputs_;
  SourceLocation at_;
};

/// "Scale" of a type mine::Scale.
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) text = text.substr(colon + 1);
  return text;
}

template <class Result>
struct FunctionResult;
template <>
struct FunctionResult<Tensor> {
  static constexpr size_t count = 1;
  static std::vector<Tensor> flatten(Tensor result) { return {std::move(result)}; }
  static Tensor make(const std::vector<Tensor>& tensors) { return tensors[0]; }
};
template <>
struct FunctionResult<std::vector<Tensor>> {
  static std::vector<Tensor> flatten(std::vector<Tensor> result) { return result; }
  static std::vector<Tensor> make(const std::vector<Tensor>& tensors) { return tensors; }
};
template <std::same_as<Tensor>... T>
struct FunctionResult<std::tuple<T...>> {
  static constexpr size_t count = sizeof...(T);
  static std::vector<Tensor> flatten(std::tuple<T...> result) {
    return std::apply([](auto&... tensors) { return std::vector<Tensor>{std::move(tensors)...}; }, result);
  }
  static std::tuple<T...> make(const std::vector<Tensor>& tensors) {
    return [&]<size_t... i>(std::index_sequence<i...>) { return std::tuple<T...>(tensors[i]...); }
    (std::index_sequence_for<T...>());
  }
};
template <>
struct FunctionResult<std::pair<Tensor, Tensor>> {
  static constexpr size_t count = 2;
  static std::vector<Tensor> flatten(std::pair<Tensor, Tensor> result) {
    return {std::move(result.first), std::move(result.second)};
  }
  static std::pair<Tensor, Tensor> make(const std::vector<Tensor>& tensors) { return {tensors[0], tensors[1]}; }
};

/// F::backward on as many gradients as forward has results, or on all of them in one vector.
template <class F, class Result>
std::vector<Tensor> run_custom_backward(autograd::Context& context, const std::vector<Tensor>& gradients) {
  const auto flat = [](auto result) { return FunctionResult<decltype(result)>::flatten(std::move(result)); };
  if constexpr (requires { F::backward(context, gradients); }) {
    return flat(F::backward(context, gradients));
  } else {
    return [&]<size_t... i>(std::index_sequence<i...>) { return flat(F::backward(context, gradients[i]...)); }
    (std::make_index_sequence<FunctionResult<Result>::count>());
  }
}

template <class T>
Tensor tensor_argument(const T& argument) {
  if constexpr (std::is_same_v<T, Tensor>) return argument;
  else return {};
}
template <class T>
const T& given_argument(const T& argument, const Tensor& given) {
  if constexpr (std::is_same_v<T, Tensor>) return given;
  else return argument;
}

template <class F, class... Args>
auto apply_custom(SourceLocation at, const Args&... arguments) {
  using Result = std::decay_t<decltype(F::forward(std::declval<autograd::Context&>(), arguments...))>;
  CustomFunction function;
  function.name = type_name<F>();
  if constexpr (requires { F::once_differentiable; }) function.once_differentiable = F::once_differentiable;
  if constexpr (requires { &F::backward; }) function.backward = run_custom_backward<F, Result>;
  CustomCall call(std::move(function), {tensor_argument(arguments)...}, at);
  return FunctionResult<Result>::make(call.run([&](autograd::Context& context, const std::vector<Tensor>& given) {
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return FunctionResult<Result>::flatten(F::forward(context, given_argument(arguments, given[i])...));
    }
    (std::index_sequence_for<Args...>());
  }));
}

/// The type of apply<F>: accepts F::forward's parameters after the context, and the caller's line.
template <class F, class Forward>
struct CustomApply {
  template <class... Args>
  auto operator()(const Args&... arguments) const {
    return apply_custom<F>(SourceLocation(), arguments...);
  }
};
template <class F, class Result, class... Args>
struct CustomApply<F, Result (*)(autograd::Context&, Args...)> {
  auto operator()(const std::remove_cvref_t<Args>&... arguments, SourceLocation at = SourceLocation::here()) const {
    return apply_custom<F>(at, arguments...);
  }
};
template <class F>
struct ForwardOf {
  using Type = void;
};
template <class F>
requires requires { &F::forward; }
struct ForwardOf<F> {
  using Type = decltype(&F::forward);
};

}  // namespace detail

namespace autograd {

/// Calls a function with a user-defined backward:
///
///     struct Scale {
///       static Tensor forward(autograd::Context& context, Tensor x, double by) {
///         context.saved_data()["by"] = by;
///         return x * by;
///       }
///       static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
///         return {gradient * std::any_cast<double>(context.saved_data()["by"]), {}};
///       }
///     };
///     auto y = autograd::apply<Scale>(x, 2.0);
///
/// forward(Context&, arguments…) runs without recording a history and returns a Tensor, a std::pair, std::tuple or
/// std::vector of them. backward(Context&, gradients…) receives the gradient of each result, one by one or as a
/// std::vector, and returns one gradient for each argument, undefined for arguments other than tensors; trailing ones
/// may be omitted if no gradient is needed. Tensors inside other arguments are constants.
/// With `static constexpr bool once_differentiable = true;` a second derivative is an error.
///
/// Inside a traced function both are recorded once, where apply() is called: forward as an op of the trace, backward as
/// its gradient rule. Arguments other than tensors are constants there, and every result's gradient is defined, as
/// zeros if there is none. PyTorch: torch.autograd.Function.
template <class F>
inline constexpr detail::CustomApply<F, typename detail::ForwardOf<F>::Type> apply{};

}  // namespace autograd
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
