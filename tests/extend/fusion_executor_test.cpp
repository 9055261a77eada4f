// User-defined fusing executors: the groups that they get, their valid answers, and errors.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// Groups are evaluated op by op; their texts are retained.
std::shared_ptr<std::vector<std::string>> evaluating(const std::string& name,
                                                     std::initializer_list<const char*> operators) {
  auto seen = std::make_shared<std::vector<std::string>>();
  FusionExecutor executor(name);
  for (const char* op : operators) executor.register_supported(*find_symbol(op));
  executor.fuse = [seen](Region region) -> Fusion {
    std::string lines = region.name + ":";
    for (const BoundSymbol& bound : region.bound_symbols) lines += " " + bound.name();
    for (const Value& input : region.inputs) lines += " <" + input.tensor().name;
    for (const Value& output : region.outputs) lines += " >" + output.tensor().name;
    seen->push_back(lines);
    return {.run = [trace = region.trace](const std::vector<Tensor>& inputs) { return evaluate(trace, inputs); },
            .source = region.trace.python()};
  };
  register_executor(executor);
  return seen;
}

int fusions_in(const Trace& trace) {
  int count = 0;
  for (const BoundSymbol& bound : trace.bound_symbols) count += bound.is_fusion();
  return count;
}

Tensor chain(Tensor x, Tensor w) {
  const Tensor bent = tanh(x * 2.0);
  const Tensor product = matmul(bent, w);
  return exp(product) + bent;
}

}  // namespace

TEST("a user's fusing executor gets fusion groups along the data flow and runs them") {
  const auto seen = evaluating("regions", {"mul", "tanh", "exp", "add"});
  const auto f = jit(chain, {.executors = {"regions"}, .debug = {.check_traces = true}});
  const Tensor x = randn({3, 3}), w = randn({3, 3});
  for (int call = 0; call < 2; ++call) expect_equal(f(x, w).to_vector<float>(), chain(x, w).to_vector<float>());
  expect_equal(*seen, std::vector<std::string>({"fusion0: mul tanh <t_0 >t1", "fusion1: exp add <t2 <t1 >t4"}));
  const Trace last = last_traces(f).back();
  expect_equal(fusions_in(last), 2);
  const std::string text = print(last, {.time = false, .source = false});
  expect(text.find("regions") != std::string::npos, text);
}

TEST("views are in fusion groups with other ops where they are supported") {
  const auto seen = evaluating("viewing", {"mul", "exp", "transpose"});
  const auto function = [](Tensor x) {
    const Tensor doubled = x * 2.0;
    const Tensor turned = doubled.transpose(0, 1);
    return exp(turned);
  };
  const auto f = jit(function, {.executors = {"viewing"}});
  const Tensor x = randn({3, 5});
  expect_equal(f(x).contiguous().to_vector<float>(), function(x).contiguous().to_vector<float>());
  expect_equal(*seen, std::vector<std::string>({"fusion0: mul transpose exp <t_0 >t2"}));
  const auto turned = jit([](Tensor x) { return x.transpose(0, 1) + 1.0; }, {.executors = {"viewing"}});
  expect_equal(turned(x).contiguous().to_vector<float>(), (x.transpose(0, 1) + 1.0).contiguous().to_vector<float>());
  expect_equal(seen->size(), 1u);
}

TEST("composites are taken whole, gradients fused too, and checkers are asked") {
  const auto seen = evaluating("composite", {"softmax"});
  FusionExecutor rows("rows");
  int regions = 0;
  rows.register_supported(*find_symbol("sin"), [](const Tensor& x) { return x.ndim() == 2; });
  rows.register_supported(*find_symbol("cos"));
  rows.register_supported(*find_symbol("mul"));
  rows.fuse = [&](const Region& region) -> Fusion {
    ++regions;
    return {.run = [trace = region.trace](const std::vector<Tensor>& inputs) { return evaluate(trace, inputs); }};
  };
  register_executor(rows);
  const auto f = jit([](Tensor x) { return sum(softmax(sin(x), -1) * x); }, {.executors = {"rows", "composite"}});
  const Tensor x = randn({3, 4}).requires_grad_(), same = x.detach().clone().requires_grad_();
  f(x).backward();
  sum(softmax(sin(same), -1) * same).backward();
  expect_near(x.grad().to_vector<float>(), same.grad().to_vector<float>(), 1e-6);
  expect(regions >= 2, "the forward and the backward have regions");
  const auto flat = jit([](Tensor x) { return sin(x); }, {.executors = {"rows"}});
  const int before = regions;
  flat(randn({3}));
  expect_equal(regions, before);
  flat(randn({3, 1}));
  expect_equal(regions, before + 1);
  expect_equal(seen->size(), 1u);
}

