#include <algorithm>
#include <cmath>
#include <optional>

#include <fulgurite/repro.h>

#include "codegen/host_compiler/compile_kernels.h"
#include "codegen/host_compiler/kernel_header.h"
#include "codegen/render/vector_target.h"
#include "examine/fusions/kernel_layout.h"
#include "examine/repro/repro_program.h"
#include "executors/fused_kernel_visitor.h"
#include "ir/printing/print_common.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

std::string dtype_text(Dtype dtype) {
  return text::cat("Dtype::", dtype == Dtype::boolean ? std::string_view("boolean") : name(dtype));
}

std::string braces(const Shape& sizes) {
  return text::cat("{", text::join(sizes, [](Int size) { return size.hint(); }), "}");
}

std::string number_text(double value) {
  if (std::isnan(value)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value))
    return value > 0 ? "std::numeric_limits<double>::infinity()" : "-std::numeric_limits<double>::infinity()";
  return text::cat(value);
}

std::string input_text(const FusionInput& input) {
  std::string out = text::cat("{.name = ", quoted(input.name, '"'), ", .shape = ", braces(input.shape),
                              ", .strides = ", braces(input.strides));
  if (input.offset != 0) out += text::cat(", .offset = ", input.offset);
  out += text::cat(", .dtype = ", dtype_text(input.dtype));
  if (!input.shares_with.empty()) out += text::cat(", .shares_with = ", quoted(input.shares_with, '"'));
  if (input.is_made) out += ", .is_made = true";
  if (input.moved_since >= 0) out += text::cat(", .moved_since = ", input.moved_since);
  return out + "}";
}

std::string operand_text(const KernelOperand& operand) {
  static constexpr std::string_view extents[] = {"uniform", "row", "full"};
  std::string out =
      text::cat("{.dtype = ", dtype_text(operand.dtype),
                ", .extent = examine::KernelOperand::Extent::", extents[static_cast<int>(operand.extent)]);
  if (operand.is_column_sum) out += ", .is_column_sum = true";
  if (operand.is_place) out += ", .is_place = true";
  return text::cat(out, ", .dimensions = {", text::join(operand.dimensions, [](int bits) { return bits; }), "}}");
}

std::string layout_text(const KernelLayout& layout) {
  const auto list = [](const std::vector<KernelOperand>& operands) {
    return text::join(operands, operand_text, ",\n                 ");
  };
  const auto truth = [](bool is_true) { return is_true ? "true" : "false"; };
  return text::cat("  const examine::KernelLayout layout = {\n      .inputs = {", list(layout.inputs),
                   "},\n      .outputs = {", list(layout.outputs), "},\n      .numbers = {",
                   text::join(layout.numbers, number_text), "},\n      .dimensions = ", layout.dimensions,
                   ", .first_column_dimension = ", layout.first_column_dimension, ", .kept_rows = ", layout.kept_rows,
                   ", .has_row_sums = ", truth(layout.has_row_sums),
                   ", .has_column_sums = ", truth(layout.has_column_sums), "};\n");
}

/// An instruction set as written in the text, so that no compiler flag is needed. The compiler reads the complete file
/// before it applies pragmas, so the macros that the set implies are defined by hand.
struct Target {
  std::string features;    // as both compilers name them
  std::string_view width;  // the g++ option for the widest registers
  std::vector<std::string_view> macros;
};
Target target_of(codegen::Instructions instructions) {
  static constexpr std::string_view wide = ",prefer-vector-width=512";
  const std::vector<std::string_view> avx2{"__AVX__", "__AVX2__"},
      avx512{"__AVX__", "__AVX2__", "__AVX512F__", "__AVX512BW__", "__AVX512VL__"};
  Target target;
  switch (instructions.set) {
    case codegen::InstructionSet::avx512: target = {"arch=x86-64-v4", wide, avx512}; break;
    case codegen::InstructionSet::avx512_bf16:
      target = {"arch=x86-64-v4,avx512bf16", wide, avx512};
      target.macros.emplace_back("__AVX512BF16__");
      break;
    case codegen::InstructionSet::avx2: target = {"arch=x86-64-v3", "", avx2}; break;
    case codegen::InstructionSet::baseline: break;
  }
  if (instructions.has_amx) {
    target.features += ",amx-tile,amx-bf16";
    target.macros.emplace_back("__AMX_BF16__");
  }
  return target;
}

