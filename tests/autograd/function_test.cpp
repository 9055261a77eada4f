// Custom functions: autograd::apply.
#include <fulgurite/fulgurite.h>

#include "support/programs/hook_functions.h"
#include "support/test.h"

using namespace fulgurite;
using test::Cube;

namespace {

Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

struct Scale {
  static Tensor forward(autograd::Context& context, Tensor x, double by) {
    context.saved_data()["by"] = by;
    return x * by;
  }
  static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
    return {gradient * std::any_cast<double>(context.saved_data()["by"]), {}};
  }
};

struct ProductAndSum {
  static std::tuple<Tensor, Tensor> forward(autograd::Context& context, Tensor a, Tensor b) {
    context.save_for_backward({a, b});
    return {a * b, a + b};
  }
  static std::vector<Tensor> backward(autograd::Context& context, const std::vector<Tensor>& gradients) {
    const std::vector<Tensor> saved = context.saved_tensors();
    std::vector<Tensor> out(2);
    for (size_t i = 0; i < 2; ++i)
      if (context.needs_input_grad(i)) out[i] = gradients[0] * saved[1 - i] + gradients[1];
    return out;
  }
};

}  // namespace

TEST("a custom function has its own backward, of any order") {
  const Tensor x = leaf({2, 3});
  const Tensor y = autograd::apply<Cube>(x);
  expect_equal(y.grad_fn()->name(), "CubeBackward");
  expect_near(values(y), {8, 27});
  const Tensor first = autograd::grad(sum(y), x, {}, {.create_graph = true})[0];
  expect_near(values(first), {12, 27});
  const Tensor second = autograd::grad(sum(first), x, {}, {.create_graph = true})[0];
  expect_near(values(second), {12, 18});
  expect_near(values(autograd::grad(sum(second), x)[0]), {6, 6});
  const NoGrad no_grad;
  expect(!autograd::apply<Cube>(x).requires_grad());
}

TEST("arguments that are not tensors and several results") {
  const Tensor x = leaf({2, 3}), constant = tensor({5.0, 7.0});
  sum(autograd::apply<Scale>(x, 4.0)).backward();
  expect_near(values(x.grad()), {4, 4});
  x.set_grad({});
  const auto [product, total] = autograd::apply<ProductAndSum>(x, constant);
  sum(product).backward({}, {.retain_graph = true});  // the other result's gradient is zeros
  expect_near(values(x.grad()), {5, 7});
  sum(product + total * 10).backward();
  expect_near(values(x.grad()), {5 + 15, 7 + 17});
}

TEST("a second backward needs what was saved") {
  const Tensor x = leaf({2});
  const Tensor y = sum(autograd::apply<Cube>(x));
  y.backward();
  expect_error([&] { y.backward(); }, "a second time");
  const Tensor changed = leaf({2}) * 1;
  const Tensor z = sum(autograd::apply<Cube>(changed));
  changed.add_(1);
  expect_error(
      [&] { z.backward(); },
      "a tensor needed for backward was changed in place: cpu f32[1], input 0 of CubeBackward, is at version 1 but "
      "was saved at version 0");
}

using test::Cube;

namespace {

struct Careful {  // asks for what it saved only where it needs it
  static Tensor forward(autograd::Context& context, Tensor a, Tensor b) {
    context.save_for_backward({a, b});
    return a * b;
  }
  static std::vector<Tensor> backward(autograd::Context& context, Tensor gradient) {
    if (!context.needs_input_grad(0)) return {{}, gradient};
    return {gradient * context.saved_tensors()[1], {}};
  }
};

}  // namespace

TEST("tensors that a backward does not read may have been freed") {
  const Tensor x = leaf({2}), constant = tensor({3.0});
  const Tensor y = autograd::apply<Careful>(constant, x);
  y.backward();
  y.backward();
  expect_near(values(x.grad()), {2});
  const Tensor z = autograd::apply<Careful>(x, constant);
  z.backward();
  expect_error([&] { z.backward(); }, "backward through CarefulBackward a second time");
}

TEST("the node of a custom function knows the line of the call") {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = autograd::apply<Cube>(x);
  expect_equal(std::string(y.grad_fn()->source().file).ends_with("function_test.cpp"), true);
  expect_greater(y.grad_fn()->source().line, 0);
}

using test::Cube;

namespace {

struct Doubled {  // in place
  static Tensor forward(autograd::Context& context, Tensor x) {
    x.mul_(2);
    context.mark_dirty({x});
    return x;
  }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 2; }
};

struct DirtyLost {
  static Tensor forward(autograd::Context& context, Tensor x) {
    x.mul_(2);
    context.mark_dirty({x});
    return x * 1;
  }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient; }
};

