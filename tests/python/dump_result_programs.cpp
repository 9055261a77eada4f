// Writes random programs whose results share memory, and what they do here, for run_result_programs.py.
// usage: dump_result_programs FOLDER COUNT SEED
//   programs.jsonl       an object for each program: its steps, and for each way of running it the values at the end
//   and the gradients of the
//                        leaves, or why it was refused
//   programs.safetensors the tensors that it names
// RESULT_WAYS in the environment names the ways, of those below, between commas; without it all but "fuser", which runs
// the compiler often.
#include <cstdlib>
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/programs/result_program.h"
#include "support/programs/written_records.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Call = std::function<std::vector<Tensor>(std::vector<Tensor>)>;

bool is_wanted(const std::string& way) {
  const char* const named = std::getenv("RESULT_WAYS");
  if (!named) return way != "fuser";
  return ("," + std::string(named) + ",").find("," + way + ",") != std::string::npos;
}

void add_program(WrittenRecords& records, unsigned number) {
  const ResultProgram program = draw_result_program(number);
  std::string line = "{\"name\": \"program " + std::to_string(number) + "\", \"program\": " + program.json();
  line += records.member("leaves", program.leaves(false)) + ", \"ways\": {";
  const auto run = [&](const std::string& way, const Call& call) {
    const std::vector<Tensor> leaves = program.leaves(true);
    std::vector<Tensor> values, gradients;
    std::string refused;
    try {
      const std::vector<Tensor> arguments = program.arguments(leaves);
      values = program.go_on(arguments, call(arguments));
      ResultProgram::loss(values).backward();
      for (const Tensor& leaf : leaves) gradients.push_back(leaf.grad());
    } catch (const UserError& error) {
      refused = error.what();
    }
    line += (line.ends_with('{') ? "" : ", ") + json::quote(way) + ": {\"refused\": " + json::quote(refused);
    line += records.member("values", values) + records.member("gradients", gradients) + "}";
  };
  run("eager", [&](const std::vector<Tensor>& arguments) { return program.run(arguments); });
  const auto function = [&program](std::vector<Tensor> arguments) { return program.run(arguments); };
  const auto compiled = [&](const std::string& way, const JitOptions& options) {
    if (!is_wanted(way)) return;
    const auto jitted = jit(function, options);
    run(way, jitted);
    run(way + ", called again", jitted);
  };
  compiled("default", {});
  compiled("executor", {.executors = {"eager"}});
  compiled("fuser", {.executors = {"fuser", "eager"}});
  compiled("symbolic", {.cache = Cache::symbolic_values});
  if (is_wanted("pieces")) {
    const std::vector<int> breaks = {static_cast<int>(number % 3)};
    const auto broken =
        jit([&program, breaks](std::vector<Tensor> arguments) { return program.run(arguments, breaks); });
    run("pieces", broken);
    run("pieces, called again", broken);
  }
  if (is_wanted("captured")) {
    const auto scope = compiled_autograd::enable({.fullgraph = true});
    run("captured", jit(function));
  }
  records.lines() << line << "}}\n";
}

}  // namespace

int main(int count, char** arguments) {
  return write_records("dump_result_programs", "programs", count, arguments, add_program);
}
