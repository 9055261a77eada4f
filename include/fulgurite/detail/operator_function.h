#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/detail/signature.h>
#include <fulgurite/symbol.h>
#include <fulgurite/tensor.h>
#include <fulgurite/trace_support.h>

#include <fulgurite/detail/hide_macros.h>

// Type-erased storage of functions on an operator's own C++ types: each is one std::function that reads its arguments
// from a call.

#pragma GCC visibility push(default)
namespace fulgurite::detail {

/// The signature type of a C++ parameter.
enum class ArgumentType : uint8_t {
  tensor,
  operand,
  tensors,
  integer,
  integers,
  floating,
  boolean,
  string,
  dtype,
  device
};
struct ParameterType {
  ArgumentType type;
  bool is_optional;
};

/// One call of a user-supplied function: its arguments and the results so far.
struct OperatorCall;
bool is_none(const OperatorCall&, size_t argument);
Tensor tensor_argument(const OperatorCall&, size_t argument);  // undefined if omitted
Operand operand_argument(const OperatorCall&, size_t argument);
std::vector<Tensor> tensors_argument(const OperatorCall&, size_t argument);
Int integer_argument(const OperatorCall&, size_t argument);
Shape integers_argument(const OperatorCall&, size_t argument);
Float floating_argument(const OperatorCall&, size_t argument);
Bool boolean_argument(const OperatorCall&, size_t argument);
std::string_view string_argument(const OperatorCall&, size_t argument);
Dtype dtype_argument(const OperatorCall&, size_t argument);
Device device_argument(const OperatorCall&, size_t argument);
SourceLocation location_of(const OperatorCall&);
void give_result(OperatorCall&, const Tensor&);
void give_answer(OperatorCall&, bool);

/// A value that an augmented forward saves for its backward: a tensor or a scalar.
struct SavedValue {
  SavedValue(Tensor t) : tensor(std::move(t)) {}
  template <CppInteger T>
  SavedValue(T n) : number(SavedNumber(Int(n))) {}
  template <std::floating_point T>
  SavedValue(T n) : number(SavedNumber(Float(n))) {}
  template <std::same_as<bool> T>
  SavedValue(T b) : number(SavedNumber(Bool(b))) {}
  SavedValue(Int n) : number(n) {}
  SavedValue(Float n) : number(n) {}
  SavedValue(Bool b) : number(b) {}
  Tensor tensor;
  std::optional<SavedNumber> number;
};
void give_saved(OperatorCall&, SavedValue);

/// A call of a backward.
struct BackwardCall {
  std::vector<SavedValue> saved;
  std::vector<Tensor> cotangents;
  std::vector<Tensor> gradients;  // the results
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsIntegers : std::false_type {};
template <class T>
struct IsIntegers<std::vector<T>> : std::bool_constant<CppInteger<T> || std::is_same_v<T, Int>> {};

template <class T>
consteval ArgumentType argument_type() {
  if constexpr (std::is_same_v<T, Tensor>) return ArgumentType::tensor;
  else if constexpr (std::is_same_v<T, Operand>) return ArgumentType::operand;
  else if constexpr (std::is_same_v<T, std::vector<Tensor>>) return ArgumentType::tensors;
  else if constexpr (CppInteger<T> || std::is_same_v<T, Int>) return ArgumentType::integer;
  else if constexpr (std::is_same_v<T, Shape> || std::is_same_v<T, Dims> || IsIntegers<T>::value)
    return ArgumentType::integers;
  else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Float>) return ArgumentType::floating;
  else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Bool>) return ArgumentType::boolean;
  else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) return ArgumentType::string;
  else if constexpr (std::is_same_v<T, Dtype>) return ArgumentType::dtype;
  else if constexpr (std::is_same_v<T, Device>) return ArgumentType::device;
  else
    static_assert(
        !sizeof(T*),
        "fulgurite: a parameter of an operator is a Tensor, Operand, std::vector<Tensor>, integer, list of integers, "
        "floating number, bool, string, Dtype or Device, or a std::optional of one");
}

