// What the operators that are made of others say about arguments they cannot take.
#include <fulgurite/fulgurite.h>

#include "support/operator_cases.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// The first line of what each call says, below one another.
std::string messages(const std::vector<OperatorCase>& calls) {
  std::string out;
  for (const OperatorCase& c : calls) {
    try {
      c.run(c.inputs());
      out += c.name + " has an answer\n";
    } catch (const UserError& error) {
      const std::string text = error.what();
      out += text.substr(0, text.find('\n')) + "\n";
    }
  }
  return out;
}

Tensor f(std::vector<int64_t> sizes) { return zeros(Shape(sizes)); }
Tensor i(std::vector<int64_t> sizes) { return zeros(Shape(sizes), {.dtype = Dtype::i64}); }
Tensor b(std::vector<int64_t> sizes) { return zeros(Shape(sizes), {.dtype = Dtype::boolean}); }
std::string functional(const char* name) { return std::string("torch.nn.functional.") + name; }

}  // namespace

TEST("activations say what they cannot take") {
  std::vector<OperatorCase> calls;
  for (const char* name : {"hardsigmoid", "hardswish", "hardshrink", "softshrink", "leaky_relu", "elu", "celu", "selu",
                           "softplus", "mish", "logsigmoid", "glu"})
    calls.push_back({functional(name), {i({2})}});
  for (const char* name : {"hardtanh", "relu6"}) calls.push_back({functional(name), {b({2})}});
  calls.push_back({functional("threshold"), {b({2}), 0, 0}});
  calls.push_back({functional("hardtanh"), {f({2}), 1, 0}});
  calls.push_back({functional("softshrink"), {f({2}), -1}});
  calls.push_back({functional("celu"), {f({2}), 0}});
  calls.push_back({functional("glu"), {f({3})}});
  calls.push_back({functional("glu"), {f({2}), 1}});
  calls.push_back({functional("glu"), {f({})}});
  calls.push_back({functional("prelu"), {i({2}), i({})}});
  calls.push_back({functional("prelu"), {f({2, 3}), f({2})}});
  calls.push_back({functional("prelu"), {f({2, 3}), f({1, 3})}});
  calls.push_back({functional("threshold"), {f({2})}});
  expect_text(messages(calls), "");
}

TEST("pointwise compositions say what they cannot take") {
  expect_text(messages({
                  {"torch.polygamma", {-1, f({2})}},
                  {"torch.frac", {i({2})}},
                  {"torch.heaviside", {f({2}), i({2})}},
                  {"torch.hypot", {i({2}), i({2})}},
                  {"torch.hypot", {f({2}), f({3})}},
                  {"torch.logaddexp", {i({2}), i({2})}},
                  {"torch.fmax", {f({2}), f({3})}},
                  {"torch.copysign", {f({2}), f({3})}},
                  {"torch.xlogy", {f({2}), f({3})}},
                  {"torch.bitwise_left_shift", {b({2}), b({2})}},
                  {"torch.bitwise_left_shift", {f({2}), 1}},
                  {"torch.bitwise_right_shift", {i({2}), 1.5}},
                  {"torch.floor_divide", {i({2}), 0}},
                  {"torch.floor_divide", {i({2}), i({2})}},
              }),
              "");
}

TEST("losses say what they cannot take") {
  std::vector<OperatorCase> calls;
  for (const char* name : {"smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss", "hinge_embedding_loss", "binary_cross_entropy",
                           "binary_cross_entropy_with_logits"}) {
    calls.push_back({functional(name), {f({2}), f({2})}, {{"reduction", "median"}}});
    calls.push_back({functional(name), {f({2}), f({3})}});
  }
  for (const char* name : {"gaussian_nll_loss", "margin_ranking_loss", "triplet_margin_loss"})
    calls.push_back({functional(name), {f({2}), f({2}), f({2})}, {{"reduction", "median"}}});
  calls.push_back({functional("smooth_l1_loss"), {f({2}), f({2})}, {{"beta", -1}}});
  calls.push_back({functional("huber_loss"), {f({2}), f({2})}, {{"delta", 0}}});
  calls.push_back({functional("gaussian_nll_loss"), {f({2, 3}), f({2, 3}), f({3})}});
  calls.push_back({functional("gaussian_nll_loss"), {f({2}), f({2}), f({2})}, {{"eps", 0}}});
  calls.push_back({functional("gaussian_nll_loss"), {f({2}), f({2}), f({2}) - 1}});
  calls.push_back({functional("margin_ranking_loss"), {f({2}), f({2}), f({2, 2})}});
  calls.push_back({functional("triplet_margin_loss"), {f({2}), f({2}), f({2})}, {{"margin", 0}}});
  calls.push_back({functional("triplet_margin_loss"), {f({2, 3}), f({2, 4}), f({2, 3})}});
  calls.push_back({functional("binary_cross_entropy"), {f({2}) + 2, f({2})}});
  calls.push_back({functional("pairwise_distance"), {f({2, 3}), f({2, 4})}});
  calls.push_back({functional("cosine_similarity"), {f({2, 3}), f({2, 4})}});
  calls.push_back({functional("cosine_similarity"), {f({2, 3}), f({2, 3}), 2}});
  calls.push_back({functional("normalize"), {f({2, 3}), 2.0, 2}});
  calls.push_back({functional("normalize"), {i({2, 3})}});
  calls.push_back({"torch.norm", {i({2})}});
  calls.push_back({"torch.norm", {f({2}), 2.0, 1}});
  expect_text(messages(calls), "");
}

