#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fulgurite/optim.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace optim {

/// Members are given in this order.
struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  bool enabled = true;
};

/// Loss scaling: keeps the small gradients of an f16 backward from becoming 0.
///
///     scaler.scale(loss).backward();
///     scaler.unscale_(optimizer);      // only to read the gradients, e.g. to clip them; else step() does it
///     scaler.step(optimizer);          // skipped if a gradient is infinite or NaN
///     scaler.update();                 // the scale shrinks after such a step and grows after growth_interval others
///
/// Eager: it reads the gradients' values. PyTorch: torch.amp.GradScaler.
class GradScaler {
 public:
  explicit GradScaler(const GradScalerOptions& options = {}, SourceLocation at = SourceLocation::here());

  Tensor scale(const Tensor& loss) const;
  /// Divides the gradients of the optimizer's parameters by the scale. An error if step() or unscale_() has done so
  /// since update().
  void unscale_(Optimizer& optimizer, SourceLocation at = SourceLocation::here());
  /// Steps if all gradients are finite; returns true if it did. An error the second time since update().
  bool step(Optimizer& optimizer, SourceLocation at = SourceLocation::here());
  /// Sets the scale for the next step.
  void update();

  double get_scale() const { return options_.enabled ? scale_ : 1; }
  /// "scale" and "growth_tracker", 0-d.
  std::map<std::string, Tensor> state_dict() const;
  void load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at = SourceLocation::here());

 private:
  struct Seen {  // an optimizer since update()
    bool is_finite = true, is_stepped = false;
  };
  GradScalerOptions options_;
  double scale_;
  int64_t growth_tracker_ = 0;  // steps since the scale last changed
  std::map<const Optimizer*, Seen> seen_;
};

}  // namespace optim
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
