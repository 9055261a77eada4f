#include <algorithm>
#include <bit>
#include <set>

#include "jit/jit_state.h"
#include "ops/core/autocast.h"
#include "ops/core/dispatch.h"
#include "ops/generated/symbols.h"
#include "ops/structural/number_symbols.h"
#include "support/text/text.h"

namespace fulgurite::detail {

namespace {

/// A call's argument unpacked recursively, down to the leaves.
struct Part {
  std::string key;   // its name or position in its container
  std::string name;  // of the value in the trace
  int leaf = -1;
  std::vector<Part> parts;

  Part& at(std::string_view wanted) {
    for (Part& part : parts)
      if (part.key == wanted) return part;
    parts.push_back({std::string(wanted), text::cat(name, "_", wanted), -1, {}});
    return parts.back();
  }
  bool is_sequence() const {
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].key != std::to_string(i)) return false;
    return true;
  }
};

class Prologue {
 public:
  Prologue(const CacheEntry& entry, const Trace& computation, const std::vector<LeafPath>& paths,
           const FlatArguments& flat)
      : entry_(entry), paths_(paths), flat_(flat) {
    trace_.name = "prologue";
    trace_.tags.add(Tag::prologue);
    trace_.numbers = std::make_shared<std::vector<Ref<NumberProxy>>>();
    trace_.next_id = computation.next_id;
    trace_.next_name = computation.next_name;
    for (KeyItem& item : read_key(flat.key().data(), flat.key().size()))
      if (item.is_leaf()) items_.push_back(std::move(item));
    make_leaf_values(computation);
  }

  Trace make() {
    for (const Part& argument : arguments()) {
      trace_.args.push_back(value(argument));
      open(argument);
    }
    captured();
    strides();
    aliases();
    modes();
    guards();
    std::vector<Value> inputs;
    for (const RecordedInput& input : entry_.inputs) inputs.push_back(inputs_by_id_[input.id]);
    for (const Value& value : values_)
      if (is_symbol(value)) inputs.push_back(value);
    bind(prims_return_symbol, std::move(inputs), {});
    return std::move(trace_);
  }

 private:
  void bind(const Symbol& symbol, std::vector<Value> args, std::vector<Value> outputs) {
    BoundSymbol bound;
    bound.symbol = &symbol;
    bound.args = std::move(args);
    bound.outputs = std::move(outputs);
    trace_.bound_symbols.push_back(std::move(bound));
  }

  void make_leaf_values(const Trace& computation) {
    inputs_by_id_.resize(computation.next_id);
    std::vector<Value> symbols;  // scalars among the arguments, in order
    for (const Value& arg : computation.args) {
      if (arg.is_tensor()) inputs_by_id_[arg.tensor().id] = arg;
      else symbols.push_back(arg);
    }
    size_t tensor = 0, symbol = 0;
    for (size_t i = 0; i < paths_.size(); ++i) {
      const bool may_be_symbol =
          (paths_[i].is_integer || paths_[i].is_floating) && paths_[i].argument != LeafPath::callable_member;
      if (may_be_symbol && symbol < symbols.size()) {
        values_.push_back(symbols[symbol++]);
        continue;
      }
      if (!paths_[i].is_tensor) {
        values_.push_back(number_or_text(items_[i], entry_.leaf_names[i]));
        continue;
      }
      const int leaf = static_cast<int>(tensor++);
      const Tensor& concrete = *flat_.tensors()[leaf];
      values_.push_back(concrete.defined() ? tensor_value(leaf, concrete, entry_.leaf_names[i])
                                           : opaque(entry_.leaf_names[i]));
      tensors_.push_back(values_.back());
    }
  }

  // The computation's input; a tensor passed twice has a value of its own at its second position.
  Value tensor_value(int leaf, const Tensor& concrete, const std::string& name) {
    for (const RecordedInput& input : entry_.inputs)
      if (input.leaf == leaf) return inputs_by_id_[input.id];
    auto* proxy = new TensorProxy;
    proxy->id = trace_.next_id++;
    proxy->name = name;
    proxy->shape = concrete.shape();
    for (const Value& earlier : tensors_)
      if (earlier.is_tensor() && earlier.has_symbolic_sizes() &&
          flat_.tensors()[&earlier - tensors_.data()]->is_same(concrete)) {
        proxy->shape = earlier.tensor().shape;
        proxy->numbers = earlier.tensor().numbers;
      }
    proxy->dtype = concrete.dtype();
    proxy->device = concrete.device();
    proxy->requires_grad = concrete.requires_grad();
    return Value(Ref<TensorProxy>(proxy));
  }

  Value number(NumberProxy::Kind kind, uint64_t bits, const std::string& name) {
    const Ref<NumberProxy> proxy(new NumberProxy);
    proxy->id = trace_.next_id++;
    proxy->name = name;
    proxy->kind = kind;
    proxy->constraint = NumberProxy::Constraint::fixed;
    trace_.numbers->push_back(proxy);
    if (kind == NumberProxy::Kind::floating) {
      proxy->floating = std::bit_cast<double>(bits);
      return Float(proxy->floating, proxy.get());
    }
    proxy->integer = static_cast<int64_t>(bits);
    if (kind == NumberProxy::Kind::boolean) return Bool(bits != 0, proxy.get());
    return Int(proxy->integer, proxy.get());
  }

