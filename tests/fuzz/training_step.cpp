#include "fuzz/training_step.h"

namespace fulgurite::test {

namespace {

Tensor loss_of(models::Gpt model, Tensor tokens, Tensor targets) { return model.loss(tokens, targets); }

std::optional<Dtype> autocast_of(const StepOptions& options) {
  return options.is_bf16 ? std::optional(Dtype::bf16) : std::nullopt;
}

}  // namespace

TrainingStep::TrainingStep(const StepOptions& options)
    : options_(options),
      model_(models::make_gpt(options.sizes)),
      optimizer_(nn::parameters(model_), {.lr = 1e-3, .weight_decay = 0.1}),
      function_(
          jit(std::function<Tensor(Tensor, Tensor)>([this](Tensor tokens, Tensor targets) {
                return options_.is_divided ? loss_of(model_, tokens, targets) : step(tokens, targets);
              }),
              {.executors = options.executors, .autocast = options.is_divided ? autocast_of(options) : std::nullopt})),
      tokens_(randint(0, options.sizes.vocabulary, {options.batch, options.sizes.block})),
      targets_(randint(0, options.sizes.vocabulary, {options.batch, options.sizes.block})) {}

Tensor TrainingStep::step(const Tensor& tokens, const Tensor& targets) {
  const auto differentiated = [&] {
    const AutocastScope scope(autocast_of(options_));
    return value_and_grad<0>(loss_of)(model_, tokens, targets);
  };
  const auto [loss, gradients] = differentiated();
  std::vector<Tensor> flat;
  for (const auto& [name, gradient] : nn::model_detail::named_tensors(gradients))
    if (gradient.defined()) flat.push_back(gradient);
  optimizer_.step(nn::parameters(model_), flat);
  return loss;
}

void TrainingStep::run(const Function& function) {
  if (options_.is_divided) {
    for (const Tensor& parameter : nn::parameters(model_)) parameter.set_grad({});
    function(tokens_, targets_).backward();
    return;
  }
  const NoGrad no_grad;
  function(tokens_, targets_);
}

}  // namespace fulgurite::test
