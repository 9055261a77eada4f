#include "cli/finetune/settings.h"

#include <algorithm>
#include <iterator>

#include <fulgurite/error.h>

#include "cli/flags.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

// Each saved setting: its name, which is its flag's, and its member.
template <class Visit>
void each_setting(Visit&& visit) {
  visit("model", &FinetuneSettings::model);
  visit("data", &FinetuneSettings::data);
  visit("eval-data", &FinetuneSettings::eval_data);
  visit("dtype", &FinetuneSettings::dtype);
  visit("weights", &FinetuneSettings::weights);
  visit("targets", &FinetuneSettings::targets);
  visit("lora", &FinetuneSettings::lora);
  visit("alpha", &FinetuneSettings::alpha);
  visit("lora-dropout", &FinetuneSettings::dropout);
  visit("steps", &FinetuneSettings::steps);
  visit("epochs", &FinetuneSettings::epochs);
  visit("batch", &FinetuneSettings::batch);
  visit("accumulate", &FinetuneSettings::accumulate);
  visit("length", &FinetuneSettings::length);
  visit("warmup", &FinetuneSettings::warmup);
  visit("schedule", &FinetuneSettings::schedule);
  visit("seed", &FinetuneSettings::seed);
  visit("lr", &FinetuneSettings::lr);
  visit("weight-decay", &FinetuneSettings::weight_decay);
  visit("clip", &FinetuneSettings::clip);
  visit("eval-every", &FinetuneSettings::eval_every);
  visit("patience", &FinetuneSettings::patience);
  visit("checkpoint-every", &FinetuneSettings::checkpoint_every);
  visit("save-best", &FinetuneSettings::saves_best);
}

// Settings that a run may continue with in another value. Its data may have moved; their tokens are compared.
constexpr std::string_view may_change[] = {
    "model", "data", "eval-data",    "steps",      "epochs",   "warmup",           "schedule",
    "lr",    "clip", "weight-decay", "eval-every", "patience", "checkpoint-every", "save-best"};

std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return json::number(value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(const std::string& value) { return json::quote(value); }

template <class T>
T value_of(const json::Node& node, const char* name) {
  using Kind = json::Node::Kind;
  if constexpr (std::is_same_v<T, std::string>) return node.at(name, Kind::string).string;
  else if constexpr (std::is_same_v<T, bool>) return node.at(name, Kind::boolean).boolean;
  else if constexpr (std::is_same_v<T, double>) return node.at(name, Kind::floating).floating;
  else return node.at(name, Kind::integer).integer;
}

void check(const FinetuneSettings& s) {
  if (s.dropout > 0 && s.lora == 0) throw WrongUse("--lora-dropout needs --lora");
  if (s.weights != "files" && s.lora == 0)
    throw WrongUse("--weights needs --lora: weights of few bits are not trained");
  if (s.eval_data.empty() || s.eval_every == 0)
    for (const auto& [is_used, name] : {std::pair{s.patience > 0, "patience"}, {s.saves_best, "save-best"}})
      if (is_used) throw WrongUse(text::cat("--", name, " needs --eval-data and --eval-every"));
}

}  // namespace