template <class T>
consteval ParameterType parameter_type() {
  if constexpr (IsOptional<T>::value) return {argument_type<typename T::value_type>(), true};
  else return {argument_type<T>(), false};
}

template <class T>
T read(const OperatorCall& call, size_t i) {
  if constexpr (IsOptional<T>::value) {
    if (is_none(call, i)) return std::nullopt;
    return read<typename T::value_type>(call, i);
  } else if constexpr (argument_type<T>() == ArgumentType::tensor) return tensor_argument(call, i);
  else if constexpr (argument_type<T>() == ArgumentType::operand) return operand_argument(call, i);
  else if constexpr (argument_type<T>() == ArgumentType::tensors) return tensors_argument(call, i);
  else if constexpr (std::is_same_v<T, Int>) return integer_argument(call, i);
  else if constexpr (argument_type<T>() == ArgumentType::integer)
    return static_cast<T>(static_cast<int64_t>(integer_argument(call, i)));
  else if constexpr (IsIntegers<T>::value) {
    T out;
    for (const Int n : integers_argument(call, i)) out.push_back(static_cast<typename T::value_type>(n));
    return out;
  } else if constexpr (argument_type<T>() == ArgumentType::integers) return integers_argument(call, i);
  else if constexpr (std::is_same_v<T, Float>) return floating_argument(call, i);
  else if constexpr (argument_type<T>() == ArgumentType::floating)
    return static_cast<T>(static_cast<double>(floating_argument(call, i)));
  else if constexpr (argument_type<T>() == ArgumentType::boolean)
    return T(static_cast<bool>(boolean_argument(call, i)));
  else if constexpr (argument_type<T>() == ArgumentType::string) return T(string_argument(call, i));
  else if constexpr (argument_type<T>() == ArgumentType::dtype) return dtype_argument(call, i);
  else return device_argument(call, i);
}

/// Tensors that a function returns: a Tensor, std::vector<Tensor>, or a pair, tuple or array of tensors.
template <class R>
struct TensorResults {
  static constexpr bool is_given = false;
};
template <>
struct TensorResults<Tensor> {
  static constexpr bool is_given = true;
  static constexpr int count = 1;
  template <class Give>
  static void each(const Tensor& result, Give&& give) {
    give(result);
  }
  static Tensor make(std::vector<Tensor>&& results) { return std::move(results[0]); }
};
template <>
struct TensorResults<std::vector<Tensor>> {
  static constexpr bool is_given = true;
  static constexpr int count = Signature::list;
  template <class Give>
  static void each(const std::vector<Tensor>& results, Give&& give) {
    for (const Tensor& result : results) give(result);
  }
  static std::vector<Tensor> make(std::vector<Tensor>&& results) { return std::move(results); }
};
template <class R>
struct TupleResults {
  static constexpr bool is_given = true;
  static constexpr int count = static_cast<int>(std::tuple_size_v<R>);
  template <class Give>
  static void each(const R& results, Give&& give) {
    std::apply([&](const auto&... result) { (give(result), ...); }, results);
  }
  static R make(std::vector<Tensor>&& results) {
    return [&]<size_t... I>(std::index_sequence<I...>) { return R{std::move(results[I])...}; }
    (std::make_index_sequence<std::tuple_size_v<R>>());
  }
};
template <std::same_as<Tensor>... T>
struct TensorResults<std::tuple<T...>> : TupleResults<std::tuple<T...>> {};
template <>
struct TensorResults<std::pair<Tensor, Tensor>> : TupleResults<std::pair<Tensor, Tensor>> {};
template <size_t N>
struct TensorResults<std::array<Tensor, N>> : TupleResults<std::array<Tensor, N>> {};

