#include <fulgurite/fulgurite.h>

#include "support/gradcheck.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// The values are PyTorch's.
namespace {

Tensor table() { return wave({5, 3}).detach().requires_grad_(); }
const Tensor index_list() { return tensor({0, 2, 4, 2, 1, 3, 3}); }
const Tensor starts() { return tensor({0, 3, 3, 5}); }
Tensor rows() { return tensor({{0, 1, 1}, {4, 2, 3}}); }

/// The results, and the table's gradient of their sum weighted by a wave.
void expect_bags(const nn::EmbeddingBagArguments& arguments, const std::vector<double>& results,
                 const std::vector<double>& gradient, SourceLocation at = SourceLocation::here()) {
  const Tensor weight = table(), out = nn::embedding_bag(index_list(), weight, arguments);
  expect_near(values(out), results, 1e-9, at);
  sum(out * wave({4, 3}, 0.2)).backward();
  expect_near(values(weight.grad()), gradient, 1e-9, at);
}

}  // namespace

TEST("embedding_bag sums and averages bags, also empty ones, without the padding") {
  expect_bags(
      {.offsets = starts(), .mode = "sum"},
      {-0.01697686433, -0.01913656304, -0.01229603714, 0, 0, 0, -0.008366405765, -0.6474644625, -0.9820498656,
       0.03362780097, 1.313973197, 1.976336468},
      {0.1986693308, 0.7833269096, 0.999573603, -0.9516020739, -0.9258146823, -0.4646021794, -0.7529327431,
       -0.1424877727, 0.5349714236, 0.4302399762, 1.587335728, 1.997882684, 0.1986693308, 0.7833269096, 0.999573603});
  expect_bags({.offsets = starts(), .padding_idx = 2},
              {0.427299454, 0.4816580248, 0.3094853004, 0, 0, 0, 0.8632093666, 0.3349881502, -0.3507832277,
               0.01681390048, 0.6569865987, 0.9881682339},
              {0.0993346654, 0.3916634548, 0.4997868015, -0.9516020739, -0.9258146823, -0.4646021794, 0, 0, 0,
               0.2151199881, 0.7936678638, 0.9989413418, 0.0993346654, 0.3916634548, 0.4997868015});
}

TEST("embedding_bag's maximum has the gradient of the first largest row") {
  expect_bags({.offsets = starts(), .mode = "max"},
              {0.8545989081, 0.6442176872, 0.98544973, 0, 0, 0, 0.8632093666, 0.3349881502, -0.3507832277,
               0.01681390048, 0.6569865987, 0.9881682339},
              {0, 0.7833269096, 0.999573603, -0.9516020739, -0.9258146823, -0.4646021794, 0, 0, 0, 0.2151199881,
               0.7936678638, 0.9989413418, 0.1986693308, 0, 0});
  const Tensor flat = ones({2, 1}, {.dtype = Dtype::f64, .requires_grad = true});
  sum(nn::embedding_bag(tensor({1, 0, 1}), flat, {.offsets = tensor({0}), .mode = "max"})).backward();
  expect_equal(values(flat.grad()), std::vector<double>{0, 1});
  const Tensor only_padding = nn::embedding_bag(tensor({{2, 2}}), table(), {.mode = "max", .padding_idx = -3}).detach();
  expect_equal(values(only_padding), std::vector<double>(3, 0.0));
}

TEST("embedding_bag divides gradients by the frequency of a row") {
  expect_bags({.offsets = starts(), .scale_grad_by_freq = true},
              {-0.005658954775, -0.006378854346, -0.004098679045, 0, 0, 0, -0.004183202882, -0.3237322312,
               -0.4910249328, 0.01681390048, 0.6569865987, 0.9881682339},
              {0.06622311027, 0.2611089699, 0.333191201, -0.4758010369, -0.4629073412, -0.2323010897, -0.2047889633,
               -0.1008991856, 0.05044505565, 0.107559994, 0.3968339319, 0.4994706709, 0.06622311027, 0.2611089699,
               0.333191201});
}

TEST("embedding_bag reads rows as bags, and weights each index") {
  const Tensor weight = table(), factors = wave({2, 3}, 0.5).detach().requires_grad_();
  expect_near(values(nn::embedding_bag(rows(), weight)),
              {0.5754729111, 0.4380646625, 0.0946277582, -5.432128032e-05, -0.002122550519, -0.003192511082}, 1e-9);
  expect_near(values(nn::embedding_bag(rows().to(Dtype::i32), weight, {.mode = "max"})),
              {0.8632093666, 0.6442176872, 0.98544973, 0.8545989081, 0.6569865987, 0.9881682339}, 1e-9);
  const Tensor out = nn::embedding_bag(rows(), weight, {.mode = "sum", .per_sample_weights = factors});
  expect_near(values(out), {1.621399968, 0.9380757768, -0.1864401105, 0.5653094329, -0.1777357844, -0.8371890851},
              1e-9);
  sum(out * wave({2, 3}, 0.2)).backward();
  expect_near(values(factors.grad()),
              {1.489662587, 0.08326480484, 0.08326480484, 0.8764839111, -0.4541144376, -0.4183150763}, 1e-9);
  expect_near(
      values(weight.grad()),
      {0.09524715092, 0.3755469256, 0.479221113, 0.3731683866, 1.47135362, 1.877538256, -0.1176317863, -0.02226107363,
       0.08357936983, -0.5643515653, -0.1067999742, 0.4009813135, 0.3844120599, 0.07274755775, -0.2731312575},
      1e-9);
}

