#include "cli/associated_trace.h"

#include <algorithm>
#include <set>

#include <fulgurite/symbol.h>

#include "ir/printing/print_common.h"

namespace fulgurite::cli {

namespace {

void collect_names(const BoundSymbol& bound, std::set<std::string>& results) {
  for (const Value& output : bound.flat_outs())
    if (output.is_proxy()) results.insert(proxy_name(output));
  for (const BoundSymbol& subsymbol : bound.subsymbols) collect_names(subsymbol, results);
}

bool is_named(const BoundSymbol& bound, const std::set<std::string>& results, const std::string& name) {
  return name.empty() || results.contains(name) || bound.symbol->qualified_name() == name || bound.name() == name;
}

}  // namespace

std::string side_by_side(const Trace& forward, const Trace& backward, const std::string& name, bool python) {
  const auto lines = [&](const Trace& trace) { return python ? python_lines(trace) : cpp_lines(trace); };
  const std::vector<std::string> forward_lines = lines(forward), backward_lines = lines(backward);
  std::string out;
  for (size_t i = 0; i < forward.bound_symbols.size(); ++i) {
    const BoundSymbol& bound = forward.bound_symbols[i];
    const Statement statement = statement_of(*bound.symbol);
    if (statement != Statement::call && statement != Statement::result) continue;
    std::set<std::string> results;
    collect_names(bound, results);
    if (!is_named(bound, results, name)) continue;
    out += forward_lines[i] + "\n";
    for (size_t j = 0; j < backward.bound_symbols.size(); ++j) {
      const ForwardOrigins origins = backward.bound_symbols[j].forward_origins();
      const bool serves = std::ranges::any_of(origins, [&](const ForwardOrigin& origin) {
        return statement == Statement::result ? origin.symbol == "return" : results.contains(origin.result);
      });
      if (serves) out += text::cat("    ", backward_lines[j], "\n");
    }
  }
  return out;
}

}  // namespace fulgurite::cli
