// Functions that act immediately, inside traced functions: they act at each call and in order, or are refused.
#include <cstdio>
#include <filesystem>

#include <fulgurite/compiled_autograd.h>
#include <fulgurite/fulgurite.h>
#include <fulgurite/grad_scaler.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string temporary_file(const char* name) {
  return (std::filesystem::temp_directory_path() /
          (std::string(name) + "_" + std::to_string(::getpid()) + ".safetensors"))
      .string();
}

}  // namespace

TEST("manual_seed() inside a jitted function seeds at each call, in the order of the draws") {
  const auto program = [](Tensor x) {
    const Tensor before = rand({2});
    manual_seed(11);
    return x + before * 0.0 + rand({2});
  };
  const auto jitted = jit(program);
  const Tensor x = zeros({2});
  const std::vector<float> eager = program(x).to_vector<float>();
  for (int i = 0; i < 3; ++i) expect_equal(jitted(x).to_vector<float>(), eager);
}

TEST("settings of the process are changed at each call") {
  const int threads = num_threads();
  const auto jitted = jit([](Tensor x) {
    set_num_threads(3);
    set_default_dtype(Dtype::f64);
    const Tensor made = zeros({1});
    set_default_dtype(Dtype::f32);
    return x + made;
  });
  for (int i = 0; i < 3; ++i) {
    set_num_threads(2);
    expect_equal(jitted(ones({1})).dtype(), Dtype::f64);
    expect_equal(num_threads(), 3);
    expect_equal(default_dtype(), Dtype::f32);
  }
  set_num_threads(threads);
}

TEST("a function that is compiled whole refuses them, at the user's line") {
  const auto program = [](Tensor x) {
    manual_seed(1);
    return sum(x * rand({2}));
  };
  const Tensor x = ones({2}).requires_grad_();
  const std::string start = "manual_seed() inside a traced function: a graph break, which cannot be made ";
  const std::string end = "; call it outside of the function\n  at immediate_actions_test.cpp:";
  expect_error([&] { grad(program)(x); }, start + "inside grad(), value_and_grad(), vjp() and trace()" + end);
  expect_error([&] { jit(program, {.fullgraph = true})(x); }, start + "with fullgraph = true" + end);
  expect_error([&] { jit(checkpoint(program))(x); }, start + "inside checkpoint()" + end);
}

TEST("counters are cleared and backwards forgotten at each call, and executors added outside a recording") {
  const auto cleared = jit([](Tensor x) {
    const Tensor y = x * 2;
    counters().clear();
    compiled_autograd::reset();
    return y + 1;
  });
  for (int i = 0; i < 3; ++i) {
    jit([](Tensor x) { return x + 1; })(ones({2}));
    expect_greater(counters()["unique_graphs"], 0);
    cleared(ones({2}));
    // The piece behind the call is compiled once, after it.
    expect_equal(counters()["unique_graphs"], int64_t{i == 0});
  }
  const auto adds = [](Tensor x) {
    register_executor(OperatorExecutor("added_inside"));
    return x * 2;
  };
  expect_error(
      [&] { jit(adds, {.fullgraph = true})(ones({2})); },
      "register_executor() inside a traced function: a graph break, which cannot be made with fullgraph = true; "
      "call it outside of the function\n"
      "  at immediate_actions_test.cpp:");
}

TEST("save_safetensors() inside a jitted function writes values, arguments and captured tensors, at each call") {
  const std::string path = temporary_file("saved_inside");
  const Tensor captured = tensor({7.0});
  const auto step = jit([&](Tensor x) {
    const Tensor y = x * 2;
    save_safetensors(path, {{"y", y}, {"x", x}, {"captured", captured}});
    return y + 1;
  });
  for (const float value : {1.0F, 2.0F, 3.0F}) {
    expect_near(step(tensor({value})).to_vector<float>(), {2 * value + 1});
    const TensorMap saved = load_safetensors(path);
    expect_near(saved.at("y").to_vector<float>(), {2 * value});
    expect_near(saved.at("x").to_vector<float>(), {value});
    expect_near(saved.at("captured").to_vector<float>(), {7});
  }
  std::remove(path.c_str());
}

