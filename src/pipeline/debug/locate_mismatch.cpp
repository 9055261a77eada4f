#include "pipeline/debug/locate_mismatch.h"

#include <unordered_map>

#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"
#include "pipeline/debug/slice.h"
#include "runtime/program.h"

namespace fulgurite {

namespace {

class Prefixes {
 public:
  Prefixes(const Trace& trace, const BoundSymbol& fusion, const std::vector<Tensor>& inputs,
           const std::vector<std::string>& executors, const std::vector<std::string>& reference,
           const TensorDifference& difference)
      : trace_(trace),
        ops_(fusion.subsymbols.read()),
        executors_(executors),
        reference_(reference),
        difference_(difference) {
    const Trace slice = slice_of_op(trace, fusion);
    for (size_t i = 0; i < slice.args.size(); ++i) given_.emplace_back(slice.args[i].tensor().id, inputs[i]);
    for (size_t i = 0; i < ops_.size(); ++i) {
      for_each_argument(ops_[i], [&](const Value& value) {
        if (value.is_tensor()) last_read_[value.tensor().id] = i;
      });
      for_each_output(ops_[i], [&](const Value& value) {
        if (value.is_tensor()) last_read_[value.tensor().id] = made_by_[value.tensor().id] = i;
      });
    }
    for_each_output(fusion, [&](const Value& value) {
      if (value.is_tensor()) last_read_[value.tensor().id] = ops_.size();
    });
  }

  // An error shows in what later ops read, or in the results, however many ops are added: the smallest number is found
  // by bisection. A value that is wrong in a slice that ends with its op may be wrong only because it was compiled
  // together with its reader.
  std::optional<Mismatch> run() const {
    std::optional<Mismatch> found = wrong_of(ops_.size());
    size_t right = 0, wrong = ops_.size();  // prefixes that agree, and that do not
    while (found && wrong - right > 1) {
      const size_t middle = right + (wrong - right) / 2;
      std::optional<Mismatch> earlier = wrong_of(middle);
      (earlier ? wrong : right) = middle;
      if (earlier) found = std::move(earlier);
    }
    while (found) {
      std::optional<Mismatch> earlier = wrong_of(wrong, &ops_[found->op]);
      if (!earlier || earlier->op >= found->op) break;
      found = std::move(earlier);
    }
    return found;
  }

 private:
  // The first differing value of the first `count` ops that is read after them, or by `reader`: other values would have
  // to be stored, which the fusion does not do.
  std::optional<Mismatch> wrong_of(size_t count, const BoundSymbol* reader = nullptr) const {
    Trace part = without_symbols(trace_);
    part.tags = {};
    BoundSymbol result;
    result.symbol = &prims_return_symbol;
    for (const BoundSymbol& op : ops_.first(count)) {
      part.bound_symbols.push_back(op);
      for_each_output(op, [&](const Value& value) {
        if (value.is_tensor() && (last_read_.at(value.tensor().id) >= count || is_read_by(reader, value)))
          result.args.push_back(value);
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
      if (std::string detail = difference_(actual[i], expected[i]); !detail.empty())
        return Mismatch{made_by_.at(made[i].tensor().id), made[i], std::move(detail)};
    return {};
  }

  static bool is_read_by(const BoundSymbol* reader, const Value& value) {
    bool is_read = false;
    if (reader)
      for_each_argument(*reader, [&](const Value& argument) {
        is_read = is_read || (argument.is_tensor() && argument.tensor().id == value.tensor().id);
      });
    return is_read;
  }

  const Trace& trace_;
  const std::span<const BoundSymbol> ops_;
  const std::vector<std::string>& executors_;
  const std::vector<std::string>& reference_;
  const TensorDifference& difference_;
  std::vector<std::pair<int, Tensor>> given_;
  std::unordered_map<int, size_t> made_by_;    // by a value's id: its op
  std::unordered_map<int, size_t> last_read_;  // by a value's id: its last reader, or one past the ops for results
};

}  // namespace

std::optional<Mismatch> locate_mismatch(const Trace& trace, const BoundSymbol& fusion,
                                        const std::vector<Tensor>& inputs, const std::vector<std::string>& executors,
                                        const std::vector<std::string>& reference, const TensorDifference& difference) {
  return Prefixes(trace, fusion, inputs, executors, reference, difference).run();
}

}  // namespace fulgurite
