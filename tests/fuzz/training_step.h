#pragma once
// A training step of a GPT, as tools take it apart.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

namespace fulgurite::test {

/// Members are given in this order.
struct StepOptions {
  models::GptOptions sizes{
      .vocabulary = 65, .layers = 6, .heads = 6, .width = 384, .block = 256, .bias = true, .tanh_gelu = true};
  int64_t batch = 8;
  bool is_bf16 = false;     // under autocast
  bool is_divided = false;  // a jitted loss and its backward(), else forward, backward and optimizer in one trace
  std::vector<std::string> executors = {};  // empty: the default list
};

/// Not movable: the jitted function refers to it.
class TrainingStep {
 public:
  using Function = decltype(jit(std::declval<std::function<Tensor(Tensor, Tensor)>>()));

  explicit TrainingStep(const StepOptions&);
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  const Function& function() const { return function_; }
  void run() { run(function_); }
  /// Another function of the same callable, on the same batch.
  void run(const Function&);

 private:
  Tensor step(const Tensor& tokens, const Tensor& targets);

  const StepOptions options_;
  models::Gpt model_;
  optim::AdamW optimizer_;
  Function function_;
  Tensor tokens_, targets_;
};

}  // namespace fulgurite::test
