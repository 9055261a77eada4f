#pragma once
#include <fulgurite/symbol.h>
#include <fulgurite/trace.h>

#include "executors/registry.h"
#include "ops/generated/symbols.h"

namespace fulgurite::test {

/// The kernel and the symbol of `a + b` for contiguous f32, made for tests: they depend on no operator.
inline constinit const Symbol plus_symbol{.signature = "test.plus(Tensor a, Tensor b) -> Tensor",
                                          .traits = {.pointwise = true}};
inline void plus_kernel(Arguments arguments, std::span<const Tensor> results) {
  const TensorImpl &a = *arguments[0].tensor().impl(), &b = *arguments[1].tensor().impl();
  const auto *x = reinterpret_cast<const float*>(a.data()), *y = reinterpret_cast<const float*>(b.data());
  auto* out = reinterpret_cast<float*>(results[0].impl()->data());
  for (int64_t i = 0, count = results[0].impl()->numel(); i < count; ++i) out[i] = x[i] + y[i];
}
inline const Implementation plus_implementation{"test", &plus_symbol, plus_kernel, nullptr, nullptr};

/// All elements of a list of tensors, and a number added to each: tests lists and constants.
inline constinit const Symbol join_symbol{.signature = "test.join(Tensor[] tensors, float number) -> Tensor"};
inline void join_kernel(Arguments arguments, std::span<const Tensor> results) {
  auto* out = reinterpret_cast<float*>(results[0].impl()->data());
  for (const Tensor& tensor : arguments[0].tensors()) {
    const auto* x = reinterpret_cast<const float*>(tensor.impl()->data());
    for (int64_t i = 0, count = tensor.impl()->numel(); i < count; ++i)
      *out++ = x[i] + static_cast<float>(arguments[1].floating().hint());
  }
}
inline const Implementation join_implementation{"test", &join_symbol, join_kernel, nullptr, nullptr};

/// A transposed view of a matrix, and a flat view, which a transposed matrix does not have.
inline constinit const Symbol flip_symbol{
    .signature = "test.flip(Tensor x) -> Tensor",
    .view =
        [](std::span<const Argument> arguments, ViewGeometry& view) {
          const TensorImpl& x = *arguments[0].tensor().impl();
          view = {Sizes{x.sizes[1], x.sizes[0]}, Sizes{x.strides[1], x.strides[0]}, x.offset};
          return true;
        },
    .traits = {.view = true}};
inline constinit const Symbol op_symbol{.signature = "test.line(Tensor x) -> Tensor",
                                        .view =
                                            [](std::span<const Argument> arguments, ViewGeometry& view) {
                                              const TensorImpl& x = *arguments[0].tensor().impl();
                                              view = {Sizes{x.numel()}, Sizes{1}, x.offset};
                                              return x.is_contiguous;
                                            },
                                        .traits = {.view = true}};

/// Writes an execution trace symbol by symbol.
class TraceBuilder {
 public:
  Value input(const Shape& shape) {
    trace.args.push_back(value(shape));
    return trace.args.back();
  }
  Value plus(const Value& a, const Value& b) {
    return add(plus_symbol, {a, b}, a.tensor().shape, &plus_implementation);
  }
  Value join(const std::vector<Value>& tensors, double number, int64_t count) {
    return add(join_symbol, {Value(tensors), number}, {count}, &join_implementation);
  }
  Value flip(const Value& x) { return add(flip_symbol, {x}, {x.tensor().shape[1], x.tensor().shape[0]}); }
  Value line(const Value& x) { return add(op_symbol, {x}, {x.tensor().shape.numel()}); }
  Value copy(const Value& source, const Value& destination) {
    return add(prims_copy__symbol, {source, destination}, destination.tensor().shape);
  }
  Trace give(const std::vector<Value>& results) {
    BoundSymbol bound;
    bound.symbol = &prims_return_symbol;
    bound.args = results;
    trace.bound_symbols.push_back(std::move(bound));
    return trace;
  }
  Value add(const Symbol& symbol, std::vector<Value> args, const Shape& shape,
            const Implementation* implementation = nullptr) {
    BoundSymbol bound;
    bound.symbol = &symbol;
    bound.args = std::move(args);
    bound.outputs = {value(shape)};
    bound.implementation = implementation;
    trace.bound_symbols.push_back(std::move(bound));
    return trace.bound_symbols.back().outputs[0];
  }
  Value value(const Shape& shape) {
    const detail::Ref<TensorProxy> proxy(new TensorProxy);
    proxy->id = trace.next_id++;
    proxy->name = "t" + std::to_string(trace.next_name++);
    proxy->shape = shape;
    return proxy;
  }

  Trace trace;
};

}  // namespace fulgurite::test
