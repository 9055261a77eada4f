#include "pipeline/lower_to_execution.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "pipeline/pass_list.h"
#include "support/text/text.h"
#include "transforms/execution/fold_scatter_add.h"
#include "transforms/execution/join_products.h"
#include "transforms/execution/multiply_codes.h"
#include "transforms/execution/schedule_updates_early.h"
#include "transforms/execution/transform_for_execution.h"
#include "transforms/pass_runner.h"

namespace fulgurite {

namespace {

constexpr int64_t min_sum_bytes = 64 << 10;  // smaller sums are not rewritten

bool is_fusing(const Executor* executor) { return executor->fusing != nullptr; }

class Lowering {
 public:
  Lowering(std::vector<Trace>& stages, std::vector<const Executor*> executors, FusionNames& names,
           const PipelineOptions& options, bool is_symbolic)
      : stages_(stages),
        executors_(std::move(executors)),
        names_(names),
        options_(options),
        everything_(options.fuses_all || is_symbolic),
        fuses_(std::ranges::any_of(executors_, is_fusing)),
        min_bytes_(everything_ ? 0 : min_sum_bytes),
        runner_(stages, options.check_traces) {}

  void run() {
    const std::shared_ptr<const detail::PassList> list = passes_of(options_);
    const std::vector<detail::NamedPass>& passes = list->passes;
    const auto last = std::ranges::find(passes, "choose_executors", &detail::NamedPass::name);
    for (auto pass = last + 1; pass != passes.end(); ++pass) run(*pass);
  }

 private:
  void run(const detail::NamedPass& pass) {
    if (!pass.transform) return (this->*library_pass(pass.name))();
    runner_.run(pass.name, pass.transform);
    if (is_claimed_) claim();
  }

  static void (Lowering::*library_pass(std::string_view name))() {
    static constexpr std::pair<std::string_view, void (Lowering::*)()> table[] = {
        {"multiply_codes", &Lowering::multiply_codes_of_weights},
        {"join_products", &Lowering::join_sums_of_products},
        {"claims", &Lowering::claim},
        {"fold_scatter_add", &Lowering::fold_scattered_sums},
        {"fusion", &Lowering::fuse},
        {"execution_dce", &Lowering::eliminate_unused},
        {"schedule_updates_early", &Lowering::schedule_updates},
        {"delete_last_used", &Lowering::delete_values},
    };
    return std::ranges::find(table, name, [](const auto& entry) { return entry.first; })->second;
  }

  void multiply_codes_of_weights() {
    if (has_codes(stages_.back())) runner_.run("Multiply Codes", multiply_codes);
  }
  // As fusions do, the passes over sums change the order of additions.
  void join_sums_of_products() {
    if (fuses_ && has_sums_of_products(stages_.back(), min_bytes_))
      runner_.run("Join Products", [&](const Trace& t) { return join_products(t, min_bytes_); });
  }
  void claim() {
    is_claimed_ = true;
    runner_.run("Transform for execution", [&](const Trace& t) { return transform_for_execution(t, executors_); });
  }
  void fold_scattered_sums() {
    if (fuses_ && has_scattered_sums(stages_.back(), min_bytes_))
      runner_.run("Fold Scatter Add", [&](const Trace& t) { return fold_scatter_add(t, min_bytes_); });
  }
  // Each fusing executor in turn; ops that it did not fuse are claimed by the other executors.
  void fuse() {
    for (auto next = std::ranges::find_if(executors_, is_fusing); next != executors_.end();
         next = std::ranges::find_if(executors_, is_fusing)) {
      const Executor* executor = *next;
      runner_.run(text::cat("Fusion (", executor->name, ")"), [&](const Trace& t) {
        return executor->fusing->fuse(t, names_, {everything_, options_.allow_excess_precision});
      });
      executors_.erase(next);
      claim();
    }
  }
  void eliminate_unused() { runner_.run("Dead Code Elimination", eliminate_dead_code); }
  void schedule_updates() {
    if (has_updates(stages_.back())) runner_.run("Schedule Updates Early", schedule_updates_early);
  }
  void delete_values() { runner_.run("Delete Last Used", delete_last_used); }

  std::vector<Trace>& stages_;
  std::vector<const Executor*> executors_;
  FusionNames& names_;
  const PipelineOptions& options_;
  // Fusions must not depend on sizes that symbols stand for: new specializations would have to wait for the compiler.
  const bool everything_, fuses_;
  const int64_t min_bytes_;
  bool is_claimed_ = false;
  PassRunner runner_;
};

}  // namespace

std::shared_ptr<const detail::PassList> passes_of(const PipelineOptions& options) {
  return options.passes ? options.passes : detail::library_passes();
}

std::vector<const Executor*> profitable_executors(std::vector<const Executor*> executors, const Trace& trace,
                                                  const PipelineOptions& options) {
  if (!options.fuses_all)
    std::erase_if(executors, [&](const Executor* e) {
      return e->fusing && e->fusing->may_be_profitable && !e->fusing->may_be_profitable(trace);
    });
  return executors;
}

void lower_to_execution(std::vector<Trace>& stages, std::vector<const Executor*> executors, FusionNames& names,
                        const PipelineOptions& options, bool is_symbolic) {
  Lowering(stages, std::move(executors), names, options, is_symbolic).run();
}

}  // namespace fulgurite
