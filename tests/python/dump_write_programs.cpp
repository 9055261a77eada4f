// Writes random programs that write in place, and what they do here, for run_write_programs.py.
// usage: dump_write_programs FOLDER COUNT SEED
//   programs.jsonl       an object for each program: its steps, and for each way of running it the results, the buffers
//   afterwards and the
//                        gradients of the leaves, or why it was refused
//   programs.safetensors the tensors that it names
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/programs/write_program.h"
#include "support/programs/written_records.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr size_t leaves = 2, buffers_end = 4;

/// The outcome of a run.
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

template <class F>
Outcome functional(const F& f, const std::vector<Tensor>& a) {
  const NoGrad no_grad;
  auto [value, gradients] = f(a[0], a[1], a[2], a[3]);
  return {std::get<1>(value), buffers_of(a), {std::get<0>(gradients), std::get<1>(gradients)}, {}};
}

void add_program(WrittenRecords& records, unsigned number) {
  const WriteProgram program = draw_write_program(number);
  std::string line = "{\"name\": \"program " + std::to_string(number) + "\", \"program\": " + program.json();
  line += records.member("arguments", program.arguments(false)) + ", \"ways\": {";
  const auto way = [&](const std::string& name, const Run& run) {
    Outcome out;
    try {
      out = run(program.arguments(true));
    } catch (const UserError& error) {
      out.refused = error.what();
    }
    line += (line.ends_with('{') ? "" : ", ") + json::quote(name) + ": {\"refused\": " + json::quote(out.refused);
    line += records.member("results", out.results);
    line += records.member("buffers", out.buffers);
    line += records.member("gradients", out.gradients) + "}";
  };
  way("eager", [&](const std::vector<Tensor>& a) {
    return differentiate([&](const std::vector<Tensor>& given) { return program.run(given); }, a);
  });
  const auto jitted = jit([&program](std::vector<Tensor> a) { return program.run(a); });
  const Run compiled = [&](const std::vector<Tensor>& a) {
    return differentiate([&](std::vector<Tensor> given) { return jitted(given); }, a);
  };
  way("jit", compiled);
  way("jit, called again", compiled);
  const std::vector<int> breaks = {static_cast<int>(number % 3), static_cast<int>(number % 7)};
  const auto broken = jit([&program, breaks](std::vector<Tensor> a) { return program.run(a, breaks); });
  const Run with_breaks = [&](const std::vector<Tensor>& a) {
    return differentiate([&](std::vector<Tensor> given) { return broken(given); }, a);
  };
  way("jit in pieces", with_breaks);
  way("jit in pieces, called again", with_breaks);
  const auto captured = [](Run run) {
    return [run = std::move(run)](const std::vector<Tensor>& a) {
      const auto scope = compiled_autograd::enable({.fullgraph = true});
      return run(a);
    };
  };
  way("compiled autograd", captured([&](const std::vector<Tensor>& a) {
        return differentiate([&](const std::vector<Tensor>& given) { return program.run(given); }, a);
      }));
  way("jit in pieces under compiled autograd", captured(with_breaks));
  const auto loss = [&program](Tensor a, Tensor b, Tensor c, Tensor d) {
    std::vector<Tensor> results = program.run({a, b, c, d});
    return std::tuple(WriteProgram::loss(results), results);
  };
  way("value_and_grad", [&](const std::vector<Tensor>& a) { return functional(value_and_grad<0, 1>(loss), a); });
  way("jit of value_and_grad",
      [&](const std::vector<Tensor>& a) { return functional(jit(value_and_grad<0, 1>(loss)), a); });
  records.lines() << line << "}}\n";
}

}  // namespace

int main(int count, char** arguments) {
  return write_records("dump_write_programs", "programs", count, arguments, add_program);
}
