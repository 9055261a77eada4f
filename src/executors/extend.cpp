// Implements extend.h: user-supplied executors, operators and rules.
#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include <deque>
#include <mutex>

#include "executors/check_function.h"
#include "executors/user_executor.h"
#include "runtime/copy_elements.h"
#include "support/text/text.h"

namespace fulgurite {

namespace detail {

namespace {

OperatorRule recording(OperatorFunction function) {
  if (!function) return {};
  return [function = std::move(function)](Arguments arguments, SourceLocation at, Results& results) {
    OperatorCall call{arguments, at, &results};
    function(call);
  };
}

void check_given(const Symbol& symbol, const Results& results, const char* what, SourceLocation at) {
  const int expected = symbol.signature.result_count;
  if (expected != Signature::list && static_cast<int>(results.size()) != expected)
    throw UserError(text::cat("the ", what, " of ", symbol.qualified_name(), " gave ", results.size(),
                              " tensor(s), but the operator has ", expected),
                    at);
  for (const Tensor& result : results)
    if (!result.defined())
      throw UserError(text::cat("the ", what, " of ", symbol.qualified_name(), " gave an undefined tensor"), at);
}

OperatorRule computing(const Symbol& symbol, OperatorFunction run) {
  if (!run) return {};
  return [&symbol, run = std::move(run)](Arguments arguments, SourceLocation at, Results& results) {
    const InterpreterScope eager(nullptr);
    const NoGrad no_grad;
    OperatorCall call{arguments, at, &results};
    run(call);
    check_given(symbol, results, "run", at);
    own_results(results);
  };
}

// A call's arguments with zeros for the tensors, and numbers without symbols.
class ZeroArguments {
 public:
  explicit ZeroArguments(Arguments arguments) {
    for (const Argument& argument : arguments) arguments_.push_back(replace(argument));
  }
  Arguments arguments() const { return {arguments_.data(), arguments_.size()}; }

 private:
  static Tensor zeros_of(const Tensor& tensor) {
    if (!tensor.defined()) return {};
    Shape shape;
    for (const Int size : tensor.shape()) shape.push_back(static_cast<int64_t>(size));
    const InterpreterScope eager(nullptr);
    return zeros(shape, {.dtype = tensor.dtype(), .device = tensor.device()});
  }
  Argument replace(const Argument& argument) {
    switch (argument.kind()) {
      case Argument::Kind::tensor: return Argument(tensors_.emplace_back(zeros_of(argument.tensor())));
      case Argument::Kind::integer: return Int(static_cast<int64_t>(argument.integer()));
      case Argument::Kind::floating: return Float(static_cast<double>(argument.floating()));
      case Argument::Kind::boolean: return Bool(static_cast<bool>(argument.boolean()));
      case Argument::Kind::tensors: {
        std::vector<Tensor>& items = lists_.emplace_back();
        for (const Tensor& tensor : argument.tensors()) items.push_back(zeros_of(tensor));
        return Argument(items);
      }
      case Argument::Kind::integers: {
        Shape& numbers = numbers_.emplace_back();
        for (const Int n : argument.integers()) numbers.push_back(static_cast<int64_t>(n));
        return Argument(numbers);
      }
      default: return argument;
    }
  }

  std::deque<Tensor> tensors_;
  std::deque<std::vector<Tensor>> lists_;
  std::deque<Shape> numbers_;
  SmallVector<Argument, 8> arguments_;
};

/// Infers the result types of an operator without a shape rule by calling `run` on zeros, once for each kind of
/// arguments.
class TypesByRunning {
 public:
  TypesByRunning(const Symbol& symbol, OperatorRule run) : symbol_(symbol), run_(std::move(run)) {}

  void find(Arguments arguments, InferredTypes& types) {
    const ZeroArguments zeros(arguments);
    const std::string kind = call_text(symbol_, zeros.arguments());
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = known_.find(kind); found != known_.end()) {
        types = found->second;
        return;
      }
    }
    Results results;
    run_(zeros.arguments(), {}, results);
    for (const Tensor& result : results) types.push_back({result.shape(), result.dtype(), result.device()});
    const std::lock_guard lock(mutex_);
    if (known_.size() >= max_kinds) known_.clear();
    known_.emplace(kind, types);
  }

