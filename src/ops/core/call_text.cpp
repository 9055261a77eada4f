#include "ops/core/dispatch.h"

namespace fulgurite {

namespace {

std::string argument_text(const Argument& a) {
  switch (a.kind()) {
    case Argument::Kind::none: return "None";
    case Argument::Kind::tensor: return type_text(a.tensor());
    case Argument::Kind::integer: return text::cat(a.integer().hint());
    case Argument::Kind::floating: return text::cat(a.floating().hint());
    case Argument::Kind::boolean: return a.boolean().hint() ? "True" : "False";
    case Argument::Kind::string: return text::cat("'", a.string(), "'");
    case Argument::Kind::dtype: return std::string(name(a.dtype()));
    case Argument::Kind::device: return text::cat("'", a.device().name(), "'");
    case Argument::Kind::ellipsis: return "...";
    case Argument::Kind::slice: {
      const auto end = [](const std::optional<Int>& n) { return n ? text::cat(n->hint()) : std::string(); };
      const Slice& slice = a.slice();
      return text::cat(end(slice.start), ":", end(slice.stop),
                       slice.step ? text::cat(":", slice.step->hint()) : std::string());
    }
    case Argument::Kind::tensors:
      return text::cat(
          "[", text::join(a.tensors(), [](const Tensor& t) { return t.defined() ? type_text(t) : "None"; }), "]");
    case Argument::Kind::integers:
      return text::cat("[", text::join(a.integers(), [](Int n) { return text::cat(n.hint()); }), "]");
    case Argument::Kind::floatings:
      return text::cat("[", text::join(a.floatings(), [](Float n) { return text::cat(n.hint()); }), "]");
    case Argument::Kind::list: return text::cat("[", text::join(a.list(), argument_text), "]");
  }
  return "";
}

bool is_default(const Argument& a, const Parameter& parameter) {
  return !parameter.default_text.empty() && argument_text(a) == parameter.default_text;
}

}  // namespace

std::string call_text(const Symbol& symbol, Arguments arguments) {
  const std::span<const Parameter> parameters = symbol.signature.params();
  std::string out(symbol.name());
  out += '(';
  bool skipped = false, first = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i < parameters.size() && is_default(arguments[i], parameters[i])) {
      skipped = true;
      continue;
    }
    if (!first) out += ", ";
    first = false;
    if (i < parameters.size() && (skipped || parameters[i].keyword_only)) {
      out += parameters[i].name;
      out += '=';
    }
    out += argument_text(arguments[i]);
  }
  return out + ")";
}

}  // namespace fulgurite
