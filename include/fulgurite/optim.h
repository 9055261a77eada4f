#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace optim {

/// A subset of an optimizer's parameters with its own options.
template <class Options>
struct ParameterGroup {
  std::vector<Tensor> parameters;
  Options options = {};
};

/// The base of optimizers. All state is in tensors created with the optimizer, the learning rate and the step count
/// too, so a traced step is compiled once and follows a schedule.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;

  /// Updates the parameters by their grad(); those without one are unchanged.
  void step(SourceLocation at = SourceLocation::here());
  /// The same with given gradients, in the order of parameters(): for a traced step with value_and_grad. Undefined ones
  /// count as none.
  void step(const std::vector<Tensor>& gradients, SourceLocation at = SourceLocation::here());
  /// The same for gradients in the order of these parameters, a permutation of the optimizer's.
  void step(const std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients,
            SourceLocation at = SourceLocation::here());
  /// Removes the gradients, or sets them to zero.
  void zero_grad(bool set_to_none = true);

  /// The parameters, group by group.
  std::vector<Tensor> parameters() const;
  /// The parameters of one group.
  std::vector<Tensor> parameters_of_group(size_t group) const;
  size_t group_count() const { return groups_.size(); }
  double learning_rate(size_t group = 0) const;
  /// Sets the rate of a group or of all; later schedules start from it. Throws UserError unless it is a number of at
  /// least 0.
  void set_learning_rate(size_t group, double rate, SourceLocation at = SourceLocation::here());
  void set_learning_rate(double rate, SourceLocation at = SourceLocation::here());
  /// The same by PyTorch's name.
  double lr(size_t group = 0) const { return learning_rate(group); }
  void set_lr(double rate, SourceLocation at = SourceLocation::here()) { set_learning_rate(rate, at); }

  /// The state by name: "0.exp_avg" of parameter 0, "groups.0.lr", and "groups.0.initial_lr", which a schedule started
  /// from. The tensors share the optimizer's storage.
  std::map<std::string, Tensor> state_dict() const;
  /// Copies the state in; throws UserError if a name is missing or unknown or a shape differs. Initial rates may be
  /// missing.
  void load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at = SourceLocation::here());

 protected:
  struct Parameter {
    Tensor value;
    size_t group = 0;
    std::vector<std::pair<std::string, Tensor>> state;
    const Tensor& operator[](size_t i) const { return state[i].second; }
  };
  Optimizer() = default;
  void add_group(double learning_rate);
  /// Adds a parameter to the last group. Named state starts at zero; `like_parameter` has its sizes and dtype,
  /// otherwise it is a 0-d f32, or f64 for a parameter of that dtype.
  struct StateSpec {
    const char* name;
    bool like_parameter;
    std::optional<Shape> shape = {};  // of the parameter's dtype, instead of both
  };
  void add_parameter(const Tensor& value, std::initializer_list<StateSpec> state);
  virtual void update(const Parameter& parameter, const Tensor& gradient, SourceLocation at) = 0;
  /// State beside the parameters' and the groups', by names that begin with "more.".
  virtual std::vector<std::pair<std::string, Tensor>> more_state() const { return {}; }
  virtual void load_more_state(const std::map<std::string, Tensor>&, SourceLocation) {}
  /// Gives the parameters of a group what they need for a momentum that changes. Throws UserError for an optimizer
  /// without one.
  virtual void prepare_momentum(size_t group, SourceLocation at);
  void add_state(size_t parameter, std::initializer_list<StateSpec> state);
  size_t group_of(size_t parameter) const { return parameters_[parameter].group; }
  size_t parameter_count() const { return parameters_.size(); }
  const Parameter& parameter_at(size_t i) const { return parameters_[i]; }
  const Tensor& learning_rate_tensor(size_t group) const { return groups_[group].learning_rate; }
  /// The momentum, or the first beta, that a schedule sets: 0-d f64, undefined without one.
  const Tensor& momentum_tensor(size_t group) const { return groups_[group].momentum; }

 private:
  friend class ChainedScheduler;
  friend class CosineSchedule;
  friend class Schedule;
  void set_momentum(size_t group, double momentum, SourceLocation at);
  struct Group {
    Tensor learning_rate;          // 0-d: f64 if a parameter is, else f32
    Tensor initial_learning_rate;  // 0-d f64; undefined until there is a schedule
    Tensor momentum;               // 0-d f64; undefined until a schedule changes it
    double given_rate = 0;
  };
  const Group& group_at(size_t group) const;
  std::vector<std::pair<std::string, Tensor>> named_state() const;
  std::vector<Parameter> parameters_;
  std::vector<Group> groups_;
};

