#pragma once
#include <string>
#include <vector>

#include "support/cases/operator_cases.h"

namespace fulgurite::test {

/// The first line of each call's error, below one another.
inline std::string messages(const std::vector<OperatorCase>& calls) {
  std::string out;
  for (const OperatorCase& c : calls) {
    try {
      c.run(c.inputs());
      out += c.name + " has an answer\n";
    } catch (const UserError& error) {
      const std::string text = error.what();
      out += text.substr(0, text.find('\n')) + "\n";
    }
  }
  return out;
}

// Zeros, for calls that are wrong whatever the elements.
inline Tensor reals(std::vector<int64_t> sizes) { return zeros(Shape(sizes)); }
inline Tensor whole(std::vector<int64_t> sizes) { return zeros(Shape(sizes), {.dtype = Dtype::i64}); }
inline Tensor flags(std::vector<int64_t> sizes) { return zeros(Shape(sizes), {.dtype = Dtype::boolean}); }
inline std::string functional(const char* name) { return std::string("torch.nn.functional.") + name; }

}  // namespace fulgurite::test
