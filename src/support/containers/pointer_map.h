#pragma once
#include <cstdint>
#include <utility>

#include "support/containers/small_vector.h"

namespace fulgurite {

/// Maps pointers to integers in one array, with minimal memory accesses.
class PointerMap {
 public:
  explicit PointerMap(size_t expected = 16) {
    size_t size = 32;
    while (size < 2 * expected) size *= 2;
    slots_.resize(size);
  }

  /// Returns the pointer's number, inserting `number` if it had none; and true if inserted.
  std::pair<uint32_t, bool> try_emplace(const void* pointer, uint32_t number) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(pointer);
    if (slot.pointer == pointer) return {slot.number, false};
    slot = {pointer, number};
    ++count_;
    return {number, true};
  }
  /// The pointer's number; -1 if it has none.
  int64_t find(const void* pointer) const {
    const Slot& slot = const_cast<PointerMap*>(this)->slot_of(pointer);
    return slot.pointer == pointer ? int64_t{slot.number} : -1;
  }
  /// Changes the number of a pointer that has one.
  void set(const void* pointer, uint32_t number) { slot_of(pointer).number = number; }

 private:
  struct Slot {
    const void* pointer = nullptr;
    uint32_t number = 0;
  };
  using Slots = SmallVector<Slot, 64>;
  Slot& slot_of(const void* pointer) {
    const size_t mask = slots_.size() - 1;
    size_t at = reinterpret_cast<uintptr_t>(pointer) * 0x9e3779b97f4a7c15u >> 32 & mask;
    while (slots_[at].pointer != nullptr && slots_[at].pointer != pointer) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    const Slots old = std::move(slots_);
    slots_ = Slots(old.size() * 2);
    for (const Slot& slot : old)
      if (slot.pointer != nullptr) slot_of(slot.pointer) = slot;
  }

  Slots slots_;
  size_t count_ = 0;
};

}  // namespace fulgurite
