#include "autograd/checkpoint/outside_writes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/thread_state.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

bool has_storage(const Argument& argument, const Storage* storage) {
  if (argument.is_tensor()) return argument.tensor().impl()->storage.get() == storage;
  return argument.kind() == Argument::Kind::tensors &&
         std::ranges::any_of(argument.tensors(), [&](const Tensor& tensor) {
           return tensor.defined() && tensor.impl()->storage.get() == storage;
         });
}

}  // namespace

/// The contents of a storage before the second run.
struct OutsideWrites::Repetition::Now {
  StorageRef storage;
  uint32_t version;
  Bytes bytes;
};

OutsideWrites::Bytes OutsideWrites::bytes_of(const Storage& storage) {
  const auto count = static_cast<size_t>(storage.bytes);
  Bytes bytes(new char[count]);
  std::memcpy(bytes.get(), storage.data, count);
  return bytes;
}

OutsideWrites::Recording::Recording(OutsideWrites& writes) : outer_(thread_state.writes) {
  writes.outer_ = outer_;
  thread_state.writes = &writes;
}
OutsideWrites::Recording::~Recording() { thread_state.writes = outer_; }

// Writes of the second run are undone, so no outer recording needs to note them.
OutsideWrites::Repetition::Repetition(const OutsideWrites& writes)
    : outer_(std::exchange(thread_state.writes, nullptr)) {
  for (const Written& written : writes.written_) {
    Storage& storage = *written.storage;
    now_.push_back({written.storage, storage.version.load(std::memory_order_relaxed), bytes_of(storage)});
    std::memcpy(storage.data, written.before.get(), static_cast<size_t>(storage.bytes));
    storage.version.store(written.version, std::memory_order_relaxed);
  }
}
OutsideWrites::Repetition::~Repetition() {
  thread_state.writes = outer_;
  for (const Now& now : now_) {
    Storage& storage = *now.storage;
    std::memcpy(storage.data, now.bytes.get(), static_cast<size_t>(storage.bytes));
    storage.version.store(now.version, std::memory_order_relaxed);
  }
}

bool OutsideWrites::is_recording() { return thread_state.writes != nullptr; }

void OutsideWrites::note_made(Arguments arguments, const Results& results) {
  for (const Tensor& result : results) {
    const Storage* const storage = result.impl()->storage.get();
    if (std::ranges::any_of(arguments, [&](const Argument& argument) { return has_storage(argument, storage); }))
      continue;
    for (OutsideWrites* writes = thread_state.writes; writes != nullptr; writes = writes->outer_)
      writes->made_.insert(storage);
  }
}

void OutsideWrites::note_write(const Tensor& destination) {
  const StorageRef& storage = destination.impl()->storage;
  const auto is_this = [&](const Written& written) { return written.storage == storage; };
  for (OutsideWrites* writes = thread_state.writes; writes != nullptr; writes = writes->outer_)
    if (!writes->made_.contains(storage.get()) && std::ranges::none_of(writes->written_, is_this))
      writes->written_.push_back({storage, storage->version.load(std::memory_order_relaxed), bytes_of(*storage)});
}

}  // namespace fulgurite
