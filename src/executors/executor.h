#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/rules.h"

namespace fulgurite {

/// Computes a call's results into memory that the caller provides: `results` have the sizes and dtypes of the shape rule and are
/// contiguous. Arguments have any strides. Must not allocate on its hot path; takes its threads from runtime/parallel_for.h.
using Kernel = void (*)(Arguments, std::span<const Tensor> results);

/// How an executor runs one symbol.
struct Implementation {
  std::string_view executor;  // "eager", "onednn"
  const Symbol* symbol = nullptr;
  Kernel kernel = nullptr;
  bool (*checker)(Arguments) = nullptr;     // null: claims every call
  /// Bytes of scratch memory the kernel wants beside its results, or null for none.
  int64_t (*scratch)(Arguments) = nullptr;
};

/// A named list of implementations.
struct Executor {
  std::string name;
  /// null when this executor does not implement the symbol
  std::function<const Implementation*(const Symbol&)> find;
};

/// eager: the kernels of eager mode, for every primitive and for the composites that deserve one. Never refuses a primitive.
const Executor& eager_executor();
/// onednn: matrix products.
const Executor& onednn_executor();

const Implementation* find_eager_implementation(const Symbol&);

/// Adds an executor before eager; throws UserError when its name is taken. It is asked only where it is named.
void register_executor(Executor);

/// Registered executors by name and the default priority order. Thread-safe.
std::vector<std::string> all_executors();
std::vector<std::string> default_executors();
void set_default_executors(const std::vector<std::string>& names);
/// Throws UserError naming the registered ones when a name is unknown. Empty: the default list. "eager" is always last.
std::vector<const Executor*> resolve_executors(const std::vector<std::string>& names);

}  // namespace fulgurite
