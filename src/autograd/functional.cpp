#include <fulgurite/autograd_functional.h>

#include <cmath>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

// A leaf with the elements of x, or x itself where the result is to be differentiated on.
Tensor leaf_of(const Tensor& x, const char* name, bool create_graph, SourceLocation at) {
  if (!x.defined() || !is_floating(x.dtype()))
    throw UserError(
        text::cat(name, ": the argument is a floating tensor, not ", x.defined() ? type_text(x) : "undefined"), at);
  if (create_graph && x.requires_grad()) return x.view_as(x, at);
  return x.detach(at).clone(at).requires_grad_();
}

Tensor or_zeros(const Tensor& gradient, const Tensor& like, SourceLocation at) {
  return gradient.defined() ? gradient : zeros_like(like, {}, at);
}

std::vector<Tensor> gradients_of(const Tensor& y, const std::vector<Tensor>& x, const Tensor& weight, bool create_graph,
                                 SourceLocation at) {
  if (!y.requires_grad()) {
    std::vector<Tensor> out;
    for (const Tensor& each : x) out.push_back(zeros_like(each, {}, at));
    return out;
  }
  std::vector<Tensor> out =
      autograd::grad({y}, x, {weight}, {.retain_graph = true, .create_graph = create_graph, .allow_unused = true}, at);
  for (size_t i = 0; i < x.size(); ++i) out[i] = or_zeros(out[i], x[i], at);
  return out;
}

const Tensor& scalar(const Tensor& y, const char* name, SourceLocation at) {
  if (!y.defined() || y.numel() != 1)
    throw UserError(
        text::cat(name, ": the function returns one element, not ", y.defined() ? type_text(y) : "undefined"), at);
  return y;
}

void check_shape(const Tensor& vector, const Tensor& x, const char* name, SourceLocation at) {
  if (!vector.defined() || !(vector.shape() == x.shape()))
    throw UserError(text::cat(name, ": the vector has the shape of the argument, ", x.shape().text(), ", not ",
                              vector.defined() ? vector.shape().text() : "undefined"),
                    at);
}

Shape joined(const Shape& a, const Shape& b) {
  Shape out = a;
  for (const Int& size : b) out.push_back(size);
  return out;
}

Tensor detached_unless(bool create_graph, const Tensor& x, SourceLocation at) {
  return create_graph ? x : x.detach(at);
}

}  // namespace

std::vector<Tensor> jacobian(const autograd::TensorsFunction& f, const std::vector<Tensor>& x,
                             const DerivativeOptions& options, SourceLocation at) {
  const EnableGrad enabled;
  std::vector<Tensor> leaves;
  for (const Tensor& each : x) leaves.push_back(leaf_of(each, "jacobian", options.create_graph, at));
  const Tensor y = f(leaves);
  const int64_t count = y.numel();
  std::vector<std::vector<Tensor>> rows(x.size());
  for (int64_t i = 0; i < count; ++i) {
    const Tensor one = index_fill(zeros({count}, {.dtype = y.dtype()}, at), 0, tensor(std::vector<int64_t>{i}), 1, at);
    const auto gradients = gradients_of(y, leaves, reshape(one, Dims(y.shape()), at), options.create_graph, at);
    for (size_t j = 0; j < x.size(); ++j) rows[j].push_back(gradients[j]);
  }
  std::vector<Tensor> out;
  for (size_t j = 0; j < x.size(); ++j) {
    const Shape shape = joined(y.shape(), x[j].shape());
    const Tensor all = rows[j].empty() ? zeros(Dims(shape), {.dtype = x[j].dtype()}, at) : stack(rows[j], 0, at);
    out.push_back(detached_unless(options.create_graph, reshape(all, Dims(shape), at), at));
  }
  return out;
}

Tensor jacobian(const autograd::TensorFunction& f, const Tensor& x, const DerivativeOptions& options,
                SourceLocation at) {
  return jacobian([&f](const std::vector<Tensor>& all) { return f(all[0]); }, std::vector<Tensor>{x}, options, at)[0];
}

Tensor hessian(const autograd::TensorFunction& f, const Tensor& x, const DerivativeOptions& options,
               SourceLocation at) {
  const auto gradient = [&](const Tensor& leaf) {
    const Tensor y = scalar(f(leaf), "hessian", at);
    return gradients_of(y, {leaf}, ones_like(y, {}, at), true, at)[0];
  };
  return jacobian(gradient, x, options, at);
}

// The gradient of the pullback with respect to its weight is the derivative along the tangent.
std::pair<Tensor, Tensor> jvp(const autograd::TensorFunction& f, const Tensor& x, const Tensor& tangent,
                              const DerivativeOptions& options, SourceLocation at) {
  const EnableGrad enabled;
  const Tensor leaf = leaf_of(x, "jvp", options.create_graph, at);
  check_shape(tangent, x, "jvp", at);
  const Tensor y = f(leaf);
  const Tensor weight = zeros_like(y, {}, at).requires_grad_();
  const Tensor pulled = gradients_of(y, {leaf}, weight, true, at)[0];
  const Tensor along = gradients_of(pulled, {weight}, tangent, options.create_graph, at)[0];
  return {detached_unless(options.create_graph, y, at), detached_unless(options.create_graph, along, at)};
}

