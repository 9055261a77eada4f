#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

#include "cli/commands.h"
#include "cli/finetune/settings.h"
#include "cli/finetune/training_state.h"
#include "cli/shell_word.h"
#include "cli/train/checksum.h"
#include "cli/train/loss_plot.h"
#include "cli/train/metrics.h"
#include "cli/train/progress.h"
#include "cli/train/run_folder.h"
#include "training/stop_signal.h"
#include "hub/training/training_data.h"
#include "io/atomic_file.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

std::vector<std::string> listed(const std::string& names) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    out.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// A checksum of tokens and of what is learned of them: a run resumes with its first data.
std::string checksum_of(const hub::TrainingData& data) {
  return checksum({{"tokens", tensor(data.tokens)}, {"targets", tensor(data.targets)}});
}

// The part of the highest rate that a step has.
double rate_factor(const std::string& schedule, int64_t step, int64_t warmup, int64_t steps) {
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  if (schedule == "constant") return 1;
  const double progress = std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(steps - warmup));
  return schedule == "linear" ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

class FineTuning {
 public:
  explicit FineTuning(const FinetuneSettings& settings)
      : s_(settings), tokenizer_(Tokenizer::load(s_.model)), progress_(s_.as_json) {
    const hub::TrainingData data = hub::read_training_data(s_.data, tokenizer_);
    data_checksum_ = checksum_of(data);
    data_.emplace(data, s_.length, static_cast<uint64_t>(s_.seed));
    steps_ = s_.epochs > 0 ? steps_of_epochs() : s_.steps;
    if (!s_.eval_data.empty()) eval_ = hub::read_training_data(s_.eval_data, tokenizer_);
    make_model();
    optimizer_.emplace(nn::parameters(model_), optim::AdamWOptions{.lr = s_.lr, .weight_decay = s_.weight_decay});
    make_schedule();
    nn::train(model_);
  }

  // Nothing is written before it is known that the run can begin.
  void start(const TrainingState* state) {
    if (state) restore(*state);
    folder_.open(s_.out, "");
    if (state) resume_metrics();
    else metrics_.start(metrics_path());
    progress_.line(text::cat(data_->blocks(), " rows of ", s_.length, " tokens"));
    if (state) progress_.line(text::cat("continuing from step ", step_, " of ", steps_));
  }

  int run() {
    catch_stop_signals();
    const auto whole_step = jit([this](Tensor tokens, Tensor targets) { return train_step(tokens, targets); });
    for (; step_ < steps_ && stop_signal() == 0 && !is_ended_early(); finish_step()) {
      if (s_.accumulate > 1) {
        loss_ = step_of_batches();
      } else {
        const auto [tokens, targets] = next_batch();
        loss_ = whole_step(tokens, targets).item<double>();
      }
      if (!std::isfinite(loss_))
        throw UserError(text::cat("the loss is not finite at step ", step_, "; a smaller --lr may help"));
      schedule_->step();
    }
    const bool is_interrupted = step_ < steps_ && !is_ended_early();
    if (!is_interrupted && s_.eval_every == 0) evaluate();
    save_state(is_interrupted || s_.checkpoint_every > 0);
    save(s_.out);
    write_file(s_.out + "/loss.svg", loss_plot_svg(metrics_.training(), metrics_.validation()));
    report(is_interrupted);
    return is_interrupted ? 128 + stop_signal() : 0;
  }

 private:
  void make_model() {
    model_ = hub::load_causal_lm(s_.model, {.dtype = Dtype::f32, .weights = hub::weights_from_name(s_.weights)});
    manual_seed(static_cast<uint64_t>(s_.seed));
    if (s_.lora == 0) return refuse_codes();
    weights_checksum_ = checksum(nn::state_dict(model_));
    model_ = hub::with_lora(model_,
                            {.rank = s_.lora, .alpha = s_.alpha, .targets = listed(s_.targets), .dropout = s_.dropout});
  }
  // A folder whose weights are codes.
  void refuse_codes() {
    for (const hub::detail::NamedLinear& linear : hub::detail::collect(model_).layers)
      if (linear.layer->quantized)
        throw UserError(text::cat("\"", s_.model, "\" has weights of few bits, which are not trained; use --lora"));
  }
  void make_schedule() {
    schedule_.emplace(*optimizer_, [this](int64_t step) {
      return rate_factor(s_.schedule, step, s_.warmup, std::max(steps_, s_.warmup + 1));
    });
  }

  static Tensor loss_of(hub::CausalLM model, Tensor tokens, Tensor targets) { return model.loss(tokens, targets); }

