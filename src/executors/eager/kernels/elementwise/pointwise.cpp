#include "executors/eager/kernels/elementwise/pointwise.h"

#include "executors/eager/index_error.h"
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/strided.h"
#include "executors/eager/kernels/elementwise/chain.h"
#include "executors/eager/kernels/elementwise/tiles.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t block =
    1024;  // elements converted or repeated at a time; five such buffers fit the first-level cache
constexpr int64_t short_row = 64;  // rows below this are gathered until they fill a block

struct Source {
  enum class Kind : uint8_t { linear, constant, strided };
  Kind kind = Kind::linear;
  const char* data = nullptr;
  int64_t item = 0;       // bytes of an element
  int64_t read_item = 0;  // bytes of an element as the row reads it
  Convert convert = nullptr;
  bool direct = true;  // already has the type the row reads
  alignas(8) char number[8];
};

struct Loop {
  Loop(const Pointwise& operation, const RowParameters& parameters) : operation(operation), parameters(parameters) {}

  const Pointwise& operation;
  RowParameters parameters;
  Source sources[max_operands];
  int count = 0;
  bool any_strided = false, any_buffered = false, any_transposed = false;
  StridedLoop<max_operands> places;
  char* result = nullptr;
  int64_t result_item = 0, written_item = 0;
  Convert convert_result = nullptr;

  void add(const Argument& operand, const Tensor& into);
  void run(int64_t begin, int64_t end) const;

 private:
  struct Buffers {
    alignas(64) char operand[max_operands][block * 8];
    alignas(64) char result[block * 8];
  };
  void run_linear(int64_t begin, int64_t end, Buffers&) const;
  void run_rows(int64_t begin, int64_t end, Buffers&) const;
  void run_short_rows(int64_t begin, int64_t end, Buffers&) const;
  void emit(const void* const* operands, int64_t at, int64_t length, Buffers&) const;
  const void* linear_block(int k, int64_t at, int64_t length, Buffers&) const;
  void fill_constants(Buffers&) const;
};

void Loop::add(const Argument& operand, const Tensor& into) {
  Source& source = sources[count];
  const Dtype read = operation.operand_dtypes[count];
  source.read_item = size_of(read);
  ++count;
  if (!operand.is_tensor()) {
    write_number(operand, read, source.number);
    source.kind = Source::Kind::constant;
    source.data = source.number;
    source.item = source.read_item;
    source.convert = find_conversion(read, read);
    any_buffered = true;
    return;
  }
  const TensorImpl& target = *into.impl();
  const TensorImpl& tensor = *operand.tensor().impl();
  source.data = tensor.data();
  source.item = size_of(tensor.dtype);
  source.direct = tensor.dtype == read;
  if (tensor.is_contiguous && tensor.sizes == target.sizes) {
    if (!source.direct) {
      source.convert = find_conversion(tensor.dtype, read);
      any_buffered = true;
    }
    return;
  }
  source.convert = find_conversion(tensor.dtype, read);
  any_buffered = true;
  if (tensor.numel() == 1) {
    source.kind = Source::Kind::constant;
    return;
  }
  source.kind = Source::Kind::strided;
  any_strided = true;
  any_transposed |= is_transposed(tensor, target.sizes);
}

void Loop::fill_constants(Buffers& buffers) const {
  for (int k = 0; k < count; ++k)
    if (sources[k].kind == Source::Kind::constant) sources[k].convert(sources[k].data, 0, buffers.operand[k], block);
}

const void* Loop::linear_block(int k, int64_t at, int64_t length, Buffers& buffers) const {
  const Source& source = sources[k];
  if (source.kind == Source::Kind::constant) return buffers.operand[k];
  const char* from = source.data + at * source.item;
  if (source.direct) return from;
  source.convert(from, 1, buffers.operand[k], length);
  return buffers.operand[k];
}

void Loop::emit(const void* const* operands, int64_t at, int64_t length, Buffers& buffers) const {
  if (!convert_result) return operation.row(operands, result + at * result_item, length, parameters);
  operation.row(operands, buffers.result, length, parameters);
  convert_result(buffers.result, 1, result + at * result_item, length);
}

void Loop::run(int64_t begin, int64_t end) const {
  Buffers buffers;
  if (!any_strided) return run_linear(begin, end, buffers);
  if (places.row_length() < short_row) return run_short_rows(begin, end, buffers);
  run_rows(begin, end, buffers);
}

void Loop::run_linear(int64_t begin, int64_t end, Buffers& buffers) const {
  const void* operands[max_operands];
  const int64_t step = any_buffered || convert_result ? block : end - begin;
  if (any_buffered) fill_constants(buffers);
  for (int64_t at = begin; at < end; at += step) {
    const int64_t length = end - at < step ? end - at : step;
    for (int k = 0; k < count; ++k) operands[k] = linear_block(k, at, length, buffers);
    emit(operands, at, length, buffers);
  }
}

