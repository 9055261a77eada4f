// Errors of the engine, and their texts. Each error of PyTorch's engine, and where its counterpart here is tested
// ("here": below):
//
//   backward() and grad()
//     grad can be implicitly created only for scalar outputs            backward_test, "backward of a tensor that is
//     not a scalar" Mismatch in shape: grad_output[0] …                               the same; its dtype: here element
//     0 of tensors does not require grad …                      the same; an integer one: here got 2 tensors and 1
//     gradients                                     here `inputs` argument to `backward()` cannot be empty here, of
//     grad(); backward(): without inputs means every leaf … appears to not have been used in the graph backward_test,
//     "grad gives gradients without touching the leaves" One of the differentiated Tensors does not require grad here
//     only Tensors of floating point dtype can require gradients        here
//     Using backward() with create_graph=True will create a cycle       here
//     Trying to backward through the graph a second time                backward_test, "a second backward needs
//     retain_graph"; threads: here
//   Gradients that nodes give
//     returned an invalid number of gradients                           function_test, "the gradients of a custom
//     function are checked" returned an invalid gradient at index 0 - got [2] but …           the same
//   Hooks
//     has changed the size of value, has changed the type of value      hooks_test, "what a hook gives must fit"
//     expected Variable, but hook returned 'int'                        does not compile
//     cannot register a hook on a tensor that doesn't require gradient  hooks_test, "what a hook gives must fit"
//     can't retain_grad on Tensor that has requires_grad=False          the same
//     post accumulate grad hooks cannot be registered on non-leaf …     the same
//     Final callbacks can only be installed during backward pass        hooks_test, "callbacks run after every leaf has
//     its gradient"
//   Leaves
//     attempting to assign a gradient with dtype 'double' …             here
//     you can only change requires_grad flags of leaf variables         here
//   Modes
//     Inference tensors cannot be saved for backward                    modes_test, "inference mode records nothing";
//     views: here Inplace update to inference tensor outside InferenceMode          the same Setting requires_grad=True
//     on inference tensor …                  the same Output of saved tensor unpack_hook expected to be a Tensor does
//     not compile; an undefined one: modes_test, "… forbidden" A saved tensor pack hook is modifying its input in place
//     modes_test, "hooks on what is saved may be nested, undone and forbidden" disable_saved_tensors_hooks("msg") the
//     same Error detected in ExpBackward0                                    modes_test, "anomaly detection names the
//     line"; second order: here Function 'SqrtBackward0' returned nan values in its 0th output    modes_test, "anomaly
//     detection names the line of the forward"
//   Writes in place
//     one of the variables needed for gradient computation has been …   reference_checks_test, 6; through detach():
//     here a leaf Variable that requires grad is being used in an in-place…  here a view of a leaf Variable that
//     requires grad is being used …      here Output 0 of Split is a view and is being modified inplace         no
//     error: such views are written like others; here A view was created in no_grad mode and is being modified … here
//   Custom functions
//     returned an incorrect number of gradients (expected 2, got 1)     function_test, "the gradients of a custom
//     function are checked" expected Variable or None (got int)                               does not compile You must
//     implement either the backward or vjp method              function_test, "outputs without gradients, and functions
//     …" a leaf Variable that requires grad has been used …                function_test, "a function may write its
//     argument" Some elements marked as dirty … were not returned as output       the same trying to differentiate
//     twice … @once_differentiable              function_test, "outputs without gradients, and functions …"
//   Checkpoints
//     A different number of tensors was saved                           checkpoint_test, "a recomputation that does
//     something else" Recomputed values … have different metadata                       the same
//
// Without a counterpart: sparse, nested and complex tensors, forward mode, registration of hooks on a single saved
// tensor.
#include <thread>

#include <fulgurite/fulgurite.h>

#include "support/context.h"
#include "support/stderr_text.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {
Tensor leaf(std::vector<float> values) { return tensor(values).requires_grad_(); }
std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }
}  // namespace

TEST("backward and grad say what is wrong with what they are given") {
  const Tensor x = leaf({1, 2}), constant = ones({2});
  expect_error(
      [&] {
        autograd::backward({sum(x), sum(x * 2)}, {ones({})});
      },
      "backward(): got 2 tensors and 1 gradients");
  expect_error([&] { autograd::grad({sum(x), sum(x * 2)}, x, {ones({})}); }, "grad(): got 2 tensors and 1 gradients");
  expect_error([&] { autograd::grad(sum(x), std::vector<Tensor>()); }, "grad(): no inputs were given");
  expect_error([&] { autograd::grad(sum(x), constant); }, "grad(): input 0, cpu f32[2], does not require grad");
  expect_error(
      [&] {
        sum(x).backward({}, {.inputs = {x, constant}});
      },
      "backward(): input 1, cpu f32[2], does not require grad");
  expect_error([&] { (x * 2).backward(ones({2}, {.dtype = Dtype::f64})); },
               "backward(): the gradient is cpu f64[2], the tensor cpu f32[2]");
  expect_error(
      [] {
        sum(tensor({1, 2})).backward();
      },
      "backward(): tensor 0, cpu i64[], does not require grad and was not made from one that does; call "
      "requires_grad_() on what the gradient is wanted of");
  expect_error([] { Tensor().backward(); }, "backward(): tensor 0 is undefined");
  expect_error(
      [] {
        tensor({1, 2}).requires_grad_();
      },
      "requires_grad_ of cpu i64[2]: only tensors of a floating dtype have a gradient");
  expect(!x.grad().defined());
}