TEST("tiles and diagonals say what they cannot take") {
  expect_text(messages({
                  {"torch.Tensor.repeat", {f({2, 3}), {2}}},
                  {"torch.Tensor.repeat", {f({2, 3}), {2, -1}}},
                  {"torch.Tensor.repeat", {f({2, 3}), {int64_t{1} << 40, int64_t{1} << 40}}},
                  {"torch.tile", {f({2, 3}), {-2}}},
                  {"torch.repeat_interleave", {f({2}), -1}},
                  {"torch.repeat_interleave", {f({2}), i({3})}},
                  {"torch.repeat_interleave", {f({2}), f({2})}},
                  {"torch.repeat_interleave", {f({2}), i({2, 1}), 0}},
                  {"torch.repeat_interleave", {f({2}), i({2}) - 1, 0}},
                  {"torch.repeat_interleave", {f({2}), i({2}) + 1, 0}, {{"output_size", 3}}},
                  {"torch.repeat_interleave", {f({2}), 2, 1}},
                  {"torch.roll", {f({2, 3}), {1, 2}}},
                  {"torch.roll", {f({2, 3}), {1, 2}, 0}},
                  {"torch.roll", {f({2, 3}), 1, 2}},
                  {"torch.hstack", {std::vector<Tensor>{}}},
                  {"torch.hstack", {{f({2, 3}), f({3, 3})}}},
                  {"torch.vstack", {std::vector<Tensor>{}}},
                  {"torch.vstack", {{f({2, 3}), f({2})}}},
                  {"torch.meshgrid", {{f({2, 3})}}},
                  {"torch.meshgrid", {{f({2})}}, {{"indexing", "yx"}}},
                  {"torch.meshgrid", {{f({2}), i({2})}}},
                  {"torch.nn.functional.pixel_shuffle", {f({2, 2}), 2}},
                  {"torch.nn.functional.pixel_shuffle", {f({6, 2, 2}), 2}},
                  {"torch.nn.functional.pixel_shuffle", {f({6, 2, 2}), 0}},
                  {"torch.nn.functional.pixel_unshuffle", {f({6, 2, 3}), 2}},
                  {"torch.nn.functional.pixel_unshuffle", {f({6, 2, 3}), -1}},
                  {"torch.diagonal", {f({3})}},
                  {"torch.diagonal", {f({3, 3}), 0, 1, -1}},
                  {"torch.diagonal", {f({3, 3}), 0, 0, 2}},
                  {"torch.diag_embed", {f({})}},
                  {"torch.diag_embed", {f({3}), 0, 0, 0}},
                  {"torch.diag", {f({2, 2, 2})}},
                  {"torch.diag", {f({})}},
                  {"torch.trace", {f({3})}},
              }),
              "");
}

