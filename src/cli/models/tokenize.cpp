#include <cstdio>
#include <iostream>

#include <fulgurite/tokenizer.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

template <class Values, class Print>
std::string listed(const Values& values, const Print& print, const char* separator) {
  std::string out;
  for (const auto& value : values) {
    if (!out.empty()) out += separator;
    out += print(value);
  }
  return out;
}

std::string as_json(const Tokenizer& tokenizer, const Encoding& encoding) {
  const auto number = [](int64_t id) { return std::to_string(id); };
  const auto token = [&](int64_t id) { return json::quote(tokenizer.id_to_token(id).value_or("")); };
  const auto range = [](const auto& offset) { return text::cat("[", offset.first, ", ", offset.second, "]"); };
  return text::cat("{\"ids\": [", listed(encoding.ids, number, ", "), "], \"tokens\": [",
                   listed(encoding.ids, token, ", "), "], \"offsets\": [", listed(encoding.offsets, range, ", "), "]}");
}

}  // namespace

int tokenize(const std::vector<std::string>& arguments) {
  std::string folder;
  bool json = false, no_special = false;
  Flags flags("fulgurite tokenize --model FOLDER [flags] <LINES",
              {"echo 'Hello there' | fulgurite tokenize --model smollm2 --json"});
  flags.text("model", "FOLDER", folder, "a folder with tokenizer.json, or the file");
  flags.toggle("json", json, "print an object with ids, tokens and offsets for each line");
  flags.toggle("no-special-tokens", no_special, "do not add the tokens that the model expects around a text");
  if (!flags.parse(arguments)) return 0;
  if (folder.empty()) throw WrongUse("--model is missing; see --help");
  const Tokenizer tokenizer = Tokenizer::load(folder);
  for (std::string line; std::getline(std::cin, line);) {
    const Encoding encoding = tokenizer.encode(line, {.add_special_tokens = !no_special});
    const auto number = [](int64_t id) { return std::to_string(id); };
    std::printf("%s\n", (json ? as_json(tokenizer, encoding) : listed(encoding.ids, number, " ")).c_str());
  }
  return 0;
}

}  // namespace fulgurite::cli
