#include "support/scalar_executors.h"

#include <memory>
#include <stdexcept>

#include "codegen/gemm/gemm_source.h"
#include "codegen/host_compiler/compile_kernels.h"
#include "codegen/render/scalar_target.h"
#include "executors/fuser/fusion_kernel.h"
#include "executors/gemm/gemm_call.h"
#include "executors/gemm/gemm_executor.h"
#include "executors/registry.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::test {

void run_scalar_gemm(const codegen::GemmForm& form, const fused_gemm::GemmArguments& given,
                     const codegen::CompiledKernel& code) {
  const auto operand = [](const fused_gemm::DepthMatrix& matrix) {
    return kernels::GemmOperand{static_cast<const char*>(matrix.data), matrix.rows, matrix.row_stride,
                                matrix.depth_stride};
  };
  kernels::GemmMatrix matrices[codegen::max_gemm_matrices];
  const codegen::GemmEpilogue& epilogue = form.epilogue;
  for (size_t m = 0; m < given.matrices.size(); ++m) {
    const bool is_result = m < epilogue.results.size();
    const int64_t item =
        size_of(is_result ? epilogue.results[m] : epilogue.operands[m - epilogue.results.size()].dtype);
    matrices[m] = {static_cast<char*>(given.matrices[m].data), given.matrices[m].row_stride * item, item};
  }
  kernels::GemmLaunch launch{};
  launch.left = operand(given.left);
  launch.right = operand(given.right);
  launch.depth = given.depth;
  launch.matrices = matrices;
  const auto function = reinterpret_cast<void (*)()>(code.function);
  parallel_for(given.left.rows, 8, [&](int64_t begin, int64_t end) {
    reinterpret_cast<kernels::GemmFunction>(function)(launch, begin, end);
  });
}

namespace {

/// A fusion whose kernel is in scalar form.
template <class Kernel>
struct ScalarFusion {
  template <class... Given>
  ScalarFusion(const Implementation& vectors, std::string_view executor, const Given&... given)
      : kernel(given...), implementation(vectors) {
    implementation.executor = executor;
    implementation.fusion = &kernel;
  }
  const Kernel kernel;
  Implementation implementation;
};
template <class Kernel, class... Given>
ImplementationRef make_fusion(const Implementation& vectors, std::string_view executor, const Given&... given) {
  const auto made = std::make_shared<const ScalarFusion<Kernel>>(vectors, executor, given...);
  return std::shared_ptr<const Implementation>(made, &made->implementation);
}

/// The fuser's kernels.
struct Fusions {
  using Vectors = fuser::FusionKernel;
  static constexpr std::string_view executor = "scalar_fuser";

  static codegen::KernelSource source(const Vectors& kernel, const std::string& name) {
    codegen::KernelSource source;
    source.text = codegen::scalar_kernel(kernel.kernel(), kernel.schedule(), name, false);
    source.plain_text = codegen::scalar_kernel(kernel.kernel(), kernel.schedule(), "kernel", true);
    return source;
  }
  static ImplementationRef implementation(const Implementation& given, const Vectors& vectors,
                                          const codegen::KernelSource& source, const codegen::CompiledKernel& code) {
    return make_fusion<Vectors>(given, executor, vectors.kernel(), vectors.schedule(), source.text, code);
  }
};

/// The kernels of gemm.
struct Gemms {
  using Vectors = fused_gemm::GemmKernel;
  static constexpr std::string_view executor = "scalar_gemm";

  class Kernel final : public FusedKernel {
   public:
    Kernel(const fused_gemm::GemmOp& gemm, const std::string& text, const codegen::CompiledKernel& code)
        : gemm_(gemm), text_(text), code_(code) {}
    std::string_view text() const override { return text_; }
    void run(Arguments arguments, std::span<const Tensor> results) const override {
      const fused_gemm::GemmCall call(gemm_, arguments, results);
      run_scalar_gemm(gemm_.form, call.arguments(), code_);
    }

   private:
    const fused_gemm::GemmOp gemm_;
    const std::string text_;
    const codegen::CompiledKernel code_;
  };

  static codegen::KernelSource source(const Vectors& kernel, const std::string& name) {
    codegen::KernelSource source;
    source.text = kernel.scalar_text(name);
    source.plain_text = kernel.scalar_text("gemm");
    return source;
  }
  static ImplementationRef implementation(const Implementation& given, const Vectors& vectors,
                                          const codegen::KernelSource& source, const codegen::CompiledKernel& code) {
    return make_fusion<Kernel>(given, executor, vectors.gemm(), source.text, code);
  }
};

template <class Kind>
Trace with_scalar_kernels(Trace fused) {
  std::vector<BoundSymbol*> fusions;
  std::vector<codegen::KernelSource> sources;
  const auto vectors_of = [](const BoundSymbol& bound) {
    return dynamic_cast<const typename Kind::Vectors*>(bound.implementation->fusion);
  };
  for (BoundSymbol& bound : fused.bound_symbols.change()) {
    if (!bound.is_fusion() || vectors_of(bound) == nullptr) continue;
    fusions.push_back(&bound);
    const std::string name = "scalar_" + std::to_string(sources.size());
    sources.push_back(Kind::source(*vectors_of(bound), name));
    sources.back().name = name;
    sources.back().is_scalar = true;
  }
  const auto functions = codegen::compile_kernels(sources);
  if (functions.size() != sources.size()) throw std::runtime_error("the scalar kernels cannot be compiled");
  for (size_t i = 0; i < fusions.size(); ++i)
    fusions[i]->implementation =
        Kind::implementation(*fusions[i]->implementation, *vectors_of(*fusions[i]), sources[i], functions[i]);
  return fused;
}

/// Registers an executor that fuses as another one does.
template <class Kind>
void add_scalar_executor(const Fusing& vectors) {
  auto fusing = std::make_shared<Fusing>();
  fusing->candidate.executor = Kind::executor;
  fusing->supports = vectors.supports;
  fusing->fuse = [candidate = &fusing->candidate, &vectors](const Trace& trace, FusionNames& names,
                                                            FusingOptions options) {
    Trace given = trace;
    for (BoundSymbol& bound : given.bound_symbols.change())
      if (bound.implementation == candidate) bound.implementation = &vectors.candidate;
    return with_scalar_kernels<Kind>(vectors.fuse(given, names, options));
  };
  add_executor(std::make_shared<const Executor>(fusing_executor(std::string(Kind::executor), fusing)),
               SourceLocation::here());
}

}  // namespace

void register_scalar_executors() {
  static const bool once = [] {
    add_scalar_executor<Fusions>(*fuser_executor().fusing);
    add_scalar_executor<Gemms>(*gemm_executor().fusing);
    return true;
  }();
  (void)once;
}

}  // namespace fulgurite::test
