// Parts and wholes, as compositions of operators.
#include <algorithm>

#include <fulgurite/compositions.h>
#include <fulgurite/data_dependent.h>
#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

void require_dimensions(const Tensor& x, int least, const char* name, SourceLocation at) {
  if (!x.defined()) throw UserError(text::cat(name, ": the input is an undefined tensor"), at);
  if (x.ndim() < least)
    throw UserError(text::cat(name, ": the input has at least ", least, " dimensions, not ", type_text(x)), at);
}

int64_t wrapped(int64_t dim, const Tensor& x, const char* name, SourceLocation at) {
  const int64_t count = std::max<int64_t>(x.ndim(), 1), out = dim < 0 ? dim + count : dim;
  if (out < 0 || out >= count)
    throw UserError(text::cat(name, ": the dimension ", dim, " is out of range for ", type_text(x)), at);
  return out;
}

// Views between consecutive ends.
std::vector<Tensor> between(const Tensor& x, const std::vector<int64_t>& ends, int64_t dim, SourceLocation at) {
  std::vector<Tensor> out;
  int64_t start = 0;
  for (const int64_t end : ends) {
    out.push_back(narrow(x, dim, std::min(start, std::max(start, end)), std::max<int64_t>(end - start, 0), at));
    start = end;
  }
  return out;
}

std::vector<Tensor> split_into(const Tensor& x, int64_t sections, int64_t dim, const char* name, SourceLocation at) {
  if (sections < 1) throw UserError(text::cat(name, ": the number of sections must be positive, not ", sections), at);
  const int64_t size = x.size(static_cast<int>(dim)), longer = size % sections, length = size / sections;
  std::vector<int64_t> ends;
  for (int64_t i = 0, end = 0; i < sections; ++i) ends.push_back(end += length + (i < longer ? 1 : 0));
  return between(x, ends, dim, at);
}

std::vector<Tensor> split_at(const Tensor& x, const std::vector<int64_t>& indices, int64_t dim, SourceLocation at) {
  const int64_t size = x.size(static_cast<int>(dim));
  std::vector<Tensor> out;
  int64_t start = 0;
  for (size_t i = 0; i <= indices.size(); ++i) {
    int64_t end = i < indices.size() ? indices[i] : size;
    if (end < 0) end += size;
    end = std::clamp<int64_t>(end, 0, size);
    out.push_back(narrow(x, dim, std::min(start, size), std::max<int64_t>(end - start, 0), at));
    start = end;
  }
  return out;
}

void require_divisible(const Tensor& x, int64_t sections, int64_t dim, const char* name, SourceLocation at) {
  const int64_t size = x.size(static_cast<int>(dim));
  if (sections < 1 || size % sections != 0)
    throw UserError(text::cat(name, ": dimension ", dim, " of ", type_text(x), " does not divide into ", sections,
                              " equal parts; tensor_split makes nearly equal ones"),
                    at);
}

Tensor triangle_indices(int64_t rows, int64_t columns, int64_t offset, bool is_lower, const char* name,
                        SourceLocation at) {
  if (rows < 0 || columns < 0) throw UserError(text::cat(name, ": negative sizes: ", rows, " and ", columns), at);
  std::vector<int64_t> row_numbers, column_numbers;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t first = is_lower ? 0 : std::max<int64_t>(i + offset, 0);
    const int64_t last = is_lower ? std::min(i + offset, columns - 1) : columns - 1;
    for (int64_t j = first; j <= last; ++j) {
      row_numbers.push_back(i);
      column_numbers.push_back(j);
    }
  }
  const Tensor row = tensor(row_numbers, {}, at), column = tensor(column_numbers, {}, at);
  return stack({row, column}, 0, at);
}

}  // namespace

Tensor fliplr(const Tensor& input, SourceLocation at) {
  require_dimensions(input, 2, "fliplr", at);
  return flip(input, {1}, at);
}
Tensor flipud(const Tensor& input, SourceLocation at) {
  require_dimensions(input, 1, "flipud", at);
  return flip(input, {0}, at);
}