std::pair<Tensor, Tensor> hvp(const autograd::TensorFunction& f, const Tensor& x, const Tensor& vector,
                              const DerivativeOptions& options, SourceLocation at) {
  const EnableGrad enabled;
  const Tensor leaf = leaf_of(x, "hvp", options.create_graph, at);
  check_shape(vector, x, "hvp", at);
  const Tensor y = scalar(f(leaf), "hvp", at);
  const Tensor gradient = gradients_of(y, {leaf}, ones_like(y, {}, at), true, at)[0];
  const Tensor product = gradients_of(gradient, {leaf}, vector, options.create_graph, at)[0];
  return {detached_unless(options.create_graph, y, at), detached_unless(options.create_graph, product, at)};
}

namespace autograd {

namespace {

std::vector<double> elements(const Tensor& x, SourceLocation at) {
  return x.detach(at).to(Dtype::f64, at).contiguous(at).to_vector<double>();
}

// The difference of f's elements along element j of an input, divided by the distance.
std::vector<double> differences(const autograd::TensorsFunction& f, std::vector<Tensor> inputs, size_t input, int64_t j,
                                double eps, SourceLocation at) {
  const NoGrad no_grad;
  const Tensor original = inputs[input].detach(at);
  const Tensor index = tensor(std::vector<int64_t>{j});
  const auto moved = [&](double by) {
    const Tensor flat = reshape(original, {-1}, at);
    const Tensor step = mul(ones({1}, {.dtype = Dtype::f64}, at), by, at);
    inputs[input] = reshape(index_add(flat, 0, index, step, 1, at), Dims(original.shape()), at);
    return elements(f(inputs), at);
  };
  const std::vector<double> above = moved(eps), below = moved(-eps);
  std::vector<double> out(above.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = (above[i] - below[i]) / (2 * eps);
  return out;
}

void check_inputs(const std::vector<Tensor>& inputs, const char* name, SourceLocation at) {
  bool any = false;
  for (const Tensor& input : inputs) {
    if (!input.defined() || !input.requires_grad()) continue;
    any = true;
    if (input.dtype() != Dtype::f64)
      throw UserError(text::cat(name, ": inputs are f64, since differences need its precision, not ", type_text(input)),
                      at);
  }
  if (!any) throw UserError(text::cat(name, ": no input requires a gradient"), at);
}

void check_gradients(const autograd::TensorsFunction& f, const std::vector<Tensor>& inputs, const GradcheckOptions& o,
                     const char* name, SourceLocation at) {
  check_inputs(inputs, name, at);
  std::vector<size_t> wanted;  // the inputs that require a gradient
  std::vector<Tensor> leaves;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].requires_grad()) {
      wanted.push_back(i);
      leaves.push_back(inputs[i]);
    }
  const auto of_leaves = [&](const std::vector<Tensor>& given) {
    std::vector<Tensor> all = inputs;
    for (size_t i = 0; i < wanted.size(); ++i) all[wanted[i]] = given[i];
    return f(all);
  };
  const std::vector<Tensor> analytic = jacobian(of_leaves, leaves, {}, at);
  for (size_t k = 0; k < wanted.size(); ++k) {
    const int64_t count = leaves[k].numel();
    const std::vector<double> exact = elements(analytic[k], at);  // [results, count]
    for (int64_t j = 0; j < count; ++j) {
      const std::vector<double> numeric = differences(f, inputs, wanted[k], j, o.eps, at);
      for (size_t i = 0; i < numeric.size(); ++i) {
        const double found = exact[i * static_cast<size_t>(count) + static_cast<size_t>(j)];
        if (std::abs(found - numeric[i]) <= o.atol + o.rtol * std::abs(numeric[i])) continue;
        throw UserError(text::cat(name, ": input ", wanted[k], ", element ", j, ": the derivative of result ", i,
                                  " is ", found, ", the difference ", numeric[i]),
                        at);
      }
    }
  }
}

}  // namespace

bool gradcheck(const autograd::TensorsFunction& f, const std::vector<Tensor>& inputs, const GradcheckOptions& options,
               SourceLocation at) {
  check_gradients(f, inputs, options, "gradcheck", at);
  return true;
}

bool gradgradcheck(const autograd::TensorsFunction& f, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options, SourceLocation at) {
  check_inputs(inputs, "gradgradcheck", at);
  // The sum of all gradients, with weights that tell the elements apart.
  const auto gradient = [&](const std::vector<Tensor>& given) {
    const EnableGrad enabled;
    std::vector<Tensor> leaves = given, wanted;
    for (size_t i = 0; i < leaves.size(); ++i)
      if (inputs[i].requires_grad()) {
        if (!leaves[i].requires_grad()) leaves[i] = leaves[i].detach(at).requires_grad_();
        wanted.push_back(leaves[i]);
      }
    const Tensor y = f(leaves);
    const Tensor weight = reshape(linspace(0.5, 1.5, y.numel(), {.dtype = y.dtype()}, at), Dims(y.shape()), at);
    std::vector<Tensor> flat;
    for (const Tensor& each : gradients_of(y, wanted, weight, true, at)) flat.push_back(reshape(each, {-1}, at));
    return cat(flat, 0, at);
  };
  check_gradients(gradient, inputs, options, "gradgradcheck", at);
  return true;
}

}  // namespace autograd
}  // namespace fulgurite
