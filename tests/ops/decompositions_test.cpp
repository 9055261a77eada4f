// A composite's kernel and its decomposition have the same results, with the types of its shape rule.
#include <fulgurite/fulgurite.h>

#include "ops/core/dispatch.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

void check(const char* name, std::initializer_list<Argument> given) {
  const Symbol* symbol = find_symbol(name);
  if (!expect(symbol && symbol->decompose, std::string(name) + " is not a composite")) return;
  const Arguments arguments(given.begin(), given.size());
  if (!expect_equal(arguments.size(), static_cast<size_t>(symbol->signature.parameter_count))) return;
  Results whole, parts;
  dispatch(*symbol, arguments, {}, whole);
  symbol->decompose(arguments, parts, {});
  InferredTypes types;
  infer_types(*symbol, arguments, types);
  if (!expect_equal(whole.size(), parts.size()) || !expect_equal(types.size(), parts.size())) return;
  for (size_t i = 0; i < whole.size(); ++i) {
    const std::string what = std::string(name) + ": ";
    expect(whole[i].dtype() == parts[i].dtype() && whole[i].shape() == parts[i].shape(),
           what + type_text(whole[i]) + " as a whole, " + type_text(parts[i]) + " in parts");
    expect(types[i].dtype == parts[i].dtype() && types[i].shape == parts[i].shape(),
           what + "the shape rule says otherwise");
    const std::vector<double> a = whole[i].to(Dtype::f64).to_vector<double>(),
                              b = parts[i].to(Dtype::f64).to_vector<double>();
    if (!expect_near(a, b, whole[i].dtype() == Dtype::bf16 ? 2e-2 : 2e-6)) fail(what + "results differ");
  }
}

}  // namespace

TEST("composites and their decompositions agree") {
  const Tensor x = tensor({{-1.5, 0.3, 2.0}, {0.7, -0.2, 1.1}}), y = tensor({{0.5, 1.5, 2.5}, {1.0, 2.0, 0.7}});
  const Argument none, no(false), yes(true);
  const Argument one{Int(1)}, zero{Int(0)};
  const Shape columns{1}, size{2, 3};
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16}) {
    const Tensor a = x.to(dtype), b = y.to(dtype);
    check("silu", {a});
    for (const std::string_view approximate : {"none", "tanh"}) {
      check("gelu", {a, approximate});
      check("prims.gelu_backward", {b, a, approximate});
    }
    check("lerp", {a, b, Float(0.3)});
    check("lerp", {a, b, Float(0.7)});
    check("lerp", {a, b, b});
    check("addcmul", {a, b, a, Float(0.5)});
    check("addcdiv", {a, a, b, one});
    check("std", {a, columns, one, no});
    check("var_mean", {a, none, zero, yes});
    check("std_mean", {a, columns, none, no});
    check("logsumexp", {a, columns, no});
    for (const double order : {0.0, 1.0, 2.0, 3.0}) check("linalg.vector_norm", {a, Float(order), columns, yes, none});
    check("max", {a});
    check("prims.max_with_indices", {a, one, no});
    check("prims.min_with_indices", {a, zero, yes});
    check("zeros", {size, dtype, none});
    check("ones_like", {a, none, none});
    check("full_like", {a, Float(2.5), none, none});
    check("eye", {one, Int(3), dtype, none});
  }
}

TEST("dropout drops and scales, and does nothing outside training") {
  manual_seed(3);
  const Tensor x = ones({1000});
  expect_equal(nn::dropout(x, 0.5, false).to_vector<float>(), x.to_vector<float>());
  const std::vector<float> dropped = nn::dropout(x, 0.25).to_vector<float>();
  int zeros = 0;
  for (const float value : dropped) {
    if (value == 0) ++zeros;
    else expect_near(value, 1 / 0.75);
  }
  expect(zeros > 200 && zeros < 300, "dropped " + std::to_string(zeros) + " of 1000");
  expect_near(nn::dropout(x, 1.0).sum().item<double>(), 0);
  expect_error([&] { nn::dropout(x, 1.5); }, "p must be from 0 to 1, not 1.5");
}

TEST("draws repeat with the seed and differ from call to call") {
  manual_seed(7);
  const Tensor a = rand({16}), b = randn({16}), c = randint(0, 100, {16});
  manual_seed(7);
  expect_equal(a.to_vector<float>(), rand({16}).to_vector<float>());
  expect_equal(b.to_vector<float>(), randn({16}).to_vector<float>());
  expect_equal(c.to_vector<int64_t>(), randint(0, 100, {16}).to_vector<int64_t>());
  expect_different(a.to_vector<float>(), rand({16}).to_vector<float>());
}
