#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn::utils::rnn {

/// Sequences of unequal lengths without padding, step after step: the first elements of all, longest first, then the
/// second ones of those that have one. Recurrent layers take it and return it.
/// (torch.nn.utils.rnn.PackedSequence)
struct PackedSequence {
  Tensor data;                       // [sum of lengths, …]
  std::vector<int64_t> batch_sizes;  // the number of sequences that have each step
  Tensor sorted_indices;             // [N] i64, the longest sequence's index first; undefined: as they are
  Tensor unsorted_indices;           // its inverse
  static void parts(auto& sequence, auto&& member) {
    member("data", sequence.data);
    member("batch_sizes", sequence.batch_sizes);
    member("sorted_indices", sequence.sorted_indices);
    member("unsorted_indices", sequence.unsorted_indices);
  }
};

/// Packs the first `lengths[i]` steps of each sequence of `input`, [T, N, …], or [N, T, …] with batch_first. Throws
/// UserError for a length that is not from 1 to T, and for lengths that grow if enforce_sorted.
/// (torch.nn.utils.rnn.pack_padded_sequence)
PackedSequence pack_padded_sequence(const Tensor& input, const Dims& lengths, bool batch_first = false,
                                    bool enforce_sorted = true, SourceLocation at = SourceLocation::here());
/// The same with lengths [N] in an integer tensor, which is read.
PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first = false,
                                    bool enforce_sorted = true, SourceLocation at = SourceLocation::here());
/// The padded sequences, [T, N, …] or [N, T, …], in their first order, and their lengths, [N] i64. T is total_length if
/// it is given; UserError if it is shorter than a sequence. (torch.nn.utils.rnn.pad_packed_sequence)
std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                               double padding_value = 0, std::optional<int64_t> total_length = {},
                                               SourceLocation at = SourceLocation::here());
/// Sequences [length, …] as one tensor, [T, N, …] or [N, T, …], padded on the "right" or "left".
/// (torch.nn.utils.rnn.pad_sequence)
Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first = false, double padding_value = 0,
                    const std::string& padding_side = "right", SourceLocation at = SourceLocation::here());
/// Packs sequences [length, …]. (torch.nn.utils.rnn.pack_sequence)
PackedSequence pack_sequence(const std::vector<Tensor>& sequences, bool enforce_sorted = true,
                             SourceLocation at = SourceLocation::here());
/// The sequences [length, …] of a padded tensor. (torch.nn.utils.rnn.unpad_sequence)
std::vector<Tensor> unpad_sequence(const Tensor& padded, const Tensor& lengths, bool batch_first = false,
                                   SourceLocation at = SourceLocation::here());
/// The sequences [length, …] of a packed one. (torch.nn.utils.rnn.unpack_sequence)
std::vector<Tensor> unpack_sequence(const PackedSequence& sequence, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite::nn::utils::rnn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
