#include "transforms/grad/joint_rule.h"

#include <algorithm>
#include <unordered_set>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ir/analysis/trace_values.h"
#include "ir/analysis/uses.h"
#include "ir/custom_function.h"
#include "ir/substitution.h"
#include "ops/generated/symbols.h"
#include "ir/structural.h"
#include "tracing/argument_pack.h"
#include "tracing/tracer.h"

namespace fulgurite {

namespace {

// Fresh handles, so that a rule that writes in place does not change those of others.
class FreshHandles final : public ArgumentPack::Resolver {
 public:
  explicit FreshHandles(Tracer& tracer) : tracer_(tracer) {}
  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override { return tracer_.adopt(proxy); }

 private:
  Tracer& tracer_;
};

/// A scope of the tracer in which a user's function records with the source line of the call that it replaces.
class RuleScope {
 public:
  RuleScope(Tracer& tracer, const BoundSymbol& bound, Tags tags, bool takes_gradients)
      : tracer_(tracer), tags_(tracer.tags()) {
    tracer_.begin_scope();
    tracer_.set_location(bound.source);
    tracer_.set_tags(tags);
    tracer_.set_takes_gradients(takes_gradients);
  }
  ~RuleScope() {
    if (is_open_) close();
  }
  RuleScope(const RuleScope&) = delete;
  RuleScope& operator=(const RuleScope&) = delete;
  std::vector<BoundSymbol> close() {
    is_open_ = false;
    tracer_.set_location(std::nullopt);
    tracer_.set_tags(tags_);
    tracer_.set_takes_gradients(false);
    return tracer_.end_scope();
  }

 private:
  Tracer& tracer_;
  Tags tags_;
  bool is_open_ = true;
};

/// The ops recorded in place of a symbol, with the names of the symbol's results.
struct Recorded {
  struct Copy {
    Value from, to;
  };
  std::vector<BoundSymbol> symbols;
  std::vector<Copy> copies;  // results that are an argument, or another result, as it came
};

void check_results(const BoundSymbol& bound, std::span<const Tensor> results, const char* what) {
  const std::string_view name = bound.symbol->qualified_name();
  const size_t expected = bound.flat_outs().size();
  if (results.size() != expected)
    throw UserError(text::cat("the ", what, " of ", name, " gave ", results.size(), " result(s), but ", name, " has ",
                              expected, "; return one tensor for each result of the operator, in its order"),
                    bound.source);
  size_t i = 0;
  for_each_output(bound, [&](const Value& output) {
    const Tensor& result = results[i++];
    const std::string wanted = output.tensor().type_text();
    const std::string given = result.defined() ? type_text(result) : "an undefined tensor";
    if (given != wanted)
      throw UserError(
          text::cat("the ", what, " of ", name, " gave ", given, " as result ", i - 1, ", which is ", wanted),
          bound.source);
  });
}

Recorded record(Tracer& tracer, const BoundSymbol& bound, Tags tags, bool takes_gradients, const char* what,
                const OperatorRule& rule) {
  FreshHandles handles(tracer);
  const ArgumentPack pack(bound, handles);
  const size_t captures = tracer.captures().size();
  Recorded out;
  Results results;
  std::vector<Value> values;
  {
    RuleScope scope(tracer, bound, tags, takes_gradients);
    try {
      rule(pack.arguments(), bound.source, results);
    } catch (const RuleError& error) {
      throw UserError(text::cat("the ", what, " of ", bound.symbol->qualified_name(), ": ", error.message),
                      bound.source);
    }
    check_results(bound, {results.data(), results.size()}, what);
    for (const Tensor& result : results) values.push_back(tracer.value_of(result));
    out.symbols = scope.close();
  }
  if (tracer.captures().size() > captures)
    throw UserError(text::cat("the ", what, " of ", bound.symbol->qualified_name(),
                              " uses a tensor that is none of its arguments; make it an argument of the operator, or "
                              "compute it there with full() or arange()"),
                    bound.source);

  std::unordered_set<int> made;
  for (const BoundSymbol& symbol : out.symbols)
    for_each_output(symbol, [&](const Value& output) { made.insert(proxy_id(output)); });
  Substitution named(tracer.trace().next_id);
  size_t i = 0;
  for_each_output(bound, [&](const Value& output) {
    const int id = proxy_id(values[i]);
    if (made.erase(id) > 0) named.set(id, output);
    else out.copies.push_back({values[i], output});
    ++i;
  });
  for (BoundSymbol& symbol : out.symbols) named.apply(symbol);
  for (Recorded::Copy& copy : out.copies) {
    copy.from = named.apply(copy.from);
    BoundSymbol view;  // a view of all of it: another name for the same memory
    view.symbol = &expand_symbol;
    view.args = {copy.from, Value(copy.from.tensor().shape)};
    view.outputs = {copy.to};
    view.source = bound.source;
    view.tags = tags;
    out.symbols.push_back(std::move(view));
  }
  return out;
}

size_t count_tensors(Arguments arguments, bool with_missing) {
  size_t count = 0;
  for (const Argument& argument : arguments) {
    if (argument.is_tensor() || (with_missing && argument.is_none())) ++count;
    if (argument.kind() == Argument::Kind::tensors)
      for (const Tensor& tensor : argument.tensors()) count += with_missing || tensor.defined();
  }
  return count;
}

/// An augmented forward and its backward as one rule with get_grad and put_grad.
class PairedRule {
 public:
  PairedRule(const JointRule& rule, const BoundSymbol& bound) : rule_(rule), bound_(bound) {}