  std::pair<Tensor, Tensor> tensors_of(const hub::TokenBatch& batch) const {
    const Shape shape{static_cast<int64_t>(batch.tokens.size()) / s_.length, s_.length};
    return {tensor(batch.tokens).reshape(shape), tensor(batch.targets).reshape(shape)};
  }
  std::pair<Tensor, Tensor> next_batch() { return tensors_of(data_->next(s_.batch)); }

  // A whole step as one trace: its memory is planned, and gradients are made in place of others.
  Tensor train_step(const Tensor& tokens, const Tensor& targets) {
    const auto step = [&] {
      const AutocastScope scope(s_.autocast());
      const Tensor loss = loss_of(model_, tokens, targets);
      return std::pair(loss, autograd::grad({loss}, nn::parameters(model_)));
    };
    auto [loss, gradients] = step();
    if (s_.clip > 0) gradients = optim::clip_grad_norm(gradients, s_.clip).first;
    optimizer_->step(nn::parameters(model_), gradients);
    return loss;
  }
  // The gradients are those of the mean of the batches' losses.
  double step_of_batches() {
    optimizer_->zero_grad();
    double total = 0;
    for (int64_t i = 0; i < s_.accumulate; ++i) {
      const auto [tokens, targets] = next_batch();
      const Tensor part = compiled_(model_, tokens, targets);
      (part / static_cast<double>(s_.accumulate)).backward();
      total += part.item<double>();
    }
    if (s_.clip > 0) optim::clip_grad_norm_(nn::parameters(model_), s_.clip);
    optimizer_->step();
    return total / static_cast<double>(s_.accumulate);
  }

