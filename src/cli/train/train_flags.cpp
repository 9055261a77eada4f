#include "cli/train/train_flags.h"

#include <algorithm>

#include "cli/flags.h"
#include "cli/shell_word.h"

namespace fulgurite::cli {

bool parse(TrainFlags& f, const std::vector<std::string>& arguments) {
  Flags flags(
      "fulgurite train [--text FILE_OR_FOLDER] [--out FOLDER] [flags]",
      {"fulgurite train --text book.txt --out out/book", "fulgurite train --text book.txt --out out/book --resume",
       "fulgurite train --text book.txt --out out/book --resume --steps 5000 --lr 3e-4"});
  TrainConfig& c = f.config;
  flags.text("text", "FILE_OR_FOLDER", f.text, "what to learn from (the C++ standard library's headers)");
  flags.text("out", "FOLDER", f.out, "folder for checkpoint, metrics and plot (out/train)");
  flags.integer("layers", c.layers, 1, 1000, "transformer blocks");
  flags.integer("heads", c.heads, 1, 1000, "attention heads");
  flags.integer("width", c.width, 1, 1 << 20, "width of the residual stream");
  flags.integer("block", c.block, 1, 1 << 20, "longest sequence, in characters");
  flags.integer("batch", c.batch, 1, 1 << 20, "sequences a step");
  flags.integer("steps", c.steps, 0, 1 << 30, "steps to train");
  flags.number("lr", c.lr, 0, 10, "peak learning rate");
  flags.number("min-lr", c.min_lr, 0, 10, "learning rate at the end");
  flags.integer("warmup", c.warmup, 0, 1 << 30, "steps of rising learning rate");
  flags.number("beta1", c.beta1, 0, 0.999999, "AdamW's first decay");
  flags.number("beta2", c.beta2, 0, 0.999999, "AdamW's second decay");
  flags.number("weight-decay", c.weight_decay, 0, 10, "decay of matrices");
  flags.number("clip", c.clip, 0, 1e9, "largest gradient norm; 0 for no limit");
  flags.number("dropout", c.dropout, 0, 0.99, "share of elements dropped while training");
  flags.toggle("bias", c.bias, "biases in linear and norm layers");
  flags.choice("dtype", c.dtype, {"f32", "bf16"}, "dtype of matmuls (f32); parameters stay f32");
  flags.integer("seed", c.seed, 0, 1LL << 62, "seed of weights, batches and dropout");
  flags.integer("threads", f.threads, 0, 1024, "threads; 0: as many as there are CPUs");
  flags.integer("eval-every", f.eval_every, 0, 1 << 30, "steps between validations; 0: only at the end");
  flags.integer("eval-batches", f.eval_batches, 1, 1 << 20, "batches a validation");
  flags.integer("checkpoint-every", f.checkpoint_every, 0, 1 << 30, "steps between checkpoints; 0: only at the end");
  flags.integer("log-every", f.log_every, 1, 1 << 30, "steps between losses in metrics.jsonl");
  flags.integer("stop-at", f.stop_at, -1, 1 << 30,
                "stop after this step as if interrupted, schedule unchanged; -1: never");
  flags.toggle(
      "resume", f.resume,
      "continue from the checkpoint in --out, with its settings; --steps, --lr, --min-lr, --warmup, --beta1, --beta2, "
      "--weight-decay, --clip and --dropout may be new");
  flags.toggle("show-traces", f.show_traces, "print the traces of the training step");
  flags.toggle("json", f.as_json, "print only one JSON object, at the end");
  if (!flags.parse(arguments)) return false;
  f.given = flags.given();
  if (!flags.was_given("min-lr")) c.min_lr = std::min(c.min_lr, c.lr);
  if (!f.resume) check_settings(c);
  return true;
}

void check_settings(const TrainConfig& c) {
  if (c.width % c.heads != 0)
    throw WrongUse("--width " + std::to_string(c.width) + " is not a multiple of --heads " + std::to_string(c.heads));
  if (c.min_lr > c.lr) throw WrongUse("--min-lr is larger than --lr");
}

std::string resume_command(const TrainFlags& f) {
  const std::string text = f.text.empty() ? "" : " --text " + shell_word(f.text);
  return "fulgurite train" + text + " --out " + shell_word(f.out) + " --resume";
}

}  // namespace fulgurite::cli
