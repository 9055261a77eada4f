// The call interface of functions on an operator's own C++ types.
#include <fulgurite/error.h>

#include "ops/core/call_arguments.h"
#include "ops/core/user_operator.h"

namespace fulgurite::detail {

bool is_none(const OperatorCall& call, size_t i) { return call.arguments[i].is_none(); }
Tensor tensor_argument(const OperatorCall& call, size_t i) { return call.arguments[i].tensor_or_none(); }
Operand operand_argument(const OperatorCall& call, size_t i) { return call.arguments[i].operand(call.at); }
std::vector<Tensor> tensors_argument(const OperatorCall& call, size_t i) {
  if (call.arguments[i].is_none()) return {};
  const auto tensors = call.arguments[i].tensors();
  return {tensors.begin(), tensors.end()};
}
Int integer_argument(const OperatorCall& call, size_t i) { return call.arguments[i].integer(); }
Shape integers_argument(const OperatorCall& call, size_t i) { return call.arguments[i].shape(); }
Float floating_argument(const OperatorCall& call, size_t i) { return call.arguments[i].floating(); }
Bool boolean_argument(const OperatorCall& call, size_t i) { return call.arguments[i].boolean(); }
std::string_view string_argument(const OperatorCall& call, size_t i) {
  return call.arguments[i].is_none() ? std::string_view() : call.arguments[i].string();
}
Dtype dtype_argument(const OperatorCall& call, size_t i) { return call.arguments[i].dtype(); }
Device device_argument(const OperatorCall& call, size_t i) { return call.arguments[i].device(); }
SourceLocation location_of(const OperatorCall& call) { return call.at; }
void give_result(OperatorCall& call, const Tensor& result) { call.results->push_back(result); }
void give_answer(OperatorCall& call, bool answer) { call.answer = answer; }
void give_saved(OperatorCall& call, SavedValue saved) { call.saved->push_back(std::move(saved)); }

Value operand_value(const Operand& operand) {
  switch (operand.kind()) {
    case Operand::Kind::none: return {};
    case Operand::Kind::tensor: return operand.tensor();
    case Operand::Kind::integer: return operand.integer();
    case Operand::Kind::floating: return operand.floating();
    case Operand::Kind::boolean: return operand.boolean();
  }
  return {};
}

std::vector<Tensor> call_operator(const Symbol& symbol, std::vector<Value> given, SourceLocation at) {
  std::map<std::string, Value> keywords;
  const auto parameters = symbol.signature.params();
  while (!given.empty() && parameters[given.size() - 1].keyword_only) {
    keywords.emplace(parameters[given.size() - 1].name, std::move(given.back()));
    given.pop_back();
  }
  CallArguments bound;
  if (!bound.bind(symbol, given, keywords)) throw UserError(text::cat(symbol.name(), ": ", bound.error()), at);
  Results results;
  dispatch(symbol, bound.arguments(), at, results);
  return {results.begin(), results.end()};
}

}  // namespace fulgurite::detail
