#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "cli/models/models.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

std::string list_of(const std::vector<int64_t>& ids) {
  std::string out;
  for (const int64_t id : ids) out += (out.empty() ? "" : ", ") + std::to_string(id);
  return "[" + out + "]";
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

std::optional<Dtype> dtype_of(const std::string& name) {
  if (name == "f32") return Dtype::f32;
  if (name == "bf16") return Dtype::bf16;
  if (name == "f16") return Dtype::f16;
  return std::nullopt;
}

std::string read_stdin() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

namespace {

void show(std::string_view part) {
  std::fwrite(part.data(), 1, part.size(), stdout);
  std::fflush(stdout);
}

// Each line of stdin is a message of the user.
void answer_lines(TextGenerator& generator, const GenerateFlags& flags, std::vector<ChatMessage> messages) {
  for (std::string line; std::getline(std::cin, line);) {
    messages.push_back({"user", line});
    messages.push_back({"assistant", generator.chat(messages, flags.options, show)});
    std::fputc('\n', stdout);
  }
}

void print_json(const std::string& prompt, const std::vector<int64_t>& tokens, const std::string& text,
                const std::vector<int64_t>& generated, double seconds) {
  std::printf("%s\n", text::cat("{\"prompt\": ", json::quote(prompt), ", \"text\": ", json::quote(text),
                                ", \"prompt_tokens\": ", list_of(tokens), ", \"tokens\": ", list_of(generated),
                                ", \"seconds\": ", json::number(seconds), "}")
                          .c_str());
}

template <class Generator>
int generate_once(Generator& generator, const GenerateFlags& flags, const std::string& prompt,
                  const std::vector<int64_t>& tokens) {
  const double begin = seconds();
  const std::string text = generator.generate(tokens, flags.options, [&](std::string_view part) {
    if (!flags.as_json) show(part);
  });
  if (flags.as_json) print_json(prompt, tokens, text, generator.generated(), seconds() - begin);
  else std::fputc('\n', stdout);
  return 0;
}

// The model with the LoRA of a folder, added to weights that are numbers.
template <class Model>
Model with_adapter(Model model, const std::string& folder) {
  Model adapted = hub::load_lora(std::move(model), folder);
  bool has_codes = false;
  for (const hub::detail::NamedLinear& linear : hub::detail::collect(adapted).layers)
    has_codes = has_codes || linear.layer->quantized;
  return has_codes ? adapted : hub::merge_lora(adapted);
}

// The prompt is the source, for which the model writes a text.
int generate_for_source(const GenerateFlags& flags) {
  if (flags.is_chat)
    throw UserError("--chat is for language models; this model writes a text for --prompt, which is its source");
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  hub::Seq2SeqLM model = hub::load_seq2seq(flags.model, load_options(flags.dtype, flags.weights));
  if (!flags.adapter.empty()) model = with_adapter(model, flags.adapter);
  Seq2SeqTextGenerator generator(model, tokenizer);
  const std::string source = flags.has_prompt ? flags.prompt : read_stdin();
  return generate_once(generator, flags, source, tokenizer.encode(source).ids);
}

}  // namespace

int generate_text(const GenerateFlags& flags) {
  if (hub::is_seq2seq(hub::Config::read(flags.model))) return generate_for_source(flags);
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  hub::CausalLM model = hub::load_causal_lm(flags.model, load_options(flags.dtype, flags.weights));
  if (!flags.adapter.empty()) model = with_adapter(model, flags.adapter);
  TextGenerator generator(model, tokenizer);
  std::vector<ChatMessage> messages;
  if (!flags.system.empty()) messages.push_back({"system", flags.system});
  if (flags.is_chat && !flags.has_prompt && !flags.as_json) {
    answer_lines(generator, flags, messages);
    return 0;
  }
  std::string prompt = flags.has_prompt ? flags.prompt : read_stdin();
  if (flags.is_chat) {
    messages.push_back({"user", prompt});
    prompt = tokenizer.apply_chat_template(messages, {.add_generation_prompt = true});
  }
  const std::vector<int64_t> tokens = tokenizer.encode(prompt, {.add_special_tokens = !flags.is_chat}).ids;
  return generate_once(generator, flags, prompt, tokens);
}

}  // namespace fulgurite::cli