TEST("load_safetensors() inside a jitted function reads at each call") {
  const std::string path = temporary_file("loaded_inside");
  const auto add_loaded = jit([&](Tensor x) { return x + load_safetensors(path).at("a"); });
  for (const float value : {1.0F, 2.0F}) {
    save_safetensors(path, {{"a", tensor({value})}});
    expect_near(add_loaded(tensor({10.0})).to_vector<float>(), {10 + value});
  }
  std::remove(path.c_str());
}

TEST("register_hook() on a traced value acts on the tensor that it becomes") {
  const auto jitted = jit([](Tensor x) {
    const Tensor y = x * x;
    y.register_hook([](Tensor g) { return g * 3.25; });
    return sum(y);
  });
  const Tensor x = tensor({1.0, 4.0}).requires_grad_();
  for (int i = 0; i < 3; ++i) {
    x.set_grad({});
    jitted(x).backward();
    expect_near(x.grad().to_vector<float>(), {6.5, 26});
  }
}

TEST("retain_grad() on a traced value keeps its gradient") {
  const auto jitted = jit([](Tensor x) {
    Tensor y = x * 3.0;
    y.retain_grad();
    return y;
  });
  const Tensor x = tensor({1.0, 4.0}).requires_grad_();
  for (int i = 0; i < 2; ++i) {
    const Tensor y = jitted(x);
    sum(y * 2.0).backward();
    expect_near(y.grad().to_vector<float>(), {2, 2});
  }
}

TEST("hooks on arguments inside a jitted function are the argument's") {
  int calls = 0;
  const auto jitted = jit([&](Tensor x) {
    x.register_post_accumulate_grad_hook([&](Tensor) { ++calls; });
    return sum(x * 2.0);
  });
  const Tensor x = tensor({1.0}).requires_grad_();
  jitted(x).backward();
  expect_equal(calls, 1);
  expect_error(
      [&] {
        jit([](Tensor y) {
          y.retain_grad();
          return y;
        })(ones({1}));
      },
      "retain_grad() of cpu f32[1], which does not require grad");
}

TEST("an optimizer's step with gradients from outside is taken at each jitted call") {
  const Tensor weight = tensor({1.0}).requires_grad_();
  optim::SGD sgd({weight}, {.lr = 0.5});
  const auto step = jit([&](Tensor x) {
    sgd.step();
    sgd.zero_grad();
    return x * 1.0;
  });
  for (const double gradient : {1.0, 2.0}) {
    weight.set_grad(tensor({gradient}));
    step(ones({1}));
    expect(!weight.grad().defined());
  }
  expect_near(weight.detach().to_vector<float>(), {-0.5});
}

TEST("a schedule and a scaler inside a jitted function go on at each call") {
  const Tensor weight = tensor({1.0}).requires_grad_();
  optim::SGD sgd({weight}, {.lr = 1.0});
  optim::CosineSchedule schedule(sgd, {.warmup = 0, .steps = 10});
  optim::GradScaler scaler({.init_scale = 4.0});
  const auto step = jit([&](Tensor x) {
    schedule.step();
    return scaler.scale(x);
  });
  for (int i = 1; i <= 3; ++i) {
    step(ones({1}));
    expect_equal(schedule.iteration(), i);
  }
  scaler.load_state_dict({{"scale", tensor(8.0)}, {"growth_tracker", tensor(0)}});
  expect_near(step(ones({1})).to_vector<float>(), {8});
}

TEST("a call through std::function names a line of the user's") {
  const std::function<Tensor(Tensor)> held =
      jit([](Tensor x) { return x; }, {.limits = {.warn_after = 0, .refuse_after = 1}});
  held(ones({1}));
  expect_error([&] { held(ones({2})); }, "immediate_actions_test.cpp");
}
