#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/core/argument.h"
#include "support/containers/small_vector.h"

namespace fulgurite {

struct Symbol;

/// Everything that a call's backward depends on: the operator, its scalars and strings, each tensor's dtype, sizes,
/// device and requires_grad, and the executors' state. Equal keys mean equal backward traces.
struct CallKey {
  SmallVector<uint64_t, 40> words;
  uint64_t hash = 0;
  friend bool operator==(const CallKey& a, const CallKey& b) { return a.hash == b.hash && a.words == b.words; }
};
CallKey call_key(const Symbol&, Arguments);
/// Hash of the call without sizes of tensors and arguments that are sizes.
uint64_t call_structure_hash(const Symbol&, Arguments);
/// A call's key without sizes, and the sizes: those of its tensors, then those among its arguments.
struct CallStructure {
  std::vector<uint64_t> words;
  std::vector<int64_t> sizes;
};
CallStructure call_structure(const Symbol&, Arguments);
/// A call's key without the values that may vary while the backward's formula stays the same, and those values: sizes
/// other than zero and one, then such sizes and scalars among its arguments. Scalars that are not operands (dimensions,
/// flags) stay in the key.
struct CallPattern {
  CallKey key;
  SmallVector<uint64_t, 24> values;
};
/// Returns false for calls with tensor arguments that are omitted.
bool find_call_pattern(const Symbol&, Arguments, CallPattern&);
/// True for a size that CallPattern has among its values.
inline bool may_vary(int64_t size) { return size > 1; }
/// Returns true if an argument of this name is a list of sizes.
bool names_sizes(std::string_view parameter);

/// The tensors of a call in order: arguments, then the items of lists in their position.
SmallVector<const Tensor*, 6> tensors_of(Arguments);

/// A call's arguments with every tensor replaced by the next of a list.
class ReplacedArguments {
 public:
  ReplacedArguments(Arguments, const Tensor* replacements);
  ReplacedArguments(const ReplacedArguments&) = delete;
  ReplacedArguments& operator=(const ReplacedArguments&) = delete;
  Arguments arguments() const { return {arguments_.data(), arguments_.size()}; }

 private:
  Argument replace(const Argument&);
  const Tensor* next_;
  SmallVector<Argument, 12> arguments_;
  SmallVector<SmallVector<Argument, 8>, 1> lists_;
};

}  // namespace fulgurite
