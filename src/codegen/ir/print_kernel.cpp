#include "codegen/ir/print_kernel.h"

#include <functional>
#include <span>

#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using Kind = KernelValue::Kind;

std::string constant_text(const ScalarNode& node) {
  if (node.op == ScalarOp::whole) return text::cat(node.payload);
  if (node.type == Lanes::mask) return node.payload != 0 ? "true" : "false";
  const bool is_whole = node.type == Lanes::ints || node.type == Lanes::longs;
  if (is_whole) return text::cat(node.payload);
  const double value = floating_value(node);
  return node.type == Lanes::floats ? text::cat(static_cast<float>(value)) : text::cat(value);
}

class ExpressionPrinter {
 public:
  ExpressionPrinter(const ScalarExpr& expression, const std::function<std::string(int)>& name)
      : nodes_(expression.nodes()), name_(name) {}

  std::string print(size_t at) const {
    const ScalarNode& node = nodes_[at];
    const ScalarOpRecord& record = record_of(node.op);
    switch (node.op) {
      case ScalarOp::operand: return name_(static_cast<int>(node.payload));
      case ScalarOp::number:
      case ScalarOp::whole: return constant_text(node);
      case ScalarOp::launch_number: return text::cat("launch_number(", node.payload, ")");
      default: break;
    }
    if (record.operands == 0) return std::string(record.name);
    std::string out =
        node.op == ScalarOp::convert ? text::cat("convert<", name_of(node.type), ">(") : text::cat(record.name, "(");
    for (int k = 0; k < record.operands; ++k) out += text::cat(k > 0 ? ", " : "", print(node.operands[k]));
    return out + ")";
  }

 private:
  std::span<const ScalarNode> nodes_;
  const std::function<std::string(int)>& name_;
};

std::string_view extent_text(Extent extent) {
  static constexpr std::string_view names[] = {"uniform", "row", "full"};
  return names[static_cast<int>(extent)];
}

// "d0", or "d0*d1" for joined loop dimensions, or "1".
std::string dimension_text(int bits) {
  std::string out;
  for (int d = 0; bits >> d != 0; ++d)
    if ((bits >> d & 1) != 0) out += text::cat(out.empty() ? "d" : "*d", d);
  return out.empty() ? "1" : out;
}

std::string operand_text(std::string_view role, size_t number, const KernelOperand& operand) {
  return text::cat(role, " ", number, ": ", operand.dtype, " [", text::join(operand.dimensions, dimension_text), "]",
                   operand.is_place ? ", column indices" : "", operand.is_column_sum ? ", column sums" : "", "\n");
}

std::string dimensions_text(int first, int end) {
  std::string out;
  for (int d = first; d < end; ++d) out += text::cat(d > first ? ", d" : " d", d);
  return out.empty() ? " none" : out;
}

std::string value_name(int i) { return text::cat("%", i); }

std::string definition(const KernelValue& value) {
  const auto operand = [&](int k) { return value_name(value.operands[static_cast<size_t>(k)]); };
  switch (value.kind) {
    case Kind::input: return text::cat("load input ", value.input);
    case Kind::taken: return text::cat("gather input ", value.input, " at ", operand(0));
    case Kind::sum: return text::cat("sum of ", operand(0), " over columns");
    case Kind::largest: return text::cat("maximum of ", operand(0), " over columns");
    case Kind::smallest: return text::cat("minimum of ", operand(0), " over columns");
    case Kind::column_sum: return text::cat("sum of ", operand(0), " over rows");
    case Kind::computed: break;
  }
  return expr_text(value.expression, operand);
}

std::string store_text(const KernelValue& value) {
  if (value.output < 0) return {};
  static constexpr std::string_view forms[] = {"", " (exact)", " (inside bf16)"};
  return text::cat(" -> output ", value.output, forms[static_cast<int>(value.store)]);
}

