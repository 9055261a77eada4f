#include "ops/core/user_operator.h"

namespace fulgurite {

namespace {

// Follows a decomposition by shapes and dtypes only: results are proxies of no trace.
class TypeInterpreter final : public Interpreter {
 public:
  explicit TypeInterpreter(Interpreter* numbers) : numbers_(numbers) {}

  void run(const Symbol& symbol, Arguments arguments, SourceLocation at, Results& results) override {
    if (!symbol.infer && symbol.decompose) return symbol.decompose(arguments, results, at);
    InferredTypes types;
    infer_types(symbol, arguments, types);
    for (const TensorType& type : types) {
      auto* proxy = new TensorProxy;
      proxy->name = "result";
      proxy->shape = type.shape;
      proxy->dtype = type.dtype;
      proxy->device = type.device;
      results.push_back(make_proxy_tensor(detail::Ref<TensorProxy>(proxy), 0, at));
    }
  }

  bool computes() const override { return false; }
  // Symbolic sizes belong to the trace being recorded.
  Int integer(detail::NumberOperation operation, Int a, Int b) override { return numbers_->integer(operation, a, b); }
  Float floating(detail::NumberOperation operation, Float a, Float b) override {
    return numbers_->floating(operation, a, b);
  }
  Bool comparison(detail::NumberOperation operation, Int a, Int b) override {
    return numbers_->comparison(operation, a, b);
  }
  Bool comparison(detail::NumberOperation operation, Float a, Float b) override {
    return numbers_->comparison(operation, a, b);
  }
  void fix(const NumberProxy& number) override { numbers_->fix(number); }

  void demand_value(const Tensor&, const char* what, SourceLocation) override {
    throw RuleError{text::cat(what, " needs a value where only shapes are known")};
  }
  void act(const char* what, SourceLocation) override {
    throw RuleError{text::cat(what, " acts immediately, and only shapes are computed here")};
  }

 private:
  Interpreter* numbers_;
};

}  // namespace

void infer_from_function(const std::function<void(Results&)>& run, InferredTypes& types) {
  Results results;
  TypeInterpreter interpreter(innermost_interpreter());
  const InterpreterScope scope(&interpreter);
  run(results);
  for (const Tensor& result : results) types.push_back({result.shape(), result.dtype(), result.device()});
}

void infer_types(const Symbol& symbol, Arguments arguments, InferredTypes& types) {
  if (const UserOperator* user = as_user_operator(symbol)) return user->result_types(arguments, types);
  if (symbol.infer) return symbol.infer(arguments, types);
  infer_from_function([&](Results& results) { symbol.decompose(arguments, results, {}); }, types);
}

}  // namespace fulgurite
