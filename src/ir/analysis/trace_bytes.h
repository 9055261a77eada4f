#pragma once
#include <cstdint>
#include <unordered_set>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Adds up the approximate footprint of traces; shared parts count once.
class TraceBytes {
 public:
  void add(const Trace&);
  int64_t total() const { return total_; }

 private:
  bool is_new(const void* address) { return address && counted_.insert(address).second; }
  void add(const SharedVector<BoundSymbol>&);
  void add(const SharedVector<Value>&);
  void add(const Value&);

  std::unordered_set<const void*> counted_;
  int64_t total_ = 0;
};

}  // namespace fulgurite
