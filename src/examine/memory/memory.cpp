#include <algorithm>
#include <unordered_map>

#include <fulgurite/profile.h>
#include <fulgurite/symbol.h>

#include "examine/memory/buffer_aliasing.h"
#include "ir/analysis/sizes.h"
#include "ir/analysis/uses.h"
#include "ir/printing/print_common.h"
#include "ir/symbolic/specialize_symbols.h"
#include "ops/core/rules.h"
#include "ir/structural.h"
#include "tensor/tensor_impl.h"
#include "tracing/argument_pack.h"

namespace fulgurite::examine {

namespace {

/// Represents each tensor of a trace by one without elements, so that the operators' own view rules determine which
/// tensors share a storage.
class Storages final : public ArgumentPack::Resolver {
 public:
  explicit Storages(const Trace& trace) : tensors_(trace.next_id), written_(buffer_aliasing(trace)) {}

  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override {
    Tensor& tensor = tensors_[proxy->id];
    if (!tensor.defined()) tensor = fresh(*proxy);
    return tensor;
  }
  const Storage* of(const Value& value) { return tensor(value.tensor_ref()).impl()->storage.get(); }

  // Adds the outputs of an op: new storages, or new names of existing ones.
  void make(const BoundSymbol& bound) {
    if (bound.symbol->traits.structural) return;
    if (bound.symbol->traits.view && bound.symbol->view && !bound.implementation && make_view_of(bound)) return;
    if (is_write(bound)) return share(bound, bound.args[1]);
    for_each_output(bound, [&](const Value& output) {
      if (!output.is_tensor()) return;
      if (const auto other = written_.find(output.tensor().id); other != written_.end())
        tensors_[output.tensor().id] = in_memory_of(tensor(other->second.tensor_ref()), output.tensor());
    });
    // A composite creates the storages that its subsymbols create.
    if (!bound.implementation)
      for (const BoundSymbol& subsymbol : bound.subsymbols) make(subsymbol);
  }

 private:
  static Sizes sizes_of(const TensorProxy& proxy) {
    Sizes sizes;
    for (const Int size : proxy.shape) sizes.push_back(size.hint());
    return sizes;
  }
  static Tensor fresh(const TensorProxy& proxy) {
    const Sizes sizes = sizes_of(proxy);
    return make_view(borrow_storage(nullptr, bytes_of(proxy)), sizes, contiguous_strides(sizes), 0, proxy.dtype);
  }

  static Tensor in_memory_of(const Tensor& other, const TensorProxy& proxy) {
    const Sizes sizes = sizes_of(proxy);
    return make_view(other.impl()->storage, sizes, contiguous_strides(sizes), 0, proxy.dtype);
  }

  bool make_view_of(const BoundSymbol& bound) {
    const ArgumentPack pack(bound, *this);
    ViewGeometry geometry;
    if (!bound.symbol->view(pack.arguments(), geometry)) return false;
    const Tensor viewed = pack.arguments()[0].tensor();
    tensors_[bound.outputs[0].tensor().id] =
        make_view(viewed.impl()->storage, geometry.sizes, geometry.strides, geometry.offset, viewed.dtype());
    return true;
  }
  void share(const BoundSymbol& bound, const Value& with) {
    if (bound.outputs.empty() || !bound.outputs[0].is_tensor()) return;
    tensors_[bound.outputs[0].tensor().id] = tensor(with.tensor_ref());
  }

  std::vector<Tensor> tensors_;             // by proxy id
  std::unordered_map<int, Value> written_;  // in a program: values written straight into another's memory
};

class Walk {
 public:
  explicit Walk(const Trace& trace) : trace_(trace), uses_(trace), storages_(trace), is_alive_(trace.next_id, false) {}

  std::vector<Lifetime> lifetimes() {
    run();
    return std::move(lifetimes_);
  }

  MemoryReport run() {
    take_inputs();
    report_.input_bytes = report_.peak_bytes = alive_;
    has_deletions_ = std::ranges::any_of(trace_.bound_symbols, is_del);
    const std::vector<std::string> texts = cpp_lines(trace_);
    for (size_t i = 0; i < trace_.bound_symbols.size(); ++i) step(static_cast<int>(i), texts[i]);
    if (!trace_.bound_symbols.empty()) {
      report_.result_bytes = total(results());
      find_saved();
    }
    return std::move(report_);
  }

 private:
  void take_inputs() {
    for (const Value& arg : trace_.args)
      for_each_leaf(arg, [&](const Value& input) {
        begin(input);
        // The caller keeps a reference to each tensor that it passes.
        if (input.is_tensor() && arg.is_tensor()) ++names_[storages_.of(input)];
        if (input.is_tensor()) inputs_.push_back(input);
      });
  }

  void step(int i, const std::string& text) {
    const BoundSymbol& bound = trace_.bound_symbols[i];
    op_ = i;
    storages_.make(bound);
    for_each_output(bound, [&](const Value& output) { begin(output); });
    if (is_del(bound))
      for (const Value& value : bound.args) end(value, i - 1);
    report_.lines.push_back({std::string(bound.symbol->qualified_name()), text.substr(0, text.find("  // ")), alive_});
    if (alive_ > report_.peak_bytes) {
      report_.peak_bytes = alive_;
      report_.peak_line = i;
    }
    if (has_deletions_) return;
    const auto end_if_over = [&](const Value& value) {
      if (value.is_tensor() && uses_.last_use(value.tensor().id) <= i) end(value, i);
    };
    const bool is_last = i + 1 == static_cast<int>(trace_.bound_symbols.size());
    if (is_last) return;
    for_each_argument(bound, end_if_over);
    // Unpacking names values that are already alive.
    for_each_output(bound, end_if_over);
  }

