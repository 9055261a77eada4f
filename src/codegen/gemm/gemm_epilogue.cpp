#include "codegen/gemm/gemm_epilogue.h"

#include <algorithm>
#include <unordered_map>

#include <fulgurite/symbol.h>

#include "codegen/host_compiler/kernel_header.h"
#include "codegen/render/vector_target.h"
#include "ir/analysis/trace_values.h"
#include "ir/printing/print_common.h"
#include "ops/generated/symbols.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using Kind = KernelValue::Kind;

bool is_stored(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16; }

std::string loaded(Dtype dtype, size_t matrix) {
  return text::cat("load(at.of<const ", element_text(dtype), ">(launch, ", matrix, "), at)");
}
/// An expression over values with these names.
std::string named(const ScalarExpr& expression, std::initializer_list<std::string> names) {
  return render(expression, vector_target, [&](int k) -> const std::string& { return names.begin()[k]; });
}
ScalarExpr floats(int k) { return operand(k, Lanes::floats); }
/// The GEMM's sums with its bias.
ScalarExpr biased(bool has_bias) { return has_bias ? floats(0) + floats(1) : floats(0); }
/// A bias as the GEMM adds it.
std::string loaded_bias(Dtype bias, size_t matrix, std::optional<Dtype> number) {
  const bool is_rounded = number && is_half(*number) && *number != bias;
  return named(is_rounded ? rounded_to(floats(0), *number) : floats(0), {loaded(bias, matrix)});
}
std::string stored(Dtype dtype, size_t matrix, std::string_view value) {
  return text::cat("store(at.of<", element_text(dtype), ">(launch, ", matrix, "), at, ", value, ");");
}

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
      : ops_(ops), kernel_(std::move(kernel)), names_(kernel_.values.size()) {
    for (const BoundSymbol* op : ops.loop_nest.ops) name_operators(*op, operators_);
  }

  LoweredEpilogue run() {
    out_.reason = missed_reason();
    if (!out_.reason.empty()) return std::move(out_);
    const std::vector<int> stored_values = list_results();
    out_.epilogue.name = function_name();
    out_.epilogue.has_angles = header_parts(kernel_).has_angles;
    list_operands();
    for (int i = 0; i < count(); ++i) define(i);
    size_t matrix = 0;
    GemmEpilogue& epilogue = out_.epilogue;
    for (const int i : stored_values) {
      const Dtype dtype = epilogue.results[matrix];
      epilogue.statements.push_back(stored(dtype, matrix, i < 0 ? gemm_name_ : names_[i]));
      ++matrix;
    }
    return std::move(out_);
  }

 private:
  int count() const { return static_cast<int>(kernel_.values.size()); }
  int gemm_id() const { return ops_.product->outputs.read()[0].tensor().id; }
  /// The GEMM's dtype if its result is rounded to 16 bits.
  std::optional<Dtype> rounded_number() const {
    const Dtype dtype = ops_.product->outputs.read()[0].tensor().dtype;
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
      out_.epilogue.results.push_back(ops_.product->outputs.read()[0].tensor().dtype);
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

  void list_operands() {
    GemmEpilogue& epilogue = out_.epilogue;
    gemm_name_ = "sums";
    if (ops_.bias) {
      epilogue.operands.push_back({*ops_.bias, true});
      epilogue.statements.push_back(text::cat("const Floats ", free_name("bias"), " = ",
                                              loaded_bias(*ops_.bias, epilogue.results.size(), rounded_number()), ";"));
    }
    if (ops_.bias || rounded_number()) {
      const ScalarExpr value = biased(ops_.bias.has_value());
      gemm_name_ = free_name(ops_.product->symbol->name());
      epilogue.statements.push_back(
          text::cat("const Floats ", gemm_name_, " = ",
                    named(rounded_number() ? rounded_to(value, *rounded_number()) : value, {"sums", "bias"}), ";"));
    }
    for (const KernelValue& value : kernel_.values) {
      if (value.kind != Kind::input || is_gemm(value)) continue;
      epilogue.operands.push_back(
          {value.dtype, dimensions_of(input_of(value)) == last_dimension() && kernel_.dimensions > 1});
      out_.operands.push_back(input_of(value).proxy);
    }
  }

  void define(int i) {
    const KernelValue& value = kernel_.values[i];
    if (is_gemm(value)) {
      names_[i] = gemm_name_;
      return;
    }
    GemmEpilogue& epilogue = out_.epilogue;
    if (value.kind == Kind::input) {
      const auto at =
          std::ranges::find(out_.operands, input_of(value).proxy) - out_.operands.begin() + (ops_.bias ? 1 : 0);
      names_[i] = free_name(epilogue.operands[static_cast<size_t>(at)].is_row ? "row" : "other");
      epilogue.statements.push_back(text::cat("const ", lanes_text(value.lanes), " ", names_[i], " = ",
                                              loaded(value.dtype, epilogue.results.size() + static_cast<size_t>(at)),
                                              ";"));
      return;
    }
    if (value.expression.is(ScalarOp::operand)) {
      names_[i] = names_[static_cast<size_t>(value.operands[0])];
      return;
    }
    const auto made = operators_.find(value.name);
    names_[i] = free_name(made == operators_.end() ? "value" : made->second);
    epilogue.statements.push_back(
        text::cat("const ", lanes_text(value.lanes), " ", names_[i], " = ",
                  render(value.expression, vector_target,
                         [&](int k) -> const std::string& { return names_[static_cast<size_t>(value.operands[k])]; }),
                  ";"));
  }

  // Avoids names of the kernel header, which the value would shadow.
  std::string free_name(std::string_view wanted) {
    std::string name(wanted);
    const auto is_taken = [&](const std::string& it) {
      return it == "sums" || it == "at" || it == "launch" || it == "first" || it == "last" || is_name_of_header(it) ||
             std::ranges::find(taken_, it) != taken_.end();
    };
    for (int more = 2; is_taken(name); ++more)
      name = is_name_of_header(wanted) && more == 2 ? text::cat(wanted, "_") : text::cat(wanted, "_", more);
    taken_.push_back(name);
    return name;
  }

  const EpilogueOps& ops_;
  const Kernel kernel_;
  std::vector<std::string> names_;  // by value
  std::vector<std::string> taken_;
  std::unordered_map<std::string, std::string> operators_;
  std::string gemm_name_;
  LoweredEpilogue out_;
};

}  // namespace

GemmEpilogue plain_epilogue(Dtype result, std::optional<Dtype> bias, std::optional<Dtype> number) {
  GemmEpilogue epilogue;
  epilogue.results = {result};
  if (bias) {
    epilogue.operands = {{*bias, true}};
    epilogue.name = text::cat("add_", *bias);
    epilogue.statements.push_back(text::cat("const Floats bias = ", loaded_bias(*bias, 1, number), ";"));
  }
  const ScalarExpr value = biased(bias.has_value());
  const bool is_widened = number && is_half(*number) && result != *number;
  epilogue.statements.push_back(
      stored(result, 0, named(is_widened ? rounded_to(value, *number) : value, {"sums", "bias"})));
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
