// Calls that gave results, written down for PyTorch to repeat (tests/python/run_calls.py): calls.jsonl has an object for each with its
// trace in the Python form and the names of its tensors in tensors.safetensors.
#pragma once
#include <fstream>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "io/json.h"

namespace fulgurite::test {

class WrittenCalls {
 public:
  explicit WrittenCalls(std::string folder) : folder_(std::move(folder)), lines_(folder_ + "/calls.jsonl") {
    if (!lines_) throw UserError("cannot write into " + folder_);
  }

  void add(const std::string& text, const std::vector<Tensor>& inputs, const Trace& trace, const std::vector<Tensor>& results) {
    std::string line = "{\"name\": " + json::quote(text) + ", \"forward\": " + json::quote(trace.python());
    line += member("inputs", inputs);
    line += member("outputs", results);
    lines_ << line << "}\n";
  }

  void finish() {
    save_safetensors(folder_ + "/tensors.safetensors", tensors_);
    if (!lines_.flush()) throw UserError("cannot write into " + folder_);
  }

 private:
  std::string member(const char* key, const std::vector<Tensor>& tensors) {
    std::string out = std::string(", \"") + key + "\": [";
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = std::to_string(tensors_.size());
      tensors_[name] = tensors[i].detach().contiguous().clone();
      out += (i ? ", " : "") + json::quote(name);
    }
    return out + "]";
  }

  std::string folder_;
  std::ofstream lines_;
  TensorMap tensors_;
};

}  // namespace fulgurite::test