 private:
  static constexpr size_t max_kinds = 4096;
  const Symbol& symbol_;
  const OperatorRule run_;
  std::mutex mutex_;
  std::unordered_map<std::string, InferredTypes> known_;
};

// "mine::f" is torch.ops.mine.f if it is registered with PyTorch too.
std::string python_pattern(const Signature& signature) {
  std::string name(signature.qualified_name);
  if (name.find("::") != std::string::npos) name = "torch.ops." + name;
  for (size_t at = name.find("::"); at != std::string::npos; at = name.find("::")) name.replace(at, 2, ".");
  std::string arguments;
  for (size_t i = 0; i < signature.params().size(); ++i) {
    const Parameter& parameter = signature.params()[i];
    if (i > 0) arguments += ", ";
    if (parameter.keyword_only) arguments += text::cat(parameter.name, "=");
    arguments += text::cat("{", i, "}");
  }
  return text::cat(name, "(", arguments, ")");
}

std::function<bool(Arguments)> accepting(std::vector<ParameterType> parameters, OperatorFunction checker) {
  return [parameters = std::move(parameters), checker = std::move(checker)](Arguments arguments) {
    if (!takes_arguments(parameters, arguments)) return false;
    if (!checker) return true;
    if (!takes_arguments(checker.parameters(), arguments)) return false;
    OperatorCall call{arguments, {}};
    checker(call);
    return call.answer;
  };
}

std::shared_ptr<const JointRule> make_rule(OperatorFunction grad_transform, const OperatorFunction& checker) {
  if (!grad_transform) return nullptr;
  auto rule = std::make_shared<JointRule>();
  rule->accepts = accepting(grad_transform.parameters(), checker);
  rule->grad_transform = recording(std::move(grad_transform));
  return rule;
}

void check_options(const Symbol& symbol, const OperatorFunction& checker, const OperatorFunction& execution_transform,
                   const OperatorFunction& grad_transform, SourceLocation at) {
  const auto check = [&](const OperatorFunction& function, bool gives_answer, const char* what) {
    if (!function) return;
    check_answers(symbol, function, gives_answer, what, at);
    check_parameters(symbol, function.parameters(), what, at);
  };
  check(checker, true, "checker");
  check(execution_transform, false, "execution transform");
  check(grad_transform, false, "grad transform");
}

}  // namespace

void own_results(Results& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorImpl& impl = *results[i].impl();
    const bool is_shared =
        impl.owners.load(std::memory_order_relaxed) > 1 || impl.storage->owners.load(std::memory_order_relaxed) > 1;
    if (!is_shared && impl.is_contiguous && impl.offset == 0 && !impl.requires_grad) continue;
    const Tensor copy = make_tensor(impl.sizes, impl.dtype, impl.device);
    copy_elements(results[i], copy);
    results[i] = copy;
  }
}

std::shared_ptr<UserExecutor> make_user_executor(std::string name, SourceLocation at) {
  if (name.empty()) throw UserError("an executor needs a name", at);
  return std::make_shared<UserExecutor>(std::move(name));
}

const std::string& name_of(const UserExecutor& executor) { return executor.name; }

namespace {

/// Traits without effects, but with the deprecated names for them, with the effects that these stand for.
Traits with_effects(Traits traits) {
  if (!traits.effects.empty()) return traits;
  if (traits.random) traits.effects = Effect::random;
  if (traits.side_effect) traits.effects = traits.effects | (Effect::memory | Effect::io);
  return traits;
}

}  // namespace

