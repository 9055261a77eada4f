#include <algorithm>

#include "codegen/host_compiler/kernel_header.h"
#include "codegen/render/scalar_target.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using Kind = KernelValue::Kind;

// Names that a value's would shadow.
bool is_taken(std::string_view name) {
  static constexpr std::string_view locals[] = {"first", "last", "row", "c", "all", "launch"};
  return is_name_of_scalar_header(name) || std::ranges::find(locals, name) != std::end(locals);
}

/// Prints the loops of a schedule. Every value is a constant, defined in the innermost loop that it needs.
class ScalarKernelPrinter {
 public:
  ScalarKernelPrinter(const Kernel& kernel, const Schedule& schedule, bool plain_names)
      : kernel_(kernel), schedule_(schedule), names_(value_names(kernel, plain_names, is_taken)) {}

  std::string print(const std::string& name) {
    line("extern \"C\" void ", name, "(const Launch& launch, long first, long last) {");
    ++depth_;
    if (!schedule_.uniform_values.empty()) line("const Row all(launch, 0);");
    for (const int i : schedule_.uniform_values) define_of_row(i, "all");
    each_column_sum([this](int i) {
      line("ColumnSums<", scalar_type_text(value(i).lanes), "> ", name_of(i), "_columns(launch, ", output_index(i),
           ");");
    });
    line("for (Row row(launch, first); first < last; row.next(), ++first) {");
    ++depth_;
    for (int i = 0; i < count(); ++i) point_at_row(i);
    for (const int i : schedule_.row_values) define_of_row(i, "row");
    for (const RowLoop& loop : schedule_.row_loops) print(loop);
    each_column_sum([this](int i) { line(name_of(i), "_columns.end_row();"); });
    --depth_;
    line("}");
    each_column_sum([this](int i) { line(name_of(i), "_columns.finish();"); });
    --depth_;
    line("}");
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void line(const Parts&... parts) {
    out_.append(2 * static_cast<size_t>(depth_), ' ');
    out_ += text::cat(parts..., "\n");
  }

  int count() const { return static_cast<int>(kernel_.values.size()); }
  const KernelValue& value(int i) const { return kernel_.values[static_cast<size_t>(i)]; }
  const std::string& name_of(int i) const { return names_[static_cast<size_t>(i)]; }
  int output_index(int i) const { return static_cast<int>(kernel_.inputs.size()) + value(i).output; }

  template <class Function>
  void each_column_sum(Function function) const {
    for (int i = 0; i < count(); ++i)
      if (value(i).kind == Kind::column_sum && value(i).output >= 0) function(i);
  }

  // The row's first element of each tensor that loops read or write, and of each cached row.
  void point_at_row(int i) {
    const KernelValue& v = value(i);
    if (v.kind == Kind::input && v.extent == Extent::full)
      line("const ", element_text(v.dtype), "* const ", name_of(i), "_row = ", element_of("row", v), ";");
    if (v.output >= 0 && v.kind != Kind::column_sum)
      line(element_text(v.dtype), "* const ", name_of(i), "_result = row.of<", element_text(v.dtype), ">(",
           output_index(i), ");");
    if (const int kept = schedule_.kept[static_cast<size_t>(i)]; kept >= 0)
      line(scalar_type_text(v.lanes), "* const ", name_of(i), "_kept = row.kept<", scalar_type_text(v.lanes), ">(",
           kept, ");");
  }
  static std::string element_of(std::string_view row, const KernelValue& v) {
    return text::cat(row, ".of<const ", element_text(v.dtype), ">(", v.input, ")");
  }

  std::string expression(const KernelValue& v) const {
    return render(v.expression, scalar_target, [&](int k) -> const std::string& { return name_of(v.operands[k]); });
  }
  template <class... Parts>
  void define(int i, const Parts&... parts) {
    line("const ", scalar_type_text(value(i).lanes), " ", name_of(i), " = ", parts..., ";");
  }
  void define_of_row(int i, std::string_view row) {
    const KernelValue& v = value(i);
    if (v.kind == Kind::input) define(i, "load_element(", element_of(row, v), ")");
    else if (v.kind == Kind::taken)
      define(i, "load_element(", element_of(row, v), " + *", element_of(row, value(v.operands[0])), ")");
    else define(i, expression(v));
    store_of_row(i);
  }
  void store_of_row(int i) {
    if (value(i).output >= 0) line("store_element(", name_of(i), "_result, ", name_of(i), ");");
  }

  void print(const RowLoop& loop) {
    static constexpr std::string_view reducers[] = {"", "", "", "Sum", "RowMax", "RowMin"};
    for (const int i : loop.reduced)
      if (value(i).kind != Kind::column_sum)
        line(reducers[static_cast<int>(value(i).kind)], "<", scalar_type_text(value(i).lanes), "> ", name_of(i),
             "_columns;");
    line("for (long c = 0; c < launch.columns; ++c) {");
    ++depth_;
    for (const int i : loop.loaded) define(i, "load_element(", name_of(i), "_row + c)");
    for (const int i : loop.cached_loads) define(i, name_of(i), "_kept[c]");
    for (const int i : loop.computed) define(i, expression(value(i)));
    for (const int i : loop.reduced) line(name_of(i), "_columns.add(c, ", name_of(value(i).operands[0]), ");");
    for (const int i : loop.cached_stores) line(name_of(i), "_kept[c] = ", name_of(i), ";");
    for (const int i : loop.stored) line("store_element(", name_of(i), "_result + c, ", name_of(i), ");");
    --depth_;
    line("}");
    for (const int i : loop.reduced) {
      if (value(i).kind == Kind::column_sum) continue;
      define(i, name_of(i), "_columns.total()");
      store_of_row(i);
    }
    for (const int i : loop.row_values) define_of_row(i, "row");
  }

  const Kernel& kernel_;
  const Schedule& schedule_;
  const std::vector<std::string> names_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string scalar_kernel(const Kernel& kernel, const Schedule& schedule, const std::string& name, bool plain_names) {
  return ScalarKernelPrinter(kernel, schedule, plain_names).print(name);
}

}  // namespace fulgurite::codegen
