#include "autograd/eager/eager_formula.h"

#include <bit>
#include <utility>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "executors/registry.h"
#include "ir/analysis/trace_values.h"
#include "ir/symbolic/guards.h"
#include "ops/core/call_error.h"
#include "ops/core/dispatch.h"
#include "ir/structural.h"
#include "runtime/copy_elements.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"
#include "tracing/argument_pack.h"

namespace fulgurite {

namespace {

bool is_number(const Value& value) { return value.is_proxy() && !value.is_tensor(); }

bool makes_numbers(const BoundSymbol& bound) {
  bool all = !bound.outputs.empty();
  for_each_output(bound, [&](const Value& value) { all = all && (is_number(value) || value.is_none()); });
  return all;
}

}  // namespace

EagerFormula::EagerFormula(Trace trace) : trace_(std::move(trace)) {
  for (const Value& input : input_values(trace_))
    if (!is_number(input)) inputs_.push_back(input);
  results_ = returned_values(trace_);
  for (const BoundSymbol& bound : trace_.bound_symbols.read()) add(bound);
  for (const auto& guard : find_guards(trace_)) conditions_.emplace_back(numbers_.add(*guard), guard);
}

void EagerFormula::add(const BoundSymbol& bound) {
  const Symbol* const symbol = bound.symbol;
  if (is_return(*symbol) || is_unpack(*symbol) || is_clear(*symbol)) return;
  if (is_del(*symbol)) return ops_.push_back({Kind::deletion, &bound});
  if (makes_numbers(bound)) return;
  const bool is_kernel = bound.implementation != nullptr && bound.implementation->kernel != nullptr &&
                         bound.implementation->user == nullptr && bound.implementation->fusion == nullptr;
  const bool is_view = bound.implementation == nullptr && symbol->view != nullptr;
  if (!symbol->traits.effects.empty() || !(is_kernel || is_view))
    throw InternalError(text::cat(symbol->qualified_name(), " needs a program"));
  for_each_argument(bound, [&](const Value& value) { add_numbers(value); });
  for_each_output(bound, [&](const Value& value) { add_numbers(value); });
  ops_.push_back({is_kernel ? Kind::kernel : Kind::view, &bound});
}

void EagerFormula::add_numbers(const Value& value) {
  const auto add = [&](const auto& number) {
    if (number.proxy()) numbers_.add(*number.proxy());
  };
  if (value.is_tensor()) {
    for (const Int size : value.tensor().shape) add(size);
  } else if (value.is_slice()) {
    const Slice slice = value.slice();
    for (const std::optional<Int>& end : {slice.start, slice.stop, slice.step})
      if (end) add(*end);
  } else if (value.is_int()) {
    add(value.integer());
  } else if (value.is_float()) {
    add(value.floating());
  } else if (value.is_proxy()) {
    add(value.boolean());
  }
}

/// One run: the tensors by their proxies' ids, and the scalars.
class EagerFormula::Run final : public ArgumentPack::Resolver {
 public:
  Run(const EagerFormula& formula, const NumberTable::Values& numbers) : formula_(formula), numbers_(numbers) {
    for (int i = 0; i < formula.trace_.next_id; ++i) tensors_.emplace_back();
  }

  Tensor& at(const Value& value) { return tensors_[static_cast<size_t>(value.tensor().id)]; }
  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override { return tensors_[static_cast<size_t>(proxy->id)]; }
  Int integer(Int symbol) override { return of(*symbol.proxy()).integer; }
  Float floating(Float symbol) override { return of(*symbol.proxy()).floating; }
  Bool boolean(Bool symbol) override { return of(*symbol.proxy()).integer != 0; }

  bool run(const Op& op) {
    if (op.kind == Kind::deletion) {
      for_each_argument(*op.bound, [&](const Value& value) {
        if (value.is_tensor()) at(value) = Tensor();
      });
      return true;
    }
    const ArgumentPack pack(*op.bound, *this);
    if (op.kind == Kind::view) return run_view(*op.bound, pack.arguments());
    const Implementation& implementation = *op.bound->implementation;
    if (!implementation.accepts(pack.arguments())) return false;
    SmallVector<Tensor, 4> results;
    for_each_output(*op.bound, [&](const Value& value) { results.push_back(make_result(value.tensor())); });
    try {
      implementation.run(pack.arguments(), {results.data(), results.size()});
    } catch (const UnlocatedError& error) {
      throw CallError(call_text(*op.bound->symbol, pack.arguments()), error.what(), op.bound->source);
    }
    size_t i = 0;
    for_each_output(*op.bound, [&](const Value& value) { at(value) = std::move(results[i++]); });
    return true;
  }

 private:
  const NumberTable::Number& of(const NumberProxy& number) const {
    return numbers_[static_cast<size_t>(formula_.numbers_.find(number))];
  }

  Tensor make_result(const TensorProxy& proxy) const {
    Sizes sizes;
    for (const Int size : proxy.shape) sizes.push_back(size.is_symbolic() ? of(*size.proxy()).integer : size.hint());
    return make_tensor(sizes, proxy.dtype, proxy.device);
  }

  // If the strides allow no view, the result is a view of a contiguous copy.
  bool run_view(const BoundSymbol& bound, Arguments arguments) {
    Tensor viewed = arguments[0].tensor();
    ViewGeometry geometry;
    if (!bound.symbol->view(arguments, geometry)) {
      const Tensor copy = make_tensor(viewed.impl()->sizes, viewed.dtype());
      copy_elements(viewed, copy);
      SmallVector<Argument, 10> given(arguments.begin(), arguments.end());
      given[0] = Argument(copy);
      geometry = ViewGeometry();
      if (!bound.symbol->view({given.data(), given.size()}, geometry)) return false;
      viewed = copy;
    }
    const TensorImpl& impl = *viewed.impl();
    at(bound.outputs.read()[0]) =
        make_view(impl.storage, geometry.sizes, geometry.strides, geometry.offset, impl.dtype);
    return true;
  }

  const EagerFormula& formula_;
  const NumberTable::Values& numbers_;
  SmallVector<Tensor, 24> tensors_;
};

bool EagerFormula::find_values(std::span<const uint64_t> given, NumberTable::Values& values) const {
  try {
    numbers_.compute(given, values);
  } catch (const std::exception&) {  // a size that does not fit, or a division by zero: the operator reports it itself
    return false;
  }
  for (const auto& [index, number] : conditions_) {
    const NumberTable::Number& value = values[static_cast<size_t>(index)];
    const bool is_as_recorded =
        number->kind == NumberProxy::Kind::floating
            ? std::bit_cast<uint64_t>(value.floating) == std::bit_cast<uint64_t>(number->floating)
            : value.integer == number->integer;
    if (!is_as_recorded) return false;
  }
  return true;
}

bool EagerFormula::holds(std::span<const uint64_t> given) const {
  NumberTable::Values values;
  return find_values(given, values);
}

bool EagerFormula::run(std::span<const Tensor> arguments, std::span<const uint64_t> given,
                       std::vector<Tensor>& results) const {
  NumberTable::Values values;
  if (!find_values(given, values) || arguments.size() != inputs_.size()) return false;
  Run run(*this, values);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (inputs_[i].is_tensor()) run.at(inputs_[i]) = arguments[i];
  for (const Op& op : ops_)
    if (!run.run(op)) return false;
  for (const Value& result : results_) results.push_back(result.is_tensor() ? run.at(result) : Tensor());
  return true;
}

}  // namespace fulgurite
