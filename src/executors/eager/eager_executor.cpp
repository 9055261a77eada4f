#include <memory>

#include <fulgurite/error.h>

#include "executors/eager/kernels.h"
#include "runtime/copy_elements.h"
#include "support/containers/first_use.h"
#include "tensor/pending.h"

namespace fulgurite {

// Defined once for each instruction set, in kernels/all_kernels.cpp.
namespace kernels_baseline {
const KernelSet& kernel_set();
}
#ifdef FULGURITE_X86_KERNELS
namespace kernels_avx2 {
const KernelSet& kernel_set();
}
namespace kernels_avx512 {
const KernelSet& kernel_set();
}
#endif

namespace {

const KernelSet& choose_kernel_set() {
#ifdef FULGURITE_X86_KERNELS
  // The features that -march=x86-64-v4 and -march=x86-64-v3 let the compiler use.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512) return kernels_avx512::kernel_set();
  if (avx2) return kernels_avx2::kernel_set();
#endif
  return kernels_baseline::kernel_set();
}

// Each element of a pointwise result depends on operands at its index; an update reads and writes its first operand.
bool overwrites(const Symbol& symbol, size_t, size_t operand) {
  return symbol.traits.pointwise || (symbol.semantics.scatter_update && operand == 0);
}

/// Implementations by the address of their symbol: open addressing, filled once, half empty.
class ImplementationTable {
 public:
  ImplementationTable() {
    size_t count = kernel_set().formulas.size();
    for (const KernelTable& table : kernel_set().tables) count += table.size();
    while (size_t{1} << bits_ < 2 * count) ++bits_;
    slots_ = std::make_unique<Implementation[]>(size_t{1} << bits_);
    for (size_t i = 0; i < kernel_set().tables.size(); ++i)
      for (const KernelEntry& entry : kernel_set().tables[i]) insert(entry, i < kernel_set().pointwise_tables);
    for (const KernelEntry& entry : kernel_set().formulas)
      if (!find(*entry.symbol)) insert(entry, true);
  }
  const Implementation* find(const Symbol& symbol) const {
    for (size_t i = slot_of(symbol);; i = next(i)) {
      if (slots_[i].symbol == &symbol) return &slots_[i];
      if (!slots_[i].symbol) return nullptr;
    }
  }

 private:
  size_t slot_of(const Symbol& symbol) const {
    return reinterpret_cast<uintptr_t>(&symbol) * 0x9e3779b97f4a7c15u >> (64 - bits_);
  }
  size_t next(size_t i) const { return (i + 1) & ((size_t{1} << bits_) - 1); }
  void insert(const KernelEntry& entry, bool is_pointwise) {
    size_t i = slot_of(*entry.symbol);
    while (slots_[i].symbol) {
      if (slots_[i].symbol == entry.symbol)
        throw InternalError("two eager kernels for " + std::string(entry.symbol->qualified_name()));
      i = next(i);
    }
    slots_[i] = {"eager",
                 entry.symbol,
                 entry.kernel,
                 entry.checker,
                 entry.scratch,
                 nullptr,
                 is_pointwise,
                 entry.takes_result_strides,
                 entry.skips_unread_results};
    slots_[i].overwrites = overwrites;
  }

  int bits_ = 4;
  std::unique_ptr<Implementation[]> slots_;
};

}  // namespace

const KernelSet& kernel_set() {
  static constinit FirstUse<const KernelSet*> chosen;
  return *chosen.get([] { return &choose_kernel_set(); });
}

const Implementation* find_eager_implementation(const Symbol& symbol) {
  static constinit FirstUse<ImplementationTable> table;
  return table.get([] { return ImplementationTable(); }).find(symbol);
}

std::unique_ptr<PendingValues> make_pointwise_chain() { return kernel_set().make_chain(); }

const Executor& eager_executor() {
  static const Executor executor{"eager", find_eager_implementation};
  return executor;
}

void copy_elements(const Tensor& source, const Tensor& destination) { kernel_set().copy_elements(source, destination); }

}  // namespace fulgurite
