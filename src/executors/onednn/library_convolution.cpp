#ifdef FULGURITE_ONEDNN
#include "executors/onednn/library_convolution.h"

#include <string_view>

#include "runtime/copy_elements.h"

namespace fulgurite {

namespace {

using Pass = ConvolutionCall::Pass;

dnnl_memory_desc_t strided(const Sizes& sizes, const Sizes& strides, Dtype dtype) {
  dnnl_dims_t dims = {}, steps = {};
  std::copy(sizes.begin(), sizes.end(), dims);
  std::copy(strides.begin(), strides.end(), steps);
  dnnl_memory_desc_t type;
  dnnl_memory_desc_init_by_strides(&type, static_cast<int>(sizes.size()), dims,
                                   dtype == Dtype::f32 ? dnnl_f32 : dnnl_bf16, steps);
  return type;
}

dnnl_memory_desc_t any_form(const dnnl_memory_desc_t& type, dnnl_data_type_t element) {
  dnnl_memory_desc_t out;
  dnnl_memory_desc_init_by_tag(&out, type.ndims, type.dims, element, dnnl_format_tag_any);
  return out;
}

dnnl_memory_desc_t channels_last(const dnnl_memory_desc_t& type) {
  constexpr dnnl_format_tag_t tags[] = {dnnl_acb, dnnl_acdb, dnnl_acdeb};
  dnnl_memory_desc_t out;
  dnnl_memory_desc_init_by_tag(&out, type.ndims, type.dims, type.data_type, tags[type.ndims - 3]);
  return out;
}

/// The memory descriptor of samples and a number of channels of a tensor.
dnnl_memory_desc_t tile_type(const Tensor& t, int64_t samples, int64_t channels) {
  Sizes sizes = t.impl()->sizes;
  sizes[0] = samples;
  sizes[1] = channels;
  return strided(sizes, t.impl()->strides, t.impl()->dtype);
}

void* element_at(const Tensor& t, int64_t index0, int64_t index1) {
  const TensorImpl& impl = *t.impl();
  return impl.data() + (index0 * impl.strides[0] + index1 * impl.strides[1]) * size_of(impl.dtype);
}

/// The elements of a sample are dense, with the channels first or last, and samples do not overlap.
bool lies_plainly(const TensorImpl& t) {
  const size_t n = t.sizes.size();
  const auto is_dense = [&](size_t first, size_t last, int64_t expected) {
    for (size_t d = last + 1; d-- > first;) {
      if (t.sizes[d] != 1 && t.strides[d] != expected) return int64_t{-1};
      expected *= t.sizes[d];
    }
    return expected;
  };
  const int64_t elements = t.sizes[0] > 0 ? t.numel() / t.sizes[0] : 0;
  if (t.sizes[0] > 1 && t.strides[0] < elements) return false;
  if (is_dense(1, n - 1, 1) > 0) return true;
  return t.strides[1] == 1 && is_dense(2, n - 1, t.sizes[1]) > 0;
}

Tensor plain(const Tensor& t) {
  if (lies_plainly(*t.impl())) return t;
  Tensor copy = make_tensor(t.impl()->sizes, t.impl()->dtype);
  copy_elements(t, copy);
  return copy;
}

}  // namespace

void ConvolutionCall::set_numbers(const Argument& strides, const Argument& paddings, const Argument& dilations) {
  const Sizes &from = source.impl()->sizes, &to = destination.impl()->sizes, &kernel = weight.impl()->sizes;
  for (size_t d = 0; d + 2 < from.size(); ++d) {
    const auto number = [d](const Argument& argument) -> int64_t {
      const auto list = argument.integers();
      return list[list.size() == 1 ? 0 : d].hint();
    };
    stride[d] = number(strides);
    before[d] = number(paddings);
    dilation[d] = number(dilations) - 1;
    after[d] = (to[d + 2] - 1) * stride[d] + (kernel[d + 2] - 1) * (dilation[d] + 1) + 1 - from[d + 2] - before[d];
  }
  if (pass != Pass::source) source = plain(source);
  if (pass != Pass::destination) destination = plain(destination);
  if (pass != Pass::weight && !weight.impl()->is_contiguous) {
    const Tensor copy = make_tensor(weight.impl()->sizes, weight.impl()->dtype);
    copy_elements(weight, copy);
    weight = copy;
  }
}

bool library_has_avx512() {
  const int isa = dnnl_get_effective_cpu_isa();
  return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

bool ConvolutionCall::is_possible() const {
  if (source.impl()->numel() == 0 || weight.impl()->numel() == 0 || destination.impl()->numel() == 0) return false;
  for (size_t d = 0; d + 2 < source.impl()->sizes.size(); ++d)
    if (after[d] <= -stride[d]) return false;
  if (!bias.defined()) return true;
  return pass == Pass::destination && bias.impl()->strides[0] == 1;
}

double ConvolutionCall::work() const {
  const TensorImpl& factors = *weight.impl();
  return 2.0 * static_cast<double>(factors.numel()) * static_cast<double>(positions());
}

int64_t ConvolutionCall::positions() const {
  const Sizes& sizes = destination.impl()->sizes;
  int64_t count = 1;
  for (size_t d = 2; d < sizes.size(); ++d) count *= sizes[d];
  return count;
}

bool ConvolutionCall::can_halve(int64_t parts) const {
  const Sizes& sizes = weight.impl()->sizes;
  const int64_t count = groups > 1 ? groups : pass == Pass::source ? sizes[1] : sizes[0];
  const int64_t half = count / (2 * parts);
  if (half * 2 * parts != count) return false;
  // The library computes 16 channels at a time, and reuses its loads for up to 64.
  const bool is_depthwise = groups > 1 && sizes[0] == groups && sizes[1] == 1;
  return (groups > 1 && !is_depthwise) || (half % 16 == 0 && half >= (is_depthwise ? 32 : 64));
}

int64_t ConvolutionCall::parts_for_cache(int64_t elements, int64_t max_elements, int64_t parts,
                                         int64_t max_parts) const {
  while (parts < max_parts && elements / parts > max_elements && can_halve(parts)) parts *= 2;
  return parts;
}

bool ConvolutionCall::is_faster_with_channels_last() const {
  if (source.impl()->dtype != Dtype::f32 || groups > 1 || !library_has_avx512()) return false;
  const Sizes& sizes = weight.impl()->sizes;
  bool has_stride = false;
  int64_t taps = 1;
  for (size_t d = 2; d < sizes.size(); ++d) {
    has_stride = has_stride || stride[d - 2] > 1;
    taps *= sizes[d];
  }
  const int64_t channels = sizes[1];
  if (taps == 1 || channels < 16) return false;
  switch (pass) {
    case Pass::destination: return channels > 16;
    case Pass::source: return has_stride;
    case Pass::weight: return !has_stride;
  }
  return false;
}

void LibraryConvolution::set_types(int64_t samples) {
  const ConvolutionCall& c = *call_;
  const int64_t source_parts = c.cuts_source() ? parts_ : 1, destination_parts = c.cuts_destination() ? parts_ : 1;
  source_type_ = tile_type(c.source, samples, c.source.impl()->sizes[1] / source_parts);
  destination_type_ = tile_type(c.destination, samples, c.destination.impl()->sizes[1] / destination_parts);
  Sizes sizes = c.weight.impl()->sizes, strides = c.weight.impl()->strides;
  if (c.groups > 1) {
    sizes[0] /= c.groups;
    sizes.insert(0, c.groups / parts_);
    strides.insert(0, strides[0] * sizes[1]);
  } else {
    sizes[c.pass == Pass::source ? 1 : 0] /= parts_;
  }
  weight_type_ = strided(sizes, strides, c.weight.impl()->dtype);
  if (c.bias.defined()) {
    Sizes channels = c.bias.impl()->sizes;
    channels[0] /= parts_;
    bias_type_ = strided(channels, c.bias.impl()->strides, c.bias.impl()->dtype);
  }
}

bool LibraryConvolution::describe(DescriptorHandle& description, const LibraryConvolution* like) const {
  const ConvolutionCall& c = *call_;
  const dnnl_data_type_t element = source_type_.data_type;
  const auto form = [&](const dnnl_memory_desc_t& type) {
    return has_channels_last_ ? channels_last(type) : any_form(type, element);
  };
  const dnnl_memory_desc_t from = form(source_type_), to = form(destination_type_);
  const bool is_packed = like != nullptr && c.pass != Pass::weight;
  const dnnl_memory_desc_t factors = is_packed ? like->weight.wanted() : any_form(weight_type_, element);
  const dnnl_memory_desc_t* const shift = c.bias.defined() ? &bias_type_ : nullptr;
  AttributeHandle attributes;
  dnnl_convolution_desc_t forward;
  if (!LibraryOperation::set_attributes(attributes) ||
      dnnl_dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct, &from,
                                                 &factors, shift, &to, c.stride, c.dilation, c.before,
                                                 c.after) != dnnl_success)
    return false;
  if (c.pass == Pass::destination)
    return dnnl_primitive_desc_create(description.address(), &forward, attributes.get(), engine(), nullptr) ==
           dnnl_success;
  DescriptorHandle hint;
  if (dnnl_primitive_desc_create(hint.address(), &forward, attributes.get(), engine(), nullptr) != dnnl_success)
    return false;
  dnnl_convolution_desc_t backward;
  // A weight's gradient is summed in f32, chunk after chunk.
  const dnnl_memory_desc_t sums = like != nullptr ? like->weight.wanted() : any_form(weight_type_, dnnl_f32);
  const dnnl_status_t status =
      c.pass == Pass::source
          ? dnnl_dilated_convolution_backward_data_desc_init(&backward, dnnl_convolution_direct, &from, &factors, &to,
                                                             c.stride, c.dilation, c.before, c.after)
          : dnnl_dilated_convolution_backward_weights_desc_init(&backward, dnnl_convolution_direct, &from, &sums,
                                                                nullptr, &to, c.stride, c.dilation, c.before, c.after);
  return status == dnnl_success && dnnl_primitive_desc_create(description.address(), &backward, attributes.get(),
                                                              engine(), hint.get()) == dnnl_success;
}

bool LibraryConvolution::create(const ConvolutionCall& call, int64_t samples, int64_t parts,
                                const LibraryConvolution* like) {
  if (engine() == nullptr) return false;
  call_ = &call;
  parts_ = parts;
  set_types(samples);
  return (call.is_faster_with_channels_last() && create_in_form(true, like)) || create_in_form(false, like);
}

bool LibraryConvolution::create_in_form(bool has_channels_last, const LibraryConvolution* like) {
  has_channels_last_ = has_channels_last;
  DescriptorHandle description;
  if (!describe(description, like)) return false;
  const char* name = "";
  dnnl_primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0, &name);
  if (std::string_view(name).starts_with("ref")) return false;  // one element after another
  const auto form = [&](dnnl_query_t what) { return *dnnl_primitive_desc_query_md(description.get(), what, 0); };
  using Use = LibraryOperand::Use;
  const bool makes_source = call_->pass == Pass::source, makes_weight = call_->pass == Pass::weight,
             makes_destination = call_->pass == Pass::destination;
  return source.create(source_type_, form(makes_source ? dnnl_query_diff_src_md : dnnl_query_src_md),
                       makes_source ? Use::written : Use::read) &&
         weight.create(weight_type_, form(makes_weight ? dnnl_query_diff_weights_md : dnnl_query_weights_md),
                       makes_weight ? Use::written : Use::read) &&
         destination.create(destination_type_, form(makes_destination ? dnnl_query_dst_md : dnnl_query_diff_dst_md),
                            makes_destination ? Use::written : Use::read) &&
         operation_.create(description.get());
}

