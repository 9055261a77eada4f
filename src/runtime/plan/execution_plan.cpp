#include "runtime/plan/execution_plan.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "implementation/implementation.h"
#include "ir/analysis/trace_values.h"
#include "ir/structural.h"
#include "runtime/plan/elide_concat_copies.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/plan/reuse_operand_buffers.h"
#include "support/text/text.h"
#include "tensor/meta_tensor.h"
#include "tracing/argument_pack.h"

namespace fulgurite {

namespace {

Sizes concrete_sizes(const TensorProxy& proxy) {
  Sizes sizes;
  for (const Int size : proxy.shape) {
    if (size.is_symbolic() && size.proxy()->constraint != NumberProxy::Constraint::fixed)
      throw InternalError(
          text::cat("a program needs sizes that are fixed, and ", proxy.name, " has ", proxy.type_text()));
    sizes.push_back(size.hint());
  }
  return sizes;
}

/// Builds a plan in one pass over a trace, then decides the storage of each root.
class PlanBuilder final : public ArgumentPack::Resolver {
 public:
  explicit PlanBuilder(const Trace& trace) {
    plan_.trace = trace;
    slot_of_.resize(static_cast<size_t>(trace.next_id), -1);
  }

  ExecutionPlan build() {
    for (const Value& input : input_values(plan_.trace)) {
      plan_.inputs.push_back(input.is_tensor() ? add_slot(input.tensor(), StorageClass::input) : -1);
      if (input.is_tensor()) slot_of_[id_of(input)] = plan_.inputs.back();
    }
    const std::span<const BoundSymbol> symbols = plan_.trace.bound_symbols.read();
    const auto is_step = [](const BoundSymbol& bound) { return !bound.outputs.empty(); };  // deletions have no results
    const auto steps = static_cast<size_t>(std::count_if(symbols.begin(), symbols.end(), is_step));
    plan_.slots.reserve(plan_.inputs.size() + steps);
    plan_.steps.reserve(steps);
    for (size_t i = 0; i < symbols.size(); ++i) add(symbols[i], i);
    for (const Value& result : returned_values(plan_.trace))
      plan_.results.push_back(result.is_tensor() ? slot(result) : -1);
    place_results();
    write_into_inputs();
    drop_arena_views();
    elide_concat_copies(plan_);
    write_results_over_operands(plan_);
    skip_unread_results();
    place_arena();
    return std::move(plan_);
  }

  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override {
    return geometry_only(plan_.slots[slot(Value(proxy))]);
  }

 private:
  size_t id_of(const Value& value) {
    const auto id = static_cast<size_t>(value.proxy_id());
    if (id >= slot_of_.size()) slot_of_.resize(id + 1, -1);
    return id;
  }
  int slot(const Value& value) {
    const int found = slot_of_[id_of(value)];
    if (found < 0)
      throw InternalError(text::cat(plan_.trace.name, " uses ", value.tensor().name, ", which nothing before makes"));
    return found;
  }
  int step_index() const { return static_cast<int>(plan_.steps.size()); }

  const Geometry* add_geometry(const Sizes& sizes, const Sizes& strides) {
    // Most slots have the geometry of one of the last few.
    size_t looked_at = 0;
    for (auto known = plan_.geometries.rbegin(); known != plan_.geometries.rend() && looked_at < 4;
         ++known, ++looked_at)
      if (known->sizes == sizes && known->strides == strides) return &*known;
    plan_.geometries.push_back({sizes, strides});
    return &plan_.geometries.back();
  }

  int add_slot(Dtype dtype, const Geometry* geometry, StorageClass storage_class) {
    const int index = static_cast<int>(plan_.slots.size());
    Slot& slot = plan_.slots.emplace_back();
    slot.storage_class = storage_class;
    slot.dtype = dtype;
    slot.geometry = geometry;
    slot.root = index;
    slot.first = slot.last = step_index();
    return index;
  }
  int add_slot(Dtype dtype, const Sizes& sizes, StorageClass storage_class) {
    return add_slot(dtype, add_geometry(sizes, contiguous_strides(sizes)), storage_class);
  }
  int add_slot(const TensorProxy& proxy, StorageClass storage_class) {
    return add_slot(proxy.dtype, concrete_sizes(proxy), storage_class);
  }