Tensor rot90(const Tensor& input, int64_t k, const std::vector<int64_t>& dims, SourceLocation at) {
  require_dimensions(input, 2, "rot90", at);
  if (dims.size() != 2) throw UserError(text::cat("rot90: 2 dimensions are wanted, not ", dims.size()), at);
  const int64_t first = wrapped(dims[0], input, "rot90", at), second = wrapped(dims[1], input, "rot90", at);
  if (first == second) throw UserError(text::cat("rot90: both dimensions are ", first), at);
  const int64_t turns = (k % 4 + 4) % 4;
  if (turns == 2) return flip(input, {first, second}, at);
  if (turns == 0) return clone(input, at);
  const Tensor flipped = flip(input, {turns == 1 ? second : first}, at);
  return transpose(flipped, first, second, at);
}

std::vector<Tensor> tensor_split(const Tensor& input, int64_t sections, int64_t dim, SourceLocation at) {
  require_dimensions(input, 1, "tensor_split", at);
  return split_into(input, sections, wrapped(dim, input, "tensor_split", at), "tensor_split", at);
}
std::vector<Tensor> tensor_split(const Tensor& input, const std::vector<int64_t>& indices, int64_t dim,
                                 SourceLocation at) {
  require_dimensions(input, 1, "tensor_split", at);
  return split_at(input, indices, wrapped(dim, input, "tensor_split", at), at);
}
std::vector<Tensor> hsplit(const Tensor& input, int64_t sections, SourceLocation at) {
  require_dimensions(input, 1, "hsplit", at);
  const int64_t dim = input.ndim() == 1 ? 0 : 1;
  require_divisible(input, sections, dim, "hsplit", at);
  return split_into(input, sections, dim, "hsplit", at);
}
std::vector<Tensor> hsplit(const Tensor& input, const std::vector<int64_t>& indices, SourceLocation at) {
  require_dimensions(input, 1, "hsplit", at);
  return split_at(input, indices, input.ndim() == 1 ? 0 : 1, at);
}
std::vector<Tensor> vsplit(const Tensor& input, int64_t sections, SourceLocation at) {
  require_dimensions(input, 2, "vsplit", at);
  require_divisible(input, sections, 0, "vsplit", at);
  return split_into(input, sections, 0, "vsplit", at);
}
std::vector<Tensor> vsplit(const Tensor& input, const std::vector<int64_t>& indices, SourceLocation at) {
  require_dimensions(input, 2, "vsplit", at);
  return split_at(input, indices, 0, at);
}

Tensor atleast_1d(const Tensor& input, SourceLocation at) {
  require_dimensions(input, 0, "atleast_1d", at);
  return input.ndim() == 0 ? unsqueeze(input, 0, at) : input;
}
Tensor atleast_2d(const Tensor& input, SourceLocation at) {
  const Tensor vector = atleast_1d(input, at);
  return vector.ndim() == 1 ? unsqueeze(vector, 0, at) : vector;
}
Tensor atleast_3d(const Tensor& input, SourceLocation at) {
  const Tensor matrix = atleast_2d(input, at);
  return matrix.ndim() == 2 ? unsqueeze(matrix, -1, at) : matrix;
}

Tensor dstack(const std::vector<Tensor>& tensors, SourceLocation at) {
  std::vector<Tensor> parts;
  for (const Tensor& part : tensors) parts.push_back(atleast_3d(part, at));
  return cat(parts, 2, at);
}
Tensor column_stack(const std::vector<Tensor>& tensors, SourceLocation at) {
  std::vector<Tensor> parts;
  for (const Tensor& part : tensors) {
    require_dimensions(part, 0, "column_stack", at);
    parts.push_back(part.ndim() < 2 ? reshape(part, {-1, 1}, at) : part);
  }
  return cat(parts, 1, at);
}
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors, SourceLocation at) {
  std::vector<int64_t> sizes;
  for (const Tensor& x : tensors) {
    require_dimensions(x, 0, "broadcast_tensors", at);
    const auto given = x.shape().to_vector();
    if (given.size() > sizes.size()) sizes.insert(sizes.begin(), given.size() - sizes.size(), 1);
    for (size_t d = 0; d < given.size(); ++d) {
      int64_t& size = sizes[sizes.size() - given.size() + d];
      if (size == 1) size = given[d];
      else if (given[d] != 1 && given[d] != size)
        throw UserError(text::cat("broadcast_tensors: ", type_text(x), " does not broadcast to ", Shape(sizes).text()),
                        at);
    }
  }
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(broadcast_to(x, sizes, at));
  return out;
}

