#include "compiled_autograd/backward_key.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "autograd/accumulate_grad.h"
#include "autograd/function_node.h"
#include "autograd/node_hooks.h"
#include "autograd/traced_node.h"
#include "executors/executor.h"
#include "tensor/same_memory.h"

namespace fulgurite {

namespace {

class KeyWriter {
 public:
  KeyWriter(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs) : call_(call), graph_(graph), inputs_(inputs) {}

  BackwardKey write(const std::vector<std::string>& executors) {
    add(executors_version());
    for (const std::string& name : executors) add(std::hash<std::string>()(name));
    add(graph_.calls.size());
    add(call_.inputs.size());
    for (const NodeCall::Target& root : graph_.roots) {
      add(root);
      add_input();
    }
    end_part();
    for (const NodeCall& one : graph_.calls) add(one);
    for (const uint64_t word : key_.words) key_.hash = (key_.hash ^ word) * 0x9e3779b97f4a7c15u, key_.hash ^= key_.hash >> 29;
    return std::move(key_);
  }

 private:
  void add(uint64_t word) { key_.words.push_back(word); }
  void add(const NodeCall::Target& target) { add(static_cast<uint64_t>(target.call + 1) << 32 | static_cast<uint32_t>(target.output)); }
  void end_part() { key_.ends.push_back(key_.words.size()); }

  void add_type(const Tensor& tensor) {
    const TensorImpl& impl = *tensor.impl();
    add(static_cast<uint64_t>(impl.dtype) << 32 | impl.sizes.size());
    for (const int64_t size : impl.sizes) add(static_cast<uint64_t>(size));
  }

  // The next gathered tensor: its type, and which one it is.
  void add_input() {
    const Tensor& tensor = inputs_[next_input_++];
    if (!tensor.defined()) return add(0);
    const auto [at, is_new] = known_.try_emplace(Memory{tensor.impl()->storage.get(), &tensor}, known_.size() + 1);
    add(at->second);
    if (is_new) add_type(tensor);
  }

  void add_hooks(const Node& node) {
    for (size_t output = 0; output < node.output_count(); ++output)
      add(hooks_of_output(node, output).size() << 32 | count_retaining(node, output));
    const Node::Hooks* const hooks = node.existing_hooks();
    add(static_cast<uint64_t>(hooks && !hooks->before.empty()) << 1 | static_cast<uint64_t>(hooks && !hooks->after.empty()));
  }

  void add(const NodeCall& one) {
    Node& node = *one.node;
    add(static_cast<uint64_t>(one.is_needed));
    add(one.needed);
    for (const NodeCall::Target& target : one.targets) add(target);
    for (const NodeCall::Asked& asked : one.asked) add(asked.input << 32 | static_cast<uint32_t>(asked.output));
    add_hooks(node);
    if (const Tensor* const leaf = node.accumulates_into()) {
      add_type(*leaf);
      add(static_cast<uint64_t>(gradient_of(*leaf).defined()) | static_cast<uint64_t>(post_accumulate_hooks(*leaf).size()) << 8);
    } else if (const auto* const traced = dynamic_cast<const TracedNode*>(&node)) {
      key_.formulas.push_back(traced->formula());
      add(reinterpret_cast<uintptr_t>(key_.formulas.back().get()));
      traced->append_key(key_.words);
      for (size_t i = 0; i < one.saved; ++i) add_input();
    } else if (const auto* const function = dynamic_cast<const FunctionNode*>(&node)) {
      add(std::hash<std::string>()(function->node_name));
      for (const TensorType& type : function->inputs) {
        add(static_cast<uint64_t>(type.dtype) << 32 | type.shape.size());
        for (const Int size : type.shape) add(static_cast<uint64_t>(size.hint()));
      }
    }
    end_part();
  }

  struct Memory {
    const Storage* storage;
    const Tensor* tensor;
    bool operator==(const Memory& other) const { return is_same_memory(*tensor, *other.tensor); }
  };
  struct MemoryHash {
    size_t operator()(const Memory& memory) const { return std::hash<const void*>()(memory.storage); }
  };

  const BackwardCall& call_;
  const BackwardGraph& graph_;
  const std::vector<Tensor>& inputs_;
  size_t next_input_ = 0;
  std::unordered_map<Memory, size_t, MemoryHash> known_;
  BackwardKey key_;
};

}  // namespace

bool BackwardKey::same_part(const BackwardKey& other, size_t part) const {
  if (part >= parts() || part >= other.parts()) return false;
  const auto begin = [part](const BackwardKey& key) { return key.words.begin() + static_cast<std::ptrdiff_t>(part == 0 ? 0 : key.ends[part - 1]); };
  const auto end = [part](const BackwardKey& key) { return key.words.begin() + static_cast<std::ptrdiff_t>(key.ends[part]); };
  return std::equal(begin(*this), end(*this), begin(other), end(other));
}

BackwardKey backward_key(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs,
                         const std::vector<std::string>& executors) {
  return KeyWriter(call, graph, inputs).write(executors);
}

}  // namespace fulgurite
