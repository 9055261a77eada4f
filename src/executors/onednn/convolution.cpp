#include "executors/onednn/convolution.h"

#include <atomic>

#include "executors/eager/copy.h"
#include "ops/symbols.h"

#ifdef FULGURITE_ONEDNN
#include "executors/onednn/library_objects.h"
#include "runtime/parallel_for.h"
#include "tensor/allocator.h"
#endif

namespace fulgurite {

#ifdef FULGURITE_ONEDNN
namespace {

constexpr int64_t most_kernel_elements =
    128;  // larger ones are weights' cotangents, which are few columns of long sums

#define FULGURITE_TRY(call) \
  if ((call) != dnnl_success) return false

/// Memory in the form that the library asks for.
class Block {
 public:
  Block() = default;
  explicit Block(size_t bytes) : bytes_(bytes), data_(allocate(bytes)) {}
  Block(Block&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Block() {
    if (data_ != nullptr) deallocate(data_, bytes_);
  }
  void* data() const { return data_; }

 private:
  size_t bytes_ = 0;
  void* data_ = nullptr;
};

bool execute(dnnl_primitive_desc_t description, std::span<dnnl_exec_arg_t> arguments) {
  PrimitiveHandle primitive;
  FULGURITE_TRY(dnnl_primitive_create(primitive.address(), description));
  StreamHandle stream;
  FULGURITE_TRY(dnnl_stream_create(stream.address(), engine(), dnnl_stream_default_flags));
  FULGURITE_TRY(
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data()));
  return dnnl_stream_wait(stream.get()) == dnnl_success;
}

bool reorder(const dnnl_memory_desc_t& from_type, void* from, const dnnl_memory_desc_t& to_type, void* to) {
  DescriptorHandle description;
  FULGURITE_TRY(
      dnnl_reorder_primitive_desc_create(description.address(), &from_type, engine(), &to_type, engine(), nullptr));
  MemoryHandle source, destination;
  FULGURITE_TRY(dnnl_memory_create(source.address(), &from_type, engine(), from));
  FULGURITE_TRY(dnnl_memory_create(destination.address(), &to_type, engine(), to));
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, source.get()}, {DNNL_ARG_TO, destination.get()}};
  return execute(description.get(), arguments);
}

/// A convolution of some samples; transposed ones are what the library calls the cotangent of an input.
class SampleConvolution {
 public:
  SampleConvolution(Arguments a, const Tensor& result)
      : input_(*a[0].tensor().impl()),
        weight_(*a[1].tensor().impl()),
        result_(*result.impl()),
        count_(input_.sizes.size() - 2),
        is_transposed_(a[6].boolean().hint()),
        groups_(a[8].integer().hint()) {
    type_ = result_.dtype == Dtype::f32 ? dnnl_f32 : dnnl_bf16;
    const TensorImpl &counted = is_transposed_ ? input_ : result_, &covered = is_transposed_ ? result_ : input_;
    for (size_t d = 0; d < count_; ++d) {
      const auto number = [&](size_t i) -> int64_t {
        const auto list = a[i].integers();
        return list[list.size() == 1 ? 0 : d].hint();
      };
      stride_[d] = number(3);
      before_[d] = number(4);
      dilation_[d] = number(5) - 1;
      after_[d] = (counted.sizes[d + 2] - 1) * stride_[d] + (weight_.sizes[d + 2] - 1) * number(5) + 1 -
                  covered.sizes[d + 2] - before_[d];
    }
    if (a[2].is_tensor()) bias_ = a[2].tensor().impl().get();
    cut();
  }

  int64_t chunks() const { return input_.sizes[0] / samples_; }

