#include "pipeline/wrong_line.h"

#include "ir/trace_values.h"
#include "ops/symbols.h"
#include "pipeline/slice.h"
#include "runtime/program.h"

namespace fulgurite {

namespace {

class Prefixes {
 public:
  Prefixes(const Trace& trace, const BoundSymbol& fusion, const std::vector<Tensor>& inputs, const std::vector<std::string>& executors,
           const std::vector<std::string>& reference, const TensorDifference& difference)
      : trace_(trace), lines_(fusion.subsymbols.read()), executors_(executors), reference_(reference), difference_(difference) {
    const Trace slice = slice_of_line(trace, fusion);
    for (size_t i = 0; i < slice.args.size(); ++i) given_.emplace_back(slice.args[i].tensor().id, inputs[i]);
  }

  // What goes wrong stays wrong when more lines are added, so the fewest are found by halving.
  std::optional<WrongLine> run() const {
    std::optional<WrongLine> found = wrong_of(lines_.size());
    size_t right = 0, wrong = lines_.size();  // how many lines give what they should, and how many do not
    while (found && wrong - right > 1) {
      const size_t middle = right + (wrong - right) / 2;
      std::optional<WrongLine> earlier = wrong_of(middle);
      (earlier ? wrong : right) = middle;
      if (earlier) found = std::move(earlier);
    }
    if (found) found->line = wrong - 1;
    return found;
  }

 private:
  // The first value of so many lines that differs.
  std::optional<WrongLine> wrong_of(size_t count) const {
    Trace part = without_symbols(trace_);
    part.tags = {};
    BoundSymbol result;
    result.symbol = &prims_return_symbol;
    for (const BoundSymbol& line : lines_.first(count)) {
      part.bound_symbols.push_back(line);
      for_each_output(line, [&](const Value& value) {
        if (value.is_tensor()) result.args.push_back(value);
      });
    }
    part.bound_symbols.push_back(std::move(result));
    const Trace slice = slice_of(part, 0, static_cast<int>(count) + 1);
    std::vector<Tensor> inputs, expected, actual;
    for (const Value& arg : slice.args)
      for (const auto& [id, tensor] : given_)
        if (id == arg.tensor().id) inputs.push_back(tensor);
    if (inputs.size() != slice.args.size()) return {};
    Program(executable_slice(slice, reference_)).run(inputs, expected);
    Program(executable_slice(slice, executors_)).run(inputs, actual);
    const std::vector<Value> made = returned_values(slice);
    for (size_t i = 0; i < made.size(); ++i)
      if (std::string detail = difference_(actual[i], expected[i]); !detail.empty()) return WrongLine{count - 1, made[i], std::move(detail)};
    return {};
  }

  const Trace& trace_;
  const std::span<const BoundSymbol> lines_;
  const std::vector<std::string>& executors_;
  const std::vector<std::string>& reference_;
  const TensorDifference& difference_;
  std::vector<std::pair<int, Tensor>> given_;
};

}  // namespace

std::optional<WrongLine> find_wrong_line(const Trace& trace, const BoundSymbol& fusion, const std::vector<Tensor>& inputs,
                                         const std::vector<std::string>& executors, const std::vector<std::string>& reference,
                                         const TensorDifference& difference) {
  return Prefixes(trace, fusion, inputs, executors, reference, difference).run();
}

}  // namespace fulgurite
