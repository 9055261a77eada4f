// The rules by which a user's fusing executor forms its groups, and fusions that store into planned memory.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string names_of(const std::vector<BoundSymbol>& ops) {
  std::string out;
  for (const BoundSymbol& op : ops) out += (out.empty() ? "" : " ") + op.name();
  return out;
}

/// An executor whose fusions evaluate their groups; `seen` are the groups' ops.
FusionExecutor evaluating(const std::string& name, std::initializer_list<const char*> operators,
                          std::vector<std::string>& seen) {
  FusionExecutor executor(name);
  for (const char* op : operators) executor.register_supported(*find_symbol(op));
  executor.fuse = [&seen](const Region& region) -> Fusion {
    seen.push_back(names_of(region.bound_symbols));
    return {.run = [trace = region.trace](const std::vector<Tensor>& inputs) { return evaluate(trace, inputs); }};
  };
  return executor;
}

Tensor layer(Tensor x, Tensor w) {
  const Tensor before = exp(x);
  const Tensor product = matmul(before, w);
  const Tensor bent = tanh(product);
  const Tensor other = matmul(bent, w);
  return other * 2.0;
}

void expect_equal_to_eager(const std::string& executor, SourceLocation at = SourceLocation::here()) {
  const auto f = jit(layer, {.executors = {executor}, .debug = {.check_traces = true}});
  const Tensor x = randn({3, 3}), w = randn({3, 3});
  expect_equal(f(x, w).to_vector<float>(), layer(x, w).to_vector<float>(), at);
}

}  // namespace

TEST("a group is what its executor's rule allows") {
  std::vector<std::string> all, epilogues;
  register_executor(evaluating("grouping_all", {"exp", "matmul", "tanh", "mul"}, all));
  expect_equal_to_eager("grouping_all");
  expect_equal(all, std::vector<std::string>({"exp matmul tanh matmul mul"}));

  FusionExecutor executor = evaluating("grouping_epilogues", {"exp", "matmul", "tanh", "mul"}, epilogues);
  executor.missed_reason = [](const ProposedGroup& group) -> std::string {
    for (size_t i = 1; i < group.ops.size(); ++i)
      if (group.ops[i]->name() == "matmul") return "a GEMM is first";
    return "";
  };
  register_executor(executor);
  expect_equal_to_eager("grouping_epilogues");
  expect_equal(epilogues, std::vector<std::string>({"exp", "matmul tanh", "matmul mul"}));
}

TEST("the rule sees the values that ops outside read") {
  std::vector<std::string> seen, outputs;
  FusionExecutor executor = evaluating("grouping_outputs", {"exp", "tanh"}, seen);
  executor.missed_reason = [&](const ProposedGroup& group) -> std::string {
    std::string text;
    for (const Value& output : group.outputs) text += output.tensor().name + " ";
    outputs.push_back(text);
    return group.outputs.size() > 1 ? "two results" : "";
  };
  register_executor(executor);
  const auto f = jit(
      [](Tensor x) {
        const Tensor grown = exp(x);
        return std::vector<Tensor>{grown, tanh(grown)};
      },
      {.executors = {"grouping_outputs"}});
  f(ones({2}));
  expect_equal(seen, std::vector<std::string>({"exp", "tanh"}));
  expect_equal(outputs.front(), std::string("t0 t1 "));
}

TEST("ops that are fused last join groups of others") {
  std::vector<std::string> seen;
  FusionExecutor executor = evaluating("grouping_last", {"exp", "neg", "tanh"}, seen);
  // At most two ops: those that are fused last come too late for the first group.
  executor.missed_reason = [](const ProposedGroup& group) -> std::string {
    return group.ops.size() > 2 ? "two ops are enough" : "";
  };
  executor.fuse_last = [](const BoundSymbol& op) { return op.name() == "exp"; };
  register_executor(executor);
  const auto f = jit([](Tensor x) { return tanh(-exp(x)); }, {.executors = {"grouping_last"}});
  f(ones({2}));
  expect_equal(seen, std::vector<std::string>({"exp", "neg tanh"}));
}

TEST("unprofitable groups are left to other executors") {
  std::vector<std::string> seen;
  FusionExecutor executor = evaluating("grouping_costs", {"exp", "matmul", "tanh", "mul"}, seen);
  executor.missed_reason = [](const ProposedGroup& group) -> std::string {
    return group.ops.size() > 2 ? "two ops are enough" : "";
  };
  executor.is_profitable = [](const Region& region) { return names_of(region.bound_symbols) != "exp matmul"; };
  register_executor(executor);
  expect_equal_to_eager("grouping_costs");
  expect_equal(seen, std::vector<std::string>({"tanh matmul", "mul"}));
}

TEST("a fusion stores into the memory that the program plans, over its operand where it may") {
  for (const bool overwrites : {false, true}) {
    const std::string name = overwrites ? "grouping_over" : "grouping_into";
    auto is_same = std::make_shared<bool>(false);
    FusionExecutor executor(name);
    executor.register_supported(*find_symbol("neg"));
    executor.fuse = [=](const Region&) -> Fusion {
      return {.run_into =
                  [=](const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
                    *is_same = inputs[0].data<float>() == outputs[0].data<float>();
                    for (int64_t i = 0; i < inputs[0].numel(); ++i)
                      outputs[0].data<float>()[i] = -inputs[0].data<float>()[i];
                  },
              .may_overwrite = [=](size_t, size_t) { return overwrites; }};
    };
    register_executor(executor);
    const auto f = jit([](Tensor x) { return exp(-tanh(x)); }, {.executors = {name}});
    const Tensor x = randn({40, 50});
    for (int call = 0; call < 2; ++call) expect_equal(f(x).to_vector<float>(), exp(-tanh(x)).to_vector<float>());
    expect_equal(*is_same, overwrites);
  }
}

TEST("a fusion may store by operators that write in place, also the function's results") {
  FusionExecutor executor("grouping_copies");
  executor.register_supported(*find_symbol("neg"));
  executor.fuse = [](const Region&) -> Fusion {
    return {.run_into = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
      outputs[0].copy_(inputs[0] * -1.0);
    }};
  };
  register_executor(executor);
  const auto f = jit([](Tensor x) { return -x; }, {.executors = {"grouping_copies"}});
  const Tensor x = randn({3, 4}), first = f(x), second = f(first);
  expect_equal(first.to_vector<float>(), (-x).to_vector<float>());
  expect_equal(second.to_vector<float>(), x.to_vector<float>());
}

TEST("a fusion is freed with the function, or with the graph that needs its backward") {
  auto alive = std::make_shared<int>(0);
  FusionExecutor executor("grouping_owned");
  for (const char* op : {"tanh", "mul", "sub"}) executor.register_supported(*find_symbol(op));
  executor.fuse = [weak = std::weak_ptr<int>(alive)](const Region& region) -> Fusion {
    return {.run = [trace = region.trace, token = weak.lock()](const std::vector<Tensor>& inputs) {
      return evaluate(trace, inputs);
    }};
  };
  register_executor(executor);
  const Tensor x = ones({3}).requires_grad_();
  {
    Tensor y;
    {
      const auto f = jit([](Tensor t) { return tanh(t * 2.0); }, {.executors = {"grouping_owned"}});
      y = f(x);
      expect_greater(alive.use_count(), 1);
    }
    expect_greater(alive.use_count(), 1);  // the backward's fusions
    sum(y).backward();
    expect_near(x.grad().to_vector<float>(), {0.141302, 0.141302, 0.141302}, 1e-5);
  }
  expect_equal(alive.use_count(), 1);
}
