// Records an operator's call again with symbols for its sizes, for the backward of other sizes.
#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "autograd/eager/eager_function.h"
#include "autograd/engine/tensor_autograd.h"
#include "executors/gradient_rules.h"
#include "ir/symbolic/symbol_values.h"
#include "tensor/meta_tensor.h"
#include "tracing/argument_pack.h"
#include "tracing/tracer.h"

namespace fulgurite {

namespace {

std::vector<int> pattern_of(std::span<const Int> sizes) {
  std::vector<int> pattern;
  std::vector<const NumberProxy*> known;
  for (const Int size : sizes) {
    if (!size.is_symbolic()) {
      pattern.push_back(-1);
      continue;
    }
    const auto at = std::ranges::find(known, size.proxy());
    pattern.push_back(static_cast<int>(at - known.begin()));
    if (at == known.end()) known.push_back(size.proxy());
  }
  return pattern;
}

/// The arguments of the recorded op, with substituted tensors.
class Handles final : public ArgumentPack::Resolver {
 public:
  explicit Handles(SymbolValues* numbers = nullptr) : numbers_(numbers) {}
  void give(const Value& proxy, const Tensor& handle) { handles_.emplace_back(proxy.proxy_id(), handle); }
  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override {
    for (const auto& [id, handle] : handles_)
      if (id == proxy->id) return handle;
    return {};
  }
  Int integer(Int symbol) override { return numbers_ ? numbers_->value(symbol) : symbol; }
  Float floating(Float symbol) override { return numbers_ ? numbers_->value(symbol) : symbol; }
  Bool boolean(Bool symbol) override { return numbers_ ? numbers_->value(symbol) : symbol; }

 private:
  SymbolValues* numbers_;  // null: symbols stay
  std::vector<std::pair<int, Tensor>> handles_;
};

/// Symbols for the values of a pattern, in their order.
class PatternNumbers {
 public:
  PatternNumbers(Tracer& tracer, const CallPattern& pattern) : tracer_(tracer), count_(pattern.values.size()) {}

  Int next_size(Int size) {
    if (!may_vary(size.hint())) return size;
    sizes_.push_back(tracer_.scalars().add_size(size.hint(), take()));
    return sizes_.back();
  }
  /// Makes the sizes of tensors arguments of the trace, after the tensors.
  void give_sizes() {
    for (const Int size : sizes_) tracer_.trace().args.emplace_back(size);
  }
  Int next_integer(Int number) { return tracer_.scalars().add_integer(number.hint(), {}, take()); }
  Float next_float(Float number) { return tracer_.scalars().add_float(number.hint(), {}, take()); }
  bool all_are_used() const { return used_ == count_; }

 private:
  int take() { return static_cast<int>(used_++); }
  Tracer& tracer_;
  size_t count_, used_ = 0;
  std::vector<Int> sizes_;
};

const BoundSymbol& line_of(const Trace& trace, const Symbol* symbol) {
  const auto& ops = trace.bound_symbols.read();
  return *std::ranges::find_if(ops, [&](const BoundSymbol& bound) { return bound.symbol == symbol; });
}

// The op with symbols for the values that find_call_pattern() reads.
BoundSymbol with_numbers(const BoundSymbol& op, PatternNumbers& numbers) {
  BoundSymbol out = op;
  const auto parameters = op.symbol->signature.params();
  for (size_t i = 0; i < op.args.size(); ++i) {
    const Value& value = op.args.read()[i];
    const Parameter parameter = i < parameters.size() ? parameters[i] : Parameter();
    if (names_sizes(parameter.name) && value.is_list()) {
      std::vector<Value> sizes;
      for (const Value& size : value.list())
        sizes.push_back(may_vary(size.integer().hint()) ? Value(numbers.next_integer(size.integer())) : size);
      out.args.change()[i] = Value(std::move(sizes));
    } else if (value.is_float()) {
      out.args.change()[i] = Value(numbers.next_float(value.floating()));
    } else if (value.is_int() && parameter.type == Parameter::Type::operand) {
      out.args.change()[i] = Value(numbers.next_integer(value.integer()));
    }
  }
  return out;
}

// The op with symbols among its sizes, `next` the first of them.
BoundSymbol with_sizes(const BoundSymbol& op, const Int* next) {
  BoundSymbol out = op;
  const auto parameters = op.symbol->signature.params();
  for (size_t i = 0; i < op.args.size() && i < parameters.size(); ++i) {
    const Value& value = op.args.read()[i];
    if (!names_sizes(parameters[i].name) || !value.is_list()) continue;
    std::vector<Value> sizes;
    for (const Value& size : value.list())
      sizes.push_back(size.is_int() && size.integer().hint() >= 0 ? Value(*next++) : size);
    out.args.change()[i] = Value(std::move(sizes));
  }
  return out;
}

}  // namespace

EagerFunction::EagerFunction(const EagerFunction& concrete, std::span<const Int> sizes)
    : symbol_(concrete.symbol_),
      options_(concrete.options_),
      node_name_(concrete.node_name_),
      input_positions_(concrete.input_positions_),
      differentiable_(concrete.differentiable_),
      structure_(concrete.structure_) {
  const GradModeScope grad_mode(true);
  const InterpreterScope outside(nullptr);
  Tracer tracer(std::string(symbol_->name()));
  const InterpreterScope scope(&tracer);
  const std::vector<int> pattern = pattern_of(sizes);
  std::vector<Int> symbols, own;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool is_new = pattern[i] == static_cast<int>(symbols.size());
    if (is_new) symbols.push_back(tracer.scalars().add_size(sizes[i].hint(), pattern[i]));
    own.push_back(pattern[i] < 0 ? Int(sizes[i].hint()) : symbols[static_cast<size_t>(pattern[i])]);
  }
  Handles handles;
  const Int* next = own.data();
  for (const Value& input : concrete.recorded_.args) {
    const TensorProxy& proxy = input.tensor();
    const Shape shape(next, proxy.shape.size());
    next += proxy.shape.size();
    handles.give(input, tracer.add_argument({shape, proxy.dtype, proxy.device}, proxy.requires_grad, {}));
  }
  for (const Int symbol : symbols) tracer.trace().args.emplace_back(symbol);
  const auto& ops = concrete.recorded_.bound_symbols.read();
  const auto op = std::ranges::find_if(ops, [&](const BoundSymbol& bound) { return bound.symbol == symbol_; });
  const BoundSymbol call = with_sizes(*op, next);
  const ArgumentPack pack(call, handles);
  Results results;
  dispatch(*symbol_, pack.arguments(), call.source, results);
  for (const Tensor& result : results) outputs_.push_back(tracer.value_of(result));
  recorded_ = tracer.finish(Value(outputs_));
  choose_saved(ExecutorRules(resolve_executors(options_.executors)).find(*symbol_, pack.arguments()) != nullptr);
}

