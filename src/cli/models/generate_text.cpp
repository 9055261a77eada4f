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

int generate_text(const GenerateFlags& flags) {
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  TextGenerator generator(hub::load_causal_lm(flags.model, {.dtype = dtype_of(flags.dtype)}), tokenizer);
  const std::string prompt = flags.has_prompt ? flags.prompt : read_stdin();
  const std::vector<int64_t> tokens = tokenizer.encode(prompt).ids;
  const double begin = seconds();
  const std::string text = generator.generate(tokens, flags.options, [&](std::string_view part) {
    if (flags.as_json) return;
    std::fwrite(part.data(), 1, part.size(), stdout);
    std::fflush(stdout);
  });
  if (!flags.as_json) {
    std::fputc('\n', stdout);
    return 0;
  }
  std::printf("%s\n", text::cat("{\"prompt\": ", json::quote(prompt), ", \"text\": ", json::quote(text),
                                ", \"prompt_tokens\": ", list_of(tokens), ", \"tokens\": ",
                                list_of(generator.generated()), ", \"seconds\": ", json::number(seconds() - begin), "}")
                          .c_str());
  return 0;
}

}  // namespace fulgurite::cli
