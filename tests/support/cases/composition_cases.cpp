// Composite operators: piecewise linear functions, losses, tiles, diagonals, indices along a dimension, channels.
#include "support/cases/operator_cases.h"

namespace fulgurite::test {

namespace {

/// 1 and -1 by turns.
Tensor signs(std::vector<int64_t> sizes) { return booleans(std::move(sizes)).to(Dtype::f64) * 2 - 1; }

void add_tile_cases(std::vector<OperatorCase>& out) {
  const auto x = [] { return floats({2, 3}); };
  out.push_back({"torch.Tensor.repeat", {x(), {2, 1, 3}}});
  out.push_back({"torch.Tensor.repeat", {floats({}), {2}}});
  out.push_back({"torch.tile", {x(), {2}}});
  out.push_back({"torch.tile", {x(), {2, 1, 3}}});
  out.push_back({"torch.repeat_interleave", {x(), 2}});
  out.push_back({"torch.repeat_interleave", {x(), 2, 1}});
  out.push_back({"torch.repeat_interleave", {x(), integers({3}, {2, 0, 1}), 1}, {{"output_size", 3}}});
  out.push_back({"torch.roll", {x(), 2}});
  out.push_back({"torch.roll", {x(), {1, -1}, {0, 1}}});
  out.push_back({"torch.hstack", {{x(), floats({2, 1})}}});
  out.push_back({"torch.hstack", {{floats({2}), floats({})}}});
  out.push_back({"torch.vstack", {{x(), floats({3})}}});
  out.push_back({"torch.meshgrid", {{floats({2}), floats({3})}}, {{"indexing", "ij"}}});
  out.push_back({"torch.meshgrid", {{floats({2}), floats({3}), floats({})}}, {{"indexing", "xy"}}});
  out.push_back({"torch.nn.functional.pixel_shuffle", {floats({2, 8, 2, 3}), 2}});
  out.push_back({"torch.nn.functional.pixel_unshuffle", {floats({2, 4, 6}), 2}});
  out.push_back({"torch.diagonal", {floats({3, 4})}});
  out.push_back({"torch.diagonal", {floats({3, 4, 2}), 1, 2, 0}});
  out.push_back({"torch.diagonal", {floats({3, 4}), -2}});
  out.push_back({"torch.diag_embed", {x()}});
  out.push_back({"torch.diag_embed", {x(), 1, 0, 2}});
  out.push_back({"torch.diag_embed", {x(), -1}});
  out.push_back({"torch.diag", {floats({3}), 1}});
  out.push_back({"torch.diag", {floats({3, 2}), -1}});
  out.push_back({"torch.trace", {floats({3, 4})}});
}

void add_place_cases(std::vector<OperatorCase>& out) {
  const auto x = [] { return floats({3, 4}); };
  out.push_back({"torch.index_add", {x(), 0, integers({3}, {2, 0, 2}), floats({3, 4})}, {{"alpha", 2.5}}});
  out.push_back({"torch.index_add", {x(), -1, integers({2}, {1, 1}), floats({3, 2})}});
  out.push_back({"torch.index_copy", {x(), 1, integers({2}, {3, 0}), floats({3, 2})}});
  out.push_back({"torch.index_fill", {x(), 1, integers({2}, {3, 0}), 0.5}});
  out.push_back({"torch.index_fill", {x(), 0, integers({1}, {1}), floats({})}});
  out.push_back({"torch.select_scatter", {x(), floats({3}), 1, -1}});
  out.push_back({"torch.slice_scatter", {x(), floats({3, 2}), 1, 1, 3}});
  out.push_back({"torch.slice_scatter", {x(), floats({3, 2}), 1, 0, 4, 2}});
  out.push_back({"torch.take", {x(), integers({2, 2}, {0, 5, -1, 5})}});
  out.push_back({"torch.take_along_dim", {x(), integers({1, 2}, {3, 0}), 1}});
  out.push_back({"torch.take_along_dim", {x(), integers({3}, {11, 0, 5})}});
  out.push_back({"torch.count_nonzero", {constants({2, 3}), 1}});
}

void add_contraction_cases(std::vector<OperatorCase>& out) {
  out.push_back({"torch.inner", {floats({2, 3}), floats({2, 2, 3})}});
  out.push_back({"torch.inner", {floats({3}), floats({3})}});
  out.push_back({"torch.inner", {floats({}), floats({3})}});
  out.push_back({"torch.kron", {floats({2, 2}), floats({3, 1, 2})}});
  out.push_back({"torch.addmv", {floats({2}), floats({2, 3}), floats({3})}, {{"beta", 0.5}, {"alpha", 2}}});
  out.push_back({"torch.addmv", {floats({}), floats({2, 3}), floats({3})}});
  out.push_back(
      {"torch.addbmm", {floats({2, 3}), floats({2, 2, 4}), floats({2, 4, 3})}, {{"beta", 3}, {"alpha", 0.5}}});
  out.push_back({"torch.linalg.multi_dot", {{floats({2, 5}), floats({5, 2}), floats({2, 4}), floats({4})}}});
  out.push_back({"torch.linalg.multi_dot", {{floats({3}), floats({3, 2})}}});
  out.push_back({"torch.nn.functional.bilinear", {floats({4, 2}), floats({4, 3}), floats({5, 2, 3}), floats({5})}});
  out.push_back({"torch.nn.functional.bilinear", {floats({2}), floats({3}), floats({5, 2, 3})}});
}

void add_activation_cases(std::vector<OperatorCase>& out) {
  out.push_back({"torch.nn.functional.hardtanh", {floats({2, 3}), -0.5, 0.75}});
  out.push_back({"torch.nn.functional.threshold", {floats({2, 3}), 0.2, -1.5}});
  out.push_back({"torch.nn.functional.leaky_relu", {floats({2, 3}), 0.3}});
  out.push_back({"torch.nn.functional.elu", {floats({2, 3}), 0.7}});
  out.push_back({"torch.nn.functional.celu", {floats({2, 3}), 1.7}});
  out.push_back({"torch.nn.functional.softplus", {floats({2, 3}), 2, 1}});
  out.push_back({"torch.nn.functional.prelu", {floats({2, 3}), floats({3})}});
  out.push_back({"torch.nn.functional.prelu", {floats({3}), floats({})}});
  out.push_back({"torch.nn.functional.glu", {floats({2, 4})}});
  out.push_back({"torch.nn.functional.glu", {floats({4, 3}), 0}});
  out.push_back({"torch.polygamma", {1, floats({2, 3}, 0.3, 4)}});
  out.push_back({"torch.polygamma", {2, floats({3}, 0.3, 4)}});
  out.push_back({"torch.logit", {floats({2, 3}, 0.05, 0.95), 0.2}});
  out.push_back({"torch.nan_to_num", {floats({2, 3}), 1, 2, 3}});
  out.push_back({"torch.xlogy", {floats({2, 3}, 0.5, 2), 1.5}});
  out.push_back({"torch.xlogy", {1.5, floats({2, 3}, 0.5, 2)}});
  out.push_back({"torch.copysign", {floats({2, 3}), -1.5}});
  out.push_back({"torch.floor_divide", {floats({2, 3}), 0.7}});
  for (const char* op : {"torch.bitwise_left_shift", "torch.bitwise_right_shift"}) {
    out.push_back({op, {integers({4}, {1, -5, 7, 100}), integers({4}, {0, 2, 1, 63})}});
    out.push_back({op, {integers({3}, {1, -5, 7}), 3}});
  }
}

void add_loss_cases(std::vector<OperatorCase>& out) {
  using Keywords = OperatorCase::Keywords;
  const auto x = [] { return floats({3, 4}); };
  for (const Keywords& keywords : {Keywords{}, Keywords{{"reduction", "sum"}}, Keywords{{"reduction", "none"}}}) {
    out.push_back({"torch.nn.functional.smooth_l1_loss", {x(), x()}, keywords});
    out.push_back({"torch.nn.functional.huber_loss", {x(), x()}, keywords});
    Keywords weighted = keywords;
    weighted.emplace_back("weight", floats({3, 4}));
    out.push_back({"torch.nn.functional.huber_loss", {x(), x()}, weighted});
    out.push_back({"torch.nn.functional.kl_div", {x(), floats({3, 4}, 0.1, 0.9)}, keywords});
    out.push_back({"torch.nn.functional.poisson_nll_loss", {x(), floats({3, 4}, 0, 3)}, keywords});
    out.push_back({"torch.nn.functional.gaussian_nll_loss", {x(), x(), floats({3, 1}, 0.5, 2)}, keywords});
    out.push_back({"torch.nn.functional.hinge_embedding_loss", {x(), signs({3, 4})}, keywords});
    out.push_back({"torch.nn.functional.margin_ranking_loss", {x(), x(), x()}, keywords});
    out.push_back({"torch.nn.functional.triplet_margin_loss", {x(), x(), x()}, keywords});
    out.push_back(
        {"torch.nn.functional.binary_cross_entropy", {floats({3, 4}, 0.1, 0.9), floats({3, 4}, 0.1, 0.9)}, keywords});
    out.push_back({"torch.nn.functional.binary_cross_entropy_with_logits", {x(), floats({3, 4}, 0.1, 0.9)}, keywords});
  }
  out.push_back(
      {"torch.nn.functional.smooth_l1_loss", {floats({3, 4}, -0.3, 0.3), floats({3, 4}, -0.3, 0.3)}, {{"beta", 0.3}}});
  out.push_back(
      {"torch.nn.functional.huber_loss", {floats({3, 4}, -0.6, 0.6), floats({3, 4}, -0.6, 0.6)}, {{"delta", 0.6}}});
  out.push_back({"torch.nn.functional.kl_div", {x(), x()}, {{"reduction", "batchmean"}, {"log_target", true}}});
  out.push_back({"torch.nn.functional.poisson_nll_loss",
                 {floats({3, 4}, 0.5, 2), floats({3, 4}, 0, 3)},
                 {{"log_input", false}, {"full", true}}});
  out.push_back({"torch.nn.functional.gaussian_nll_loss", {x(), x(), floats({3}, 0.5, 2)}, {{"full", true}}});
  out.push_back({"torch.nn.functional.triplet_margin_loss", {x(), x(), x()}, {{"p", 3}, {"swap", true}}});
  out.push_back({"torch.nn.functional.binary_cross_entropy",
                 {floats({3, 4}, 0.1, 0.9), floats({3, 4}, 0.1, 0.9), floats({4}, 0.5, 2)}});
  out.push_back({"torch.nn.functional.binary_cross_entropy_with_logits",
                 {x(), floats({3, 4}, 0.1, 0.9), floats({4}, 0.5, 2)},
                 {{"pos_weight", floats({4}, 0.5, 2)}}});
  out.push_back({"torch.norm", {x()}});
  out.push_back({"torch.norm", {x(), 3, 1, true}});
  out.push_back({"torch.nn.functional.normalize", {x()}});
  out.push_back({"torch.nn.functional.normalize", {x(), 3, 0}});
  out.push_back({"torch.nn.functional.pairwise_distance", {x(), x(), 3}});
  out.push_back({"torch.nn.functional.pairwise_distance", {x(), floats({4})}, {{"keepdim", true}}});
  out.push_back({"torch.nn.functional.cosine_similarity", {x(), x()}});
  out.push_back({"torch.nn.functional.cosine_similarity", {floats({2, 1, 3}), floats({2, 3}), -1}});
}

void add_channel_cases(std::vector<OperatorCase>& out) {
  const auto x = [] { return floats({2, 4, 3}); };
  out.push_back(
      {"torch.nn.functional.batch_norm", {x(), constants({4}), constants({4}, 0.5, 2), floats({4}), floats({4})}});
  out.push_back({"torch.nn.functional.batch_norm", {x(), None, None, floats({4}), floats({4}), true}});
  out.push_back({"torch.nn.functional.batch_norm", {floats({3, 4}), None, None, None, None, true, 0.1, 0.3}});
  out.push_back({"torch.nn.functional.batch_norm", {floats({0, 4}), None, None, floats({4}), floats({4}), true}});
  out.push_back({"torch.nn.functional.instance_norm", {x(), None, None, floats({4}), floats({4})}});
  out.push_back(
      {"torch.nn.functional.instance_norm", {x(), constants({4}), constants({4}, 0.5, 2), None, None, false}});
  out.push_back({"torch.nn.functional.group_norm", {x(), 2, floats({4}), floats({4})}});
  out.push_back({"torch.nn.functional.group_norm", {floats({3, 4}), 2, None, None, 0.2}});
}

}  // namespace

void add_composition_cases(std::vector<OperatorCase>& out) {
  add_tile_cases(out);
  add_place_cases(out);
  add_contraction_cases(out);
  add_activation_cases(out);
  add_loss_cases(out);
  add_channel_cases(out);
}

}  // namespace fulgurite::test
