#include <cstdio>
#include <iostream>

#include <fulgurite/hub/text_embedder.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/models/models.h"
#include "io/json.h"

namespace fulgurite::cli {

namespace {

void print_vector(std::span<const float> vector, bool as_json) {
  std::string line = as_json ? "[" : "";
  for (size_t i = 0; i < vector.size(); ++i) {
    if (i > 0) line += as_json ? ", " : " ";
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(vector[i]));
    line += text;
  }
  std::printf("%s%s\n", line.c_str(), as_json ? "]" : "");
}

}  // namespace

int embed(const std::vector<std::string>& arguments) {
  std::string folder, dtype = "files", weights = "files";
  int64_t threads = 0;
  bool as_json = false;
  Flags flags("fulgurite embed --model FOLDER [flags] <LINES",
              {"printf 'one text a line\\nanother\\n' | fulgurite embed --model minilm --json"});
  flags.text("model", "FOLDER", folder, "a folder of sentence-transformers, or of a BERT");
  flags.choice("dtype", dtype, {"files", "f32", "bf16", "f16"}, "dtype of the weights; files: theirs");
  flags.choice("weights", weights, {"files", "int8", "int4"}, "the linear layers' weights, in few bits");
  flags.integer("threads", threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.toggle("json", as_json, "print a JSON array for each line");
  if (!flags.parse(arguments)) return 0;
  if (folder.empty()) throw WrongUse("--model is missing; see --help");
  if (threads > 0) set_num_threads(static_cast<int>(threads));
  const TextEmbedder embedder = TextEmbedder::load(folder, load_options(dtype, weights));
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  const Tensor vectors = embedder.embed(lines);
  const std::vector<float> values = vectors.to_vector<float>();
  const auto width = static_cast<size_t>(vectors.size(1));
  for (size_t i = 0; i < lines.size(); ++i) print_vector({values.data() + i * width, width}, as_json);
  return 0;
}

}  // namespace fulgurite::cli
