#include "executors/fusion/grouping.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "executors/fusion/op_groups.h"
#include "ir/analysis/trace_values.h"
#include "support/text/text.h"

namespace fulgurite::fuser {

namespace {

constexpr int not_plain = -1;
// ops between consumers of one value that are merged: their results live that much longer
constexpr int max_distance = 16;

class Grouping {
 public:
  Grouping(const Trace& trace, const DependencyGraph& graph, const std::vector<char>& is_candidate,
           const GroupingRules& rules, bool explains)
      : trace_(trace), graph_(graph), is_candidate_(is_candidate), rules_(rules), explains_(explains), parts_(graph) {
    for (int i = 0; i < graph.size(); ++i) {
      shapes_.push_back(is_candidate[i] && rules.is_plain(trace.bound_symbols[i])
                            ? number_of_shape(trace.bound_symbols[i])
                            : not_plain);
      waits_.push_back(is_candidate[i] && rules.fuse_last(trace.bound_symbols[i]));
    }
  }

  FusionGroups run() {
    grow();
    if (std::ranges::find(waits_, true) != waits_.end()) {
      waits_.assign(waits_.size(), false);
      grow();
    }
    return finish();
  }

 private:
  bool may_join(int op) const { return is_candidate_[op] && !waits_[op]; }
  void grow() {
    for (int op = 0; op < graph_.size(); ++op) {
      if (!may_join(op)) continue;
      std::vector<int> producers = graph_.before(op);
      std::sort(producers.rbegin(), producers.rend());
      for (const int producer : producers)
        if (may_join(producer)) merge(parts_.group_of(producer), parts_.group_of(op));
    }
    for (int op = 0; op < graph_.size(); ++op) merge_readers(op);
    merge_readers_of_inputs();
  }
  // Merges the consumers of an op's results.
  void merge_readers(int op) {
    for_each_output(trace_.bound_symbols[op], [&](const Value& value) {
      if (value.is_tensor()) merge_readers_of(value.tensor().id);
    });
  }
  void merge_readers_of_inputs() {
    for (const Value& input : input_values(trace_))
      if (input.is_tensor()) merge_readers_of(input.tensor().id);
  }
  void merge_readers_of(int id) {
    std::vector<int> consumers;
    graph_.consumers(id, consumers);
    if (consumers.size() > 32) return;  // a scalar that most ops read
    for (size_t i = 0; i < consumers.size(); ++i)
      for (size_t j = i + 1; j < consumers.size(); ++j)
        if (may_join(consumers[i]) && may_join(consumers[j]) &&
            are_near(parts_.group_of(consumers[i]), parts_.group_of(consumers[j])))
          merge(parts_.group_of(consumers[i]), parts_.group_of(consumers[j]));
  }

  bool are_near(int a, int b) const {
    const std::vector<int>&first = parts_.members(a), &second = parts_.members(b);
    return std::max(first.front(), second.front()) - std::min(first.back(), second.back()) <= max_distance;
  }

  // Do not fuse recomputed ops with much earlier ones: that would keep the value alive and undo rematerialization.
  bool would_undo_remat(int a, int b) const {
    const auto is_recomputed = [&](int op) { return trace_.bound_symbols[op].tags.has(Tag::recomputed); };
    const std::vector<int>&first = parts_.members(a), &second = parts_.members(b);
    const bool differ = std::ranges::any_of(first, is_recomputed) != std::ranges::all_of(second, is_recomputed) ||
                        std::ranges::all_of(first, is_recomputed) != std::ranges::any_of(second, is_recomputed);
    return differ && !are_near(a, b);
  }

  void merge(int a, int b) {
    if (a == b || parts_.members(a).size() + parts_.members(b).size() > max_ops) return;
    if (would_undo_remat(a, b)) return missed(a, b, "fusing would undo rematerialization");
    if (!parts_.are_convex(a, b)) return missed(a, b, "an op in between belongs to neither");
    OpGroups::Merge merged = parts_.merge(a, b);
    const FusionGroup fusion_group = group_of(parts_.members(merged.into), merged.into);
    const int shape = shapes_[a] == shapes_[b] ? shapes_[a] : not_plain;
    const std::string missed_reason = find_missed_reason(fusion_group, shape);
    if (missed_reason.empty()) {
      shapes_[merged.into] = shape;
      return parts_.keep(merged);
    }
    parts_.undo(std::move(merged));
    missed(a, b, missed_reason);
  }

  int number_of_shape(const BoundSymbol& bound) {
    const Shape& shape = bound.outputs.read()[0].tensor().shape;
    const auto is_same = [&](const Shape* other) {
      return std::ranges::equal(shape, *other, [](const Int& x, const Int& y) { return x.hint() == y.hint(); });
    };
    const auto known = std::ranges::find_if(known_shapes_, is_same);
    if (known != known_shapes_.end()) return static_cast<int>(known - known_shapes_.begin());
    known_shapes_.push_back(&shape);
    return static_cast<int>(known_shapes_.size()) - 1;
  }

  // Returns true if a group of plain ops is within the limits of a kernel, so that it need not be lowered to find out.
  bool is_plain(const FusionGroup& fusion_group) {
    if (!fusion_group.views.empty() || fusion_group.results.empty()) return false;
    read_.clear();
    for (const int op : fusion_group.ops)
      for_each_argument(trace_.bound_symbols[op], [&](const Value& value) {
        if (value.is_tensor() && !std::ranges::binary_search(fusion_group.ops, graph_.producer(value.tensor().id)))
          read_.push_back(value.tensor().id);
      });
    std::sort(read_.begin(), read_.end());
    read_.erase(std::unique(read_.begin(), read_.end()), read_.end());
    return read_.size() + fusion_group.results.size() <= codegen::max_plain_operands;
  }

