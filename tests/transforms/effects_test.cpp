// The effects of operators, and what passes may do with calls that have them.
#include <fulgurite/fulgurite.h>

#include "executors/fusion/dependency_graph.h"
#include "ir/analysis/effects.h"
#include "ir/analysis/uses.h"
#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// Operators with one effect each, and two with several.
struct EffectOperators {
  OperatorExecutor executor{"effects"};
  const Symbol& printed = add("effects::printed(Tensor x) -> Tensor", Effect::io);
  const Symbol& stored = add("effects::stored(Tensor x) -> Tensor", Effect::memory);
  const Symbol& logged = add("effects::logged(Tensor x) -> Tensor", Effect::memory | Effect::io);
  const Symbol& unknown = add("effects::unknown(Tensor x) -> Tensor", Effects::all());
  const Symbol& reduced = executor.register_operator(
      "effects::reduced(Tensor x, str group) -> Tensor", [](const Tensor& x, std::string_view) { return x.clone(); },
      {.infer = [](const Tensor& x, std::string_view) { return empty_like(x); },
       .traits = {.effects = Effect::collective}});

  const Symbol& add(std::string_view signature, Effects effects) {
    return executor.register_operator(
        signature, [](const Tensor& x) { return x.clone(); },
        {.infer = [](const Tensor& x) { return empty_like(x); }, .traits = {.effects = effects}});
  }
};

const EffectOperators& operators() {
  static const EffectOperators all;
  return all;
}

Tensor run(const Symbol& symbol, const Tensor& x) { return call(symbol.qualified_name(), {x}); }
Tensor reduced(const Tensor& x, const char* group) {
  return call(operators().reduced.qualified_name(), {x, Value(group)});
}

std::string names(const Trace& trace) {
  std::string out;
  for (const BoundSymbol& bound : trace.bound_symbols) {
    out += (out.empty() ? "" : " ") + bound.name();
    if (bound.symbol == &operators().reduced) out += "/" + bound.args.read()[1].string();
  }
  return out;
}

Trace record_one(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body) {
  return record({f32({2})}, [&](auto& x) -> std::vector<Tensor> { return body({x.begin(), x.end()}); });
}

}  // namespace

TEST("effects are sets") {
  const Effects both = Effect::io | Effect::random;
  expect(both.has(Effect::io) && both.has(Effect::random) && !both.has(Effect::memory));
  expect(Effects().empty() && Effects(Effect::none).empty() && !both.empty());
  expect(Effects::all() == ((Effect::random | Effect::memory) | (Effect::io | Effect::collective)));
}

TEST("the deprecated names of traits are effects") {
  const OperatorExecutor executor("old_effects");
  const auto add = [&](std::string_view signature, Traits traits) -> const Symbol& {
    return executor.register_operator(signature, [](const Tensor& x) { return x.clone(); }, {.traits = traits});
  };
  expect(add("old_effects::a(Tensor x) -> Tensor", {.side_effect = true}).traits.effects ==
         (Effect::memory | Effect::io));
  expect(add("old_effects::b(Tensor x) -> Tensor", {.random = true}).traits.effects == Effects(Effect::random));
  expect(find_symbol("rand")->traits.random && !find_symbol("rand")->traits.side_effect);
  expect(find_symbol("prims.copy_")->traits.side_effect && !find_symbol("add")->traits.side_effect);
}

TEST("the effects of a composite are those of its ops") {
  const Trace trace = record_one([](const std::vector<Tensor>& x) -> std::vector<Tensor> {
    const Tensor a = nn::dropout(x[0], 0.5, true);
    const Tensor b = run(operators().logged, a);
    return {exp(b)};
  });
  expect(effects_of(trace.bound_symbols[0]) == Effects(Effect::random));
  expect(effects_of(trace.bound_symbols[1]) == (Effect::memory | Effect::io));
  expect(effects_of(trace.bound_symbols[2]).empty());
  expect(effects_of(trace.bound_symbols[3]) == Effects::all());
}

TEST("calls of unlike effects may be reordered: the canonical order is that of the results") {
  const auto program = [](bool prints_first) {
    return record_one([&](const std::vector<Tensor>& x) -> std::vector<Tensor> {
      Tensor printed, drawn;
      if (prints_first) printed = run(operators().printed, x[0]);
      drawn = rand({2});
      if (!prints_first) printed = run(operators().printed, x[0]);
      return {drawn, printed};
    });
  };
  expect_equal(names(program(true)), "rand printed return");
  expect_equal(names(program(false)), "rand printed return");
}