  void add_step(Step step) {
    for (const int operand : step.operands) {
      Slot& root = plan_.slots[plan_.slots[operand].root];
      root.last = step_index();
    }
    plan_.steps.push_back(std::move(step));
  }

  Operands operands(const BoundSymbol& bound) {
    Operands out;
    for_each_argument(bound, [&](const Value& value) {
      if (value.is_tensor()) out.push_back(slot(value));
    });
    return out;
  }

  void add(const BoundSymbol& bound, size_t position) {
    const Symbol* symbol = bound.symbol;
    if (is_return(*symbol) || is_del(*symbol) || is_clear(*symbol)) return;
    if (is_unpack(*symbol)) add_unpack(bound);
    else if (is_write(*symbol)) add_write(bound, position);
    else if (bound.implementation != nullptr) add_kernel(bound);
    else if (symbol->view != nullptr) add_view(bound);
    else
      throw InternalError(
          text::cat(symbol->qualified_name(), " has no implementation in the execution trace ", plan_.trace.name));
  }

  // The items of a collection are already inputs of the program; an item may have been renamed.
  void add_unpack(const BoundSymbol& bound) {
    std::vector<Value> from, to;
    for_each_argument(bound, [&](const Value& value) { from.push_back(value); });
    for_each_output(bound, [&](const Value& value) { to.push_back(value); });
    if (from.size() != to.size())
      throw InternalError("prims.unpack_sequence gives another number of items than it takes");
    for (size_t i = 0; i < to.size(); ++i)
      if (to[i].is_tensor()) slot_of_[id_of(to[i])] = slot(from[i]);
  }

  void add_kernel(const BoundSymbol& bound) {
    const bool is_call = bound.implementation->user != nullptr;
    Step step;
    step.kind = is_call ? Step::Kind::call : Step::Kind::kernel;
    step.bound = &bound;
    step.operands = operands(bound);
    step.result = static_cast<int>(plan_.slots.size());
    for_each_output(bound, [&](const Value& output) {
      if (!output.is_tensor())
        throw InternalError(text::cat(bound.symbol->qualified_name(), " gives something else than tensors"));
      slot_of_[id_of(output)] = add_slot(output.tensor(), is_call ? StorageClass::fresh : StorageClass::arena);
      ++step.result_count;
    });
    add_step(std::move(step));
  }

  int add_clone(int source) {
    Step step;
    step.kind = Step::Kind::clone;
    step.source = source;
    step.operands = {source};
    step.result = add_slot(plan_.slots[source].dtype, plan_.slots[source].sizes(), StorageClass::arena);
    step.result_count = 1;
    const int result = step.result;
    add_step(std::move(step));
    return result;
  }

  void add_view(const BoundSymbol& bound) {
    Operands viewed = operands(bound);
    if (viewed.empty()) throw InternalError(text::cat(bound.symbol->qualified_name(), " is a view of no tensor"));
    int base = viewed[0];
    const StorageClass storage_class = plan_.slots[base].storage_class;
    if (storage_class == StorageClass::input || storage_class == StorageClass::input_view) {
      add_view_step(bound, Step::Kind::input_view, viewed, concrete_sizes(bound.outputs.at(0).tensor()));
      plan_.slots.back().storage_class = StorageClass::input_view;
      return;
    }
    ViewGeometry geometry;
    const ArgumentPack pack(bound, *this);
    if (!bound.symbol->view(pack.arguments(), geometry)) {
      base = add_clone(base);
      geometry = ViewGeometry();
      const Tensor clone = geometry_only(plan_.slots[base]);
      SmallVector<Argument, 10> arguments(pack.arguments().begin(), pack.arguments().end());
      arguments[0] = Argument(clone);
      if (!bound.symbol->view({arguments.data(), arguments.size()}, geometry))
        throw InternalError(text::cat(bound.symbol->qualified_name(), " is not a view of a contiguous tensor"));
    }
    viewed[0] = base;
    add_view_step(bound, Step::Kind::view, viewed, geometry.sizes);
    plan_.slots.back().geometry = add_geometry(geometry.sizes, geometry.strides);
    plan_.slots.back().offset = geometry.offset;
  }

