#include "jit/cache/structure_key.h"

#include <bit>
#include <cstring>

#include "ir/analysis/trace_values.h"

namespace fulgurite::detail {

namespace {

class Writer {
 public:
  explicit Writer(const Trace& trace) : numbers_(trace.next_id, -1) {
    for (const Value& arg : trace.args) add(arg);
    for (const BoundSymbol& bound : trace.bound_symbols) add(bound);
  }
  SmallVector<uint64_t, 64> take() { return std::move(words_); }

 private:
  void add(const BoundSymbol& bound) {
    words_.push_back(reinterpret_cast<uintptr_t>(bound.symbol));
    words_.push_back(static_cast<uint64_t>(bound.tags.has(Tag::recompute_in_backward)) << 2 | 2);
    add(bound.args);
    words_.push_back(bound.kwargs.size());
    for (const auto& [name, value] : bound.kwargs) {
      add(std::string_view(name));
      add(value);
    }
    add(bound.outputs);
    words_.push_back(bound.subsymbols.size());
    for (const BoundSymbol& subsymbol : bound.subsymbols) add(subsymbol);
  }

  template <class Values>
  void add(const Values& values) {
    words_.push_back(values.size());
    for (const Value& value : values) add(value);
  }

  void add(std::string_view text) {
    words_.push_back(text.size());
    for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, text.data() + at, std::min(sizeof bytes, text.size() - at));
      words_.push_back(bytes);
    }
  }

  // A proxy is its number in the order of first mention, which identifies it.
  void add(const TensorProxy& proxy) {
    int& number = numbers_[proxy.id];
    if (number >= 0) {
      words_.push_back(static_cast<uint64_t>(number));
      return;
    }
    number = next_++;
    words_.push_back(static_cast<uint64_t>(number));
    words_.push_back(static_cast<uint64_t>(proxy.dtype) | static_cast<uint64_t>(proxy.requires_grad) << 4 |
                     static_cast<uint64_t>(proxy.device.kind) << 5 |
                     static_cast<uint64_t>(proxy.tags.has(Tag::checkpoint_result)) << 8 |
                     static_cast<uint64_t>(proxy.device.index & 0xfff) << 16);
    words_.push_back(proxy.shape.size());
    for (const Int size : proxy.shape) words_.push_back(static_cast<uint64_t>(size.hint()));
  }

  void add(const std::optional<Int>& number) {
    words_.push_back(number.has_value());
    if (number) words_.push_back(static_cast<uint64_t>(number->hint()));
  }

  void add(const Value& value) {
    words_.push_back(static_cast<uint64_t>(value.kind()));
    switch (value.kind()) {
      case Value::Kind::none:
      case Value::Kind::ellipsis: break;
      case Value::Kind::tensor: add(value.tensor()); break;
      case Value::Kind::integer: words_.push_back(static_cast<uint64_t>(value.integer().hint())); break;
      case Value::Kind::floating: words_.push_back(std::bit_cast<uint64_t>(value.floating().hint())); break;
      case Value::Kind::boolean: words_.push_back(static_cast<uint64_t>(value.boolean().hint())); break;
      case Value::Kind::string: add(std::string_view(value.string())); break;
      case Value::Kind::dtype: words_.push_back(static_cast<uint64_t>(value.dtype())); break;
      case Value::Kind::device: add(std::string_view(value.device().name())); break;
      case Value::Kind::slice: {
        const Slice slice = value.slice();
        add(slice.start);
        add(slice.stop);
        add(slice.step);
        break;
      }
      case Value::Kind::list:
      case Value::Kind::collection: add(value.list()); break;
    }
  }

  std::vector<int> numbers_;  // by proxy id
  int next_ = 0;
  SmallVector<uint64_t, 64> words_;
};

}  // namespace

SmallVector<uint64_t, 64> structure_key(const Trace& trace) { return Writer(trace).take(); }

}  // namespace fulgurite::detail
