#include "executors/fusion/outline_fusions.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/substitution.h"
#include "support/context.h"
#include "support/text/text.h"

namespace fulgurite::fuser {

/// The symbols of fusions, one for each name. Kept until the process ends, because traces do not own them.
class FusionSymbols {
 public:
  const Symbol* get(const std::string& name, bool is_pointwise) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<NamedSymbol>& made = symbols_[{name, is_pointwise}];
    if (!made) made = std::make_unique<NamedSymbol>(name, is_pointwise);
    return &made->symbol;
  }

 private:
  struct NamedSymbol {
    NamedSymbol(const std::string& name, bool is_pointwise)
        : spelling(name + "() -> Tensor"),
          symbol{.signature = Signature(std::string_view(spelling)), .traits = {.pointwise = is_pointwise}} {}
    const std::string spelling;
    const Symbol symbol;
  };
  std::mutex mutex_;  // guards the members below
  std::map<std::pair<std::string, bool>, std::unique_ptr<NamedSymbol>> symbols_;
};

namespace {

FusionSymbols& fusion_symbols() { return context().fusion_symbols.get(); }

class Writing {
 public:
  Writing(const Trace& trace, const DependencyGraph& graph, const FusionGroups& groups,
          const std::vector<GroupFusion>& fusions, const Implementation& candidate)
      : trace_(trace),
        graph_(graph),
        groups_(groups),
        fusions_(fusions),
        candidate_(candidate),
        is_written_(trace.bound_symbols.size(), false),
        is_group_written_(groups.groups.size(), false),
        out_(without_symbols(trace)) {}

  Trace run() {
    for (int op = 0; op < graph_.size(); ++op) {
      const int group = groups_.group_of[op];
      // Transparent views are written for their readers: fusions may have looked through them.
      if (!graph_.is_transparent(op) && (group < 0 || groups_.groups[group].ops.back() == op)) write(op);
    }
    return std::move(out_);
  }

 private:
  // Writes an op, or the group it belongs to, after its dependencies.
  void write(int op) {
    const int group = groups_.group_of[op];
    if (group >= 0 ? is_group_written_[group] : is_written_[op]) return;
    if (group >= 0) return write_group(group);
    is_written_[op] = true;
    write_before(op);
    BoundSymbol bound = trace_.bound_symbols[op];
    if (bound.implementation == &candidate_) bound.implementation = nullptr;
    out_.bound_symbols.push_back(std::move(bound));
  }
  void write_before(int op) {
    for (const int before : graph_.before(op)) write(before);
    // Includes views, which the graph looks through.
    for_each_argument(trace_.bound_symbols[op], [&](const Value& value) {
      if (!value.is_tensor()) return;
      const int made_by = graph_.producer(value.tensor().id);
      if (made_by >= 0 && graph_.is_transparent(made_by)) write(made_by);
    });
  }

  void write_group(int index) {
    is_group_written_[index] = true;
    const FusionGroup& group = groups_.groups[index];
    std::vector<int> before;
    for (const int op : group.ops)
      for (const int earlier : graph_.before(op))
        if (groups_.group_of[earlier] != index) before.push_back(earlier);
    std::sort(before.begin(), before.end());
    for (const int op : before) write(op);
    BoundSymbol fusion;
    fusion.symbol = fusion_symbols().get(fusions_[index].name, fusions_[index].is_pointwise);
    fusion.implementation = fusions_[index].implementation;
    for (const Value& input : fusions_[index].inputs) fusion.args.push_back(input);
    for (const Value& output : fusions_[index].outputs) fusion.outputs.push_back(output);
    const BoundSymbol& first = trace_.bound_symbols[group.ops[0]];
    fusion.source = first.forward.empty() ? first.source : SourceLocation{};
    fusion.subsymbols = inner_ops(trace_, graph_, group, out_.next_id, out_.next_name);
    out_.bound_symbols.push_back(std::move(fusion));
  }

  const Trace& trace_;
  const DependencyGraph& graph_;
  const FusionGroups& groups_;
  const std::vector<GroupFusion>& fusions_;
  const Implementation& candidate_;
  std::vector<char> is_written_, is_group_written_;
  Trace out_;
};

}  // namespace

SharedVector<BoundSymbol> inner_ops(const Trace& trace, const DependencyGraph& graph, const FusionGroup& group,
                                    int& next_id, int& next_name) {
  Substitution renamed(next_id);
  std::vector<int> ops(group.ops.size() + group.views.size());
  std::merge(group.ops.begin(), group.ops.end(), group.views.begin(), group.views.end(), ops.begin());
  SharedVector<BoundSymbol> inner;
  for (const int op : ops) {
    BoundSymbol bound = trace.bound_symbols[op];
    bound.implementation = nullptr;
    if (!renamed.is_empty()) renamed.apply(bound);
    if (graph.is_transparent(op)) {
      auto* proxy = new TensorProxy(bound.outputs.read()[0].tensor());
      proxy->id = next_id++;
      proxy->name = text::cat("t", next_name++);
      const Value fresh{detail::Ref<TensorProxy>(proxy)};
      renamed.set(trace.bound_symbols[op].outputs.read()[0].tensor().id, fresh);
      bound.outputs = {fresh};
    }
    inner.push_back(std::move(bound));
  }
  return inner;
}

Trace outline_fusions(const Trace& trace, const DependencyGraph& graph, const FusionGroups& groups,
                      const std::vector<GroupFusion>& fusions, const Implementation& candidate) {
  return Writing(trace, graph, groups, fusions, candidate).run();
}

}  // namespace fulgurite::fuser