  std::string find_missed_reason(const FusionGroup& fusion_group, int shape) {
    return shape != not_plain && is_plain(fusion_group) ? std::string()
                                                        : rules_.missed_reason(group_ops(trace_, fusion_group));
  }

  void missed(int a, int b, std::string_view why) {
    if (!explains_) return;
    const auto name = [&](int group) {
      const BoundSymbol& bound = trace_.bound_symbols[parts_.members(group).back()];
      return text::cat(bound.symbol->name(), " (", proxy_name(bound.outputs.read()[0]), ")");
    };
    std::string missed_reason = text::cat(name(std::min(a, b)), " and ", name(std::max(a, b)), " are not fused: ", why);
    if (std::ranges::find(out_.missed_fusions, missed_reason) == out_.missed_fusions.end())
      out_.missed_fusions.push_back(std::move(missed_reason));
  }

  FusionGroup group_of(const std::vector<int>& ops, int group) const {
    FusionGroup fusion_group;
    fusion_group.ops = ops;
    for (const int op : ops)
      for_each_argument(trace_.bound_symbols[op], [&](const Value& value) {
        if (value.is_tensor()) graph_.base(value, &fusion_group.views);
      });
    std::sort(fusion_group.views.begin(), fusion_group.views.end());
    fusion_group.views.erase(std::unique(fusion_group.views.begin(), fusion_group.views.end()),
                             fusion_group.views.end());
    std::vector<int> consumers;
    for (const int op : ops)
      for_each_output(trace_.bound_symbols[op], [&](const Value& value) {
        if (!value.is_tensor() || graph_.producer(value.tensor().id) != op) return;
        consumers.clear();
        graph_.consumers(value.tensor().id, consumers);
        if (std::ranges::any_of(consumers, [&](int consumer) { return parts_.group_of(consumer) != group; }))
          fusion_group.results.push_back(value);
      });
    return fusion_group;
  }

  // Tensors that the ops read and do not produce.
  void find_inputs(FusionGroup& fusion_group) const {
    const auto is_inside = [&](int op) {
      return std::ranges::binary_search(fusion_group.ops, op) || std::ranges::binary_search(fusion_group.views, op);
    };
    const auto add_inputs_of = [&](int op) {
      for_each_argument(trace_.bound_symbols[op], [&](const Value& value) {
        if (!value.is_tensor() || is_inside(graph_.producer(value.tensor().id))) return;
        const auto is_same = [&](const Value& input) { return input.tensor().id == value.tensor().id; };
        if (std::ranges::none_of(fusion_group.inputs, is_same)) fusion_group.inputs.push_back(value);
      });
    };
    for (const int op : fusion_group.views) add_inputs_of(op);
    for (const int op : fusion_group.ops) add_inputs_of(op);
  }

  FusionGroups finish() {
    out_.group_of.assign(static_cast<size_t>(graph_.size()), -1);
    for (int group = 0; group < graph_.size(); ++group) {
      const std::vector<int>& ops = parts_.members(group);
      if (ops.empty() || !is_candidate_[ops[0]]) continue;
      if (ops.size() == 1 && !rules_.is_profitable_alone(trace_.bound_symbols[ops[0]])) continue;
      FusionGroup grouped = group_of(ops, group);
      if (grouped.results.empty()) continue;
      if (!find_missed_reason(grouped, shapes_[group]).empty()) continue;
      find_inputs(grouped);
      for (const int op : ops) out_.group_of[op] = static_cast<int>(out_.groups.size());
      out_.groups.push_back(std::move(grouped));
    }
    return std::move(out_);
  }

  const Trace& trace_;
  const DependencyGraph& graph_;
  const std::vector<char>& is_candidate_;
  const GroupingRules& rules_;
  const bool explains_;
  OpGroups parts_;
  // by group: for plain ops, the index of their results' shape in known_shapes_
  std::vector<int> shapes_;
  std::vector<const Shape*> known_shapes_;
  std::vector<char> waits_;  // by op: it is fused last, after the other groups are complete
  std::vector<int> read_;
  FusionGroups out_;
};

}  // namespace

codegen::LoopNest group_ops(const Trace& trace, const FusionGroup& grouped) {
  std::vector<int> all(grouped.ops.size() + grouped.views.size());
  std::merge(grouped.ops.begin(), grouped.ops.end(), grouped.views.begin(), grouped.views.end(), all.begin());
  codegen::LoopNest fusion_group;
  for (const int op : all) fusion_group.ops.push_back(&trace.bound_symbols[op]);
  fusion_group.results = grouped.results;
  return fusion_group;
}

void FusionGroups::keep_if(const std::function<bool(const FusionGroup&)>& keep) {
  std::vector<int> number(groups.size(), -1);
  std::vector<FusionGroup> kept;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!keep(groups[i])) continue;
    number[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(groups[i]));
  }
  groups = std::move(kept);
  for (int& fusion_group : group_of)
    if (fusion_group >= 0) fusion_group = number[fusion_group];
}

FusionGroups group_ops_for_fusion(const Trace& trace, const DependencyGraph& graph,
                                  const std::vector<char>& is_candidate, const GroupingRules& rules, bool explains) {
  return Grouping(trace, graph, is_candidate, rules, explains).run();
}

}  // namespace fulgurite::fuser