template <class... A>
std::tuple<std::decay_t<A>...> read_arguments(const OperatorCall& call, Types<A...>) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return std::tuple<std::decay_t<A>...>{read<std::decay_t<A>>(call, I)...};  // braces: evaluated left to right
  }
  (std::index_sequence_for<A...>());
}

template <class F, class... A>
auto invoke_on(F& function, const OperatorCall& call, Types<A...> types) {
  std::tuple<std::decay_t<A>...> arguments = read_arguments(call, types);
  return std::apply(
      [&](std::decay_t<A>&... argument) {
        if constexpr (SignatureOf<F>::takes_location) return function(argument..., location_of(call));
        else return function(argument...);
      },
      arguments);
}

template <class... A>
std::vector<ParameterType> parameter_types(Types<A...>) {
  return {parameter_type<std::decay_t<A>>()...};
}

template <class F>
constexpr bool has_one_signature() {
  static_assert(!SignatureOf<F>::is_generic,
                "fulgurite: a function of an operator has one signature: no overloads and no auto parameters");
  return !SignatureOf<F>::is_generic;
}

/// A function on an operator's own C++ types: run, checker, a transform.
class OperatorFunction {
 public:
  enum class Gives : uint8_t { tensors, answer };
  OperatorFunction() = default;
  OperatorFunction(std::nullptr_t) {}
  template <class F>
  requires(!std::is_same_v<F, OperatorFunction> && !std::is_same_v<F, std::nullptr_t> && has_one_signature<F>())
      OperatorFunction(F function) {
    using Signature = SignatureOf<F>;
    using Result = typename Signature::Result;
    parameters_ = parameter_types(typename Signature::Parameters());
    if constexpr (std::is_same_v<Result, bool>) {
      gives_ = Gives::answer;
      call_ = [function = std::move(function)](OperatorCall& call) mutable {
        give_answer(call, invoke_on(function, call, typename Signature::Parameters()));
      };
    } else {
      static_assert(
          TensorResults<Result>::is_given,
          "fulgurite: a function of an operator returns a Tensor, std::vector<Tensor>, or a pair, tuple or array of "
          "tensors; a checker returns bool");
      result_count_ = TensorResults<Result>::count;
      call_ = [function = std::move(function)](OperatorCall& call) mutable {
        TensorResults<Result>::each(invoke_on(function, call, typename Signature::Parameters()),
                                    [&](const Tensor& result) { give_result(call, result); });
      };
    }
  }

  explicit operator bool() const { return static_cast<bool>(call_); }
  void operator()(OperatorCall& call) const { call_(call); }
  const std::vector<ParameterType>& parameters() const { return parameters_; }
  Gives gives() const { return gives_; }
  /// Signature::list for a std::vector<Tensor>.
  int result_count() const { return result_count_; }

 private:
  std::function<void(OperatorCall&)> call_;
  std::vector<ParameterType> parameters_;
  Gives gives_ = Gives::tensors;
  int result_count_ = 1;
};

template <class Saved>
void give_all_saved(OperatorCall& call, const Saved& saved) {
  if constexpr (std::is_same_v<Saved, std::vector<Tensor>>) {
    for (const Tensor& tensor : saved) give_saved(call, tensor);
  } else if constexpr (std::is_constructible_v<SavedValue, const Saved&>) {
    give_saved(call, saved);
  } else {
    std::apply([&](const auto&... value) { (give_saved(call, value), ...); }, saved);
  }
}

/// forward(arguments…) → pair of the result(s) and the values saved for the backward.
class AugmentedForwardFunction {
 public:
  AugmentedForwardFunction() = default;
  template <class F>
  requires(!std::is_same_v<F, AugmentedForwardFunction> && has_one_signature<F>()) AugmentedForwardFunction(F function)
      : parameters_(parameter_types(typename SignatureOf<F>::Parameters())) {
    using Parameters = typename SignatureOf<F>::Parameters;
    using Result = typename SignatureOf<F>::Result;
    static_assert(
        requires(Result r) {
          r.first;
          r.second;
        },
        "fulgurite: an augmented forward returns a std::pair of the result(s) and what it saves for its backward");
    call_ = [function = std::move(function)](OperatorCall& call) mutable {
      const Result both = invoke_on(function, call, Parameters());
      TensorResults<std::decay_t<decltype(both.first)>>::each(both.first,
                                                              [&](const Tensor& result) { give_result(call, result); });
      give_all_saved(call, both.second);
    };
  }
  explicit operator bool() const { return static_cast<bool>(call_); }
  void operator()(OperatorCall& call) const { call_(call); }
  const std::vector<ParameterType>& parameters() const { return parameters_; }

