#pragma once
#include <fulgurite/detail/requirements.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/detail/operator_function.h>
#include <fulgurite/symbol.h>
#include <fulgurite/value.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// An executor's implementation of a symbol, besides the function that runs it. Members are given in this order, each a
/// function of the operator's own C++ types.
struct ImplementationOptions {
  /// Returns true if the executor accepts the call. Reads shapes, dtypes and numbers, not elements. Without one it
  /// accepts every call.
  detail::OperatorFunction checker = {};
  /// Records other operators instead of the symbol, if the executor claims it.
  detail::OperatorFunction execution_transform = {};
  /// Computes the results and defines the gradients, with get_grad and put_grad.
  detail::OperatorFunction grad_transform = {};
};

/// The same for a new operator.
struct OperatorOptions {
  detail::OperatorFunction checker = {};
  detail::OperatorFunction execution_transform = {};
  detail::OperatorFunction grad_transform = {};
  /// Returns tensors of the results' shapes and dtypes; only those are used: `return empty_like(x);`. Without one,
  /// `run` is called once, on zeros, for each new kind of traced arguments.
  detail::OperatorFunction infer = {};
  /// Restrictions for passes: a call with effects is kept even if its results are unused, is neither merged with others
  /// nor repeated, and keeps its order among calls with the same effect.
  Traits traits = {};
  std::string documentation = {};
};

namespace detail {

class UserExecutor;
std::shared_ptr<UserExecutor> make_user_executor(std::string name, SourceLocation);
const Symbol& register_operator(UserExecutor&, std::string_view signature, OperatorFunction run, OperatorOptions,
                                SourceLocation);
void register_implementation(UserExecutor&, const Symbol&, OperatorFunction run, ImplementationOptions, SourceLocation);
void register_augmented_forward(UserExecutor&, const Symbol&, AugmentedForwardFunction, SourceLocation);
void register_backward(UserExecutor&, const Symbol&, BackwardFunction, SourceLocation);
const std::string& name_of(const UserExecutor&);

/// Calls an operator with the given arguments; the others have their defaults.
std::vector<Tensor> call_operator(const Symbol&, std::vector<Value> arguments, SourceLocation);

Value operand_value(const Operand&);
template <class T>
Value argument_value(const T& argument) {
  if constexpr (IsOptional<T>::value) return argument ? argument_value(*argument) : Value();
  else if constexpr (std::is_same_v<T, Operand>) return operand_value(argument);
  else if constexpr (std::is_same_v<T, Tensor>) return argument.defined() ? Value(argument) : Value();
  else if constexpr (argument_type<T>() == ArgumentType::integers) {
    std::vector<Value> items;
    for (const auto& item : argument) items.emplace_back(Int(item));
    return Value(std::move(items));
  } else return Value(argument);
}

template <class A>
using Passed = std::decay_t<A>;

/// operator() for the first of an operator's parameters, and by inheritance for more of them: omitted ones have
/// defaults.
template <class Result, class Given, class... Rest>
class OperatorArity;
class OperatorHandle {
 public:
  explicit OperatorHandle(const Symbol& symbol) : symbol_(&symbol) {}
  const Symbol& symbol() const { return *symbol_; }
  operator const Symbol&() const { return *symbol_; }

 protected:
  template <class Result, class... A>
  Result call(SourceLocation at, const A&... arguments) const {
    std::vector<Value> values;
    values.reserve(sizeof...(A));
    (values.push_back(argument_value(arguments)), ...);
    return TensorResults<Result>::make(call_operator(*symbol_, std::move(values), at));
  }
  const Symbol* symbol_;
};
template <class Result, class... A>
class OperatorArity<Result, Types<A...>> : public OperatorHandle {
 public:
  using OperatorHandle::OperatorHandle;
  Result operator()(const Passed<A>&... arguments, SourceLocation at = SourceLocation::here()) const {
    return this->template call<Result>(at, arguments...);
  }
};
template <class Result, class... A, class Next, class... Rest>
class OperatorArity<Result, Types<A...>, Next, Rest...> : public OperatorArity<Result, Types<A..., Next>, Rest...> {
  using Longer = OperatorArity<Result, Types<A..., Next>, Rest...>;

