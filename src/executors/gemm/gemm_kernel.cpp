#include "executors/gemm/gemm_kernel.h"

#include <memory>
#include <mutex>

#include "codegen/gemm/gemm_source.h"
#include "executors/fused_kernel_visitor.h"
#include "executors/gemm/gemm_call.h"
#include "support/context.h"

namespace fulgurite::fused_gemm {

/// GEMMs with their kernels, so that equal ones are shared. Traces and programs own them.
class GemmImplementations {
 public:
  std::vector<ImplementationRef> get(std::span<const GemmOp> gemms) {
    std::vector<codegen::GemmForm> forms;
    for (const GemmOp& gemm : gemms) forms.push_back(gemm.form);
    std::vector<codegen::CompiledGemm> kernels = codegen::compile_gemms(forms);
    std::vector<ImplementationRef> out;
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const std::weak_ptr<const Entry>& entry) { return entry.expired(); });
    for (size_t i = 0; i < kernels.size(); ++i) out.push_back(get(gemms[i], std::move(kernels[i])));
    return out;
  }

 private:
  struct Entry {
    Entry(const GemmOp& of, codegen::CompiledGemm kernels) : gemm(of), kernel(of, std::move(kernels)) {
      implementation.executor = "gemm";
      implementation.fusion = &kernel;
    }
    const GemmOp gemm;
    const GemmKernel kernel;
    Implementation implementation;
  };

  ImplementationRef get(const GemmOp& gemm, codegen::CompiledGemm kernels) {
    for (const std::weak_ptr<const Entry>& known : entries_)
      if (const std::shared_ptr<const Entry> entry = known.lock(); entry && entry->gemm == gemm)
        return std::shared_ptr<const Implementation>(entry, &entry->implementation);
    const auto entry = std::make_shared<const Entry>(gemm, std::move(kernels));
    entries_.push_back(entry);
    return std::shared_ptr<const Implementation>(entry, &entry->implementation);
  }

  std::mutex mutex_;  // guards the member below
  std::vector<std::weak_ptr<const Entry>> entries_;
};

void GemmKernel::run(Arguments arguments, std::span<const Tensor> results) const {
  const GemmCall call(gemm_, arguments, results);
  run_gemm(gemm_.form, kernels_, call.arguments());
}

std::string GemmKernel::scalar_text(std::string_view name) const {
  return codegen::scalar_source(gemm_.form, kernels_.unit, std::string(name)).text("extern \"C\"");
}

std::string GemmKernel::ir_text() const { return codegen::gemm_ir_text(gemm_.form, kernels_.unit); }

// An element is read right before it is written; left and right operands are read throughout.
void GemmKernel::accept(FusedKernelVisitor& visitor) const { visitor.visit(*this); }

bool GemmKernel::may_overwrite(size_t, size_t argument) const {
  return argument >= 2 && !gemm_.form.epilogue.operands[argument - 2].is_row;
}

std::vector<ImplementationRef> gemm_implementations(std::span<const GemmOp> gemms) {
  return context().gemm_kernels.get().get(gemms);
}

}  // namespace fulgurite::fused_gemm