  void operator()(Arguments arguments, SourceLocation at, Results& results) {
    detail::BackwardCall call;
    rule_.augmented_forward(arguments, at, results, call.saved);
    check_results(bound_, {results.data(), results.size()}, "augmented forward");
    for (size_t i = 0; i < results.size(); ++i)
      if (is_taken(results[i], arguments, {results.data(), i})) results[i] = expand(results[i], results[i].shape(), at);
    for (const Tensor& result : results) call.cotangents.push_back(get_grad(result, at));
    check_parameters(call);
    rule_.backward(call);
    put(arguments, call.gradients, at);
  }

 private:
  static bool is_same(const Tensor& a, const Tensor& b) {
    return a.defined() && b.defined() && a.impl()->proxy == b.impl()->proxy;
  }
  static bool is_taken(const Tensor& result, Arguments arguments, std::span<const Tensor> earlier) {
    const auto is_result = [&](const Tensor& tensor) { return is_same(tensor, result); };
    if (std::any_of(earlier.begin(), earlier.end(), is_result)) return true;
    return std::any_of(arguments.begin(), arguments.end(), [&](const Argument& argument) {
      if (argument.is_tensor()) return is_result(argument.tensor());
      return argument.kind() == Argument::Kind::tensors && std::ranges::any_of(argument.tensors(), is_result);
    });
  }

  void check_parameters(const detail::BackwardCall& call) const {
    const std::string_view name = bound_.symbol->qualified_name();
    const bool vectors = rule_.backward.takes_vectors();
    const std::vector<detail::ParameterType>& parameters = rule_.backward.parameters();
    if (!vectors && parameters.size() != call.saved.size() + call.cotangents.size())
      throw UserError(
          text::cat("the backward of ", name, " takes ", parameters.size(), " value(s), but its forward saved ",
                    call.saved.size(), " and there are ", call.cotangents.size(),
                    " cotangent(s); take the saved values, then one cotangent for each result"),
          bound_.source);
    for (size_t i = 0; i < call.saved.size(); ++i) {
      const bool is_number = call.saved[i].number.has_value();
      const bool wants_number = !vectors && parameters[i].type != detail::ArgumentType::tensor;
      if (is_number != wants_number)
        throw UserError(text::cat("the forward of ", name, " saved a ", is_number ? "number" : "tensor", " as value ",
                                  i, ", which its backward takes as a ", wants_number ? "number" : "tensor"),
                        bound_.source);
    }
    for (size_t i = call.saved.size(); !vectors && i < parameters.size(); ++i)
      if (parameters[i].type != detail::ArgumentType::tensor)
        throw UserError(text::cat("the backward of ", name, " takes its cotangents as Tensor"), bound_.source);
  }

  void put(Arguments arguments, const std::vector<Tensor>& gradients, SourceLocation at) const {
    const size_t expected = count_tensors(arguments, false);
    const bool counts_missing = gradients.size() != expected && gradients.size() == count_tensors(arguments, true);
    if (gradients.size() != expected && !counts_missing)
      throw UserError(
          text::cat("Backward for ", bound_.symbol->name(), " returned ", gradients.size(), " value(s), but expected ",
                    expected, ": one for each tensor argument, undefined where there is no gradient"),
          bound_.source);
    size_t next = 0;
    const auto put_one = [&](const Tensor& argument) {
      if (!argument.defined() && !counts_missing) return;
      const Tensor& gradient = gradients[next++];
      if (argument.defined() && gradient.defined()) put_grad(argument, gradient, at);
    };
    for (const Argument& argument : arguments) {
      if (argument.is_tensor() || (argument.is_none() && counts_missing)) put_one(argument.tensor_or_none());
      if (argument.kind() == Argument::Kind::tensors)
        for (const Tensor& tensor : argument.tensors()) put_one(tensor);
    }
  }

