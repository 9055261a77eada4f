// Inference mode, anomaly detection, and hooks on saved tensors.
#include <cmath>
#include <map>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {
Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }
}  // namespace

TEST("inference mode records nothing and its tensors stay outside of autograd") {
  const Tensor x = leaf({1, 2}), weight = leaf({3, 4});
  Tensor made, view;
  {
    const InferenceMode inference;
    made = x * 2;
    view = x.reshape({2, 1});
    expect(!made.requires_grad());
    made.add_(1);
    {
      const InferenceMode suspended(false);
      expect((x * 2).requires_grad());
    }
  }
  expect_near(values(made), {3, 5});
  expect_error([&] { made.add_(1); },
               "the tensor written is an inference tensor, and this is outside of InferenceMode");
  expect_error([&] { made.requires_grad_(); },
               "requires_grad_ of cpu f32[2], an inference tensor, outside of InferenceMode");
  expect_error([&] { weight* made; },
               "an inference tensor, cpu f32[2], cannot be saved for backward: clone() it outside");
  sum(weight * made.clone()).backward();
  expect_near(values(weight.grad()), {3, 5});
  sum(weight + made).backward();  // saves nothing
  const NoGrad no_grad;
  view.add_(1);  // a view of a normal tensor is one
  expect_near(values(x), {2, 3});
}

TEST("anomaly detection names the line of the forward") {
  const DetectAnomaly detect;
  const Tensor x = leaf({-1, 4});
  const Tensor y = sqrt(x);
  expect_error([&] { sum(y).backward(); },
               "SqrtBackward0 gave NaN for the gradient of its input 0; the forward was called at modes_test.cpp:");
  const Tensor z = exp(x);
  {
    const NoGrad no_grad;
    z.add_(1);
  }
  expect_error([&] { sum(z).backward(); }, "in ExpBackward0; the forward was called at modes_test.cpp:");
  const DetectAnomaly without_nan(false);
  sum(sqrt(x)).backward();
  expect(std::isnan(values(x.grad())[0]));
}

TEST("saved tensors can be kept in another form") {
  std::map<int, Tensor> store;
  int packed = 0, unpacked = 0;
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  Tensor y;
  {
    const SavedTensorsHooks hooks(
        [&](Tensor t) {
          ++packed;
          expect(!(t * 1).requires_grad());
          store[packed] = t.detach().clone();
          return packed;
        },
        [&](int key) {
          ++unpacked;
          return store.at(key);
        });
    y = sum(exp(x) * w);
  }
  expect_equal(packed, 3);  // the result of exp, and both factors
  y.backward({}, {.retain_graph = true});
  expect_equal(unpacked, 3);
  const std::vector<float> e = {std::exp(1.0f), std::exp(2.0f)};
  expect_near(values(x.grad()), {3 * e[0], 4 * e[1]});
  expect_near(values(w.grad()), {e[0], e[1]});
  y.backward();
  expect_equal(unpacked, 6);
}

TEST("hooks on what is saved may be nested, undone and forbidden") {
  const Tensor x = leaf({2});
  std::string order;
  const auto outer = [&](Tensor t) {
    order += "outer ";
    return t;
  };
  const auto inner = [&](Tensor t) {
    order += "inner ";
    return t;
  };
  const auto same = [](Tensor t) { return t; };
  {
    const SavedTensorsHooks a(outer, same);
    {
      const SavedTensorsHooks b(inner, same);
      exp(x);
    }
    exp(x);
    const DisableSavedTensorsHooks disabled("not here");
    exp(x);
    expect_error([&] { const SavedTensorsHooks c(inner, same); }, "SavedTensorsHooks: not here");
  }
  exp(x);
  expect_equal(order, "inner outer ");
  {
    const Tensor plain = tensor({5.0});
    const SavedTensorsHooks writes([](Tensor t) { return t.add_(1); }, same);
    expect_error([&] { x* plain; },
                 "SavedTensorsHooks: pack wrote the tensor that it was given, cpu f32[1]; write into a clone");
  }
  Tensor y;
  {
    const SavedTensorsHooks loses(same, [](Tensor) { return Tensor(); });
    y = exp(x);
  }
  expect_error([&] { sum(y).backward(); }, "SavedTensorsHooks: unpack gave no tensor for ExpBackward0");
}

TEST("second derivatives go through packed tensors") {
  const Tensor x = leaf({2});
  const SavedTensorsHooks hooks([](Tensor t) { return t; }, [](Tensor t) { return t; });
  const Tensor first = autograd::grad(sum(x * x * x), x, {}, {.create_graph = true})[0];
  expect_near(values(first), {12});
  expect_near(values(autograd::grad(sum(first), x)[0]), {12});
}