  // The first operand is the viewed tensor.
  void add_view_step(const BoundSymbol& bound, Step::Kind kind, const Operands& viewed, const Sizes& sizes) {
    const int base = viewed[0];
    Step step;
    step.kind = kind;
    step.bound = &bound;
    step.source = base;
    step.operands = viewed;
    step.result = add_slot(plan_.slots[base].dtype, sizes, StorageClass::arena);
    step.result_count = 1;
    plan_.slots.back().root = plan_.slots[base].root;
    slot_of_[id_of(bound.outputs.at(0))] = step.result;
    add_step(std::move(step));
  }

  void add_write(const BoundSymbol& bound, size_t position) {
    Step step;
    step.kind = Step::Kind::write;
    step.result = slot(bound.args.at(1));
    step.result_count = 1;
    keep_old_values(plan_.slots[step.result].root, position);
    step.source = slot(bound.args.at(0));  // after keep_old_values, which may have renamed the source
    step.operands = {step.source};
    const Slot &from = plan_.slots[step.source], &to = plan_.slots[step.result];
    if (from.dtype != to.dtype || !(from.sizes() == to.sizes()))
      throw InternalError("prims.copy_ between tensors of different types or sizes");
    plan_.slots[to.root].last = step_index();
    const int destination = step.result;
    add_step(std::move(step));
    for_each_output(bound, [&](const Value& output) {
      if (output.is_tensor()) slot_of_[id_of(output)] = destination;
    });
  }

  // Values are functional: copies the values that later ops read of memory that is about to be overwritten.
  void keep_old_values(int root, size_t position) {
    const std::span<const BoundSymbol> symbols = plan_.trace.bound_symbols.read();
    for (size_t i = position + 1; i < symbols.size(); ++i) {
      const Symbol* symbol = symbols[i].symbol;
      if (is_return(*symbol) || is_del(*symbol) || is_clear(*symbol) || is_unpack(*symbol)) continue;
      const auto keep = [&](const Value& value) {
        if (!value.is_tensor()) return;
        const int read = slot_of_[id_of(value)];
        if (read >= 0 && plan_.slots[read].root == root) slot_of_[id_of(value)] = add_clone(read);
      };
      if (is_write(*symbol)) keep(symbols[i].args.at(0));
      else for_each_argument(symbols[i], keep);
    }
  }

  void place_results() {
    for (const int result : plan_.results) {
      if (result < 0) continue;
      plan_.slots[result].escapes = true;
      Slot& root = plan_.slots[plan_.slots[result].root];
      if (root.storage_class == StorageClass::arena) root.storage_class = StorageClass::fresh;
    }
  }

  // Makes a write's producer write directly into the input, if it is a pointwise kernel or a scatter update of that
  // same input and nothing reads the old value later. (Guards ensure that inputs do not share memory.)
  void write_into_inputs() {
    const auto is_write = [](const Step& step) { return step.kind == Step::Kind::write; };
    if (std::none_of(plan_.steps.begin(), plan_.steps.end(), is_write)) return;
    std::vector<std::vector<int>> readers(plan_.slots.size());  // steps, by root
    std::vector<int> writes(plan_.slots.size(), 0), producer(plan_.slots.size(), -1);
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      for (const int operand : step.operands) readers[plan_.slots[operand].root].push_back(static_cast<int>(i));
      if (step.kind == Step::Kind::write) ++writes[plan_.slots[step.result].root];
      else
        for (int k = 0; k < step.result_count; ++k) producer[step.result + k] = static_cast<int>(i);
    }
    for (const Step& write : plan_.steps) {
      if (write.kind != Step::Kind::write) continue;
      Slot& source = plan_.slots[write.source];
      const Slot& destination = plan_.slots[write.result];
      if (source.storage_class != StorageClass::arena || source.root != write.source ||
          destination.storage_class != StorageClass::input)
        continue;
      if (writes[write.result] != 1) continue;
      const int made = producer[write.source];
      const Step& maker = plan_.steps[made];
      if (maker.kind != Step::Kind::kernel) continue;
      if (!is_elementwise_update(*maker.bound->symbol) && !scatter_updates_of(maker, write.result)) continue;
      const bool is_read_later = std::any_of(readers[write.result].begin(), readers[write.result].end(),
                                             [&](int reader) { return reader > made; });
      const bool is_read_through_view = std::any_of(maker.operands.begin(), maker.operands.end(), [&](int operand) {
        return plan_.slots[operand].root == write.result && operand != write.result;
      });
      if (is_read_later || is_read_through_view) continue;
      source.storage_class = StorageClass::input_memory;
      source.destination = write.result;
    }
  }