void Loop::run_rows(int64_t begin, int64_t end, Buffers& buffers) const {
  const void* operands[max_operands];
  const int64_t row_length = places.row_length();
  RowPosition<max_operands> position(places, begin / row_length);
  int64_t column = begin % row_length;
  fill_constants(buffers);
  const void* repeated[max_operands] = {};  // the element a buffer is filled with
  for (int64_t at = begin; at < end;) {
    int64_t length = row_length - column < end - at ? row_length - column : end - at;
    if (length > block) length = block;
    for (int k = 0; k < count; ++k) {
      const Source& source = sources[k];
      if (source.kind != Source::Kind::strided) {
        operands[k] = linear_block(k, at, length, buffers);
        continue;
      }
      const int64_t stride = places.strides[k].back();
      const char* from = source.data + (position.offsets[k] + column * stride) * source.item;
      if (stride == 1 && source.direct) {
        operands[k] = from;
        continue;
      }
      if (stride != 0) source.convert(from, stride, buffers.operand[k], length);
      else if (repeated[k] != from)
        source.convert(from, 0, buffers.operand[k], row_length < block ? row_length : block);
      repeated[k] = from;
      operands[k] = buffers.operand[k];
    }
    emit(operands, at, length, buffers);
    at += length;
    column += length;
    if (column == row_length) {
      column = 0;
      position.advance();
    }
  }
}

void Loop::run_short_rows(int64_t begin, int64_t end, Buffers& buffers) const {
  const void* operands[max_operands];
  const int64_t row_length = places.row_length();
  RowPosition<max_operands> position(places, begin / row_length);
  int64_t column = begin % row_length;
  fill_constants(buffers);
  for (int64_t at = begin; at < end;) {
    const int64_t length = end - at < block ? end - at : block;
    for (int k = 0; k < count; ++k)
      operands[k] =
          sources[k].kind == Source::Kind::strided ? buffers.operand[k] : linear_block(k, at, length, buffers);
    for (int64_t done = 0; done < length;) {
      const int64_t chunk = row_length - column < length - done ? row_length - column : length - done;
      for (int k = 0; k < count; ++k) {
        const Source& source = sources[k];
        if (source.kind != Source::Kind::strided) continue;
        const int64_t stride = places.strides[k].back();
        source.convert(source.data + (position.offsets[k] + column * stride) * source.item, stride,
                       buffers.operand[k] + done * source.read_item, chunk);
      }
      done += chunk;
      column += chunk;
      if (column == row_length) {
        column = 0;
        position.advance();
      }
    }
    emit(operands, at, length, buffers);
    at += length;
  }
}

}  // namespace

bool is_transposed(const TensorImpl& tensor, const Sizes& target) {
  if (!(tensor.sizes == target) || tensor.sizes.size() < 2 || tensor.numel() < 4096) return false;
  bool has_neighbours = false;
  for (size_t d = 0; d + 1 < tensor.sizes.size(); ++d)
    has_neighbours |= tensor.strides[d] == 1 && tensor.sizes[d] >= 16;
  return has_neighbours && tensor.strides.back() != 1 && tensor.sizes.back() >= 16;
}

void write_number(const Argument& number, Dtype dtype, void* to) {
  visit_element_type(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const T value =
        number.is_floating() ? element_of<T>(number.floating().hint()) : element_of<T>(number.integer().hint());
    std::memcpy(to, &value, sizeof(T));
  });
}

void run_pointwise(const Pointwise& operation, std::initializer_list<const Argument*> operands, const Tensor& result,
                   RowParameters parameters) {
  const TensorImpl& target = *result.impl();
  const int64_t count = target.numel();
  if (is_pending(target)) [[unlikely]]
    return static_cast<Chain*>(pending_values())->add(operation, operands, result, parameters);
  if (count == 0) return;
  bool divided_by_zero = false;
  parameters.divided_by_zero = &divided_by_zero;
  Loop loop(operation, parameters);
  for (const Argument* operand : operands) loop.add(*operand, result);
  if (loop.any_transposed && run_in_tiles(operation, operands, result, parameters)) {
    if (divided_by_zero) throw_division_by_zero();
    return;
  }
  loop.result = target.data();
  loop.result_item = size_of(target.dtype);
  if (target.dtype != operation.result_dtype)
    loop.convert_result = find_conversion(operation.result_dtype, target.dtype);
  if (loop.any_strided) {
    // Operands in the result's own order are addressed by the element's number, and do not prevent merging.
    loop.places.sizes = target.sizes;
    int k = 0;
    for (const Argument* operand : operands) {
      const bool strided = loop.sources[k].kind == Source::Kind::strided;
      loop.places.strides[k++] = strided ? broadcast_strides(*operand->tensor().impl(), target.sizes) : target.strides;
    }
    for (; k < max_operands; ++k) loop.places.strides[k] = target.strides;
    loop.places.merge_dimensions();
  }
  parallel_for(count, operation.grain, [&loop](int64_t begin, int64_t end) { loop.run(begin, end); });
  if (divided_by_zero) throw_division_by_zero();
}

}  // namespace fulgurite::FULGURITE_KERNELS