void* LibraryConvolution::source_at(int64_t sample, int64_t part) const {
  const int64_t channels = call_->source.impl()->sizes[1];
  return element_at(call_->source, sample, call_->cuts_source() ? channels / parts_ * part : 0);
}

void* LibraryConvolution::destination_at(int64_t sample, int64_t part) const {
  const int64_t channels = call_->destination.impl()->sizes[1];
  return element_at(call_->destination, sample, call_->cuts_destination() ? channels / parts_ * part : 0);
}

void* LibraryConvolution::weight_at(int64_t part) const {
  const Sizes& sizes = call_->weight.impl()->sizes;
  if (call_->groups == 1 && call_->pass == Pass::source) return element_at(call_->weight, 0, sizes[1] / parts_ * part);
  return element_at(call_->weight, sizes[0] / parts_ * part, 0);
}

bool LibraryConvolution::run(void* from, void* factors, void* to, int64_t part) const {
  const Pass pass = call_->pass;
  LibraryArgument arguments[4] = {
      {pass == Pass::source ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, &source.wanted(), from},
      {pass == Pass::weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, &weight.wanted(), factors},
      {pass == Pass::destination ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, &destination.wanted(), to},
      {DNNL_ARG_BIAS, &bias_type_, nullptr}};
  if (!call_->bias.defined()) return operation_.run({arguments, 3});
  const TensorImpl& bias = *call_->bias.impl();
  arguments[3].data = bias.data() + bias.sizes[0] / parts_ * part * size_of(bias.dtype);
  return operation_.run({arguments, 4});
}

}  // namespace fulgurite

#endif
