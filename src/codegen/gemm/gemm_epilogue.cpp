#include "codegen/gemm/gemm_epilogue.h"

#include <algorithm>
#include <unordered_map>

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/printing/print_common.h"
#include "ops/generated/symbols.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using Kind = KernelValue::Kind;

bool is_stored(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16; }

ScalarExpr floats(int k) { return operand(k, Lanes::floats); }

// The loop dimensions along which it varies, as bits.
int dimensions_of(const KernelOperand& operand) {
  int along = 0;
  for (const int bits : operand.dimensions) along |= bits;
  return along;
}

// Maps the values' names to the operators that produce them.
void name_operators(const BoundSymbol& bound, std::unordered_map<std::string, std::string>& operators) {
  for_each_output(bound, [&](const Value& value) {
    if (value.is_tensor()) operators.try_emplace(value.tensor().name, identifier(std::string(bound.symbol->name())));
  });
  for (const BoundSymbol& subsymbol : bound.subsymbols) name_operators(subsymbol, operators);
}

class EpilogueLowering {
 public:
  EpilogueLowering(const EpilogueOps& ops, Kernel kernel)
      : ops_(ops), kernel_(std::move(kernel)), indices_(kernel_.values.size()) {
    for (const BoundSymbol* op : ops.loop_nest.ops) name_operators(*op, operators_);
  }

  LoweredEpilogue run() {
    out_.reason = missed_reason();
    if (!out_.reason.empty()) return std::move(out_);
    const std::vector<int> stored_values = list_results();
    out_.epilogue.name = function_name();
    add_gemm();
    list_operands();
    for (int i = 0; i < count(); ++i) define(i);
    for (const int i : stored_values)
      out_.epilogue.stores.push_back({floats(0), {i < 0 ? gemm_ : indices_[static_cast<size_t>(i)]}});
    return std::move(out_);
  }

 private:
  int count() const { return static_cast<int>(kernel_.values.size()); }
  int gemm_id() const { return ops_.gemm->outputs.read()[0].tensor().id; }
  /// The GEMM's dtype if its result is rounded to 16 bits.
  std::optional<Dtype> rounded_number() const {
    const Dtype dtype = ops_.gemm->outputs.read()[0].tensor().dtype;
    return ops_.rounds && is_half(dtype) ? std::optional(dtype) : std::nullopt;
  }
  int last_dimension() const { return 1 << (kernel_.dimensions - 1); }
  const KernelOperand& input_of(const KernelValue& value) const {
    return kernel_.inputs[static_cast<size_t>(value.input)];
  }
  bool is_gemm(const KernelValue& value) const {
    return value.kind == Kind::input && input_of(value).proxy == gemm_id();
  }

  // The reason why the ops are not elementwise in the GEMM's result; empty if they are.
  std::string missed_reason() const {
    if (kernel_.has_row_sums || kernel_.has_column_sums) return "it reduces";
    if (!kernel_.numbers.empty()) return "it has scalars that may be sizes";
    if (kernel_.inputs.size() + kernel_.outputs.size() + 2 > max_gemm_matrices)
      return "it has too many inputs and results";
    for (const KernelValue& value : kernel_.values) {
      if (value.kind != Kind::input && value.kind != Kind::computed) return "it gathers elements";
      if (value.lanes == Lanes::doubles || value.lanes == Lanes::longs) return "it computes with wider numbers";
    }
    for (const auto* operands : {&kernel_.inputs, &kernel_.outputs})
      for (const KernelOperand& operand : *operands) {
        const bool is_mask = operands == &kernel_.inputs && operand.dtype == Dtype::boolean;
        if (!is_stored(operand.dtype) && !is_mask)
          return "an input or a result has another dtype than f32, bf16 and f16";
        const int along = dimensions_of(operand);
        const bool is_row = operands == &kernel_.inputs && along == last_dimension();
        if ((along != (1 << kernel_.dimensions) - 1 && !is_row) || operand.dimensions.empty() ||
            operand.dimensions[operand.dimensions.size() - 1] != last_dimension())
          return "an input or a result has other rows";
      }
    return {};
  }

  // The values that are stored; -1: the GEMM's result.
  std::vector<int> list_results() {
    std::vector<int> values;
    if (ops_.stores_gemm) {
      values.push_back(-1);
      out_.results.push_back(gemm_id());
      out_.epilogue.results.push_back(ops_.gemm->outputs.read()[0].tensor().dtype);
    }
    for (size_t k = 0; k < kernel_.outputs.size(); ++k) {
      const auto is_output = [&](const KernelValue& value) { return value.output == static_cast<int>(k); };
      values.push_back(static_cast<int>(std::ranges::find_if(kernel_.values, is_output) - kernel_.values.begin()));
      out_.results.push_back(kernel_.outputs[k].proxy);
      out_.epilogue.results.push_back(kernel_.outputs[k].dtype);
    }
    return values;
  }

