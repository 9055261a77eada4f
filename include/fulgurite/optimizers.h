#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/optim.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::optim {

// The optimizers of torch.optim beside SGD, Adam and AdamW, with its names, defaults and states, and Lion. Members of
// options are given in their order. `maximize` climbs instead of descending.

/// Options of RMSprop; members are given in this order.
struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  bool maximize = false;
};
/// Options of Adagrad; members are given in this order.
struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  bool maximize = false;
};
/// Options of Adadelta; members are given in this order.
struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
  bool maximize = false;
};
/// Options of Adamax; members are given in this order.
struct AdamaxOptions {
  double lr = 2e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool maximize = false;
};
/// Options of NAdam; members are given in this order.
struct NAdamOptions {
  double lr = 2e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};
/// Options of RAdam; members are given in this order.
struct RAdamOptions {
  double lr = 1e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};
/// Options of Rprop; members are given in this order.
struct RpropOptions {
  double lr = 1e-2;
  std::pair<double, double> etas = {0.5, 1.2};
  std::pair<double, double> step_sizes = {1e-6, 50};
  bool maximize = false;
};
/// Options of ASGD; members are given in this order.
struct ASGDOptions {
  double lr = 1e-2;
  double lambd = 1e-4;
  double alpha = 0.75;
  double t0 = 1e6;
  double weight_decay = 0;
  bool maximize = false;
};
/// Options of Lion; members are given in this order.
struct LionOptions {
  double lr = 1e-4;
  std::pair<double, double> betas = {0.9, 0.99};
  double weight_decay = 0;
  bool maximize = false;
};
/// Options of Muon; members are given in this order.
struct MuonOptions {
  double lr = 1e-3;
  double weight_decay = 0.1;
  double momentum = 0.95;
  bool nesterov = true;
  std::array<double, 3> ns_coefficients = {3.4445, -4.775, 2.0315};
  double eps = 1e-7;
  int64_t ns_steps = 5;
  std::string adjust_lr_fn = "original";  // or "match_rms_adamw", "spectral_unclamped"
};
/// Options of Adafactor; members are given in this order.
struct AdafactorOptions {
  double lr = 1e-2;
  double beta2_decay = -0.8;                                  // at most 0
  std::pair<std::optional<double>, double> eps = {{}, 1e-3};  // of the mean squares, by default the dtype's; of sizes
  double d = 1;                                               // the largest root mean square of an update, at least 1
  double weight_decay = 0;
  bool maximize = false;
};
/// Options of LBFGS; members are given in this order.
struct LBFGSOptions {
  double lr = 1;
  int64_t max_iter = 20;
  std::optional<int64_t> max_eval = {};  // max_iter * 5 / 4
  double tolerance_grad = 1e-7;
  double tolerance_change = 1e-9;
  int64_t history_size = 100;
  std::string line_search_fn = "";  // or "strong_wolfe"
};

/// An optimizer with options for each group; `update` is what one step does to one parameter.
template <class Options>
class OptimizerWith : public Optimizer {
 public:
  explicit OptimizerWith(const std::vector<Tensor>& parameters, const Options& options = {},
                         SourceLocation at = SourceLocation::here())
      : OptimizerWith(std::vector<ParameterGroup<Options>>{{parameters, options}}, at) {}
  explicit OptimizerWith(const std::vector<ParameterGroup<Options>>& groups,
                         SourceLocation at = SourceLocation::here());
  /// Adds parameters with options of their own, as when frozen layers begin to train.
  void add_param_group(const ParameterGroup<Options>& group, SourceLocation at = SourceLocation::here());

 private:
  void add_parameter_with(const Tensor& parameter, const Options& options, SourceLocation);
  void update(const Parameter&, const Tensor& gradient, SourceLocation) override;
  std::vector<Options> options_;
};

/// Divides by a running mean of squares; optionally centred, with momentum.
using RMSprop = OptimizerWith<RMSpropOptions>;
/// Divides by the root of the sum of all squares.
using Adagrad = OptimizerWith<AdagradOptions>;
/// Adagrad with running means in the place of a rate.
using Adadelta = OptimizerWith<AdadeltaOptions>;
/// Adam with the largest gradient in the place of the root mean square.
using Adamax = OptimizerWith<AdamaxOptions>;
/// Adam with Nesterov's momentum.
using NAdam = OptimizerWith<NAdamOptions>;
/// Adam whose first steps are corrected for the variance of few squares.
using RAdam = OptimizerWith<RAdamOptions>;
/// Steps of a size for each element, which follows the sign of its gradients.
using Rprop = OptimizerWith<RpropOptions>;
/// Averaged gradient descent; the average is the state "ax".
using ASGD = OptimizerWith<ASGDOptions>;
/// Steps by the sign of a running mean.
using Lion = OptimizerWith<LionOptions>;
/// Momentum made orthogonal by Newton and Schulz's iteration in bf16, for matrices.
using Muon = OptimizerWith<MuonOptions>;

/// Adam whose mean squares of a matrix are stored as those of its rows and columns (Shazeer and Stern 2018).
using Adafactor = OptimizerWith<AdafactorOptions>;

/// The method of Broyden, Fletcher, Goldfarb and Shanno with a limited memory (torch.optim.LBFGS). Its step evaluates
/// the loss several times and reads it, so it runs in eager mode or ends pieces of a traced function.
class LBFGS final : public Optimizer {
 public:
  explicit LBFGS(const std::vector<Tensor>& parameters, const LBFGSOptions& options = {},
                 SourceLocation at = SourceLocation::here());
  /// `closure` clears the gradients, computes the loss, calls backward() and returns the loss. Returns the loss before
  /// the step.
  Tensor step(const std::function<Tensor()>& closure, SourceLocation at = SourceLocation::here());

 private:
  void update(const Parameter&, const Tensor& gradient, SourceLocation) override;
  std::vector<std::pair<std::string, Tensor>> more_state() const override;
  void load_more_state(const std::map<std::string, Tensor>& state, SourceLocation at) override;
  Tensor direction(const Tensor& gradient, SourceLocation at);
  Tensor gathered_gradient(SourceLocation at) const;
  void move(const Tensor& direction, double length, SourceLocation at) const;

  LBFGSOptions options_;
  std::vector<Tensor> gradient_changes_, steps_;  // oldest first
  Tensor direction_, previous_gradient_;
  double length_ = 0, scale_ = 1;
  int64_t iterations_ = 0;
};

/// Limits each element of the gradients to [-limit, limit].
void clip_grad_value_(const std::vector<Tensor>& parameters, double limit, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite::optim
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