  void begin(const Value& value) {
    if (!value.is_tensor() || is_alive_[value.tensor().id]) return;
    is_alive_[value.tensor().id] = true;
    const Storage* storage = storages_.of(value);
    if (++names_[storage] > 1) return;
    alive_ += storage->bytes;
    const TensorProxy& proxy = value.tensor();
    lifetime_of_[storage] = lifetimes_.size();
    const int end = static_cast<int>(trace_.bound_symbols.size()) - 1;
    lifetimes_.push_back({proxy.name, proxy.type_text(), storage->bytes, op_, end});
  }
  void end(const Value& value, int last) {
    if (!value.is_tensor() || !is_alive_[value.tensor().id]) return;
    is_alive_[value.tensor().id] = false;
    const Storage* storage = storages_.of(value);
    if (--names_[storage] > 0) return;
    alive_ -= storage->bytes;
    lifetimes_[lifetime_of_.at(storage)].last = last;
  }

  int64_t total(const std::vector<Value>& values) {
    std::vector<const Storage*> seen;
    int64_t bytes = 0;
    for (const Value& value : values) {
      if (!value.is_tensor()) continue;
      const Storage* storage = storages_.of(value);
      if (std::ranges::find(seen, storage) != seen.end()) continue;
      seen.push_back(storage);
      bytes += storage->bytes;
    }
    return bytes;
  }

  // The function's results, without the tensors saved for backward.
  std::vector<Value> results() const {
    if (!trace_.tags.has(Tag::augmented_forward)) return returned_values(trace_);
    std::vector<Value> out;
    for_each_leaf(keyword(trace_.bound_symbols.back(), "flat_output"),
                  [&](const Value& value) { out.push_back(value); });
    return out;
  }

  void find_saved() {
    std::vector<Value> saved;
    const auto take = [&](const Value& value) {
      if (value.is_tensor()) saved.push_back(value);
    };
    const bool is_backward = trace_.tags.has(Tag::backward);
    if (trace_.tags.has(Tag::augmented_forward)) {
      for_each_leaf(keyword(trace_.bound_symbols.back(), "saved_tensors"), take);
    } else if (trace_.tags.has(Tag::joint)) {
      const ForwardBackwardTraces traces = split_into_forward_and_backward(trace_);
      const MemoryReport forward = Walk(traces.forward).run();
      report_.saved = forward.saved;
      report_.saved_bytes = forward.saved_bytes;
      report_.saved_made_bytes = forward.saved_made_bytes;
      return;
    } else if (is_backward && !trace_.args.empty()) {
      for_each_leaf(trace_.args[0], take);
    }
    std::unordered_map<const Storage*, std::string> first;
    for (const Value& value : saved) {
      const TensorProxy& proxy = value.tensor();
      const Storage* storage = storages_.of(value);
      const auto [at, is_first] = first.try_emplace(storage, proxy.name);
      const auto origin = is_backward ? MemoryReport::Origin::unknown : origin_of(storage);
      report_.saved.push_back(
          {proxy.name, proxy.type_text(), storage->bytes, origin, is_first ? std::string() : at->second});
      if (!is_first) continue;
      report_.saved_bytes += storage->bytes;
      if (origin == MemoryReport::Origin::made) report_.saved_made_bytes += storage->bytes;
    }
  }

  MemoryReport::Origin origin_of(const Storage* storage) {
    const auto has_storage = [&](const Value& value) { return value.is_tensor() && storages_.of(value) == storage; };
    if (std::ranges::any_of(inputs_, has_storage)) return MemoryReport::Origin::input;
    return std::ranges::any_of(results(), has_storage) ? MemoryReport::Origin::result : MemoryReport::Origin::made;
  }

  const Trace& trace_;
  Uses uses_;
  Storages storages_;
  std::vector<char> is_alive_;                     // by proxy id
  std::unordered_map<const Storage*, int> names_;  // how many names each storage has
  std::vector<Lifetime> lifetimes_;
  std::unordered_map<const Storage*, size_t> lifetime_of_;  // positions in lifetimes_
  std::vector<Value> inputs_;
  int op_ = -1;  // -1: before the first
  int64_t alive_ = 0;
  bool has_deletions_ = false;
  MemoryReport report_;
};

// Symbols have the values of the call that was recorded.
Trace with_recorded_numbers(const Trace& trace) {
  if (!has_numbers(trace)) return trace;
  SymbolValues recorded;
  return specialize_symbols(trace, recorded);
}

}  // namespace

MemoryReport memory(const Trace& trace) {
  const Trace fixed = with_recorded_numbers(trace);
  return Walk(fixed).run();
}
std::vector<Lifetime> lifetimes(const Trace& trace) {
  const Trace fixed = with_recorded_numbers(trace);
  return Walk(fixed).lifetimes();
}

}  // namespace fulgurite::examine
