// Undefined tensors: default-constructed, moved from, or a missing gradient. Each operation that needs a tensor names
// itself and the tensor in its error.
#include <fulgurite/compare.h>
#include <fulgurite/fulgurite.h>

#include "ops/core/dispatch.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const std::string why = " is an undefined tensor: default-constructed, moved from, or a grad() before backward()";

void expect_undefined(const std::function<void()>& call, const std::string& message) {
  expect_error(call, message + why);
}

// An argument of the type that a parameter has.
Argument some_argument(const Parameter& parameter, const Tensor& tensor, std::span<const Tensor> tensors,
                       std::span<const Int> integers) {
  using Type = Parameter::Type;
  switch (parameter.type) {
    case Type::tensor:
    case Type::operand: return tensor;
    case Type::tensors: return tensors;
    case Type::integer: return Int(0);
    case Type::integers:
    case Type::padding: return integers;
    case Type::floating: return Float(0.5);
    case Type::floatings: return Float(0.5);
    case Type::boolean: return false;
    case Type::string: return std::string_view("mean");
    case Type::dtype: return Dtype::f32;
    case Type::device: return Device();
    case Type::indices: return integers;
  }
  return {};
}

}  // namespace

TEST("every operator refuses an undefined tensor for each parameter that must be given, alone and in lists") {
  const Tensor ones = fulgurite::ones({2, 2});
  const std::vector<Tensor> tensors{ones, ones}, with_undefined{ones, Tensor()};
  const std::vector<Int> integers{0, 1};
  int refused = 0;
  for (const Symbol* symbol : symbols()) {
    if (symbol->traits.structural) continue;
    const auto parameters = symbol->signature.params();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& parameter = parameters[i];
      const bool is_list = parameter.type == Parameter::Type::tensors;
      const bool is_tensor = parameter.type == Parameter::Type::tensor || parameter.type == Parameter::Type::operand;
      if (!(is_list && !parameter.optional_elements) && !(is_tensor && !parameter.optional)) continue;
      std::vector<Argument> arguments;
      for (const Parameter& other : parameters) arguments.push_back(some_argument(other, ones, tensors, integers));
      arguments[i] = is_list ? Argument(with_undefined) : Argument(Tensor());
      const std::string wanted = std::string(parameter.name) + (is_list ? " holds" : " is") + " an undefined tensor";
      std::string message;
      try {
        Results results;
        dispatch(*symbol, arguments, SourceLocation::here(), results);
      } catch (const UserError& error) {
        message = error.what();
      }
      expect_equal(message.find(std::string(symbol->name()) + "("), 0);
      expect_different(message.find(wanted), std::string::npos);
      ++refused;
    }
  }
  expect_greater(refused, 400);
}

TEST("operators of C++ name the operand that is undefined") {
  const Tensor none, five = full({1}, 5.0), weight = ones({1}).requires_grad_();
  expect_undefined([&] { five + weight.grad(); }, "add(cpu f32[1], None): other");
  expect_undefined([&] { none* five; }, "mul(None, cpu f32[1]): input");
  expect_undefined([&] { five / none; }, "div(cpu f32[1], None): other");
  expect_undefined([&] { 1.0 - none; }, "sub(1.0, None): other");
  expect_undefined([&] { -none; }, "neg(None): input");
  expect_undefined([&] { return five > none; }, "gt(cpu f32[1], None): other");
  expect_undefined([&] { return none > five; }, "gt(None, cpu f32[1]): input");
  expect_undefined([&] { return 2 > none; }, "lt(None, 2): input");
  expect_undefined([&] { return none == none; }, "eq(None, None): input");
  expect_undefined([&] { ~none; }, "bitwise_not(None): input");
  expect_undefined([&] { where(five > 0, none, five); }, "where(cpu bool[1], None, cpu f32[1]): input");
  Tensor x = ones({1}), moved = std::move(x);
  expect_undefined([&] { sum(x); }, "sum(None): input");  // NOLINT(bugprone-use-after-move)
  expect_undefined([&] { moved += none; }, "add(cpu f32[1], None): other");
  expect_error([&] { x += 1.0; }, "add_: the tensor is undefined");
  expect_error([&] { moved(0) = none; }, "x(…) = value: the value is an undefined tensor");
  expect_error([&] { moved.copy_(none); }, "copy_: the source is an undefined tensor");
  expect_error([&] { moved.fill_(none); }, "fill_: the value is an undefined tensor");
}

TEST("methods of an undefined tensor are errors that name the method") {
  const Tensor none;
  expect_undefined([&] { none.detach(); }, "detach(None): input");
  expect_undefined([&] { none.contiguous(); }, "contiguous(None): input");
  expect_undefined([&] { none.view({1}); }, "view(None, [1]): input");
  expect_undefined([&] { none(0); }, "__getitem__(None, [0]): input");
  const std::string end = " of an undefined tensor: default-constructed, moved from, or a grad() before backward()";
  expect_error([&] { none.shape(); }, "shape()" + end);
  expect_error([&] { none.to(Dtype::f64); }, "to()" + end);
  expect_error([&] { none.requires_grad(); }, "requires_grad()" + end);
  expect_error([&] { none.item<float>(); }, "item() of an undefined tensor");
  expect_error([&] { none.grad(); }, "grad() of an undefined tensor");
  expect_error([&] { none.backward(); }, "backward(): tensor 0 is undefined");
  expect_error([&] { ones({1}).set_data(none); }, "set_data() with the memory of an undefined tensor");
}

TEST("an undefined tensor is not an index, in a list of tensors it is an error, and jit, layers and files name it") {
  const Tensor none, five = full({1}, 5.0);
  expect_error([&] { five(none); }, "x(…): an index is an undefined tensor; None makes a new dimension");
  expect_error(
      [&] {
        cat({five, none});
      },
      "cat([cpu f32[1], None]): tensors holds an undefined tensor: default-constructed, moved from, or a "
      "grad() before backward()");
  expect_undefined([&] { jit([](Tensor x, Tensor y) { return x + y; })(five, none); }, "add(cpu f32[1], None): other");
  expect_undefined([&] { nn::mse_loss(five, none); }, "mse_loss(cpu f32[1], None): target");
  expect_undefined([&] { nn::linear(none, ones({2, 2})); }, "linear(None, cpu f32[2, 2]): input");
  expect_undefined([&] { optim::clip_grad_norm({none}, 1.0).second + none; }, "add(cpu f32[], None): other");
  expect_error([&] { save_safetensors("never.safetensors", {{"a", none}}); }, "tensor a to be saved is undefined");
  expect_error([&] { equal(five, none); }, "equal(): other is an undefined tensor");
}

TEST("optional tensors may be undefined") {
  const Tensor x = ones({1, 2}), weight = ones({3, 2}), none;
  expect_near(nn::linear(x, weight, none).to_vector<float>(), {2, 2, 2});
  expect_near(index_put(x, {none, tensor({1})}, tensor({5.0})).to_vector<float>(), {1, 5});
  const Tensor leaf = tensor({2.0}).requires_grad_();
  (leaf * 3.0).backward(none);
  expect_near(leaf.grad().to_vector<float>(), {3});
}
