#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <fulgurite/detail/erased_walk.h>
#include <fulgurite/fields.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace nn {

class AnyLayer;
class Sequential;

namespace layer_detail {
template <class T>
concept MapsTensor = requires(const T& layer, const Tensor& x) {
  { layer(x) } -> std::convertible_to<Tensor>;
};
/// A layer, or a function that maps a tensor to a tensor.
template <class T>
concept Layer = MapsTensor<std::decay_t<T>> && !std::same_as<std::decay_t<T>, AnyLayer>;
[[noreturn]] void refuse_empty_layer(SourceLocation);
[[noreturn]] void refuse_layer(size_t index, size_t count, SourceLocation);
}  // namespace layer_detail

/// Any layer that maps a tensor to a tensor: a structure of this library or of the program, or a lambda without
/// captures. A copy copies the layer (whose tensors are handles). Layers of different types stand in one vector:
/// `std::vector<nn::AnyLayer> layers{nn::Linear(2, 3), nn::ReLU()}`.
class AnyLayer {
 public:
  AnyLayer() = default;
  template <layer_detail::Layer T>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): the concept excludes AnyLayer
  AnyLayer(T&& layer) : holder_(std::make_unique<Holder<std::decay_t<T>>>(std::forward<T>(layer))) {}
  AnyLayer(const AnyLayer& other) : holder_(other.holder_ ? other.holder_->copy() : nullptr) {}
  AnyLayer(AnyLayer&&) noexcept = default;
  AnyLayer& operator=(AnyLayer other) noexcept {
    holder_ = std::move(other.holder_);
    return *this;
  }

  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const {
    if (!holder_) layer_detail::refuse_empty_layer(at);
    return holder_->call(x, at);
  }
  /// The layer itself if it is a T, else null.
  template <class T>
  T* target() {
    auto* const holder = dynamic_cast<Holder<T>*>(holder_.get());
    return holder ? &holder->layer : nullptr;
  }
  template <class T>
  const T* target() const {
    return const_cast<AnyLayer*>(this)->target<T>();
  }
  explicit operator bool() const { return static_cast<bool>(holder_); }
  void show(fulgurite::detail::PartVisitor& visitor) const {
    visitor.structure(holder_ ? holder_->type() : std::string_view());
    if (holder_) holder_->show(visitor);
  }

 private:
  struct AnyHolder {
    virtual ~AnyHolder() = default;
    virtual Tensor call(const Tensor& x, SourceLocation at) const = 0;
    virtual std::unique_ptr<AnyHolder> copy() const = 0;
    virtual void show(fulgurite::detail::PartVisitor&) = 0;
    virtual std::string_view type() const = 0;
  };
  template <class T>
  struct Holder final : AnyHolder {
    T layer;
    explicit Holder(const T& layer) : layer(layer) {}
    explicit Holder(T&& layer) : layer(std::move(layer)) {}
    Tensor call(const Tensor& x, SourceLocation at) const override {
      if constexpr (requires { layer(x, at); }) return layer(x, at);
      else return layer(x);
    }
    std::unique_ptr<AnyHolder> copy() const override { return std::make_unique<Holder>(layer); }
    void show(fulgurite::detail::PartVisitor& visitor) override {
      fulgurite::detail::PartWalker walker{visitor};
      constexpr bool has_parts = fulgurite::detail::HasFields<T> || fulgurite::detail::is_plain_aggregate<T>;
      if constexpr (has_parts) fulgurite::detail::walk(layer, walker);
      else
        static_assert(
            std::is_empty_v<T> || std::is_function_v<std::remove_pointer_t<T>>,
            "fulgurite: a lambda with captures cannot be a layer, because its tensors would not be found; make it a "
            "structure with operator(), or specialise fulgurite::Fields for the class");
    }
    std::string_view type() const override { return typeid(T).name(); }
  };
  std::unique_ptr<AnyHolder> holder_;
};

/// A list of layers of any types; its tensors are named "0.weight" …
using ModuleList = std::vector<AnyLayer>;

/// Layers one behind another: `nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2))`, also as a member of
/// a model. Its tensors are named "0.weight", "2.weight" …, or by the names given to push_back().
class Sequential {
 public:
  Sequential() = default;
  template <layer_detail::Layer... Layers>
  requires(sizeof...(Layers) > 0 &&
           !(sizeof...(Layers) == 1 && (std::same_as<std::decay_t<Layers>, Sequential> && ...)))
      Sequential(Layers&&... layers) {
    (push_back(AnyLayer(std::forward<Layers>(layers))), ...);
  }
  explicit Sequential(std::vector<AnyLayer> layers) {
    for (AnyLayer& layer : layers) push_back(std::move(layer));
  }
  /// Layers with names: `nn::Sequential net{{"fc", nn::Linear(4, 8)}, {"act", nn::ReLU()}}`.
  Sequential(std::initializer_list<std::pair<std::string, AnyLayer>> layers) {
    for (const auto& [name, layer] : layers) push_back(name, layer);
  }

  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const {
    Tensor y = x;
    for (const auto& [name, layer] : layers_) y = layer(y, at);
    return y;
  }
  void push_back(AnyLayer layer) { push_back(std::to_string(layers_.size()), std::move(layer)); }
  void push_back(std::string name, AnyLayer layer) { layers_.emplace_back(std::move(name), std::move(layer)); }
  /// Adds the layers of another one at the end; they are numbered on.
  void extend(const Sequential& other) {
    for (const auto& [name, layer] : other.layers_) push_back(layer);
  }
  size_t size() const { return layers_.size(); }
  bool empty() const { return layers_.empty(); }

  /// Goes through the layers: `for (const nn::AnyLayer& layer : net) x = layer(x);`.
  class Iterator {
   public:
    using Position = std::vector<std::pair<std::string, AnyLayer>>::const_iterator;
    using value_type = AnyLayer;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(Position position) : position_(position) {}
    const AnyLayer& operator*() const { return position_->second; }
    const AnyLayer* operator->() const { return &position_->second; }
    Iterator& operator++() {
      ++position_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(position_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Position position_;
  };
  Iterator begin() const { return Iterator(layers_.begin()); }
  Iterator end() const { return Iterator(layers_.end()); }
  AnyLayer& operator[](size_t i) { return at(i); }
  const AnyLayer& operator[](size_t i) const { return const_cast<Sequential*>(this)->at(i); }
  AnyLayer& at(size_t i, SourceLocation at = SourceLocation::here()) {
    if (i >= layers_.size()) layer_detail::refuse_layer(i, layers_.size(), at);
    return layers_[i].second;
  }

 private:
  friend struct Fields<Sequential>;
  std::vector<std::pair<std::string, AnyLayer>> layers_;
};

}  // namespace nn

template <>
struct Fields<nn::AnyLayer> {
  static constexpr bool is_erased = true;
  template <class Object, class Visitor>
  static void walk(Object& object, Visitor& visitor) {
    detail::TypedVisitor<Visitor, std::is_const_v<Object>> typed(visitor);
    object.show(typed);
  }
};
template <>
struct Fields<nn::Sequential> {
  static void visit(auto& object, auto&& member) {
    for (auto& [name, layer] : object.layers_) member(std::string_view(name), layer);
  }
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
