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

TEST("bisect finds the op that an executor computes wrongly, not its consumers") {
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

TEST("bisect finds the op inside a fusion") {
  register_faulty();
  const Trace t = canonical_order(trace(program, randn({3, 4}), randn({4, 5})));
  const auto found = examine::bisect(t, examine::make_inputs(t), {"faulty_tanh"});
  expect(found.has_value());
  if (!found) return;
  expect_equal(found->line, 4);
  expect_equal(found->text, std::string("auto t4 = tanh(t3);"));
  expect(found->fusion.starts_with("fusion"), found->fusion);
}

TEST("bisect takes an execution trace too, and says the op's position in it") {
  register_faulty();
  const auto f = jit(program, {.executors = {"onednn", "fuser"}});
  f(randn({3, 4}), randn({4, 5}));
  const Trace last = last_traces(f).back();
  const auto found = examine::bisect(last, examine::make_inputs(last), {"faulty_sum"});
  expect(found && found->text == "auto t2 = sum(t1, {1}, true);");
  if (found) expect(found->line >= 0 && last.bound_symbols.read()[static_cast<size_t>(found->line)].is_fusion());
}

TEST("bisect allows what is not rounded on the way to be exact") {
  const Trace t = canonical_order(
      trace([](Tensor x) { return sum(tanh(x.to(Dtype::bf16)), {0}).to(Dtype::f32); }, full({64, 48}, 1.0)));
  expect(!examine::bisect(t, {full({64, 48}, 1.0) + randn({64, 48})}, {"fuser"}).has_value());
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
    expect(at > 0 && stages[static_cast<size_t>(at)].provenance == "User transform",
           at < 0 ? "none" : stages[static_cast<size_t>(at)].provenance);
  }
}

namespace {

Tensor two_layers(Tensor x, Tensor w, Tensor v) {
  const Tensor hidden = tanh(matmul(x, w));
  return sum(matmul(hidden, v) - 1.0);
}

template <class Change>
std::string broken_by(const Change& change) {
  const Transform plants = [change](const Trace& given) {
    Trace out = given;
    change(out);
    return out;
  };
  const auto f = with_transforms(jit(two_layers), {plants});
  f(randn({4, 4}).requires_grad_(), randn({4, 4}).requires_grad_(), randn({4, 4}).requires_grad_()).backward();
  const auto found = examine::find_broken_pass(f);
  if (!found) return "none";
  std::ostringstream out;
  out << *found;
  return out.str();
}

BoundSymbol& op_named(Trace& trace, const std::string& name, size_t which = 0) {
  for (BoundSymbol& bound : trace.bound_symbols.change())
    if (bound.name() == name && which-- == 0) return bound;
  throw UserError("no line " + name);
}

}  // namespace

TEST("find_broken_pass names the pass, the op and its form before, of the forward") {
  expect_equal(broken_by([](Trace&) {}), std::string("none"));
  const std::string symbol = broken_by([](Trace& trace) { op_named(trace, "tanh").symbol = find_symbol("sin"); });
  expect(symbol.starts_with(
             "after \"User transform\", stage 4 of the forward: line 1: auto t1 = sin(t0);: t1: element [0, 0] is "),
         symbol);
  expect(symbol.ends_with("; before it: auto t1 = tanh(t0);"), symbol);
  const std::string constant = broken_by([](Trace& trace) { op_named(trace, "sub").args.change()[1] = Value(2.0); });
  expect(constant.find("auto t3 = sub(t2, 2.0);: t3: element [0, 0] is ") != std::string::npos, constant);
}

TEST("find_broken_pass names the op of the backward") {
  const std::string swapped = broken_by([](Trace& trace) {
    BoundSymbol& product = op_named(trace, "matmul", 4);  // two of the forward, then of the backward
    std::swap(product.args.change()[0], product.args.change()[1]);
  });
  expect(swapped.find("stage 4 of the forward") != std::string::npos && swapped.find("matmul(") != std::string::npos,
         swapped);
}

TEST("find_broken_pass names the op that reads a dropped op's result") {
  const std::string dropped = broken_by([](Trace& trace) {
    Trace out = trace;
    out.bound_symbols = {};
    const BoundSymbol* const dropped = &op_named(trace, "sub");
    for (const BoundSymbol& bound : trace.bound_symbols.read())
      if (&bound != dropped) out.bound_symbols.push_back(bound);
    BoundSymbol& total = op_named(out, "sum");
    total.args.change()[0] = dropped->args.read()[0];
    trace = out;
  });
  expect(dropped.find("auto t4 = sum(t2);: t4: element [] is ") != std::string::npos &&
             dropped.ends_with("; before it: auto t4 = sum(t3);"),
         dropped);
}

TEST("find_broken_pass names a write that is lost") {
  const Transform drops = [](const Trace& given) {
    Trace out = given;
    out.bound_symbols = {};
    for (const BoundSymbol& bound : given.bound_symbols.read())
      if (bound.name() != "copy_") out.bound_symbols.push_back(bound);
    return out;
  };
  const auto f = with_transforms(jit([](Tensor x) {
                                   x.add_(1.0);
                                   return x * 2.0;
                                 }),
                                 {drops});
  f(randn({3}));
  const auto found = examine::find_broken_pass(f);
  expect(found && found->difference.detail == "nothing is written into t_0 any more");
}
