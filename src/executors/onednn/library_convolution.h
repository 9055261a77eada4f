#pragma once
#include <algorithm>
#include <limits>
#include <optional>

#include "executors/onednn/library_operation.h"
#include "ops/core/argument.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// Returns true if the library uses AVX-512 on this CPU.
bool library_has_avx512();

/// A convolution, or one of its gradients, on this call's tensors. The windows of `source` times `weight` make
/// `destination`; the pass says which of the three is computed from the other two.
struct ConvolutionCall {
  enum class Pass { destination, source, weight };

  /// Elements of some groups' source that stay in the L2 cache.
  static constexpr int64_t max_cached_source = 1 << 17;

  Pass pass = Pass::destination;
  Tensor source, weight, destination, bias;  // bias: only for the pass `destination`, and optional
  int64_t groups = 1;
  dnnl_dims_t stride = {}, dilation = {}, before = {}, after = {};

  /// Sets the numbers of the spatial dimensions from an operator's lists.
  void set_numbers(const Argument& strides, const Argument& paddings, const Argument& dilations);
  bool is_possible() const;
  /// Operations per sample.
  double work() const;
  int64_t samples() const { return source.impl()->sizes[0]; }
  /// Windows of a sample.
  int64_t positions() const;
  /// Returns true if the channels of what is computed, or the groups, can be divided into twice as many parts as
  /// `parts`.
  bool can_halve(int64_t parts) const;
  /// Doubles `parts`, as long as can_halve() allows it, until it is `max_parts` or a part of `elements` has at most
  /// `max_elements`.
  int64_t parts_for_cache(int64_t elements, int64_t max_elements, int64_t parts,
                          int64_t max_parts = std::numeric_limits<int64_t>::max()) const;
  /// Returns true if the library is faster with channels last than in the form it prefers. Its forward has newer
  /// implementations then. Measured with f32 on AVX-512: see docs/decisions/0001-convolutions.md.
  bool is_faster_with_channels_last() const;

  bool cuts_source() const { return groups > 1 || pass == Pass::source; }
  bool cuts_destination() const { return groups > 1 || pass != Pass::source; }
};

/// One pass over some samples and one of equal parts of the channels, computed serially by the library.
class LibraryConvolution {
 public:
  /// `like` is the convolution whose converted weight is used, or null. Returns false if the library does not support
  /// this, or is slow.
  bool create(const ConvolutionCall&, int64_t samples, int64_t parts, const LibraryConvolution* like = nullptr);

  /// The memory of the tensor's elements from a sample and part on.
  void* source_at(int64_t sample, int64_t part) const;
  void* destination_at(int64_t sample, int64_t part) const;
  void* weight_at(int64_t part) const;

  bool run(void* source, void* weight, void* destination, int64_t part) const;

  LibraryOperand source, weight, destination;

 private:
  void set_types(int64_t samples);
  bool create_in_form(bool has_channels_last, const LibraryConvolution* like);
  bool describe(DescriptorHandle&, const LibraryConvolution* like) const;

  const ConvolutionCall* call_ = nullptr;
  int64_t parts_ = 1;
  bool has_channels_last_ = false;  // source and destination, as the library sees them; it chooses their form otherwise
  dnnl_memory_desc_t source_type_ = {}, weight_type_ = {}, destination_type_ = {}, bias_type_ = {};
  LibraryOperation operation_;
};

/// Computes the call; returns false if the library does not support it.
bool run_convolution(const ConvolutionCall&);
bool run_convolution_weight(const ConvolutionCall&);

}  // namespace fulgurite
