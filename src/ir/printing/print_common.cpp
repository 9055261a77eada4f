#include "ir/printing/print_common.h"

#include <algorithm>
#include <cstdlib>

#include "ir/note.h"
#include "ir/structural.h"

namespace fulgurite {

Statement statement_of(const Symbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::returning: return Statement::result;
    case SymbolKind::unpacking: return Statement::unpack;
    case SymbolKind::clearing: return Statement::clear;
    case SymbolKind::deletion: return Statement::del;
    default: return Statement::call;
  }
}

namespace {

bool is_default_number(const Value& value, const Parameter& parameter) {
  const std::string text(parameter.default_text);
  char* end = nullptr;
  const double wanted = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0') return false;
  // add(x, y, alpha=1.0) differs from add(x, y, alpha=1): the kind of an operand counts in type promotion.
  const bool is_integer = text.find_first_of(".e") == std::string::npos;
  if (parameter.type == Parameter::Type::operand && is_integer != value.is_int()) return false;
  return value.is_int() ? static_cast<double>(value.integer().hint()) == wanted : value.floating().hint() == wanted;
}

}  // namespace

bool is_default(const Value& value, const Parameter& parameter) {
  const std::string_view text = parameter.default_text;
  if (text.empty() || value.is_proxy()) return false;
  // The divisor of a variance is always printed.
  if (parameter.name == "correction") return false;
  if (value.is_none()) return text == "None";
  if (value.is_bool()) return text == (value.boolean().hint() ? "True" : "False");
  if (value.is_number()) return is_default_number(value, parameter);
  if (value.is_string()) return text.size() >= 2 && text.substr(1, text.size() - 2) == value.string();
  if (value.is_list() && value.list().empty()) return text == "[]" || text == "()";
  if (value.is_list()) {
    Parameter item = parameter;
    if (text.size() > 2 && (text.front() == '[' || text.front() == '(')) return false;
    return std::ranges::all_of(value.list(), [&](const Value& v) { return v.is_number() && is_default(v, item); });
  }
  return false;
}

size_t shown_arguments(std::span<const Value> args, std::span<const Parameter> parameters) {
  size_t shown = args.size();
  while (shown > 0 && shown <= parameters.size() && parameters[shown - 1].type != Parameter::Type::tensor &&
         is_default(args[shown - 1], parameters[shown - 1]))
    --shown;
  return shown;
}

std::string fill_pattern(std::string_view pattern, const std::vector<std::string>& arguments) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    size_t end = i + 1, number = 0;
    if (pattern[i] == '{')
      for (; end < pattern.size() && pattern[end] >= '0' && pattern[end] <= '9'; ++end)
        number = number * 10 + (pattern[end] - '0');
    if (end == i + 1 || end >= pattern.size() || pattern[end] != '}' || number >= arguments.size()) {
      out += pattern[i];
      continue;
    }
    out += arguments[number];
    i = end;
  }
  return out;
}

std::string identifier(const std::string& name) {
  // Sorted: the keywords of Python and C++.
  static constexpr std::string_view keywords[] = {
      "False",     "None",     "True",     "alignas",  "alignof",  "and",      "as",      "asm",       "assert",
      "async",     "auto",     "await",    "bool",     "break",    "case",     "catch",   "char",      "class",
      "concept",   "const",    "continue", "decltype", "def",      "default",  "del",     "delete",    "do",
      "double",    "elif",     "else",     "enum",     "except",   "explicit", "export",  "extern",    "false",
      "finally",   "float",    "for",      "friend",   "from",     "global",   "goto",    "if",        "import",
      "in",        "inline",   "int",      "is",       "lambda",   "long",     "mutable", "namespace", "new",
      "noexcept",  "nonlocal", "not",      "nullptr",  "operator", "or",       "pass",    "prims",     "private",
      "protected", "public",   "raise",    "register", "requires", "return",   "short",   "signed",    "sizeof",
      "static",    "struct",   "switch",   "template", "this",     "throw",    "torch",   "true",      "try",
      "typedef",   "typeid",   "typename", "union",    "unsigned", "using",    "virtual", "void",      "volatile",
      "while",     "with",     "xor",      "yield"};
  return std::ranges::binary_search(keywords, std::string_view(name)) ? name + "_" : name;
}

std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == quote || c == '\\') out += '\\';
    out += c;
  }
  return out + quote;
}

std::string fusing_executor_text(const BoundSymbol& fusion) {
  if (!fusion.implementation) return {};
  const std::string_view executor = executor_name(*fusion.implementation);
  return executor == "fuser" ? std::string() : text::cat(" by ", executor);
}

namespace {

std::string contiguous_strides_text(const Shape& shape) {
  int64_t step = 1;
  std::string out = "]";
  for (size_t i = shape.size(); i-- > 0;) {
    out = text::cat(i > 0 ? ", " : "", step, out);
    step *= std::max<int64_t>(shape[i].hint(), 1);
  }
  return "[" + out;
}

}  // namespace

std::string quoted_type(const Value& value, bool with_strides) {
  if (value.is_tensor()) {
    const TensorProxy& proxy = value.tensor();
    std::string type = proxy.type_text();
    if (with_strides) type += text::cat(" ", contiguous_strides_text(proxy.shape));
    return quoted(type, '"');
  }
  if (value.is_int()) return text::cat("\"int ", value.integer().hint(), "\"");
  if (value.is_float()) return text::cat("\"float ", value.floating().hint(), "\"");
  if (value.is_bool()) return text::cat("\"bool ", value.boolean().hint() ? "True" : "False", "\"");
  return value.is_collection() ? "\"Collection\"" : "\"None\"";
}

