// The dtype of each operator inside an autocast scope, as in PyTorch on CPU.
#include "ops/core/autocast.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/generated/symbols.h"
#include "support/text/text.h"
#include "support/thread_state.h"

namespace fulgurite {

namespace {

bool can_convert(const Tensor& tensor) {
  return tensor.defined() && is_floating(tensor.dtype()) && tensor.dtype() != Dtype::f64;
}

template <class Visit>
void for_each_tensor(Arguments arguments, Visit&& visit) {
  for (const Argument& argument : arguments) {
    if (argument.is_tensor()) visit(argument.tensor());
    else if (argument.kind() == Argument::Kind::tensors)
      for (const Tensor& tensor : argument.tensors()) visit(tensor);
  }
}

// Padding with values from the image runs in f32; constant and circular padding in the image's dtype.
bool pads_wide(const Symbol& symbol, Arguments arguments) {
  return &symbol == &pad_symbol && (arguments[2].string() == "reflect" || arguments[2].string() == "replicate");
}

/// The dtype that the operator's operands are converted to, if any.
std::optional<Dtype> operand_dtype(const Symbol& symbol, Arguments arguments, Dtype dtype) {
  const AutocastPolicy policy = symbol.semantics.autocast;
  if (policy == AutocastPolicy::narrow) return dtype;
  if (policy == AutocastPolicy::wide || pads_wide(symbol, arguments)) return Dtype::f32;
  if (policy != AutocastPolicy::widest) return std::nullopt;
  Dtype common = dtype;
  for_each_tensor(arguments, [&](const Tensor& tensor) {
    if (can_convert(tensor) && tensor.dtype() != dtype) common = Dtype::f32;
  });
  return common;
}

/// A call's arguments with their tensors converted to another dtype.
class ConvertedArguments {
 public:
  ConvertedArguments(Arguments arguments, Dtype dtype, SourceLocation at) {
    size_t count = 0;
    for_each_tensor(arguments, [&](const Tensor&) { ++count; });
    tensors_.reserve(count);  // arguments point into it
    for (const Argument& argument : arguments) {
      const size_t first = tensors_.size();
      if (argument.is_tensor()) {
        arguments_.push_back(add(argument.tensor(), dtype, at));
      } else if (argument.kind() == Argument::Kind::tensors) {
        for (const Tensor& tensor : argument.tensors()) add(tensor, dtype, at);
        arguments_.push_back(std::span<const Tensor>(tensors_.data() + first, tensors_.size() - first));
      } else {
        arguments_.push_back(argument);
      }
    }
  }
  Arguments arguments() const { return {arguments_.data(), arguments_.size()}; }

 private:
  const Tensor& add(const Tensor& tensor, Dtype dtype, SourceLocation at) {
    if (!can_convert(tensor) || tensor.dtype() == dtype) return tensors_.push_back(tensor), tensors_.back();
    ++thread_state.autocast_conversions;
    return tensors_.push_back(prims::convert_element_type(tensor, dtype, at)), tensors_.back();
  }

  std::vector<Tensor> tensors_;
  SmallVector<Argument, 10> arguments_;
};

}  // namespace

uint64_t autocast_conversions() { return thread_state.autocast_conversions; }

void dispatch_autocast(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results, Dtype dtype) {
  if (const std::optional<Dtype> wanted = operand_dtype(symbol, arguments, dtype)) {
    const ConvertedArguments converted(arguments, *wanted, at);
    const AutocastScope off(std::nullopt);
    return dispatch_plainly(symbol, converted.arguments(), at, results);
  }
  // An operator with its own rules follows them; a pure composite is cast inside its decomposition.
  const bool stands_for_others =
      symbol.decompose && !symbol.infer && !symbol.gradient && symbol.semantics.autocast != AutocastPolicy::inside;
  const AutocastScope inside(stands_for_others ? std::optional(dtype) : std::nullopt);
  dispatch_plainly(symbol, arguments, at, results);
}

AutocastScope autocast(std::optional<Dtype> dtype, SourceLocation at) {
  if (dtype && *dtype != Dtype::bf16 && *dtype != Dtype::f16)
    throw UserError(text::cat("autocast: it converts to bf16 or f16, not to ", *dtype), at);
  return AutocastScope(dtype);
}

}  // namespace fulgurite
