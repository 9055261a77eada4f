#include "support/scalar_fuser.h"

#include <memory>
#include <stdexcept>

#include "codegen/host_compiler/compile_kernels.h"
#include "codegen/render/scalar_target.h"
#include "executors/fuser/fusion_kernel.h"
#include "executors/registry.h"

namespace fulgurite::test {

namespace {

codegen::KernelSource scalar_source(const fuser::FusionKernel& kernel, const std::string& name) {
  codegen::KernelSource source;
  source.name = name;
  source.text = codegen::scalar_kernel(kernel.kernel(), kernel.schedule(), name, false);
  source.plain_text = codegen::scalar_kernel(kernel.kernel(), kernel.schedule(), "kernel", true);
  source.is_scalar = true;
  return source;
}

struct ScalarFusion {
  ScalarFusion(const Implementation& given, const fuser::FusionKernel& vectors, const codegen::KernelSource& source,
               const codegen::CompiledKernel& code)
      : kernel(vectors.kernel(), vectors.schedule(), source.text, code), implementation(given) {
    implementation.executor = "scalar_fuser";
    implementation.fusion = &kernel;
  }
  const fuser::FusionKernel kernel;
  Implementation implementation;
};

ImplementationRef in_scalar_form(const Implementation& given, const codegen::KernelSource& source,
                                 const codegen::CompiledKernel& code) {
  const auto& vectors = dynamic_cast<const fuser::FusionKernel&>(*given.fusion);
  const auto made = std::make_shared<const ScalarFusion>(given, vectors, source, code);
  return std::shared_ptr<const Implementation>(made, &made->implementation);
}

Trace with_scalar_kernels(Trace fused) {
  std::vector<BoundSymbol*> fusions;
  std::vector<codegen::KernelSource> sources;
  for (BoundSymbol& bound : fused.bound_symbols.change()) {
    if (!bound.is_fusion() || bound.implementation->executor != "fuser") continue;
    fusions.push_back(&bound);
    sources.push_back(scalar_source(dynamic_cast<const fuser::FusionKernel&>(*bound.implementation->fusion),
                                    "scalar_" + std::to_string(sources.size())));
  }
  const auto functions = codegen::compile_kernels(sources);
  if (functions.size() != sources.size()) throw std::runtime_error("the scalar kernels cannot be compiled");
  for (size_t i = 0; i < fusions.size(); ++i)
    fusions[i]->implementation = in_scalar_form(*fusions[i]->implementation, sources[i], functions[i]);
  return fused;
}

}  // namespace

void register_scalar_fuser() {
  static const bool once = [] {
    auto fusing = std::make_shared<Fusing>();
    fusing->candidate.executor = "scalar_fuser";
    fusing->supports = fuser_executor().fusing->supports;
    fusing->fuse = [candidate = &fusing->candidate](const Trace& trace, FusionNames& names, FusingOptions options) {
      const Fusing& fuser = *fuser_executor().fusing;
      Trace given = trace;
      for (BoundSymbol& bound : given.bound_symbols.change())
        if (bound.implementation == candidate) bound.implementation = &fuser.candidate;
      return with_scalar_kernels(fuser.fuse(given, names, options));
    };
    add_executor(std::make_shared<const Executor>(fusing_executor("scalar_fuser", fusing)), SourceLocation::here());
    return true;
  }();
  (void)once;
}

}  // namespace fulgurite::test