  // The last step may learn rows of the next epoch too.
  int64_t steps_of_epochs() const {
    const int64_t rows = s_.epochs * data_->blocks();
    return (rows + rows_of_step() - 1) / rows_of_step();
  }
  int64_t rows_of_step() const { return s_.accumulate * s_.batch; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  double tokens_per_second() const {
    return static_cast<double>((step_ - first_) * rows_of_step() * s_.length) / std::max(seconds(), 1e-9);
  }

  void finish_step() {
    ++step_;
    const double rate = tokens_per_second();
    metrics_.add_training(step_, loss_, rate);
    const auto left = static_cast<double>((steps_ - step_) * rows_of_step() * s_.length);
    progress_.step(step_, steps_, loss_, rate, left / std::max(rate, 1e-9), step_ % 10 == 0 || step_ == 1);
    if (s_.eval_every > 0 && step_ % s_.eval_every == 0) evaluate();
    if (s_.checkpoint_every > 0 && step_ % s_.checkpoint_every == 0) save_state(true);
  }

  bool is_ended_early() const { return s_.patience > 0 && best_.not_better >= s_.patience; }

  // The mean loss of the rows of --eval-data.
  void evaluate() {
    if (s_.eval_data.empty()) return;
    const NoGrad no_grad;
    nn::eval(model_);
    hub::BlockSampler sampler(eval_, s_.length, 0);
    double total = 0;
    for (int64_t i = 0; i < sampler.blocks(); ++i) {
      const auto [tokens, targets] = tensors_of(sampler.next(1));
      total += compiled_(model_, tokens, targets).item<double>();
    }
    nn::train(model_);
    eval_loss_ = total / static_cast<double>(sampler.blocks());
    metrics_.add_validation(step_, eval_loss_, tokens_per_second());
    progress_.line(text::cat("step ", step_, "/", steps_, " validation loss ", json::number(eval_loss_)));
    compare_with_best();
  }
  void compare_with_best() {
    if (!(eval_loss_ < best_.loss)) {
      ++best_.not_better;
      return;
    }
    best_ = {.loss = eval_loss_, .step = step_, .not_better = 0};
    if (s_.saves_best) save(s_.out + "/best");
  }

  void save(const std::string& folder) {
    nn::eval(model_);
    if (s_.lora > 0) hub::save_lora(model_, folder, s_.model);
    else hub::save(model_, folder, {.like = s_.model});
    nn::train(model_);
  }

  // The state of a run that has ended is removed, unless checkpoints were asked for.
  void save_state(bool is_kept) {
    if (!is_kept) {
      std::error_code error;
      std::filesystem::remove(training_state_path(s_.out), error);
      return;
    }
    TrainingState state{.settings = to_json(s_),
                        .step = step_,
                        .best = best_,
                        .generator = context().generator.state(),
                        .data = data_checksum_,
                        .weights = weights_checksum_};
    for (const auto& [name, tensor] : nn::named_parameters(model_)) state.tensors["model." + name] = tensor;
    for (const auto& [name, tensor] : optimizer_->state_dict()) state.tensors["optimizer." + name] = tensor;
    metrics_.sync();  // a checkpoint's losses are there when it is
    save_training_state(s_.out, state);
  }

  void restore(const TrainingState& state) {
    if (state.data != data_checksum_) throw UserError("the run is of other data than " + s_.data);
    if (state.weights != weights_checksum_) throw UserError("the run is of another model than " + s_.model);
    const NoGrad no_grad;
    TensorMap optimizer;
    for (const auto& [name, tensor] : state.tensors)
      if (name.starts_with("optimizer.")) optimizer[name.substr(10)] = tensor;
    for (const auto& [name, parameter] : nn::named_parameters(model_)) {
      const auto found = state.tensors.find("model." + name);
      if (found == state.tensors.end() || found->second.shape() != parameter.shape())
        throw UserError(
            text::cat("the run is of another model than ", s_.model, ": it has no ", name, " of its shape"));
      Tensor(parameter).copy_(found->second);
    }
    optimizer_->load_state_dict(optimizer);
    if (resumed_settings(state.settings, {}).lr != s_.lr) optimizer_->set_learning_rate(s_.lr);
    make_schedule();
    schedule_->set_iteration(state.step);
    step_ = first_ = state.step;
    best_ = state.best;
    data_->seek(step_ * rows_of_step());
    context().generator.set_state(state.generator);
  }
  void resume_metrics() {
    metrics_.resume(metrics_path(), step_);
    if (!metrics_.training().empty()) loss_ = metrics_.training().back().second;
    if (!metrics_.validation().empty()) eval_loss_ = metrics_.validation().back().second;
  }
  std::string metrics_path() const { return s_.out + "/metrics.jsonl"; }

  void report(bool is_interrupted) {
    if (s_.as_json) {
      const std::string best =
          best_.step < 0 ? ""
                         : text::cat(", \"best_loss\": ", json::number(best_.loss), ", \"best_step\": ", best_.step);
      std::printf("%s\n", text::cat("{\"steps\": ", step_, ", \"train_loss\": ", json::number(loss_),
                                    ", \"eval_loss\": ", json::number(eval_loss_), best, ", \"tokens_per_s\": ",
                                    json::number(tokens_per_second()), ", \"seconds\": ", json::number(seconds()), "}")
                              .c_str());
      return;
    }
    std::printf("step %lld: training loss %.4f, %.1f s\nsaved: %s\n", static_cast<long long>(step_), loss_, seconds(),
                s_.out.c_str());
    if (is_ended_early())
      progress_.line(
          text::cat("ended early: the lowest validation loss is ", json::number(best_.loss), " of step ", best_.step));
    if (is_interrupted)
      progress_.line(text::cat("stopped at step ", step_, " of ", steps_, "; continue with: fulgurite finetune --out ",
                               shell_word(s_.out), " --resume"));
  }

  using Clock = std::chrono::steady_clock;
  const FinetuneSettings& s_;
  Tokenizer tokenizer_;
  hub::CausalLM model_;
  std::optional<hub::BlockSampler> data_;
  std::optional<optim::AdamW> optimizer_;
  std::optional<optim::LambdaLR> schedule_;
  hub::TrainingData eval_;
  RunFolder folder_;
  Progress progress_;
  Metrics metrics_;
  decltype(jit(loss_of)) compiled_ = jit(loss_of, {.autocast = s_.autocast()});
  const Clock::time_point begin_ = Clock::now();
  std::string data_checksum_, weights_checksum_;
  int64_t steps_ = 0, step_ = 0, first_ = 0;
  double loss_ = NAN, eval_loss_ = NAN;
  BestLoss best_;
};

}  // namespace

int finetune(const std::vector<std::string>& arguments) {
  FinetuneSettings settings;
  if (!parse(settings, arguments)) return 0;
  if (settings.threads > 0) set_num_threads(static_cast<int>(settings.threads));
  std::optional<TrainingState> state;
  if (settings.resumes) {
    state = load_training_state(settings.out);
    settings = resumed_settings(state->settings, settings);
  } else if (std::filesystem::exists(training_state_path(settings.out))) {
    throw UserError(settings.out + " has an interrupted run; give --resume to continue it, or another --out");
  }
  FineTuning run(settings);
  run.start(state ? &*state : nullptr);
  return run.run();
}

}  // namespace fulgurite::cli
