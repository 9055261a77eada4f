#include "compiled_autograd/backward_key.h"

#include <algorithm>
#include <functional>

#include "autograd/compiled/traced_node.h"
#include "autograd/engine/accumulate_grad.h"
#include "autograd/functions/function_node.h"
#include "autograd/hooks/node_hooks.h"
#include "compiled_autograd/capture.h"
#include "executors/registry.h"
#include "support/containers/pointer_map.h"

namespace fulgurite {

namespace {

// Four independent chains, for instruction-level parallelism.
uint64_t hash_of(const KeyWords& words) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15u;
  uint64_t lanes[4] = {1, 2, 3, 4};
  const auto add = [](uint64_t& lane, uint64_t word) {
    lane = (lane ^ word) * factor;
    lane ^= lane >> 29;
  };
  size_t i = 0;
  for (; i + 4 <= words.size(); i += 4)
    for (size_t lane = 0; lane < 4; ++lane) add(lanes[lane], words[i + lane]);
  for (; i < words.size(); ++i) add(lanes[i % 4], words[i]);
  for (size_t lane = 1; lane < 4; ++lane) add(lanes[0], lanes[lane]);
  return lanes[0];
}

class KeyWriter {
 public:
  /// With a structure, sizes are appended there instead of to the key.
  KeyWriter(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs, BackwardKey& key,
            BackwardStructure* structure)
      : call_(call), graph_(graph), inputs_(inputs), structure_(structure), storages_(inputs.size()), key_(key) {}

  void write(const compiled_autograd::Options& options) {
    add(executors_version(), KeyField::options);
    add(uint64_t{options.dynamic} | uint64_t{call_.create_graph} << 1 | uint64_t{options.allow_excess_precision} << 2,
        KeyField::options);
    for (const std::string& name : options.executors) add(std::hash<std::string>()(name), KeyField::options);
    add(graph_.calls.size(), KeyField::call_count);
    add(call_.inputs.size(), KeyField::asked_count);
    for (const NodeCall::Target& root : graph_.roots) {
      add(root, KeyField::root);
      add_input();
    }
    end_part();
    for (const NodeCall& one : graph_.calls) add(one);
    key_.hash = hash_of(key_.words);
  }

 private:
  void add(uint64_t word, KeyField field) {
    key_.words.push_back(word);
    if (structure_) structure_->fields.push_back(field);
  }
  void add(const NodeCall::Target& target, KeyField field) {
    add(static_cast<uint64_t>(target.call + 1) << 32 | static_cast<uint32_t>(target.output), field);
  }
  void end_part() {
    if (structure_) structure_->ends.push_back(key_.words.size());
  }

  void add_size(int64_t size) {
    if (!structure_) return key_.words.push_back(static_cast<uint64_t>(size));
    structure_->sizes.values.push_back(size);
    structure_->sizes.calls.push_back(place_);
  }

  void add_type(const Tensor& tensor) {
    const TensorImpl& impl = *tensor.impl();
    add(static_cast<uint64_t>(impl.dtype) << 32 | impl.sizes.size(), KeyField::type);
    for (const int64_t size : impl.sizes) add_size(size);
  }

  // Adds the next gathered tensor: its type and identity.
  void add_input() {
    const Tensor& tensor = inputs_[next_input_++];
    if (structure_) structure_->sizes.of_inputs.push_back(structure_->sizes.values.size());
    if (!tensor.defined()) return add(0, KeyField::tensor);
    const size_t known = known_.size();
    const size_t number = number_of(tensor);
    add(number, KeyField::tensor);
    if (known_.size() > known) add_type(tensor);
  }

  // Tensors of one storage form a linked list, the newest first.
  size_t number_of(const Tensor& tensor) {
    const auto next = static_cast<uint32_t>(known_.size());
    const auto [newest, is_new] = storages_.try_emplace(tensor.impl()->storage.get(), next);
    for (uint32_t at = is_new ? none : newest; at != none; at = known_[at].before)
      if (is_same_input(call_, *known_[at].tensor, tensor)) return at + 1;
    known_.push_back({&tensor, is_new ? none : newest});
    if (!is_new) storages_.set(tensor.impl()->storage.get(), next);
    return next + 1;
  }

  void add_hooks(const Node& node) {
    const Node::Hooks* const hooks = node.existing_hooks();
    for (size_t output = 0; output < node.output_count(); ++output)
      add(hooks ? add_recorded(hooks->outputs[output].hooks.snapshot()) << 32 | count_retaining(node, output) : 0,
          KeyField::hooks);
    add(static_cast<uint64_t>(hooks && !hooks->before.empty()) << 1 |
            static_cast<uint64_t>(hooks && !hooks->after.empty()),
        KeyField::node_hooks);
  }