// The kernel with all that it is compiled with.
std::string kernel_section(std::string_view kernel, codegen::HeaderParts parts, bool is_gemm) {
  const Target target = target_of(is_gemm ? codegen::gemm_instructions() : codegen::Instructions());
  std::string defined, undefined;
  if (!target.macros.empty()) {
    const std::string_view last = target.macros.back();
    defined = text::cat("#ifndef ", last, "\n#define FULGURITE_MACROS_BY_HAND\n");
    undefined = "#ifdef FULGURITE_MACROS_BY_HAND\n";
    for (const std::string_view macro : target.macros) {
      defined += text::cat("#define ", macro, " 1\n");
      undefined += text::cat("#undef ", macro, "\n");
    }
    defined += "#endif\n";
    undefined += "#endif\n";
  }
  std::string gcc =
      "#pragma GCC diagnostic ignored \"-Wpsabi\"\n#pragma GCC push_options\n"
      "#pragma GCC optimize(\"O2,no-math-errno,no-trapping-math\")\n";
  std::string clang = "#pragma clang diagnostic ignored \"-Wpsabi\"\n", clang_end;
  if (!target.features.empty()) {
    gcc += text::cat("#pragma GCC target(\"", target.features, target.width, "\")\n");
    clang += text::cat("#pragma clang attribute push(__attribute__((target(\"", target.features,
                       "\"))), apply_to = function)\n");
    clang_end = "#pragma clang attribute pop\n";
  }
  return text::cat("#ifdef __clang__\n", clang, "#else\n", gcc, "#endif\n", defined, "\n",
                   codegen::kernel_header(parts.is_wide, parts.has_angles, is_gemm),
                   "\n// The kernel.\nnamespace kernel {\nusing namespace fulgurite::kernels;\n\n", kernel,
                   "\n}  // namespace kernel\n\n", undefined, "#ifdef __clang__\n", clang_end,
                   "#else\n#pragma GCC pop_options\n#endif\n\n");
}

std::string layout_text(const GemmLayout& layout) {
  const std::string results = text::join(layout.results, dtype_text);
  const std::string operands = text::join(layout.operands, [](const GemmOperand& operand) {
    return text::cat("{", dtype_text(operand.dtype), ", ", operand.is_row ? "true" : "false", "}");
  });
  const GemmTiles& tiles = layout.tiles;
  return text::cat("  const examine::GemmLayout layout = {.left = ", dtype_text(layout.left),
                   ", .right = ", dtype_text(layout.right), ", .number = ", dtype_text(layout.number), ", .results = {",
                   results, "}", operands.empty() ? "" : ", .operands = {", operands, operands.empty() ? "" : "}",
                   ", .is_linear = ", layout.is_linear ? "true" : "false", ", .tiles = {", tiles.tile_rows, ", ",
                   tiles.panel_rows, ", ", tiles.step_depth, ", ", tiles.slice_steps, ", ", tiles.several_steps, ", ",
                   tiles.block_rows, ", ", tiles.packed_numbers, "}};\n");
}

/// A fusion's kernel as the program has it.
struct KernelPart {
  std::string section, layout, made;  // `made` is the kernel's declaration, without const
};

class KernelPartWriter final : public FusedKernelVisitor {
 public:
  explicit KernelPartWriter(const ReproProgram& program) : program_(program) {}
  void visit(const fuser::FusionKernel& kernel) override {
    written_ = {kernel_section(kernel.text(), codegen::header_parts(kernel.kernel()), false),
                layout_text(layout_of(kernel)),
                text::cat("examine::Kernel fusion(kernel::", program_.kernel_name, ", layout)")};
  }
  void visit(const fused_gemm::GemmKernel& kernel) override {
    written_ = {kernel_section(kernel.text(), codegen::header_parts(kernel.gemm().form.epilogue), true),
                layout_text(layout_of(kernel)),
                text::cat("examine::Gemm fusion(kernel::", kernel.pack_name(), ", kernel::", kernel.multiply_name(),
                          ", layout)")};
  }
  /// None if the kernel cannot be written.
  const std::optional<KernelPart>& written() const { return written_; }

 private:
  const ReproProgram& program_;
  std::optional<KernelPart> written_;
};

