#pragma once
#include <fulgurite/detail/requirements.h>

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/autograd.h>
#include <fulgurite/detail/walk.h>
#include <fulgurite/fields.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace nn {

/// Runs before a layer, on its argument; what it returns replaces the argument. Accepts callables that return a tensor
/// or nothing.
class ForwardPreHook {
 public:
  template <class F>
  requires std::invocable<F&, const Tensor&> ForwardPreHook(F hook)
      : run_([hook = std::move(hook)](const Tensor& x) mutable -> Tensor {
          if constexpr (std::is_void_v<std::invoke_result_t<F&, const Tensor&>>) return hook(x), Tensor();
          else return hook(x);
        }) {}
  Tensor operator()(const Tensor& x) const { return run_(x); }

 private:
  std::function<Tensor(const Tensor&)> run_;
};
/// Runs after a layer, on its argument and its result; what it returns replaces the result.
class ForwardHook {
 public:
  template <class F>
  requires std::invocable<F&, const Tensor&, const Tensor&> ForwardHook(F hook)
      : run_([hook = std::move(hook)](const Tensor& x, const Tensor& y) mutable -> Tensor {
          if constexpr (std::is_void_v<std::invoke_result_t<F&, const Tensor&, const Tensor&>>)
            return hook(x, y), Tensor();
          else return hook(x, y);
        }) {}
  Tensor operator()(const Tensor& x, const Tensor& y) const { return run_(x, y); }

 private:
  std::function<Tensor(const Tensor&, const Tensor&)> run_;
};
/// Runs in backward, on the gradients of the layer's argument and of its result; what it returns replaces the former.
using BackwardHook = ForwardHook;

namespace hook_detail {
/// The hooks of a layer; copies of the layer share them.
class LayerHooks {
 public:
  LayerHooks();
  HookHandle add(ForwardPreHook);
  HookHandle add(ForwardHook);
  HookHandle add_backward(BackwardHook);
  bool empty() const;
  /// Calls the layer with its hooks around.
  Tensor call(const Tensor& x, const std::function<Tensor(const Tensor&)>& layer) const;

 private:
  struct Lists;
  std::shared_ptr<Lists> lists_;
};
}  // namespace hook_detail

/// A layer with hooks, in the place of the layer: `nn::Hooked<nn::Linear> fc{4, 2}; fc.register_forward_hook(…)`. The
/// names of its tensors are the layer's. Copies share the hooks; a hook stays until its handle removes it. In a jitted
/// function, hooks run while it is recorded.
template <class Layer>
class Hooked {
 public:
  Layer layer;
  Hooked() = default;
  Hooked(Layer layer) : layer(std::move(layer)) {}
  template <class First, class... Rest>
  requires(!std::same_as<std::remove_cvref_t<First>, Hooked> && !std::same_as<std::remove_cvref_t<First>, Layer> &&
           std::constructible_from<Layer, First, Rest...>) explicit Hooked(First&& first, Rest&&... rest)
      : layer(std::forward<First>(first), std::forward<Rest>(rest)...) {}

  Tensor operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const {
    const auto run = [this, at](const Tensor& argument) -> Tensor {
      if constexpr (requires { layer(argument, at); }) return layer(argument, at);
      else return layer(argument);
    };
    return hooks_.empty() ? run(x) : hooks_.call(x, run);
  }
  /// `hook(x)` before the layer (torch.nn.Module.register_forward_pre_hook).
  HookHandle register_forward_pre_hook(ForwardPreHook hook) { return hooks_.add(std::move(hook)); }
  /// `hook(x, y)` after the layer (torch.nn.Module.register_forward_hook).
  HookHandle register_forward_hook(ForwardHook hook) { return hooks_.add(std::move(hook)); }
  /// `hook(gradient of x, gradient of y)` in backward (torch.nn.Module.register_full_backward_hook). The gradient of an
  /// argument that needs none is undefined.
  HookHandle register_full_backward_hook(BackwardHook hook) { return hooks_.add_backward(std::move(hook)); }

 private:
  hook_detail::LayerHooks hooks_;
};
/// The layer's type is deduced: `Hooked layer(Linear(3, 4))`.
template <class Layer>
Hooked(Layer) -> Hooked<Layer>;

}  // namespace nn

/// The layer's own members.
template <class Layer>
struct Fields<nn::Hooked<Layer>> {
  static constexpr bool is_erased = true;
  template <class Object, class Visitor>
  static void walk(Object& object, Visitor& visitor) {
    detail::walk(object.layer, visitor);
  }
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