std::string origin_text(const ForwardOrigin& origin) {
  static constexpr std::string_view parts[] = {"",       ", accumulation", ", zeros",         ", unbroadcast",
                                               ", cast", ", copy",         ", recomputation", ""};
  return text::cat(identifier(origin.result), ": \"", origin.symbol, "\"", origin.fusion.empty() ? "" : ", in ",
                   origin.fusion, parts[static_cast<int>(origin.part)]);
}

void OpPrinter::print_provenance(const Trace& trace) {
  if (trace.provenance.empty()) return;
  out_ += text::cat(comment_, "Constructed by ", trace.provenance);
  if (options_.time) out_ += text::cat(" (took ", static_cast<int64_t>(trace.milliseconds + 0.5), " milliseconds)");
  out_ += '\n';
}

void OpPrinter::print_argument_types(const Trace& trace) {
  for (const Value& arg : trace.args)
    if (arg.is_proxy() || arg.is_collection())
      out_ += text::cat("  ", comment_, identifier(proxy_name(arg)), ": ", quoted_type(arg, false), "\n");
}

void OpPrinter::print_body(const Trace& trace) {
  associate_forward_ = trace.associate_forward;
  last_source_ = {};
  last_node_.clear();
  for (const BoundSymbol& bound : trace.bound_symbols) {
    if (is_note(bound)) {
      print_note(bound);
      continue;
    }
    print_source(bound);
    print(bound, 2);
  }
}

// Every line of the text is a comment.
void OpPrinter::print_note(const BoundSymbol& bound) {
  std::string_view text = bound.args.read()[0].string();
  while (true) {
    const size_t end = text.find('\n');
    out_ += text::cat("  ", comment_, text.substr(0, end), "\n");
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> OpPrinter::body_lines(const Trace& trace) {
  associate_forward_ = trace.associate_forward;
  options_.depth = 0;
  std::vector<std::string> lines;
  for (const BoundSymbol& bound : trace.bound_symbols) {
    out_.clear();
    print(bound, 0);
    out_.pop_back();  // the newline
    lines.push_back(std::move(out_));
  }
  return lines;
}

namespace {

bool is_of_node(const BoundSymbol& bound) {
  return !bound.forward.empty() && bound.forward[0].part == ForwardOrigin::Part::node;
}

}  // namespace

// Ops of a captured backward are printed under their node and the source line of its forward.
void OpPrinter::print_node(const BoundSymbol& bound) {
  const std::string& node = bound.forward[0].result;
  if (node == last_node_) return;
  last_node_ = node;
  out_ += text::cat("\n  ", comment_, node);
  if (options_.source && bound.source.line != 0) out_ += text::cat(", ", sources_.text(bound.source));
  out_ += '\n';
}

// Ops of one source line share one comment; ops without a line do not separate them. A backward has no source line.
void OpPrinter::print_source(const BoundSymbol& bound) {
  if (is_of_node(bound)) return print_node(bound);
  if (!options_.source || bound.source.line == 0 || bound.source == last_source_ || !bound.forward.empty()) return;
  last_source_ = bound.source;
  out_ += text::cat("\n  ", comment_, sources_.text(bound.source), "\n");
}

void OpPrinter::print(const BoundSymbol& bound, int indent) {
  const std::string spaces(indent, ' ');
  const std::string lines = statement(bound, false);
  // All lines of a multi-line statement are indented.
  for (size_t at = 0; at <= lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    out_ += spaces + lines.substr(at, end - at);
    at = end + 1;
    if (at <= lines.size()) out_ += '\n';
  }
  out_ += types(bound, false);
  out_ += '\n';
  print_subsymbols(bound, indent + 2, options_.depth);
}

void OpPrinter::print_subsymbols(const BoundSymbol& bound, int indent, int depth) {
  if (depth == 0) return;
  for (const BoundSymbol& subsymbol : bound.subsymbols) {
    out_ += text::cat(std::string(indent, ' '), comment_, statement(subsymbol, true), types(subsymbol, true), "\n");
    print_subsymbols(subsymbol, indent + 2, depth - 1);
  }
}

std::string OpPrinter::types(const BoundSymbol& bound, bool in_comment) const {
  if (statement_of(*bound.symbol) != Statement::call) return {};
  const std::string mark = text::cat("  ", comment_);
  std::string out;
  const bool with_strides = options_.strides && !bound.symbol->traits.view;
  // The ops of a fusion below it show the types, and its definition the executor.
  const bool is_opened = bound.is_fusion() && options_.depth != 0 && !bound.subsymbols.empty();
  if (!is_opened)
    for_each_output(bound, [&](const Value& output) {
      if (output.is_proxy())
        out += text::cat(out.empty() ? mark : ", ", identifier(proxy_name(output)), ": ",
                         quoted_type(output, with_strides));
    });
  if (bound.implementation && !in_comment && !is_opened) {
    const std::string_view executor = executor_name(*bound.implementation);
    if (executor != "eager") out += text::cat(out.empty() ? mark : ", ", executor);
  }
  if (associate_forward_ && !in_comment && !is_of_node(bound))
    if (const ForwardOrigins origins = bound.forward_origins(); !origins.empty())
      out += text::cat(out.empty() ? mark : ", ", "forward: ", text::join(origins, origin_text));
  return out;
}

}  // namespace fulgurite