TEST("a fusion group without a run is left to other executors, and results may be views") {
  FusionExecutor picky("picky_fuser");
  picky.register_supported(*find_symbol("mul"));
  picky.register_supported(*find_symbol("neg"));
  picky.fuse = [](const Region& region) -> Fusion {
    if (region.bound_symbols.size() < 2) return {};
    return {.run = [](const std::vector<Tensor>& inputs) {
      const Tensor both = stack({inputs[0] * -2.0, inputs[0]});
      return std::vector<Tensor>{both.select(0, 0)};
    }};
  };
  register_executor(picky);
  const auto f = jit([](Tensor x) { return -(x * 2.0); }, {.executors = {"picky_fuser"}});
  const auto single = jit([](Tensor x) { return x * 2.0; }, {.executors = {"picky_fuser"}});
  expect_near(f(ones({2})).to_vector<float>(), {-2, -2});
  expect_near(single(ones({2})).to_vector<float>(), {2, 2});
  expect_equal(fusions_in(last_traces(f).back()), 1);
  expect_equal(fusions_in(last_traces(single).back()), 0);
}

TEST("a fusion group that one fusing executor leaves is offered to the next") {
  FusionExecutor idle("idle_fuser");
  idle.register_supported(*find_symbol("mul"));
  idle.fuse = [](const Region&) { return Fusion{}; };
  register_executor(idle);
  const auto seen = evaluating("second", {"mul", "exp"});
  const auto f = jit([](Tensor x) { return exp(x * 2.0); }, {.executors = {"idle_fuser", "second"}});
  expect_near(f(zeros({2})).to_vector<float>(), {1, 1});
  expect_equal(*seen, std::vector<std::string>({"fusion1: mul exp <t_0 >t1"}));
}

TEST("a fusion that gives something else is an error that names it") {
  FusionExecutor wrong("wrong_fuser");
  wrong.register_supported(*find_symbol("neg"));
  wrong.fuse = [](const Region& region) -> Fusion {
    const bool is_vector = region.inputs[0].tensor().shape.size() == 1;
    return {.run = [is_vector](const std::vector<Tensor>&) {
      return is_vector ? std::vector<Tensor>{} : std::vector<Tensor>{ones({7})};
    }};
  };
  register_executor(wrong);
  const auto f = jit([](Tensor x) { return -x; }, {.executors = {"wrong_fuser"}});
  expect_error(
      [&] { f(ones({2})); },
      "the run of fusion0, a fusion of the executor \"wrong_fuser\", gave 0 tensor(s), but the region has 1 output(s)");
  expect_error(
      [&] {
        f(ones({2, 2}));
      },
      "the run of fusion1 gave cpu f32[7] as result 0, where its types were found to be cpu f32[2, 2]");
}

TEST("fusing executors are checked when they are registered") {
  FusionExecutor executor("unready");
  expect_error([&] { register_executor(executor); }, "the executor \"unready\" has no function `fuse`");
  expect_error([&] { executor.register_supported(*find_symbol("prims.return")); },
               "prims.return is part of traces, or a write: it is in no region");
  expect_error([&] { executor.register_supported(*find_symbol("sin"), [](Tensor x) { return x; }); }, "checker");
  executor.fuse = [](const Region&) { return Fusion{}; };
  register_executor(executor);
  expect_error([&] { register_executor(executor); }, "there is an executor \"unready\" already");
  expect_error([&] { register_executor(FusionExecutor("")); }, "an executor needs a name");
}
