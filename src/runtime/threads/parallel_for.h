#pragma once
#include <cstdint>
#include <type_traits>

namespace fulgurite {

/// The ranges of [0, count) assigned to one thread, including stolen ones.
class Ranges {
 public:
  explicit Ranges(int64_t count) : count_(count) {}  // all of it as one range
  Ranges(class ParallelJob* job, int thread) : job_(job), thread_(thread) {}
  /// Returns false when nothing is left.
  bool next(int64_t& begin, int64_t& end) {
    if (job_ != nullptr) return next_of_job(begin, end);
    begin = 0;
    end = count_;
    count_ = 0;
    return end > 0;
  }

 private:
  friend class ParallelJob;
  bool next_of_job(int64_t& begin, int64_t& end);
  int64_t count_ = 0;
  class ParallelJob* job_ = nullptr;
  int thread_ = 0, passed_ = 0;  // passed_: shares that are exhausted
};

/// Calls body(context, ranges) on up to num_threads() threads, at most once on each; together they get [0, count), cut
/// into ranges of at least `grain`. Runs on this thread alone if there are fewer than two, another thread has the team,
/// or within such a call. The ranges depend on the number of threads, and their threads vary from run to run: work
/// whose result depends on the cut must be cut into fixed blocks by the caller, one index a block.
void parallel_ranges(int64_t count, int64_t grain, void (*body)(void* context, Ranges&), void* context);

/// For a body that keeps state across its ranges.
template <class Body>
void parallel_ranges(int64_t count, int64_t grain, Body&& body) {
  parallel_ranges(
      count, grain, [](void* c, Ranges& ranges) { (*static_cast<std::remove_reference_t<Body>*>(c))(ranges); },
      const_cast<void*>(static_cast<const void*>(&body)));
}
/// Calls body(begin, end) for each of the ranges.
template <class Body>
void parallel_for(int64_t count, int64_t grain, Body&& body) {
  parallel_ranges(count, grain, [&body](Ranges& ranges) {
    for (int64_t begin, end; ranges.next(begin, end);) body(begin, end);
  });
}

}  // namespace fulgurite
