#include "compiled_autograd/explain_miss.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fulgurite/dtype.h>

#include "support/text/text.h"

namespace fulgurite {

namespace {

std::string name_of_part(const StructureOfBackward& one, size_t part) {
  return part == 0                       ? std::string("GraphRoot")
         : part <= one.node_names.size() ? one.node_names[part - 1]
                                         : std::string();
}
std::string node_text(const StructureOfBackward& one, size_t part) {
  return text::cat(name_of_part(one, part), " (NodeCall ", part, ")");
}
std::string op_text(const StructureOfBackward& one, size_t part) {
  return part == 0 || one.node_ops[part - 1].empty() ? std::string() : "; " + one.node_ops[part - 1];
}

const char* field_name(KeyField field) {
  switch (field) {
    case KeyField::options: return "the executors or the options";
    case KeyField::call_count: return "the number of nodes";
    case KeyField::asked_count: return "the number of gradients asked for";
    case KeyField::root: return "where a given gradient goes";
    case KeyField::tensor: return "which of the tensors so far a saved tensor is";
    case KeyField::type: return "the type of a tensor";
    case KeyField::is_needed: return "whether it leads to what is asked for";
    case KeyField::needed: return "which of its gradients are needed";
    case KeyField::target: return "where a gradient goes";
    case KeyField::asked: return "which gradient is asked for";
    case KeyField::hooks: return "hooks on an output";
    case KeyField::recorded_hook: return "a traceable hook";
    case KeyField::node_hooks: return "hooks on the node";
    case KeyField::leaf: return "the leaf";
    case KeyField::operation: return "the compiled function";
    case KeyField::argument: return "a constant among the operator's arguments";
    case KeyField::function: return "the custom function";
  }
  return "";
}

std::string value_text(const StructureOfBackward& one, KeyField field, uint64_t word) {
  const uint64_t high = word >> 32, low = word & 0xffffffff;
  const auto count = [](uint64_t n, const char* what) { return text::cat(n, " ", what, n == 1 ? "" : "s"); };
  switch (field) {
    case KeyField::type: return text::cat(static_cast<Dtype>(high), " of ", count(low, "dimension"));
    case KeyField::root:
    case KeyField::target: return high == 0 ? std::string("nowhere") : node_text(one, high);
    case KeyField::hooks: return text::cat(count(high, "hook"), low > 0 ? ", retained" : "");
    case KeyField::leaf:
      return text::cat((word & 0xff) != 0 ? "with a gradient, " : "without a gradient, ",
                       count(word >> 8 & 0xffffff, "hook"), " and ", count(high, "hook"), " after it");
    case KeyField::node_hooks:
      return word == 0 ? "none" : word == 1 ? "after it" : word == 2 ? "before it" : "before and after it";
    case KeyField::tensor: return word == 0 ? std::string("none") : text::cat("tensor ", word);
    case KeyField::is_needed: return word ? "yes" : "no";
    case KeyField::asked: return text::cat("gradient ", high);
    case KeyField::operation:
    case KeyField::options:
    case KeyField::recorded_hook:
    case KeyField::function: return "one";
    case KeyField::argument:
      // Integers and floats share one encoding; words that are not small integers are floats.
      if (std::abs(static_cast<double>(static_cast<int64_t>(word))) > 1e15)
        return text::cat(std::bit_cast<double>(word));
      return text::cat(static_cast<int64_t>(word));
    case KeyField::needed:
    case KeyField::call_count:
    case KeyField::asked_count: break;
  }
  return text::cat(word);
}

std::string difference(const StructureOfBackward& now, const StructureOfBackward& before, size_t part) {
  const std::string name = name_of_part(now, part), name_before = name_of_part(before, part);
  if (part >= before.structure.parts()) return "the graph is longer";
  if (name != name_before) return text::cat("the node was ", name_before);
  const BackwardStructure &a = before.structure, &b = now.structure;
  const size_t a_count = a.ends[part] - a.begin(part), b_count = b.ends[part] - b.begin(part);
  for (size_t i = 0; i < std::min(a_count, b_count); ++i) {
    const size_t at_a = a.begin(part) + i, at_b = b.begin(part) + i;
    if (a.key.words[at_a] == b.key.words[at_b] && a.fields[at_a] == b.fields[at_b]) continue;
    const KeyField field = b.fields[at_b];
    if (field == KeyField::options || a.fields[at_a] == KeyField::options)
      return text::cat(field_name(KeyField::options), " are others");
    if (a.fields[at_a] != field) return text::cat(field_name(field), " instead of ", field_name(a.fields[at_a]));
    const std::string from = value_text(before, field, a.key.words[at_a]),
                      to = value_text(now, field, b.key.words[at_b]);
    if (from == to) return text::cat(field_name(field), " is another");
    return text::cat(field_name(field), ", from ", from, " to ", to);
  }
  return "it has more arguments";
}

}  // namespace

std::string explain_new_node(const StructureOfBackward& one, std::vector<const StructureOfBackward*> known) {
  const BackwardStructure& structure = one.structure;
  size_t part = 0;
  for (;; ++part) {
    std::vector<const StructureOfBackward*> still;
    std::ranges::copy_if(known, std::back_inserter(still),
                         [&](const auto* other) { return structure.same_part(other->structure, part); });
    if (still.empty() || part + 1 == structure.parts()) break;
    known = std::move(still);
  }
  std::vector<size_t> sizes;
  for (const StructureOfBackward* other : known)
    if (part < other->structure.parts() && name_of_part(*other, part) == name_of_part(one, part))
      sizes.push_back(other->structure.bytes_of(part));
  std::string out = text::cat("Cache miss due to new autograd node: ", node_text(one, part), " with key size ",
                              structure.bytes_of(part), ", previous key sizes=[",
                              text::join(sizes, [](size_t size) { return std::to_string(size); }), "]");
  if (!known.empty()) out += text::cat("\n  what differs: ", difference(one, *known.back(), part), op_text(one, part));
  return out;
}

std::string explain_new_sizes(const StructureOfBackward& one, const Capture& newest, const BackwardSizes& sizes) {
  std::string out;
  const SizePattern& pattern = newest.pattern;
  std::vector<int64_t> values(pattern.symbols(), -1);
  for (size_t i = 0; i < sizes.values.size(); ++i) {
    const int symbol = pattern.symbol(i);
    const int64_t before = pattern.size(i), now = sizes.values[i];
    const auto part = static_cast<size_t>(sizes.calls[i]) + 1;
    std::string change;
    if (symbol < 0 && before != now) {
      change = text::cat("marking size idx ", i, " of ", node_text(one, part), " as dynamic");
    } else if (symbol >= 0) {
      int64_t& value = values[static_cast<size_t>(symbol)];
      if (value >= 0 && value != now)
        change = text::cat("size idx ", i, " of ", node_text(one, part), " is no longer another's");
      else value = now;
    }
    if (change.empty()) continue;
    out += text::cat(out.empty() ? "" : "\n", "Cache miss due to changed shapes: ", change, ", from ", before, " to ",
                     now, op_text(one, part));
  }
  if (!out.empty()) return out;
  if (const auto given = pattern.values(sizes.values)) {
    SymbolValues numbers(*given);
    if (const NumberProxy* guard = failed_guard(newest.guards, numbers))
      return text::cat("Cache miss due to changed shapes: ", guard_text(*guard), " no longer holds");
  }
  return "Cache miss due to changed shapes: the trace does not hold for them";
}

}  // namespace fulgurite
