// User-supplied fusing executors.
#include <fulgurite/fusion_executor.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/symbol.h>

#include "codegen/lowering/group_lowering.h"
#include "executors/check_function.h"
#include "executors/fusion/outline_fusions.h"
#include "executors/user_executor.h"
#include "ops/core/dispatch.h"
#include "ops/generated/symbols.h"
#include "runtime/copy_elements.h"
#include "support/log.h"
#include "support/text/text.h"

namespace fulgurite {

namespace detail {

namespace {

/// A user-supplied fusion, ready to run.
class UserFusion final : public FusedKernel {
 public:
  UserFusion(std::string name, std::string executor, Fusion fusion, size_t outputs)
      : executor_(std::move(executor)), fusion_(std::move(fusion)) {
    user_.run = [this, name = std::move(name), outputs](Arguments arguments, SourceLocation at, Results& results) {
      const InterpreterScope eager(nullptr);
      const NoGrad no_grad;
      std::vector<Tensor> inputs;
      for (const Argument& argument : arguments) inputs.push_back(argument.tensor());
      std::vector<Tensor> given = fusion_.run(inputs);
      if (given.size() != outputs)
        throw UserError(text::cat("the run of ", name, ", a fusion of the executor \"", executor_, "\", gave ",
                                  given.size(), " tensor(s), but the region has ", outputs, " output(s)"),
                        at);
      for (Tensor& tensor : given) {
        if (!tensor.defined())
          throw UserError(text::cat("the run of ", name, ", a fusion of the executor \"", executor_,
                                    "\", gave an undefined tensor"),
                          at);
        results.push_back(std::move(tensor));
      }
      own_results(results);
    };
    implementation_.executor = executor_;
    if (!fusion_.run_into) implementation_.user = &user_;
    implementation_.fusion = this;
  }
  void run(Arguments arguments, std::span<const Tensor> results) const override {
    if (fusion_.run_into) return run_into(arguments, results);
    Results given;
    user_.run(arguments, {}, given);
    for (size_t i = 0; i < results.size(); ++i) copy_elements(given[i], results[i]);
  }
  bool may_overwrite(size_t result, size_t argument) const override {
    return fusion_.run_into && fusion_.may_overwrite && fusion_.may_overwrite(result, argument);
  }
  std::string_view text() const override { return fusion_.source; }
  const Implementation& implementation() const { return implementation_; }

 private:
  void run_into(Arguments arguments, std::span<const Tensor> results) const {
    const InterpreterScope eager(nullptr);
    const NoGrad no_grad;
    std::vector<Tensor> inputs;
    for (const Argument& argument : arguments) inputs.push_back(argument.tensor());
    fusion_.run_into(inputs, {results.begin(), results.end()});
  }

  const std::string executor_;
  const Fusion fusion_;
  UserImplementation user_;
  Implementation implementation_;
};

class UserFuser {
 public:
  explicit UserFuser(const FusionExecutor& executor) : name_(executor.name()), given_(executor) {
    for (const SupportedSymbol& supported : executor.supported())
      checkers_[supported.symbol].push_back(supported.checker);
  }

  std::string_view name() const { return name_; }

  bool supports(const BoundSymbol& bound) const {
    const auto found = checkers_.find(bound.symbol);
    if (found == checkers_.end()) return false;
    codegen::Shapes shapes;
    const ArgumentPack pack(bound, shapes);
    return std::ranges::any_of(found->second, [&](const OperatorFunction& checker) {
      if (!checker) return true;
      if (!takes_arguments(checker.parameters(), pack.arguments())) return false;
      OperatorCall call{pack.arguments(), {}};
      checker(call);
      return call.answer;
    });
  }

