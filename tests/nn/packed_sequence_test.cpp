#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;
namespace rnn = nn::utils::rnn;

namespace {

using Integers = std::vector<int64_t>;

Integers integers(const Tensor& x) { return x.to_vector<int64_t>(); }

/// The results and last states of each sequence, computed alone: [length, features] and [layers, width].
template <class Layer, class Check>
void each_alone(const Layer& layer, const std::vector<Tensor>& sequences, const Check& check) {
  for (size_t i = 0; i < sequences.size(); ++i) check(i, layer(sequences[i].unsqueeze(1)));
}

Tensor hidden_of(const Tensor& state) { return state; }
Tensor hidden_of(const nn::LSTM::State& state) { return std::get<0>(state); }

/// A packed run gives each sequence's own results, states and gradients.
template <class Layer>
void compare_with_sequences_alone(const Layer& layer, SourceLocation at = SourceLocation::here()) {
  std::vector<Tensor> sequences;
  for (const int64_t length : {3, 5, 1, 3})
    sequences.push_back(wave({length, 2}, static_cast<double>(length)).detach().requires_grad_());
  const auto packed = rnn::pack_sequence(sequences, false);
  const auto [y, state] = layer(packed);
  const std::vector<Tensor> results = rnn::unpack_sequence(y);
  const Tensor hidden = hidden_of(state);
  Tensor total = (hidden * hidden).sum(), expected_total = zeros({}, {.dtype = Dtype::f64});
  for (const Tensor& result : results) total = total + (result * wave(result.shape())).sum();
  each_alone(layer, sequences, [&](size_t i, const auto& own) {
    const Tensor result = std::get<0>(own).squeeze(1), last = hidden_of(std::get<1>(own));
    expect_near(values(results[i]), values(result), 1e-12, at);
    expect_near(values(hidden.select(1, static_cast<int64_t>(i))), values(last), 1e-12, at);
    expected_total = expected_total + (result * wave(result.shape())).sum() + (last * last).sum();
  });
  const std::vector<Tensor> parameters = nn::parameters(layer);
  std::vector<Tensor> inputs = parameters;
  inputs.insert(inputs.end(), sequences.begin(), sequences.end());
  const std::vector<Tensor> given = autograd::grad({total}, inputs),
                            expected = autograd::grad({expected_total}, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) expect_near(values(given[i]), values(expected[i]), 1e-12, at);
}

}  // namespace

TEST("sequences are packed step by step, longest first") {
  const Tensor x = wave({4, 3, 2});
  const auto packed = rnn::pack_padded_sequence(x, tensor({2, 4, 1}), false, false);
  expect_near(values(packed.data),
              {0.985449729988, 0.863209366649, 0, 0.644217687238, 0.334988150156, -0.35078322769, -0.631266637872,
               0.0168139004843, -0.871575772414, -0.982452612624, -0.366479129252, -0.879695759972, 0.990607355695,
               0.845746831143},
              1e-9);
  expect_equal(packed.batch_sizes, Integers{3, 2, 1, 1});
  expect_equal(integers(packed.sorted_indices), Integers{1, 0, 2});
  expect_equal(integers(packed.unsorted_indices), Integers{1, 0, 2});
  const auto [padded, lengths] = rnn::pad_packed_sequence(packed, true, -1, 5);
  expect_equal(padded.shape(), Shape{3, 5, 2});
  expect_equal(integers(lengths), Integers{2, 4, 1});
  expect_near(values(padded),
              {0,
               0.644217687238,
               -0.871575772414,
               -0.982452612624,
               -1,
               -1,
               -1,
               -1,
               -1,
               -1,
               0.985449729988,
               0.863209366649,
               -0.631266637872,
               0.0168139004843,
               -0.366479129252,
               -0.879695759972,
               0.990607355695,
               0.845746831143,
               -1,
               -1,
               0.334988150156,
               -0.35078322769,
               -1,
               -1,
               -1,
               -1,
               -1,
               -1,
               -1,
               -1},
              1e-9);
  // Sorted lengths need no indices, and the first dimension may be the batch.
  const auto sorted = rnn::pack_padded_sequence(x.transpose(0, 1), {4, 2, 2}, true);
  expect(!sorted.sorted_indices.defined());
  expect_equal(values(std::get<0>(rnn::pad_packed_sequence(sorted))(Slice(0, 2))), values(x(Slice(0, 2))));
}