 private:
  std::function<void(OperatorCall&)> call_;
  std::vector<ParameterType> parameters_;
};

template <class T>
T read_backward(const BackwardCall& call, size_t i) {
  if (i >= call.saved.size()) {
    if constexpr (std::is_same_v<T, Tensor>) return call.cotangents[i - call.saved.size()];
    else return T();
  } else if constexpr (std::is_same_v<T, Tensor>) {
    return call.saved[i].tensor;
  } else {
    const std::optional<SavedNumber>& number = call.saved[i].number;
    if (!number) return T();
    if constexpr (argument_type<T>() == ArgumentType::integer) return static_cast<T>(number->integer());
    else if constexpr (argument_type<T>() == ArgumentType::floating) return static_cast<T>(number->floating());
    else return static_cast<T>(number->boolean());
  }
}

/// backward(saved…, cotangents…), or backward(vector of saved, vector of cotangents), → a gradient for each tensor
/// argument.
class BackwardFunction {
 public:
  BackwardFunction() = default;
  template <class F>
  requires(!std::is_same_v<F, BackwardFunction> && has_one_signature<F>()) BackwardFunction(F function) {
    bind(std::move(function), typename SignatureOf<F>::Parameters());
  }
  explicit operator bool() const { return static_cast<bool>(call_); }
  void operator()(BackwardCall& call) const { call_(call); }
  /// Returns true if it accepts two vectors; otherwise `parameters` lists its parameters.
  bool takes_vectors() const { return takes_vectors_; }
  const std::vector<ParameterType>& parameters() const { return parameters_; }

 private:
  template <class F, class... A>
  void bind(F function, Types<A...> types) {
    using Result = typename SignatureOf<F>::Result;
    static_assert(TensorResults<Result>::is_given,
                  "fulgurite: a backward returns a Tensor, std::vector<Tensor>, or a pair, tuple or array of tensors");
    constexpr auto keep = [](BackwardCall& call, const Result& result) {
      TensorResults<Result>::each(result, [&](const Tensor& gradient) { call.gradients.push_back(gradient); });
    };
    takes_vectors_ = std::is_same_v<Types<std::decay_t<A>...>, Types<std::vector<Tensor>, std::vector<Tensor>>>;
    if constexpr (std::is_same_v<Types<std::decay_t<A>...>, Types<std::vector<Tensor>, std::vector<Tensor>>>) {
      call_ = [function = std::move(function), keep](BackwardCall& call) mutable {
        std::vector<Tensor> saved;
        for (const SavedValue& value : call.saved) saved.push_back(value.tensor);
        keep(call, function(saved, call.cotangents));
      };
    } else {
      parameters_ = parameter_types(types);
      call_ = [function = std::move(function), keep](BackwardCall& call) mutable {
        auto arguments = [&]<size_t... I>(std::index_sequence<I...>) {
          return std::tuple<std::decay_t<A>...>{read_backward<std::decay_t<A>>(call, I)...};
        }
        (std::index_sequence_for<A...>());
        keep(call,
             std::apply([&](std::decay_t<A>&... argument) -> Result { return function(argument...); }, arguments));
      };
    }
  }

  std::function<void(BackwardCall&)> call_;
  std::vector<ParameterType> parameters_;
  bool takes_vectors_ = false;
};

}  // namespace fulgurite::detail
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
