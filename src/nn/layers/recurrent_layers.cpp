// Recurrent layers, as compositions of operators: the inputs of all steps are multiplied at once, the states step by
// step.
#include <fulgurite/recurrent_layers.h>

#include <algorithm>
#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/random.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

Tensor drawn(const Dims& sizes, int64_t hidden_size, std::optional<Dtype> dtype, SourceLocation at) {
  const double bound = hidden_size > 0 ? 1 / std::sqrt(static_cast<double>(hidden_size)) : 0;
  const Tensor parameter = empty(sizes, {.dtype = dtype.value_or(default_dtype())}, at);
  fulgurite::uniform_(parameter, -bound, bound, {}, at);
  return parameter.requires_grad_();
}

struct CellState {
  Tensor hidden, cell;
};
struct CellWeights {
  Tensor input, hidden, input_bias, hidden_bias, projection;
};
/// The next state, from the inputs' part of the gates.
using Cell = CellState (*)(const Tensor& gates, const CellState&, const CellWeights&, SourceLocation);

template <bool uses_relu>
CellState rnn_cell(const Tensor& gates, const CellState& state, const CellWeights& w, SourceLocation at) {
  const Tensor recurrent = linear(state.hidden, w.hidden, w.hidden_bias, at), sum = add(gates, recurrent, 1, at);
  return {uses_relu ? relu(sum, at) : fulgurite::tanh(sum, at), {}};
}

CellState lstm_cell(const Tensor& gates, const CellState& state, const CellWeights& w, SourceLocation at) {
  const Tensor recurrent = linear(state.hidden, w.hidden, w.hidden_bias, at), all = add(gates, recurrent, 1, at);
  const std::vector<Tensor> parts = chunk(all, 4, -1, at);
  const Tensor in = fulgurite::sigmoid(parts[0], at), forget = fulgurite::sigmoid(parts[1], at),
               candidate = fulgurite::tanh(parts[2], at), out = fulgurite::sigmoid(parts[3], at);
  const Tensor kept = mul(forget, state.cell, at), cell = addcmul(kept, in, candidate, 1, at);
  const Tensor hidden = mul(out, fulgurite::tanh(cell, at), at);
  return {w.projection.defined() ? linear(hidden, w.projection, {}, at) : hidden, cell};
}

CellState gru_cell(const Tensor& gates, const CellState& state, const CellWeights& w, SourceLocation at) {
  const std::vector<Tensor> input = chunk(gates, 3, -1, at),
                            own = chunk(linear(state.hidden, w.hidden, w.hidden_bias, at), 3, -1, at);
  const Tensor reset = fulgurite::sigmoid(add(input[0], own[0], 1, at), at),
               update = fulgurite::sigmoid(add(input[1], own[1], 1, at), at);
  const Tensor candidate = fulgurite::tanh(addcmul(input[2], reset, own[2], 1, at), at);
  const Tensor difference = sub(state.hidden, candidate, 1, at);
  return {addcmul(candidate, update, difference, 1, at), {}};
}

using utils::rnn::PackedSequence;

/// A sequence run through all layers and directions of a recurrent layer.
class Run {
 public:
  Run(const RecurrentLayer& layer, Cell cell, bool has_cell_state, const char* name, SourceLocation at)
      : layer_(layer), cell_(cell), has_cell_state_(has_cell_state), name_(name), at_(at) {}