TEST("a gradient with a history in a leaf is warned of, once") {
  context().has_warned_of_cycles = false;
  const Tensor x = leaf({2});
  const auto differentiate = [&] {
    sum(x * x).backward({}, {.create_graph = true});
    x.set_grad({});
  };
  expect_equal(
      stderr_text(differentiate),
      "[fulgurite] backward() with create_graph leaves a gradient with a history in each leaf, and the history holds "
      "the leaf: neither "
      "is freed until set_grad({}) takes the gradient away; autograd::grad() gives such gradients without that\n");
  expect_equal(stderr_text(differentiate), "");
}

TEST("a leaf's gradient and flag are checked") {
  const Tensor x = leaf({1, 2});
  expect_error([&] { x.set_grad(ones({2}, {.dtype = Dtype::f64})); },
               "set_grad(): the gradient is cpu f64[2], the tensor cpu f32[2]");
  expect_error([&] { x.set_grad(ones({3})); }, "set_grad(): the gradient is cpu f32[3], the tensor cpu f32[2]");
  const Tensor y = x * 2;
  expect_error([&] { y.requires_grad_(false); },
               "requires_grad_(false) of cpu f32[2], which was computed from tensors that require grad; "
               "detach() gives it without its history");
  expect(y.requires_grad());
  x.requires_grad_(false);
  expect(!(x * 2).requires_grad());
}

TEST("a graph freed by backward is an error in another thread too") {
  const Tensor x = leaf({1, 2});
  const Tensor loss = sum(exp(x));
  loss.backward();
  std::thread([&] { expect_error([&] { loss.backward(); }, "backward through ExpBackward0 a second time"); }).join();
}

TEST("writes that would lose a gradient are refused") {
  const Tensor w = leaf({1, 2, 3, 4});
  expect_error([&] { w.mul_(3); },
               "a leaf tensor that requires grad is written in place: mul_ on cpu f32[4]; wrap it in NoGrad, or write "
               "into a copy");
  const Tensor of_leaf = w(Slice(0, 2));
  expect_error([&] { of_leaf.mul_(3); },
               "the tensor written is a view of a leaf that requires grad; wrap the write in NoGrad, or write into "
               "a copy");
  const Tensor y = w * 2;
  Tensor view;
  {
    const NoGrad no_grad;
    view = y(Slice(0, 2));
    view.mul_(1);
  }
  expect_error([&] { view.mul_(3); },
               "the tensor written is a view that was made under NoGrad of a tensor with a history, and gradients are "
               "on: make the view outside of NoGrad, or write under it");
  const Tensor z = exp(w);
  z.detach().add_(1);
  expect_error([&] { sum(z).backward(); },
               "a tensor needed for backward was changed in place: cpu f32[4], output 0 of ExpBackward0, is at "
               "version 1 but was saved at version 0; write into a clone, or after backward()");
  Tensor inference, of_inference;
  {
    const InferenceMode mode;
    inference = ones({2});
  }
  of_inference = inference(Slice(0, 1));
  expect_error([&] { of_inference.add_(1); },
               "the tensor written is an inference tensor, and this is outside of InferenceMode; write into a clone");
}

TEST("one of several views that an operator gives may be written") {
  const Tensor w = leaf({1, 2, 3, 4});
  const Tensor y = w * 2;
  const auto parts = split(y, 2);
  parts[0].mul_(3);
  const Tensor rows = y.reshape({2, 2});
  unbind(rows)[1].mul_(5);
  sum(y * tensor({1.0, 10.0, 100.0, 1000.0})).backward();
  expect_near(values(y), {6, 12, 30, 40});
  expect_near(values(w.grad()), {6, 60, 1000, 10000});
}

TEST("anomaly detection names the forward of what a second backward fails in") {
  const Tensor x = leaf({0, 4});
  const DetectAnomaly detect;
  const Tensor y = pow(x, 1.5);
  const Tensor first = autograd::grad(sum(y), x, {}, {.create_graph = true})[0];
  expect_near(values(first), {0, 3});
  expect_error([&] { sum(first * 0).backward(); }, "the forward was called at error_texts_test.cpp:");
}
