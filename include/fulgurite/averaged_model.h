#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/detail/given.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::optim {

/// Options of AveragedModel; members are given in this order.
struct AveragedOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::optional<double> decay = {};  // average = decay average + (1 - decay) model; without one the mean of all updates
  bool use_buffers = false;          // buffers are averaged too, not copied from the model
};

namespace averaged_detail {
void check_options(const AveragedOptions& options, SourceLocation at);
/// Moves the averages towards the model's tensors.
void update(const nn::NamedTensors& averages, const nn::NamedTensors& model, int64_t updates,
            const AveragedOptions& options, SourceLocation at);
int64_t count_in(std::map<std::string, Tensor>& state, SourceLocation at);
}  // namespace averaged_detail

/// An average of a model over the steps of its training (torch.optim.swa_utils.AveragedModel): a copy, which
/// update_parameters() moves. With `decay` an exponential moving average. Update batch norms' statistics afterwards
/// with a pass of the data in training mode.
///
///     optim::AveragedModel average(model, {.decay = 0.999});
///     … optimizer.step(); average.update_parameters(model);
///     auto scores = average(x);
template <class Model>
class AveragedModel {
 public:
  Model module;
  explicit AveragedModel(const Model& model, const AveragedOptions& options = {},
                         SourceLocation at = SourceLocation::here())
      : module(nn::clone(model)), options_(options) {
    averaged_detail::check_options(options, at);
  }
  /// Throws UserError if the model's tensors differ in number or shape. The first call copies the parameters.
  void update_parameters(const Model& model, SourceLocation at = SourceLocation::here()) {
    averaged_detail::update(nn::model_detail::named_tensors(module), nn::model_detail::named_tensors(model), updates_,
                            options_, at);
    ++updates_;
  }
  int64_t updates() const { return updates_; }
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return module(std::forward<Arguments>(arguments)...);
  }
  /// The model's tensors as "module.…", and "n_averaged".
  std::map<std::string, Tensor> state_dict() const {
    std::map<std::string, Tensor> out{{"n_averaged", tensor(updates_)}};
    for (auto& [name, value] : nn::state_dict(module)) out.emplace("module." + name, value);
    return out;
  }
  /// Throws UserError for missing or unknown names.
  void load_state_dict(std::map<std::string, Tensor> state, SourceLocation at = SourceLocation::here()) {
    const int64_t updates = averaged_detail::count_in(state, at);
    nn::load_state_dict(module, state, at);
    updates_ = updates;
  }

 private:
  AveragedOptions options_;
  int64_t updates_ = 0;
};

/// Options of SWALR; members are given in this order.
struct SWALROptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double swa_lr = 0;
  int64_t anneal_epochs = 10;
  std::string anneal_strategy = "cos";  // or "linear"
};
/// Moves the rates from those at its first step to swa_lr in anneal_epochs steps, and leaves them there, while
/// parameters are averaged (torch.optim.swa_utils.SWALR). With anneal_epochs 0 the rate is swa_lr at once.
///
///     if (epoch > 75) {
///       average.update_parameters(model);
///       schedule.step();
///     }
class SWALR {
 public:
  /// UserError for a rate or a number of epochs below 0, and for another strategy.
  SWALR(Optimizer& optimizer, const SWALROptions& options, SourceLocation at = SourceLocation::here());
  void step(SourceLocation at = SourceLocation::here());
  int64_t iteration() const { return iteration_; }
  std::vector<double> last_lr() const;
  /// The iteration and, from the first step on, the rates that it started from.
  std::map<std::string, Tensor> state_dict() const;
  void load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at = SourceLocation::here());

 private:
  void set_rates(SourceLocation at);
  Optimizer& optimizer_;
  SWALROptions options_;
  std::vector<double> starts_;  // empty before the first step
  int64_t iteration_ = 0;
};

}  // namespace fulgurite::optim
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
