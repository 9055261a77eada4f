#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <type_traits>
#include <typeinfo>

#include <fulgurite/activation_layers.h>
#include <fulgurite/attention_layers.h>
#include <fulgurite/convolution_layers.h>
#include <fulgurite/detail/erased_walk.h>
#include <fulgurite/detail/walk.h>
#include <fulgurite/embedding_bag.h>
#include <fulgurite/model_parts.h>
#include <fulgurite/nn.h>
#include <fulgurite/normalization_layers.h>
#include <fulgurite/padding_layers.h>
#include <fulgurite/recurrent_layers.h>
#include <fulgurite/sequential.h>
#include <fulgurite/transformer.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

namespace model_detail {

template <class... T>
struct Types {};
using LayerTypes =
    Types<Linear, Bilinear, Embedding, EmbeddingBag, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d,
          ConvTranspose3d, BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d,
          LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm, RNN, LSTM, GRU, RNNCell, LSTMCell, GRUCell,
          MultiheadAttention, TransformerEncoderLayer, TransformerEncoder, TransformerDecoderLayer, TransformerDecoder,
          Transformer, Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout, MaxPool1d,
          MaxPool2d, MaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d, AdaptiveAvgPool1d, AdaptiveAvgPool2d,
          AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, Identity, ReLU, ReLU6, SiLU, Mish,
          Sigmoid, Tanh, SELU, Softsign, Tanhshrink, LogSigmoid, Hardswish, Hardsigmoid, Softmax2d, GELU, LeakyReLU,
          ELU, CELU, Softplus, Softshrink, Hardshrink, Hardtanh, Threshold, Softmax, LogSoftmax, Softmin, GLU, PReLU,
          RReLU, Flatten, Unflatten, PixelShuffle, PixelUnshuffle, ChannelShuffle, Upsample>;

template <class F, class T>
concept AppliesTo = requires(F& function, T& part) {
  function(part);
};

/// The type that a function of one parameter takes; none for a generic or overloaded function.
template <class F>
struct ParameterOf {};
template <class R, class T>
struct ParameterOf<R (*)(T&)> {
  using type = T;
};
template <class R, class T>
struct ParameterOf<R (*)(T&) noexcept> {
  using type = T;
};
template <class F, class R, class T>
struct ParameterOf<R (F::*)(T&)> {
  using type = T;
};
template <class F, class R, class T>
struct ParameterOf<R (F::*)(T&) const> {
  using type = T;
};
template <class F>
requires requires { &F::operator(); }
struct ParameterOf<F> : ParameterOf<decltype(&F::operator())> {};

/// Calls a function with the parts that it accepts.
template <class F>
struct Applier {
  F& function;
  template <class T>
  void leaf(T&) {}
  template <class T>
  void node(T& object) {
    if constexpr (AppliesTo<F, T>) function(object);
  }
  void erased_node(const fulgurite::detail::ErasedPart& part) {
    if constexpr (requires { typename ParameterOf<F>::type; }) {
      apply_as<std::remove_const_t<typename ParameterOf<F>::type>>(part);
    } else if (part.module != nullptr) {
      if constexpr (AppliesTo<F, Module>) function(*part.module);
    } else {
      apply_to_any(part, LayerTypes());
    }
  }

 private:
  template <class T>
  void apply_as(const fulgurite::detail::ErasedPart& part) {
    if constexpr (std::derived_from<T, Module>) {
      if (auto* const object = dynamic_cast<T*>(part.module)) function(*object);
    } else if (part.type == typeid(T)) {
      function(*static_cast<T*>(part.object));
    }
  }
  template <class T>
  bool is_applied_as(const fulgurite::detail::ErasedPart& part) {
    if (part.type != typeid(T)) return false;
    if constexpr (AppliesTo<F, T>) function(*static_cast<T*>(part.object));
    return true;
  }
  template <class... T>
  void apply_to_any(const fulgurite::detail::ErasedPart& part, Types<T...>) {
    (is_applied_as<T>(part) || ...);
  }
};
}  // namespace model_detail

/// Calls the function with each part of the model that it accepts, outermost first (torch.nn.Module.apply):
///
///     nn::apply(model, [](nn::Linear& layer) { nn::init::xavier_uniform_(layer.weight); });
///
/// An overloaded or generic function sees several kinds of layers. Inside Sequential, AnyLayer, pointers and classes
/// derived from Module it sees the library's layers, and such classes as Module; a function that names the type of a
/// program's own layer sees it there too.
template <class Model, class F>
void apply(Model& model, F function) {
  model_detail::Applier<F> applier{function};
  fulgurite::detail::walk(model, applier);
}

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
