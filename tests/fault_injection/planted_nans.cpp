// Inputs that make a NaN or an infinity inside a fusion, found by DebugOptions::check_nan.
#include <limits>
#include <random>

#include "fault_injection/fault_program.h"

namespace fulgurite::test {

Located plant_nan(unsigned seed) {
  using Spot = FaultProgram::Spot;
  constexpr unsigned programs = 8;
  std::mt19937 random(seed);
  while (true) {
    const FaultProgram program(static_cast<unsigned>(random()) % programs);
    if (program.places().empty()) continue;
    const size_t which = random() % program.places().size();
    const Spot place = program.places()[which];
    std::vector<Tensor> inputs = program.inputs();
    Tensor& input = inputs[FaultProgram::first_place + which];
    const bool is_root = place == Spot::root;
    Tensor spoiled = input.detach().clone();
    const int64_t row = static_cast<int64_t>(random() % 6), column = static_cast<int64_t>(random() % 32);
    spoiled(row, column) = place == Spot::logarithm    ? -1.0
                           : place == Spot::difference ? std::numeric_limits<double>::infinity()
                                                       : 0.0;
    input = is_root ? spoiled.requires_grad_() : spoiled;
    // The operator at that step, and its operand: the input, or a value computed from it.
    static const char* const names[] = {"log", "div", "sub", "sqrt"};
    const std::string name = names[static_cast<int>(place)];
    const std::string argument = "t_0_" + std::to_string(FaultProgram::first_place + which);
    const std::string element = "[" + std::to_string(row) + ", " + std::to_string(column) + "]";
    const auto checked = jit(program.function(), {.executors = {"onednn", "fuser"},
                                                  .debug = {.associate_forward = true, .check_nan = true}});
    Located out;
    out.planted = name + " of " + argument + " at " + element;
    out.report = error_of([&] { checked(inputs).backward(); });
    const auto says = [&](const std::string& text) { return out.report.find(text) != std::string::npos; };
    const bool says_place = says(" at element " + element + " of ") && says(" in fusion");
    if (is_root) out.is_located = says_place && says("of backward_fn") && says(": \"torch.sqrt\"");
    else out.is_located = says_place && says(" = " + name + "(") && says(argument + ")");
    return out;
  }
}

}  // namespace fulgurite::test