  struct Results {
    Tensor y, hidden, cell;  // cell: undefined without one
  };
  /// The results and the last hidden and cell states.
  Results operator()(const Tensor& input, const Tensor& hidden, const Tensor& cell) const {
    const Tensor x = sequence(input);
    const bool is_batch = input.ndim() == 3;
    const Tensor h = first_state(hidden, x, x.size(1), is_batch, result_size(), "hidden");
    const Tensor c = has_cell_state_ ? first_state(cell, x, x.size(1), is_batch, layer_.hidden_size, "cell") : Tensor();
    const Results all = through_layers(x, h, c);
    return {finished(all.y, is_batch), last(all.hidden, is_batch), last(all.cell, is_batch)};
  }
  /// The same for packed sequences; `y` has the rows of their data.
  Results operator()(const PackedSequence& input, const Tensor& hidden, const Tensor& cell) {
    if (!input.data.defined() || input.data.ndim() != 2 || input.batch_sizes.empty())
      throw UserError(text::cat(name_, ": the packed sequence is empty, or its data is not [steps, features]"), at_);
    check_features(input.data);
    step_sizes_ = input.batch_sizes;
    const Int count = input.batch_sizes[0];
    const Tensor h = first_state(hidden, input.data, count, true, result_size(), "hidden");
    const Tensor c =
        has_cell_state_ ? first_state(cell, input.data, count, true, layer_.hidden_size, "cell") : Tensor();
    const Tensor sorted_h = in_order(h, input.sorted_indices), sorted_c = in_order(c, input.sorted_indices);
    const Results all = through_layers(input.data, sorted_h, sorted_c);
    const Tensor last_h = in_order(all.hidden, input.unsorted_indices);
    return {all.y, last_h, in_order(all.cell, input.unsorted_indices)};
  }

