#include "examine/explorer/explorer_lines.h"

#include <algorithm>
#include <sstream>

#include "io/json.h"
#include "ir/analysis/trace_values.h"
#include "ir/printing/print_common.h"
#include "support/text/base_name.h"

namespace fulgurite::examine {

namespace {

enum class Kind : uint8_t { argument, call, unpacking, deletion, result };

Kind kind_of(const BoundSymbol& bound) {
  switch (statement_of(*bound.symbol)) {
    case Statement::result: return Kind::result;
    case Statement::unpack: return Kind::unpacking;
    case Statement::clear:
    case Statement::del: return Kind::deletion;
    case Statement::call: break;
  }
  return Kind::call;
}

// The statement of a printed op, without its comment.
std::string statement_in(const std::string& printed) { return printed.substr(0, printed.find("  // ")); }

std::string types_of(const BoundSymbol& bound) {
  std::string out;
  for_each_output(bound, [&](const Value& output) {
    if (!output.is_proxy()) return;
    const std::string type = quoted_type(output, false);
    out += text::cat(out.empty() ? "" : "\n", identifier(proxy_name(output)), ": ",
                     std::string_view(type).substr(1, type.size() - 2));
  });
  return out;
}

std::string outputs_of(const BoundSymbol& bound) {
  std::string out;
  const auto add = [&](const Value& output) {
    if (output.is_proxy() || output.is_collection())
      out += text::cat(out.empty() ? "" : " ", identifier(proxy_name(output)));
  };
  // The elements of a collection are named by the op that unpacks it.
  for (const Value& output : bound.outputs) output.is_collection() ? add(output) : for_each_leaf(output, add);
  return out;
}

std::string origins_json(const BoundSymbol& bound) {
  static constexpr std::string_view parts[] = {"",     "accumulation", "zeros",         "unbroadcast",
                                               "cast", "copy",         "recomputation", "node"};
  std::string out;
  for (const ForwardOrigin& origin : bound.forward_origins())
    out += text::cat(out.empty() ? "" : ", ", "[", json::quote(identifier(origin.result)), ", ",
                     json::quote(parts[static_cast<int>(origin.part)]), "]");
  return "[" + out + "]";
}

std::string op_json(Kind kind, const std::string& text, const std::string& types, const std::string& outputs,
                    std::string_view executor, int source, const std::string& subops, const std::string& origins,
                    bool is_backward) {
  return text::cat("[", static_cast<int>(kind), ", ", json::quote(text), ", ", json::quote(types), ", ",
                   json::quote(outputs), ", ", json::quote(executor), ", ", source, ", ", subops, ", ", origins, ", ",
                   is_backward ? "1]" : "0]");
}

}  // namespace

int ExplorerOps::add_op(const std::string& json) {
  const auto [at, is_new] = known_ops_.try_emplace(json, static_cast<int>(known_ops_.size()));
  if (is_new) lines_ += text::cat(lines_.empty() ? "\n" : ",\n", json);
  return at->second;
}

int ExplorerOps::add_source(SourceLocation at) {
  if (at.line == 0) return -1;
  auto path = std::ranges::find(paths_, at.file);
  if (path == paths_.end()) path = paths_.insert(path, at.file);
  const int file = static_cast<int>(path - paths_.begin());
  const auto [known, is_new] = known_sources_.try_emplace({file, at.line}, static_cast<int>(known_sources_.size()));
  if (is_new) sources_ += text::cat(sources_.empty() ? "" : ", ", "[", file, ", ", at.line, "]");
  return known->second;
}

// The subsymbols of a composite, at every depth.
std::string ExplorerOps::subops(const BoundSymbol& bound) {
  std::string out;
  const auto add_below = [&](const auto& self, const BoundSymbol& composite, int depth) -> void {
    for (const BoundSymbol& inside : composite.subsymbols.read()) {
      std::ostringstream printed;
      BoundSymbol alone = inside;
      alone.subsymbols = {};
      printed << alone;
      std::string op = printed.str();
      while (!op.empty() && op.back() == '\n') op.pop_back();
      const int source = add_source(inside.source);
      const int id = add_op(
          op_json(Kind::call, statement_in(op), types_of(inside), outputs_of(inside), "", source, "[]", "[]", false));
      out += text::cat(out.empty() ? "" : ", ", "[", depth, ", ", id, "]");
      self(self, inside, depth + 1);
    }
  };
  add_below(add_below, bound, 1);
  return "[" + out + "]";
}

int ExplorerOps::add_bound(const BoundSymbol& bound, const std::string& printed) {
  const std::string_view executor = bound.implementation ? executor_name(*bound.implementation) : std::string_view();
  return add_op(op_json(kind_of(bound), statement_in(printed), types_of(bound), outputs_of(bound), executor,
                        add_source(bound.source), subops(bound), origins_json(bound), !bound.forward.empty()));
}

size_t ExplorerOps::arguments_of(const Trace& trace) {
  return static_cast<size_t>(
      std::ranges::count_if(trace.args, [](const Value& arg) { return arg.is_proxy() || arg.is_collection(); }));
}

std::string ExplorerOps::add(const Trace& trace) {
  std::string out;
  const auto append = [&](int id) { out += text::cat(out.empty() ? "" : ",", id); };
  for (const Value& arg : trace.args) {
    if (!arg.is_proxy() && !arg.is_collection()) continue;
    const std::string name = identifier(proxy_name(arg)), quoted = quoted_type(arg, false);
    const std::string type = text::cat(name, ": ", std::string_view(quoted).substr(1, quoted.size() - 2));
    append(add_op(op_json(Kind::argument, name, type, name, "", -1, "[]", "[]", false)));
  }
  const std::vector<std::string> texts = cpp_lines(trace);
  size_t i = 0;
  for (const BoundSymbol& bound : trace.bound_symbols.read()) append(add_bound(bound, texts[i++]));
  return "[" + out + "]";
}

std::string ExplorerOps::files() {
  std::string out;
  for (const std::string& path : paths_) {
    const std::string name(text::base_name(path));
    out += text::cat(out.empty() ? "" : ",\n", "[", json::quote(name), ", [",
                     text::join(texts_.lines_of(path), [](const std::string& op) { return json::quote(op); }), "]]");
  }
  return "[" + out + "]";
}

}  // namespace fulgurite::examine
