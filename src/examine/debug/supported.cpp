#include <algorithm>
#include <map>
#include <ostream>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/supported.h>

#include "executors/registry.h"
#include "ir/printing/source_lines.h"
#include "ops/core/call_error.h"
#include "ops/core/dispatch.h"
#include "ops/core/user_operator.h"
#include "ops/generated/symbols.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

/// Runs calls eagerly and records what they met.
class Watch final : public Interpreter {
 public:
  void run(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) override {
    const InterpreterScope eager(nullptr);
    const size_t position = note(symbol, arguments, at);
    try {
      dispatch(symbol, arguments, at, results);
      return;
    } catch (const CallError& error) {
      results.clear();
      const bool runs = runs_without_gradient(symbol, arguments, at, results);
      if (runs) operators_[position].has_gradient = false;
      const std::string what = text::cat(call_text(symbol, arguments), ": ", error.complaint());
      if (runs)
        found_.push_back(
            {Supported::Kind::no_gradient, what, "detach() its arguments, or register a gradient rule", at});
      else found_.push_back({Supported::Kind::refused, what, "", at});
      if (!runs && !stand_in(symbol, arguments, results)) throw;
    }
  }
  Value unknown_call(std::string_view name, const std::vector<Value>& args, std::span<const std::string_view> similar,
                     SourceLocation at) override {
    found_.push_back({Supported::Kind::unknown_operator, text::cat("there is no operator '", name, "'"),
                      text::join(
                          similar, [](std::string_view s) { return s; }, " or "),
                      at});
    for (const Value& arg : args)
      if (arg.is_tensor()) return Value(Tensor(arg));
    refuse_unknown(name, {}, at);
  }
  void demand_value(const Tensor&, const char* what, SourceLocation at) override {
    found_.push_back({Supported::Kind::graph_break, text::cat(what, " of a tensor"),
                      "where() and other operators keep the function in one graph", at});
  }
  void act(const char* what, SourceLocation at) override {
    found_.push_back({Supported::Kind::graph_break, what, "calling it outside keeps the function in one graph", at});
  }

  /// Notes the error or break that ended the function.
  void note_end(const std::string& what) {
    if (found_.empty() || found_.back().kind == Supported::Kind::graph_break)
      found_.push_back({Supported::Kind::refused, what, "", {}});
    std::string& instead = found_.back().instead;
    instead +=
        text::cat(instead.empty() ? "" : "; ", "nothing stands for its result: what comes after it was not looked at");
  }
  Supported take() { return {std::move(operators_), std::move(found_)}; }

 private:
  size_t note(const Symbol& symbol, Arguments arguments, SourceLocation at) {
    const auto [position, is_new] = positions_.try_emplace(std::string(symbol.qualified_name()), operators_.size());
    if (is_new) operators_.push_back({position->first, 0, executor_of(symbol, arguments), true, at});
    ++operators_[position->second].calls;
    return position->second;
  }

  std::string executor_of(const Symbol& symbol, Arguments arguments) const {
    if (symbol.traits.view) return "view";
    for (const Executor* executor : executors_) {
      if (executor->fusing) continue;
      const Implementation* const implementation = executor->find(symbol);
      try {
        if (implementation && implementation->accepts(arguments)) return executor->name;
      } catch (const std::exception&) {  // arguments that the operator refuses too
      }
    }
    if (as_user_operator(symbol)) return "its own";
    return symbol.decompose ? "decomposed" : "none";
  }

  static bool runs_without_gradient(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) {
    if (!grad_enabled()) return false;
    const NoGrad no_grad;
    try {
      dispatch(symbol, arguments, at, results);
      return true;
    } catch (const std::exception&) {
      results.clear();
      return false;
    }
  }

  // A tensor like the first one, so that the function may go on.
  static bool stand_in(const Symbol& symbol, Arguments arguments, Results& results) {
    for (const Argument& argument : arguments) {
      const bool is_list = argument.kind() == Argument::Kind::tensors && !argument.tensors().empty();
      if (!argument.is_tensor() && !is_list) continue;
      const Tensor like = is_list ? argument.tensors()[0] : argument.tensor();
      for (int i = 0; i < std::max(1, symbol.signature.result_count); ++i) results.push_back(zeros_like(like));
      return true;
    }
    return false;
  }

  const std::vector<const Executor*> executors_ = resolve_executors({});
  std::vector<Supported::Operator> operators_;
  std::map<std::string, size_t, std::less<>> positions_;  // in operators_
  std::vector<Supported::Problem> found_;
};

std::string_view name_of(Supported::Kind kind) {
  switch (kind) {
    case Supported::Kind::unknown_operator: return "unknown operator";
    case Supported::Kind::refused: return "refused";
    case Supported::Kind::no_gradient: return "no gradient";
    case Supported::Kind::graph_break: break;
  }
  return "graph break";
}

}  // namespace

bool Supported::all() const {
  return std::ranges::all_of(problems, [](const Problem& problem) { return problem.kind == Kind::graph_break; });
}

Supported supported_body(const std::function<void()>& body) {
  Watch watch;
  const InterpreterScope scope(&watch);
  try {
    body();
  } catch (const UserError& error) {
    watch.note_end(error.what());
  }
  return watch.take();
}

std::ostream& operator<<(std::ostream& out, const Supported& supported) {
  int calls = 0;
  for (const Supported::Operator& op : supported.operators) calls += op.calls;
  out << supported.operators.size() << " operators in " << calls << " calls\n";
  SourceLines texts;
  for (const Supported::Operator& op : supported.operators)
    out << "  " << op.name << ": " << op.calls << (op.calls == 1 ? " call, " : " calls, ") << op.executor
        << (op.has_gradient ? "\n" : ", no gradient\n");
  if (supported.problems.empty()) return out << "all of it is supported\n";
  out << supported.problems.size() << (supported.problems.size() == 1 ? " problem\n" : " problems\n");
  for (const Supported::Problem& problem : supported.problems) {
    out << "  " << name_of(problem.kind) << ": " << problem.what << '\n';
    if (!problem.instead.empty()) out << "    instead: " << problem.instead << '\n';
    if (problem.source.line != 0) out << "    " << texts.text(problem.source) << '\n';
  }
  return out;
}

}  // namespace fulgurite::examine