TEST("embedding_bag passes gradcheck of both orders, for strided tables and no indices") {
  const Tensor strided = wave({3, 5}).t().detach().requires_grad_();
  const Tensor factors = wave({7}, 0.5).detach().requires_grad_();
  const auto weighted = [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{nn::embedding_bag(
        index_list(), x[0], {.offsets = starts(), .mode = "sum", .per_sample_weights = x[1], .padding_idx = 3})};
  };
  expect_equal(gradcheck(weighted, {strided, factors}), "");
  for (const char* mode : {"mean", "max"}) {
    const auto bags = [mode](const std::vector<Tensor>& x) {
      return std::vector<Tensor>{
          nn::embedding_bag(index_list(), x[0], {.offsets = starts(), .mode = mode, .padding_idx = 2})};
    };
    expect_equal(gradcheck(bags, {strided}), "");
    const Tensor none = empty({0}, {.dtype = Dtype::i64}), weight = table();
    const Tensor nothing = nn::embedding_bag(none, weight, {.offsets = tensor({0, 0}), .mode = mode});
    expect_equal(values(nothing), std::vector<double>(6, 0.0));
    expect_equal(nn::embedding_bag(none, weight, {.offsets = none, .mode = mode}).shape(), Shape{0, 3});
  }
}

TEST("EmbeddingBag is a layer with PyTorch's names, dtypes and offsets, eagerly and in jit") {
  nn::EmbeddingBag bag(5, 3, {.mode = "sum", .include_last_offset = true, .padding_idx = 4, .dtype = Dtype::bf16});
  expect_equal(names_of(bag), std::vector<std::string>{"weight"});
  expect_equal(values(bag.weight(4)), std::vector<double>(3, 0.0));
  copy_(bag.weight.detach(), wave({5, 3}));
  const Tensor offsets = tensor({0, 3, 7}), out = bag(index_list(), offsets);
  expect_equal(out.dtype(), Dtype::bf16);
  expect_near(values(out), {-0.8715757724, -0.3382349253, 0.3541833517, 0.0252613952, 0.666508735, 0.9942866022}, 1e-2);
  const auto jitted =
      jit([](const nn::EmbeddingBag& layer, const Tensor& x, const Tensor& at) { return layer(x, at); });
  expect_equal(values(jitted(bag, index_list(), offsets)), values(out));
}

TEST("embedding_bag's errors say what is wrong") {
  const Tensor weight = table();
  expect_error([&] { nn::embedding_bag(index_list(), weight); },
               "embedding_bag: an input [count] needs offsets, the first position of each bag");
  expect_error([&] { nn::embedding_bag(rows(), weight, {.offsets = starts()}); },
               "embedding_bag: an input [bags, count] takes no offsets; its rows are the bags");
  expect_error([&] { nn::embedding_bag(rows(), weight, {.mode = "min"}); },
               "embedding_bag: mode must be \"sum\", \"mean\" or \"max\", not \"min\"");
  expect_error(
      [&] {
        nn::embedding_bag(index_list(), weight, {.offsets = tensor({1, 3})});
      },
      "embedding_bag: offsets must begin with 0, not 1");
  expect_error(
      [&] {
        nn::embedding_bag(index_list(), weight, {.offsets = tensor({0, 9})});
      },
      "embedding_bag: offsets must not exceed the 7 indices: 9");
  expect_error(
      [&] {
        nn::embedding_bag(rows(), weight, {.per_sample_weights = wave({2, 3})});
      },
      "embedding_bag: per_sample_weights work with mode \"sum\" only, not \"mean\"");
  expect_error([&] { nn::embedding_bag(rows(), weight, {.mode = "sum", .per_sample_weights = wave({3})}); },
               "embedding_bag: per_sample_weights must have the input's shape and the weight's dtype, they are cpu "
               "f64[3]");
  expect_error(
      [&] {
        nn::embedding_bag(wave({2, 3}), weight);
      },
      "embedding_bag: the input must be i64 or i32, not cpu f64[2, 3]");
  expect_error([&] { nn::embedding_bag(tensor(1), weight); },
               "embedding_bag: the input must be [count] or [bags, count]");
  expect_error([&] { nn::embedding_bag(rows(), weight, {.padding_idx = 5}); },
               "embedding_bag: padding_idx 5 is outside of the 5 rows");
  expect_error([&] { nn::embedding_bag(rows(), weight, {.mode = "max", .scale_grad_by_freq = true}); },
               "embedding_bag: scale_grad_by_freq works with \"sum\" and \"mean\" only");
  expect_error([&] { nn::embedding_bag(rows(), Tensor()); },
               "embedding_bag: the weight must be a floating matrix [rows, width]");
}