  // A value without a proxy, a text or a complete collection, is a name.
  static Value opaque(const std::string& name) { return Value::collection(name, {Value()}); }

  Value number_or_text(const KeyItem& item, const std::string& name) {
    switch (item.kind) {
      case KeyItem::Kind::integer: return number(NumberProxy::Kind::integer, item.bits, name);
      case KeyItem::Kind::floating: return number(NumberProxy::Kind::floating, item.bits, name);
      case KeyItem::Kind::boolean: return number(NumberProxy::Kind::boolean, item.bits, name);
      default: return opaque(name);
    }
  }

  std::vector<Part> arguments() const {
    std::vector<std::pair<int, Part>> parts;
    for (size_t i = 0; i < paths_.size(); ++i) {
      const LeafPath& path = paths_[i];
      if (parts.empty() || parts.back().first != path.argument) {
        const std::string name =
            path.argument == LeafPath::callable_member ? std::string("model") : text::cat("argument_", path.argument);
        parts.push_back({path.argument, {"", name, -1, {}}});
      }
      Part* part = &parts.back().second;
      for (std::string_view rest = path.path; !rest.empty();) {
        const size_t dot = rest.find('.');
        part = &part->at(rest.substr(0, dot));
        rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
      }
      part->leaf = static_cast<int>(i);
    }
    std::vector<Part> out;
    for (auto& [argument, part] : parts) out.push_back(std::move(part));
    return out;
  }

  Value value(const Part& part) const {
    if (part.leaf >= 0) return values_[part.leaf];
    std::vector<Value> items;
    for (const Part& inner : part.parts) items.push_back(value(inner));
    return Value::collection(part.name, std::move(items));
  }

  void open(const Part& part) {
    if (part.leaf >= 0) {
      check(items_[part.leaf], values_[part.leaf]);
      return;
    }
    const Value whole = value(part);
    if (part.is_sequence()) {
      bind(prims_check_length_symbol, {whole, Value(part.parts.size())}, {});
      bind(prims_unpack_sequence_symbol, {whole}, whole.list());
    } else {
      for (const Part& inner : part.parts) {
        const Value field = inner.leaf >= 0 ? value(inner) : opaque(inner.name);
        bind(prims_unpack_field_symbol, {whole, Value(inner.key)}, {field});
      }
    }
    for (const Part& inner : part.parts) open(inner);
  }

  void check_tensor(const Value& tensor) {
    const TensorProxy& proxy = tensor.tensor();
    if (tensor.has_symbolic_sizes()) read_sizes(tensor);
    bind(prims_check_tensor_symbol,
         {tensor, Value(proxy.shape), Value(proxy.device.name()), Value(proxy.dtype), Value(proxy.requires_grad)}, {});
  }

  static bool is_symbol(const Value& value) {
    if (!value.is_proxy() || value.is_tensor() || value.is_bool()) return false;
    return (value.is_int() ? value.integer().proxy() : value.floating().proxy())->input >= 0;
  }

  // For a tensor passed twice, the sizes read at its first position.
  void read_sizes(const Value& tensor) {
    std::vector<Value> sizes;
    for (const Int size : tensor.tensor().shape) {
      const bool is_new = size.proxy() && made_.insert(size.proxy()).second;
      sizes.push_back(is_new ? Value(size) : Value());
    }
    if (std::ranges::any_of(sizes, &Value::is_int)) bind(prims_shape_symbol, {tensor}, std::move(sizes));
  }

  static Value value_of(const NumberProxy& number) {
    const bool is_constant = number.input < 0 && !number.operands[0];
    const NumberProxy* symbol = is_constant ? nullptr : &number;
    switch (number.kind) {
      case NumberProxy::Kind::integer: return Int(number.integer, symbol);
      case NumberProxy::Kind::floating: return Float(number.floating, symbol);
      case NumberProxy::Kind::boolean: break;
    }
    return Bool(number.integer != 0, symbol);
  }

  // The arithmetic of a guard, each operation once.
  void compute(const NumberProxy& number) {
    if (!number.operands[0] || !made_.insert(&number).second) return;
    std::vector<Value> args;
    for (const auto& operand : number.operands) {
      if (!operand) continue;
      compute(*operand);
      args.push_back(value_of(*operand));
    }
    bind(number_symbol(number.operation), std::move(args), {value_of(number)});
  }

  // The guards of symbols read while the function was recorded and differentiated.
  void guards() {
    if (!entry_.symbolic) return;
    for (const auto& guard : entry_.symbolic->guards) {
      compute(*guard);
      switch (guard->kind) {
        case NumberProxy::Kind::integer:
          bind(prims_check_number_symbol, {value_of(*guard), Value(guard->integer)}, {});
          break;
        case NumberProxy::Kind::floating:
          bind(prims_check_number_symbol, {value_of(*guard), Value(guard->floating)}, {});
          break;
        case NumberProxy::Kind::boolean:
          bind(prims_check_condition_symbol, {value_of(*guard), Value(guard->integer != 0)}, {});
          break;
      }
    }
  }