struct Same {
  static Tensor forward(autograd::Context&, Tensor x) { return x; }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 5; }
};

}  // namespace

TEST("a function may write its argument") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 1;
  const Tensor z = autograd::apply<Doubled>(y);
  expect(z.is_same(y));
  expect_near(values(y), {2, 4});
  sum(y * y).backward();
  expect_near(values(x.grad()), {8, 16});
  expect_error([&] { autograd::apply<Doubled>(x); },
               "Doubled: forward() wrote cpu f32[2], a leaf that requires grad; pass a copy");
  const Tensor lost = leaf({1}) * 1;
  expect_error([&] { autograd::apply<DirtyLost>(lost); },
               "DirtyLost: an argument that forward() wrote, cpu f32[1], must be among what it returns");

  // Through a view: the rest of the base keeps its gradient.
  const Tensor w = leaf({1, 2, 3});
  const Tensor base = w * 1;
  autograd::apply<Doubled>(base(Slice(0, 2)));
  expect_near(values(base), {2, 4, 3});
  sum(base * tensor({1.0, 10.0, 100.0})).backward();
  expect_near(values(w.grad()), {2, 20, 100});
}

TEST("an argument that comes back is another tensor") {
  const Tensor x = leaf({1, 2});
  const Tensor y = autograd::apply<Same>(x);
  expect(!y.is_same(x));
  sum(y).backward();
  expect_near(values(x.grad()), {5, 5});
}

using test::Cube;

namespace {

struct WithIndexes {
  static std::pair<Tensor, Tensor> forward(autograd::Context& context, Tensor x) {
    const Tensor order = argsort(x), doubled = x * 2;
    context.mark_non_differentiable({order});
    context.set_materialize_grads(false);
    return {doubled, order};
  }
  static Tensor backward(autograd::Context&, Tensor gradient, Tensor of_order) {
    if (of_order.defined()) throw std::runtime_error("a gradient of indexes");
    return gradient.defined() ? gradient * 2 : Tensor();
  }
};

struct Once {
  static constexpr bool once_differentiable = true;
  static Tensor forward(autograd::Context& context, Tensor x) {
    context.save_for_backward({x});
    return x * x;
  }
  static Tensor backward(autograd::Context& context, Tensor gradient) {
    return gradient * 2 * context.saved_tensors()[0];
  }
};

struct Forward {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 1; }
};

template <int gradients>
struct Wrong {
  static Tensor forward(autograd::Context&, Tensor a, double, Tensor) { return a * 1; }
  static std::vector<Tensor> backward(autograd::Context&, Tensor gradient) {
    return std::vector<Tensor>(static_cast<size_t>(gradients), gradient);
  }
};

template <int size>
struct Sized {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 1; }
  static Tensor backward(autograd::Context&, Tensor gradient) {
    const Tensor wide = gradient.reshape({1, -1});
    return wide.expand({size, 3}).to(Dtype::f64);
  }
};

struct Shorter {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 1; }
  static Tensor backward(autograd::Context&, Tensor) { return ones({2}); }
};

}  // namespace

TEST("outputs without gradients, and functions that can be differentiated once or never") {
  const Tensor x = leaf({3, 1});
  const auto [doubled, order] = autograd::apply<WithIndexes>(x);
  expect(!order.requires_grad());
  sum(doubled).backward();
  expect_near(values(x.grad()), {2, 2});

  const Tensor first = autograd::grad(sum(autograd::apply<Once>(x)), x, {}, {.create_graph = true})[0];
  expect_near(values(first), {6, 2});
  expect_error([&] { sum(first).backward(); }, "a second derivative of Once, which is marked once_differentiable");
  expect_error([&] { sum(autograd::apply<Forward>(x)).backward(); },
               "Forward has no backward(): give it one, or call it under NoGrad");
}

TEST("the gradients of a custom function are checked") {
  const Tensor x = leaf({1, 2, 3}), other = leaf({1});
  expect_error([&] { sum(autograd::apply<Wrong<1>>(x, 1.0, other)).backward(); }, "gave 1 gradients for 3 arguments");
  expect_error([&] { sum(autograd::apply<Wrong<4>>(x, 1.0, other)).backward(); }, "gave 4 gradients for 3 arguments");
  expect_error([&] { sum(autograd::apply<Wrong<3>>(x, 1.0, other)).backward(); },
               "gave a gradient for argument 1, which is not a tensor");
  sum(autograd::apply<Sized<4>>(x)).backward();  // summed down to the argument's sizes, and in its dtype
  expect_near(values(x.grad()), {4, 4, 4});
  expect_error([&] { sum(autograd::apply<Shorter>(x)).backward(); },
               "ShorterBackward gave cpu f32[2] for the gradient of argument 0, whose sizes are [3]");
}
