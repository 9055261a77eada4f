// Records for PyTorch to check: FOLDER/NAME.jsonl, an object a line, and FOLDER/NAME.safetensors, their tensors.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "io/json.h"

namespace fulgurite::test {

class WrittenRecords {
 public:
  WrittenRecords(const std::string& folder, const std::string& name)
      : folder_(folder), path_(folder + "/" + name), lines_(path_ + ".jsonl") {
    check();
  }

  std::ofstream& lines() { return lines_; }
  /// `, "key": ["0", null, …]`: the names of tensors, which are kept.
  std::string member(const std::string& key, const std::vector<Tensor>& tensors) {
    std::string out = ", " + json::quote(key) + ": [";
    for (size_t i = 0; i < tensors.size(); ++i)
      out += (i ? ", " : "") + (tensors[i].defined() ? json::quote(keep(tensors[i])) : "null");
    return out + "]";
  }
  void finish() {
    save_safetensors(path_ + ".safetensors", tensors_);
    lines_.flush();
    check();
  }

 private:
  void check() const {
    if (!lines_) throw UserError("cannot write into " + folder_);
  }
  std::string keep(const Tensor& tensor) {
    std::string key = std::to_string(tensors_.size());
    tensors_[key] = tensor.detach().contiguous().clone();
    return key;
  }

  std::string folder_, path_;
  std::ofstream lines_;
  TensorMap tensors_;
};

/// The main function of a program that writes COUNT records from SEED on into FOLDER: `add(records, number)` writes
/// one. If it throws, the program fails, not the records after it.
template <class Add>
int write_records(const char* program, const std::string& name, int count, char** arguments, Add add) {
  if (count != 4) {
    std::fprintf(stderr, "usage: %s FOLDER COUNT SEED\n", program);
    return 2;
  }
  try {
    WrittenRecords records(arguments[1], name);
    const auto wanted = static_cast<unsigned>(std::atoi(arguments[2])),
               first = static_cast<unsigned>(std::atoi(arguments[3]));
    int failed = 0;
    for (unsigned i = first; i < first + wanted; ++i) {
      try {
        add(records, i);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "FAILED program %u: %s\n", i, error.what());
        ++failed;
      }
    }
    records.finish();
    return failed > 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 2;
  }
}

}  // namespace fulgurite::test