 public:
  using Longer::Longer;
  using Longer::operator();
  Result operator()(const Passed<A>&... arguments, SourceLocation at = SourceLocation::here()) const {
    return this->template call<Result>(at, arguments...);
  }
};

}  // namespace detail

/// A registered operator: called like `run`, where parameters with defaults may be omitted. Works like any operator:
/// eagerly, traced, differentiated, and by name through call(). Copies are the same operator; it is never destroyed.
template <class Result, class Parameters>
class Operator;
template <class Result, class... A>
class Operator<Result, detail::Types<A...>> : public detail::OperatorArity<Result, detail::Types<>, A...> {
 public:
  using detail::OperatorArity<Result, detail::Types<>, A...>::OperatorArity;
};

/// An executor made of functions: new operators, implementations of existing operators, and gradient rules. A handle:
/// copies are the same executor. Thread-safe; registrations apply to later compilations.
///
/// Tensors passed to a function are valid during the call and must not be written; for results see docs/extending.md.
class OperatorExecutor {
 public:
  explicit OperatorExecutor(std::string name, SourceLocation at = SourceLocation::here())
      : executor_(detail::make_user_executor(std::move(name), at)) {}

  const std::string& name() const { return detail::name_of(*executor_); }

  /// Registers a new operator, from its signature ("mine::f(Tensor x, float s=1.0) -> Tensor", see Signature) and the
  /// function that runs it. Calls that no executor in the list claims are run by `run`, even if this executor is not in
  /// the list.
  template <class Run>
  auto register_operator(std::string_view signature, Run run, OperatorOptions options = {},
                         SourceLocation at = SourceLocation::here()) const {
    using Deduced = detail::SignatureOf<Run>;
    static_assert(detail::has_one_signature<Run>());
    return Operator<typename Deduced::Result, typename Deduced::Parameters>(
        detail::register_operator(*executor_, signature, std::move(run), std::move(options), at));
  }

  /// Claims calls of an existing operator if this executor is in the list. `run` may be nullptr if an execution
  /// transform replaces it, or if only the gradients are user-defined.
  void register_implementation(const Symbol& symbol, detail::OperatorFunction run, ImplementationOptions options = {},
                               SourceLocation at = SourceLocation::here()) const {
    detail::register_implementation(*executor_, symbol, std::move(run), std::move(options), at);
  }

  /// The gradient of an operator in two functions. forward(arguments…) returns a std::pair of the result(s) and the
  /// saved values (a std::vector<Tensor>, or a tuple of tensors and numbers); backward(saved…, cotangents…), or
  /// backward(vector, vector), returns a gradient for each tensor argument, undefined for none.
  void register_augmented_forward(const Symbol& symbol, detail::AugmentedForwardFunction forward,
                                  SourceLocation at = SourceLocation::here()) const {
    detail::register_augmented_forward(*executor_, symbol, std::move(forward), at);
  }
  void register_backward(const Symbol& symbol, detail::BackwardFunction backward,
                         SourceLocation at = SourceLocation::here()) const {
    detail::register_backward(*executor_, symbol, std::move(backward), at);
  }

  const std::shared_ptr<detail::UserExecutor>& state() const { return executor_; }

 private:
  std::shared_ptr<detail::UserExecutor> executor_;
};

/// Registers an executor by its name, for JitOptions::executors and the default list.
void register_executor(const OperatorExecutor&, SourceLocation at = SourceLocation::here());
/// Returns the names of the registered executors.
std::vector<std::string> all_executors();
/// The executors, in priority order, of functions that name none. "eager" is always the last.
std::vector<std::string> default_executors();
/// Applies to functions jitted later, and to gradients in eager mode.
void set_default_executors(const std::vector<std::string>& names);

/// Inside a grad transform: the gradient of a value that it computed, zeros if nothing depends on it.
Tensor get_grad(const Tensor&, SourceLocation at = SourceLocation::here());
/// Inside a grad transform: adds to the gradient of an argument, or of a value that it computed.
void put_grad(const Tensor&, const Tensor& gradient, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
