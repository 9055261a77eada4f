#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/program.h"

namespace fulgurite {

/// Notified of each op of a trace that runs op by op. The tensors are those among its arguments, or its results. May
/// throw.
class ExecutionObserver {
 public:
  virtual ~ExecutionObserver() = default;
  virtual void before(const Trace&, const BoundSymbol&, std::span<const Tensor>) const {}
  virtual void after(const Trace&, const BoundSymbol&, std::span<const Tensor> arguments,
                     std::span<const Tensor> results) const = 0;
  /// Per-op annotations for printing an executed trace, by position; empty if there are none.
  virtual std::vector<std::string> notes(const Trace&) const { return {}; }
  /// The runner of a trace instead of its ops; null: they run one by one.
  virtual std::shared_ptr<const ProgramRunner> runner(const Trace&) const { return {}; }
};

/// Runs each op of an execution trace as a program of its own: slower than one program for all, with every value
/// observable. Any number of threads may run it.
class OpInterpreter final : public ProgramRunner {
 public:
  OpInterpreter(Trace, std::shared_ptr<const ExecutionObserver>);
  ~OpInterpreter() override;
  void run(std::span<const Tensor> inputs, std::vector<Tensor>& results) const override;
  /// Every tensor passed or computed, by proxy id, as it was before any write into it.
  std::vector<Tensor> values(std::span<const Tensor> inputs) const;

 private:
  struct Op;
  void run_ops(std::vector<Tensor>& values, std::span<const Tensor> inputs, bool keeps_all) const;
  void run_op(const Op&, std::vector<Tensor>& values, bool keeps_all) const;
  static void keep_old_values(const Op&, std::vector<Tensor>& values, bool keeps_all);

  const Trace trace_;
  const std::shared_ptr<const ExecutionObserver> watch_;
  std::vector<Op> ops_;
};

}  // namespace fulgurite
