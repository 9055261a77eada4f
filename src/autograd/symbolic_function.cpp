// An operator's call recorded once more, with symbols for its sizes: what its backward is for other sizes.
#include <algorithm>

#include <fulgurite/symbol.h>

#include "autograd/eager_function.h"
#include "autograd/tensor_autograd.h"
#include "executors/gradient_rules.h"
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

/// The arguments of the recorded line, with other tensors in their places.
class Handles final : public ArgumentPack::Resolver {
 public:
  void give(const Value& proxy, const Tensor& handle) { handles_.emplace_back(proxy.proxy_id(), handle); }
  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override {
    for (const auto& [id, handle] : handles_)
      if (id == proxy->id) return handle;
    return {};
  }

 private:
  std::vector<std::pair<int, Tensor>> handles_;
};

// The line with symbols among its sizes, `next` the first of them.
BoundSymbol with_sizes(const BoundSymbol& line, const Int* next) {
  BoundSymbol out = line;
  const auto parameters = line.symbol->signature.params();
  for (size_t i = 0; i < line.args.size() && i < parameters.size(); ++i) {
    const Value& value = line.args.read()[i];
    if (!names_sizes(parameters[i].name) || !value.is_list()) continue;
    std::vector<Value> sizes;
    for (const Value& size : value.list()) sizes.push_back(size.is_int() && size.integer().hint() >= 0 ? Value(*next++) : size);
    out.args.change()[i] = Value(std::move(sizes));
  }
  return out;
}

}  // namespace

EagerFunction::EagerFunction(const EagerFunction& concrete, std::span<const Int> sizes)
    : symbol_(concrete.symbol_),
      options_(concrete.options_),
      node_name_(concrete.node_name_),
      input_places_(concrete.input_places_),
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
    if (is_new) symbols.push_back(tracer.add_size(sizes[i].hint(), pattern[i]));
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
  const auto& lines = concrete.recorded_.bound_symbols.read();
  const auto line = std::ranges::find_if(lines, [&](const BoundSymbol& bound) { return bound.symbol == symbol_; });
  const BoundSymbol call = with_sizes(*line, next);
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
    // The rule needs the sizes themselves.
  }
  return symbolic_.emplace_back(Symbolic{std::move(pattern), std::move(made)}).function.get();
}

}  // namespace fulgurite