/// Members are given in this order.
struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
};
/// Stochastic gradient descent (torch.optim.SGD).
class SGD final : public Optimizer {
 public:
  explicit SGD(const std::vector<Tensor>& parameters, const SGDOptions& options = {},
               SourceLocation at = SourceLocation::here());
  explicit SGD(const std::vector<ParameterGroup<SGDOptions>>& groups, SourceLocation at = SourceLocation::here());
  /// Adds parameters with options of their own, as when frozen layers begin to train.
  void add_param_group(const ParameterGroup<SGDOptions>& group, SourceLocation at = SourceLocation::here());

 private:
  void update(const Parameter&, const Tensor& gradient, SourceLocation) override;
  void prepare_momentum(size_t group, SourceLocation at) override;
  std::vector<SGDOptions> options_;
};

/// Members are given in this order.
struct AdamOptions {
  double lr = 1e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;  // divides by the largest mean of squares so far
  bool maximize = false;
};
/// Adam with decay as part of the gradient (torch.optim.Adam).
class Adam final : public Optimizer {
 public:
  explicit Adam(const std::vector<Tensor>& parameters, const AdamOptions& options = {},
                SourceLocation at = SourceLocation::here());
  explicit Adam(const std::vector<ParameterGroup<AdamOptions>>& groups, SourceLocation at = SourceLocation::here());
  /// Adds parameters with options of their own.
  void add_param_group(const ParameterGroup<AdamOptions>& group, SourceLocation at = SourceLocation::here());

 private:
  void update(const Parameter&, const Tensor& gradient, SourceLocation) override;
  void prepare_momentum(size_t group, SourceLocation at) override;
  std::vector<AdamOptions> options_;
};

/// Members are given in this order.
struct AdamWOptions {
  double lr = 1e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;  // divides by the largest mean of squares so far
  bool maximize = false;
};
/// Adam with decay of the parameters themselves (torch.optim.AdamW).
class AdamW final : public Optimizer {
 public:
  explicit AdamW(const std::vector<Tensor>& parameters, const AdamWOptions& options = {},
                 SourceLocation at = SourceLocation::here());
  explicit AdamW(const std::vector<ParameterGroup<AdamWOptions>>& groups, SourceLocation at = SourceLocation::here());
  /// Adds parameters with options of their own.
  void add_param_group(const ParameterGroup<AdamWOptions>& group, SourceLocation at = SourceLocation::here());

 private:
  void update(const Parameter&, const Tensor& gradient, SourceLocation) override;
  void prepare_momentum(size_t group, SourceLocation at) override;
  std::vector<AdamWOptions> options_;
};

/// Two groups: tensors of two dimensions or more decay, the others (biases, norms) do not.
std::vector<ParameterGroup<AdamWOptions>> decay_matrices_only(const std::vector<Tensor>& parameters,
                                                              const AdamWOptions& options);

/// Scales the gradients so that their total norm is at most `max_norm`; returns the norm before, in f64 if a gradient
/// is, else in f32.
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                       SourceLocation at = SourceLocation::here());
/// The same as a function of gradients, for traced steps: the scaled gradients and the norm before.
std::pair<std::vector<Tensor>, Tensor> clip_grad_norm(const std::vector<Tensor>& gradients, double max_norm,
                                                      SourceLocation at = SourceLocation::here());

/// Members are given in this order.
struct CosineOptions {
  int64_t warmup = 0;
  int64_t steps = 1;
  double min_lr = 0;
};
/// A linear rise over `warmup` steps, then half a cosine down to `min_lr` at `steps`. Sets the rate of step 0
/// immediately; call step() after each of the optimizer's. The peaks are the rates at the start of the optimizer's
/// first schedule, which are part of its state: a schedule made after loading that state continues the first one.
class CosineSchedule {
 public:
  CosineSchedule(Optimizer& optimizer, const CosineOptions& options, SourceLocation at = SourceLocation::here());
  void step() { set_iteration(iteration_ + 1); }
  int64_t iteration() const { return iteration_; }
  /// Moves to any iteration from 0 on, to continue from a checkpoint.
  void set_iteration(int64_t iteration, SourceLocation at = SourceLocation::here());
  /// The rate at an iteration for an optimizer's group.
  double learning_rate(int64_t iteration, size_t group = 0, SourceLocation at = SourceLocation::here()) const;

  /// The iteration, and the rates at the peak in the order of the groups, by name.
  std::map<std::string, Tensor> state_dict() const;
  /// Continues from this state; throws UserError if a name is missing or a value is invalid.
  void load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at = SourceLocation::here());

 private:
  Optimizer& optimizer_;
  CosineOptions options_;
  std::vector<double> peaks_;
  int64_t iteration_ = 0;
};

}  // namespace optim
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
