#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/io.h>
#include <fulgurite/repro.h>

#include "ir/analysis/trace_values.h"
#include "runtime/copy_elements.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::examine {

namespace {

Sizes sizes_of(const Shape& shape) {
  Sizes out;
  for (const Int size : shape) out.push_back(size.hint());
  return out;
}

// A well-mixing permutation of 32 bits, the same in the Python programs.
uint32_t mixed(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

// Elements from a storage's start that the tensor reaches.
int64_t extent(const FusionInput& input) {
  int64_t last = input.offset;
  for (size_t d = 0; d < input.shape.size(); ++d) {
    if (input.shape[d].hint() == 0) return input.offset;
    last += (input.shape[d].hint() - 1) * input.strides[d].hint();
  }
  return last + 1;
}

Tensor numbers(int64_t count, Dtype dtype, uint32_t start) {
  Tensor out = make_tensor({count}, dtype);
  const bool is_whole = !is_floating(dtype);
  const Tensor made = dtype == Dtype::f32 ? out : make_tensor({count}, is_whole ? Dtype::u8 : Dtype::f32);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t random = mixed(static_cast<uint32_t>(i) + start);
    if (is_whole) reinterpret_cast<uint8_t*>(made.impl()->data())[i] = random & 1;
    else reinterpret_cast<float*>(made.impl()->data())[i] = static_cast<float>(random >> 8) * 0x1p-22f - 2;
  }
  if (!made.is_same(out)) copy_elements(made, out);
  return out;
}

void check(const FusionInput& input) {
  if (input.strides.size() != input.shape.size())
    throw UserError(text::cat("make_inputs: ", input.name, " has ", input.shape.size(), " dimensions, and ",
                              input.strides.size(), " strides are given"));
  for (const Int stride : input.strides)
    if (stride.hint() < 0) throw UserError(text::cat("make_inputs: a stride of ", input.name, " is negative"));
  if (input.offset < 0) throw UserError(text::cat("make_inputs: the offset of ", input.name, " is negative"));
}

// One storage for each group of inputs that share one, large enough for all of them; `content` returns its elements.
template <class Content>
std::vector<Tensor> tensors_over_storages(const std::vector<FusionInput>& inputs, const Content& content) {
  std::vector<Tensor> storages(inputs.size()), out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(inputs[i]);
    if (!inputs[i].shares_with.empty()) continue;
    int64_t bytes = 0;
    for (const FusionInput& other : inputs)
      if (&other == &inputs[i] || other.shares_with == inputs[i].name)
        bytes = std::max(bytes, extent(other) * size_of(other.dtype));
    storages[i] = content(i, (bytes + size_of(inputs[i].dtype) - 1) / size_of(inputs[i].dtype));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    size_t owner = i;
    if (!inputs[i].shares_with.empty())
      owner =
          static_cast<size_t>(std::ranges::find(inputs, inputs[i].shares_with, &FusionInput::name) - inputs.begin());
    out.push_back(make_view(storages[owner].impl()->storage, sizes_of(inputs[i].shape), sizes_of(inputs[i].strides),
                            inputs[i].offset, inputs[i].dtype));
  }
  return out;
}

}  // namespace

std::vector<Tensor> make_tensors(const std::vector<FusionInput>& inputs, uint64_t seed) {
  return tensors_over_storages(inputs, [&](size_t i, int64_t count) {
    return numbers(count, inputs[i].dtype, mixed(static_cast<uint32_t>(seed) * 0x9e3779b9u + static_cast<uint32_t>(i)));
  });
}

std::vector<Tensor> load_tensors(const std::vector<FusionInput>& inputs, const std::string& path) {
  const std::map<std::string, Tensor> saved = load_safetensors(path);
  std::vector<Tensor> out = make_tensors(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_made) continue;
    const auto found = saved.find(inputs[i].name);
    if (found == saved.end()) throw UserError(text::cat(path, " has no tensor ", inputs[i].name));
    if (type_text(found->second) != type_text(out[i]))
      throw UserError(text::cat(path, ": ", inputs[i].name, " is ", type_text(found->second),
                                ", and the program wants ", type_text(out[i])));
    copy_elements(found->second, out[i]);
  }
  return out;
}

std::vector<Tensor> make_inputs(const Trace& trace, const Layouts& layouts, uint64_t seed) {
  std::vector<FusionInput> inputs;
  for (const Value& value : input_values(trace)) {
    if (!value.is_tensor()) continue;
    const TensorProxy& proxy = value.tensor();
    FusionInput& input = inputs.emplace_back();
    input.name = proxy.name;
    input.dtype = proxy.dtype;
    input.device = proxy.device;
    int64_t stride = 1;
    for (const Int size : proxy.shape) input.shape.push_back(size.hint());
    input.strides.resize(input.shape.size());
    for (size_t d = input.shape.size(); d-- > 0; stride *= std::max<int64_t>(input.shape[d].hint(), 1))
      input.strides[d] = stride;
    if (const auto layout = layouts.find(input.name); layout != layouts.end()) {
      input.strides = layout->second.strides;
      input.offset = layout->second.offset;
    }
  }
  for (const auto& [name, layout] : layouts)
    if (std::ranges::find(inputs, name, &FusionInput::name) == inputs.end())
      throw UserError(text::cat("make_inputs: ", trace.name, " has no input ", name));
  return make_tensors(inputs, seed);
}

}  // namespace fulgurite::examine