  // Returns true if a kernel copies `input` and then updates some elements, and no other operand aliases `input`.
  bool scatter_updates_of(const Step& maker, int input) const {
    if (!is_scatter_update(*maker.bound->symbol)) return false;
    const auto is_in = [&](int operand) { return plan_.slots[operand].root == input; };
    return maker.operands[0] == input && std::ranges::count_if(maker.operands, is_in) == 1;
  }

  // Drops views of arena memory: they are fully resolved when planning.
  void drop_arena_views() {
    std::vector<char> is_dropped(plan_.steps.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (step.kind != Step::Kind::view) continue;
      Slot& view = plan_.slots[step.result];
      const Slot& root = plan_.slots[view.root];
      view.storage_class = root.storage_class;
      is_dropped[i] = root.storage_class == StorageClass::arena;
    }
    size_t kept = 0;
    for (size_t i = 0; i < plan_.steps.size(); ++i)
      if (!is_dropped[i]) {
        if (kept != i) plan_.steps[kept] = std::move(plan_.steps[i]);
        ++kept;
      }
    plan_.steps.resize(kept);
  }

  // The indices of max_pool in inference, for example.
  void skip_unread_results() {
    std::vector<char> is_read(plan_.slots.size());
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      const Slot& slot = plan_.slots[i];
      const bool is_root = slot.root == static_cast<int>(i);
      if (!is_root || slot.last > slot.first || slot.escapes) is_read[i] = true;
      if (!is_root) is_read[slot.root] = true;  // by a view, for example
    }
    for (const Step& step : plan_.steps) {
      if (step.kind != Step::Kind::kernel || !step.bound->implementation->skips_unread_results) continue;
      for (int k = 1; k < step.result_count; ++k) {
        const int result = step.result + k;
        Slot& slot = plan_.slots[result];
        if (slot.storage_class == StorageClass::arena && !is_read[result]) slot.storage_class = StorageClass::none;
      }
    }
  }

  // first and last still count all steps, including dropped ones: only their order matters here.
  void place_arena() {
    std::vector<PlannedBuffer> buffers;
    std::vector<int> roots;
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      const Slot& slot = plan_.slots[i];
      if (slot.storage_class != StorageClass::arena || slot.root != static_cast<int>(i)) continue;
      buffers.push_back({size_of(slot.dtype) * slot.element_count(), slot.first, slot.last});
      roots.push_back(static_cast<int>(i));
    }
    plan_.arena_bytes = plan_memory(buffers);
    for (size_t i = 0; i < roots.size(); ++i) plan_.slots[roots[i]].arena_offset = buffers[i].offset;
  }

  ExecutionPlan plan_;
  std::vector<int> slot_of_;  // by proxy id, at the op being laid out; -1: none
};

}  // namespace

ExecutionPlan make_execution_plan(const Trace& trace) {
  ExecutionPlan plan = PlanBuilder(trace).build();
  plan.fusion_times = std::make_shared<FusionTimes>(static_cast<size_t>(std::ranges::count_if(plan.steps, is_fusion)));
  return plan;
}

Tensor geometry_only(const Slot& slot) { return meta_tensor(slot.sizes(), slot.strides(), slot.offset, slot.dtype); }

}  // namespace fulgurite
