#pragma once
#include <fulgurite/detail/requirements.h>

#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include <fulgurite/detail/erased_walk.h>
#include <fulgurite/detail/walk.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

namespace detail {
/// A linear layer of a model and its name.
struct NamedLinear {
  std::string name;
  nn::Linear* layer;
};

/// Collects the linear layers of a model with their names.
struct LinearCollector {
  static constexpr bool may_write = true;
  std::vector<NamedLinear> layers{};
  std::vector<std::string> path{};

  template <class T>
  void leaf(T&) {}
  void leaf(Tensor& tensor) { tensors.push_back(&tensor); }
  void node(nn::Linear& layer) {
    if (layer.has_weight()) layers.push_back({joined(), &layer});
  }
  template <class T>
  void node(T&) {}
  void erased_node(const fulgurite::detail::ErasedPart& part) {
    if (part.type == typeid(nn::Linear)) node(*static_cast<nn::Linear*>(part.object));
  }
  void enter(std::string_view name) { path.emplace_back(name); }
  void enter(size_t index) { path.push_back(std::to_string(index)); }
  void leave() { path.pop_back(); }
  std::vector<Tensor*> tensors{};

 private:
  std::string joined() const {
    std::string out;
    for (const std::string& part : path) out += (out.empty() ? "" : ".") + part;
    return out;
  }
};

template <class Model>
LinearCollector collect(Model& model) {
  LinearCollector collector;
  fulgurite::detail::walk(model, collector);
  return collector;
}
}  // namespace detail

}  // namespace hub
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
