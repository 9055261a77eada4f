// Writes random programs that write in place, and what they do here, for run_write_programs.py.
// usage: dump_write_programs FOLDER COUNT SEED
//   programs.jsonl       an object for each program: its steps, and for each way of running it the results, the buffers afterwards and the
//                        gradients of the leaves, or why it was refused
//   programs.safetensors the tensors that it names
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>

#include <fulgurite/fulgurite.h>

#include "io/json.h"
#include "support/write_program.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr size_t leaves = 2, buffers_end = 4;

/// What a run leaves behind.
struct Outcome {
  std::vector<Tensor> results, buffers, gradients;
  std::string refused;
};

using Run = std::function<Outcome(std::vector<Tensor>)>;

std::vector<Tensor> buffers_of(const std::vector<Tensor>& arguments) {
  return {arguments.begin() + leaves, arguments.begin() + buffers_end};
}

/// The engine's gradients of what a function of the arguments returns.
Outcome differentiate(const std::function<std::vector<Tensor>(std::vector<Tensor>)>& f, std::vector<Tensor> arguments) {
  Outcome out;
  out.results = f(arguments);
  out.buffers = buffers_of(arguments);
  WriteProgram::loss(out.results).backward();
  for (size_t i = 0; i < leaves; ++i) out.gradients.push_back(arguments[i].grad());
  return out;
}

class Dump {
 public:
  explicit Dump(const std::string& folder) : folder_(folder), lines_(folder + "/programs.jsonl") {
    if (!lines_) throw UserError("cannot write into " + folder);
  }

  void add(unsigned number) {
    const WriteProgram program = draw_write_program(number);
    lines_ << "{\"name\": \"program " << number << "\", \"program\": " << program.json();
    member("arguments", program.arguments(false));
    lines_ << ", \"ways\": {";
    way("eager", true, program, [&](const std::vector<Tensor>& a) {
      return differentiate([&](const std::vector<Tensor>& given) { return program.run(given); }, a);
    });
    const auto jitted = jit([&program](std::vector<Tensor> a) { return program.run(a); });
    const Run compiled = [&](const std::vector<Tensor>& a) { return differentiate([&](std::vector<Tensor> given) { return jitted(given); }, a); };
    way("jit", false, program, compiled);
    way("jit, called again", false, program, compiled);
    const std::vector<int> breaks = {static_cast<int>(number % 3), static_cast<int>(number % 7)};
    const auto broken = jit([&program, breaks](std::vector<Tensor> a) { return program.run(a, breaks); });
    const Run in_pieces = [&](const std::vector<Tensor>& a) { return differentiate([&](std::vector<Tensor> given) { return broken(given); }, a); };
    way("jit in pieces", false, program, in_pieces);
    way("jit in pieces, called again", false, program, in_pieces);
    const auto loss = [&program](Tensor a, Tensor b, Tensor c, Tensor d) {
      std::vector<Tensor> results = program.run({a, b, c, d});
      return std::tuple(WriteProgram::loss(results), results);
    };
    way("value_and_grad", false, program, [&](const std::vector<Tensor>& a) { return functional(value_and_grad<0, 1>(loss), a); });
    way("jit of value_and_grad", false, program, [&](const std::vector<Tensor>& a) { return functional(jit(value_and_grad<0, 1>(loss)), a); });
    lines_ << "}}\n";
  }

  void finish() {
    save_safetensors(folder_ + "/programs.safetensors", tensors_);
    if (!lines_.flush()) throw UserError("cannot write into " + folder_);
  }

 private:
  template <class F>
  static Outcome functional(const F& f, const std::vector<Tensor>& a) {
    const NoGrad no_grad;
    auto [value, gradients] = f(a[0], a[1], a[2], a[3]);
    return {std::get<1>(value), buffers_of(a), {std::get<0>(gradients), std::get<1>(gradients)}, {}};
  }

  void way(const std::string& name, bool is_first, const WriteProgram& program, const Run& run) {
    Outcome out;
    try {
      out = run(program.arguments(true));
    } catch (const UserError& error) {
      out.refused = error.what();
    }
    lines_ << (is_first ? "" : ", ") << json::quote(name) << ": {\"refused\": " << json::quote(out.refused);
    member("results", out.results);
    member("buffers", out.buffers);
    member("gradients", out.gradients);
    lines_ << "}";
  }

  void member(const std::string& key, const std::vector<Tensor>& tensors) {
    lines_ << ", " << json::quote(key) << ": [";
    for (size_t i = 0; i < tensors.size(); ++i) lines_ << (i ? ", " : "") << (tensors[i].defined() ? json::quote(keep(tensors[i])) : "null");
    lines_ << "]";
  }

  std::string keep(const Tensor& tensor) {
    const std::string key = std::to_string(tensors_.size());
    tensors_[key] = tensor.detach().contiguous().clone();
    return key;
  }

  std::string folder_;
  std::ofstream lines_;
  TensorMap tensors_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: dump_write_programs FOLDER COUNT SEED\n");
    return 2;
  }
  try {
    Dump dump(arguments[1]);
    const auto programs = static_cast<unsigned>(std::atoi(arguments[2])), first = static_cast<unsigned>(std::atoi(arguments[3]));
    for (unsigned i = 0; i < programs; ++i) dump.add(first + i);
    dump.finish();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dump_write_programs: %s\n", error.what());
    return 2;
  }
}
