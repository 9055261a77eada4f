#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/detail/given.h>
#include <fulgurite/optim.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::optim {

/// A schedule sets the learning rates of an optimizer: those of iteration 0 at once, and the next ones at each step(),
/// which is called after the optimizer's. The rates that it starts from are those that the optimizer's first schedule
/// found. Rates are functions of the iteration, so schedules of one optimizer replace each other's rates instead of
/// multiplying them.
class Schedule {
 public:
  virtual ~Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  void step(SourceLocation at = SourceLocation::here());
  int64_t iteration() const { return iteration_; }
  /// Goes to any iteration from 0 on.
  void set_iteration(int64_t iteration, SourceLocation at = SourceLocation::here());
  /// The rates of the groups now, and those that the schedule started from.
  std::vector<double> last_lr() const;
  const std::vector<double>& base_lrs() const { return bases_; }

  /// The iteration and the rates that the schedule started from, by name.
  virtual std::map<std::string, Tensor> state_dict() const;
  /// Continues where the schedule with this state was; throws UserError when a name is missing or a value makes no
  /// sense.
  virtual void load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at = SourceLocation::here());

 protected:
  explicit Schedule(Optimizer& optimizer, SourceLocation at);
  /// The rate of a group, whose first rate was `base`, at an iteration.
  virtual double rate(int64_t iteration, double base) const = 0;
  /// The momentum at an iteration, for schedules that change it.
  virtual std::optional<double> momentum(int64_t) const { return {}; }

 private:
  Optimizer& optimizer_;
  std::vector<double> bases_;
  int64_t iteration_ = 0;
};

// Options are named and ordered as the arguments of torch.optim.lr_scheduler's classes.

/// Options of StepLR; members are given in this order.
struct StepLROptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t step_size = 1;
  double gamma = 0.1;
};
/// Multiplies the rate by gamma every step_size iterations.
class StepLR final : public Schedule {
 public:
  StepLR(Optimizer& optimizer, const StepLROptions& options, SourceLocation at = SourceLocation::here());
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1, SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  StepLROptions options_;
};

/// Options of MultiStepLR; members are given in this order.
struct MultiStepLROptions {
  std::vector<int64_t> milestones;
  double gamma = 0.1;
};
/// Multiplies the rate by gamma at each milestone.
class MultiStepLR final : public Schedule {
 public:
  MultiStepLR(Optimizer& optimizer, const MultiStepLROptions& options, SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  MultiStepLROptions options_;
};

/// Options of ConstantLR; members are given in this order.
struct ConstantLROptions {
  double factor = 1.0 / 3;
  int64_t total_iters = 5;
};
/// Multiplies the rate by a factor for the first iterations.
class ConstantLR final : public Schedule {
 public:
  explicit ConstantLR(Optimizer& optimizer, const ConstantLROptions& options = {},
                      SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  ConstantLROptions options_;
};

/// Options of LinearLR; members are given in this order.
struct LinearLROptions {
  double start_factor = 1.0 / 3;
  double end_factor = 1;
  int64_t total_iters = 5;
};
/// A factor that goes evenly from start_factor to end_factor.
class LinearLR final : public Schedule {
 public:
  explicit LinearLR(Optimizer& optimizer, const LinearLROptions& options = {},
                    SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  LinearLROptions options_;
};

/// Options of ExponentialLR; members are given in this order.
struct ExponentialLROptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double gamma = 0.95;
};
/// Multiplies the rate by gamma at each iteration.
class ExponentialLR final : public Schedule {
 public:
  ExponentialLR(Optimizer& optimizer, const ExponentialLROptions& options, SourceLocation at = SourceLocation::here());
  ExponentialLR(Optimizer& optimizer, double gamma, SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  double gamma_;
};

/// Options of PolynomialLR; members are given in this order.
struct PolynomialLROptions {
  int64_t total_iters = 5;
  double power = 1;
};
/// A power of the part of the iterations that is left.
class PolynomialLR final : public Schedule {
 public:
  explicit PolynomialLR(Optimizer& optimizer, const PolynomialLROptions& options = {},
                        SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  PolynomialLROptions options_;
};

/// Options of CosineAnnealingLR; members are given in this order.
struct CosineAnnealingLROptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t T_max = 1;
  double eta_min = 0;
};
/// Half a cosine down to eta_min in T_max iterations, and up again.
class CosineAnnealingLR final : public Schedule {
 public:
  CosineAnnealingLR(Optimizer& optimizer, const CosineAnnealingLROptions& options,
                    SourceLocation at = SourceLocation::here());
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0,
                    SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  CosineAnnealingLROptions options_;
};

/// Options of CosineAnnealingWarmRestarts; members are given in this order.
struct CosineAnnealingWarmRestartsOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t T_0 = 1;
  int64_t T_mult = 1;
  double eta_min = 0;
};
/// Half a cosine down to eta_min, again and again; each takes T_mult times as long as the one before.
class CosineAnnealingWarmRestarts final : public Schedule {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, const CosineAnnealingWarmRestartsOptions& options,
                              SourceLocation at = SourceLocation::here());
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0,
                              SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  CosineAnnealingWarmRestartsOptions options_;
};

/// Options of OneCycle; members are given in this order.
struct OneCycleOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double max_lr = 0;
  std::optional<int64_t> total_steps = {};  // or epochs and steps_per_epoch
  int64_t epochs = 0;
  int64_t steps_per_epoch = 0;
  double pct_start = 0.3;
  std::string anneal_strategy = "cos";  // or "linear"
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25;
  double final_div_factor = 1e4;
  bool three_phase = false;
};
/// One rise from max_lr / div_factor to max_lr and one descent to a final_div_factor-th of the first rate. The
/// momentum, or the first beta, goes the other way, where the optimizer is SGD, Adam or AdamW; others need
/// cycle_momentum = false.
class OneCycle final : public Schedule {
 public:
  OneCycle(Optimizer& optimizer, const OneCycleOptions& options, SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  std::optional<double> momentum(int64_t iteration) const override;
  double between(int64_t iteration, double start, double peak, double end) const;
  OneCycleOptions options_;
  double total_ = 0;
};
/// PyTorch's name.
using OneCycleLR = OneCycle;

/// Options of CyclicLR; members are given in this order.
struct CyclicLROptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  double base_lr = 0;
  double max_lr = 0;
  int64_t step_size_up = 2000;
  std::optional<int64_t> step_size_down = {};
  std::string mode = "triangular";  // or "triangular2", "exp_range"
  double gamma = 1;
  bool cycle_momentum = true;
  double base_momentum = 0.8;
  double max_momentum = 0.9;
};
/// Rises from base_lr to max_lr and falls again, evenly, without end.
class CyclicLR final : public Schedule {
 public:
  CyclicLR(Optimizer& optimizer, const CyclicLROptions& options, SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  std::optional<double> momentum(int64_t iteration) const override;
  double height(int64_t iteration) const;
  CyclicLROptions options_;
};

/// Options of LambdaLR and MultiplicativeLR.
struct LambdaLROptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::function<double(int64_t)> lr_lambda = {};
};
/// Multiplies the first rate by a function of the iteration.
class LambdaLR final : public Schedule {
 public:
  LambdaLR(Optimizer& optimizer, const LambdaLROptions& options, SourceLocation at = SourceLocation::here())
      : LambdaLR(optimizer, options.lr_lambda, at) {}
  LambdaLR(Optimizer& optimizer, std::function<double(int64_t)> factor, SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  std::function<double(int64_t)> factor_;
};

/// Multiplies the rate before by a function of the iteration, from iteration 1 on.
class MultiplicativeLR final : public Schedule {
 public:
  MultiplicativeLR(Optimizer& optimizer, const LambdaLROptions& options, SourceLocation at = SourceLocation::here())
      : MultiplicativeLR(optimizer, options.lr_lambda, at) {}
  MultiplicativeLR(Optimizer& optimizer, std::function<double(int64_t)> factor,
                   SourceLocation at = SourceLocation::here());

