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

/// One recorded backward: what it was recorded for, and its trace up to where the values of symbols are needed.
struct Capture {
  SizePattern pattern;
  CapturedBackward captured;
  std::vector<Trace> stages;  // as captured first
  Guards guards;
  std::shared_ptr<FusionNames> fusion_names;
};

/// A capture made a program of, for one set of sizes.
struct CompiledBackward {
  BackwardKey key;
  std::shared_ptr<const Capture> capture;
  std::vector<Effect> effects;  // with these sizes
  std::vector<uint64_t> sizes;  // the values of the capture's symbols
  std::shared_ptr<Program> program;  // null where gradients are differentiated again
  Trace ops;                       // which run then, one by one
  uint64_t last_use = 0;  // this and what follows: guarded by Captures
  int64_t bytes = 0;      // about; measured when the next one is added
};

/// Backwards that differ in sizes alone.
struct StructureOfBackward {
  BackwardStructure structure;  // of the first
  std::vector<std::string> node_names;
  std::vector<std::string> node_ops;                   // "model.cpp:12" of each; empty where it is not known
  std::vector<std::shared_ptr<const Capture>> captures;  // the newest last
  std::string failure;                                   // why it could not be compiled: the engine runs it
  uint64_t last_use = 0;
};

/// All that was captured. Thread-safe, but for structures, which only who holds making() may use. What was not used for the longest time goes.
class Captures {
 public:
  static Captures& all();

  /// The program for a key; null where there is none.
  std::shared_ptr<const CompiledBackward> find(const BackwardKey&);
  void add(std::shared_ptr<CompiledBackward>);
  void count_capture();
  int64_t count();
  std::vector<Trace> last_traces();
  void reset();

  /// One thread captures at a time.
  std::mutex& making() { return making_; }
  /// The one with this structure, made where there is none; `is_new` says which.
  StructureOfBackward& structure(const BackwardStructure&, bool& is_new);
  /// Why no known structure is this one: the first node of it that none with the same nodes before it has, and what of it differs.
  std::string explain_new(const StructureOfBackward&);

 private:
  void evict();
  void measure_newest();
  std::mutex making_, mutex_;
  std::unordered_multimap<uint64_t, std::shared_ptr<CompiledBackward>> by_hash_;  // this and what follows: guarded by mutex_
  std::shared_ptr<const CompiledBackward> last_;
  std::weak_ptr<CompiledBackward> newest_;
  int64_t bytes_ = 0;
  int64_t count_ = 0;
  uint64_t uses_ = 0;
  std::list<StructureOfBackward> structures_;  // guarded by making_
};

}  // namespace fulgurite