TEST("sequences are padded on either side, and taken apart again") {
  const std::vector<Tensor> sequences{tensor({1.0, 2.0}), tensor({3.0}), tensor({4.0, 5.0, 6.0})};
  expect_equal(values(rnn::pad_sequence(sequences, true)), std::vector<double>{1, 2, 0, 3, 0, 0, 4, 5, 6});
  expect_equal(values(rnn::pad_sequence(sequences, false, 9, "left")), std::vector<double>{9, 9, 4, 1, 9, 5, 2, 3, 6});
  const Tensor padded = rnn::pad_sequence(sequences, true);
  const std::vector<Tensor> again = rnn::unpad_sequence(padded, tensor({2, 1, 3}), true);
  expect_equal(values(again[0]), std::vector<double>{1, 2});
  expect_equal(values(again[2]), std::vector<double>{4, 5, 6});
  const std::vector<Tensor> unpacked = rnn::unpack_sequence(rnn::pack_sequence(sequences, false));
  expect_equal(values(unpacked[1]), std::vector<double>{3});
}

TEST("recurrent layers run packed sequences as each alone") {
  for (const bool bidirectional : {false, true}) {
    nn::LSTM lstm(2, 3, {.num_layers = 2, .bidirectional = bidirectional, .dtype = Dtype::f64});
    fill(lstm);
    compare_with_sequences_alone(lstm);
    nn::LSTM projected(2, 4, {.bidirectional = bidirectional, .proj_size = 3, .dtype = Dtype::f64});
    fill(projected);
    compare_with_sequences_alone(projected);
    nn::GRU gru(2, 3, {.num_layers = 2, .bidirectional = bidirectional, .dtype = Dtype::f64});
    fill(gru);
    compare_with_sequences_alone(gru);
    nn::RNN plain(2, 3, {.nonlinearity = "relu", .bidirectional = bidirectional, .dtype = Dtype::f64});
    fill(plain);
    compare_with_sequences_alone(plain);
  }
}

TEST("a packed run begins with the sequences' states, jitted too") {
  nn::LSTM lstm(2, 3, {.dtype = Dtype::f64});
  fill(lstm);
  const nn::LSTM::State state{wave({1, 3, 3}), wave({1, 3, 3}, 1)};
  const auto packed = rnn::pack_padded_sequence(wave({4, 3, 2}), {2, 4, 1}, false, false);
  const auto [y, last] = lstm(packed, state);
  const auto f =
      jit([](nn::LSTM layer, rnn::PackedSequence x, nn::LSTM::State s) { return layer(x, s); }, {.fullgraph = true});
  const auto [jitted, jitted_last] = f(lstm, packed, state);
  expect_near(values(jitted.data), values(y.data), 1e-12);
  expect_near(values(std::get<1>(jitted_last)), values(std::get<1>(last)), 1e-12);
  const nn::LSTM::State own{std::get<0>(state).narrow(1, 1, 1), std::get<1>(state).narrow(1, 1, 1)};
  const auto [alone, alone_last] = lstm(wave({4, 3, 2}).narrow(1, 1, 1), own);
  expect_near(values(std::get<0>(last).select(1, 1)), values(std::get<0>(alone_last)), 1e-12);
}

TEST("lengths and sequences that do not fit are refused") {
  const Tensor x = wave({4, 3, 2});
  expect_error(
      [&] {
        rnn::pack_padded_sequence(x, {2, 4, 1});
      },
      "pack_padded_sequence: with enforce_sorted the longest sequence comes first; pass enforce_sorted = false "
      "to have them sorted");
  expect_error(
      [&] {
        rnn::pack_padded_sequence(x, {5, 4, 1});
      },
      "pack_padded_sequence: lengths must be from 1 to 4, not 5");
  expect_error(
      [&] {
        rnn::pack_padded_sequence(x, {4, 1, 0});
      },
      "pack_padded_sequence: lengths must be from 1 to 4, not 0");
  expect_error(
      [&] {
        rnn::pack_padded_sequence(x, {4, 1});
      },
      "pack_padded_sequence: 2 lengths for 3 sequences, of cpu f64[4, 3, 2]");
  expect_error(
      [&] {
        rnn::pack_padded_sequence(x, tensor({1.5, 1.0, 1.0}));
      },
      "pack_padded_sequence: lengths must be a one-dimensional tensor of integers, not cpu f32[3]");
  const auto packed = rnn::pack_padded_sequence(x, {4, 2, 1});
  expect_error([&] { rnn::pad_packed_sequence(packed, false, 0, 3); },
               "pad_packed_sequence: total_length must be at least the longest length, 4, not 3");
  expect_error([] { rnn::pad_sequence({}); }, "pad_sequence: there are no sequences");
  expect_error([] { rnn::pad_sequence({ones({2})}, false, 0, "both"); },
               "pad_sequence: padding_side must be \"right\" or \"left\", not \"both\"");
  expect_error([] { rnn::unpack_sequence({}); }, "pad_packed_sequence: the packed sequence is empty");
  const nn::GRU gru(3, 4);
  expect_error([&] { gru(packed); }, "GRU: the input's last size must be input_size = 3, not cpu f64[7, 2]");
  expect_error([&] { gru(rnn::PackedSequence()); },
               "GRU: the packed sequence is empty, or its data is not [steps, features]");
}