  const JointRule& rule_;
  const BoundSymbol& bound_;
};

bool is_gradient_mark(const BoundSymbol& bound) { return is_get_grad(bound) || is_put_grad(bound); }

// The cotangent of a result that is an unchanged argument: a rule that reads the argument's means the result's; if the
// rule does not read it, it is first propagated to the argument.
void connect_copies(Tracer& tracer, Recorded& recorded) {
  std::vector<BoundSymbol> edges;
  for (const Recorded::Copy& copy : recorded.copies) {
    bool is_asked = false;
    for (BoundSymbol& symbol : recorded.symbols) {
      if (!is_get_grad(symbol) || !(symbol.args[0] == copy.from)) continue;
      bool is_result = false;  // then it is the cotangent of that one
      for (const BoundSymbol& other : recorded.symbols)
        for_each_output(other, [&](const Value& output) { is_result = is_result || output == copy.from; });
      if (is_result) continue;
      symbol.args[0] = copy.to;
      is_asked = true;
    }
    const TensorProxy& to = copy.to.tensor();
    if (is_asked || !is_floating(to.dtype)) continue;
    const Value given(tracer.make_proxy({to.shape, to.dtype, to.device}, false));
    BoundSymbol get, put;
    get.symbol = &prims_get_grad_symbol;
    get.args = {copy.to};
    get.outputs = {given};
    put.symbol = &prims_put_grad_symbol;
    put.args = {copy.from, given};
    edges.push_back(std::move(get));
    edges.push_back(std::move(put));
  }
  recorded.symbols.insert(recorded.symbols.begin(), std::make_move_iterator(edges.begin()),
                          std::make_move_iterator(edges.end()));
}

}  // namespace

JointParts run_joint_rule(Tracer& tracer, const BoundSymbol& bound, const JointRule& rule, Tags tags) {
  Recorded recorded = rule.grad_transform
                          ? record(tracer, bound, tags, true, "grad transform", rule.grad_transform)
                          : record(tracer, bound, tags, true, "augmented forward", PairedRule(rule, bound));
  connect_copies(tracer, recorded);

  std::vector<char> is_needed(tracer.trace().next_id);
  const auto need = [&](const Value& value) {
    if (const int id = proxy_id(value); id >= 0) is_needed[id] = true;
  };
  for_each_output(bound, need);
  JointParts parts;
  for (size_t i = recorded.symbols.size(); i-- > 0;) {
    BoundSymbol& symbol = recorded.symbols[i];
    bool is_forward = !is_gradient_mark(symbol) && has_effect(symbol);
    for_each_output(symbol, [&](const Value& output) {
      const int id = proxy_id(output);
      is_forward = is_forward || (id >= 0 && is_needed[id]);
    });
    if (is_forward && is_get_grad(symbol))
      throw UserError(text::cat("the grad transform of ", bound.symbol->qualified_name(),
                                " computes a result from a gradient; results depend on the arguments only"),
                      bound.source);
    if (is_forward) for_each_use(symbol, [&](int id) { is_needed[id] = true; });
    (is_forward ? parts.forward : parts.backward).push_back(std::move(symbol));
  }
  std::reverse(parts.forward.begin(), parts.forward.end());
  std::reverse(parts.backward.begin(), parts.backward.end());
  return parts;
}

std::vector<BoundSymbol> custom_backward(Tracer& tracer, const BoundSymbol& custom) {
  const std::span<const BoundSymbol> ops = backward_lines(custom);
  std::vector<BoundSymbol> backward(ops.begin(), ops.end());
  Substitution renamed(tracer.trace().next_id);
  for (const BoundSymbol& op : backward)
    for_each_output(op, [&](const Value& output) {
      if (!output.is_tensor()) return;
      const TensorProxy& made = output.tensor();
      renamed.set(made.id, Value(tracer.make_proxy({made.shape, made.dtype, made.device}, made.requires_grad)));
    });
  for (BoundSymbol& op : backward) renamed.apply(op);
  return backward;
}

std::vector<BoundSymbol> record_replacement(Tracer& tracer, const BoundSymbol& bound, const OperatorRule& rule) {
  return record(tracer, bound, bound.tags, false, "execution transform", rule).symbols;
}

namespace {

Recorder& recorder_of_rule(const char* what, SourceLocation at) {
  Recorder* const recorder = innermost_recorder();
  if (recorder == nullptr || !recorder->takes_gradients())
    throw UserError(
        text::cat(what,
                  "() is called outside a grad transform: it names gradients of an operator's arguments and "
                  "results while the operator is being differentiated; see OperatorExecutor"),
        at);
  return *recorder;
}

Value value_in_rule(Recorder& recorder, const Tensor& tensor, const char* what, SourceLocation at) {
  if (!tensor.defined()) throw UserError(text::cat(what, "() of an undefined tensor"), at);
  try {
    return recorder.value_of(tensor);
  } catch (const RuleError& error) {
    throw UserError(text::cat(what, "(): ", error.message), at);
  }
}

}  // namespace

Tensor get_grad(const Tensor& tensor, SourceLocation at) {
  Recorder& recorder = recorder_of_rule("get_grad", at);
  const Value value = value_in_rule(recorder, tensor, "get_grad", at);
  const TensorProxy& proxy = value.tensor();
  const auto given = recorder.make_proxy({proxy.shape, proxy.dtype, proxy.device}, false);
  recorder.bind(prims_get_grad_symbol, {value}, {Value(given)}, at);
  return recorder.adopt(given);
}

void put_grad(const Tensor& tensor, const Tensor& gradient, SourceLocation at) {
  Recorder& recorder = recorder_of_rule("put_grad", at);
  if (!gradient.defined()) return;
  const Value value = value_in_rule(recorder, tensor, "put_grad", at);
  const Value given = value_in_rule(recorder, gradient, "put_grad", at);
  recorder.bind(prims_put_grad_symbol, {value, given}, {}, at);
}

}  // namespace fulgurite
