#include "tracing/tracer.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/structural.h"
#include "ops/core/autocast.h"
#include "tracing/argument_value.h"

namespace fulgurite {

Tracer::Tracer(std::string name)
    : Interpreter(innermost_interpreter()),
      builder_(std::move(name)),
      outer_recorder_(innermost_recorder()),
      scalars_(builder_, outer(), outer_recorder_),
      inputs_(builder_, handles_),
      views_(builder_, inputs_, *this),
      writes_(builder_, handles_, inputs_, views_, *this),
      breaks_(builder_, handles_, inputs_, views_, writes_, *this) {
  if (outer_recorder_) {
    memory_budget_ = outer_recorder_->memory_budget();
    executors_ = outer_recorder_->executors();
  }
  scalars_.share_with_outer();
}

Tracer::Tracer(const Trace& continues) : Tracer(continues.name) {
  builder_.continue_numbering(continues);
  scalars_.share_with_outer();
  trace().associate_forward = continues.associate_forward;
}

void Tracer::bind_sizes(const Tensor& tensor) { scalars_.bind_sizes(tensor.shape(), value_of(tensor)); }

Tensor Tracer::bind_concrete(const Tensor& concrete, std::string name, const Shape& shape) {
  return inputs_.capture(concrete, std::move(name), concrete.requires_grad(), shape);
}

Tensor Tracer::bind_concrete(const Tensor& concrete, std::string name, bool requires_grad) {
  return inputs_.capture(concrete, std::move(name), requires_grad, concrete.shape());
}

Trace Tracer::finish(Value results) {
  if (builder_.has_inner_scope()) throw InternalError("a trace was finished inside an open scope");
  std::vector<Value> args;
  if (results.is_list()) args = results.list();
  else args.push_back(std::move(results));
  return writes_.take_trace(std::move(args));
}

// The parts answer these.

Int Tracer::integer(detail::NumberOperation operation, Int a, Int b) { return scalars_.integer(operation, a, b); }
Float Tracer::floating(detail::NumberOperation operation, Float a, Float b) {
  return scalars_.floating(operation, a, b);
}
Bool Tracer::comparison(detail::NumberOperation operation, Int a, Int b) {
  return scalars_.comparison(operation, a, b);
}
Bool Tracer::comparison(detail::NumberOperation operation, Float a, Float b) {
  return scalars_.comparison(operation, a, b);
}
void Tracer::fix(const NumberProxy& proxy) { SymbolicScalars::fix(proxy); }

void Tracer::demand_value(const Tensor& tensor, const char* what, SourceLocation at) {
  breaks_.demand_value(tensor, what, at);
}
void Tracer::act(const char* what, SourceLocation at) { breaks_.act(what, at); }
void Tracer::break_here(const std::string& what, SourceLocation at) { breaks_.break_here(what, at); }
void Tracer::leave_for_backward(const Tensor& tensor, const char* what, SourceLocation at) {
  breaks_.leave_for_backward(tensor, what, at);
}

detail::Ref<TensorProxy> Tracer::make_proxy(const TensorType& type, bool requires_grad, std::string name) {
  return builder_.make_proxy(type, requires_grad, std::move(name));
}
void Tracer::bind(const Symbol& symbol, std::vector<Value> args, std::vector<Value> outputs, SourceLocation at) {
  builder_.bind(symbol, std::move(args), std::move(outputs), at);
}

Sizes Tracer::strides_of(const Tensor& tensor) { return views_.strides_of(current(tensor, {})); }
Tensor Tracer::view_again(const Tensor& view, const Tensor& viewed, const Tensor& other) const {
  return views_.recreate(view, viewed, other);
}

Recorder::CustomFunction Tracer::exchange_custom_function(CustomFunction other) {
  return writes_.exchange_custom_function(std::move(other));
}
void Tracer::note_function_view(const Tensor& result, const Tensor& viewed) {
  writes_.function_views().note(result, current(viewed, {}));
}

// Values of tensors.

Tensor Tracer::current(const Tensor& tensor, SourceLocation at) {
  if (!tensor.defined()) return tensor;
  if (tensor.impl()->proxy && records(tensor)) {
    writes_.refresh(tensor);
    return tensor;
  }
  if (const Tensor* const handle = inputs_.handle_of(tensor)) {
    writes_.refresh(*handle);
    if (!has_breaks()) inputs_.note_reached(tensor);  // a function with breaks runs its body at every call
    return *handle;
  }
  if (tensor.impl()->proxy && recording_of(tensor) == nullptr) refuse_stray_proxy(tensor);
  return breaks_.capture(tensor, at);
}

const detail::Ref<TensorProxy>& Tracer::proxy_of(const Tensor& tensor) {
  // The handle stays alive in inputs_ or with the caller, and with it the proxy.
  const Tensor handle = current(tensor, {});
  writes_.refresh(handle);
  return handle.impl()->proxy;
}

Value Tracer::value_of(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  return Value(proxy_of(tensor));
}

Value Tracer::value_of(const Argument& argument) {
  return value_of_argument(argument, [&](const Tensor& tensor) { return value_of(tensor); });
}

// Calls.

void Tracer::bind_call(const Symbol& symbol, Arguments arguments, std::span<const Tensor> results,
                       SharedVector<BoundSymbol> subsymbols, SourceLocation at) {
  BoundSymbol bound;
  bound.symbol = &symbol;
  const auto parameters = symbol.signature.params().first(arguments.size());
  bound.args.reserve(static_cast<size_t>(std::ranges::count(parameters, false, &Parameter::keyword_only)));
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (parameters[i].keyword_only) bound.kwargs.emplace_back(parameters[i].name, value_of(arguments[i]));
    else bound.args.push_back(value_of(arguments[i]));
  }
  bound.outputs.reserve(results.size());
  for (const Tensor& result : results) bound.outputs.push_back(value_of(result));
  bound.subsymbols = std::move(subsymbols);
  bound.source = at;
  builder_.mark(bound);
  append(std::move(bound));
}

