#include <fulgurite/error.h>
#include <fulgurite/models/activation.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::models {

namespace {

struct Activation {
  std::string_view name;
  Tensor (*apply)(const Tensor& x);
};

Tensor gelu_exact(const Tensor& x) { return nn::gelu(x); }
Tensor gelu_tanh(const Tensor& x) { return nn::gelu(x, "tanh"); }
Tensor quick_gelu(const Tensor& x) {
  const Tensor gate = sigmoid(1.702 * x);
  return x * gate;
}

constexpr Activation activations[] = {
    {"gelu", &gelu_exact},
    {"gelu_python", &gelu_exact},
    {"gelu_new", &gelu_tanh},
    {"gelu_fast", &gelu_tanh},
    {"gelu_accurate", &gelu_tanh},
    {"gelu_pytorch_tanh", &gelu_tanh},
    {"quick_gelu", &quick_gelu},
    {"relu", [](const Tensor& x) { return nn::relu(x); }},
    {"relu2",
     [](const Tensor& x) {
       const Tensor y = nn::relu(x);
       return y * y;
     }},
    {"relu6", [](const Tensor& x) { return nn::relu6(x); }},
    {"leaky_relu", [](const Tensor& x) { return nn::leaky_relu(x); }},
    {"silu", [](const Tensor& x) { return nn::silu(x); }},
    {"swish", [](const Tensor& x) { return nn::silu(x); }},
    {"hardswish", [](const Tensor& x) { return nn::hardswish(x); }},
    {"mish", [](const Tensor& x) { return nn::mish(x); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }},
    {"linear", [](const Tensor& x) { return x; }},
};

const Activation* find(std::string_view name) {
  for (const Activation& activation : activations)
    if (activation.name == name) return &activation;
  return nullptr;
}

}  // namespace

bool has_activation(std::string_view name) { return find(name) != nullptr; }

std::string activation_names() {
  std::string names;
  for (const Activation& activation : activations) names += text::cat(names.empty() ? "" : ", ", activation.name);
  return names;
}

Tensor activate(const Tensor& x, std::string_view name) {
  if (const Activation* activation = find(name)) return activation->apply(x);
  throw UserError(text::cat("the activation \"", name, "\" is not supported; there are ", activation_names()));
}

}  // namespace fulgurite::models
