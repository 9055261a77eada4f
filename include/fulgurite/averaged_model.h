#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <typeinfo>
#include <utility>
#include <vector>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/convolution_layers.h>
#include <fulgurite/detail/erased_walk.h>
#include <fulgurite/detail/given.h>
#include <fulgurite/detail/walk.h>
#include <fulgurite/model_functions.h>
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
/// update_parameters() moves. With `decay` an exponential moving average. Call update_bn() afterwards if the model
/// has batch norms.
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

namespace averaged_detail {
/// The batch norms of a model, with cumulative statistics while the object lives.
class CumulativeStatistics {
 public:
  template <class Model>
  explicit CumulativeStatistics(Model& model) {
    fulgurite::detail::walk(model, *this);
  }
  ~CumulativeStatistics() {
    // Backwards: a layer that stands in two places was noted twice, the second time without its momentum.
    for (size_t i = momenta_.size(); i-- > 0;) *momenta_[i].member = momenta_[i].value;
  }
  CumulativeStatistics(const CumulativeStatistics&) = delete;
  CumulativeStatistics& operator=(const CumulativeStatistics&) = delete;
  bool empty() const { return momenta_.empty(); }

  // As a visitor:
  template <class T>
  void leaf(T&) {}
  template <class T>
  void node(T&) {}
  template <int dims>
  void node(nn::BatchNorm<dims>& layer) {
    if (!layer.running_mean.defined()) return;
    reset(layer.running_mean, layer.running_var, layer.num_batches_tracked);
    momenta_.push_back({&layer.momentum, layer.momentum});
    layer.momentum.reset();
  }
  void erased_node(const fulgurite::detail::ErasedPart& part) {
    if (part.type == typeid(nn::BatchNorm1d)) node(*static_cast<nn::BatchNorm1d*>(part.object));
    if (part.type == typeid(nn::BatchNorm2d)) node(*static_cast<nn::BatchNorm2d*>(part.object));
    if (part.type == typeid(nn::BatchNorm3d)) node(*static_cast<nn::BatchNorm3d*>(part.object));
  }

 private:
  struct Momentum {
    std::optional<double>* member;
    std::optional<double> value;
  };
  static void reset(Tensor mean, Tensor var, Tensor count);
  std::vector<Momentum> momenta_;
};
}  // namespace averaged_detail

/// Replaces the running statistics of a model's batch norms by the means over the batches of a loader, in a pass in
/// training mode without gradients (torch.optim.swa_utils.update_bn). A batch is what the model accepts, or a tuple
/// whose first member is.
///
///     optim::update_bn(loader, average);
template <class Loader, class Model>
void update_bn(Loader&& loader, Model& model) {
  const averaged_detail::CumulativeStatistics statistics(model);
  if (statistics.empty()) return;
  const bool was_training = nn::is_training(model);
  nn::train(model);
  const NoGrad no_grad;
  for (auto&& batch : loader) {
    if constexpr (requires { model(batch); }) model(batch);
    else model(std::get<0>(batch));
  }
  nn::train(model, was_training);
}
template <class Loader, class Model>
void update_bn(Loader&& loader, AveragedModel<Model>& average) {
  update_bn(loader, average.module);
}

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
