#pragma once
#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/printing/source_lines.h"
#include "support/text/text.h"

namespace fulgurite {

/// Returns the executor of a claimed symbol: "eager", "onednn". Defined in implementation/.
std::string_view executor_name(const Implementation&);
/// Returns the text of a fusion's kernel, or nothing. Defined in implementation/.
std::string_view kernel_text(const Implementation&);
/// For a fusion that another executor than the fuser runs: " by regions".
std::string fusing_executor_text(const BoundSymbol&);

/// The trace's own symbols, which print as statements.
enum class Statement : uint8_t { call, result, unpack, clear, del };
Statement statement_of(const Symbol&);

/// Returns true if omitting the argument would mean the same.
bool is_default(const Value&, const Parameter&);
/// An argument list's length without trailing defaults. Optional tensors are always shown.
size_t shown_arguments(std::span<const Value> args, std::span<const Parameter> parameters);
/// The symbol's pattern with {0}, {1}, … replaced.
std::string fill_pattern(std::string_view pattern, const std::vector<std::string>& arguments);
/// A proxy's name, changed if it is a keyword of either language.
std::string identifier(const std::string& name);
/// `"cpu f32[2, 3]"`, `"int 4"`, `"Collection"`, with quotes.
std::string quoted_type(const Value&, bool with_strides);
std::string quoted(std::string_view text, char quote);
/// `t0: "torch.matmul", accumulation`
std::string origin_text(const ForwardOrigin&);

/// The statement of each bound symbol alone, as in Trace::python and Trace::cpp.
std::vector<std::string> python_lines(const Trace&);
std::vector<std::string> cpp_lines(const Trace&);

/// The printer's common part for both languages: one line a symbol, with its type, its user's line above and subsymbols
/// below.
class OpPrinter {
 public:
  OpPrinter(const PrintOptions& options, std::string_view comment) : options_(options), comment_(comment) {}
  virtual ~OpPrinter() = default;

  /// The line of one symbol and its subsymbols, indented by `indent` spaces.
  void print(const BoundSymbol&, int indent);

 protected:
  /// `t0 = f(x)` in the language; `in_comment`: in the short form for reading only.
  virtual std::string statement(const BoundSymbol&, bool in_comment) = 0;

  void print_provenance(const Trace&);
  void print_argument_types(const Trace&);
  void print_body(const Trace&);
  /// Each symbol's own line, without indentation, definitions, sources and subsymbols.
  std::vector<std::string> body_lines(const Trace&);

  std::string out_;
  PrintOptions options_;
  bool associate_forward_ = false;

 private:
  std::string types(const BoundSymbol&, bool in_comment) const;
  void print_subsymbols(const BoundSymbol&, int indent, int depth);
  void print_node(const BoundSymbol&);
  void print_note(const BoundSymbol&);
  void print_source(const BoundSymbol&);

  std::string_view comment_;
  SourceLines sources_;
  SourceLocation last_source_;
  std::string last_node_;
};

}  // namespace fulgurite