namespace {

// A call's arguments with every tensor replaced by its value in the trace.
class CurrentArguments {
 public:
  CurrentArguments(Tracer& tracer, Arguments arguments, SourceLocation at) : tracer_(tracer), at_(at) {
    size_t tensors = 0, lists = 0;
    for (const Argument& argument : arguments) count(argument, tensors, lists);
    tensors_.reserve(tensors);  // arguments point into these, so they must not grow
    lists_.reserve(lists);
    for (const Argument& argument : arguments) arguments_.push_back(replace(argument));
  }
  Arguments arguments() const { return {arguments_.data(), arguments_.size()}; }

 private:
  static void count(const Argument& argument, size_t& tensors, size_t& lists) {
    if (argument.is_tensor()) ++tensors;
    if (argument.kind() == Argument::Kind::tensors) tensors += argument.tensors().size();
    if (argument.kind() == Argument::Kind::list) {
      lists += argument.list().size();
      for (const Argument& item : argument.list()) count(item, tensors, lists);
    }
  }
  Argument replace(const Argument& argument) {
    if (argument.is_tensor()) {
      tensors_.push_back(tracer_.current(argument.tensor(), at_));
      return Argument(tensors_.back());
    }
    if (argument.kind() == Argument::Kind::tensors) {
      const size_t first = tensors_.size();
      for (const Tensor& tensor : argument.tensors()) tensors_.push_back(tracer_.current(tensor, at_));
      return std::span<const Tensor>(tensors_.data() + first, tensors_.size() - first);
    }
    if (argument.kind() == Argument::Kind::list) {
      SmallVector<Argument, 8> items;
      for (const Argument& item : argument.list()) items.push_back(replace(item));
      const size_t first = lists_.size();
      lists_.append(items.begin(), items.end());
      return std::span<const Argument>(lists_.data() + first, items.size());
    }
    return argument;
  }

  Tracer& tracer_;
  SourceLocation at_;
  SmallVector<Argument, 12> arguments_, lists_;
  SmallVector<Tensor, 6> tensors_;
};

}  // namespace

void Tracer::run(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  at = builder_.location().value_or(at);
  const CurrentArguments current_arguments(*this, arguments, at);
  const Arguments with_current = current_arguments.arguments();
  if (is_write(symbol)) {
    writes_.write(with_current[0].tensor(), with_current[1].tensor(), at);
    results.push_back(arguments[1].tensor());
    return;
  }
  if (symbol.decompose) record_composite(symbol, arguments, with_current, at, results);
  else record_primitive(symbol, with_current, at, results);
}

