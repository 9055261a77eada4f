#pragma once

namespace fulgurite::test {

/// Lets AMX (bf16) kernels run on a CPU without AMX during its lifetime: instructions that the CPU rejects are emulated
/// in a signal handler, in the complete process. Does nothing if the CPU has AMX. At most one exists at a time.
class EmulatedAmx {
 public:
  EmulatedAmx();
  ~EmulatedAmx();
  EmulatedAmx(const EmulatedAmx&) = delete;
  EmulatedAmx& operator=(const EmulatedAmx&) = delete;

 private:
  const bool is_needed_;
};

}  // namespace fulgurite::test
