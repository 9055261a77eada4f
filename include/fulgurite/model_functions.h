#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <fulgurite/detail/erased_walk.h>
#include <fulgurite/detail/walk.h>
#include <fulgurite/io.h>
#include <fulgurite/model_parts.h>
#include <fulgurite/model_summary.h>
#include <fulgurite/nn.h>
#include <fulgurite/optimizers.h>
#include <fulgurite/sequential.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace nn {

// Questions to models and changes of them, as torch.nn.Module's methods.

namespace model_detail {
NamedTensors keep_buffers(NamedTensors all);
void clear_gradients(const NamedTensors& parameters);

struct TrainingReader {
  bool found = false, training = true;
  template <class T>
  void leaf(const T&) {}
  template <class T>
  void node(const T& object) {
    if constexpr (requires { object.training == true; }) {
      if (!found) training = object.training;
      found = true;
    }
  }
};

/// Collects the parts of a model as text: a line for each layer, with its tensors' types and its numbers.
class PartPrinter {
 public:
  PartPrinter();
  void leaf(const Tensor& tensor);
  template <class T>
  void leaf(const T& value) {
    if constexpr (std::is_same_v<T, bool>) flag(value);
    else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) number(static_cast<int64_t>(value));
    else if constexpr (std::is_floating_point_v<T>) number(static_cast<double>(value));
    else if constexpr (fulgurite::detail::is_text<T>) text(value);
    else if constexpr (std::is_same_v<T, Int>) number(value.hint());
    else if constexpr (std::is_same_v<T, Float>) number(static_cast<double>(value.hint()));
  }
  void structure(size_t count);
  void structure(std::string_view type);
  void enter(std::string_view name);
  void enter(size_t index);
  void leave();
  template <class T>
  void node(const T&) {
    set_type(typeid(T).name());
  }
  void erased_node(const fulgurite::detail::ErasedPart& part) { set_type(part.type.name()); }
  std::string result(const char* type) const;

 private:
  struct Part {
    std::string name, type, value;
    bool is_list = false;
    std::vector<Part> parts;
  };
  void flag(bool value);
  void number(int64_t value);
  void number(double value);
  void text(std::string_view value);
  void set_value(std::string value);
  void set_type(const char* type);
  static std::string text_of(const Part& part, size_t depth);
  Part root_;
  std::vector<Part*> open_;
};
}  // namespace model_detail

/// Every tensor of the model that does not require a gradient, with its dotted name: running statistics, masks, frozen
/// weights.
template <class Model>
NamedTensors named_buffers(const Model& model) {
  return model_detail::keep_buffers(model_detail::named_tensors(model));
}
template <class Model>
std::vector<Tensor> buffers(const Model& model) {
  std::vector<Tensor> out;
  for (auto& [name, tensor] : named_buffers(model)) out.push_back(std::move(tensor));
  return out;
}

/// Removes the gradients of the parameters.
template <class Model>
void zero_grad(const Model& model) {
  model_detail::clear_gradients(named_parameters(model));
}
/// freeze() or unfreeze().
template <class Model>
void requires_grad_(const Model& model, bool requires_grad = true) {
  if (requires_grad) unfreeze(model);
  else freeze(model);
}
/// The first member named `training`; true without one.
template <class Model>
bool is_training(const Model& model) {
  model_detail::TrainingReader reader;
  fulgurite::detail::walk(model, reader);
  return reader.training;
}

/// The model as text, a line for each layer as PyTorch prints it, with the types of its tensors and its numbers. Layers
/// of nn:: can be written to a stream.
template <class Model>
std::string to_string(const Model& model) {
  model_detail::PartPrinter printer;
  fulgurite::detail::walk(model, printer);
  return printer.result(typeid(Model).name());
}

namespace model_detail {
template <class T>
concept PrintableLayer = std::is_class_v<T> &&
    (fulgurite::detail::HasFields<T> || fulgurite::detail::is_plain_aggregate<T>)&&(layer_detail::MapsTensor<T> ||
                                                                                    std::derived_from<T, Module>);
std::ostream& write(std::ostream& out, const std::string& text);
}  // namespace model_detail

template <model_detail::PrintableLayer Layer>
std::ostream& operator<<(std::ostream& out, const Layer& layer) {
  return model_detail::write(out, to_string(layer));
}

/// torch.nn.utils.
namespace utils {
using optim::clip_grad_norm_;
using optim::clip_grad_value_;
/// The tensors' elements one after the other in one dimension, with gradients.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters, SourceLocation at = SourceLocation::here());
/// Writes the elements of a vector into the parameters. UserError for another number of elements.
void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters,
                          SourceLocation at = SourceLocation::here());
}  // namespace utils

}  // namespace nn

namespace save_detail {
template <class T>
concept HasState = requires(T& object, const TensorMap& state) {
  { object.state_dict() } -> std::convertible_to<TensorMap>;
  object.load_state_dict(state);
};
TensorMap numbered(const std::vector<Tensor>& tensors);
std::vector<Tensor> in_order(const TensorMap& tensors, const std::string& path, SourceLocation at);
Tensor only_one(const TensorMap& tensors, const std::string& path, SourceLocation at);
}  // namespace save_detail

namespace save_detail {
template <class T>
TensorMap state_of(const T& object) {
  if constexpr (std::is_same_v<T, Tensor>) return {{"tensor", object}};
  else if constexpr (std::is_same_v<T, std::vector<Tensor>>) return numbered(object);
  else if constexpr (HasState<T>) return object.state_dict();
  else return nn::state_dict(object);
}
template <class T>
void set_state(T& object, const TensorMap& state, const std::string& source, SourceLocation at) {
  if constexpr (std::is_same_v<T, Tensor>) object = only_one(state, source, at);
  else if constexpr (std::is_same_v<T, std::vector<Tensor>>) object = in_order(state, source, at);
  else if constexpr (HasState<T>) object.load_state_dict(state, at);
  else nn::load_state_dict(object, state, at);
}
}  // namespace save_detail

/// Writes a model, an optimizer or schedule, a tensor or a vector of tensors into a safetensors file or a stream, as
/// save_safetensors() does: `save(net, "net.safetensors")`.
template <class T>
void save(const T& object, const std::string& path) {
  save_safetensors(path, save_detail::state_of(object));
}
template <class T>
void save(const T& object, std::ostream& out) {
  save_safetensors(out, save_detail::state_of(object));
}
/// Reads what save() wrote into an object of the same kind: a model of the same names and shapes, whose tensors stay
/// the same objects; a tensor or a vector is replaced. UserError as load_safetensors() and nn::load_state_dict().
template <class T>
void load(T& object, const std::string& path, SourceLocation at = SourceLocation::here()) {
  save_detail::set_state(object, load_safetensors(path), path, at);
}
/// The same of all remaining bytes of a stream.
template <class T>
void load(T& object, std::istream& in, SourceLocation at = SourceLocation::here()) {
  save_detail::set_state(object, load_safetensors(in), "the stream", at);
}

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
