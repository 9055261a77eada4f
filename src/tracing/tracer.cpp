#include "tracing/argument_value.h"
#include "tracing/tracer.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fulgurite/error.h>

#include "ir/analysis/trace_values.h"
#include "ops/core/autocast.h"
#include "ir/structural.h"
#include "support/context.h"
#include "support/text/base_name.h"

namespace fulgurite {

uint64_t next_tracer_serial() { return context().tracers.fetch_add(1, std::memory_order_relaxed); }

namespace {

std::string where(SourceLocation at) {
  return at.line == 0 ? "" : text::cat(" (made at ", text::base_name(at.file), ":", at.line, ")");
}

}  // namespace

void refuse_stray_proxy(const Tensor& tensor) {
  throw RuleError{text::cat("tensor ", tensor.impl()->proxy->name,
                            " belongs to a trace that has ended or to another thread's", where(tensor.impl()->born),
                            "; return it from the traced function instead of keeping it")};
}

Tracer::Tracer(std::string name)
    : Interpreter(innermost_interpreter()),
      builder_(std::move(name)),
      outer_recorder_(innermost_recorder()),
      scalars_(builder_, outer(), outer_recorder_),
      serial_(next_tracer_serial()) {
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

Tracer::~Tracer() = default;

Tensor Tracer::make_handle(const detail::Ref<TensorProxy>& proxy, SourceLocation at) {
  Tensor handle = make_proxy_tensor(proxy, serial_, at);
  if (held_) HeldHandles::add(held_, *handle.impl());
  return handle;
}

Tensor Tracer::adopt(const detail::Ref<TensorProxy>& proxy) { return make_handle(proxy, {}); }

Tensor Tracer::add_argument(const TensorType& type, bool requires_grad, std::string name, SourceLocation at,
                            bool is_leaf, const Tensor& concrete) {
  if (name.empty()) name = text::cat("t_", inputs_.size());
  const auto proxy = make_proxy(type, requires_grad, std::move(name));
  const Tensor handle = make_handle(proxy, at);
  trace().args.emplace_back(proxy);
  inputs_.push_back({proxy, handle, is_leaf, false, concrete});
  return handle;
}

Tensor Tracer::capture(const Tensor& concrete, std::string name, bool requires_grad, const Shape& shape) {
  if (const auto found = current_.find(concrete.impl().get()); found != current_.end()) return found->second;
  if (name.empty()) name = concrete.name();
  const bool is_named = !name.empty();
  const Tensor handle = add_argument({shape, concrete.dtype(), concrete.device()}, requires_grad, std::move(name), {},
                                     requires_grad && !is_proxy(concrete) && concrete.is_leaf(), concrete);
  captures_.push_back({concrete, handle.impl()->proxy, is_named});
  current_.emplace(concrete.impl().get(), handle);
  return handle;
}

Tensor Tracer::bind_concrete(const Tensor& concrete, std::string name) {
  return capture(concrete, std::move(name), concrete.requires_grad(), concrete.shape());
}

Tensor Tracer::bind_concrete(const Tensor& concrete, std::string name, const Shape& shape) {
  return capture(concrete, std::move(name), concrete.requires_grad(), shape);
}

Tensor Tracer::bind_concrete(const Tensor& concrete, std::string name, bool requires_grad) {
  return capture(concrete, std::move(name), requires_grad, concrete.shape());
}

Tensor Tracer::current(const Tensor& tensor, SourceLocation at) {
  if (!tensor.defined()) return tensor;
  if (tensor.impl()->proxy && records(tensor)) {
    if (writes_ > 0) refresh(*tensor.impl());
    return tensor;
  }
  if (const auto found = current_.find(tensor.impl().get()); found != current_.end()) {
    if (writes_ > 0) refresh(*found->second.impl());
    if (breaks_ == 0) reached_.insert(found->first);  // a function with breaks runs its body at every call
    return found->second;
  }
  if (tensor.impl()->proxy && recording_of(tensor) == nullptr) refuse_stray_proxy(tensor);
  return captured(tensor, at);
}

const detail::Ref<TensorProxy>& Tracer::proxy_of(const Tensor& tensor) {
  // The handle stays alive in current_ or with the caller, and with it the proxy.
  const Tensor handle = current(tensor, {});
  if (writes_ > 0) refresh(*handle.impl());
  return handle.impl()->proxy;
}

Value Tracer::value_of(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  return Value(proxy_of(tensor));
}

Value Tracer::value_of(const Argument& argument) {
  return value_of_argument(argument, [&](const Tensor& tensor) { return value_of(tensor); });
}

void Tracer::bind_sizes(const Tensor& tensor) { scalars_.bind_sizes(tensor.shape(), value_of(tensor)); }

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
    write(with_current[0].tensor(), with_current[1].tensor(), at);
    results.push_back(arguments[1].tensor());
    return;
  }
  if (symbol.decompose) record_composite(symbol, arguments, with_current, at, results);
  else record_primitive(symbol, with_current, at, results);
}

