#pragma once
#include <fulgurite/extend.h>

namespace fulgurite {

/// Throws UserError if a function's own types do not match an operator's signature. `what` names the function: "run".
void check_parameters(const Symbol&, const std::vector<detail::ParameterType>&, const char* what, SourceLocation at);
void check_results(const Symbol&, const detail::OperatorFunction& run, SourceLocation at);
void check_answers(const Symbol&, const detail::OperatorFunction&, bool gives_answer, const char* what,
                   SourceLocation at);

/// Parses a signature. Throws UserError that describes the mistake.
Signature read_signature(std::string_view text, SourceLocation at);

/// Returns true if functions with these parameters accept a call's arguments: where a signature allows a tensor or a
/// number, a function may accept only one of them.
bool takes_arguments(const std::vector<detail::ParameterType>&, std::span<const Argument>);

}  // namespace fulgurite