  /// Asks the library how it wants its operands, and brings the weight into that form.
  bool prepare() {
    if (engine() == nullptr) return false;
    DescriptorHandle description;
    if (!describe(description, nullptr)) return false;
    packed_type_ = *dnnl_primitive_desc_query_md(description.get(), dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t given = weight_type();
    if (dnnl_memory_desc_equal(&given, &packed_type_)) {
      factors_ = weight_.data();
      return true;
    }
    packed_ = Block(dnnl_memory_desc_get_size(&packed_type_));
    factors_ = packed_.data();
    return reorder(given, weight_.data(), packed_type_, factors_);
  }

  bool run(int64_t chunk) const {
    const SerialScope serial;
    DescriptorHandle description;
    if (!describe(description, &packed_type_)) return false;
    const dnnl_memory_desc_t given = tensor_type(input_), wanted = tensor_type(result_);
    const dnnl_memory_desc_t input_type = *dnnl_primitive_desc_query_md(
        description.get(), is_transposed_ ? dnnl_query_diff_dst_md : dnnl_query_src_md, 0);
    const dnnl_memory_desc_t result_type = *dnnl_primitive_desc_query_md(
        description.get(), is_transposed_ ? dnnl_query_diff_src_md : dnnl_query_dst_md, 0);
    const int64_t bytes = size_of(result_.dtype);
    void* from = input_.data() + chunk * samples_ * input_.strides[0] * bytes;
    void* const to = result_.data() + chunk * samples_ * result_.strides[0] * bytes;
    Block turned_input, turned_result;
    if (!dnnl_memory_desc_equal(&given, &input_type)) {
      turned_input = Block(dnnl_memory_desc_get_size(&input_type));
      if (!reorder(given, from, input_type, turned_input.data())) return false;
      from = turned_input.data();
    }
    const bool is_direct = dnnl_memory_desc_equal(&wanted, &result_type) != 0;
    if (!is_direct) turned_result = Block(dnnl_memory_desc_get_size(&result_type));
    MemoryHandle memory[4];
    FULGURITE_TRY(dnnl_memory_create(memory[0].address(), &input_type, engine(), from));
    FULGURITE_TRY(dnnl_memory_create(memory[1].address(), &packed_type_, engine(), factors_));
    FULGURITE_TRY(
        dnnl_memory_create(memory[2].address(), &result_type, engine(), is_direct ? to : turned_result.data()));
    dnnl_exec_arg_t arguments[4] = {{is_transposed_ ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC, memory[0].get()},
                                    {DNNL_ARG_WEIGHTS, memory[1].get()},
                                    {is_transposed_ ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST, memory[2].get()},
                                    {DNNL_ARG_BIAS, nullptr}};
    if (bias_ != nullptr) {
      const dnnl_memory_desc_t bias_form = bias_type();
      FULGURITE_TRY(dnnl_memory_create(memory[3].address(), &bias_form, engine(), bias_->data()));
      arguments[3].memory = memory[3].get();
    }
    if (!execute(description.get(), {arguments, bias_ != nullptr ? 4u : 3u})) return false;
    return is_direct || reorder(result_type, turned_result.data(), wanted, to);
  }

 private:
  // As many samples at once as make some tenths of a millisecond, of equal chunks: a function of the sizes alone.
  void cut() {
    const int64_t samples = input_.sizes[0];
    double work = 2;
    for (size_t d = 1; d < weight_.sizes.size(); ++d) work *= static_cast<double>(weight_.sizes[d]);
    const TensorImpl& counted = is_transposed_ ? input_ : result_;
    for (size_t d = 1; d < counted.sizes.size(); ++d) work *= static_cast<double>(counted.sizes[d]);
    const int64_t wanted = std::min<int64_t>(samples / 2, 1 + static_cast<int64_t>(2e7 / std::max(work, 1.0)));
    samples_ = 1;
    for (int64_t n = 2; n <= wanted; ++n)
      if (samples % n == 0) samples_ = n;
  }

  dnnl_memory_desc_t strided(std::span<const int64_t> sizes, std::span<const int64_t> strides) const {
    dnnl_dims_t dims = {}, steps = {};
    std::copy(sizes.begin(), sizes.end(), dims);
    std::copy(strides.begin(), strides.end(), steps);
    dnnl_memory_desc_t type;
    dnnl_memory_desc_init_by_strides(&type, static_cast<int>(sizes.size()), dims, type_, steps);
    return type;
  }
  dnnl_memory_desc_t tensor_type(const TensorImpl& t) const {
    Sizes sizes = t.sizes;
    sizes[0] = samples_;
    return strided({sizes.data(), sizes.size()}, {t.strides.data(), t.strides.size()});
  }
  dnnl_memory_desc_t bias_type() const { return strided({bias_->sizes.data(), 1}, {bias_->strides.data(), 1}); }
  dnnl_memory_desc_t weight_type() const {
    Sizes sizes = weight_.sizes, strides = weight_.strides;
    if (groups_ > 1) {
      sizes[0] /= groups_;
      sizes.insert(0, groups_);
      strides.insert(0, strides[0] * sizes[1]);
    }
    return strided({sizes.data(), sizes.size()}, {strides.data(), strides.size()});
  }
  static dnnl_memory_desc_t any_form(dnnl_memory_desc_t type) {
    dnnl_memory_desc_t out;
    dnnl_memory_desc_init_by_tag(&out, type.ndims, type.dims, type.data_type, dnnl_format_tag_any);
    return out;
  }

  bool describe(DescriptorHandle& description, const dnnl_memory_desc_t* weight) const {
    const dnnl_memory_desc_t weights = weight ? *weight : any_form(weight_type());
    const dnnl_memory_desc_t inputs = any_form(tensor_type(input_)), results = any_form(tensor_type(result_));
    const dnnl_memory_desc_t &source = is_transposed_ ? results : inputs,
                             &destination = is_transposed_ ? inputs : results;
    dnnl_memory_desc_t bias;
    if (bias_ != nullptr) bias = bias_type();
    dnnl_convolution_desc_t forward;
    FULGURITE_TRY(dnnl_dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct,
                                                             &source, &weights, bias_ != nullptr ? &bias : nullptr,
                                                             &destination, stride_, dilation_, before_, after_));
    if (!is_transposed_)
      return dnnl_primitive_desc_create(description.address(), &forward, nullptr, engine(), nullptr) == dnnl_success;
    DescriptorHandle hint;
    FULGURITE_TRY(dnnl_primitive_desc_create(hint.address(), &forward, nullptr, engine(), nullptr));
    dnnl_convolution_desc_t backward;
    FULGURITE_TRY(dnnl_dilated_convolution_backward_data_desc_init(
        &backward, dnnl_convolution_direct, &source, &weights, &destination, stride_, dilation_, before_, after_));
    return dnnl_primitive_desc_create(description.address(), &backward, nullptr, engine(), hint.get()) == dnnl_success;
  }