 private:
  int64_t result_size() const { return layer_.proj_size > 0 ? layer_.proj_size : layer_.hidden_size; }
  /// States [layers, N, width] of the sequences that `indices` lists.
  Tensor in_order(const Tensor& state, const Tensor& indices) const {
    return state.defined() && indices.defined() ? index_select(state, 1, indices, at_) : state;
  }
  /// All layers and directions over [T, N, features], or over packed rows; states are [layers * directions, N, width].
  Results through_layers(Tensor x, const Tensor& h, const Tensor& c) const {
    const int64_t directions = layer_.bidirectional ? 2 : 1;
    std::vector<Tensor> last_hidden, last_cell;
    for (int64_t l = 0; l < layer_.num_layers; ++l) {
      std::vector<Tensor> sides;
      for (int64_t d = 0; d < directions; ++d) {
        const int64_t index = l * directions + d;
        CellState state{select(h, 0, index, at_), has_cell_state_ ? select(c, 0, index, at_) : Tensor()};
        sides.push_back(step_sizes_.empty() ? one_direction(x, weights(index), state, d == 1)
                                            : packed_direction(x, weights(index), state, d == 1));
        last_hidden.push_back(state.hidden);
        last_cell.push_back(state.cell);
      }
      x = sides.size() == 1 ? sides[0] : cat(sides, -1, at_);
      if (layer_.dropout > 0 && l + 1 < layer_.num_layers)
        x = nn::dropout(x, layer_.dropout, layer_.training, false, at_);
    }
    const Tensor hidden = stack(last_hidden, 0, at_);
    return {x, hidden, has_cell_state_ ? stack(last_cell, 0, at_) : Tensor()};
  }
  void check_features(const Tensor& x) const {
    if (x.size(-1) != layer_.input_size)
      throw UserError(
          text::cat(name_, ": the input's last size must be input_size = ", layer_.input_size, ", not ", type_text(x)),
          at_);
  }
  /// [T, N, features]
  Tensor sequence(const Tensor& x) const {
    if (!x.defined()) throw UserError(text::cat(name_, ": the input is an undefined tensor"), at_);
    if (x.ndim() != 2 && x.ndim() != 3)
      throw UserError(text::cat(name_, ": the input has 2 or 3 dimensions, not ", type_text(x)), at_);
    check_features(x);
    Tensor batch = x.ndim() == 2 ? unsqueeze(x, 1, at_) : layer_.batch_first ? transpose(x, 0, 1, at_) : x;
    if (batch.size(0) == 0) throw UserError(text::cat(name_, ": the sequence has no steps: ", type_text(x)), at_);
    return batch;
  }
  Tensor first_state(const Tensor& given, const Tensor& x, const Int& batch, bool is_batch, int64_t width,
                     const char* what) const {
    const int64_t count = layer_.num_layers * (layer_.bidirectional ? 2 : 1);
    const Shape wanted{count, batch, width};
    if (!given.defined()) return zeros(Dims(wanted), {.dtype = x.dtype(), .device = x.device()}, at_);
    Tensor state = !is_batch && given.ndim() == 2 ? unsqueeze(given, 1, at_) : given;
    if (!(state.shape() == wanted))
      throw UserError(text::cat(name_, ": the ", what, " state must have shape ",
                                is_batch ? wanted : Shape{count, width}, ", not ", type_text(given)),
                      at_);
    return state;
  }
  CellWeights weights(int64_t index) const {
    const size_t count = 2 + (layer_.bias ? 2 : 0) + (layer_.proj_size > 0 ? 1 : 0);
    const auto* const first = layer_.weights.data() + static_cast<size_t>(index) * count;
    CellWeights out{first[0].second, first[1].second, {}, {}, {}};
    if (layer_.bias) {
      out.input_bias = first[2].second;
      out.hidden_bias = first[3].second;
    }
    if (layer_.proj_size > 0) out.projection = first[count - 1].second;
    return out;
  }
  Tensor one_direction(const Tensor& x, const CellWeights& w, CellState& state, bool is_reverse) const {
    const Tensor all = linear(x, w.input, w.input_bias, at_);
    const std::vector<Tensor> gates = unbind(all, 0, at_);
    std::vector<Tensor> out(gates.size());
    for (size_t step = 0; step < gates.size(); ++step) {
      const size_t t = is_reverse ? gates.size() - 1 - step : step;
      state = cell_(gates[t], state, w, at_);
      out[t] = state.hidden;
    }
    return stack(out, 0, at_);
  }
  /// The rows of a state from `first` on, `count` of them.
  CellState rows(const CellState& state, int64_t first, int64_t count) const {
    const Tensor hidden = narrow(state.hidden, 0, first, count, at_);
    return {hidden, has_cell_state_ ? narrow(state.cell, 0, first, count, at_) : Tensor()};
  }
  CellState joined(const CellState& a, const CellState& b) const {
    const Tensor hidden = cat({a.hidden, b.hidden}, 0, at_);
    return {hidden, has_cell_state_ ? cat({a.cell, b.cell}, 0, at_) : Tensor()};
  }
  /// Over packed rows: a step has the rows of the sequences that reach it. Forward, the states of those that have ended
  /// are kept; in reverse, those that begin get their first states. At the end `state` has the last states of all.
  Tensor packed_direction(const Tensor& x, const CellWeights& w, CellState& state, bool is_reverse) const {
    const Tensor all = linear(x, w.input, w.input_bias, at_);
    const std::vector<Tensor> gates = split(all, step_sizes_, 0, at_);
    std::vector<Tensor> out(gates.size());
    const CellState first = state;
    std::vector<CellState> ended;  // the shortest first
    int64_t running = is_reverse ? step_sizes_.back() : step_sizes_[0];
    state = rows(first, 0, running);
    for (size_t step = 0; step < gates.size(); ++step) {
      const size_t t = is_reverse ? gates.size() - 1 - step : step;
      const int64_t size = step_sizes_[t];
      if (size < running) {
        ended.push_back(rows(state, size, running - size));
        state = rows(state, 0, size);
      } else if (size > running) {
        state = joined(state, rows(first, running, size - running));
      }
      running = size;
      state = cell_(gates[t], state, w, at_);
      out[t] = state.hidden;
    }
    while (!ended.empty()) {
      state = joined(state, ended.back());
      ended.pop_back();
    }
    return cat(out, 0, at_);
  }
  Tensor finished(const Tensor& x, bool is_batch) const {
    return !is_batch ? squeeze(x, 1, at_) : layer_.batch_first ? transpose(x, 0, 1, at_) : x;
  }
  Tensor last(const Tensor& states, bool is_batch) const {
    return is_batch || !states.defined() ? states : squeeze(states, 1, at_);
  }

  const RecurrentLayer& layer_;
  Cell cell_;
  bool has_cell_state_;
  const char* name_;
  SourceLocation at_;
  std::vector<int64_t> step_sizes_;  // of a packed sequence
};

Tensor zero_state(const Tensor& x, int64_t hidden_size, SourceLocation at) {
  Shape shape = x.shape();
  shape[shape.size() - 1] = hidden_size;
  return zeros(Dims(shape), {.dtype = x.dtype(), .device = x.device()}, at);
}