SharedVector<BoundSymbol> Tracer::record_decomposition(const Symbol& symbol, Arguments arguments, SourceLocation at,
                                                       Results& results) {
  begin_scope();
  const std::optional<SourceLocation> outside = builder_.location();
  set_location(at);
  try {
    symbol.decompose(arguments, results, at);
  } catch (...) {
    set_location(outside);
    end_scope();
    throw;
  }
  set_location(outside);
  return end_scope();
}

// A result that is an unchanged argument (dropout in evaluation, contiguous) is that argument, not a value of its own.
bool Tracer::replace_by_arguments(Results& results, Arguments original, Arguments arguments, SourceLocation at) {
  const auto argument_that_is = [&](const Tensor& result) -> const Tensor* {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].is_tensor() && arguments[i].tensor().impl()->proxy == result.impl()->proxy)
        return &original[i].tensor();
    return nullptr;
  };
  bool makes_values = false;
  for (Tensor& result : results) {
    result = current(result, at);
    if (const Tensor* argument = argument_that_is(result)) result = *argument;
    else makes_values = true;
  }
  return makes_values;
}

namespace {

void append_all(TraceBuilder& builder, SharedVector<BoundSymbol> ops) {
  for (BoundSymbol& op : ops) builder.append(std::move(op));
}

}  // namespace

void Tracer::record_composite(const Symbol& symbol, Arguments original, Arguments arguments, SourceLocation at,
                              Results& results) {
  // The checks of a composite that a kernel may run as one op; those of its subsymbols may be weaker.
  if (symbol.infer) {
    InferredTypes types;
    infer_types(symbol, arguments, types);
  }
  const int writes_before = writes_.count(), breaks_before = breaks_.count();
  const uint64_t conversions_before = autocast_conversions();
  SharedVector<BoundSymbol> subsymbols = record_decomposition(symbol, arguments, at, results);
  if (breaks_.count() != breaks_before) {
    // Its first subgraph has been run: the remaining ops are recorded individually.
    append_all(builder_, std::move(subsymbols));
    for (const Tensor& result : results)
      if (result.impl()->proxy && result.impl()->base) views_.set_scope(*result.impl(), builder_.scope());
    return;
  }
  const bool makes_values = replace_by_arguments(results, original, arguments, at);
  // A composite's writes are visible outside it, so its ops are recorded there too.
  const bool writes = writes_.count() != writes_before;
  // With autocasting inside it is not the function of its name.
  const bool converts = autocast_conversions() != conversions_before;
  if (writes || converts || !makes_values) append_all(builder_, std::move(subsymbols));
  else bind_call(symbol, arguments, {results.data(), results.size()}, std::move(subsymbols), at);
  for (const Tensor& result : results) views_.leave_scope(*result.impl(), symbol, arguments);
}

namespace {

// Checked here, where the user's source line is known: a program's memory plan adds the bytes up.
void check_size(const TensorType& type) {
  if (type.shape.is_symbolic()) return;
  Sizes sizes;
  for (const Int size : type.shape) sizes.push_back(size.hint());
  checked_bytes(sizes, type.dtype);
}

bool any_requires_grad(Arguments arguments) {
  const auto requires_grad = [](const Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  return std::ranges::any_of(arguments, [&](const Argument& argument) {
    if (argument.is_tensor()) return argument.tensor().requires_grad();
    return argument.kind() == Argument::Kind::tensors && std::ranges::any_of(argument.tensors(), requires_grad);
  });
}

}  // namespace

void Tracer::record_primitive(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  InferredTypes types;
  infer_types(symbol, arguments, types);
  const bool requires_grad = !symbol.traits.not_differentiable && grad_enabled() && any_requires_grad(arguments);
  for (const TensorType& type : types) {
    if (!symbol.traits.view) check_size(type);
    const auto proxy = builder_.make_proxy(type, requires_grad && is_floating(type.dtype));
    results.push_back(handles_.make(proxy, at));
  }
  bind_call(symbol, arguments, {results.data(), results.size()}, {}, at);
  if (symbol.traits.view && arguments[0].is_tensor())
    views_.note(results[0], arguments[0].tensor(), builder_.ops().back());
}

}  // namespace fulgurite
