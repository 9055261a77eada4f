#pragma once
#include <fulgurite/extend.h>

namespace fulgurite {

/// Fails with a UserError where a function's own types do not match an operator's signature. `what` names the function: "run".
void check_parameters(const Symbol&, const std::vector<detail::ParameterType>&, const char* what, SourceLocation at);
void check_results(const Symbol&, const detail::OperatorFunction& run, SourceLocation at);
void check_answers(const Symbol&, const detail::OperatorFunction&, bool gives_answer, const char* what, SourceLocation at);

/// Reads a signature. Throws UserError that says what is wrong in it.
Signature read_signature(std::string_view text, SourceLocation at);

/// Whether a call's arguments are what functions of these parameters can take: where a signature allows a tensor or a number, a
/// function may take only one of them.
bool takes_arguments(const std::vector<detail::ParameterType>&, std::span<const Argument>);

}  // namespace fulgurite
