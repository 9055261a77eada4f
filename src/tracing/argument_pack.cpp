#include "tracing/argument_pack.h"

#include <fulgurite/symbol.h>

namespace fulgurite {

ArgumentPack::ArgumentPack(const BoundSymbol& bound, Resolver& resolver) {
  arguments_.reserve(bound.args.size() + bound.kwargs.size());
  const auto parameters = bound.symbol->signature.params();
  const auto add = [&](const Value& value) {
    const size_t i = arguments_.size();
    arguments_.push_back(convert(value, resolver, i < parameters.size() ? &parameters[i] : nullptr));
  };
  for (const Value& value : bound.args) add(value);
  for (const auto& [name, value] : bound.kwargs) add(value);
}

Argument ArgumentPack::convert(const Value& value, Resolver& resolver, const Parameter* parameter) {
  switch (value.kind()) {
    case Value::Kind::none: return {};
    case Value::Kind::tensor: {
      tensors_.push_back(std::make_unique<Tensor[]>(1));
      tensors_.back()[0] = resolver.tensor(value.tensor_ref());
      return Argument(tensors_.back()[0]);
    }
    case Value::Kind::integer: return value.is_proxy() ? resolver.integer(value.integer()) : value.integer();
    case Value::Kind::floating: return value.is_proxy() ? resolver.floating(value.floating()) : value.floating();
    case Value::Kind::boolean: return value.is_proxy() ? resolver.boolean(value.boolean()) : value.boolean();
    case Value::Kind::string: return std::string_view(value.string());
    case Value::Kind::dtype: return value.dtype();
    case Value::Kind::device: return value.device();
    case Value::Kind::ellipsis: return Ellipsis;
    case Value::Kind::slice: {
      Slice slice = value.slice();
      for (std::optional<Int>* end : {&slice.start, &slice.stop, &slice.step})
        if (*end && (*end)->is_symbolic()) *end = resolver.integer(**end);
      slices_.push_back(std::make_unique<Slice>(slice));
      return *slices_.back();
    }
    case Value::Kind::list:
    case Value::Kind::collection: break;
  }
  // A list of one kind becomes a span of it; None among tensors becomes an undefined tensor.
  const std::vector<Value>& items = value.list();
  const bool mixed = parameter && parameter->type == Parameter::Type::indices;
  bool all_tensors = !mixed && (!items.empty() || (parameter && parameter->type == Parameter::Type::tensors));
  bool all_integers = !mixed && !(items.empty() && all_tensors);
  for (const Value& item : items) {
    all_integers = all_integers && item.is_int();
    all_tensors = all_tensors && (item.is_tensor() || item.is_none());
  }
  if (all_integers) {
    integers_.push_back(std::make_unique<Int[]>(items.size()));
    Int* out = integers_.back().get();
    for (size_t i = 0; i < items.size(); ++i)
      out[i] = items[i].is_proxy() ? resolver.integer(items[i].integer()) : items[i].integer();
    return std::span<const Int>(out, items.size());
  }
  if (all_tensors) {
    tensors_.push_back(std::make_unique<Tensor[]>(items.size()));
    Tensor* out = tensors_.back().get();
    for (size_t i = 0; i < items.size(); ++i)
      if (items[i].is_tensor()) out[i] = resolver.tensor(items[i].tensor_ref());
    return std::span<const Tensor>(out, items.size());
  }
  auto nested = std::make_unique<Argument[]>(items.size());
  for (size_t i = 0; i < items.size(); ++i) nested[i] = convert(items[i], resolver, nullptr);
  lists_.push_back(std::move(nested));
  return std::span<const Argument>(lists_.back().get(), items.size());
}

}  // namespace fulgurite
