#include "examine/profile/profile_lines.h"

#include <algorithm>
#include <array>

#include <fulgurite/symbol.h>

#include "examine/fusions/find_fusion.h"
#include "ir/analysis/operation_count.h"
#include "ir/analysis/trace_values.h"
#include "ir/printing/print_common.h"
#include "ir/structural.h"
#include "runtime/slot_layouts.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

int64_t bytes_of(const SlotLayout& layout) {
  int64_t count = size_of(layout.dtype);
  for (size_t d = 0; d < layout.sizes.size(); ++d)
    if (layout.strides[d] != 0 || layout.sizes[d] == 0) count *= layout.sizes[d];
  return count;
}

void count_bytes(const Step& step, const std::vector<SlotLayout>& layouts, Report::Line& op) {
  const auto layout = [&](int slot) -> const SlotLayout& { return layouts[static_cast<size_t>(slot)]; };
  switch (step.kind) {
    case Step::Kind::view:
    case Step::Kind::input_view: return;
    case Step::Kind::clone:
    case Step::Kind::write:
      op.bytes_read += bytes_of(layout(step.source));
      op.bytes_written += bytes_of(layout(step.result));
      return;
    case Step::Kind::kernel:
    case Step::Kind::call: break;
  }
  int64_t written = 0;
  for (int k = 0; k < step.result_count; ++k) written += bytes_of(layout(step.result + k));
  op.bytes_written += written;
  std::vector<int> seen;
  for (const int operand : step.operands) {
    if (std::ranges::find(seen, operand) != seen.end()) continue;
    const int64_t bytes = bytes_of(layout(operand));
    op.bytes_read +=
        static_cast<int>(seen.size()) == step.bound->symbol->semantics.table ? std::min(bytes, written) : bytes;
    seen.push_back(operand);
  }
}

bool is_statement(const BoundSymbol& bound) {
  const Statement statement = statement_of(*bound.symbol);
  return statement == Statement::call;
}

Report::Line described(const BoundSymbol& bound, const std::string& text) {
  Report::Line op;
  op.text = text.substr(0, text.find("  // "));
  op.name = bound.is_fusion() ? bound.name() : std::string(bound.symbol->qualified_name());
  op.operation = operation_text(bound);
  if (bound.implementation) op.executor = executor_name(*bound.implementation);
  op.source = bound.source;
  if (bound.is_fusion())
    for (const BoundSymbol& inside : bound.subsymbols.read()) op.sources.push_back(inside.source);
  op.operations = operation_count(bound);
  op.is_statement = is_statement(bound);
  return op;
}

}  // namespace

bool computes_in_bf16(const BoundSymbol& bound) {
  bool found = false;
  for_each_argument(
      bound, [&](const Value& value) { found = found || (value.is_tensor() && value.tensor().dtype == Dtype::bf16); });
  return found;
}

std::string operation_text(const BoundSymbol& bound) {
  if (!bound.is_fusion()) return std::string(bound.symbol->qualified_name());
  const std::span<const BoundSymbol> inside = bound.subsymbols.read();
  constexpr size_t most = 6;
  std::string out = "fusion: ";
  for (size_t i = 0; i < std::min(inside.size(), most); ++i)
    out += text::cat(i == 0 ? "" : ", ", inside[i].symbol->name());
  if (inside.size() > most) out += text::cat(" and ", inside.size() - most, " more");
  return out;
}

DescribedProgram describe(const Program& program) {
  const ExecutionPlan& plan = program.plan();
  DescribedProgram out;
  out.part.name = plan.trace.name;
  out.part.stage = plan.trace.tags.has(Tag::backward) ? Stage::backward : Stage::forward;
  out.part.memory = memory(plan.trace);
  out.part.arena_bytes = plan.arena_bytes;
  const std::span<const BoundSymbol> symbols = plan.trace.bound_symbols.read();
  const std::vector<std::string> texts = cpp_lines(plan.trace);
  for (size_t i = 0; i < symbols.size(); ++i) {
    out.part.lines.push_back(described(symbols[i], texts[i]));
    out.part.lines.back().alive = out.part.memory.lines[i].bytes;
  }
  out.part.at_the_peak = lifetimes(plan.trace);
  const int peak = out.part.memory.peak_line;
  std::erase_if(out.part.at_the_peak, [&](const Lifetime& life) { return life.first > peak || life.last < peak; });
  std::ranges::stable_sort(out.part.at_the_peak, std::ranges::greater(), &Lifetime::bytes);

  // Copies and writes have no symbol of their own: a copy belongs to the op that follows.
  const std::vector<SlotLayout> layouts = slot_layouts(plan, program.last_inputs());
  out.op_of_step.resize(plan.steps.size());
  int op = static_cast<int>(symbols.size()) - 1;
  std::vector<int> writes;
  for (int i = 0; i < static_cast<int>(symbols.size()); ++i)
    if (is_write(symbols[static_cast<size_t>(i)])) writes.push_back(i);
  for (size_t i = plan.steps.size(); i-- > 0;) {
    const Step& step = plan.steps[i];
    if (step.bound) op = static_cast<int>(step.bound - symbols.data());
    if (step.kind == Step::Kind::write && !writes.empty()) {
      op = writes.back();
      writes.pop_back();
    }
    out.op_of_step[i] = op;
    count_bytes(step, layouts, out.part.lines[static_cast<size_t>(op)]);
  }
  return out;
}

double min_microseconds(int64_t bytes, int64_t operations, const MachineLimits& limits, bool is_bf16) {
  const double moving = bytes > 0 ? static_cast<double>(bytes) / limits.bandwidth(bytes) : 0;
  const double computing = static_cast<double>(operations) / (is_bf16 ? limits.bf16_operations : limits.f32_operations);
  return 1e6 * std::max(moving, computing);
}

}  // namespace fulgurite::examine
