#pragma once
#include <memory>
#include <unordered_set>
#include <vector>

#include "ops/core/rules.h"
#include "tensor/memory/storage.h"

namespace fulgurite {

/// The writes of a checkpointed function into tensors that it did not create, such as a batch norm's running
/// statistics. The second run starts from the contents before the first, and afterwards the contents before the second
/// run are restored: a write counts once.
class OutsideWrites {
 public:
  /// Records this thread's writes in a scope. Scopes nest.
  class Recording {
   public:
    explicit Recording(OutsideWrites&);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

   private:
    OutsideWrites* outer_;
  };
  /// The scope of a second run.
  class Repetition {
   public:
    explicit Repetition(const OutsideWrites&);
    ~Repetition();
    Repetition(const Repetition&) = delete;
    Repetition& operator=(const Repetition&) = delete;

   private:
    struct Now;
    std::vector<Now> now_;
    OutsideWrites* outer_;
  };

  static bool is_recording();
  /// The results of a call that are not views of its arguments.
  static void note_made(Arguments, const Results&);
  /// Called before a tensor is written.
  static void note_write(const Tensor& destination);

 private:
  using Bytes = std::unique_ptr<char[]>;
  struct Written {
    StorageRef storage;
    uint32_t version;  // before the first run, so that tensors saved in the second run have the same versions
    Bytes before;
  };
  static Bytes bytes_of(const Storage&);
  std::unordered_set<const Storage*> made_;
  std::vector<Written> written_;
  OutsideWrites* outer_ = nullptr;
};

}  // namespace fulgurite