std::string value_text(int i, const KernelValue& value) {
  const bool is_wider =
      lanes_of(value.dtype) == value.lanes && name_of(value.lanes) != name(value.dtype) && value.lanes != Lanes::mask;
  const bool is_other = lanes_of(value.dtype) != value.lanes;
  return text::cat(value_name(i), " = ", definition(value), " : ", value.dtype,
                   is_wider || is_other ? text::cat(" in ", name_of(value.lanes)) : std::string(), " ",
                   extent_text(value.extent), value.is_costly ? ", costly" : "", value.is_rounded ? ", rounded" : "",
                   store_text(value), "  # ", value.name, "\n");
}

}  // namespace

std::string expr_text(const ScalarExpr& expression, const std::function<std::string(int operand)>& name) {
  return ExpressionPrinter(expression, name).print(expression.nodes().size() - 1);
}

std::string kernel_ir_text(const Kernel& kernel) {
  std::string out;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) out += operand_text("input", i, kernel.inputs[i]);
  for (size_t i = 0; i < kernel.outputs.size(); ++i) out += operand_text("output", i, kernel.outputs[i]);
  if (!kernel.numbers.empty())
    out += text::cat("launch numbers: ", text::join(kernel.numbers, [](double n) { return n; }), "\n");
  out += text::cat("rows", dimensions_text(0, kernel.first_column_dimension), ", columns",
                   dimensions_text(kernel.first_column_dimension, kernel.dimensions), "\n");
  for (size_t i = 0; i < kernel.values.size(); ++i) out += value_text(static_cast<int>(i), kernel.values[i]);
  return out;
}

namespace {

std::string values_text(std::string_view role, std::span<const int> values) {
  if (values.empty()) return {};
  return text::cat(role, " ", text::join(values, value_name));
}

std::string row_loop_text(const RowLoop& loop) {
  const std::string parts[] = {values_text("load", loop.loaded),         values_text("load cached", loop.cached_loads),
                               values_text("compute", loop.computed),    values_text("reduce", loop.reduced),
                               values_text("cache", loop.cached_stores), values_text("store", loop.stored)};
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out += text::cat(out.empty() ? "" : "; ", part);
  return out;
}

}  // namespace

std::string schedule_text(const Schedule& schedule) {
  std::string out;
  if (!schedule.uniform_values.empty()) out += values_text("before all rows: compute", schedule.uniform_values) + "\n";
  out += "for each row\n";
  if (!schedule.row_values.empty()) out += values_text("  compute", schedule.row_values) + "\n";
  for (size_t i = 0; i < schedule.row_loops.size(); ++i) {
    const RowLoop& loop = schedule.row_loops[i];
    out += text::cat("  loop ", i, " over columns: ", row_loop_text(loop), "\n");
    if (!loop.row_values.empty()) out += values_text("  compute", loop.row_values) + "\n";
  }
  return out;
}

namespace {

std::string epilogue_value_name(int i) { return i == gemm_sums ? "sums" : value_name(i); }

std::string definition(const EpilogueValue& value) {
  const std::string load = text::cat("load operand ", value.operand);
  const bool is_load = value.operand >= 0;
  return expr_text(value.expression,
                   [&](int k) { return is_load ? load : epilogue_value_name(value.values[static_cast<size_t>(k)]); });
}

}  // namespace

std::string epilogue_text(const GemmEpilogue& epilogue) {
  std::string out;
  for (size_t i = 0; i < epilogue.operands.size(); ++i)
    out += text::cat("operand ", i, ": ", epilogue.operands[i].dtype, epilogue.operands[i].is_row ? ", a row\n" : "\n");
  for (size_t i = 0; i < epilogue.values.size(); ++i) {
    const EpilogueValue& value = epilogue.values[i];
    out += text::cat(value_name(static_cast<int>(i)), " = ", definition(value), " : ", name_of(value.lanes), "  # ",
                     value.name, "\n");
  }
  for (size_t i = 0; i < epilogue.stores.size(); ++i) {
    const EpilogueStore& store = epilogue.stores[i];
    const auto value = [&](int k) { return epilogue_value_name(store.values[static_cast<size_t>(k)]); };
    out += text::cat("store ", expr_text(store.expression, value), " to result ", i, ": ", epilogue.results[i], "\n");
  }
  return out;
}

}  // namespace fulgurite::codegen
