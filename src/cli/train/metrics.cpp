#include "cli/train/metrics.h"

#include <fstream>

#include <fulgurite/error.h>

#include "io/atomic_file.h"
#include "io/json.h"

namespace fulgurite::cli {

void Metrics::start(const std::string& path) {
  write_file(path, "");
  file_.open(path);
}

void Metrics::resume(const std::string& path, int64_t step) {
  std::ifstream before(path);
  std::string kept;
  for (std::string line; std::getline(before, line);) {
    try {
      const json::Node node = json::parse(line);
      const int64_t at = node.at("step", json::Node::Kind::integer).integer;
      if (at > step) continue;
      const auto keep = [&](const char* name, Curve& curve) {
        if (const json::Node* loss = node.find(name); loss && loss->is_number())
          curve.emplace_back(static_cast<double>(at), loss->floating);
      };
      keep("train_loss", training_);
      keep("val_loss", validation_);
      kept += line + "\n";
    } catch (const UserError&) {
      break;
    }
  }
  before.close();
  write_file(path, kept);
  file_.open(path);
}

void Metrics::add_training(int64_t step, double loss, double tokens_per_second) {
  add("train_loss", training_, step, loss, tokens_per_second);
}

void Metrics::add_validation(int64_t step, double loss, double tokens_per_second) {
  add("val_loss", validation_, step, loss, tokens_per_second);
}

void Metrics::add(const char* name, Curve& curve, int64_t step, double loss, double tokens_per_second) {
  file_.append("{\"step\": " + std::to_string(step) + ", \"" + name + "\": " + json::number(loss) +
               ", \"tokens_per_s\": " + json::number(tokens_per_second) + "}\n");
  curve.emplace_back(static_cast<double>(step), loss);
}

}  // namespace fulgurite::cli
