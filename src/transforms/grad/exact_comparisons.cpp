#include "transforms/grad/exact_comparisons.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/structural.h"
#include "transforms/grad/joint_trace.h"

namespace fulgurite {

namespace {

class Search {
 public:
  explicit Search(const Trace& joint) : joint_(joint), is_forward_(find_forward(joint)), producer_(joint.next_id, -1) {
    for (size_t i = 0; i < joint.bound_symbols.size(); ++i)
      for_each_output(joint.bound_symbols[i], [&](const Value& value) {
        if (const int id = proxy_id(value); id >= 0) producer_[id] = static_cast<int>(i);
      });
  }

  std::vector<ComparedElements> run() {
    for (const BoundSymbol& bound : joint_.bound_symbols) {
      if (!bound.symbol->semantics.equality) continue;
      const std::vector<int> left = sources(bound.args[0]), right = sources(bound.args[1]);
      compare(left, right);
      compare(right, left);
    }
    return std::move(found_);
  }

 private:
  // The forward values that a value is computed from: through any ops of the backward, and through exact ops of the
  // forward.
  std::vector<int> sources(const Value& value) const {
    std::vector<int> ids;
    std::vector<char> is_seen(producer_.size(), false);
    const auto add = [&](const Value& v) {
      const int id = v.is_tensor() ? proxy_id(v) : -1;
      if (id < 0 || is_seen[id]) return;
      is_seen[id] = true;
      ids.push_back(id);
    };
    add(value);
    for (size_t next = 0; next < ids.size(); ++next) {
      const int op = producer_[ids[next]];
      if (op < 0) continue;
      const BoundSymbol& bound = joint_.bound_symbols[static_cast<size_t>(op)];
      if (is_get_grad(bound) || (is_forward_[static_cast<size_t>(op)] && !is_exact(*bound.symbol))) continue;
      for_each_argument(bound, add);
    }
    return ids;
  }

  void compare(const std::vector<int>& elements, const std::vector<int>& results) {
    for (const int id : results) {
      const int op = producer_[id];
      if (op < 0 || !is_forward_[static_cast<size_t>(op)]) continue;
      const BoundSymbol& selector = joint_.bound_symbols[static_cast<size_t>(op)];
      if (selector.symbol->traits.pointwise || is_exact(*selector.symbol)) continue;
      for_each_argument(selector, [&](const Value& argument) {
        if (!argument.is_tensor()) return;
        const std::vector<int> own = sources(argument);
        if (std::ranges::any_of(own, [&](int source) { return std::ranges::find(elements, source) != elements.end(); }))
          found_.push_back({proxy_id(argument), op});
      });
    }
  }

  const Trace& joint_;
  const std::vector<char> is_forward_;
  std::vector<int> producer_;  // by proxy id: the op
  std::vector<ComparedElements> found_;
};

}  // namespace

std::vector<ComparedElements> find_compared_elements(const Trace& joint) { return Search(joint).run(); }

bool is_exact(const Symbol& symbol) { return symbol.traits.view || symbol.semantics.exact; }

}  // namespace fulgurite
