#include <algorithm>
#include <cmath>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/hub/lora.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::hub::detail {

namespace {

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// A target is the name of a layer, or the end of it.
bool is_target(const std::string& name, const std::vector<std::string>& targets) {
  return std::any_of(targets.begin(), targets.end(), [&](const std::string& target) {
    if (target == "all-linear") return last_part(name) != "lm_head";
    return name == target || name.ends_with("." + target);
  });
}

// The different last parts of the layers' names.
std::string known_targets(const std::vector<NamedLinear>& layers) {
  std::vector<std::string_view> known;
  for (const NamedLinear& linear : layers)
    if (std::find(known.begin(), known.end(), last_part(linear.name)) == known.end())
      known.push_back(last_part(linear.name));
  std::string out;
  for (const std::string_view name : known) out += text::cat(out.empty() ? "" : ", ", name);
  return out.empty() ? "no linear layers" : out;
}

void check_options(const LoraOptions& options) {
  if (options.rank < 1) throw UserError(text::cat("with_lora: rank must be positive, it is ", options.rank));
  if (options.dropout < 0 || options.dropout >= 1)
    throw UserError(text::cat("with_lora: dropout must be at least 0 and below 1, it is ", options.dropout));
}

}  // namespace

void add_lora(const LinearCollector& model, const LoraOptions& options) {
  check_options(options);
  for (const NamedLinear& linear : model.layers)
    if (linear.layer->lora) throw UserError(text::cat("with_lora: ", linear.name, " has LoRA already"));
  for (const std::string& target : options.targets)
    if (std::none_of(model.layers.begin(), model.layers.end(),
                     [&](const NamedLinear& linear) { return is_target(linear.name, {target}); }))
      throw UserError(
          text::cat("with_lora: the model has no linear layer ", target, "; there are ", known_targets(model.layers)));
  for (Tensor* tensor : model.tensors)
    if (tensor->defined() && tensor->requires_grad()) *tensor = tensor->detach();
  const auto rank = static_cast<double>(options.rank);
  for (const NamedLinear& linear : model.layers) {
    if (!is_target(linear.name, options.targets)) continue;
    const int64_t in = linear.layer->in_features(), out = linear.layer->out_features();
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    nn::LowRank lora;
    lora.A = (rand({options.rank, in}) * 2 - 1) * bound;
    lora.B = zeros({out, options.rank});
    lora.A.requires_grad_();
    lora.B.requires_grad_();
    lora.scale = options.alpha / (options.rslora ? std::sqrt(rank) : rank);
    lora.dropout = options.dropout;
    linear.layer->lora = lora;
  }
}

void merge_lora(const std::vector<NamedLinear>& layers) {
  const NoGrad no_grad;
  for (const NamedLinear& linear : layers) {
    if (!linear.layer->lora) continue;
    if (linear.layer->quantized)
      throw UserError(
          text::cat("merge_lora: ", linear.name,
                    " has a weight of few bits, to which nothing is added; hub::dequantize makes numbers of "
                    "it first"));
    const nn::LowRank& lora = *linear.layer->lora;
    const Tensor change = matmul(lora.B, lora.A) * lora.scale;
    linear.layer->weight = (linear.layer->weight + change.to(linear.layer->weight.dtype())).requires_grad_();
    linear.layer->lora.reset();
  }
}

}  // namespace fulgurite::hub::detail
