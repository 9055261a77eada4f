// The links of a large model's backward to its forward, found again without looking at them.
#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "ir/analysis/uses.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Part = ForwardOrigin::Part;

struct Compiled {
  std::vector<Trace> forward, backward;
};

const Compiled& compiled_gpt() {
  static const Compiled compiled = [] {
    manual_seed(1);
    const models::Gpt model =
        models::make_gpt({.vocabulary = 17, .layers = 12, .heads = 2, .width = 8, .block = 4, .bias = true});
    const auto f = jit([](models::Gpt gpt, Tensor tokens, Tensor targets) { return gpt.loss(tokens, targets); },
                       {.debug = {.associate_forward = true}});
    f(model, randint(0, 17, {2, 4}), randint(0, 17, {2, 4}));
    return Compiled{last_traces(f), last_backward_traces(f)};
  }();
  return compiled;
}

const Trace& stage(const std::vector<Trace>& stages, std::string_view provenance) {
  for (const Trace& trace : stages)
    if (trace.provenance == provenance) return trace;
  fail("there is no stage " + std::string(provenance));
  return stages.front();
}

bool is_line(const BoundSymbol& bound) {
  static const std::set<std::string> not_ops = {"del", "clear_collection", "unpack_sequence", "return"};
  return !not_ops.contains(bound.name());
}

// The id that identifies an op: that of its first result.
int id_of(const BoundSymbol& bound) {
  for (const Value& output : bound.flat_outs())
    if (const int id = proxy_id(output); id >= 0) return id;
  return -1;
}

// The forward's ops as the gradient rules met them, from the stage before.
std::map<int, const BoundSymbol*> forward_lines(const Trace& joint) {
  std::map<int, const BoundSymbol*> lines;
  for (const BoundSymbol& bound : joint.bound_symbols)
    if (bound.forward.empty() && is_line(bound)) lines[id_of(bound)] = &bound;
  return lines;
}

using Operators = std::multiset<std::string>;

// Sums of contributions and recomputed ops depend on their context.
bool is_of_rule(Part part) { return part != Part::accumulation && part != Part::recomputation; }

// The operators that the backward of one op alone calls. `used` are the values that the model
// uses.
Operators backward_of(const BoundSymbol& line, const Trace& of, const std::set<int>& used) {
  Trace alone;
  alone.next_id = of.next_id;
  alone.next_name = of.next_name;
  std::set<int> given;
  for (const Value& argument : line.flat_args())
    if (argument.is_tensor() && given.insert(argument.tensor().id).second) alone.args.push_back(argument);
  alone.bound_symbols.push_back(line);
  BoundSymbol last;
  last.symbol = of.bound_symbols.back().symbol;
  for (const Value& output : line.flat_outs())
    if (used.contains(proxy_id(output))) last.args.push_back(output);
  alone.bound_symbols.push_back(last);
  Operators operators;
  for (const BoundSymbol& bound : forward_and_backward_from_trace(alone).backward.bound_symbols)
    if (is_line(bound) && is_of_rule(bound.forward[0].part))
      operators.insert(std::string(bound.symbol->qualified_name()));
  return operators;
}

}  // namespace

TEST("every op of every stage of a 12-layer GPT's backward ends with its forward op") {
  const std::regex ending(R"re(forward: (\w+: "[\w.:]+"(, \w+)?(, )?)+$)re");
  for (const Trace& trace : compiled_gpt().backward)
    for (const std::string& text : {trace.python({.depth = 0}), trace.cpp({.depth = 0})}) {
      std::istringstream lines(text.substr(text.rfind("backward_fn")));
      int assignments = 0;
      for (std::string line; std::getline(lines, line);) {
        const bool has_type = line.find("f32[") != std::string::npos || line.find("i64[") != std::string::npos ||
                              line.find("bool[") != std::string::npos;
        const bool is_assignment =
            line.find(" = ") != std::string::npos && has_type && line.find("unpack") == std::string::npos;
        if (is_assignment) expect(std::regex_search(line, ending), line);
        else expect(line.find("forward:") == std::string::npos, line);
        assignments += is_assignment;
      }
      expect(assignments > 12 * 30, std::to_string(assignments) + " lines");
    }
}

TEST("the forward ops that a GPT's backward names are ops of the forward as run") {
  std::map<std::string, std::string_view> printed;
  for (const BoundSymbol& bound : compiled_gpt().forward.back().bound_symbols)
    for (const Value& output : bound.flat_outs())
      if (output.is_tensor()) printed[output.tensor().name] = bound.symbol->qualified_name();
  for (const Trace& trace : compiled_gpt().backward)
    for (const BoundSymbol& bound : trace.bound_symbols) {
      if (!is_line(bound)) continue;
      expect(!bound.forward.empty(), bound.name() + " has no link");
      for (const ForwardOrigin& origin : bound.forward)
        expect_equal(std::string(printed[origin.result]), origin.symbol);
    }
}