std::optional<KernelPart> kernel_part(const ReproProgram& program) {
  KernelPartWriter writer(program);
  if (program.kernel) program.kernel->accept(writer);
  return writer.written();
}

std::string reference_text(const ReproProgram& program) {
  std::string text = program.lines.cpp({.time = false, .depth = 0});
  constexpr std::string_view include = "#include <fulgurite/fulgurite.h>\n";
  const size_t at = text.find(include);
  if (at != std::string::npos) text.insert(at + include.size(), "#include <fulgurite/repro.h>\n#include <limits>\n");
  return text;
}

// A side of the comparison: calls a function on the inputs among `t`.
std::string side_text(const ReproProgram& program, const std::string& function) {
  std::string arguments;
  for (size_t i = 0; i < program.inputs.size(); ++i) arguments += text::cat(i == 0 ? "" : ", ", "t[", i, "]");
  const std::string call = text::cat(function, "(", arguments, ")"), head = "[&](const std::vector<Tensor>& t) {";
  const std::vector<size_t> written = program.written();
  if (written.empty()) return text::cat(head, " return examine::tensors(", call, "); }");
  std::string out = text::cat(head, "\n    ",
                              program.outputs.empty() ? text::cat("std::vector<Tensor> results;\n    ", call, ";\n")
                                                      : text::cat("auto results = examine::tensors(", call, ");\n"));
  for (const size_t i : written) out += text::cat("    results.push_back(t[", i, "]);\n");
  return out + "    return results;\n  }";
}

}  // namespace

std::string cpp_program(const ReproProgram& program) {
  const std::optional<KernelPart> kernel = kernel_part(program);
  std::string out = text::cat(
      "// g++ -std=c++20 -O2 ", program.file, ".cpp -o ", program.file, " -lfulgurite && ./", program.file, "\n//\n// ",
      program.title, kernel ? ": its kernel" : ", compiled",
      " against the same lines on the eager executor. Inputs lie as ",
      "described in main().\n// Where the library is installed elsewhere, CPATH, LIBRARY_PATH and LD_LIBRARY_PATH say ",
      "where.\n\n");
  if (kernel) out += kernel->section;
  out += reference_text(program);
  const std::string make = program.options.data.empty()
                               ? text::cat("examine::make_tensors(described, ", program.options.seed, ")")
                               : text::cat("examine::load_tensors(described, ", quoted(program.options.data, '"'), ")");
  std::vector<FusionInput> described = program.inputs;
  if (kernel) described.insert(described.end(), program.outputs.begin(), program.outputs.end());
  out += text::cat("\nint main() {\n  const std::vector<examine::FusionInput> described = {\n      ",
                   text::join(described, input_text, ",\n      "), "};\n  const std::vector<Tensor> tensors = ", make,
                   ", others = ", make, ";\n");
  std::string subject;
  if (kernel) {
    const size_t inputs = program.inputs.size();
    out += text::cat(kernel->layout, "  const ", kernel->made, ";\n");
    subject =
        text::cat("[&](const std::vector<Tensor>& t) {\n    const std::span all(t);\n    fusion.run(all.first(", inputs,
                  "), all.subspan(", inputs, "));\n    return std::vector(t.begin() + ", inputs, ", t.end());\n  }");
  } else {
    const auto named = [](const std::string& name) { return quoted(name, '"'); };
    out += text::cat(
        "  const auto eager = jit(reference, {.executors = {\"eager\"}});\n  const auto compiled = jit(reference, "
        "{.executors = {",
        text::join(program.executors, named), "}});\n");
    subject = side_text(program, "compiled");
  }
  std::string tolerance;
  if (program.options.tolerance.relative) tolerance += text::cat(".relative = ", *program.options.tolerance.relative);
  if (program.options.tolerance.absolute)
    tolerance += text::cat(tolerance.empty() ? "" : ", ", ".absolute = ", *program.options.tolerance.absolute);
  out += text::cat("  const auto subject = ", subject,
                   ";\n  const auto on_eager = ", side_text(program, kernel ? "reference" : "eager"),
                   ";\n  return examine::compare(", quoted(program.title, '"'), ", subject, on_eager, {", tolerance,
                   "}, ", program.options.runs, ", {described, tensors, others});\n}\n");
  return out;
}

}  // namespace fulgurite::examine
