// Tensors as text, in PyTorch's layout.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include <fulgurite/tensor.h>

#include "ops/tensor/tensor_values.h"
#include "support/text/text.h"
#include "tensor/element.h"

namespace fulgurite {

namespace {

constexpr size_t line_width = 80;
constexpr int64_t edge_items = 3;
constexpr int64_t summarize_above = 1000;

std::string formatted(const char* format, double value) {
  char buffer[400];
  const int length = std::snprintf(buffer, sizeof buffer, format, value);
  std::string out(buffer, static_cast<size_t>(std::clamp(length, 0, static_cast<int>(sizeof buffer) - 1)));
  std::replace(out.begin(), out.end(), ',', '.');  // a locale's decimal comma
  return out;
}

/// Chooses one number format for a tensor: integers, four decimals, or exponents.
class NumberFormat {
 public:
  NumberFormat(Dtype dtype, const std::vector<const char*>& elements) : dtype_(dtype) {
    if (is_floating(dtype)) choose_floating(elements);
    for (const char* element : elements) width_ = std::max(width_, plain(element).size());
  }

  std::string operator()(const char* element) const {
    const std::string digits = plain(element);
    return std::string(width_ - digits.size(), ' ') + digits;
  }
  size_t width() const { return width_; }

 private:
  void choose_floating(const std::vector<const char*>& elements) {
    double smallest = HUGE_VAL, largest = 0;
    for (const char* element : elements) {
      const double value = std::fabs(read_floating(element, dtype_));
      if (!std::isfinite(value) || value == 0) continue;
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
      whole_ = whole_ && value == std::ceil(value);
    }
    if (largest > 0) exponent_ = largest / smallest > 1000 || largest > 1e8 || (!whole_ && smallest < 1e-4);
  }

  std::string plain(const char* element) const {
    if (is_boolean(dtype_)) return read_integer(element, dtype_) != 0 ? "True" : "False";
    if (!is_floating(dtype_)) return text::cat(read_integer(element, dtype_));
    const double value = read_floating(element, dtype_);
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    if (exponent_) return formatted("%.4e", value);
    return whole_ ? formatted("%.0f", value) + '.' : formatted("%.4f", value);
  }

  Dtype dtype_;
  bool whole_ = true, exponent_ = false;
  size_t width_ = 1;
};

class Printer {
 public:
  explicit Printer(const TensorImpl& impl) : impl_(impl), summarize_(impl.numel() > summarize_above) {}

  std::string print() {
    std::vector<const char*> shown;
    collect(0, impl_.data(), shown);
    const NumberFormat format(impl_.dtype, shown);
    std::string out = "tensor(";
    if (impl_.numel() == 0) out += "[]";
    else out += dimension(0, impl_.data(), 7, format);
    append_suffixes(out);
    out += ')';
    return out;
  }

 private:
  // The indices shown along a dimension; -1 stands for omitted ones.
  std::vector<int64_t> shown_indexes(size_t dim) const {
    std::vector<int64_t> out;
    const int64_t size = impl_.sizes[dim];
    for (int64_t i = 0; i < size; ++i) {
      if (summarize_ && size > 2 * edge_items && i == edge_items) {
        out.push_back(-1);
        i = size - edge_items;
      }
      out.push_back(i);
    }
    return out;
  }
  const char* at(size_t dim, const char* data, int64_t index) const {
    return data + index * impl_.strides[dim] * size_of(impl_.dtype);
  }

  void collect(size_t dim, const char* data, std::vector<const char*>& out) const {
    if (dim == impl_.sizes.size()) {
      out.push_back(data);
      return;
    }
    for (const int64_t i : shown_indexes(dim))
      if (i >= 0) collect(dim + 1, at(dim, data, i), out);
  }

  std::string dimension(size_t dim, const char* data, size_t indent, const NumberFormat& format) const {
    const size_t left = impl_.sizes.size() - dim;
    if (left == 0) return format(data);
    if (left == 1) return row(dim, data, indent, format);
    std::string out = "[";
    for (const int64_t i : shown_indexes(dim)) {
      if (out.size() > 1) out += ',' + std::string(left - 1, '\n') + std::string(indent + 1, ' ');
      out += i < 0 ? "..." : dimension(dim + 1, at(dim, data, i), indent + 1, format);
    }
    return out + ']';
  }

  std::string row(size_t dim, const char* data, size_t indent, const NumberFormat& format) const {
    const size_t room = line_width > indent ? line_width - indent : 1;
    const size_t per_line = std::max<size_t>(1, room / (format.width() + 2));
    std::string out = "[";
    size_t count = 0;
    for (const int64_t i : shown_indexes(dim)) {
      if (count > 0) out += count % per_line == 0 ? ",\n" + std::string(indent + 1, ' ') : ", ";
      out += i < 0 ? " ..." : format(at(dim, data, i));
      ++count;
    }
    return out + ']';
  }

  void append_suffixes(std::string& out) const {
    std::vector<std::string> suffixes;
    const Dtype dtype = impl_.dtype;
    const bool empty = impl_.numel() == 0;
    if (empty && impl_.sizes.size() != 1)
      suffixes.push_back(text::cat("size=", Shape(impl_.sizes.data(), impl_.sizes.size())));
    const bool usual = dtype == default_dtype() || (!empty && (dtype == Dtype::i64 || dtype == Dtype::boolean));
    if (!usual) suffixes.push_back(text::cat("dtype=", dtype));
    if (impl_.requires_grad) suffixes.emplace_back("requires_grad=True");
    const size_t newline = out.rfind('\n');
    size_t used = newline == std::string::npos ? out.size() : out.size() - newline - 1;
    for (const std::string& suffix : suffixes) {
      const bool fits = used + suffix.size() + 3 <= line_width;
      out += fits ? ", " : ",\n" + std::string(7, ' ');
      out += suffix;
      used = (fits ? used + 2 : 7) + suffix.size();
    }
  }

  const TensorImpl& impl_;
  bool summarize_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  if (!tensor.defined()) return out << "None";
  return out << Printer(demand_elements(tensor, "printing", {})).print();
}

}  // namespace fulgurite