CellState cell_step(Cell step, const RecurrentCell& cell, const Tensor& x, const Tensor& hidden, const Tensor& memory,
                    const char* name, SourceLocation at) {
  if (!x.defined() || (x.ndim() != 1 && x.ndim() != 2))
    throw UserError(
        text::cat(name, ": the input has 1 or 2 dimensions, not ", x.defined() ? type_text(x) : "undefined"), at);
  const CellState state{hidden.defined() ? hidden : zero_state(x, cell.hidden_size, at),
                        memory.defined() ? memory : zero_state(x, cell.hidden_size, at)};
  const CellWeights w{cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh, {}};
  return step(linear(x, w.input, w.input_bias, at), state, w, at);
}

bool is_relu(const std::string& nonlinearity, const char* name, SourceLocation at) {
  if (nonlinearity != "tanh" && nonlinearity != "relu")
    throw UserError(text::cat(name, ": nonlinearity must be \"tanh\" or \"relu\", not \"", nonlinearity, "\""), at);
  return nonlinearity == "relu";
}

PackedSequence with_data(const PackedSequence& x, const Tensor& data) {
  return {data, x.batch_sizes, x.sorted_indices, x.unsorted_indices};
}

template <class Options>
void set_options(RecurrentLayer& layer, int64_t input_size, int64_t hidden_size, const Options& options) {
  layer.input_size = input_size;
  layer.hidden_size = hidden_size;
  layer.num_layers = options.num_layers;
  layer.bias = options.bias;
  layer.batch_first = options.batch_first;
  layer.dropout = options.dropout;
  layer.bidirectional = options.bidirectional;
}

}  // namespace

void RecurrentLayer::draw(int64_t gates, std::optional<Dtype> dtype, const char* name, SourceLocation at) {
  if (num_layers < 1 || hidden_size < 1 || input_size < 1)
    throw UserError(text::cat(name, ": input_size, hidden_size and num_layers must be positive"), at);
  if (!(dropout >= 0 && dropout <= 1))
    throw UserError(text::cat(name, ": dropout must be from 0 to 1, not ", dropout), at);
  if (proj_size < 0 || (proj_size > 0 && proj_size >= hidden_size))
    throw UserError(text::cat(name, ": proj_size must be below hidden_size = ", hidden_size, ", not ", proj_size), at);
  const int64_t result = proj_size > 0 ? proj_size : hidden_size, directions = bidirectional ? 2 : 1;
  for (int64_t l = 0; l < num_layers; ++l)
    for (int64_t d = 0; d < directions; ++d) {
      const std::string suffix = text::cat("_l", l, d == 1 ? "_reverse" : "");
      const auto add = [&](const char* weight, const Dims& sizes) {
        weights.emplace_back(weight + suffix, drawn(sizes, hidden_size, dtype, at));
      };
      add("weight_ih", {gates * hidden_size, l == 0 ? input_size : result * directions});
      add("weight_hh", {gates * hidden_size, result});
      if (bias) add("bias_ih", {gates * hidden_size});
      if (bias) add("bias_hh", {gates * hidden_size});
      if (proj_size > 0) add("weight_hr", {proj_size, hidden_size});
    }
}

RNN::RNN(int64_t input_size, int64_t hidden_size, const RNNOptions& options, SourceLocation at)
    : nonlinearity(options.nonlinearity) {
  is_relu(nonlinearity, "RNN", at);
  set_options(*this, input_size, hidden_size, options);
  draw(1, options.dtype, "RNN", at);
}
std::tuple<Tensor, Tensor> RNN::operator()(const Tensor& x, const Tensor& state, SourceLocation at) const {
  const Cell cell = is_relu(nonlinearity, "RNN", at) ? rnn_cell<true> : rnn_cell<false>;
  const auto [y, h, c] = Run(*this, cell, false, "RNN", at)(x, state, {});
  return {y, h};
}
std::tuple<PackedSequence, Tensor> RNN::operator()(const PackedSequence& x, const Tensor& state,
                                                   SourceLocation at) const {
  const Cell cell = is_relu(nonlinearity, "RNN", at) ? rnn_cell<true> : rnn_cell<false>;
  const auto [y, h, c] = Run(*this, cell, false, "RNN", at)(x, state, {});
  return {with_data(x, y), h};
}

