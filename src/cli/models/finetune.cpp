#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/models/models.h"
#include "cli/train/loss_plot.h"
#include "cli/train/metrics.h"
#include "cli/train/progress.h"
#include "cli/train/stop_signal.h"
#include "hub/training/training_data.h"
#include "io/atomic_file.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

struct Settings {
  std::string model, data, eval_data, out, dtype = "f32", targets = "q_proj,v_proj";
  int64_t lora = 0, steps = 100, batch = 4, accumulate = 1, length = 256, warmup = 0, eval_every = 0, seed = 1337,
          threads = 0;
  double rate = 0, alpha = 0, decay = 0.01, clip = 1;
  bool as_json = false;
  std::optional<Dtype> autocast() const { return dtype == "bf16" ? std::optional(Dtype::bf16) : std::nullopt; }
};

bool parse(Settings& s, const std::vector<std::string>& arguments) {
  Flags flags("fulgurite finetune --model FOLDER --data FILE --out FOLDER [flags]",
              {"fulgurite finetune --model smollm2 --data book.txt --out tuned --steps 200",
               "fulgurite finetune --model smollm2 --data chats.jsonl --out adapter --lora 16"});
  flags.text("model", "FOLDER", s.model, "a folder of a Hugging Face language model");
  flags.text("data", "FILE", s.data, "a text, or .jsonl: text, prompt and completion, or messages");
  flags.text("out", "FOLDER", s.out, "the folder to write");
  flags.integer("lora", s.lora, 0, 4096, "the rank of LoRA; 0: the whole model is trained");
  flags.number("alpha", s.alpha, 0, 1e6, "LoRA's changes are multiplied by alpha / rank; 0: twice the rank");
  flags.text("targets", "NAMES", s.targets, "layers with LoRA, or all-linear (q_proj,v_proj)");
  flags.integer("steps", s.steps, 1, 1 << 30, "steps of the optimizer, AdamW");
  flags.integer("batch", s.batch, 1, 4096, "rows of a batch");
  flags.integer("accumulate", s.accumulate, 1, 4096, "batches of a step");
  flags.integer("length", s.length, 2, 1 << 20, "tokens of a row");
  flags.number("lr", s.rate, 0, 10, "the rate at its peak; 0: 2e-5, with LoRA 2e-4");
  flags.integer("warmup", s.warmup, 0, 1 << 30, "steps of a linear rise; then half a cosine down to 0");
  flags.number("weight-decay", s.decay, 0, 10, "of AdamW");
  flags.number("clip", s.clip, 0, 1e6, "the largest norm of the gradients; 0: any");
  flags.choice("dtype", s.dtype, {"f32", "bf16"}, "what products are computed in; parameters are f32");
  flags.text("eval-data", "FILE", s.eval_data, "data whose loss is measured");
  flags.integer("eval-every", s.eval_every, 0, 1 << 30, "steps between two measurements; 0: at the end");
  flags.integer("seed", s.seed, 0, 1LL << 62, "seed of the order of rows and of LoRA");
  flags.integer("threads", s.threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.toggle("json", s.as_json, "print one JSON object at the end, and no progress");
  if (!flags.parse(arguments)) return false;
  for (const auto& [name, value] : {std::pair{"model", &s.model}, {"data", &s.data}, {"out", &s.out}})
    if (value->empty()) throw WrongUse(text::cat("--", name, " is missing; see --help"));
  if (s.rate == 0) s.rate = s.lora > 0 ? 2e-4 : 2e-5;
  if (s.alpha == 0) s.alpha = 2.0 * static_cast<double>(s.lora);
  return true;
}

std::vector<std::string> listed(const std::string& names) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    out.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

class FineTuning {
 public:
  explicit FineTuning(const Settings& settings)
      : s_(settings),
        tokenizer_(Tokenizer::load(s_.model)),
        model_(hub::load_causal_lm(s_.model, {.dtype = Dtype::f32})),
        data_(hub::read_training_data(s_.data, tokenizer_), s_.length, static_cast<uint64_t>(s_.seed)),
        optimizer_(adapted_parameters(), {.lr = s_.rate, .weight_decay = s_.decay}),
        progress_(s_.as_json) {
    if (!s_.eval_data.empty()) eval_ = hub::read_training_data(s_.eval_data, tokenizer_);
    nn::train(model_);
    std::filesystem::create_directories(s_.out);
    metrics_.start(s_.out + "/metrics.jsonl");
    progress_.line(text::cat(data_.blocks(), " rows of ", s_.length, " tokens"));
  }

  int run() {
    catch_stop_signals();
    optim::CosineSchedule schedule(optimizer_, {.warmup = s_.warmup, .steps = std::max(s_.steps, s_.warmup + 1)});
    const auto whole_step = jit([this](Tensor tokens, Tensor targets) { return train_step(tokens, targets); });
    for (; step_ < s_.steps && stop_signal() == 0; finish_step()) {
      if (s_.accumulate > 1) {
        loss_ = step_of_batches();
      } else {
        const auto [tokens, targets] = next_batch();
        loss_ = whole_step(tokens, targets).item<double>();
      }
      if (!std::isfinite(loss_))
        throw UserError(text::cat("the loss is not finite at step ", step_, "; a smaller --lr may help"));
      schedule.step();
    }
    if (step_ == s_.steps && s_.eval_every == 0) evaluate();
    save();
    report();
    return step_ == s_.steps ? 0 : 128 + stop_signal();
  }

 private:
  // The parameters that are trained, after LoRA was added.
  std::vector<Tensor> adapted_parameters() {
    manual_seed(static_cast<uint64_t>(s_.seed));
    if (s_.lora > 0)
      model_ = hub::with_lora(model_, {.rank = s_.lora, .alpha = s_.alpha, .targets = listed(s_.targets)});
    return nn::parameters(model_);
  }

  static Tensor loss_of(hub::CausalLM model, Tensor tokens, Tensor targets) { return model.loss(tokens, targets); }

  std::pair<Tensor, Tensor> tensors_of(const hub::TokenBatch& batch) const {
    const Shape shape{static_cast<int64_t>(batch.tokens.size()) / s_.length, s_.length};
    return {tensor(batch.tokens).reshape(shape), tensor(batch.targets).reshape(shape)};
  }
  std::pair<Tensor, Tensor> next_batch() { return tensors_of(data_.next(s_.batch)); }

  // A whole step as one trace: its memory is planned, and gradients are made in place of others.
  Tensor train_step(const Tensor& tokens, const Tensor& targets) {
    const auto step = [&] {
      const AutocastScope scope(s_.autocast());
      const Tensor loss = loss_of(model_, tokens, targets);
      return std::pair(loss, autograd::grad({loss}, nn::parameters(model_)));
    };
    auto [loss, gradients] = step();
    if (s_.clip > 0) gradients = optim::clip_grad_norm(gradients, s_.clip).first;
    optimizer_.step(nn::parameters(model_), gradients);
    return loss;
  }
  // The gradients are those of the mean of the batches' losses.
  double step_of_batches() {
    optimizer_.zero_grad();
    double total = 0;
    for (int64_t i = 0; i < s_.accumulate; ++i) {
      const auto [tokens, targets] = next_batch();
      const Tensor part = compiled_(model_, tokens, targets);
      (part / static_cast<double>(s_.accumulate)).backward();
      total += part.item<double>();
    }
    if (s_.clip > 0) optim::clip_grad_norm_(nn::parameters(model_), s_.clip);
    optimizer_.step();
    return total / static_cast<double>(s_.accumulate);
  }

  double tokens_per_second() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    return static_cast<double>(step_ * s_.accumulate * s_.batch * s_.length) / std::max(seconds, 1e-9);
  }

  void finish_step() {
    ++step_;
    const double rate = tokens_per_second();
    metrics_.add_training(step_, loss_, rate);
    const auto left = static_cast<double>((s_.steps - step_) * s_.accumulate * s_.batch * s_.length);
    progress_.step(step_, s_.steps, loss_, rate, left / std::max(rate, 1e-9), step_ % 10 == 0 || step_ == 1);
    if (s_.eval_every > 0 && step_ % s_.eval_every == 0) evaluate();
  }

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
    progress_.line(text::cat("step ", step_, "/", s_.steps, " validation loss ", json::number(eval_loss_)));
  }

  void save() {
    nn::eval(model_);
    if (s_.lora > 0) hub::save_lora(model_, s_.out, s_.model);
    else hub::save(model_, s_.out, {.like = s_.model});
    write_file(s_.out + "/loss.svg", loss_plot_svg(metrics_.training(), metrics_.validation()));
  }

  void report() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (s_.as_json)
      std::printf("%s\n", text::cat("{\"steps\": ", step_, ", \"train_loss\": ", json::number(loss_),
                                    ", \"eval_loss\": ", json::number(eval_loss_), ", \"tokens_per_s\": ",
                                    json::number(tokens_per_second()), ", \"seconds\": ", json::number(seconds), "}")
                              .c_str());
    else
      std::printf("step %lld: training loss %.4f, %.1f s\nsaved: %s\n", static_cast<long long>(step_), loss_, seconds,
                  s_.out.c_str());
  }

  using Clock = std::chrono::steady_clock;
  const Settings& s_;
  Tokenizer tokenizer_;
  hub::CausalLM model_;
  hub::BlockSampler data_;
  optim::AdamW optimizer_;
  hub::TrainingData eval_;
  Progress progress_;
  Metrics metrics_;
  decltype(jit(loss_of)) compiled_ = jit(loss_of, {.autocast = s_.autocast()});
  const Clock::time_point begin_ = Clock::now();
  int64_t step_ = 0;
  double loss_ = NAN, eval_loss_ = NAN;
};

}  // namespace

int finetune(const std::vector<std::string>& arguments) {
  Settings settings;
  if (!parse(settings, arguments)) return 0;
  if (settings.threads > 0) set_num_threads(static_cast<int>(settings.threads));
  return FineTuning(settings).run();
}

}  // namespace fulgurite::cli
