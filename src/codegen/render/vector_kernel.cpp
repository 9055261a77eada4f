#include <algorithm>

#include "codegen/host_compiler/kernel_header.h"
#include "codegen/render/vector_target.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using Kind = KernelValue::Kind;

// Names that a value's would shadow.
bool is_taken(std::string_view name) {
  static constexpr std::string_view locals[] = {"first", "last", "row", "c", "all", "launch"};
  return is_name_of_header(name) || std::ranges::find(locals, name) != std::end(locals);
}

class VectorKernelPrinter {
 public:
  VectorKernelPrinter(const Kernel& kernel, const Schedule& schedule, bool plain_names)
      : kernel_(kernel), schedule_(schedule), names_(value_names(kernel, plain_names, is_taken)) {}

  std::string print(const std::string& name) {
    line("extern \"C\" void ", name, "(const Launch& launch, long first, long last) {");
    ++depth_;
    if (!schedule_.uniform_values.empty()) {
      line("const Row all(launch, 0);");
      for (const int i : schedule_.uniform_values) row_value(i, "all");
    }
    begin_column_sums();
    line("for (Row row(launch, first); first < last; row.next(), ++first) {");
    ++depth_;
    pointers();
    for (const int i : schedule_.row_values) row_value(i, "row");
    for (const RowLoop& row_loop : schedule_.row_loops) print(row_loop);
    call_column_sums("end_row");
    --depth_;
    line("}");
    call_column_sums("finish");
    --depth_;
    line("}");
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void line(const Parts&... parts) {
    out_.append(2 * static_cast<size_t>(depth_), ' ');
    out_ += text::cat(parts...);
    out_ += '\n';
  }

  const KernelValue& value(int i) const { return kernel_.values[static_cast<size_t>(i)]; }
  const std::string& name(int i) const { return names_[static_cast<size_t>(i)]; }
  int output_index(const KernelValue& v) const { return static_cast<int>(kernel_.inputs.size()) + v.output; }

  bool is_column_sum(int i) const { return value(i).kind == Kind::column_sum && value(i).output >= 0; }
  void begin_column_sums() {
    for (int i = 0; i < static_cast<int>(kernel_.values.size()); ++i)
      if (is_column_sum(i))
        line("ColumnSums<", lane_text(value(i).lanes), "> ", name(i), "_columns(launch, ", output_index(value(i)),
             ");");
  }
  void call_column_sums(std::string_view function) {
    for (int i = 0; i < static_cast<int>(kernel_.values.size()); ++i)
      if (is_column_sum(i)) line(name(i), "_columns.", function, "();");
  }

  // The row's start in each tensor that row loops read or write.
  void pointers() {
    for (size_t i = 0; i < kernel_.values.size(); ++i) {
      const KernelValue& v = kernel_.values[i];
      const int at = static_cast<int>(i);
      if (v.kind == Kind::input && v.extent == Extent::full && is_loaded(at))
        line("const auto* const ", name(at), "_row = row.of<const ", element_text(v.dtype), ">(", v.input, ");");
    }
    for (size_t i = 0; i < kernel_.values.size(); ++i) {
      const KernelValue& v = kernel_.values[i];
      const int at = static_cast<int>(i);
      if (v.output >= 0 && v.kind != Kind::column_sum) {
        if (v.extent == Extent::full)
          line("const auto ", name(at), "_row = row.result<", element_text(v.dtype), ">(", output_index(v), ");");
        else line("auto* const ", name(at), "_row = row.of<", element_text(v.dtype), ">(", output_index(v), ");");
      }
      if (schedule_.kept[i] >= 0)
        line("const auto ", name(at), "_kept = row.kept<", lane_text(v.lanes), ">(", schedule_.kept[i], ");");
    }
  }
  bool is_loaded(int i) const {
    return std::ranges::any_of(schedule_.row_loops, [&](const RowLoop& row_loop) {
      return std::ranges::find(row_loop.loaded, i) != row_loop.loaded.end();
    });
  }

  std::string expression(const KernelValue& v) const {
    return render(v.expression, vector_target, [&](int k) -> const std::string& { return name(v.operands[k]); });
  }

  std::string stored(int i) const {
    switch (value(i).store) {
      case StoreForm::exact: return text::cat("exact_bfloat16(", name(i), ")");
      case StoreForm::inside_bf16: return text::cat("inside_bfloat16(", name(i), ")");
      default: return name(i);
    }
  }

  void define(int i, std::string_view is) { line("const ", lanes_text(value(i).lanes), " ", name(i), " = ", is, ";"); }

  void row_value(int i, std::string_view row) {
    const KernelValue& v = value(i);
    const auto first_of = [&](const KernelValue& input) {
      return text::cat(row, ".of<const ", element_text(input.dtype), ">(", input.input, ")");
    };
    if (v.kind == Kind::input) define(i, text::cat("load_one(", first_of(v), ")"));
    else if (v.kind == Kind::taken)
      define(i, text::cat("load_one(", first_of(v), " + *", first_of(value(v.operands[0])), ")"));
    else define(i, expression(v));
    if (v.output >= 0) line("store_one(", name(i), "_row, ", name(i), ");");
  }

  void print(const RowLoop& row_loop) {
    static constexpr std::string_view reducers[] = {"", "", "", "Sum", "Max", "Min"};
    for (const int i : row_loop.reduced)
      if (value(i).kind != Kind::column_sum)
        line(reducers[static_cast<int>(value(i).kind)], "<", lanes_text(value(i).lanes), "> ", name(i), "_lanes;");
    line("for (Columns c(launch); c.more(); c.next()) {");
    ++depth_;
    for (const int i : row_loop.loaded) define(i, text::cat("load(", name(i), "_row, c)"));
    for (const int i : row_loop.cached_loads) define(i, text::cat("load(", name(i), "_kept, c)"));
    for (const int i : row_loop.computed) define(i, expression(value(i)));
    for (const int i : row_loop.reduced) {
      const std::string& reduced = name(value(i).operands[0]);
      line(name(i), value(i).kind == Kind::column_sum ? "_columns" : "_lanes", ".add(c, ", reduced, ");");
    }
    for (const int i : row_loop.cached_stores) line("store(", name(i), "_kept, c, ", name(i), ");");
    for (const int i : row_loop.stored) line("store(", name(i), "_row, c, ", stored(i), ");");
    --depth_;
    line("}");
    for (const int i : row_loop.reduced) {
      if (value(i).kind == Kind::column_sum) continue;
      define(i, text::cat(name(i), "_lanes.total()"));
      if (value(i).output >= 0) line("store_one(", name(i), "_row, ", name(i), ");");
    }
    for (const int i : row_loop.row_values) row_value(i, "row");
  }

  const Kernel& kernel_;
  const Schedule& schedule_;
  const std::vector<std::string> names_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string vector_kernel(const Kernel& kernel, const Schedule& schedule, const std::string& name, bool plain_names) {
  return VectorKernelPrinter(kernel, schedule, plain_names).print(name);
}

}  // namespace fulgurite::codegen