std::vector<Int> EagerFunction::symbols_of(std::span<const Int> sizes) {
  std::vector<Int> symbols;
  const std::vector<int> pattern = pattern_of(sizes);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (pattern[i] == static_cast<int>(symbols.size())) symbols.push_back(sizes[i]);
  return symbols;
}

EagerFunction::EagerFunction(const EagerFunction& concrete, const CallPattern& pattern)
    : symbol_(concrete.symbol_),
      options_(concrete.options_),
      node_name_(concrete.node_name_),
      input_positions_(concrete.input_positions_),
      differentiable_(concrete.differentiable_),
      reverses_edges_(concrete.reverses_edges_),
      structure_(concrete.structure_),
      is_for_pattern_(true) {
  const GradModeScope grad_mode(true);
  const InterpreterScope outside(nullptr);
  Tracer tracer(std::string(symbol_->name()));
  const InterpreterScope scope(&tracer);
  PatternNumbers numbers(tracer, pattern);
  Handles handles;
  for (const Value& input : concrete.recorded_.args) {
    const TensorProxy& proxy = input.tensor();
    Shape shape = proxy.shape;
    for (Int& size : shape) size = numbers.next_size(size);
    handles.give(input, tracer.add_argument({shape, proxy.dtype, proxy.device}, proxy.requires_grad, {}));
  }
  numbers.give_sizes();
  const BoundSymbol call = with_numbers(line_of(concrete.recorded_, symbol_), numbers);
  if (!numbers.all_are_used())
    throw InternalError(text::cat(symbol_->qualified_name(), " records other numbers than it is given"));
  const ArgumentPack pack(call, handles);
  Results results;
  dispatch(*symbol_, pack.arguments(), call.source, results);
  for (const Tensor& result : results) outputs_.push_back(tracer.value_of(result));
  recorded_ = tracer.finish(Value(outputs_));
  choose_saved(ExecutorRules(resolve_executors(options_.executors)).find(*symbol_, pack.arguments()) != nullptr);
  if (!backwards_.empty()) first_ = backwards_.begin()->second.get();
}

std::shared_ptr<EagerFunction> EagerFunction::for_pattern(const CallPattern& pattern) const {
  if (outputs_.size() != 1 || forward_program_) return nullptr;
  try {
    const std::shared_ptr<EagerFunction> made(new EagerFunction(*this, pattern));
    const auto is_saved_here = [&](const Source& source) {
      return std::ranges::any_of(
          saves_, [&](const Source& own) { return own.origin == source.origin && own.index == source.index; });
    };
    const bool saves_alike = made->saves_.size() == saves_.size() && std::ranges::all_of(made->saves_, is_saved_here);
    const bool is_right =
        saves_alike && !made->forward_program_ && made->holds({pattern.values.data(), pattern.values.size()});
    return is_right ? made : nullptr;
  } catch (const std::exception&) {
    return nullptr;  // the rule needs concrete sizes or scalars
  }
}

bool EagerFunction::holds(std::span<const uint64_t> values) const {
  return first_ && first_->formula && first_->formula->holds(values);
}

std::shared_ptr<EagerFunction> EagerFunction::exact(std::span<const uint64_t> values) const {
  SymbolValues numbers(values);
  Handles handles(&numbers);
  for (const Value& input : recorded_.args) {
    if (!input.is_tensor()) continue;
    const TensorProxy& proxy = input.tensor();
    Sizes sizes;
    for (const Int size : proxy.shape) sizes.push_back(numbers.value(size).hint());
    const Tensor handle = meta_tensor(sizes, contiguous_strides(sizes), 0, proxy.dtype);
    handle.impl()->requires_grad = proxy.requires_grad;
    handles.give(input, handle);
  }
  const BoundSymbol& call = line_of(recorded_, symbol_);
  const ArgumentPack pack(call, handles);
  return exact_eager_function(*symbol_, pack.arguments(), call.source);
}

EagerFunction* EagerFunction::with_symbols(std::span<const Int> sizes) {
  std::vector<int> pattern = pattern_of(sizes);
  const std::lock_guard lock(symbolic_mutex_);
  for (const Symbolic& one : symbolic_)
    if (one.pattern == pattern) return one.function.get();
  std::unique_ptr<EagerFunction> made;
  try {
    if (outputs_.size() <= 64) made.reset(new EagerFunction(*this, sizes));
    if (made && made->forward_program_) made = nullptr;
  } catch (const std::exception&) {
    // The rule needs concrete sizes.
  }
  return symbolic_.emplace_back(Symbolic{std::move(pattern), std::move(made)}).function.get();
}

}  // namespace fulgurite
