#include "autograd/eager/execute.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "executors/registry.h"
#include "ops/core/user_operator.h"
#include "tensor/pending.h"

namespace fulgurite {

namespace {

// Makes a view of the first tensor; returns false if its strides allow none.
bool make_view_result(const Symbol& symbol, Arguments arguments, Results& results) {
  ViewGeometry geometry;
  if (!symbol.view(arguments, geometry)) return false;
  const TensorImplRef& viewed = arguments[0].tensor().impl();
  const Tensor view = make_view(viewed->storage, geometry.sizes, geometry.strides, geometry.offset, viewed->dtype);
  if (!symbol.traits.not_differentiable) {
    TensorImpl& impl = *view.impl();
    impl.base = viewed->base ? viewed->base : viewed;
    impl.base_history = viewed->base ? viewed->base_history : viewed->history;
    impl.of_custom_function = viewed->of_custom_function;
  }
  results.push_back(view);
  return true;
}

constexpr int64_t min_batched_calls = 4096;  // elements; for fewer, computing is cheaper than deferring

bool is_batched(const Shape& shape) { return shape.numel().hint() >= min_batched_calls; }

void need_elements(const Argument& argument) {
  if (argument.is_tensor()) fulgurite::need_elements(*argument.tensor().impl());
  if (argument.kind() == Argument::Kind::tensors)
    for (const Tensor& tensor : argument.tensors())
      if (tensor.defined()) fulgurite::need_elements(*tensor.impl());
  if (argument.kind() == Argument::Kind::list)
    for (const Argument& item : argument.list()) need_elements(item);
}
void need_elements(Arguments arguments) {
  for (const Argument& argument : arguments) need_elements(argument);
}

void run_kernel(const Symbol& symbol, const Implementation& implementation, Arguments arguments, Results& results) {
  InferredTypes types;
  infer_types(symbol, arguments, types);
  const bool gathers = pending_values() != nullptr && implementation.is_pointwise && is_batched(types[0].shape);
  if (pending_values() && !gathers) need_elements(arguments);
  for (const TensorType& type : types) {
    Sizes sizes;
    for (const Int size : type.shape) sizes.push_back(size.hint());
    if (gathers) results.push_back(make_pending_tensor(sizes, type.dtype, type.device));
    else results.push_back(make_tensor(sizes, type.dtype, type.device));
  }
  implementation.kernel(arguments, {results.data(), results.size()});
}

void run_user_operator(const UserOperator& symbol, Arguments arguments, SourceLocation at, Results& results) {
  if (!symbol.accepts(arguments))
    throw RuleError{
        text::cat("its checker refuses these arguments, and nothing else implements ", symbol.qualified_name())};
  symbol.run(arguments, at, results);
}

// The composite's checks come first: those of its decomposition may be weaker.
void decompose(const Symbol& symbol, Arguments arguments, Results& results, SourceLocation at) {
  if (symbol.infer) {
    InferredTypes types;
    infer_types(symbol, arguments, types);
  }
  const auto is_large = [](const Argument& a) {
    return a.is_tensor() && a.tensor().impl()->numel() >= min_batched_calls;
  };
  if (pending_values() || !std::any_of(arguments.begin(), arguments.end(), is_large) || as_user_operator(symbol))
    return symbol.decompose(arguments, results, at);
  const std::unique_ptr<PendingValues> chain = make_pointwise_chain();
  const PendingScope scope(chain.get());
  symbol.decompose(arguments, results, at);
  chain->finish_all();
}

// If strides allow no view, makes a view of a contiguous copy.
void view_of_copy(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  const Tensor copy = clone(arguments[0].tensor(), at);
  SmallVector<Argument, 10> given(arguments.begin(), arguments.end());
  given[0] = Argument(copy);
  if (!make_view_result(symbol, {given.data(), given.size()}, results))
    throw InternalError(text::cat(symbol.qualified_name(), " is not a view of a contiguous tensor"));
}

}  // namespace

void execute(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
  if (symbol.view && make_view_result(symbol, arguments, results)) return;
  const Implementation* implementation = find_eager_implementation(symbol);
  if (implementation && implementation->kernel && (!implementation->checker || implementation->checker(arguments)))
    run_kernel(symbol, *implementation, arguments, results);
  else if (symbol.decompose) decompose(symbol, arguments, results, at);
  else if (const UserOperator* user = as_user_operator(symbol)) run_user_operator(*user, arguments, at, results);
  else if (symbol.view) view_of_copy(symbol, arguments, at, results);
  else throw InternalError(text::cat(symbol.qualified_name(), " has no kernel"));
}

}  // namespace fulgurite