  // Conversions are omitted: the dtypes of the operands and results imply them.
  std::string function_name() const {
    constexpr size_t max_parts = 4;
    std::vector<std::string> parts;
    if (ops_.bias) parts.push_back(text::cat("add_", *ops_.bias));
    for (const BoundSymbol* op : ops_.loop_nest.ops)
      if (!op->symbol->semantics.conversion) parts.push_back(identifier(std::string(op->symbol->name())));
    if (parts.size() > max_parts) {
      const std::string more = text::cat("and_", parts.size() - max_parts + 1, "_more");
      parts.resize(max_parts - 1);
      parts.push_back(more);
    }
    return text::join(
        parts, [](const std::string& part) { return part; }, "_");
  }

  // The GEMM's result, as the program's other operators see it.
  void add_gemm() {
    GemmEpilogue& epilogue = out_.epilogue;
    const bool has_bias = ops_.bias.has_value();
    if (has_bias) {
      epilogue.operands.push_back({*ops_.bias, true});
      epilogue.values.push_back(bias_value(*ops_.bias, rounded_number()));
    }
    if (!has_bias && !rounded_number()) return;
    gemm_ = add({.name = std::string(ops_.gemm->symbol->name()),
                 .expression = biased(has_bias, rounded_number()),
                 .values = values_of_biased(has_bias)});
  }

  void list_operands() {
    for (const KernelValue& value : kernel_.values) {
      if (value.kind != Kind::input || is_gemm(value)) continue;
      out_.epilogue.operands.push_back(
          {value.dtype, dimensions_of(input_of(value)) == last_dimension() && kernel_.dimensions > 1});
      out_.operands.push_back(input_of(value).proxy);
    }
  }

  int add(EpilogueValue value) {
    out_.epilogue.values.push_back(std::move(value));
    return static_cast<int>(out_.epilogue.values.size()) - 1;
  }

  void define(int i) {
    const KernelValue& value = kernel_.values[static_cast<size_t>(i)];
    indices_[static_cast<size_t>(i)] = is_gemm(value)                           ? gemm_
                                       : value.kind == Kind::input              ? load(value)
                                       : value.expression.is(ScalarOp::operand) ? index_of_operand(value, 0)
                                                                                : compute(value);
  }
  int index_of_operand(const KernelValue& value, size_t k) const {
    return indices_[static_cast<size_t>(value.operands[k])];
  }
  int load(const KernelValue& value) {
    const auto position = std::ranges::find(out_.operands, input_of(value).proxy) - out_.operands.begin();
    const int operand_index = static_cast<int>(position) + (ops_.bias ? 1 : 0);
    const bool is_row = out_.epilogue.operands[static_cast<size_t>(operand_index)].is_row;
    return add({.name = is_row ? "row" : "other",
                .lanes = value.lanes,
                .operand = operand_index,
                .expression = operand(0, value.lanes)});
  }
  int compute(const KernelValue& value) {
    const auto made = operators_.find(value.name);
    EpilogueValue out{.name = made == operators_.end() ? "value" : made->second,
                      .lanes = value.lanes,
                      .expression = value.expression};
    for (size_t k = 0; k < value.operands.size(); ++k) out.values.push_back(index_of_operand(value, k));
    return add(std::move(out));
  }

  const EpilogueOps& ops_;
  const Kernel kernel_;
  std::vector<int> indices_;  // by the kernel's value: the epilogue's
  std::unordered_map<std::string, std::string> operators_;
  int gemm_ = gemm_sums;
  LoweredEpilogue out_;
};

}  // namespace

EpilogueValue bias_value(Dtype bias, std::optional<Dtype> number) {
  const bool is_rounded = number && is_half(*number) && *number != bias;
  return {.name = "bias", .operand = 0, .expression = is_rounded ? rounded_to(floats(0), *number) : floats(0)};
}

ScalarExpr biased(bool has_bias, std::optional<Dtype> number) {
  const ScalarExpr sums = has_bias ? floats(0) + floats(1) : floats(0);
  return number ? rounded_to(sums, *number) : sums;
}

SmallVector<int, 4> values_of_biased(bool has_bias) {
  SmallVector<int, 4> values{gemm_sums};
  if (has_bias) values.push_back(0);
  return values;
}

GemmEpilogue plain_epilogue(Dtype result, std::optional<Dtype> bias, std::optional<Dtype> number) {
  GemmEpilogue epilogue;
  epilogue.results = {result};
  if (bias) {
    epilogue.operands = {{*bias, true}};
    epilogue.name = text::cat("add_", *bias);
    epilogue.values.push_back(bias_value(*bias, number));
  }
  const bool is_widened = number && is_half(*number) && result != *number;
  epilogue.stores.push_back(
      {biased(bias.has_value(), is_widened ? number : std::nullopt), values_of_biased(bias.has_value())});
  return epilogue;
}

LoweredEpilogue lower_epilogue(const EpilogueOps& ops, OpExpressions& expressions) {
  LoweredGroup lowered = lower(ops.loop_nest, expressions);
  if (!lowered.is_possible) {
    LoweredEpilogue out;
    out.reason = std::move(lowered.reason);
    return out;
  }
  return EpilogueLowering(ops, std::move(lowered.kernel)).run();
}

}  // namespace fulgurite::codegen
