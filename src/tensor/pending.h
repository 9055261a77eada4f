#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// Tensors whose elements are not computed yet: their storages have no memory.
class PendingValues {
 public:
  virtual ~PendingValues() = default;
  /// Allocates one of these storages and computes its elements.
  virtual void finish(const Storage&) = 0;
  /// The same for all storages that are still referenced.
  virtual void finish_all() = 0;
};

/// This thread's pending values, or null: a mode, like the interpreter stack.
PendingValues* pending_values();
/// Makes pending values this thread's for a scope.
class PendingScope {
 public:
  explicit PendingScope(PendingValues*);
  ~PendingScope();
  PendingScope(const PendingScope&) = delete;
  PendingScope& operator=(const PendingScope&) = delete;

 private:
  PendingValues* previous_;
};

inline bool is_pending(const TensorImpl& t) { return t.storage && t.storage->data == nullptr; }
/// To be called before a tensor's elements are read or written.
inline void need_elements(const TensorImpl& t) {
  if (!is_pending(t)) [[likely]]
    return;
  if (PendingValues* const values = pending_values()) values->finish(*t.storage);
}

/// A contiguous tensor without memory, and the memory for it.
Tensor make_pending_tensor(const Sizes&, Dtype, Device);
void materialize(Storage&);

}  // namespace fulgurite
