#include <fulgurite/fulgurite.h>

#include "ops/linalg/contraction_order.h"
#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::vector<Contraction> order_of(const std::vector<std::string>& operands, const std::string& output,
                                  const std::vector<double>& sizes) {
  const auto labels = [](const std::string& letters) {
    LabelSet set;
    for (const char c : letters) set[static_cast<size_t>(c - 'a')] = true;
    return set;
  };
  std::vector<LabelSet> sets;
  for (const std::string& letters : operands) sets.push_back(labels(letters));
  return contraction_order(sets, labels(output), sizes);
}

std::string steps(const std::vector<Contraction>& order) {
  std::string out;
  for (const Contraction& c : order) out += "(" + std::to_string(c.left) + " " + std::to_string(c.right) + ")";
  return out;
}

}  // namespace

TEST("three operands and more are multiplied in the order of the fewest multiplications") {
  expect_equal(steps(order_of({"ab", "bc", "cd"}, "ad", {100, 2, 50, 2})), "(1 2)(0 3)");
  expect_equal(steps(order_of({"ab", "bc", "cd"}, "ad", {2, 50, 2, 100})), "(0 1)(3 2)");
  // The first and the last are small together; in the given order the middle one would be made large.
  expect_equal(steps(order_of({"ab", "bcd", "a"}, "cd", {10, 10, 100, 100})), "(0 2)(1 3)");
  // More than eight: the cheapest contraction first.
  const std::vector<std::string> chain = {"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij"};
  expect_equal(order_of(chain, "aj", {2, 3, 4, 5, 6, 5, 4, 3, 2, 1}).size(), 8);
}

TEST("the cheapest order is what a trace records") {
  const Trace trace = record({f32({100, 2}), f32({2, 50}), f32({50, 2})}, [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{einsum("ab,bc,cd->ad", in)};
  });
  expect_python(trace, R"(
import torch

@torch.no_grad()
def computation(t_0, t_1, t_2):
  # t_0: "cpu f32[100, 2]"
  # t_1: "cpu f32[2, 50]"
  # t_2: "cpu f32[50, 2]"
  t1 = torch.einsum('ab,bc,cd->ad', (t_0, t_1, t_2))  # t1: "cpu f32[100, 2]"
    # t0 = prims.matmul(t_1, t_2)  # t0: "cpu f32[2, 2]"
    # t1 = prims.matmul(t_0, t0)  # t1: "cpu f32[100, 2]"
  return t1
)");
}

TEST("einsum sums products over all values of the labels") {
  uint64_t seed = 1;
  const auto random = [&](int64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>(seed >> 33) % below;
  };
  const int64_t sizes[] = {2, 3, 1, 4, 2};
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> labels;
    std::vector<Tensor> operands;
    std::string equation, output, seen;
    for (int64_t i = random(4) + 1; i > 0; --i) {
      std::string letters;
      Shape shape;
      for (int64_t d = random(4); d > 0; --d) {
        const char c = static_cast<char>('a' + random(5));
        const bool is_repeated = letters.find(c) != std::string::npos;
        letters += c;
        shape.push_back(!is_repeated && random(6) == 0 ? Int(1) : Int(sizes[c - 'a']));
        if (is_repeated) shape[letters.find(c)] = sizes[c - 'a'];
        if (seen.find(c) == std::string::npos) seen += c;
      }
      equation += (labels.empty() ? "" : ",") + letters;
      labels.push_back(letters);
      operands.push_back(randn(shape, {.dtype = Dtype::f64}));
    }
    for (const char c : seen)
      if (random(2) == 0) output.insert(static_cast<size_t>(random(static_cast<int64_t>(output.size()) + 1)), 1, c);
    // A label's size is 1 where it is in all operands.
    int64_t whole[5] = {1, 1, 1, 1, 1}, value[5] = {};
    for (size_t i = 0; i < labels.size(); ++i)
      for (size_t d = 0; d < labels[i].size(); ++d)
        whole[labels[i][d] - 'a'] = std::max(whole[labels[i][d] - 'a'], operands[i].shape()[d].hint());
    int64_t results = 1;
    for (const char c : output) results *= whole[c - 'a'];
    std::vector<double> expected(static_cast<size_t>(results));
    const auto visit = [&](const auto& self, size_t next) -> void {
      if (next < seen.size()) {
        const size_t label = static_cast<size_t>(seen[next] - 'a');
        for (value[label] = 0; value[label] < whole[label]; ++value[label]) self(self, next + 1);
        return;
      }
      double product = 1;
      for (size_t i = 0; i < labels.size(); ++i) {
        int64_t place = 0;
        for (size_t d = 0; d < labels[i].size(); ++d) {
          const int64_t size = operands[i].shape()[d].hint();
          place = place * size + (size == 1 ? 0 : value[labels[i][d] - 'a']);
        }
        product *= operands[i].data<double>()[place];
      }
      int64_t place = 0;
      for (const char c : output) place = place * whole[c - 'a'] + value[c - 'a'];
      expected[static_cast<size_t>(place)] += product;
    };
    visit(visit, 0);
    const Tensor result = einsum(equation + "->" + output, operands);
    if (!expect_near(result.contiguous().to_vector<double>(), expected, 1e-10)) fail(equation + "->" + output);
  }
}