TEST("the backward ops of a forward op are those of that op differentiated alone") {
  const Trace& joint = stage(compiled_gpt().forward, "Grad transform pass");
  const Trace& backward = compiled_gpt().backward.front();
  std::map<int, Operators> claimed;
  for (const BoundSymbol& bound : backward.bound_symbols)
    for (const ForwardOrigin& origin : bound.forward)
      if (is_of_rule(origin.part)) claimed[origin.id].insert(std::string(bound.symbol->qualified_name()));
  std::set<int> used;
  for (const auto& [id, line] : forward_lines(joint)) for_each_use(*line, [&](int value) { used.insert(value); });
  for_each_proxy(keyword(joint.bound_symbols.back(), "fw_flat_out"), [&](int value) { used.insert(value); });
  int compared = 0;
  for (const auto& [id, line] : forward_lines(joint)) {
    const bool carries = std::ranges::any_of(line->flat_outs(),
                                             [](const Value& v) { return v.is_tensor() && v.tensor().requires_grad; });
    if (!carries) {
      expect(!claimed.contains(id), line->name() + " carries no gradient");
      continue;
    }
    const Operators alone = backward_of(*line, joint, used);
    expect(claimed[id] == alone, line->name() + ": " + show(claimed[id]) + ", alone " + show(alone));
    compared += !alone.empty();
  }
  expect(compared > 12 * 10, std::to_string(compared) + " lines compared");
}

// The cotangent of an op's result is computed by the backward of the ops that use the result, and by nothing else.
TEST("gradients flow from the backward of an op's consumers into its own") {
  const Trace& joint = stage(compiled_gpt().forward, "Grad transform pass");
  const Trace& backward = compiled_gpt().backward.front();
  const std::map<int, const BoundSymbol*> lines = forward_lines(joint);
  std::map<int, int> op_of_value;
  for (const auto& [id, line] : lines)
    for (const Value& output : line->flat_outs())
      if (proxy_id(output) >= 0) op_of_value[proxy_id(output)] = id;
  std::map<int, std::set<int>> users;  // line -> lines that use what it makes
  for (const auto& [id, line] : lines)
    for_each_use(*line, [&, user = id](int value) {
      if (op_of_value.contains(value)) users[op_of_value[value]].insert(user);
    });
  // The cotangent of a sum is that of its terms, unchanged: there is no op for it.
  const auto reached = [&](int line) {
    std::set<int> reached_ops;
    std::vector<int> pending(users[line].begin(), users[line].end());
    while (!pending.empty()) {
      const int user = pending.back();
      pending.pop_back();
      if (!reached_ops.insert(user).second || lines.at(user)->name() != "add") continue;
      pending.insert(pending.end(), users[user].begin(), users[user].end());
    }
    return reached_ops;
  };
  const Uses uses(backward);
  int checked = 0;
  for (const BoundSymbol& bound : backward.bound_symbols) {
    if (!is_line(bound) || bound.forward[0].part == Part::recomputation) continue;
    // A sum of contributions belongs to the last contributor; the others use the same value.
    const int served = bound.forward[0].id;
    for_each_use(bound, [&](int value) {
      const int producer = uses.producer(value);
      if (producer < 0 || !is_line(backward.bound_symbols[producer])) return;
      const ForwardOrigin& from = backward.bound_symbols[producer].forward[0];
      if (from.part == Part::recomputation || from.id == served) return;
      bool flows = reached(served).contains(from.id);
      if (bound.forward[0].part == Part::accumulation && !flows)
        for (const auto& [shared, line] : lines) {
          const std::set<int> users_of_shared = reached(shared);
          flows = flows || (users_of_shared.contains(served) && users_of_shared.contains(from.id));
        }
      // Parameters have no op: both use one of them.
      if (bound.forward[0].part == Part::accumulation && !flows) {
        for_each_use(*lines.at(served), [&](int shared) {
          for_each_use(*lines.at(from.id),
                       [&](int other) { flows = flows || (shared == other && !op_of_value.contains(shared)); });
        });
      }
      expect(flows,
             bound.outputs[0].tensor().name + " of " + bound.forward[0].result + " uses what serves " + from.result);
      ++checked;
    });
  }
  expect(checked > 12 * 10, std::to_string(checked) + " edges checked");
}
