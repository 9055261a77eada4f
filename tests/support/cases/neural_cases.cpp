// Matmuls, normalisations, losses, attention and other parts of networks.
#include <cmath>

#include "support/cases/operator_cases.h"

namespace fulgurite::test {

namespace {

void add_matmul_cases(std::vector<OperatorCase>& out) {
  const auto product = [&](std::vector<int64_t> a, std::vector<int64_t> b) {
    out.push_back({"torch.matmul", {floats(std::move(a)), floats(std::move(b))}});
  };
  product({2, 3}, {3, 4});
  product({3}, {3});
  product({2, 3}, {3});
  product({3}, {3, 2});
  product({2, 2, 3}, {3, 2});
  product({2, 1, 2, 3}, {3, 3, 2});
  product({3}, {2, 3, 2});
  product({2, 2, 3}, {3});
  product({2, 0}, {0, 3});
  product({0, 3}, {3, 2});
  out.push_back({"torch.mm", {floats({2, 3}), floats({3, 4})}});
  out.push_back({"torch.bmm", {floats({2, 2, 3}), floats({2, 3, 2})}});
  out.push_back({"torch.mv", {floats({2, 3}), floats({3})}});
  out.push_back({"torch.dot", {floats({4}), floats({4})}});
  out.push_back({"torch.outer", {floats({2}), floats({3})}});
  out.push_back({"torch.addmm", {floats({3}), floats({2, 4}), floats({4, 3})}, {{"beta", 0.5}, {"alpha", 2}}});
  out.push_back({"torch.addmm", {floats({2, 3}), floats({2, 4}), floats({4, 3})}});
  out.push_back(
      {"torch.baddbmm", {floats({2, 1, 2}), floats({2, 3, 2}), floats({2, 2, 2})}, {{"beta", 3}, {"alpha", 0.5}}});
  out.push_back({"torch.nn.functional.linear", {floats({4, 3}), floats({2, 3}), floats({2})}});
  out.push_back({"torch.nn.functional.linear", {floats({2, 2, 3}), floats({2, 3}), None}});
  out.push_back({"torch.nn.functional.linear", {floats({3}), floats({2, 3}), floats({2})}});
  out.push_back({"torch.nn.functional.linear", {floats({0, 3}), floats({2, 3})}});
  out.push_back({"torch.nn.functional.linear", {floats({2, 2, 3}), floats({3})}});
  out.push_back({"torch.nn.functional.linear", {floats({3}), floats({3}), floats({})}});
}

void add_normalization_cases(std::vector<OperatorCase>& out) {
  const auto x = [] { return floats({2, 3, 4}); };
  out.push_back({"torch.nn.functional.layer_norm", {x(), {4}, floats({4}), floats({4})}});
  out.push_back({"torch.nn.functional.layer_norm", {x(), {3, 4}, floats({3, 4})}});
  out.push_back({"torch.nn.functional.layer_norm", {x(), {4}, None, None, 0.1}});
  out.push_back({"torch.nn.functional.rms_norm", {x(), {4}, floats({4})}});
  out.push_back({"torch.nn.functional.rms_norm", {x(), {3, 4}, None, 0.01}});
  out.push_back({"prims.layer_norm", {x(), {4}, floats({4}), floats({4}), 1e-5}});
  out.push_back({"prims.layer_norm", {x(), {3, 4}, None, None, 0.1}});
  out.push_back(
      {"prims.layer_norm_backward", {x(), x(), floats({2, 3, 1}), floats({2, 3, 1}, 0.5, 2), floats({4}), {4}}});
  out.push_back({"prims.layer_norm_backward", {x(), x(), floats({2, 1, 1}), floats({2, 1, 1}, 0.5, 2), None, {3, 4}}});
  for (const char* op : {"torch.softmax", "torch.log_softmax"}) {
    out.push_back({op, {x(), -1}});
    out.push_back({op, {x(), 1}});
    out.push_back({op, {floats({2, 3}), 0, Dtype::f64}});
    out.push_back({op, {floats({}), 0}});
  }
  for (const char* op : {"prims.softmax_backward", "prims.log_softmax_backward"}) {
    out.push_back({op, {floats({2, 3}), floats({2, 3}, 0.1, 0.9), -1}});
    out.push_back({op, {floats({2, 3, 2}), floats({2, 3, 2}, 0.1, 0.9), 1}});
  }
}

void add_loss_cases(std::vector<OperatorCase>& out) {
  using Keywords = OperatorCase::Keywords;
  const auto scores = [] { return floats({4, 3}); };
  const auto targets = [] { return integers({4}, {2, 0, 1, 1}); };
  const std::vector<Keywords> options = {{},
                                         {{"reduction", "sum"}},
                                         {{"reduction", "none"}, {"ignore_index", 1}},
                                         {{"weight", constants({3}, 0.2, 2)}, {"ignore_index", 0}}};
  for (const Keywords& keywords : options) {
    out.push_back({"torch.nn.functional.nll_loss", {scores(), targets()}, keywords});
    out.push_back({"torch.nn.functional.cross_entropy", {scores(), targets()}, keywords});
  }
  // PyTorch has no gradient of a weight.
  for (const char* op : {"torch.nn.functional.nll_loss", "torch.nn.functional.cross_entropy"})
    for (const char* reduction : {"mean", "sum", "none"})
      out.push_back(OperatorCase(op, {scores(), targets()},
                                 {{"weight", floats({3}, 0.2, 2)}, {"ignore_index", 0}, {"reduction", reduction}})
                        .without_pytorch());
  out.push_back({"torch.nn.functional.cross_entropy", {scores(), targets()}, {{"label_smoothing", 0.1}}});
  out.push_back({"torch.nn.functional.cross_entropy", {scores(), floats({4, 3}, 0.1, 0.9)}});
  out.push_back({"torch.nn.functional.cross_entropy", {floats({2, 3, 2}), integers({2, 2}, {2, 0, 1, 1})}});
  out.push_back({"torch.nn.functional.nll_loss", {floats({3}), integers({}, {1})}});
  out.push_back({"torch.nn.functional.nll_loss",
                 {floats({2, 3, 2}), integers({2, 2}, {2, 0, 1, 1})},
                 {{"weight", constants({3}, 0.2, 2)}, {"ignore_index", 0}}});
  out.push_back({"torch.nn.functional.cross_entropy",
                 {scores(), targets()},
                 {{"label_smoothing", 0.2}, {"weight", constants({3}, 0.2, 2)}, {"ignore_index", 1}}});
  out.push_back({"torch.nn.functional.cross_entropy",
                 {scores(), floats({4, 3}, 0.1, 0.9)},
                 {{"label_smoothing", 0.2}, {"weight", constants({3}, 0.2, 2)}, {"reduction", "sum"}}});
  out.push_back({"prims.nll_loss_backward", {floats({4}), targets(), None, 3, -100, "none"}});
  out.push_back({"prims.nll_loss_backward", {floats({}), targets(), constants({3}, 0.2, 2), 3, 1, "mean"}});
  out.push_back({"prims.nll_loss_backward", {floats({}), targets(), floats({3}, 0.2, 2), 3, 1, "mean"}});
  for (const char* op : {"torch.nn.functional.mse_loss", "torch.nn.functional.l1_loss"}) {
    out.push_back({op, {scores(), floats({4, 3})}});
    out.push_back({op, {scores(), floats({4, 3})}, {{"reduction", "sum"}}});
    out.push_back({op, {scores(), floats({4, 3})}, {{"reduction", "none"}}});
  }
}

void add_attention_cases(std::vector<OperatorCase>& out) {
  const char* op = "torch.nn.functional.scaled_dot_product_attention";
  const auto heads = [](int64_t length, int64_t width) { return floats({1, 2, length, width}, -1, 1); };
  out.push_back({op, {heads(3, 2), heads(3, 2), heads(3, 2)}});
  out.push_back({op, {heads(3, 2), heads(3, 2), heads(3, 4)}, {{"is_causal", true}}});
  out.push_back({op, {heads(2, 2), heads(3, 2), heads(3, 2)}, {{"attn_mask", floats({2, 3})}, {"scale", 0.3}}});
  out.push_back({op, {heads(2, 2), heads(3, 2), heads(3, 2)}, {{"attn_mask", booleans({2, 3})}}});
  const double infinity = HUGE_VAL;  // the second query sees nothing
  const auto closed = [&] {
    return tensor(std::vector<double>{0.3, -infinity, 0.1, -infinity, -infinity, -infinity})
        .reshape({2, 3})
        .requires_grad_();
  };
  out.push_back({op, {heads(2, 2), heads(3, 2), heads(3, 2)}, {{"attn_mask", closed()}}});
  out.push_back({op, {heads(2, 2), heads(3, 2), heads(3, 2)}, {{"is_causal", true}}});
  out.push_back({op, {heads(2, 2), floats({2, 1, 3, 2}), floats({2, 2, 3, 2})}});
  out.push_back({op, {heads(2, 2), floats({1, 1, 3, 2}), floats({1, 1, 3, 2})}, {{"enable_gqa", true}}});
  out.push_back({op, {heads(3, 2), heads(3, 2), heads(3, 2)}, {{"dropout_p", 0.4}}});
  out.push_back({"prims.scaled_dot_product_attention", {heads(3, 2), heads(3, 2), heads(3, 2), None, true, 0.7}});
  out.push_back(
      {"prims.scaled_dot_product_attention", {heads(2, 2), heads(3, 2), heads(3, 2), floats({2, 3}), false, 0.7}});
  const auto shared = [](int64_t length, int64_t width) { return floats({1, 1, length, width}, -1, 1); };
  out.push_back({"prims.scaled_dot_product_attention", {heads(3, 2), shared(3, 2), shared(3, 4), None, true, 0.7}});
  op = "prims.scaled_dot_product_attention_backward";
  const auto sums = [](int64_t length) { return floats({1, 2, length}, -1, 1); };
  for (const bool is_causal : {false, true})
    out.push_back({op, {heads(3, 2), heads(3, 2), heads(3, 2), heads(3, 2), sums(3), None, is_causal, 0.7}});
  out.push_back({op, {heads(2, 4), heads(2, 2), heads(3, 2), heads(3, 4), sums(2), floats({2, 3}), false, 0.7}});
  out.push_back({op, {heads(2, 2), heads(2, 2), heads(3, 2), heads(3, 2), sums(2), closed(), false, 0.7}});
  out.push_back({op, {heads(3, 4), heads(3, 2), shared(3, 2), shared(3, 4), sums(3), None, true, 0.7}});
}

}  // namespace

void add_neural_cases(std::vector<OperatorCase>& out) {
  add_matmul_cases(out);
  add_normalization_cases(out);
  add_loss_cases(out);
  add_attention_cases(out);
  out.push_back({"torch.nn.functional.embedding", {integers({2, 3}, {0, 4, 1, 1, 3, 0}), floats({5, 2})}});
  out.push_back(
      OperatorCase("torch.nn.functional.embedding", {integers({3}, {0, 4, 1}), floats({5, 2})}, {{"padding_idx", 1}})
          .with_gradients({{1, 1, 0, 0, 0, 0, 0, 0, 1, 1}}));
  out.push_back({"torch.nn.functional.embedding", {integers({}, {2}), floats({5, 2})}});
  out.push_back(OperatorCase("torch.nn.functional.embedding", {integers({2, 3}, {0, 4, 1, 1, 3, 0}), floats({5, 2})},
                             {{"padding_idx", 4}, {"scale_grad_by_freq", true}})
                    .with_gradients({{1, 1, 1, 1, 0, 0, 1, 1, 0, 0}}));
  out.push_back({"prims.embedding_backward", {floats({3, 2}), integers({3}, {0, 4, 0}), 5, -1}});
  out.push_back({"prims.embedding_backward", {floats({2, 2, 2}), integers({2, 2}, {0, 4, 1, 4}), 5, 1}});
  out.push_back({"torch.nn.functional.dropout", {floats({3, 5})}});
  out.push_back({"torch.nn.functional.dropout", {floats({3, 5}), 0.2}});
  out.push_back({"torch.nn.functional.dropout", {floats({3}), 0.2, false}});
  const auto moments = [] { return constants({3, 2}, 0, 1); };
  const Tensor step = tensor(3.0), rate = tensor(0.01);
  out.push_back({"prims.adamw", {moments(), moments(), moments(), moments(), step, rate, 0.9, 0.99, 1e-8, 0.1}});
}

}  // namespace fulgurite::test
