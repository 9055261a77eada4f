#include "transforms/grad/associate_forward.h"

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

// A line's first result, which stands for the line; none for a line without results.
Value first_result(const BoundSymbol& bound) {
  Value first;
  for_each_output(bound, [&](const Value& output) {
    if (proxy_id(first) < 0 && proxy_id(output) >= 0) first = output;
  });
  return first;
}

// How the lines of a trace print, by the id of what they make.
class PrintedLines {
 public:
  explicit PrintedLines(const Trace& trace) : lines_(trace.next_id) {
    for (const BoundSymbol& bound : trace.bound_symbols) add(bound, {});
  }

  void rename(BoundSymbol& bound) const {
    for (size_t i = 0; i < bound.forward.size(); ++i) {
      const int id = bound.forward[i].id;
      if (id < 0 || id >= static_cast<int>(lines_.size())) continue;
      const Line& line = lines_[id];
      if (!line.bound) continue;
      ForwardOrigin& origin = bound.forward.change()[i];
      origin.result = proxy_name(first_result(*line.bound));
      origin.symbol = line.bound->symbol->qualified_name();
      origin.fusion = line.fusion;
    }
    for (BoundSymbol& subsymbol : bound.subsymbols) rename(subsymbol);
  }

 private:
  struct Line {
    const BoundSymbol* bound = nullptr;
    std::string_view fusion;
  };

  void add(const BoundSymbol& bound, std::string_view fusion) {
    if (bound.is_fusion()) {
      for (const BoundSymbol& fused : bound.subsymbols) add(fused, bound.symbol->qualified_name());
      return;
    }
    claim(bound, {&bound, fusion});
    for (const BoundSymbol& subsymbol : bound.subsymbols) add_inside(subsymbol, {&bound, fusion});
  }
  // A composite that prints as one line stands for what is inside it.
  void add_inside(const BoundSymbol& bound, const Line& line) {
    claim(bound, line);
    for (const BoundSymbol& subsymbol : bound.subsymbols) add_inside(subsymbol, line);
  }
  void claim(const BoundSymbol& bound, const Line& line) {
    for_each_output(bound, [&](const Value& output) {
      const int id = proxy_id(output);
      if (id >= 0 && id < static_cast<int>(lines_.size()) && !lines_[id].bound) lines_[id] = line;
    });
  }

  std::vector<Line> lines_;  // by id
};

}  // namespace

ForwardOrigin recomputation_of(const BoundSymbol& bound) {
  const Value result = first_result(bound);
  if (proxy_id(result) < 0) return {};
  return {proxy_id(result), proxy_name(result), std::string(bound.symbol->qualified_name()),
          ForwardOrigin::Part::recomputation};
}

void name_forward_lines(std::vector<Trace>& stages, const Trace& forward) {
  const PrintedLines lines(forward);
  for (Trace& stage : stages)
    for (BoundSymbol& bound : stage.bound_symbols) lines.rename(bound);
}

}  // namespace fulgurite