TEST("einsum reads equations as PyTorch does") {
  const Tensor x = arange(6.0).reshape({2, 3});
  expect_near(einsum("i j -> j i", {x}).contiguous().to_vector<float>(), {0, 3, 1, 4, 2, 5});
  expect_near(einsum("ba", {x}).contiguous().to_vector<float>(), {0, 3, 1, 4, 2, 5});
  expect_near(einsum("jA,Ai", {x, ones({3, 1})}).to_vector<float>(), {3, 12});
  expect_near(einsum("i...", {x}).to_vector<float>(), {0, 3, 1, 4, 2, 5});
  expect_equal(einsum("...ij,jk->ik...", {ones({5, 6, 2, 3}), ones({3, 4})}).shape(), Shape{2, 4, 5, 6});
  expect_equal(einsum("", {ones({})}).shape(), Shape{});
  expect_equal(einsum("ij->i", {x.to(Dtype::i32)}).dtype(), Dtype::i64);
  expect_equal(einsum("ij,jk->i", {x.to(Dtype::i32), x.t().to(Dtype::i32)}).to_vector<int64_t>(),
               std::vector<int64_t>{19, 64});
  expect_equal(einsum("ij,kj->ik", {x.to(Dtype::i32), x.to(Dtype::i32)}).to_vector<int32_t>(),
               std::vector<int32_t>{5, 14, 14, 50});
  Tensor y = arange(4.0).reshape({2, 2});
  einsum("ii->i", {y}).fill_(7);
  expect_near(y.to_vector<float>(), {7, 1, 2, 7});
  const Tensor same = einsum("ij", {y});
  expect(!same.is_same(y));
}

TEST("einsum says what is wrong with an equation") {
  const Tensor x = ones({2, 3});
  const auto wrong = [&](const char* equation, std::vector<Tensor> operands, const char* message) {
    expect_error([&] { einsum(equation, operands); }, message);
  };
  wrong("i.j->i", {x}, "there is a '.' at index 1 of the equation \"i.j->i\" that is not part of \"...\"");
  wrong("......->", {x}, "there is a second \"...\" at index 3 of the equation \"......->\" for one operand");
  wrong("i1->i", {x}, "subscripts are letters, got '1' at index 1 of the equation \"i1->i\"");
  wrong("ij- >i", {x}, "subscripts are letters, got '-' at index 2");
  wrong("ij->i->j", {x}, "something follows the output at index 5 of the equation \"ij->i->j\"");
  wrong("ij->i,", {x}, "something follows the output at index 5");
  wrong("ij->ii", {x}, "the output's subscript 'i' appears more than once");
  wrong("ij->ik", {x}, "the output's subscript 'k' is not one of any operand's");
  wrong("ijk->i", {x}, "operand 0 of shape [2, 3] has 2 dimensions, its subscripts name 3");
  wrong("i->i", {x}, "operand 0 of shape [2, 3] has 2 dimensions, its subscripts name 1");
  wrong("ijk...->i", {x}, "operand 0 of shape [2, 3] has 2 dimensions, its subscripts name 3");
  wrong("ij,jk->i", {x}, "the equation \"ij,jk->i\" has subscripts for 2 operands, 1 were given");
  wrong("ii->i", {x}, "subscript 'i' is repeated for operand 0, but the sizes 2 and 3 differ");
  wrong("ij,jk->ik", {x, x}, "subscript 'j' has size 2 for operand 1, 3 for one before it");
  wrong("...,...", {x, ones({2})}, "subscript \"...\" has size 2 for operand 1, 3 for one before it");
  wrong("ij", {}, "expected at least one operand");
}

TEST("tensordot takes a number of dimensions, or lists of them") {
  const Tensor x = arange(6.0).reshape({2, 3});
  expect_near(tensordot(x, x.t(), 1).to_vector<float>(), {5, 14, 14, 50});
  expect_near(tensordot(x, x, {1}, {1}).to_vector<float>(), {5, 14, 14, 50});
  expect_near(tensordot(x, x).to_vector<float>(), {55});
}

TEST("tensordot says what is wrong with its dimensions") {
  const Tensor x = ones({2, 3});
  expect_error([&] { tensordot(x, x, 3); }, "dims is 3, a has 2 dimensions and b 2");
  expect_error([&] { tensordot(x, x, -1); }, "dims is -1");
  expect_error([&] { tensordot(x, x, {0}, {1}); },
               "the sizes that are summed over differ: a has 2 in dimension 0, b 3 in dimension 1");
  expect_error([&] { tensordot(x, x, {0, 1}, {0}); }, "dims lists 2 dimensions of a and 1 of b");
  expect_error([&] { tensordot(x, x, {0, 0}, {0, 1}); }, "dimension 0 appears twice");
  expect_error([&] { tensordot(x, x, {5}, {0}); }, "dim 5 is out of range");
  expect_error([&] { tensordot(x, x, {0, 1}); }, "dims is one number, or two lists");
  expect_error([&] { tensordot(x, x.to(Dtype::i64)); }, "the operands' dtypes differ: f32 and i64");
  const Value named = call("tensordot", {x, x}, {{"dims", {{0, 1}, {0, 1}}}});
  expect_near(Tensor(named).to_vector<float>(), {6});
}
