#include <fulgurite/autograd.h>
#include <fulgurite/averaged_model.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::optim::averaged_detail {

namespace {

void check_pair(const std::pair<std::string, Tensor>& average, const std::pair<std::string, Tensor>& now,
                SourceLocation at) {
  const bool is_equal = average.second.defined() == now.second.defined() &&
                        (!now.second.defined() || average.second.shape() == now.second.shape());
  if (!is_equal)
    throw UserError(
        text::cat("AveragedModel: ", now.first, " differs in its shape from the averaged model's ", average.first), at);
}

void move_towards(const Tensor& average, const Tensor& now, int64_t updates, const AveragedOptions& options,
                  SourceLocation at) {
  const bool is_parameter = average.requires_grad();
  const Tensor target = average.detach(), source = now.detach();
  const bool is_averaged = (is_parameter || options.use_buffers) && is_floating(target.dtype());
  if (!is_averaged || updates == 0) target.copy_(source, at);
  else if (options.decay) target.lerp_(source, 1 - *options.decay, at);
  else target.add_(div(sub(source, target, 1, at), updates + 1, {}, at), 1, at);
}

}  // namespace

void check_options(const AveragedOptions& options, SourceLocation at) {
  if (options.decay && !(*options.decay >= 0 && *options.decay <= 1))
    throw UserError(text::cat("AveragedModel: invalid decay: ", *options.decay, "; it must be from 0 to 1"), at);
}

void update(const nn::NamedTensors& averages, const nn::NamedTensors& model, int64_t updates,
            const AveragedOptions& options, SourceLocation at) {
  if (averages.size() != model.size())
    throw UserError(
        text::cat("AveragedModel: the model has ", model.size(), " tensors, the averaged one ", averages.size()), at);
  for (size_t i = 0; i < model.size(); ++i) check_pair(averages[i], model[i], at);
  const NoGrad no_grad;
  for (size_t i = 0; i < model.size(); ++i)
    if (model[i].second.defined()) move_towards(averages[i].second, model[i].second, updates, options, at);
}

void CumulativeStatistics::reset(Tensor mean, Tensor var, Tensor count) {
  const NoGrad no_grad;
  mean.zero_();
  var.fill_(1);
  if (count.defined()) count.zero_();
}

int64_t count_in(std::map<std::string, Tensor>& state, SourceLocation at) {
  const auto count = state.find("n_averaged");
  if (count == state.end()) throw UserError("AveragedModel: n_averaged is missing in the state", at);
  const int64_t updates = count->second.item<int64_t>(at);
  std::map<std::string, Tensor> module;
  for (const auto& [name, value] : state) {
    if (name == "n_averaged") continue;
    if (!name.starts_with("module."))
      throw UserError(text::cat("AveragedModel: unknown name in the state: ", name), at);
    module.emplace(name.substr(7), value);
  }
  state = std::move(module);
  return updates;
}

}  // namespace fulgurite::optim::averaged_detail
