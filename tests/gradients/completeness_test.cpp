// Every operator has a gradient for each floating tensor operand, or the trait or the documented reason why not.
#include <map>
#include <set>

#include "ir/analysis/trace_values.h"
#include "support/cases/case_traces.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// Operators whose trait is not_differentiable despite floating operands and results.
const std::map<std::string_view, std::string_view> constant_operators = {
    {"torch.full_like", "reads no element"},
    {"torch.zeros_like", "reads no element"},
    {"torch.ones_like", "reads no element"},
    {"torch.empty_like", "reads no element"},
    {"torch.rand_like", "reads no element"},
    {"torch.randn_like", "reads no element"},
    {"torch.detach", "is there to stop gradients"},
    {"torch.heaviside", "is a step"},
    {"prims.standard_gamma_grad", "is a derivative that gamma samples have once"},
    {"prims.adamw", "is a step of training, which nothing differentiates"},
};

/// Parameters of differentiable operators that get no gradient.
const std::map<std::string_view, std::string_view> constant_parameters = {
    {"prims.with_history value", "gives its values alone"},
    {"prims.scaled_dot_product_attention_backward logsumexp",
     "says how large the weights are, which come from the scores"},
    {"torch.Tensor.view_as other", "gives its shape alone"},
    {"torch.Tensor.reshape_as other", "gives its shape alone"},
    {"torch.Tensor.expand_as other", "gives its shape alone"},
    {"torch.copysign other", "gives its sign alone"},
    {"torch.igamma input", "is differentiable once, as a test of special functions checks"},
    {"torch.igammac input", "is differentiable once, as a test of special functions checks"},
    {"torch.special.zeta input", "has no derivative that is defined"},
    {"torch.nn.functional.hinge_embedding_loss target", "chooses alone"},
    {"torch.nn.functional.batch_norm running_mean", "is a statistic"},
    {"torch.nn.functional.batch_norm running_var", "is a statistic"},
    {"torch.nn.functional.instance_norm running_mean", "is a statistic"},
    {"torch.nn.functional.instance_norm running_var", "is a statistic"},
};

bool has_floating(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (t.defined() && is_floating(t.dtype())) return true;
  return false;
}

std::string parameter_name(const Symbol& symbol, const Parameter& parameter) {
  return std::string(symbol.qualified_name()) + " " + std::string(parameter.name);
}

/// The findings of the cases of one operator.
struct Findings {
  bool has_case = false, keeps_floating = false, has_gradient = false;
  std::set<std::string> floating_parameters, differentiated_parameters;

  void add(const OperatorCase& c) {
    has_case = true;
    const std::vector<Tensor> inputs = c.inputs();
    const std::vector<const Parameter*> parameters = parameters_of_inputs(c);
    std::vector<Tensor> results;
    {
      const NoGrad no_grad;
      results = c.run(inputs);
    }
    if (!has_floating(inputs) || !has_floating(results)) return;
    keeps_floating = true;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (is_floating(inputs[i].dtype())) floating_parameters.insert(parameter_name(*c.symbol, *parameters[i]));
    if (!c.is_differentiable()) return;
    const ForwardBackwardTraces traces = forward_and_backward_from_trace(record_case(c, inputs));
    const std::vector<Value> gradients = returned_values(traces.backward);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].is_none()) continue;
      has_gradient = true;
      differentiated_parameters.insert(parameter_name(*c.symbol, *parameters[i]));
    }
  }
};

}  // namespace

TEST("every operator has a gradient for each floating tensor it takes, or says why not") {
  std::map<const Symbol*, Findings> findings;
  for (const OperatorCase& c : operator_cases()) {
    try {
      findings[c.symbol].add(c);
    } catch (const std::exception& error) {
      fail(c.name + ": " + error.what());
    }
  }
  for (const Symbol* symbol : symbols()) {
    if (!needs_case(*symbol)) continue;
    const std::string name(symbol->qualified_name());
    const Findings& found = findings[symbol];
    expect(found.has_case, name + " has no case in tests/support/*_cases.cpp");
    if (symbol->traits.not_differentiable) {
      expect(!symbol->gradient, name + " is not_differentiable and has a gradient rule");
      expect_equal(found.keeps_floating ? name + " has a reason" : std::string(),
                   constant_operators.contains(name) ? name + " has a reason" : std::string());
      continue;
    }
    if (!found.has_case) continue;
    expect(found.has_gradient, name + " is differentiable by its traits, and none of its cases has a gradient");
    for (const std::string& parameter : found.floating_parameters) {
      const bool is_excused = constant_parameters.contains(parameter);
      expect(found.differentiated_parameters.contains(parameter) != is_excused,
             is_excused ? parameter + " is excused and has a gradient" : parameter + " has a gradient in no case");
    }
  }
}
