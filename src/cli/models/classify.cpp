#include <cstdio>
#include <iostream>

#include <fulgurite/hub/image_classifier.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/models/models.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

std::string number(double score) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", score);
  return text;
}

void print_classes(const std::string& path, const std::vector<ImageClass>& classes, bool as_json) {
  std::string line;
  for (const ImageClass& one : classes) {
    const std::string score = number(one.score);
    line += line.empty() ? "" : ", ";
    line += as_json ? text::cat("{\"label\": ", json::quote(one.label), ", \"score\": ", score, "}")
                    : text::cat(one.label, " ", score);
  }
  std::printf("%s\n", (as_json ? text::cat("[", line, "]") : text::cat(path, ": ", line)).c_str());
}

}  // namespace

int classify(const std::vector<std::string>& arguments) {
  std::string folder, dtype = "files";
  int64_t threads = 0, classes = 5;
  bool as_json = false;
  Flags flags("fulgurite classify --model FOLDER [flags] <PATHS",
              {"ls *.jpg | fulgurite classify --model vit-base-patch16-224 --top 1"});
  flags.text("model", "FOLDER", folder, "a folder of a classifier of images: vit or resnet");
  flags.integer("top", classes, 1, 1'000'000, "classes of each image, those of the highest scores");
  flags.choice("dtype", dtype, {"files", "f32", "bf16", "f16"}, "dtype of the weights; files: theirs");
  flags.integer("threads", threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.toggle("json", as_json, "print a JSON array for each image");
  if (!flags.parse(arguments)) return 0;
  if (folder.empty()) throw WrongUse("--model is missing; see --help");
  if (threads > 0) set_num_threads(static_cast<int>(threads));
  const ImageClassifier classifier = ImageClassifier::load(folder, {.dtype = dtype_of(dtype)});
  for (std::string path; std::getline(std::cin, path);) {
    const hub::Image image = hub::read_image(path);
    print_classes(path, classifier.classify({image}, {.classes = classes}).front(), as_json);
  }
  return 0;
}

}  // namespace fulgurite::cli
