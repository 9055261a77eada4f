#pragma once
#include <fulgurite/fulgurite.h>

// Functions that random programs with hooks call beside operators: custom functions of all kinds, and jitted ones.
namespace fulgurite::test {

struct Cube {
  static Tensor forward(autograd::Context& context, Tensor x) {
    context.save_for_backward({x});
    return x * x * x;
  }
  static Tensor backward(autograd::Context& context, Tensor gradient) {
    const Tensor x = context.saved_tensors()[0];
    return gradient * 3 * x * x;
  }
};

struct Mix {
  static std::tuple<Tensor, Tensor> forward(autograd::Context& context, Tensor a, Tensor b) {
    context.save_for_backward({a, b});
    return {a * b, a - b};
  }
  static std::tuple<Tensor, Tensor> backward(autograd::Context& context, Tensor of_product, Tensor of_difference) {
    const std::vector<Tensor> saved = context.saved_tensors();
    const Tensor a = of_product * saved[1] + of_difference, b = of_product * saved[0] - of_difference;
    return {a, b};
  }
};

/// Its second result carries no gradient.
struct WithSigns {
  static constexpr bool once_differentiable = true;
  static std::pair<Tensor, Tensor> forward(autograd::Context& context, Tensor x) {
    const Tensor signs = sign(x), doubled = x * 2;
    context.mark_non_differentiable({signs});
    context.save_for_backward({signs});
    return {doubled, signs};
  }
  static Tensor backward(autograd::Context& context, Tensor gradient, Tensor) {
    return gradient * 2 * context.saved_tensors()[0];
  }
};

/// Returns a gradient for one argument at most, and sees missing ones.
struct Partly {
  static std::tuple<Tensor, Tensor> forward(autograd::Context& context, Tensor a, Tensor b, double by) {
    context.set_materialize_grads(false);
    context.saved_data()["by"] = by;
    context.save_for_backward({b});
    return {a * b, a * by};
  }
  static std::vector<Tensor> backward(autograd::Context& context, const std::vector<Tensor>& gradients) {
    if (!context.needs_input_grad(0)) return {{}, {}, {}};
    Tensor total;
    if (gradients[0].defined()) total = gradients[0] * context.saved_tensors()[0];
    if (gradients[1].defined()) {
      const Tensor more = gradients[1] * std::any_cast<double>(context.saved_data()["by"]);
      total = total.defined() ? total + more : more;
    }
    return {total, {}, {}};
  }
};

/// Writes its argument.
struct Shrunk {
  static Tensor forward(autograd::Context& context, Tensor x) {
    context.mark_dirty({x});
    return x.mul_(0.5);
  }
  static Tensor backward(autograd::Context&, Tensor gradient) { return gradient * 0.5; }
};

// Jitted functions: one of a single graph, and one with a graph break.
inline Tensor jitted_wave(const Tensor& x) {
  static const auto f = jit([](Tensor t) { return sin(t) * t; }, {.executors = {"eager"}});
  return f(x);
}
inline Tensor jitted_subgraphs(const Tensor& a, const Tensor& b) {
  static const auto f = jit(
      [](Tensor s, Tensor t) {
        const Tensor product = s * t;
        graph_break();
        return product * 0.5 + s;
      },
      {.executors = {"eager"}});
  return f(a, b);
}

}  // namespace fulgurite::test
