#include "runtime/step_arguments.h"

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "support/text/text.h"

namespace fulgurite {

namespace {

// Returns the value that a guard has fixed a symbol to; other symbols have no value here.
template <class Number>
Number fixed(Number n) {
  if (!n.is_symbolic()) return n;
  if (n.proxy()->constraint == NumberProxy::Constraint::fixed) return n.hint();
  throw InternalError(text::cat("a program needs numbers that are fixed, and ", n.proxy()->name, " is not"));
}

}  // namespace

StepArguments::StepArguments(const ExecutionPlan& plan, const Step& step, std::span<const Tensor> slots) {
  if (step.bound == nullptr) return;
  const BoundSymbol& bound = *step.bound;
  const auto parameters = bound.symbol->signature.params();
  arguments_ = std::make_unique<Argument[]>(bound.args.size() + bound.kwargs.size());
  Context context{plan, step, slots};
  const auto add = [&](const Value& value) {
    const Parameter* parameter = count_ < parameters.size() ? &parameters[count_] : nullptr;
    arguments_[count_++] = convert(value, context, parameter);
  };
  for (const Value& value : bound.args) add(value);
  for (const auto& [name, value] : bound.kwargs) add(value);
}

Argument StepArguments::convert(const Value& value, Context& context, const Parameter* parameter) {
  switch (value.kind()) {
    case Value::Kind::none: return {};
    case Value::Kind::tensor: return Argument(context.slots[context.step.operands[context.next_operand++]]);
    case Value::Kind::integer: return fixed(value.integer());
    case Value::Kind::floating: return fixed(value.floating());
    case Value::Kind::boolean: return fixed(value.boolean());
    case Value::Kind::string: return std::string_view(value.string());
    case Value::Kind::dtype: return value.dtype();
    case Value::Kind::device: return value.device();
    case Value::Kind::ellipsis: return Ellipsis;
    case Value::Kind::slice: {
      Slice slice = value.slice();
      for (std::optional<Int>* end : {&slice.start, &slice.stop, &slice.step})
        if (*end) *end = fixed(**end);
      slices_.push_back(std::make_unique<Slice>(slice));
      return *slices_.back();
    }
    case Value::Kind::list:
    case Value::Kind::collection: break;
  }
  // A list of one kind becomes a span of it; a None among tensors becomes an undefined tensor. Indices stay a list:
  // their kinds are inspected one by one.
  const std::vector<Value>& items = value.list();
  const bool is_mixed = parameter != nullptr && parameter->type == Parameter::Type::indices;
  const bool wants_tensors = parameter != nullptr && parameter->type == Parameter::Type::tensors;
  bool all_tensors = !is_mixed && (!items.empty() || wants_tensors);
  bool all_integers = !is_mixed && !(items.empty() && all_tensors);
  for (const Value& item : items) {
    all_integers = all_integers && item.is_int();
    all_tensors = all_tensors && (item.is_tensor() || item.is_none());
  }
  if (all_integers) {
    Int* out = integers_.emplace_back(std::make_unique<Int[]>(items.size())).get();
    for (size_t i = 0; i < items.size(); ++i) out[i] = fixed(items[i].integer());
    return std::span<const Int>(out, items.size());
  }
  if (all_tensors) {
    Tensor* out = tensors_.emplace_back(std::make_unique<Tensor[]>(items.size())).get();
    for (size_t i = 0; i < items.size(); ++i) {
      if (!items[i].is_tensor()) continue;
      const int slot = context.step.operands[context.next_operand++];
      const Tensor* from = &context.slots[slot];
      if (context.plan.slots[slot].storage_class == StorageClass::arena) out[i] = *from;
      else copies_.push_back({out + i, from});
    }
    return std::span<const Tensor>(out, items.size());
  }
  Argument* out = lists_.emplace_back(std::make_unique<Argument[]>(items.size())).get();
  for (size_t i = 0; i < items.size(); ++i) out[i] = convert(items[i], context, nullptr);
  return std::span<const Argument>(out, items.size());
}

}  // namespace fulgurite
