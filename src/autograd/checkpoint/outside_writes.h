#pragma once
#include <memory>
#include <unordered_set>
#include <vector>

#include "ops/core/rules.h"
#include "tensor/memory/storage.h"

namespace fulgurite {

/// The writes of a checkpointed function into tensors that it did not make, such as a batch norm's running statistics.
/// The function's second run begins with what they held before the first, and afterwards they hold what they did before
/// the second: a write counts once.
class OutsideWrites {
 public:
  /// Notes this thread's writes for a scope. Scopes nest.
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
  /// Before a tensor is written.
  static void note_write(const Tensor& destination);

 private:
  using Bytes = std::unique_ptr<char[]>;
  struct Written {
    StorageRef storage;
    uint32_t
        version;  // before the first run, so that what the second one saves has the versions that the first one's had
    Bytes before;
  };
  static Bytes bytes_of(const Storage&);
  std::unordered_set<const Storage*> made_;
  std::vector<Written> written_;
  OutsideWrites* outer_ = nullptr;
};

}  // namespace fulgurite