 private:
  double rate(int64_t iteration, double base) const override;
  std::function<double(int64_t)> factor_;
};

/// Options of SequentialLR.
struct SequentialLROptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::vector<int64_t> milestones = {};  // the first iterations of the second schedule, the third, …
};
/// One schedule after the other, each from its own iteration 0 on. The schedules are made before and not stepped.
class SequentialLR {
 public:
  /// UserError unless there is one milestone less than schedules, ascending from above 0.
  SequentialLR(Optimizer& optimizer, std::vector<Schedule*> schedules, const SequentialLROptions& options,
               SourceLocation at = SourceLocation::here());
  void step(SourceLocation at = SourceLocation::here());
  int64_t iteration() const { return iteration_; }
  std::vector<double> last_lr() const;
  /// The iteration; the rates follow from it.
  std::map<std::string, Tensor> state_dict() const;
  void load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at = SourceLocation::here());

 private:
  void apply(SourceLocation at);
  std::vector<Schedule*> schedules_;
  std::vector<int64_t> milestones_;
  int64_t iteration_ = 0;
};

/// Several schedules at once: the first rates times the factors of each. The schedules are made before and not stepped.
class ChainedScheduler {
 public:
  /// UserError without schedules.
  ChainedScheduler(Optimizer& optimizer, std::vector<Schedule*> schedules, SourceLocation at = SourceLocation::here());
  void step(SourceLocation at = SourceLocation::here());
  int64_t iteration() const { return iteration_; }
  std::vector<double> last_lr() const;
  std::map<std::string, Tensor> state_dict() const;
  void load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at = SourceLocation::here());

 private:
  void apply(SourceLocation at);
  Optimizer& optimizer_;
  std::vector<Schedule*> schedules_;
  std::vector<double> bases_;
  int64_t iteration_ = 0;
};

/// Options of ReduceLROnPlateau; members are given in this order.
struct ReduceLROnPlateauOptions {
  std::string mode = "min";  // or "max"
  double factor = 0.1;
  int64_t patience = 10;
  double threshold = 1e-4;
  std::string threshold_mode = "rel";  // or "abs"
  int64_t cooldown = 0;
  double min_lr = 0;
  double eps = 1e-8;
};
/// Multiplies the rates by a factor when a measure has not improved for more than `patience` steps.
class ReduceLROnPlateau {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& options = {},
                             SourceLocation at = SourceLocation::here());
  void step(double measure, SourceLocation at = SourceLocation::here());
  void step(const Tensor& measure, SourceLocation at = SourceLocation::here()) { step(measure.item<double>(at), at); }
  double best() const { return best_; }
  int64_t num_bad_epochs() const { return bad_; }
  std::vector<double> last_lr() const;
  std::map<std::string, Tensor> state_dict() const;
  void load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at = SourceLocation::here());

 private:
  bool improves(double measure) const;
  Optimizer& optimizer_;
  ReduceLROnPlateauOptions options_;
  double best_;
  int64_t bad_ = 0, resting_ = 0;
};

}  // namespace fulgurite::optim
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