  void check(const KeyItem& item, const Value& leaf) {
    using Kind = KeyItem::Kind;
    if (is_symbol(leaf)) return;
    switch (item.kind) {
      case Kind::tensor: check_tensor(leaf); break;
      case Kind::no_tensor: bind(prims_check_none_symbol, {leaf}, {}); break;
      case Kind::integer: bind(prims_check_number_symbol, {leaf, Value(static_cast<int64_t>(item.bits))}, {}); break;
      case Kind::floating: bind(prims_check_number_symbol, {leaf, Value(std::bit_cast<double>(item.bits))}, {}); break;
      case Kind::boolean: bind(prims_check_number_symbol, {leaf, Value(item.bits != 0)}, {}); break;
      case Kind::text: bind(prims_check_string_symbol, {leaf, Value(item.text)}, {}); break;
      case Kind::device: bind(prims_check_literal_symbol, {leaf, Value(Device(item.text))}, {}); break;
      case Kind::modes:
      case Kind::structure:
      case Kind::structure_text:
      case Kind::sharing: break;
    }
  }

  void captured() {
    std::vector<Value> items;
    for (const RecordedInput& input : entry_.inputs)
      if (input.leaf == RecordedInput::captured) items.push_back(inputs_by_id_[input.id]);
    if (items.empty()) return;
    const Value collection = Value::collection("captured", items);
    trace_.args.push_back(collection);
    bind(prims_unpack_sequence_symbol, {collection}, items);
    for (const Value& item : items) check_tensor(item);
  }

  void strides() {
    for (const StrideGuard& guard : entry_.stride_guards) {
      std::vector<Value> wanted;
      for (const int64_t stride : guard.strides) wanted.emplace_back(stride);
      for (const RecordedInput& input : entry_.inputs)
        if (input.leaf == guard.leaf && (input.leaf != RecordedInput::captured || input.tensor.is_same(guard.tensor)))
          bind(prims_check_strides_symbol, {inputs_by_id_[input.id], Value(wanted)}, {});
    }
  }

  void aliases() {
    if (tensors_.size() < 2) return;
    std::vector<Value> groups, tensors;
    std::vector<std::vector<Value>> members(tensors_.size());
    std::vector<int> position;  // of each tensor leaf among the defined ones
    for (const Value& tensor : tensors_) {
      position.push_back(static_cast<int>(tensors.size()));
      if (tensor.is_tensor()) tensors.push_back(tensor);
    }
    size_t leaf = 0;
    for (const KeyItem& item : items_) {
      if (item.kind != KeyItem::Kind::tensor && item.kind != KeyItem::Kind::no_tensor) continue;
      if (item.shares_with >= 0) {
        std::vector<Value>& group = members[item.shares_with];
        if (group.empty()) group.emplace_back(position[item.shares_with]);
        group.emplace_back(position[leaf]);
      }
      ++leaf;
    }
    for (std::vector<Value>& group : members)
      if (!group.empty()) groups.emplace_back(std::move(group));
    bind(prims_check_aliases_symbol, {Value(std::move(tensors)), Value(std::move(groups))}, {});
  }

  void modes() {
    const Value grad = number(NumberProxy::Kind::boolean, grad_enabled(), "grad_enabled");
    const Value dtype = opaque("default_dtype");
    const Value autocast = opaque("autocast");
    const Value modes = Value::collection("modes", {grad, dtype, autocast});
    trace_.args.push_back(modes);
    bind(prims_unpack_field_symbol, {modes, Value("grad_enabled")}, {grad});
    bind(prims_check_number_symbol, {grad, Value(grad_enabled())}, {});
    bind(prims_unpack_field_symbol, {modes, Value("default_dtype")}, {dtype});
    bind(prims_check_literal_symbol, {dtype, Value(default_dtype())}, {});
    bind(prims_unpack_field_symbol, {modes, Value("autocast")}, {autocast});
    bind(prims_check_literal_symbol, {autocast, autocast_dtype() ? Value(*autocast_dtype()) : Value()}, {});
  }

  const CacheEntry& entry_;
  const std::vector<LeafPath>& paths_;
  const FlatArguments& flat_;
  Trace trace_;
  std::vector<KeyItem> items_;
  std::vector<Value> values_;          // one for each leaf
  std::vector<Value> tensors_;         // those of the tensor leaves
  std::vector<Value> inputs_by_id_;    // the computation's inputs
  std::set<const NumberProxy*> made_;  // numbers with an op
};

}  // namespace

std::vector<Trace> make_prologue(const CacheEntry& entry, const Trace& computation, const std::vector<LeafPath>& paths,
                                 const FlatArguments& flat) {
  std::vector<Trace> stages;
  stages.push_back(Prologue(entry, computation, paths, flat).make());
  stages.push_back(stages.back());
  stages.back().provenance = "Transform for execution";
  return stages;
}

}  // namespace fulgurite::detail
