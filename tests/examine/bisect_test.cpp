#include <sstream>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor program(Tensor x, Tensor w) {
  const Tensor a = matmul(x, w);
  const Tensor b = exp(a);
  const Tensor c = sum(b, 1, true);
  const Tensor d = b / c;
  return tanh(d) + 1.0;
}

// Executors that do one operator wrong.
Tensor wrong_sum(Tensor x, Dims dims, bool keepdim, std::optional<Dtype>) { return sum(x, dims, keepdim) * 1.01; }
Fusion wrong_tanh(const Region& region) {
  return {.run = [trace = region.trace](const std::vector<Tensor>& inputs) {
    Trace planted = trace;
    for (BoundSymbol& bound : planted.bound_symbols.change())
      if (bound.name() == "tanh") bound.symbol = find_symbol("sin");
    return evaluate(planted, inputs);
  }};
}

void register_faulty() {
  static const bool once = [] {
    OperatorExecutor faulty("faulty_sum");
    faulty.register_implementation(*find_symbol("sum"), wrong_sum);
    register_executor(faulty);
    FusionExecutor fusing("faulty_tanh");
    for (const char* name : {"add", "tanh", "div", "exp"}) fusing.register_supported(*find_symbol(name));
    fusing.fuse = wrong_tanh;
    register_executor(fusing);
    return true;
  }();
  (void)once;
}

std::string text_of(const examine::Difference& difference) {
  std::ostringstream out;
  out << difference;
  return out.str();
}

}  // namespace

TEST("bisect finds the line that another executor does wrong, not those that inherit it") {
  register_faulty();
  const Trace t = canonical_order(trace(program, randn({3, 4}), randn({4, 5})));
  const std::vector<Tensor> inputs = examine::make_inputs(t);
  expect(!examine::bisect(t, inputs, {"onednn", "fuser"}).has_value());
  const auto found = examine::bisect(t, inputs, {"faulty_sum"});
  expect(found.has_value());
  if (!found) return;
  expect_equal(found->line, 2);
  expect_equal(found->text, std::string("auto t2 = sum(t1, {1}, true);"));
  expect_equal(found->value, std::string("t2"));
  expect(found->source.line > 0 && found->fusion.empty());
  expect(text_of(*found).starts_with("line 2: auto t2 = sum(t1, {1}, true);: t2: element [0, 0] is "), text_of(*found));
}

TEST("bisect opens a fusion to the line inside") {
  register_faulty();
  const Trace t = canonical_order(trace(program, randn({3, 4}), randn({4, 5})));
  const auto found = examine::bisect(t, examine::make_inputs(t), {"faulty_tanh"});
  expect(found.has_value());
  if (!found) return;
  expect_equal(found->line, 4);
  expect_equal(found->text, std::string("auto t4 = tanh(t3);"));
  expect(found->fusion.starts_with("fusion"), found->fusion);
}

TEST("bisect takes an execution trace too, and says the place in it") {
  register_faulty();
  const auto f = jit(program, {.executors = {"onednn", "fuser"}});
  f(randn({3, 4}), randn({4, 5}));
  const Trace last = last_traces(f).back();
  const auto found = examine::bisect(last, examine::make_inputs(last), {"faulty_sum"});
  expect(found && found->text == "auto t2 = sum(t1, {1}, true);");
  if (found) expect(found->line >= 0 && last.bound_symbols.read()[static_cast<size_t>(found->line)].is_fusion());
}

TEST("bisect_passes finds the pass after which results change") {
  const Transform plants = [](const Trace& given) {
    Trace out = given;
    for (BoundSymbol& bound : out.bound_symbols.change())
      if (bound.name() == "exp") bound.symbol = find_symbol("sin");
    return out;
  };
  const auto f = jit(program), broken = with_transforms(f, {plants});
  for (const bool differentiates : {false, true}) {
    const Tensor x = randn({3, 4}).requires_grad_(differentiates), w = randn({4, 5});
    f(x, w);
    const std::vector<Tensor> inputs = {x, w};
    expect_equal(examine::bisect_passes(last_traces(f), inputs), -1);
    broken(x, w);
    const std::vector<Trace> stages = last_traces(broken);
    const int at = examine::bisect_passes(stages, inputs);
    expect(at > 0 && stages[static_cast<size_t>(at)].provenance == "User transform", at < 0 ? "none" : stages[static_cast<size_t>(at)].provenance);
  }
}