LSTM::LSTM(int64_t input_size, int64_t hidden_size, const LSTMOptions& options, SourceLocation at) {
  set_options(*this, input_size, hidden_size, options);
  proj_size = options.proj_size;
  draw(4, options.dtype, "LSTM", at);
}
std::tuple<Tensor, LSTM::State> LSTM::operator()(const Tensor& x, SourceLocation at) const {
  return (*this)(x, State(), at);
}
std::tuple<Tensor, LSTM::State> LSTM::operator()(const Tensor& x, const State& state, SourceLocation at) const {
  const auto [y, h, c] = Run(*this, lstm_cell, true, "LSTM", at)(x, std::get<0>(state), std::get<1>(state));
  return {y, State(h, c)};
}
std::tuple<PackedSequence, LSTM::State> LSTM::operator()(const PackedSequence& x, const State& state,
                                                         SourceLocation at) const {
  const auto [y, h, c] = Run(*this, lstm_cell, true, "LSTM", at)(x, std::get<0>(state), std::get<1>(state));
  return {with_data(x, y), State(h, c)};
}

GRU::GRU(int64_t input_size, int64_t hidden_size, const GRUOptions& options, SourceLocation at) {
  set_options(*this, input_size, hidden_size, options);
  draw(3, options.dtype, "GRU", at);
}
std::tuple<Tensor, Tensor> GRU::operator()(const Tensor& x, const Tensor& state, SourceLocation at) const {
  const auto [y, h, c] = Run(*this, gru_cell, false, "GRU", at)(x, state, {});
  return {y, h};
}
std::tuple<PackedSequence, Tensor> GRU::operator()(const PackedSequence& x, const Tensor& state,
                                                   SourceLocation at) const {
  const auto [y, h, c] = Run(*this, gru_cell, false, "GRU", at)(x, state, {});
  return {with_data(x, y), h};
}

RecurrentCell::RecurrentCell(int64_t gates, int64_t input_size, int64_t width, const CellOptions& options,
                             SourceLocation at)
    : weight_ih(drawn({gates * width, input_size}, width, options.dtype, at)),
      weight_hh(drawn({gates * width, width}, width, options.dtype, at)),
      hidden_size(width) {
  if (!options.bias) return;
  bias_ih = drawn({gates * width}, width, options.dtype, at);
  bias_hh = drawn({gates * width}, width, options.dtype, at);
}

RNNCell::RNNCell(int64_t input_size, int64_t width, const CellOptions& options, SourceLocation at)
    : RecurrentCell(1, input_size, width, options, at), nonlinearity(options.nonlinearity) {
  is_relu(nonlinearity, "RNNCell", at);
}
Tensor RNNCell::operator()(const Tensor& x, const Tensor& state, SourceLocation at) const {
  const Cell step = is_relu(nonlinearity, "RNNCell", at) ? rnn_cell<true> : rnn_cell<false>;
  return cell_step(step, *this, x, state, {}, "RNNCell", at).hidden;
}

LSTMCell::LSTMCell(int64_t input_size, int64_t width, const CellOptions& options, SourceLocation at)
    : RecurrentCell(4, input_size, width, options, at) {}
std::tuple<Tensor, Tensor> LSTMCell::operator()(const Tensor& x, SourceLocation at) const {
  return (*this)(x, std::tuple<Tensor, Tensor>(), at);
}
std::tuple<Tensor, Tensor> LSTMCell::operator()(const Tensor& x, const std::tuple<Tensor, Tensor>& state,
                                                SourceLocation at) const {
  const CellState next = cell_step(lstm_cell, *this, x, std::get<0>(state), std::get<1>(state), "LSTMCell", at);
  return {next.hidden, next.cell};
}

GRUCell::GRUCell(int64_t input_size, int64_t width, const CellOptions& options, SourceLocation at)
    : RecurrentCell(3, input_size, width, options, at) {}
Tensor GRUCell::operator()(const Tensor& x, const Tensor& state, SourceLocation at) const {
  return cell_step(gru_cell, *this, x, state, {}, "GRUCell", at).hidden;
}

}  // namespace fulgurite::nn