  // Adds the identities of recorded hooks; returns their number.
  size_t add_recorded(const std::vector<Hook>& hooks) {
    for (size_t i = 0; i < hooks.size(); ++i) {
      if (!hooks[i].recorded_as()) continue;
      add(i, KeyField::recorded_hook);
      add(reinterpret_cast<uintptr_t>(hooks[i].recorded_as().get()), KeyField::recorded_hook);
      if (structure_) key_.formulas.push_back(hooks[i].recorded_as());
    }
    return hooks.size();
  }

  void add(const NodeCall& one) {
    ++place_;
    Node& node = *one.node;
    if (structure_) structure_->sizes.of_calls.push_back(structure_->sizes.values.size());
    if (one.leaf) {
      add_leaf(*one.leaf);
    } else if (one.traced) {
      add(*one.traced);
    } else if (const FunctionNode* const function = node.as_function()) {
      add(std::hash<std::string>()(function->node_name), KeyField::function);
      for (const TensorType& type : function->inputs) {
        add(static_cast<uint64_t>(type.dtype) << 32 | type.shape.size(), KeyField::type);
        for (const Int size : type.shape) add_size(size.hint());
      }
    }
    if (structure_) structure_->sizes.own_ends.push_back(structure_->sizes.values.size());
    add(static_cast<uint64_t>(one.is_needed), KeyField::is_needed);
    add(one.needed, KeyField::needed);
    for (const NodeCall::Target& target : one.targets) add(target, KeyField::target);
    for (const NodeCall::Asked& asked : one.asked)
      add(asked.input << 32 | static_cast<uint32_t>(asked.output), KeyField::asked);
    if (!one.leaf || node.existing_hooks()) add_hooks(node);
    for (size_t i = 0; i < one.saved; ++i) add_input();
    end_part();
  }

  void add_leaf(const Tensor& leaf) {
    add_type(leaf);
    const std::lock_guard lock(autograd_mutex(*leaf.impl()));
    const TensorAutograd& state = autograd_of(*leaf.impl());
    const size_t hooks = state.hooks.empty() ? 0 : add_recorded(state.hooks.snapshot());
    const size_t after = state.post_accumulate_hooks.empty() ? 0 : state.post_accumulate_hooks.snapshot().size();
    add(uint64_t{state.grad.defined()} | uint64_t{hooks} << 8 | uint64_t{after} << 32, KeyField::leaf);
  }

  void add(const TracedNode& node) {
    if (!structure_) {
      add(reinterpret_cast<uintptr_t>(node.formula()), KeyField::operation);
      return node.append_key(key_.words);
    }
    key_.formulas.push_back(node.share_formula());
    const size_t first = key_.words.size();
    if (!node.append_structure(key_.words, structure_->sizes.values)) structure_->sizes.has_constants = true;
    structure_->sizes.calls.resize(structure_->sizes.values.size(), place_);
    structure_->fields.resize(key_.words.size(), KeyField::argument);
    if (first < structure_->fields.size()) structure_->fields[first] = KeyField::operation;
  }

  static constexpr uint32_t none = ~uint32_t{0};
  struct Known {
    const Tensor* tensor;
    uint32_t before;  // the previous tensor of the same storage
  };

  const BackwardCall& call_;
  const BackwardGraph& graph_;
  const std::vector<Tensor>& inputs_;
  BackwardStructure* const structure_;
  int place_ = -1;
  size_t next_input_ = 0;
  SmallVector<Known, 32> known_;
  PointerMap storages_;  // the newest of known_ in each
  BackwardKey& key_;
};

}  // namespace

bool BackwardStructure::same_part(const BackwardStructure& other, size_t part) const {
  if (part >= parts() || part >= other.parts()) return false;
  const auto word = [](const BackwardStructure& one, size_t end) { return one.key.words.begin() + end; };
  return std::equal(word(*this, begin(part)), word(*this, ends[part]), word(other, other.begin(part)),
                    word(other, other.ends[part]));
}

BackwardKey backward_key(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs,
                         const compiled_autograd::Options& options) {
  BackwardKey key;
  KeyWriter(call, graph, inputs, key, nullptr).write(options);
  return key;
}

void keep_formulas(const BackwardGraph& graph, BackwardKey& key) {
  for (const NodeCall& one : graph.calls) {
    if (one.traced) key.formulas.push_back(one.traced->share_formula());
    for (size_t output = 0; output < one.node->output_count(); ++output)
      for (const Hook& hook : hooks_of_output(*one.node, output))
        if (hook.recorded_as()) key.formulas.push_back(hook.recorded_as());
  }
}

BackwardStructure backward_structure(const BackwardCall& call, const BackwardGraph& graph,
                                     const std::vector<Tensor>& inputs, const compiled_autograd::Options& options) {
  BackwardStructure out;
  KeyWriter(call, graph, inputs, out.key, &out).write(options);
  return out;
}

}  // namespace fulgurite