Tensor block_diag(const std::vector<Tensor>& tensors, SourceLocation at) {
  int64_t columns = 0, before = 0;
  std::vector<Tensor> blocks, rows;
  for (const Tensor& x : tensors) {
    const Tensor block = atleast_2d(x, at);
    if (block.ndim() != 2)
      throw UserError(text::cat("block_diag: the tensors have at most 2 dimensions, not ", type_text(x)), at);
    blocks.push_back(block);
    columns += block.size(1);
  }
  if (blocks.empty()) return zeros({1, 0}, {}, at);
  for (const Tensor& block : blocks) {
    const int64_t width = block.size(1);
    rows.push_back(constant_pad_nd(block, {before, columns - before - width}, 0, at));
    before += width;
  }
  return cat(rows, 0, at);
}

Tensor cartesian_prod(const std::vector<Tensor>& tensors, SourceLocation at) {
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors, "ij", at)) columns.push_back(reshape(grid, {-1}, at));
  return stack(columns, 1, at);
}

Tensor combinations(const Tensor& input, int64_t r, bool with_replacement, SourceLocation at) {
  require_dimensions(input, 1, "combinations", at);
  if (input.ndim() != 1) throw UserError(text::cat("combinations: the input is a vector, not ", type_text(input)), at);
  if (r < 0) throw UserError(text::cat("combinations: r must not be negative: ", r), at);
  const int64_t count = input.size(0);
  std::vector<int64_t> chosen, positions;
  const auto choose = [&](const auto& self, int64_t from) -> void {
    if (static_cast<int64_t>(chosen.size()) == r) {
      positions.insert(positions.end(), chosen.begin(), chosen.end());
      return;
    }
    for (int64_t i = from; i < count; ++i) {
      chosen.push_back(i);
      self(self, with_replacement ? i : i + 1);
      chosen.pop_back();
    }
  };
  if (r == 0) return zeros({0}, {.dtype = input.dtype()}, at);
  choose(choose, 0);
  const Tensor index = tensor(positions, {}, at), elements = index_select(input, 0, index, at);
  return reshape(elements, {static_cast<int64_t>(positions.size()) / r, r}, at);
}

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, SourceLocation at) {
  return triangle_indices(row, col, offset, true, "tril_indices", at);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, SourceLocation at) {
  return triangle_indices(row, col, offset, false, "triu_indices", at);
}

Tensor masked_scatter(const Tensor& input, const Tensor& mask, const Tensor& source, SourceLocation at) {
  require_dimensions(input, 0, "masked_scatter", at);
  require_dimensions(mask, 0, "masked_scatter", at);
  require_dimensions(source, 0, "masked_scatter", at);
  if (mask.dtype() != Dtype::boolean)
    throw UserError(text::cat("masked_scatter: the mask is boolean, not ", type_text(mask)), at);
  if (source.dtype() != input.dtype())
    throw UserError(text::cat("masked_scatter: the source has the input's dtype, not ", type_text(source)), at);
  const auto both = broadcast_tensors({input, mask}, at);
  const Tensor flags = reshape(both[1], {-1}, at), counts = cumsum(flags, 0, Dtype::i64, at);
  const int64_t wanted = flags.numel() == 0 ? 0 : counts(-1).item<int64_t>(at);
  if (wanted > source.numel())
    throw UserError(text::cat("masked_scatter: the mask has ", wanted, " true elements, the source has ",
                              source.numel(), " elements"),
                    at);
  if (wanted == 0) return clone(both[0], at);
  const Tensor position = clamp_min(sub(counts, 1, 1, at), 0, at), elements = reshape(source, {-1}, at);
  const Tensor taken = index_select(elements, 0, position, at);
  return where(both[1], reshape(taken, Dims(both[0].shape()), at), both[0], at);
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool invert, SourceLocation at) {
  require_dimensions(elements, 0, "isin", at);
  require_dimensions(test_elements, 0, "isin", at);
  const Tensor tested = reshape(test_elements, {-1}, at), each = unsqueeze(elements, -1, at);
  const Tensor equals = eq(each, tested, at), found = any(equals, {-1}, false, at);
  return invert ? logical_not(found, at) : found;
}

}  // namespace fulgurite