  Trace fuse(const Trace& trace, const Implementation& candidate, FusionNames& names) {
    const fuser::DependencyGraph graph(trace, false);
    std::vector<char> is_candidate(trace.bound_symbols.size());
    for (size_t i = 0; i < is_candidate.size(); ++i) is_candidate[i] = is_taken(trace.bound_symbols[i], candidate);
    const bool explains = logs(LogChannel::fusions);
    fuser::FusionGroups grouped = fuser::group_ops_for_fusion(trace, graph, is_candidate, rules(), explains);
    std::vector<fuser::GroupFusion> fusions;
    grouped.keep_if([&](const fuser::FusionGroup& region) {
      if (std::ranges::all_of(region.ops, [&](int op) { return is_view(trace.bound_symbols[op]); })) return false;
      const std::string name = names.next();
      const Region offered = region_of_group(trace, graph, region, name);
      if (given_.is_profitable && !given_.is_profitable(offered)) return false;
      Fusion fusion = given_.fuse(offered);
      if (!fusion.run && !fusion.run_into) return false;
      if (explains) log(LogChannel::fusions, text::cat(name, " of ", trace.name, ", by ", name_, ":\n", fusion.source));
      fusions.push_back(
          {name, region.inputs, region.results, false, owned(name, std::move(fusion), region.results.size())});
      return true;
    });
    if (explains) {
      std::string missed_fusions;
      for (const std::string& missed_reason : grouped.missed_fusions) missed_fusions += text::cat(missed_reason, "\n");
      if (!missed_fusions.empty()) log(LogChannel::fusions, missed_fusions);
    }
    return fuser::outline_fusions(trace, graph, grouped, fusions, candidate);
  }

 private:
  static bool is_view(const BoundSymbol& bound) { return bound.symbol->traits.view; }

  fuser::GroupingRules rules() const {
    fuser::GroupingRules out{.missed_reason = [](const codegen::LoopNest&) { return std::string(); },
                             .is_profitable_alone = [](const BoundSymbol& bound) { return !is_view(bound); },
                             .is_plain = [](const BoundSymbol&) { return false; }};
    if (given_.missed_reason)
      out.missed_reason = [this](const codegen::LoopNest& group) {
        return given_.missed_reason({group.ops, group.results});
      };
    if (given_.fuse_last) out.fuse_last = given_.fuse_last;
    return out;
  }

  // Views have no executor, so they are checked here.
  bool is_taken(const BoundSymbol& bound, const Implementation& candidate) const {
    return bound.implementation == &candidate || (!bound.implementation && is_view(bound) && supports(bound));
  }

  static Region region_of_group(const Trace& trace, const fuser::DependencyGraph& graph,
                                const fuser::FusionGroup& grouped, const std::string& name) {
    Region region;
    region.name = name;
    region.inputs = grouped.inputs;
    region.outputs = grouped.results;
    region.trace = without_symbols(trace);
    region.trace.tags = {};
    region.trace.name = name;
    region.trace.args = region.inputs;
    region.trace.provenance = text::cat("a region of ", trace.name);
    region.trace.bound_symbols = fuser::inner_ops(trace, graph, grouped, region.trace.next_id, region.trace.next_name);
    for (const BoundSymbol& bound : region.trace.bound_symbols) region.bound_symbols.push_back(bound);
    BoundSymbol last;
    last.symbol = &prims_return_symbol;
    for (const Value& output : region.outputs) last.args.push_back(output);
    region.trace.bound_symbols.push_back(std::move(last));
    return region;
  }

  // Traces and programs own it.
  ImplementationRef owned(const std::string& name, Fusion fusion, size_t outputs) const {
    const auto made = std::make_shared<const UserFusion>(name, name_, std::move(fusion), outputs);
    return std::shared_ptr<const Implementation>(made, &made->implementation());
  }

  const std::string name_;
  const FusionExecutor given_;
  std::unordered_map<const Symbol*, std::vector<OperatorFunction>> checkers_;
};

}  // namespace

void add_supported(std::vector<SupportedSymbol>& supported, const Symbol& symbol, OperatorFunction checker,
                   SourceLocation at) {
  if (symbol.traits.structural)
    throw UserError(text::cat(symbol.qualified_name(), " is part of traces, or a write: it is in no region"), at);
  if (checker) {
    check_answers(symbol, checker, true, "checker", at);
    check_parameters(symbol, checker.parameters(), "checker", at);
  }
  supported.push_back({&symbol, std::move(checker)});
}

}  // namespace detail

void register_executor(const FusionExecutor& given, SourceLocation at) {
  if (given.name().empty()) throw UserError("an executor needs a name", at);
  if (!given.fuse) throw UserError(text::cat("the executor \"", given.name(), "\" has no function `fuse`"), at);
  auto user = std::make_shared<detail::UserFuser>(given);
  auto fusing = std::make_shared<Fusing>();
  fusing->candidate.executor = user->name();
  fusing->supports = [user](const BoundSymbol& bound) { return user->supports(bound); };
  fusing->fuse = [user, candidate = &fusing->candidate](const Trace& trace, FusionNames& names, FusingOptions) {
    return user->fuse(trace, *candidate, names);
  };
  add_executor(std::make_shared<const Executor>(fusing_executor(given.name(), std::move(fusing))), at);
}

}  // namespace fulgurite
