#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fulgurite/activation_layers.h>
#include <fulgurite/detail/given.h>
#include <fulgurite/packed_sequence.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

// Recurrent layers over sequences [T, N, features], [N, T, features] with batch_first, or [T, features] without a
// batch. Results and states have PyTorch's shapes and the parameters its names ("weight_ih_l0", "bias_hh_l1_reverse"
// …).

/// Options of RNN; members are given in this order.
struct RNNOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t num_layers = 1;
  std::string nonlinearity = "tanh";  // or "relu"
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // of the results of all layers but the last, while training
  bool bidirectional = false;
  std::optional<Dtype> dtype = {};
};
/// Options of LSTM; members are given in this order.
struct LSTMOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  int64_t proj_size = 0;  // above 0: results are projected to this size
  std::optional<Dtype> dtype = {};
};
/// Options of GRU; members are given in this order.
struct GRUOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  std::optional<Dtype> dtype = {};
};

/// The common part of recurrent layers: parameters, layer by layer, and sizes.
struct RecurrentLayer {
  std::vector<std::pair<std::string, Tensor>> weights;
  int64_t input_size = 0, hidden_size = 0, num_layers = 1, proj_size = 0;
  bool bias = true, batch_first = false, bidirectional = false, training = true;
  double dropout = 0;
  static void parts(auto& layer, auto&& member) {
    for (auto& [name, weight] : layer.weights) member(std::string_view(name), weight);
    member("num_layers", layer.num_layers);
    member("batch_first", layer.batch_first);
    member("bidirectional", layer.bidirectional);
    member("training", layer.training);
    member("dropout", layer.dropout);
  }

 protected:
  RecurrentLayer() = default;
  /// Draws the parameters; `gates` is how many times the hidden size the rows of weights are.
  void draw(int64_t gates, std::optional<Dtype> dtype, const char* name, SourceLocation at);
};

/// h = tanh(W_ih x + b_ih + W_hh h + b_hh)
struct RNN : RecurrentLayer {
  std::string nonlinearity = "tanh";
  RNN() = default;
  RNN(int64_t input_size, int64_t hidden_size, const RNNOptions& options = {},
      SourceLocation at = SourceLocation::here());
  /// The results of the last layer, and the last state of each layer and direction, [layers * directions, N, hidden].
  /// Without a first state it is zero.
  std::tuple<Tensor, Tensor> operator()(const Tensor& x, const Tensor& state = {},
                                        SourceLocation at = SourceLocation::here()) const;
  /// The same for sequences of unequal lengths: the state after each one's last step, in the order of the sequences.
  std::tuple<utils::rnn::PackedSequence, Tensor> operator()(const utils::rnn::PackedSequence& x,
                                                            const Tensor& state = {},
                                                            SourceLocation at = SourceLocation::here()) const;
};

/// Long short-term memory.
struct LSTM : RecurrentLayer {
  LSTM() = default;
  LSTM(int64_t input_size, int64_t hidden_size, const LSTMOptions& options = {},
       SourceLocation at = SourceLocation::here());
  using State = std::tuple<Tensor, Tensor>;
  /// The results, and the last hidden and cell states: `auto [y, state] = lstm(x); auto [h, c] = state;`.
  std::tuple<Tensor, State> operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  std::tuple<Tensor, State> operator()(const Tensor& x, const State& state,
                                       SourceLocation at = SourceLocation::here()) const;
  /// The same for sequences of unequal lengths.
  std::tuple<utils::rnn::PackedSequence, State> operator()(const utils::rnn::PackedSequence& x, const State& state = {},
                                                           SourceLocation at = SourceLocation::here()) const;
};

/// Gated recurrent units.
struct GRU : RecurrentLayer {
  GRU() = default;
  GRU(int64_t input_size, int64_t hidden_size, const GRUOptions& options = {},
      SourceLocation at = SourceLocation::here());
  std::tuple<Tensor, Tensor> operator()(const Tensor& x, const Tensor& state = {},
                                        SourceLocation at = SourceLocation::here()) const;
  /// The same for sequences of unequal lengths.
  std::tuple<utils::rnn::PackedSequence, Tensor> operator()(const utils::rnn::PackedSequence& x,
                                                            const Tensor& state = {},
                                                            SourceLocation at = SourceLocation::here()) const;
};

/// Options of cells; members are given in this order.
struct CellOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  bool bias = true;
  std::string nonlinearity = "tanh";  // of RNNCell
  std::optional<Dtype> dtype = {};
};
/// The parameters of one step of a recurrent layer.
struct RecurrentCell {
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  int64_t hidden_size = 0;
  static void parts(auto& cell, auto&& member) {
    member("weight_ih", cell.weight_ih);
    member("weight_hh", cell.weight_hh);
    member("bias_ih", cell.bias_ih);
    member("bias_hh", cell.bias_hh);
    member("hidden_size", cell.hidden_size);
  }

 protected:
  RecurrentCell() = default;
  RecurrentCell(int64_t gates, int64_t input_size, int64_t hidden_size, const CellOptions& options, SourceLocation at);
};
/// One step of RNN.
struct RNNCell : RecurrentCell {
  std::string nonlinearity = "tanh";
  RNNCell() = default;
  RNNCell(int64_t input_size, int64_t hidden_size, const CellOptions& options = {},
          SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, const Tensor& state = {}, SourceLocation at = SourceLocation::here()) const;
};
/// One step of LSTM.
struct LSTMCell : RecurrentCell {
  LSTMCell() = default;
  LSTMCell(int64_t input_size, int64_t hidden_size, const CellOptions& options = {},
           SourceLocation at = SourceLocation::here());
  std::tuple<Tensor, Tensor> operator()(const Tensor& x, SourceLocation at = SourceLocation::here()) const;
  std::tuple<Tensor, Tensor> operator()(const Tensor& x, const std::tuple<Tensor, Tensor>& state,
                                        SourceLocation at = SourceLocation::here()) const;
};
/// One step of GRU.
struct GRUCell : RecurrentCell {
  GRUCell() = default;
  GRUCell(int64_t input_size, int64_t hidden_size, const CellOptions& options = {},
          SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& x, const Tensor& state = {}, SourceLocation at = SourceLocation::here()) const;
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