TEST("writes at places say what they cannot take") {
  const Tensor x = f({3, 4});
  expect_text(messages({
                  {"torch.index_add", {x, 2, i({1}), f({1, 4})}},
                  {"torch.index_add", {x, 0, f({1}), f({1, 4})}},
                  {"torch.index_add", {x, 0, i({1, 1}), f({1, 4})}},
                  {"torch.index_add", {x, 0, i({2}), f({1, 4})}},
                  {"torch.index_add", {x, 0, i({1}), i({1, 4})}},
                  {"torch.index_add", {x, 0, i({1}) + 3, f({1, 4})}},
                  {"torch.index_add", {x, 0, i({1}) - 4, f({1, 4})}},
                  {"torch.index_copy", {x, 0, i({1}), f({1, 3})}},
                  {"torch.index_copy", {x, 1, i({1}) + 4, f({3, 1})}},
                  {"torch.index_fill", {x, 0, i({1}), f({1})}},
                  {"torch.index_fill", {x, 0, i({1}) + 3, 1}},
                  {"torch.index_fill", {x, 0, b({3}), 1}},
                  {"torch.select_scatter", {x, f({3}), 0, 0}},
                  {"torch.select_scatter", {x, f({4}), 0, 3}},
                  {"torch.select_scatter", {f({}), f({}), 0, 0}},
                  {"torch.slice_scatter", {x, f({1, 4}), 0, 0, 2}},
                  {"torch.slice_scatter", {x, f({1, 4}), 0, 0, 1, 0}},
                  {"torch.slice_scatter", {x, f({1, 4}), 2, 0, 1}},
                  {"torch.slice_scatter", {f({}), f({})}},
                  {"torch.take", {x, f({1})}},
                  {"torch.take", {x, i({1}) + 12}},
                  {"torch.take", {x, i({1}) - 13}},
                  {"torch.take", {f({0}), i({1})}},
                  {"torch.take_along_dim", {x, i({3}), 0}},
                  {"torch.take_along_dim", {x, i({2, 3}), 1}},
                  {"torch.take_along_dim", {x, i({1, 4}) + 3, 0}},
                  {"torch.take_along_dim", {x, f({1, 4}), 0}},
                  {"torch.count_nonzero", {x, 2}},
              }),
              "");
}

TEST("contractions and normalizations of channels say what they cannot take") {
  expect_text(messages({
                  {"torch.inner", {f({2, 3}), f({4})}},
                  {"torch.addmv", {f({2}), f({2, 3}), f({2})}},
                  {"torch.addmv", {f({3}), f({2, 3}), f({3})}},
                  {"torch.addmv", {f({2}), f({2}), f({2})}},
                  {"torch.addbmm", {f({2, 2}), f({2, 3}), f({2, 3, 2})}},
                  {"torch.addbmm", {f({2, 2}), f({1, 2, 3}), f({2, 3, 2})}},
                  {"torch.addbmm", {f({3, 2}), f({2, 2, 3}), f({2, 3, 2})}},
                  {"torch.linalg.multi_dot", {{f({2, 2})}}},
                  {"torch.linalg.multi_dot", {{f({2, 3}), f({2, 3})}}},
                  {"torch.linalg.multi_dot", {{f({2, 3}), f({3}), f({3, 2})}}},
                  {"torch.linalg.multi_dot", {{f({2, 3}), i({3, 2})}}},
                  {"torch.nn.functional.bilinear", {f({4, 2}), f({4, 3}), f({5, 2})}},
                  {"torch.nn.functional.bilinear", {f({4, 2}), f({3, 3}), f({5, 2, 3})}},
                  {"torch.nn.functional.bilinear", {f({4, 2}), f({4, 3}), f({5, 3, 2})}},
                  {"torch.nn.functional.bilinear", {f({4, 2}), f({4, 3}), f({5, 2, 3}), f({4})}},
                  {"torch.nn.functional.batch_norm", {f({2, 3}), None, None}},
                  {"torch.nn.functional.batch_norm", {f({2, 3}), f({2}), f({3})}},
                  {"torch.nn.functional.batch_norm", {f({2, 3}), f({3}), f({3}), f({2})}},
                  {"torch.nn.functional.batch_norm", {f({1, 3}), None, None, None, None, true}},
                  {"torch.nn.functional.batch_norm", {f({2, 3}), f({2}), None, None, None, true}},
                  {"torch.nn.functional.batch_norm", {i({2, 3}), None, None, None, None, true}},
                  {"torch.nn.functional.batch_norm", {f({3}), None, None, None, None, true}},
                  {"torch.nn.functional.instance_norm", {f({2, 3})}},
                  {"torch.nn.functional.instance_norm", {f({2, 3, 1})}},
                  {"torch.nn.functional.instance_norm", {f({2, 3, 4}), None, None, None, None, false}},
                  {"torch.nn.functional.instance_norm", {f({2, 3, 4}), None, None, None, f({2})}},
                  {"torch.nn.functional.group_norm", {f({2, 3}), 2}},
                  {"torch.nn.functional.group_norm", {f({2, 3}), 0}},
                  {"torch.nn.functional.group_norm", {f({2}), 1}},
                  {"torch.nn.functional.group_norm", {f({2, 3}), 3, f({2})}},
              }),
              "");
}