void Tracer::record_composite(const Symbol& symbol, Arguments original, Arguments arguments, SourceLocation at,
                              Results& results) {
  // The checks of a composite that a kernel may run as one op; those of its subsymbols may be weaker.
  if (symbol.infer) {
    InferredTypes types;
    infer_types(symbol, arguments, types);
  }
  const int writes_before = writes_, breaks_before = breaks_;
  const uint64_t conversions_before = autocast_conversions();
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
  SharedVector<BoundSymbol> subsymbols = end_scope();
  if (breaks_ != breaks_before) {
    // Its first subgraph has been run: the remaining ops are recorded individually.
    for (BoundSymbol& subsymbol : subsymbols) append(std::move(subsymbol));
    for (const Tensor& result : results)
      if (result.impl()->proxy && result.impl()->base) views_[result.impl()->view].scope = builder_.scope();
    return;
  }
  // A result that is an unchanged argument (dropout in evaluation, contiguous) is that argument, not a value of its
  // own.
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
  // A composite's writes are visible outside it, so its ops are recorded there too.
  const bool writes = writes_ != writes_before;
  // With autocasting inside it is not the function of its name.
  const bool converts = autocast_conversions() != conversions_before;
  if (writes || converts || !makes_values) {
    for (BoundSymbol& subsymbol : subsymbols) append(std::move(subsymbol));
  } else {
    bind_call(symbol, arguments, {results.data(), results.size()}, std::move(subsymbols), at);
  }
  for (const Tensor& result : results) leave_scope(*result.impl(), symbol, arguments);
}

namespace {

// Checked here, where the user's source line is known: a program's memory plan adds the bytes up.
void check_size(const TensorType& type) {
  if (type.shape.is_symbolic()) return;
  Sizes sizes;
  for (const Int size : type.shape) sizes.push_back(size.hint());
  checked_bytes(sizes, type.dtype);
}

}  // namespace

void Tracer::record_primitive(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  InferredTypes types;
  infer_types(symbol, arguments, types);
  bool requires_grad = false;
  if (!symbol.traits.not_differentiable && grad_enabled()) {
    for (const Argument& argument : arguments) {
      if (argument.is_tensor()) requires_grad = requires_grad || argument.tensor().requires_grad();
      else if (argument.kind() == Argument::Kind::tensors)
        for (const Tensor& tensor : argument.tensors())
          requires_grad = requires_grad || (tensor.defined() && tensor.requires_grad());
    }
  }
  for (const TensorType& type : types) {
    if (!symbol.traits.view) check_size(type);
    const auto proxy = make_proxy(type, requires_grad && is_floating(type.dtype));
    results.push_back(make_handle(proxy, at));
  }
  bind_call(symbol, arguments, {results.data(), results.size()}, {}, at);
  if (symbol.traits.view && arguments[0].is_tensor())
    note_view(results[0], arguments[0].tensor(), builder_.ops().back());
}

}  // namespace fulgurite
