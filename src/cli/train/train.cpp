#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/train/gpt_run.h"
#include "cli/train/loss_plot.h"
#include "cli/train/metrics.h"
#include "cli/train/progress.h"
#include "cli/train/run_folder.h"
#include "training/stop_signal.h"
#include "cli/train/train_flags.h"
#include "io/atomic_file.h"
#include "io/json.h"
#include "support/context.h"
#include "support/text/plural.h"

namespace fulgurite::cli {

namespace {

using Clock = std::chrono::steady_clock;

// The text cut into training and validation tokens, 9 to 1.
struct Data {
  Vocabulary vocabulary;
  std::vector<int64_t> train, validation;
  int64_t characters = 0;
  std::string fingerprint;  // of the text: a run resumes with its first text
};

std::string fingerprint(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  char out[20];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

Data load_data(const TrainFlags& f) {
  const std::string text = f.text.empty() ? read_standard_library_headers() : read_text(f.text);
  const std::string source = f.text.empty() ? "the text" : f.text;
  Data data;
  data.fingerprint = fingerprint(text);
  data.vocabulary = Vocabulary::of(text);
  const std::vector<int64_t> tokens = data.vocabulary.encode(text);
  data.characters = static_cast<int64_t>(tokens.size());
  const auto cut = static_cast<std::ptrdiff_t>(0.9 * static_cast<double>(tokens.size()));
  data.train.assign(tokens.begin(), tokens.begin() + cut);
  data.validation.assign(tokens.begin() + cut, tokens.end());
  if (static_cast<int64_t>(data.validation.size()) <= f.config.block)
    throw UserError(source + " is too short: its last tenth has " + std::to_string(data.validation.size()) +
                    " characters, --block " + std::to_string(f.config.block) + " needs more");
  return data;
}

// Rejects a model whose weights, gradients and two moments alone exceed the machine's memory, before it begins to swap.
void check_memory(const TrainConfig& c, int64_t vocabulary) {
  const double width = static_cast<double>(c.width);
  const double parameters =
      12.0 * static_cast<double>(c.layers) * width * width + static_cast<double>(vocabulary + c.block) * width;
  const double needed = 4 * sizeof(float) * parameters;
  const double there = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (there <= 0 || needed <= there) return;
  char text[160];
  std::snprintf(text, sizeof text, "a model of %.3g parameters needs %.3g GB of memory to train, this machine has %.3g",
                parameters, needed / 1e9, there / 1e9);
  throw UserError(text);
}

constexpr uint64_t train_stream = 0, validation_stream = 1;

class Run {
 public:
  Run(const TrainFlags& flags, Data data)
      : f_(flags), config_(flags.config), data_(std::move(data)), progress_(flags.as_json) {
    check_memory(config_, data_.vocabulary.size());
    manual_seed(static_cast<uint64_t>(config_.seed));
    model_ = make_model(config_, data_.vocabulary.size());
    for (const auto& [path, parameter] : nn::named_parameters(model_)) parameter.set_name(trace_name(path));
    optimizer_ = std::make_unique<optim::AdamW>(optim::decay_matrices_only(
        nn::parameters(model_),
        {.lr = config_.lr, .betas = {config_.beta1, config_.beta2}, .weight_decay = config_.weight_decay}));
    make_schedule();
  }

  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Nothing is written before it is known that the run can begin.
  void start(const Checkpoint* checkpoint) {
    if (checkpoint) restore(*checkpoint);
    folder_.open(f_.out);
    if (checkpoint) resume_metrics();
    else metrics_.start(metrics_path());
    write_file(f_.out + "/config.json", to_json(config_) + "\n");
    progress_.line("text: " + counted(data_.characters, "character") + ", " + std::to_string(data_.vocabulary.size()) +
                   " different");
    progress_.line("a GPT of " + counted(parameter_count(), "parameter") + ", " + counted(num_threads(), "thread"));
    if (!checkpoint) return;
    const std::string from = "continuing from step " + std::to_string(step_);
    progress_.line(step_ < config_.steps
                       ? from
                       : from + ": no step is left of " + std::to_string(config_.steps) + "; --steps trains on");
  }

  int run() {
    if (step_ == 0 && !f_.resume) save();
    catch_stop_signals();
    auto training_step = jit([this](Tensor tokens, Tensor targets) { return train_step(tokens, targets); },
                             {.argument_names = {"tokens", "targets"}});
    const Clock::time_point begin = Clock::now();
    const int64_t first = step_, end = f_.stop_at >= 0 ? std::min(f_.stop_at, config_.steps) : config_.steps;
    for (; step_ < end && stop_signal() == 0; finish_step(begin, first)) {
      const Batch batch = draw_batch(data_.train, config_.batch, config_.block, static_cast<uint64_t>(config_.seed),
                                     train_stream, static_cast<uint64_t>(step_));
      const NoGrad no_grad;  // gradients are part of the step
      loss_ = training_step(batch.tokens, batch.targets).item<double>();
      if (!std::isfinite(loss_))
        throw UserError("the loss is not finite at step " + std::to_string(step_) +
                        "; the checkpoint before it is kept");
      schedule_->step();
      if (step_ == first && f_.show_traces && !f_.as_json)
        std::printf("%s\n", last_traces(training_step).back().cpp().c_str());
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const int signal = step_ < end ? stop_signal() : 0;
    if (signal == 0 && validated_at_ != step_) validate(tokens_per_second(begin, first));
    save();
    write_plot();
    print_results(seconds, first);
    if (signal == 0) return 0;
    progress_.line("stopped at step " + std::to_string(step_) + " of " + std::to_string(config_.steps) +
                   ", saved; continue with: " + resume_command(f_));
    return 128 + signal;
  }

  int64_t parameter_count() const {
    int64_t count = 0;
    for (const Tensor& p : nn::parameters(model_)) count += p.numel();
    return count;
  }

 private:
  // "blocks.0.attn.qkv.weight" as traces name it.
  static std::string trace_name(std::string path) {
    for (char& c : path)
      if (c == '.') c = '_';
    return "t_" + path;
  }
  std::string metrics_path() const { return f_.out + "/metrics.jsonl"; }

  // One full step as a function of a batch: the model and the optimizer's state are captured, and written at the
  // trace's end.
  Tensor train_step(const Tensor& tokens, const Tensor& targets) const {
    const auto loss_of = [](models::Gpt model, Tensor x, Tensor y) { return model.loss(x, y); };
    const auto step = [&] {
      const AutocastScope scope(autocast_of(config_));
      return value_and_grad<0>(loss_of)(model_, tokens, targets);
    };
    const auto [loss, gradients] = step();
    std::vector<Tensor> scaled;
    for (const auto& [name, gradient] : nn::model_detail::named_tensors(gradients))
      if (gradient.defined()) scaled.push_back(gradient);
    if (config_.clip > 0) scaled = optim::clip_grad_norm(scaled, config_.clip).first;
    optimizer_->step(nn::parameters(model_), scaled);
    return loss;
  }

  void make_schedule() {
    schedule_ = std::make_unique<optim::CosineSchedule>(
        *optimizer_,
        optim::CosineOptions{
            .warmup = config_.warmup, .steps = std::max(config_.steps, config_.warmup + 1), .min_lr = config_.min_lr});
  }

  // Losses that were not measured are omitted.
  void print_results(double seconds, int64_t first) const {
    const auto step = static_cast<long long>(step_);
    if (f_.as_json) {
      std::printf(
          "{\"steps\": %lld, \"train_loss\": %s, \"val_loss\": %s, \"tokens_per_s\": %s, \"seconds\": %s}\n", step,
          json::number(loss_).c_str(), json::number(validation_loss_).c_str(),
          json::number(static_cast<double>((step_ - first) * config_.batch * config_.block) / std::max(seconds, 1e-9))
              .c_str(),
          json::number(seconds).c_str());
      return;
    }
    std::printf("step %lld:", step);
    if (std::isfinite(loss_)) std::printf(" training loss %.4f,", loss_);
    if (validated_at_ >= 0) std::printf(" validation loss %.4f,", validation_loss_);
    std::printf(" %.1f s\nplot: %s/loss.svg\n", seconds, f_.out.c_str());
  }

  double tokens_per_second(Clock::time_point begin, int64_t first) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return static_cast<double>((step_ - first) * config_.batch * config_.block) / std::max(seconds, 1e-9);
  }

  void finish_step(Clock::time_point begin, int64_t first) {
    ++step_;
    const double rate = tokens_per_second(begin, first);
    if (step_ % f_.log_every == 0 || step_ == 1 || step_ == config_.steps) {
      metrics_.add_training(step_, loss_, rate);
      const double left =
          static_cast<double>((config_.steps - step_) * config_.batch * config_.block) / std::max(rate, 1e-9);
      progress_.step(step_, config_.steps, loss_, rate, left, step_ % (10 * f_.log_every) == 0);
    }
    if (f_.eval_every > 0 && step_ % f_.eval_every == 0) validate(rate);
    if (f_.checkpoint_every > 0 && step_ % f_.checkpoint_every == 0) save();
  }

  void validate(double rate) {
    const NoGrad no_grad;
    if (!validation_step_)
      validation_step_ =
          std::make_unique<ValidationStep>(jit(loss_without_dropout, {.autocast = autocast_of(config_)}));
    models::Gpt model = model_;
    nn::eval(model);
    double total = 0;
    for (int64_t i = 0; i < f_.eval_batches; ++i) {
      const Batch batch = draw_batch(data_.validation, config_.batch, config_.block,
                                     static_cast<uint64_t>(config_.seed), validation_stream, static_cast<uint64_t>(i));
      total += (*validation_step_)(model, batch.tokens, batch.targets).item<double>();
    }
    validation_loss_ = total / static_cast<double>(f_.eval_batches);
    validated_at_ = step_;
    metrics_.add_validation(step_, validation_loss_, rate);
    char text[96];
    std::snprintf(text, sizeof text, "step %lld/%lld validation loss %.4f", static_cast<long long>(step_),
                  static_cast<long long>(config_.steps), validation_loss_);
    progress_.line(text);
    write_plot();
  }

  void write_plot() const {
    write_file(f_.out + "/loss.svg", loss_plot_svg(metrics_.training(), metrics_.validation()));
  }

  void save() {
    Checkpoint checkpoint{config_, data_.vocabulary.characters(), step_, {}, {}};
    for (const auto& [name, tensor] : nn::state_dict(model_)) checkpoint.tensors["model." + name] = tensor;
    for (const auto& [name, tensor] : optimizer_->state_dict()) checkpoint.tensors["optimizer." + name] = tensor;
    const auto generator = context().generator.state();
    checkpoint.extra["generator_seed"] = std::to_string(generator.seed);
    checkpoint.extra["generator_offset"] = std::to_string(generator.offset);
    checkpoint.extra["text"] = data_.fingerprint;
    metrics_.sync();  // a checkpoint's losses are there when it is
    save_checkpoint(f_.out, checkpoint);
  }

  void restore(const Checkpoint& checkpoint) {
    if (checkpoint.vocabulary != data_.vocabulary.characters())
      throw UserError("the checkpoint is of another text: its characters differ; give its text with --text");
    if (checkpoint.value_of("text") != data_.fingerprint)
      throw UserError("the checkpoint is of another text; give its text with --text");
    load_model(model_, checkpoint.tensors);
    TensorMap state;
    for (const auto& [name, tensor] : checkpoint.tensors)
      if (name.starts_with("optimizer.")) state[name.substr(10)] = tensor;
    optimizer_->load_state_dict(state);
    step_ = checkpoint.step;
    // The optimizer's state has the peak of the schedule so far, rounded as the run rounded it: only a new rate
    // replaces it.
    if (config_.lr != checkpoint.config.lr) optimizer_->set_learning_rate(config_.lr);
    make_schedule();
    schedule_->set_iteration(step_);
    try {
      context().generator.set_state(
          {std::stoull(checkpoint.value_of("generator_seed")), std::stoull(checkpoint.value_of("generator_offset"))});
    } catch (const std::logic_error&) {
      throw UserError("the checkpoint has a damaged generator state");
    }
  }

  // Validations at the checkpoint's step are not repeated.
  void resume_metrics() {
    metrics_.resume(metrics_path(), step_);
    const auto at_step = [&](const Curve& curve) {
      return !curve.empty() && curve.back().first == static_cast<double>(step_);
    };
    if (at_step(metrics_.training())) loss_ = metrics_.training().back().second;
    if (!at_step(metrics_.validation())) return;
    validation_loss_ = metrics_.validation().back().second;
    validated_at_ = step_;
  }

  static Tensor loss_without_dropout(models::Gpt model, Tensor tokens, Tensor targets) {
    return model.loss(tokens, targets);
  }
  using ValidationStep = decltype(jit(loss_without_dropout));

  const TrainFlags& f_;
  TrainConfig config_;
  Data data_;
  models::Gpt model_;
  std::unique_ptr<optim::AdamW> optimizer_;
  std::unique_ptr<optim::CosineSchedule> schedule_;
  std::unique_ptr<ValidationStep> validation_step_;
  RunFolder folder_;
  Metrics metrics_;
  Progress progress_;
  int64_t step_ = 0, validated_at_ = -1;
  double loss_ = NAN, validation_loss_ = NAN;
};

// The checkpoint to continue from; none for a new run.
std::optional<Checkpoint> find_checkpoint(const TrainFlags& f) {
  const bool has_checkpoint = std::filesystem::exists(checkpoint_path(f.out));
  if (f.resume && !has_checkpoint)
    throw UserError("there is no checkpoint in " + f.out + " to continue from; without --resume the run begins anew");
  if (!f.resume && has_checkpoint)
    throw UserError(f.out + " already has a checkpoint; give --resume to continue, or another --out");
  return f.resume ? std::optional(load_checkpoint(f.out)) : std::nullopt;
}

}  // namespace

int train(const std::vector<std::string>& arguments) {
  TrainFlags flags;
  if (!parse(flags, arguments)) return 0;
  if (flags.threads > 0) set_num_threads(static_cast<int>(flags.threads));
  const std::optional<Checkpoint> checkpoint = find_checkpoint(flags);
  if (checkpoint) {
    flags.config = resumed_config(*checkpoint, flags.config, flags.given);
    check_settings(flags.config);
  }
  Run run(flags, load_data(flags));
  run.start(checkpoint ? &*checkpoint : nullptr);
  return run.run();
}

}  // namespace fulgurite::cli
