#pragma once

namespace fulgurite::test {

/// Lets kernels for a matrix unit (AMX, bf16) run on a CPU without one, for as long as this lives: what the CPU refuses to execute is done in its
/// signal handler, in the whole process. Does nothing where the CPU has the unit. One at a time.
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