const Symbol& register_operator(UserExecutor& executor, std::string_view signature, OperatorFunction run,
                                OperatorOptions options, SourceLocation at) {
  auto text = std::make_unique<const std::string>(signature);
  const Signature parsed = read_signature(*text, at);
  auto made = std::make_unique<UserOperator>(std::move(text), parsed);
  UserOperator& symbol = *made;
  if (!run) throw UserError(text::cat(symbol.qualified_name(), " has no function that runs it"), at);
  check_results(symbol, run, at);
  check_parameters(symbol, run.parameters(), "run", at);
  check_options(symbol, options.checker, options.execution_transform, options.grad_transform, at);
  if (options.infer) {
    check_answers(symbol, options.infer, false, "infer", at);
    check_parameters(symbol, options.infer.parameters(), "infer", at);
  }
  if (options.traits.view || options.traits.structural)
    throw UserError(text::cat(symbol.qualified_name(),
                              ": a registered operator makes new tensors; the traits view and structural are the "
                              "library's own"),
                    at);

  symbol.description = std::make_unique<const std::string>(
      options.documentation.empty() ? text::cat("Registered by the executor ", executor.name, ".")
                                    : options.documentation);
  symbol.documentation = *symbol.description;
  symbol.python_text = std::make_unique<const std::string>(python_pattern(parsed));
  symbol.python = *symbol.python_text;
  symbol.traits = with_effects(options.traits);
  symbol.accepts = accepting(run.parameters(), options.checker);
  UserImplementation user;
  user.accepts = symbol.accepts;
  std::shared_ptr<const JointRule> rule = make_rule(std::move(options.grad_transform), options.checker);
  symbol.run = computing(symbol, std::move(run));
  user.run = symbol.run;
  user.execution_transform = recording(std::move(options.execution_transform));
  if (options.infer) {
    symbol.result_types = [&symbol, infer = recording(std::move(options.infer))](Arguments arguments,
                                                                                 InferredTypes& types) {
      infer_from_function(
          [&](Results& results) {
            infer(arguments, {}, results);
            check_given(symbol, results, "infer", {});
          },
          types);
    };
  } else {
    symbol.result_types = [types = std::make_shared<TypesByRunning>(symbol, symbol.run)](
                              Arguments arguments, InferredTypes& out) { types->find(arguments, out); };
  }
  symbol.owner = executor.shared_from_this();
  executor.add(symbol, std::move(user), std::move(rule), at);  // first: other threads find the operator by its name
  try {
    return add_user_operator(std::move(made), at);
  } catch (...) {
    executor.forget(symbol);
    throw;
  }
}

void register_implementation(UserExecutor& executor, const Symbol& symbol, OperatorFunction run,
                             ImplementationOptions options, SourceLocation at) {
  if (symbol.traits.structural || symbol.traits.view)
    throw UserError(
        text::cat(symbol.qualified_name(), " is part of traces, a view or a write: no executor implements it"), at);
  if (!run && !options.execution_transform && !options.grad_transform)
    throw UserError(text::cat("an implementation of ", symbol.qualified_name(),
                              " needs a run, an execution_transform or a grad_transform"),
                    at);
  if (run) {
    check_results(symbol, run, at);
    check_parameters(symbol, run.parameters(), "run", at);
  }
  check_options(symbol, options.checker, options.execution_transform, options.grad_transform, at);
  UserImplementation user;
  user.accepts = accepting(run ? run.parameters() : options.execution_transform.parameters(), options.checker);
  std::shared_ptr<const JointRule> rule = make_rule(std::move(options.grad_transform), options.checker);
  user.run = computing(symbol, std::move(run));
  user.execution_transform = recording(std::move(options.execution_transform));
  executor.add(symbol, std::move(user), std::move(rule), at);
}

void register_augmented_forward(UserExecutor& executor, const Symbol& symbol, AugmentedForwardFunction forward,
                                SourceLocation at) {
  check_parameters(symbol, forward.parameters(), "augmented forward", at);
  executor.add_augmented_forward(symbol, std::move(forward), at);
}

void register_backward(UserExecutor& executor, const Symbol& symbol, BackwardFunction backward, SourceLocation at) {
  executor.add_backward(symbol, std::move(backward), at);
}

}  // namespace detail

void register_executor(const OperatorExecutor& executor, SourceLocation at) { add_executor(executor.state(), at); }

}  // namespace fulgurite
