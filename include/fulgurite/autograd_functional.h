#pragma once
#include <fulgurite/detail/requirements.h>

#include <functional>
#include <utility>
#include <vector>

#include <fulgurite/autograd.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Derivatives of functions of tensors (torch.autograd.functional), by backward passes of the eager engine. For
// compiled gradients see grad(), value_and_grad() and vjp().

namespace autograd {
/// A function of one tensor.
using TensorFunction = std::function<Tensor(const Tensor&)>;
/// A function of several tensors.
using TensorsFunction = std::function<Tensor(const std::vector<Tensor>&)>;
}  // namespace autograd

/// Members are given in this order.
struct DerivativeOptions {
  bool create_graph = false;  // the result can be differentiated again
};

/// The derivatives of all elements of f(x) with respect to all of x: [shape of f(x), shape of x]; one backward pass for
/// each element of f(x).
Tensor jacobian(const autograd::TensorFunction& f, const Tensor& x, const DerivativeOptions& options = {},
                SourceLocation at = SourceLocation::here());
/// The same for each of several arguments.
std::vector<Tensor> jacobian(const autograd::TensorsFunction& f, const std::vector<Tensor>& x,
                             const DerivativeOptions& options = {}, SourceLocation at = SourceLocation::here());
/// The second derivatives of a scalar: [shape of x, shape of x]. UserError if f(x) has more than one element.
Tensor hessian(const autograd::TensorFunction& f, const Tensor& x, const DerivativeOptions& options = {},
               SourceLocation at = SourceLocation::here());
/// f(x), and the product of its derivatives with a tangent of x's shape: how f changes along it. (Two backward passes.)
std::pair<Tensor, Tensor> jvp(const autograd::TensorFunction& f, const Tensor& x, const Tensor& tangent,
                              const DerivativeOptions& options = {}, SourceLocation at = SourceLocation::here());
/// f(x), and the product of a scalar's second derivatives with a vector of x's shape.
std::pair<Tensor, Tensor> hvp(const autograd::TensorFunction& f, const Tensor& x, const Tensor& vector,
                              const DerivativeOptions& options = {}, SourceLocation at = SourceLocation::here());

namespace autograd {

/// Members are given in this order.
struct GradcheckOptions {
  double eps = 1e-6;
  double atol = 1e-5;
  double rtol = 1e-3;
};
/// Compares the gradients of f with differences of its values, for each f64 input that requires a gradient. Returns
/// true if they agree, else throws UserError naming the input, the elements and both numbers.
/// (torch.autograd.gradcheck)
bool gradcheck(const autograd::TensorsFunction& f, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {}, SourceLocation at = SourceLocation::here());
/// gradcheck of the gradients of f, that is of its second derivatives.
bool gradgradcheck(const autograd::TensorsFunction& f, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {}, SourceLocation at = SourceLocation::here());

}  // namespace autograd
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
