#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/model_parts.h>
#include <fulgurite/model_summary.h>

#include "support/text/text.h"

namespace fulgurite::nn {

namespace {

struct Row {
  std::string name, shape, dtype, count;
};

std::string padded(const std::string& text, size_t width, bool to_the_right) {
  const std::string spaces(width - std::min(width, text.size()), ' ');
  return to_the_right ? spaces + text : text + spaces;
}

std::string table_of(const std::vector<Row>& rows) {
  size_t name = 0, shape = 0, dtype = 0, count = 0;
  for (const Row& row : rows) {
    name = std::max(name, row.name.size());
    shape = std::max(shape, row.shape.size());
    dtype = std::max(dtype, row.dtype.size());
    count = std::max(count, row.count.size());
  }
  std::string out;
  for (const Row& row : rows)
    out += padded(row.name, name, false) + "  " + padded(row.shape, shape, false) + "  " +
           padded(row.dtype, dtype, false) + "  " + padded(row.count, count, true) + "\n";
  return out;
}

bool is_buffer_name(std::string_view name) {
  return name.ends_with("running_mean") || name.ends_with("running_var") || name.ends_with("num_batches_tracked");
}

}  // namespace

namespace model_detail {

int64_t count_elements(const NamedTensors& tensors) {
  int64_t count = 0;
  for (const auto& [name, tensor] : tensors) count += tensor.numel();
  return count;
}

std::string summary_of(const NamedTensors& all) {
  std::vector<Row> rows{{"tensor", "shape", "dtype", "elements"}};
  NamedTensors others;
  for (const auto& [name, tensor] : all) {
    if (!tensor.defined()) continue;
    rows.push_back({name, text::cat(tensor.shape()), text::cat(tensor.dtype()), text::cat(int64_t(tensor.numel()))});
    if (!tensor.requires_grad()) others.emplace_back(name, tensor);
  }
  const int64_t parameters = count_elements(keep_parameters(all));
  return table_of(rows) +
         text::cat(parameters, " elements of parameters, ", count_elements(others), " of tensors without gradients\n");
}

void freeze(const NamedTensors& all, std::string_view prefix, bool requires_grad) {
  for (const auto& [name, tensor] : all)
    if (tensor.defined() && is_floating(tensor.dtype()) && name.starts_with(prefix) && !is_buffer_name(name))
      tensor.requires_grad_(requires_grad);
}

}  // namespace model_detail

namespace parts_detail {
void refuse_clone(const char* type) {
  throw UserError(text::cat("clone: the object of a shared pointer cannot be copied by its type (", type,
                            "); give its class `std::shared_ptr<Base> clone() const`"));
}
}  // namespace parts_detail

}  // namespace fulgurite::nn
