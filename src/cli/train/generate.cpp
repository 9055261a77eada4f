#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/models/models.h"
#include "cli/train/gpt_run.h"

namespace fulgurite::cli {

namespace {

// A draw in [0, 1) that depends on seed and position only.
double draw(uint64_t seed, int64_t position) {
  uint64_t x = seed * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(position) + 0x632BE59BD9B4E019u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return static_cast<double>((x ^ x >> 31) >> 11) * 0x1p-53;
}

// The next token from the scores of all: the best at temperature 0, else drawn among the top_k best.
int64_t choose(std::vector<float> scores, double temperature, int64_t top_k, double uniform) {
  if (!std::all_of(scores.begin(), scores.end(), [](float score) { return std::isfinite(score); }))
    throw UserError("the model's scores of the next character are not finite numbers: its weights cannot be used");
  const auto best = std::max_element(scores.begin(), scores.end());
  if (temperature == 0) return best - scores.begin();
  const double highest = *best;
  if (top_k > 0 && top_k < static_cast<int64_t>(scores.size())) {
    std::vector<float> sorted = scores;
    std::nth_element(sorted.begin(), sorted.begin() + (top_k - 1), sorted.end(), std::greater<>());
    const float limit = sorted[static_cast<size_t>(top_k - 1)];
    for (float& score : scores)
      if (score < limit) score = -INFINITY;
  }
  double total = 0;
  for (const float score : scores) total += std::exp((score - highest) / temperature);
  double left = uniform * total;
  int64_t last = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double share = std::exp((scores[i] - highest) / temperature);
    if (share > 0) last = static_cast<int64_t>(i);
    if ((left -= share) < 0) return static_cast<int64_t>(i);
  }
  return last;
}

Tensor step(models::Gpt model, models::GptCache cache, Tensor token, Tensor position) {
  return model.step(token, position, cache);
}

/// The scores of the token after a context. As long as the context fits into the model's block, keys and values of its
/// tokens are cached; beyond that all positions move with each token.
class NextToken {
 public:
  NextToken(const models::Gpt& model, int64_t block)
      : model_(model), cache_(models::make_cache(model)), block_(block) {}

  std::vector<float> scores(const std::vector<int64_t>& context) {
    const auto length = static_cast<int64_t>(context.size());
    Tensor last;
    if (length <= block_) {
      for (; seen_ < length; ++seen_)
        last = step_(model_, cache_, tensor(std::vector<int64_t>{context[static_cast<size_t>(seen_)]}),
                     tensor(std::vector<int64_t>{seen_}));
    } else {
      const std::vector<int64_t> window(context.end() - block_, context.end());
      last = model_(tensor(window).reshape({1, block_}))(0, -1);
    }
    return last.contiguous().to_vector<float>();
  }

 private:
  const models::Gpt& model_;
  models::GptCache cache_;
  int64_t block_, seen_ = 0;
  decltype(jit(step)) step_ = jit(step);
};

// Continues a text with the character model of a training run.
int generate_characters(const std::string& folder, std::string prompt, bool has_prompt,
                        const GenerateOptions& options) {
  const Checkpoint checkpoint = load_checkpoint(folder);
  const Vocabulary vocabulary = Vocabulary::from_characters(checkpoint.vocabulary);
  models::Gpt model = make_model(checkpoint.config, vocabulary.size());
  load_model(model, checkpoint.tensors);
  nn::eval(model);
  const NoGrad no_grad;
  // A text of one line has no newline to begin with.
  if (!has_prompt && checkpoint.vocabulary.find('\n') == std::string::npos) prompt = vocabulary.decode(0);
  std::vector<int64_t> context = vocabulary.encode(prompt);
  std::fputs(prompt.c_str(), stdout);
  NextToken next(model, checkpoint.config.block);
  for (int64_t i = 0; i < options.max_tokens; ++i) {
    const std::vector<float> last = next.scores(context);
    context.push_back(choose(last, options.temperature, options.top_k, draw(options.seed, i)));
    std::fputs(vocabulary.decode(context.back()).c_str(), stdout);
    std::fflush(stdout);
  }
  std::fputc('\n', stdout);
  return 0;
}

}  // namespace

int generate(const std::vector<std::string>& arguments) {
  std::string checkpoint, stop;
  GenerateFlags given;
  given.prompt = "\n";
  given.options = {.max_tokens = 500, .temperature = 0.8};
  GenerateOptions& options = given.options;
  int64_t seed = 1337, threads = 0, max_tokens = 500;
  Flags flags("fulgurite generate --model FOLDER | --checkpoint FOLDER [--prompt TEXT] [flags]",
              {"fulgurite generate --model smollm2 --prompt \"The capital of France is\" --max-tokens 20",
               "fulgurite generate --checkpoint out/book --prompt \"Once \" --tokens 200 --temperature 0.6"});
  flags.text("model", "FOLDER", given.model, "a folder of a Hugging Face model");
  flags.text("adapter", "FOLDER", given.adapter, "the LoRA of a folder, which changes the model");
  flags.text("checkpoint", "FOLDER", checkpoint, "the --out folder of a training run");
  flags.text("prompt", "TEXT", given.prompt,
             "the text to continue, or a T5's source (a new line; with --model: stdin)");
  flags.integer("tokens", options.max_tokens, 0, 1 << 30, "tokens to add; characters with --checkpoint");
  flags.integer("max-tokens", max_tokens, 0, 1 << 30, "the same as --tokens");
  flags.number("temperature", options.temperature, 0, 100, "0: always the likeliest");
  flags.integer("top-k", options.top_k, 0, 1 << 30, "draw among this many; 0: among all");
  flags.number("top-p", options.top_p, 0, 1, "draw among the likeliest that have this probability");
  flags.number("min-p", options.min_p, 0, 1, "draw among those with this share of the highest probability");
  flags.number("repetition-penalty", options.repetition_penalty, 0, 100, "makes earlier tokens less likely");
  flags.integer("prompt-lookup", options.prompt_lookup_tokens, 0, 7,
                "guess so many tokens from earlier ones: the same text in less time where it repeats itself");
  flags.text("stop", "TEXT", stop, "a text that ends the output");
  flags.choice("dtype", given.dtype, {"files", "f32", "bf16", "f16"}, "dtype of the weights; files: theirs");
  flags.choice("weights", given.weights, {"files", "int8", "int4"}, "the linear layers' weights, in few bits");
  flags.integer("seed", seed, 0, 1LL << 62, "seed of the draws");
  flags.integer("threads", threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.toggle("chat", given.is_chat, "answer the prompt, or each line of stdin, as a chat");
  flags.text("system", "TEXT", given.system, "the system's message of a chat");
  flags.toggle("json", given.as_json, "print one JSON object with the text and its tokens");
  if (!flags.parse(arguments)) return 0;
  if (given.model.empty() == checkpoint.empty())
    throw WrongUse("one of --model and --checkpoint is needed; see --help");
  if (given.prompt.empty()) throw WrongUse("--prompt is empty");
  if (threads > 0) set_num_threads(static_cast<int>(threads));
  if (flags.was_given("max-tokens")) options.max_tokens = max_tokens;
  if (!stop.empty()) options.stop = {stop};
  options.seed = static_cast<uint64_t>(seed);
  given.has_prompt = flags.was_given("prompt");
  return given.model.empty() ? generate_characters(checkpoint, given.prompt, given.has_prompt, options)
                             : generate_text(given);
}

}  // namespace fulgurite::cli
