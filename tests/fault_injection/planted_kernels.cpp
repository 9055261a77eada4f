// Kernels with one wrong op, found by DebugOptions::verify_against_eager.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <regex>

#include "codegen/host_compiler/compile_kernels.h"
#include "executors/fuser/fusion_kernel.h"
#include "executors/registry.h"
#include "fault_injection/fault_program.h"
#include "ir/analysis/trace_values.h"

namespace fulgurite::test {

namespace {

constexpr unsigned programs = 8;

/// The value whose op is compiled wrongly: "" for none.
std::string& target() {
  static std::string name;
  return name;
}

// Every statement that computes the value computes another.
std::string spoiled_text(const std::string& text) {
  if (target().empty()) return text;
  const std::regex statement("const Floats " + target() + " = (?!load)(.*);");
  return std::regex_replace(text, statement, "const Floats " + target() + " = ($1) * 1.5f + 0.25f;");
}

/// A fusion with the kernel of another, or with one of its own.
struct SpoiledFusion {
  explicit SpoiledFusion(ImplementationRef of) : healthy(std::move(of)), implementation(*healthy) {
    implementation.executor = "spoiled_fuser";
  }
  const ImplementationRef healthy;
  std::optional<fuser::FusionKernel> kernel;
  Implementation implementation;
};

// The same kernel, or one compiled from spoiled text.
ImplementationRef own(const ImplementationRef& given) {
  const auto out = std::make_shared<SpoiledFusion>(given);
  const auto& kernel = dynamic_cast<const fuser::FusionKernel&>(*given->fusion);
  const std::string text(kernel.text()), spoiled = spoiled_text(text);
  if (spoiled != text) {
    codegen::KernelSource source;
    source.text = source.plain_text = spoiled;
    source.name = std::regex_replace(text.substr(0, text.find('(')), std::regex("extern \"C\" void "), "");
    source.is_wide = source.has_angles = true;
    const auto functions = codegen::compile_kernels(std::span(&source, 1));
    out->kernel.emplace(kernel.kernel(), kernel.schedule(), spoiled, functions.at(0));
    out->implementation.fusion = &*out->kernel;
  }
  return std::shared_ptr<const Implementation>(out, &out->implementation);
}

// The fuser, but for the kernels that it makes.
void register_spoiled_fuser() {
  static const bool once = [] {
    auto fusing = std::make_shared<Fusing>();
    fusing->candidate.executor = "spoiled_fuser";
    fusing->supports = fuser_executor().fusing->supports;
    fusing->fuse = [candidate = &fusing->candidate](const Trace& trace, FusionNames& names, FusingOptions options) {
      const Fusing& fuser = *fuser_executor().fusing;
      Trace given = trace;
      for (BoundSymbol& bound : given.bound_symbols.change())
        if (bound.implementation == candidate) bound.implementation = &fuser.candidate;
      Trace fused = fuser.fuse(given, names, options);
      for (BoundSymbol& bound : fused.bound_symbols.change())
        if (bound.is_fusion() && bound.implementation->executor == "fuser")
          bound.implementation = own(bound.implementation);
      return fused;
    };
    add_executor(std::make_shared<const Executor>(fusing_executor("spoiled_fuser", fusing)), SourceLocation::here());
    return true;
  }();
  (void)once;
}

const char* const wrong_inside[] = {"add", "sub",  "mul", "div", "tanh", "sin",   "sigmoid", "exp",
                                    "log", "sqrt", "abs", "neg", "cos",  "rsqrt", "pow"};

void register_spoiled_kernels() {
  static const bool once = [] {
    FusionExecutor regions("spoiled_kernels");
    for (const char* name : wrong_inside) regions.register_supported(*find_symbol(name));
    regions.fuse = [](const Region& region) {
      return Fusion{.run = [trace = region.trace, wrong = target()](const std::vector<Tensor>& inputs) {
        Trace planted = without_symbols(trace);
        for (BoundSymbol bound : trace.bound_symbols.read()) {
          const bool is_wrong =
              !wrong.empty() && !bound.outputs.empty() && proxy_name(bound.outputs.read()[0]) == wrong;
          if (!is_wrong) {
            planted.bound_symbols.push_back(std::move(bound));
            continue;
          }
          auto* proxy = new TensorProxy(bound.outputs.read()[0].tensor());
          proxy->id = planted.next_id++;
          proxy->name += "_right";
          const Value right{detail::Ref<TensorProxy>(proxy)};
          BoundSymbol spoil;
          spoil.symbol = find_symbol("cos");
          spoil.args.push_back(right);
          spoil.outputs = bound.outputs;
          bound.outputs = {right};
          planted.bound_symbols.push_back(std::move(bound));
          planted.bound_symbols.push_back(std::move(spoil));
        }
        return evaluate(planted, inputs);
      }};
    };
    register_executor(regions);
    return true;
  }();
  (void)once;
}

// The values computed by ops inside the fusions of a function, as floating tensors.
std::vector<std::string> values_in_fusions(const Jitted& f, const std::function<bool(const BoundSymbol&)>& takes) {
  std::vector<std::string> out;
  for (const auto& stages : {last_traces(f), last_backward_traces(f)})
    for (const BoundSymbol& fusion : examine::get_fusion_symbols(stages.back()))
      for (const BoundSymbol& line : fusion.subsymbols.read()) {
        const Value& made = line.outputs.read()[0];
        if (!line.symbol->traits.view && made.is_tensor() && is_floating(made.tensor().dtype) && takes(line))
          out.push_back(proxy_name(made));
      }
  return out;
}

Located plant(const std::vector<std::string>& executors, unsigned seed,
              const std::function<bool(const BoundSymbol&)>& takes) {
  std::mt19937 random(seed);
  while (true) {
    const FaultProgram program(static_cast<unsigned>(random()) % programs);
    target().clear();
    const auto healthy = jit(program.function(), {.executors = executors});
    const std::vector<Tensor> right = results_of([&](std::vector<Tensor> inputs) { return healthy(inputs); }, program);
    const std::vector<std::string> values = values_in_fusions(healthy, takes);
    if (values.empty()) continue;
    target() = values[random() % values.size()];
    const auto spoiled = jit(program.function(), {.executors = executors});
    const std::vector<Tensor> wrong = results_of([&](std::vector<Tensor> inputs) { return spoiled(inputs); }, program);
    if (are_close(right, wrong)) continue;
    const auto checked = jit(program.function(), {.executors = executors, .debug = {.verify_against_eager = true}});
    Located out;
    out.planted = target();
    out.report = error_of([&] { results_of([&](std::vector<Tensor> inputs) { return checked(inputs); }, program); });
    target().clear();
    out.is_located = out.report.find(": " + out.planted + ": element") != std::string::npos;
    return out;
  }
}

}  // namespace

Located plant_in_kernel_text(unsigned seed) {
  register_spoiled_fuser();
  return plant({"onednn", "spoiled_fuser"}, seed, [](const BoundSymbol&) { return true; });
}

Located plant_in_fusion_executor(unsigned seed) {
  register_spoiled_kernels();
  return plant({"spoiled_kernels"}, seed, [](const BoundSymbol&) { return true; });
}

Located plant_in_operator(unsigned seed) {
  struct Wrong {
    const char* name;
    Tensor (*run)(Tensor);
  };
  static const Wrong all[] = {{"tanh", [](Tensor x) { return tanh(x) * 1.5; }},
                              {"sin", [](Tensor x) { return sin(x) + 0.25; }},
                              {"sigmoid", [](Tensor x) { return 1.0 - sigmoid(x); }},
                              {"log", [](Tensor x) { return log(x) + 1.0; }},
                              {"sqrt", [](Tensor x) { return x * 0.5; }}};
  static const bool once = [] {
    for (const Wrong& wrong : all) {
      OperatorExecutor executor(std::string("wrong_") + wrong.name);
      executor.register_implementation(*find_symbol(wrong.name), wrong.run);
      register_executor(executor);
    }
    return true;
  }();
  (void)once;
  std::mt19937 random(seed);
  while (true) {
    const FaultProgram program(static_cast<unsigned>(random()) % 1000);
    const Wrong& wrong = all[random() % std::size(all)];
    const std::string executor = std::string("wrong_") + wrong.name;
    const auto checked = jit(program.function(), {.executors = {executor}, .debug = {.verify_against_eager = true}});
    const Trace recorded = canonical_order(trace(program.function(), program.inputs()));
    const auto lines = recorded.bound_symbols.read();
    const auto first = std::ranges::find_if(lines, [&](const BoundSymbol& line) { return line.name() == wrong.name; });
    if (first == lines.end()) continue;
    Located out;
    out.planted = proxy_name(first->outputs.read()[0]) + " on " + executor;
    out.report = error_of([&] { results_of([&](std::vector<Tensor> inputs) { return checked(inputs); }, program); });
    out.is_located = out.report.find(" on " + executor) != std::string::npos &&
                     out.report.find(": " + proxy_name(first->outputs.read()[0]) + ": element") != std::string::npos;
    return out;
  }
}

}  // namespace fulgurite::test