  const TensorImpl &input_, &weight_, &result_;
  const TensorImpl* bias_ = nullptr;
  size_t count_;
  bool is_transposed_;
  int64_t groups_, samples_ = 1;
  dnnl_data_type_t type_;
  dnnl_dims_t stride_ = {}, dilation_ = {}, before_ = {}, after_ = {};
  dnnl_memory_desc_t packed_type_;
  Block packed_;
  void* factors_ = nullptr;
};
#undef FULGURITE_TRY

bool has_plain_strides(const TensorImpl& t) {
  for (size_t d = 0; d < t.sizes.size(); ++d)
    if (t.sizes[d] > 1 && t.strides[d] <= 0) return false;
  return true;
}

bool run_library(Arguments arguments, const Tensor& result) {
  const TensorImpl &input = *arguments[0].tensor().impl(), &weight = *arguments[1].tensor().impl();
  // A lone sample is cut finer by the eager kernel.
  if (result.impl()->numel() == 0 || weight.numel() == 0 || input.sizes[0] < 2) return false;
  if (!has_plain_strides(input) || !has_plain_strides(weight)) return false;
  if (arguments[2].is_tensor() && (arguments[6].boolean().hint() || arguments[2].tensor().impl()->strides[0] != 1))
    return false;
  SampleConvolution convolution(arguments, result);
  if (!convolution.prepare()) return false;
  std::atomic<bool> is_done = true;
  parallel_for(convolution.chunks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk)
      if (!convolution.run(chunk)) is_done = false;
  });
  return is_done;
}

}  // namespace

bool takes_convolution(Arguments arguments) {
  const Tensor &x = arguments[0].tensor(), &weight = arguments[1].tensor();
  if (x.dtype() != Dtype::f32 && x.dtype() != Dtype::bf16) return false;
  int64_t kernel = 1;
  for (int64_t d = 2; d < weight.ndim(); ++d) kernel *= weight.size(static_cast<int>(d)).hint();
  return kernel <= most_kernel_elements;
}

void library_convolution_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (!run_library(arguments, results[0]))
    find_eager_implementation(prims_convolution_symbol)->kernel(arguments, results);
}

#else

bool takes_convolution(Arguments) { return false; }
void library_convolution_kernel(Arguments arguments, std::span<const Tensor> results) {
  find_eager_implementation(prims_convolution_symbol)->kernel(arguments, results);
}

#endif

}  // namespace fulgurite
