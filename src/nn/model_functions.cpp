#include <fulgurite/model_functions.h>

#include <algorithm>
#include <ostream>
#include <set>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "support/text/type_name.h"

namespace fulgurite {

namespace nn {

namespace model_detail {

NamedTensors keep_buffers(NamedTensors all) {
  NamedTensors out;
  for (auto& named : all) {
    const auto is_it = [&named](const auto& other) { return other.second.is_same(named.second); };
    const bool is_buffer = named.second.defined() && !named.second.requires_grad();
    if (is_buffer && std::none_of(out.begin(), out.end(), is_it)) out.push_back(std::move(named));
  }
  return out;
}

void clear_gradients(const NamedTensors& parameters) {
  for (const auto& [name, parameter] : parameters) parameter.set_grad({});
}

namespace {

// "Linear" of mangled mine::Linear; template arguments are left out, "Convolution".
std::string number_text(double value) { return text::cat(value); }

}  // namespace

PartPrinter::PartPrinter() { open_.push_back(&root_); }

void PartPrinter::set_value(std::string value) { open_.back()->value = std::move(value); }
void PartPrinter::leaf(const Tensor& tensor) {
  set_value(tensor.defined() ? text::cat(tensor.dtype(), tensor.shape()) : "none");
}
void PartPrinter::flag(bool value) { set_value(value ? "true" : "false"); }
void PartPrinter::number(int64_t value) { set_value(std::to_string(value)); }
void PartPrinter::number(double value) { set_value(number_text(value)); }
void PartPrinter::text(std::string_view value) { set_value(text::cat("\"", value, "\"")); }
void PartPrinter::structure(size_t) { open_.back()->is_list = true; }
// A map's key is the name that follows; a mangled type is of a layer whose type was erased.
void PartPrinter::structure(std::string_view type) {
  if (!type.empty() && open_.back()->type.empty() && !open_.back()->is_list) set_type(std::string(type).c_str());
}
void PartPrinter::set_type(const char* type) {
  if (open_.back()->type.empty()) open_.back()->type = short_type_name(type);
}
void PartPrinter::enter(std::string_view name) {
  std::vector<Part>& parts = open_.back()->parts;
  parts.push_back({std::string(name), "", "", false, {}});
  open_.push_back(&parts.back());
}
void PartPrinter::enter(size_t index) { enter(std::string_view(std::to_string(index))); }
void PartPrinter::leave() {
  open_.pop_back();
  // Numbers of a list are its value; an empty optional has none.
  Part& part = open_.back()->parts.back();
  if (!part.is_list || !part.type.empty()) return;
  const auto is_number = [](const Part& item) {
    return item.parts.empty() && item.type.empty() && !item.value.empty();
  };
  if (!std::all_of(part.parts.begin(), part.parts.end(), is_number)) return;
  if (part.parts.empty() && !part.value.empty()) return;  // an optional's value
  part.value = "[" + text::join(part.parts, [](const Part& item) { return item.value; }) + "]";
  part.parts.clear();
}

std::string PartPrinter::text_of(const Part& part, size_t depth) {
  const std::string indent(2 * (depth + 1), ' ');
  std::string settings, layers;
  for (const Part& item : part.parts) {
    const bool is_setting = item.parts.empty() && item.type.empty();
    if (is_setting && (item.name == "training" || item.value.empty() || item.value == "[]")) continue;
    if (is_setting) settings += text::cat(settings.empty() ? "" : ", ", item.name, "=", item.value);
    else layers += text::cat(indent, "(", item.name, "): ", text_of(item, depth + 1), "\n");
  }
  const std::string type = part.type.empty() ? "List" : part.type;
  if (layers.empty()) return text::cat(type, "(", settings, ")");
  if (!settings.empty()) settings = text::cat(indent, settings, "\n");
  return text::cat(type, "(\n", settings, layers, std::string(2 * depth, ' '), ")");
}

std::string PartPrinter::result(const char* type) const {
  Part root = root_;
  if (root.type.empty()) root.type = short_type_name(type);
  return text_of(root, 0);
}

std::ostream& write(std::ostream& out, const std::string& text) { return out << text; }

}  // namespace model_detail

namespace utils {

Tensor parameters_to_vector(const std::vector<Tensor>& parameters, SourceLocation at) {
  std::vector<Tensor> parts;
  parts.reserve(parameters.size());
  for (const Tensor& parameter : parameters) parts.push_back(reshape(parameter, {-1}, at));
  return cat(parts, 0, at);
}

void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters, SourceLocation at) {
  Int count = 0;
  for (const Tensor& parameter : parameters) count = count + parameter.numel();
  if (!vector.defined() || vector.ndim() != 1 || vector.size(0) != count)
    throw UserError(text::cat("vector_to_parameters: the parameters have ", count, " elements, the vector ",
                              vector.defined() ? vector.shape().text() : "undefined"),
                    at);
  const NoGrad no_grad;
  Int begin = 0;
  for (const Tensor& parameter : parameters) {
    const Tensor part = narrow(vector, 0, begin, parameter.numel(), at);
    parameter.copy_(reshape(part, Dims(parameter.shape()), at), at);
    begin = begin + parameter.numel();
  }
}

}  // namespace utils

}  // namespace nn

namespace save_detail {

TensorMap numbered(const std::vector<Tensor>& tensors) {
  TensorMap out;
  for (size_t i = 0; i < tensors.size(); ++i) out[std::to_string(i)] = tensors[i];
  return out;
}

std::vector<Tensor> in_order(const TensorMap& tensors, const std::string& path, SourceLocation at) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto found = tensors.find(std::to_string(i));
    if (found == tensors.end()) throw UserError(text::cat("load: ", path, " holds no vector of tensors"), at);
    out.push_back(found->second);
  }
  return out;
}

Tensor only_one(const TensorMap& tensors, const std::string& path, SourceLocation at) {
  if (tensors.size() != 1)
    throw UserError(
        text::cat("load: ", path, " holds ", tensors.size(), " tensors, not one; load_safetensors() reads them"), at);
  return tensors.begin()->second;
}

}  // namespace save_detail

}  // namespace fulgurite
