#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/convolution_layers.h>
#include <fulgurite/detail/walk.h>
#include <fulgurite/layer_options.h>
#include <fulgurite/operators.h>
#include <fulgurite/quantized_weight.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Layers are plain structures of tensors. A model is a structure of layers, without a base class or registration:
//
//   struct Model {
//     nn::Linear first{10, 20}, second{20, 1};
//     Tensor operator()(Tensor x) const { return second(relu(first(x))); }
//   };
//
// New layers have PyTorch's initial values. Calls forward their caller's line.
//
// A tensor is a handle, so copies of a layer or a model (`best = model`) share every parameter: training one trains the
// other. `nn::clone(model)` copies the elements.
namespace nn {

/// A change of a linear layer of low rank (LoRA, Hu et al. 2021): B (A x) times scale.
struct LowRank {
  Tensor A, B;  // [rank, in], [out, rank]
  double scale = 1;
  double dropout = 0;  // of x, while training
  bool training = true;
};

/// x weightᵀ + bias, and the change of low rank if there is one (hub::with_lora adds it). In place of the weight, which
/// is then undefined, there may be one of few bits (hub::LoadOptions::weights); its tensors are named "weight.codes",
/// "weight.scales" and "weight.minima".
struct Linear {
  Tensor weight, bias;  // [out, in]; [out] or undefined
  std::optional<QuantizedWeight> quantized;
  std::optional<LowRank> lora;
  Linear() = default;
  Linear(int64_t in_features, int64_t out_features, const LinearOptions& options = {},
         SourceLocation at = SourceLocation::here());
  Linear(int64_t in_features, int64_t out_features, const fulgurite::detail::Given<bool>& bias,
         const TensorOptions& options = {}, SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  /// True if there is a weight, of few bits or not.
  bool has_weight() const { return quantized || weight.defined(); }
  /// The sizes of the weight.
  int64_t in_features() const { return quantized ? quantized->in_features() : weight.size(1).hint(); }
  int64_t out_features() const { return quantized ? quantized->out_features() : weight.size(0).hint(); }
};

/// Looks up a row of weight for each index.
struct Embedding {
  Tensor weight;  // [rows, width]
  std::optional<int64_t> padding_idx;
  bool scale_grad_by_freq = false;  // a row's gradient is divided by how often the row is taken
  Embedding() = default;
  Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options = {},
            SourceLocation at = SourceLocation::here());
  Embedding(int64_t num_embeddings, int64_t embedding_dim,
            const fulgurite::detail::Given<std::optional<int64_t>>& padding_idx,
            SourceLocation at = SourceLocation::here());
  Embedding(int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding_idx,
            const TensorOptions& options, SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& indices, SourceLocation at = SourceLocation::here()) const;
};

/// One size or several, for the normalization layers.
struct NormalizedShape {
  std::vector<int64_t> sizes;
  template <fulgurite::detail::IntegerLike... T>
  requires(sizeof...(T) > 0) NormalizedShape(T... sizes) : sizes{static_cast<int64_t>(sizes)...} {}
  template <std::same_as<int64_t> T>
  NormalizedShape(std::vector<T> sizes) : sizes(std::move(sizes)) {}
};

/// Subtracts the mean and divides by the standard deviation over the last dimensions.
struct LayerNorm {
  Tensor weight, bias;
  std::vector<int64_t> normalized_shape;
  double eps = 1e-5;
  LayerNorm() = default;
  explicit LayerNorm(const NormalizedShape& shape, const LayerNormOptions& options = {},
                     SourceLocation at = SourceLocation::here());
  template <size_t count>  // LayerNorm({8, 16}), which g++ 12 would find ambiguous
  explicit LayerNorm(const int64_t (&shape)[count], SourceLocation at = SourceLocation::here())
      : LayerNorm(NormalizedShape(std::vector<int64_t>(shape, shape + count)), LayerNormOptions(), at) {}
  explicit LayerNorm(const NormalizedShape& shape, const fulgurite::detail::Given<double>& eps,
                     bool elementwise_affine = true, bool bias = true, const TensorOptions& options = {},
                     SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};

/// Divides by the root of the mean square over the last dimensions.
struct RMSNorm {
  Tensor weight;
  std::vector<int64_t> normalized_shape;
  std::optional<double> eps;
  RMSNorm() = default;
  explicit RMSNorm(const NormalizedShape& shape, const RMSNormOptions& options = {},
                   SourceLocation at = SourceLocation::here());
  template <size_t count>  // RMSNorm({8, 16}), which g++ 12 would find ambiguous
  explicit RMSNorm(const int64_t (&shape)[count], SourceLocation at = SourceLocation::here())
      : RMSNorm(NormalizedShape(std::vector<int64_t>(shape, shape + count)), RMSNormOptions(), at) {}
  explicit RMSNorm(const NormalizedShape& shape, const fulgurite::detail::Given<std::optional<double>>& eps,
                   SourceLocation at = SourceLocation::here());
  RMSNorm(const NormalizedShape& shape, std::optional<double> eps, bool elementwise_affine,
          const TensorOptions& options = {}, SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};

/// Options of Dropout.
struct DropoutOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double p = 0.5;
};
/// Sets elements to zero while training.
struct Dropout {
  double p = 0.5;
  bool training = true;
  Dropout() = default;
  Dropout(double p, bool training = true) : p(p), training(training) {}
  Dropout(const DropoutOptions& options) : p(options.p) {}
  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
};

}  // namespace nn

template <>
struct Fields<nn::Linear> {
  static void visit(auto& object, auto&& member) {
    member("weight", object.weight);
    member("weight", object.quantized);
    member("bias", object.bias);
    member("lora", object.lora);
  }
};
template <>
struct Fields<nn::Embedding> {
  static void visit(auto& object, auto&& member) {
    member("weight", object.weight);
    member("padding_idx", object.padding_idx);
    member("scale_grad_by_freq", object.scale_grad_by_freq);
  }
};
template <>
struct Fields<nn::Dropout> {
  static void visit(auto& object, auto&& member) {
    member("p", object.p);
    member("training", object.training);
  }
};
template <>
struct Fields<nn::LayerNorm> {
  static void visit(auto& object, auto&& member) {
    member("weight", object.weight);
    member("bias", object.bias);
    member("normalized_shape", object.normalized_shape);
    member("eps", object.eps);
  }
};
template <>
struct Fields<nn::RMSNorm> {
  static void visit(auto& object, auto&& member) {
    member("weight", object.weight);
    member("normalized_shape", object.normalized_shape);
    member("eps", object.eps);
  }
};

namespace nn {

/// Tensors with their dotted names, in the order of the members.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Fills the tensor from the normal distribution.
void normal_(const Tensor& tensor, double mean = 0, double std = 1, SourceLocation at = SourceLocation::here());
/// Fills the tensor from the uniform distribution on [low, high).
void uniform_(const Tensor& tensor, double low = 0, double high = 1, SourceLocation at = SourceLocation::here());

/// Options of load_state_dict.
struct LoadOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  bool strict = true;  // false: names may be missing or unknown
};
/// The names of the model that the state does not have, and those of the state that the model does not have.
struct LoadResult {
  std::vector<std::string> missing, unexpected;
};

namespace model_detail {
/// Removes undefined tensors, those that require no gradient, and repetitions.
NamedTensors keep_parameters(NamedTensors all);
/// Converts the tensor's storage to another dtype; for a parameter also its gradient.
void convert_in_place(const Tensor& tensor, Dtype dtype);
LoadResult load_state(const NamedTensors& into, const std::map<std::string, Tensor>& from, bool strict,
                      SourceLocation at);
std::map<std::string, Tensor> state_of(const NamedTensors& all);

template <class Model>
NamedTensors named_tensors(const Model& model) {
  NamedTensors out;
  fulgurite::detail::for_each_named_tensor(
      model, [&out](const std::string& path, const Tensor& tensor) { out.emplace_back(path, tensor); });
  return out;
}

/// Replaces each tensor by a copy; identities and shared memory are preserved.
void replace_by_copies(const std::vector<Tensor*>& tensors);

struct TensorCollector {
  static constexpr bool may_write = true;
  std::vector<Tensor*> tensors;
  void leaf(Tensor& tensor) { tensors.push_back(&tensor); }
  template <class T>
  void leaf(T&) {}
};

struct TrainingSetter {
  bool value;
  template <class T>
  void leaf(T&) {}
  template <class T>
  void node(T& object) {
    if constexpr (requires { object.training = true; }) object.training = value;
  }
};
}  // namespace model_detail

/// Returns every tensor of the model that requires grad, with its dotted name, in the order of the members; each tensor
/// once.
template <class Model>
NamedTensors named_parameters(const Model& model) {
  return model_detail::keep_parameters(model_detail::named_tensors(model));
}
template <class Model>
std::vector<Tensor> parameters(const Model& model) {
  std::vector<Tensor> out;
  for (auto& [name, tensor] : named_parameters(model)) out.push_back(std::move(tensor));
  return out;
}

/// Returns every tensor of the model by name; they share its storage.
template <class Model>
std::map<std::string, Tensor> state_dict(const Model& model) {
  return model_detail::state_of(model_detail::named_tensors(model));
}
/// Copies the values in, converted to the model's dtypes. Throws UserError when a name is missing or unknown, unless
/// `options.strict` is false, or when a shape differs; the model is then unchanged.
template <class Model>
LoadResult load_state_dict(const Model& model, const std::map<std::string, Tensor>& state, const LoadOptions& options,
                           SourceLocation at = SourceLocation::here()) {
  return model_detail::load_state(model_detail::named_tensors(model), state, options.strict, at);
}
template <class Model>
LoadResult load_state_dict(const Model& model, const std::map<std::string, Tensor>& state,
                           SourceLocation at = SourceLocation::here()) {
  return model_detail::load_state(model_detail::named_tensors(model), state, true, at);
}

/// Returns a copy of the model with tensors of its own: parameters and buffers with their values, requires_grad and
/// names, without gradients and history. Members that were one tensor (tied weights) or shared memory do so in the
/// copy.
///
///     Model best = nn::clone(model);              // keep the best model
///     Model average = nn::clone(model);           // or an average: average = 0.99 average + 0.01 model
template <class Model>
[[nodiscard]] Model clone(const Model& model) {
  Model copy = model;
  model_detail::TensorCollector collector;
  fulgurite::detail::walk(copy, collector);
  model_detail::replace_by_copies(collector.tensors);
  return copy;
}

/// Sets every member named `training`.
template <class Model>
void train(Model& model, bool training = true) {
  model_detail::TrainingSetter setter{training};
  fulgurite::detail::walk(model, setter);
}
template <class Model>
void eval(Model& model) {
  train(model, false);
}

/// Converts every floating tensor of the model in place: optimizers and functions that hold it see the change.
template <class Model>
void to(const Model& model, Dtype dtype) {
  for (const auto& [name, tensor] : model_detail::named_tensors(model))
    if (tensor.defined() && is_floating(tensor.dtype())) model_detail::convert_in_place(tensor, dtype);
}

}  // namespace nn
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