TEST("calls that share an effect keep their order, whatever the results need first") {
  const auto program = [](const Symbol& first, const Symbol& second) {
    return names(record_one([&](const std::vector<Tensor>& x) -> std::vector<Tensor> {
      const Tensor a = run(first, x[0]);
      const Tensor b = run(second, x[0]);
      return {b, a};
    }));
  };
  const EffectOperators& all = operators();
  expect_equal(program(all.printed, all.stored), "stored printed return");
  expect_equal(program(all.printed, all.logged), "printed logged return");
  expect_equal(program(all.logged, all.stored), "logged stored return");
  expect_equal(program(all.stored, all.unknown), "stored unknown return");
  expect_equal(program(all.unknown, all.printed), "unknown printed return");
}

TEST("collectives keep their order within a group") {
  const auto program = [](const char* first, const char* second) {
    return names(record_one([&](const std::vector<Tensor>& x) -> std::vector<Tensor> {
      const Tensor a = reduced(x[0], first);
      const Tensor b = reduced(x[0] + 1, second);
      return {b, a};
    }));
  };
  expect_equal(program("data", "data"), "reduced/data add reduced/data return");
  expect_equal(program("data", "model"), "add reduced/model reduced/data return");
}

TEST("a call that prints stays although its result is not used, and equal ones are not merged") {
  const Trace trace = record_one([](const std::vector<Tensor>& x) -> std::vector<Tensor> {
    run(operators().printed, x[0]);
    run(operators().printed, x[0]);
    exp(x[0]);
    return {sin(x[0])};
  });
  expect_equal(names(eliminate_common_subexpressions(eliminate_dead_code(trace))), "sin printed printed return");
}

TEST("equal draws are not merged") {
  const Trace trace = record_one([](const std::vector<Tensor>& x) -> std::vector<Tensor> {
    const Tensor a = rand({2});
    const Tensor b = rand({2});
    const Tensor c = sin(x[0]);
    const Tensor d = sin(x[0]);
    return {a, b, c * d};
  });
  expect_equal(names(eliminate_common_subexpressions(trace)), "rand rand sin mul return");
}

TEST("a call with an effect is not computed again in a backward") {
  const auto f = jit([](Tensor x) {
    const Tensor y = checkpoint([](Tensor z) { return sin(z) * run(operators().printed, z.detach()); })(x);
    return sum(exp(y));
  });
  Tensor x = ones({2}).requires_grad_();
  f(x).backward();
  int calls = 0;
  for (const Trace& trace : {last_traces(f).back(), last_backward_traces(f).back()})
    for (const BoundSymbol& bound : trace.bound_symbols) calls += bound.symbol == &operators().printed;
  expect_equal(calls, 1);
}

TEST("an op follows the last op of each of its effects") {
  const Trace trace = record_one([](const std::vector<Tensor>& x) -> std::vector<Tensor> {
    const Tensor a = run(operators().printed, x[0]);
    const Tensor b = run(operators().stored, a);
    const Tensor c = run(operators().logged, b);
    const Tensor d = rand({2});
    return {c, d};
  });
  EffectOrder order;
  std::vector<std::vector<int>> before;
  for (int i = 0; i < 5; ++i) before.push_back(order.add(trace.bound_symbols[i], i));
  expect_equal(names(trace), "printed stored logged rand return");
  expect(before[0].empty() && before[1].empty() && before[3].empty());
  expect_equal(before[2], std::vector<int>{0, 1});
  expect_equal(before[4], std::vector<int>{2, 3});
  expect_equal(order.last(), std::vector<int>{4});
}

TEST("a draw does not wait for the readers of inputs, an op that writes into memory does") {
  const auto followed = [](const Symbol& second) {
    const Trace trace = record({f32({2}), f32({2})}, [&](auto& x) -> std::vector<Tensor> {
      const Tensor a = sin(x[0]);
      const Tensor b = &second == find_symbol("rand") ? rand({2}) : run(second, x[1]);
      return {a, b};
    });
    expect_equal(names(trace), "sin " + std::string(second.name()) + " return");
    return fuser::DependencyGraph(trace, false).before(1);
  };
  expect_equal(followed(*find_symbol("rand")), std::vector<int>{});
  expect_equal(followed(operators().printed), std::vector<int>{});
  expect_equal(followed(operators().stored), std::vector<int>{0});
}
