#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiled_autograd/backward_key.h"
#include "compiled_autograd/capture.h"
#include "compiled_autograd/size_pattern.h"
#include "ir/symbolic/guards.h"
#include "pipeline/pipeline.h"

namespace fulgurite {

/// One recorded backward: its key, and its trace up to the stage that needs the values of symbols.
struct Capture {
  SizePattern pattern;
  CapturedBackward captured;
  std::vector<Trace> stages;  // as captured first
  Guards guards;
  std::shared_ptr<FusionNames> fusion_names;
};

/// A capture compiled for one set of sizes.
struct BackwardProgram {
  BackwardKey key;
  std::shared_ptr<const Capture> capture;
  std::vector<BackwardEffect> effects;  // specialized for these sizes
  std::vector<uint64_t> sizes;          // the values of the capture's symbols
  std::shared_ptr<Program> program;     // null where gradients are differentiated again
  Trace ops;                            // the ops that run then, one by one
  uint64_t last_use = 0;                // guarded by Captures, as are the following
  int64_t bytes = 0;                    // approximate; measured when the next one is added
};

/// Backwards that differ only in sizes.
struct StructureOfBackward {
  BackwardStructure structure;  // of the first
  std::vector<std::string> node_names;
  std::vector<std::string> node_ops;                     // "model.cpp:12" by node; empty if unknown
  std::vector<std::shared_ptr<const Capture>> captures;  // the newest last
  std::string failure;                                   // the reason it could not be compiled: the engine runs it
  uint64_t last_use = 0;
};

/// The cache of captured backwards. Thread-safe, except structures, which need making() held. Least recently used
/// entries are evicted.
class Captures {
 public:
  static Captures& all();

  /// Returns the program for a key, or null.
  std::shared_ptr<const BackwardProgram> find(const BackwardKey&);
  void add(std::shared_ptr<BackwardProgram>);
  void count_capture();
  int64_t count();
  std::vector<Trace> last_traces();
  void reset();

  /// Serializes captures.
  std::mutex& making() { return making_; }
  /// Returns the entry of this structure, created if missing; `is_new` is set to true then.
  StructureOfBackward& structure(const BackwardStructure&, bool& is_new);
  /// Explains why no known structure matches: the first node at which it departs from all of them, and the field that
  /// differs.
  std::string explain_new(const StructureOfBackward&);

 private:
  void evict();
  void measure_newest();
  std::mutex making_, mutex_;
  /// Guarded by mutex_, as are the following.
  std::unordered_multimap<uint64_t, std::shared_ptr<BackwardProgram>> by_hash_;
  std::shared_ptr<const BackwardProgram> last_;
  std::weak_ptr<BackwardProgram> newest_;
  int64_t bytes_ = 0;
  int64_t count_ = 0;
  uint64_t uses_ = 0;
  std::list<StructureOfBackward> structures_;  // guarded by making_
};

}  // namespace fulgurite
