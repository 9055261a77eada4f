// Scatters into zeros whose result is added to something.
#include <fulgurite/fulgurite.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const std::vector<std::string> fuser{"fuser", "eager"};

template <class Function, class... Inputs>
std::string last_text(Function function, const Inputs&... inputs) {
  const NoGrad no_grad;
  const auto jitted = jit(function, {.executors = fuser, .debug = {.check_traces = true}});
  const Tensor found = jitted(inputs...), expected = function(inputs...);
  expect_near(found.to(Dtype::f32).template to_vector<float>(), expected.to(Dtype::f32).template to_vector<float>(),
              1e-4);
  return last_traces(jitted).back().cpp({.time = false, .source = false});
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST("a tied embedding's cotangent is added to the head's, row by row") {
  manual_seed(1);
  const auto slope = [](Tensor weight, Tensor tokens) {
    const auto scores = [](Tensor weight, Tensor tokens) {
      return sum(sin(nn::linear(nn::embedding(tokens, weight), weight)));
    };
    return std::get<1>(value_and_grad<0>(scores)(weight, tokens));
  };
  const Tensor tokens = tensor(std::vector<int64_t>{3, 0, 3, 3, 1}).reshape({5});
  expect_text(last_text(slope, randn({6, 4}), tokens), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

// Run by this kernel:
//   extern "C" void fusion0(const Launch& launch, long first, long last) {
//     const Row all(launch, 0);
//     const Floats t4 = load_one(all.of<const float>(1));
//     for (Row row(launch, first); first < last; row.next(), ++first) {
//       const auto* const t1_row = row.of<const float>(0);
//       const auto t8_row = row.result<float>(2);
//       for (Columns c(launch); c.more(); c.next()) {
//         const Floats t1 = load(t1_row, c);
//         const Floats t7 = cos(t1);
//         const Floats t8 = t4 * t7;
//         store(t8_row, c, t8);
//       }
//     }
//   }
static auto fusion0(Tensor t1, Tensor t4) {
  auto t2 = sin(t1);
  auto t3 = sum(t2);
  auto t16 = reshape(t4, {1, 1});
  auto t17 = expand(t16, {5, 6});
  auto t7 = cos(t1);
  auto t8 = mul(t17, t7);
  return std::tuple(t8);
}

Tensor computation(Tensor t_0, Tensor t_1) {
  // t_0: "cpu f32[6, 4]"
  // t_1: "cpu i64[5]"
  auto t0 = nn::embedding(t_1, t_0);  // t0: "cpu f32[5, 4]"
    // t0 = prims::index_select(t_0, 0, t_1)  // t0: "cpu f32[5, 4]"
  auto t1 = nn::linear(t0, t_0, {});  // t1: "cpu f32[5, 6]"
  auto t4 = full({}, 1, {.dtype = Dtype::f32});  // t4: "cpu f32[]"
  auto [t8] = fusion0(t1, t4);
    // t2 = prims::sin(t1)  // t2: "cpu f32[5, 6]"
    // t3 = prims::sum(t2)  // t3: "cpu f32[]"
    // t16 = prims::reshape(t4, {1, 1})  // t16: "cpu f32[1, 1]"
    // t17 = prims::expand(t16, {5, 6})  // t17: "cpu f32[5, 6]"
    // t7 = prims::cos(t1)  // t7: "cpu f32[5, 6]"
    // t8 = prims::mul(t17, t7)  // t8: "cpu f32[5, 6]"
  del(t1, t4);
  auto t9 = matmul(t8, t_0);  // t9: "cpu f32[5, 4]"
  del(t_0);
  auto t10 = reshape(t8, {-1, 6});  // t10: "cpu f32[5, 6]"
  del(t8);
  auto t11 = permute(t10, {1, 0});  // t11: "cpu f32[6, 5]"
  del(t10);
  auto t12 = reshape(t0, {-1, 4});  // t12: "cpu f32[5, 4]"
  del(t0);
  auto t13 = matmul(t11, t12);  // t13: "cpu f32[6, 4]"
  del(t11, t12);
  auto t15 = prims::index_put(t13, {t_1}, t9, true);  // t15: "cpu f32[6, 4]"
  del(t13, t_1, t9);
  return t15;
}
)");
}

TEST("a scatter stays an op of its own if it is read elsewhere, scaled, or not into zeros") {
  manual_seed(2);
  const Tensor x = randn({5, 3}), places = tensor(std::vector<int64_t>{4, 1, 4}), values = randn({3, 3});
  const auto put_into = [](Tensor to, Tensor places, Tensor values) { return index_add(to, 0, places, values); };
  const auto plain = [=](Tensor x, Tensor p, Tensor v) {
    const Tensor a = sin(x), s = put_into(zeros({5, 3}), p, v);
    return s + a;
  };
  expect(!has(last_text(plain, x, places, values), "zeros("));
  const auto scaled = [=](Tensor x, Tensor p, Tensor v) {
    const Tensor a = sin(x), s = put_into(zeros({5, 3}), p, v);
    return add(a, s, 2.0);
  };
  expect(has(last_text(scaled, x, places, values), "zeros("));
  const auto read_again = [=](Tensor x, Tensor p, Tensor v) {
    const Tensor a = sin(x), s = put_into(zeros({5, 3}), p, v);
    return (a + s) * s;
  };
  expect(has(last_text(read_again, x, places, values), "zeros("));
  const auto of_ones = [=](Tensor x, Tensor p, Tensor v) {
    const Tensor a = sin(x), s = put_into(ones({5, 3}), p, v);
    return a + s;
  };
  expect(has(last_text(of_ones, x, places, values), "ones("));
  const auto broadcast = [=](Tensor x, Tensor p, Tensor v) {
    const Tensor a = sin(narrow(x, 0, 0, 1)), s = put_into(zeros({5, 3}), p, v);
    return a + s;
  };
  expect(has(last_text(broadcast, x, places, values), "zeros("));
  const auto to_input = [=](Tensor x, Tensor p, Tensor v) { return x + put_into(zeros({5, 3}), p, v); };
  expect(has(last_text(to_input, x, places, values), "zeros("));
  const auto rounded = [=](Tensor x, Tensor p, Tensor v) {
    const Tensor a = sin(x).to(Dtype::bf16), s = put_into(zeros({5, 3}, {.dtype = Dtype::bf16}), p, v.to(Dtype::bf16));
    return a + s;
  };
  expect(has(last_text(rounded, x, places, values), "zeros("));
}

TEST("cotangents of several gathers of one value are scattered into one sum") {
  manual_seed(3);
  const auto slope = [](Tensor x, Tensor index) {
    const auto f = [](Tensor x, Tensor index) {
      return sum(sin(x) * 2.0) + sum(exp(gather(x, 1, index))) + sum(cos(gather(x, 1, index + 1)));
    };
    return std::get<1>(value_and_grad<0>(f)(x, index));
  };
  const std::string text =
      last_text(slope, randn({3, 5}), tensor(std::vector<int64_t>{0, 3, 3, 2, 1, 1}).reshape({3, 2}));
  const auto count = [&](std::string_view part) {
    int found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  expect_equal(count("= scatter_add("), 2);
  expect_equal(count("= zeros("), 1);
}

TEST("small programs keep eager mode's bits") {
  manual_seed(4);
  const NoGrad no_grad;
  const auto plain = [](Tensor x, Tensor p, Tensor v) { return sin(x) + index_add(zeros({5, 3}), 0, p, v); };
  const auto jitted = jit(plain);
  jitted(randn({5, 3}), tensor(std::vector<int64_t>{4, 1, 4}), randn({3, 3}));
  expect(has(last_traces(jitted).back().cpp(), "zeros("));
}
