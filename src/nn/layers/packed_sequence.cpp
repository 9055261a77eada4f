// Sequences of unequal lengths: packing and padding are gathers of rows.
#include <fulgurite/packed_sequence.h>

#include <algorithm>
#include <numeric>

#include <fulgurite/error.h>
#include <fulgurite/memory.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn::utils::rnn {

namespace {

Tensor index_tensor(const std::vector<int64_t>& numbers, SourceLocation at) {
  return fulgurite::tensor(std::span<const int64_t>(numbers), {}, at);
}

/// [T, N, …] as [T * N, …].
Tensor rows_of(const Tensor& padded, SourceLocation at) { return flatten(padded, 0, 1, at); }

/// The indices of the sequences, longest first; equal ones stay in order.
std::vector<int64_t> longest_first(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return lengths[size_t(a)] > lengths[size_t(b)]; });
  return order;
}
std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

/// The number of sequences that have each step.
std::vector<int64_t> sizes_of_steps(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> sizes(static_cast<size_t>(*std::ranges::max_element(lengths)), 0);
  for (const int64_t length : lengths)
    for (size_t t = 0; t < static_cast<size_t>(length); ++t) ++sizes[t];
  return sizes;
}

/// The lengths of the packed sequences, longest first.
std::vector<int64_t> lengths_of(const PackedSequence& sequence, const char* name, SourceLocation at) {
  if (!sequence.data.defined() || sequence.batch_sizes.empty())
    throw UserError(text::cat(name, ": the packed sequence is empty"), at);
  std::vector<int64_t> lengths(static_cast<size_t>(sequence.batch_sizes[0]), 0);
  for (const int64_t size : sequence.batch_sizes)
    for (size_t i = 0; i < static_cast<size_t>(size); ++i) ++lengths[i];
  return lengths;
}

/// Checks a padded input and its lengths; returns the number of steps and of sequences.
std::pair<int64_t, int64_t> check_padded(const Tensor& input, const std::vector<int64_t>& lengths, bool batch_first,
                                         const char* name, SourceLocation at) {
  if (!input.defined() || input.ndim() < 2)
    throw UserError(text::cat(name, ": the input has at least 2 dimensions, steps and sequences, not ",
                              input.defined() ? type_text(input) : "undefined"),
                    at);
  const int64_t steps = static_cast<int64_t>(input.size(batch_first ? 1 : 0)),
                count = static_cast<int64_t>(input.size(batch_first ? 0 : 1));
  if (static_cast<int64_t>(lengths.size()) != count)
    throw UserError(text::cat(name, ": ", lengths.size(), " lengths for ", count, " sequences, of ", type_text(input)),
                    at);
  for (const int64_t length : lengths)
    if (length < 1 || length > steps)
      throw UserError(text::cat(name, ": lengths must be from 1 to ", steps, ", not ", length), at);
  return {steps, count};
}

std::vector<int64_t> numbers_of(const Tensor& lengths, const char* name, SourceLocation at) {
  if (!lengths.defined() || lengths.ndim() != 1 || is_floating(lengths.dtype()) || lengths.dtype() == Dtype::boolean)
    throw UserError(text::cat(name, ": lengths must be a one-dimensional tensor of integers, not ",
                              lengths.defined() ? type_text(lengths) : "undefined"),
                    at);
  return lengths.to(Dtype::i64, at).to_vector<int64_t>(at);
}

PackedSequence packed(const Tensor& input, const std::vector<int64_t>& lengths, bool batch_first, bool enforce_sorted,
                      const char* name, SourceLocation at) {
  const auto [steps, count] = check_padded(input, lengths, batch_first, name, at);
  if (count == 0) throw UserError(text::cat(name, ": there are no sequences in ", type_text(input)), at);
  if (enforce_sorted && !std::ranges::is_sorted(lengths, std::greater()))
    throw UserError(text::cat(name,
                              ": with enforce_sorted the longest sequence comes first; pass enforce_sorted = "
                              "false to have them sorted"),
                    at);
  const std::vector<int64_t> order = longest_first(lengths);
  PackedSequence out;
  out.batch_sizes = sizes_of_steps(lengths);
  std::vector<int64_t> rows;
  for (size_t t = 0; t < out.batch_sizes.size(); ++t)
    for (int64_t i = 0; i < out.batch_sizes[t]; ++i) {
      const int64_t step = static_cast<int64_t>(t), sequence = order[static_cast<size_t>(i)];
      rows.push_back(batch_first ? sequence * steps + step : step * count + sequence);
    }
  const Tensor all = rows_of(input, at), indices = index_tensor(rows, at);
  out.data = index_select(all, 0, indices, at);
  if (enforce_sorted) return out;
  out.sorted_indices = index_tensor(order, at);
  out.unsorted_indices = index_tensor(inverse(order), at);
  return out;
}

/// For each of [T, N] or [N, T] the row of the packed data, or -1 for padding.
std::vector<int64_t> packed_rows(const PackedSequence& sequence, const std::vector<int64_t>& position, int64_t steps,
                                 bool batch_first) {
  const auto count = static_cast<int64_t>(position.size());
  std::vector<int64_t> rows(static_cast<size_t>(steps * count), -1);
  int64_t first = 0;
  for (size_t t = 0; t < sequence.batch_sizes.size(); first += sequence.batch_sizes[t++])
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = position[static_cast<size_t>(i)], step = static_cast<int64_t>(t);
      if (row < sequence.batch_sizes[t])
        rows[static_cast<size_t>(batch_first ? i * steps + step : step * count + i)] = first + row;
    }
  return rows;
}