bool parse(FinetuneSettings& s, const std::vector<std::string>& arguments) {
  Flags flags("fulgurite finetune --model FOLDER --data FILE --out FOLDER [flags]",
              {"fulgurite finetune --model smollm2 --data book.txt --out tuned --steps 200",
               "fulgurite finetune --model smollm2 --data chats.jsonl --out adapter --lora 16",
               "fulgurite finetune --out tuned --resume"});
  flags.text("model", "FOLDER", s.model, "a folder of a Hugging Face language model");
  flags.text("data", "FILE", s.data,
             "a text, or .jsonl: text, prompt and completion, or messages; of a folder all .txt, .md and .jsonl");
  flags.text("out", "FOLDER", s.out, "the folder to write");
  flags.integer("lora", s.lora, 0, 4096, "the rank of LoRA; 0: the whole model is trained");
  flags.number("alpha", s.alpha, 0, 1e6, "LoRA's changes are multiplied by alpha / rank; 0: twice the rank");
  flags.text("targets", "NAMES", s.targets, "layers with LoRA, or all-linear (q_proj,v_proj)");
  flags.number("lora-dropout", s.dropout, 0, 0.99, "the share of inputs that LoRA drops while training");
  flags.integer("steps", s.steps, 1, 1 << 30, "steps of the optimizer, AdamW");
  flags.integer("epochs", s.epochs, 0, 1 << 20,
                "instead of --steps: times that all rows are learned; 0: --steps holds");
  flags.integer("batch", s.batch, 1, 4096, "rows of a batch");
  flags.integer("accumulate", s.accumulate, 1, 4096, "batches of a step");
  flags.integer("length", s.length, 2, 1 << 20, "tokens of a row");
  flags.number("lr", s.lr, 0, 10, "the rate at its peak; 0: 2e-5, with LoRA 2e-4");
  flags.integer("warmup", s.warmup, 0, 1 << 30, "steps of a linear rise to the peak");
  flags.choice("schedule", s.schedule, {"cosine", "linear", "constant"},
               "the rate after its peak: half a cosine down to 0, a line down to 0, or the peak");
  flags.number("weight-decay", s.weight_decay, 0, 10, "of AdamW");
  flags.number("clip", s.clip, 0, 1e6, "the largest norm of the gradients; 0: any");
  flags.choice("dtype", s.dtype, {"f32", "bf16"}, "dtype of products; parameters are f32");
  flags.choice("weights", s.weights, {"files", "int8", "int4"}, "the weights under LoRA, in few bits");
  flags.text("eval-data", "FILE", s.eval_data, "data whose loss is measured");
  flags.integer("eval-every", s.eval_every, 0, 1 << 30, "steps between two measurements; 0: at the end");
  flags.integer("patience", s.patience, 0, 1 << 30,
                "measurements without a lower loss that end the run; 0: all steps are made");
  flags.toggle("save-best", s.saves_best, "write the model of the lowest measured loss to best in --out");
  flags.integer("checkpoint-every", s.checkpoint_every, 0, 1 << 30,
                "steps between checkpoints; 0: only if the run is interrupted");
  flags.toggle("resume", s.resumes,
               "continue the run in --out, with its settings; --steps, --epochs, --lr, --warmup, --schedule, "
               "--weight-decay, --clip and those of measurements and checkpoints may be new");
  flags.integer("seed", s.seed, 0, 1LL << 62, "seed of the order of rows and of LoRA");
  flags.integer("threads", s.threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.toggle("json", s.as_json, "print one JSON object at the end, and no progress");
  if (!flags.parse(arguments)) return false;
  s.given = flags.given();
  if (flags.was_given("steps") && s.epochs > 0) throw WrongUse("give one of --steps and --epochs");
  for (const auto& [name, value] : {std::pair{"model", &s.model}, {"data", &s.data}, {"out", &s.out}})
    if (value->empty() && (!s.resumes || value == &s.out))
      throw WrongUse(text::cat("--", name, " is missing; see --help"));
  if (s.resumes) return true;
  if (s.lr == 0) s.lr = s.lora > 0 ? 2e-4 : 2e-5;
  if (s.alpha == 0) s.alpha = 2.0 * static_cast<double>(s.lora);
  check(s);
  return true;
}

std::string to_json(const FinetuneSettings& settings) {
  std::string out;
  each_setting([&](const char* name, auto member) {
    out += text::cat(out.empty() ? "{" : ", ", json::quote(name), ": ", text_of(settings.*member));
  });
  return out + "}";
}

FinetuneSettings resumed_settings(const std::string& saved, const FinetuneSettings& asked) {
  const json::Node node = json::parse(saved);
  FinetuneSettings settings = asked;
  const auto was_given = [&](std::string_view name) {
    return std::find(asked.given.begin(), asked.given.end(), name) != asked.given.end();
  };
  each_setting([&](const char* name, auto member) {
    using Value = std::remove_reference_t<decltype(settings.*member)>;
    // A run that an earlier version began has the defaults of settings that are newer.
    const Value before = node.find(name) != nullptr ? value_of<Value>(node, name) : FinetuneSettings().*member;
    const bool may_be_new = std::find(std::begin(may_change), std::end(may_change), name) != std::end(may_change);
    if (was_given(name) && !may_be_new && before != asked.*member)
      throw UserError(text::cat("the run in ", asked.out, " has --", name, " ", text_of(before), ", not ",
                                text_of(asked.*member), "; another --out begins another run"));
    if (!was_given(name)) settings.*member = before;
  });
  if (was_given("steps")) settings.epochs = 0;  // of the saved run
  check(settings);
  return settings;
}

}  // namespace fulgurite::cli
