// Custom functions whose forward() returns a view: of an argument, of an inner tensor, or the argument itself.
#include <sstream>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

struct FirstTwo {
  static Tensor forward(autograd::Context&, Tensor x) { return x.slice(0, 0, 2); }
  static Tensor backward(autograd::Context&, Tensor gradient) { return cat({gradient * 10, zeros({2})}, 0); }
};

struct Identity {
  static Tensor forward(autograd::Context&, Tensor x) { return x; }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 10; }
};

struct TripledAndPart {
  static std::pair<Tensor, Tensor> forward(autograd::Context&, Tensor x) {
    const Tensor tripled = x * 3;
    return {tripled, tripled.slice(0, 0, 2)};
  }
  static Tensor backward(autograd::Context&, Tensor whole, Tensor part) {
    return whole * 3 + cat({part * 30, zeros({2})}, 0);
  }
};

using Program = Tensor (*)(Tensor);

Tensor weighted(const Tensor& x) { return sum(x * tensor({1.0, 10.0, 100.0, 1000.0}).slice(0, 0, x.size(0))); }

/// The loss and the gradient of [1, 2, 3, 4], or the error's first line.
std::string outcome(Program program, bool is_compiled) {
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0}).requires_grad_();
  try {
    const Tensor loss = is_compiled ? jit(program)(x) : program(x);
    loss.backward();
    std::ostringstream text;
    text << loss.item<float>() << " |";
    for (const float value : x.grad().to_vector<float>()) text << ' ' << value;
    return text.str();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    const std::string line = text.substr(0, text.find('\n'));
    return line.substr(line.find(": ") + 2);
  }
}

void expect_outcome(Program program, const std::string& expected) {
  expect_equal(outcome(program, false), expected);
  expect_equal(outcome(program, true), expected);
}

const std::string written =
    "the tensor written is a view that forward() of a custom function returned, and its gradient is that function's: "
    "return a clone() from forward(), or write into a copy";
const std::string outdated =
    "a view that forward() of a custom function returned is used after a write into the memory that it shares, and its "
    "gradient is that function's: return a clone() from forward(), or write into a copy";

}  // namespace

TEST("views that a custom function returns are read with the function's gradient") {
  expect_outcome([](Tensor x) { return weighted(autograd::apply<FirstTwo>(x * 2)); }, "42 | 20 200 0 0");
  expect_outcome([](Tensor x) { return weighted(autograd::apply<Identity>(x * 2)); }, "8642 | 20 200 2000 20000");
  expect_outcome(
      [](Tensor x) {
        const auto [whole, part] = autograd::apply<TripledAndPart>(x * 2);
        const Tensor loss = weighted(whole);
        return loss + weighted(part);
      },
      "26052 | 66 660 600 6000");
}

TEST("a view that a custom function returned cannot be written") {
  expect_outcome(
      [](Tensor x) {
        const Tensor view = autograd::apply<FirstTwo>(x * 2);
        view.mul_(5);
        return weighted(view);
      },
      written);
  expect_outcome(
      [](Tensor x) {
        const Tensor same = autograd::apply<Identity>(x * 2);
        same.slice(0, 0, 2).mul_(5);
        return weighted(same);
      },
      written);
  expect_outcome(
      [](Tensor x) {
        const auto [whole, part] = autograd::apply<TripledAndPart>(x * 2);
        part.mul_(5);
        return weighted(whole);
      },
      written);
}

TEST("a view that a custom function returned cannot be used after a write into its memory") {
  expect_outcome(
      [](Tensor x) {
        const Tensor base = x * 2, view = autograd::apply<FirstTwo>(base);
        base.mul_(5);
        return weighted(view);
      },
      outdated);
  expect_outcome(
      [](Tensor x) {
        const Tensor base = x * 2, same = autograd::apply<Identity>(base);
        base.slice(0, 1, 3).mul_(5);
        return weighted(same.slice(0, 0, 2));
      },
      outdated);
  expect_outcome(
      [](Tensor x) {
        const auto [whole, part] = autograd::apply<TripledAndPart>(x * 2);
        whole.mul_(5);
        return weighted(part);
      },
      outdated);
}

TEST("the memory of a view that is not used any more may be written") {
  expect_outcome(
      [](Tensor x) {
        const Tensor base = x * 2;
        const Tensor loss = weighted(autograd::apply<FirstTwo>(base) * 1);
        base.mul_(5);
        return loss + weighted(base);
      },
      "43252 | 30 300 1000 10000");
}

TEST("without gradients, a view that a custom function returned is an ordinary view") {
  const auto program = [](Tensor x) {
    const NoGrad no_grad;
    const Tensor base = x * 2, view = autograd::apply<FirstTwo>(base), same = autograd::apply<Identity>(base);
    view.mul_(5);
    same.add_(1);
    return weighted(base) + weighted(view) + weighted(same);
  };
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0}).requires_grad_();
  expect_near(program(x).to_vector<float>(), {2 * (11 + 210 + 700 + 9000) + 11 + 210});
  expect_near(jit(program)(x).to_vector<float>(), {2 * (11 + 210 + 700 + 9000) + 11 + 210});
}

TEST("the views of custom functions outlast a graph break") {
  const auto program = [](Tensor x) {
    const Tensor base = x * 2, view = autograd::apply<FirstTwo>(base);
    if (sum(base).item<float>() > 0) view.mul_(5);
    return weighted(view);
  };
  expect_outcome(program, written);
}