/// `data`, whose rows are [T * N, …], with the padding where a row is -1.
Tensor padded_rows(const Tensor& data, const std::vector<int64_t>& rows, const Shape& shape, double padding_value,
                   SourceLocation at) {
  std::vector<int64_t> read = rows;
  std::vector<float> is_padding(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    is_padding[i] = rows[i] < 0 ? 1 : 0;
    read[i] = std::max<int64_t>(rows[i], 0);
  }
  const Tensor indices = index_tensor(read, at), gathered = index_select(data, 0, indices, at);
  Tensor mask = fulgurite::tensor(std::span<const float>(is_padding), {}, at).to(Dtype::boolean, at);
  for (int d = 1; d < data.ndim(); ++d) mask = unsqueeze(mask, -1, at);
  const Tensor filled = masked_fill(gathered, mask, padding_value, at);
  return reshape(filled, Dims(shape), at);
}

}  // namespace

PackedSequence pack_padded_sequence(const Tensor& input, const Dims& lengths, bool batch_first, bool enforce_sorted,
                                    SourceLocation at) {
  std::vector<int64_t> numbers;
  for (const Int& length : lengths) numbers.push_back(static_cast<int64_t>(length));
  return packed(input, numbers, batch_first, enforce_sorted, "pack_padded_sequence", at);
}
PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first, bool enforce_sorted,
                                    SourceLocation at) {
  return packed(input, numbers_of(lengths, "pack_padded_sequence", at), batch_first, enforce_sorted,
                "pack_padded_sequence", at);
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first, double padding_value,
                                               std::optional<int64_t> total_length, SourceLocation at) {
  const std::vector<int64_t> sorted = lengths_of(sequence, "pad_packed_sequence", at);
  const auto longest = static_cast<int64_t>(sequence.batch_sizes.size()), steps = total_length.value_or(longest);
  if (steps < longest)
    throw UserError(
        text::cat("pad_packed_sequence: total_length must be at least the longest length, ", longest, ", not ", steps),
        at);
  std::vector<int64_t> position(sorted.size());
  std::iota(position.begin(), position.end(), 0);
  if (sequence.unsorted_indices.defined()) position = sequence.unsorted_indices.to_vector<int64_t>(at);
  std::vector<int64_t> lengths(sorted.size());
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = sorted[static_cast<size_t>(position[i])];
  Shape shape = sequence.data.shape();
  const auto count = static_cast<int64_t>(sorted.size());
  shape[0] = batch_first ? steps : count;
  shape.insert(0, batch_first ? count : steps);
  const Tensor padded =
      padded_rows(sequence.data, packed_rows(sequence, position, steps, batch_first), shape, padding_value, at);
  return {padded, index_tensor(lengths, at)};
}

Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first, double padding_value,
                    const std::string& padding_side, SourceLocation at) {
  if (sequences.empty()) throw UserError("pad_sequence: there are no sequences", at);
  if (padding_side != "right" && padding_side != "left")
    throw UserError(text::cat("pad_sequence: padding_side must be \"right\" or \"left\", not \"", padding_side, "\""),
                    at);
  int64_t longest = 0;
  for (const Tensor& sequence : sequences) {
    if (!sequence.defined() || sequence.ndim() < 1)
      throw UserError(text::cat("pad_sequence: a sequence has at least 1 dimension, not ",
                                sequence.defined() ? type_text(sequence) : "undefined"),
                      at);
    longest = std::max(longest, static_cast<int64_t>(sequence.size(0)));
  }
  std::vector<Tensor> padded;
  for (const Tensor& sequence : sequences) {
    const int64_t missing = longest - static_cast<int64_t>(sequence.size(0));
    Shape rest = sequence.shape();
    rest[0] = missing;
    const Tensor padding =
        missing > 0 ? full(Dims(rest), padding_value, {.dtype = sequence.dtype(), .device = sequence.device()}, at)
                    : Tensor();
    if (missing == 0) padded.push_back(sequence);
    else if (padding_side == "right") padded.push_back(cat({sequence, padding}, 0, at));
    else padded.push_back(cat({padding, sequence}, 0, at));
  }
  return stack(padded, batch_first ? 0 : 1, at);
}

PackedSequence pack_sequence(const std::vector<Tensor>& sequences, bool enforce_sorted, SourceLocation at) {
  const Tensor padded = pad_sequence(sequences, false, 0, "right", at);
  std::vector<int64_t> lengths;
  for (const Tensor& sequence : sequences) lengths.push_back(static_cast<int64_t>(sequence.size(0)));
  return packed(padded, lengths, false, enforce_sorted, "pack_sequence", at);
}

std::vector<Tensor> unpad_sequence(const Tensor& padded, const Tensor& lengths, bool batch_first, SourceLocation at) {
  const std::vector<int64_t> numbers = numbers_of(lengths, "unpad_sequence", at);
  static_cast<void>(check_padded(padded, numbers, batch_first, "unpad_sequence", at));
  std::vector<Tensor> out;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Tensor sequence = select(padded, batch_first ? 0 : 1, static_cast<int64_t>(i), at);
    out.push_back(narrow(sequence, 0, 0, numbers[i], at));
  }
  return out;
}

std::vector<Tensor> unpack_sequence(const PackedSequence& sequence, SourceLocation at) {
  const auto [padded, lengths] = pad_packed_sequence(sequence, true, 0, {}, at);
  return unpad_sequence(padded, lengths, true, at);
}

}  // namespace fulgurite::nn::utils::rnn
