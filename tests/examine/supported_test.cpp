#include <sstream>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Kind = examine::Supported::Kind;

std::string text_of(const examine::Supported& supported) {
  std::ostringstream out;
  out << supported;
  return out.str();
}

}  // namespace

TEST("supported lists operators with their executors") {
  const auto found = examine::supported([](Tensor x, Tensor w) { return sum(nn::gelu(matmul(x, w)).t() + 1.0); },
                                        randn({4, 8}), randn({8, 2}));
  expect(found.all() && found.problems.empty());
  expect_text(text_of(found), R"(
5 operators in 5 calls
  torch.matmul: 1 call, onednn
  torch.nn.functional.gelu: 1 call, eager
  torch.t: 1 call, decomposed
  torch.add: 1 call, eager
  torch.sum: 1 call, eager
all of it is supported
)");
}

TEST("all unsupported operators are listed at once, with lines and the nearest spelling") {
  const auto found = examine::supported(
      [](Tensor x) {
        const Tensor y = call("torch.tanhh", {x});
        Tensor z = matmul(y, y);  // 4 and 8 do not fit
        if (sum(z) > 0.0) return z;
        const Tensor moved = z + x.sum().item<double>();
        Tensor last = call("torch.nn.functional.geluu", {moved});
        return last;
      },
      ones({4, 8}));
  expect(!found.all());
  std::vector<std::string> what, instead;
  for (const auto& problem : found.problems) {
    what.push_back(problem.what);
    instead.push_back(problem.instead);
    expect(problem.source.line > 0 || problem.kind == Kind::graph_break);  // an `if` has no line
  }
  expect_equal(what.size(), 5);
  expect_equal(what[0], std::string("there is no operator 'torch.tanhh'"));
  expect_equal(instead[0].substr(0, 10), std::string("torch.tanh"));
  expect(found.problems[1].kind == Kind::refused && what[1].starts_with("matmul(cpu f32[4, 8], cpu f32[4, 8]): "),
         what[1]);
  expect_equal(found.problems[2].kind, Kind::graph_break);
  expect_equal(found.problems[3].kind, Kind::graph_break);
  expect_equal(what[3], std::string("item() of a tensor"));
  expect_equal(what[4], std::string("there is no operator 'torch.nn.functional.geluu'"));
  expect(instead[4].starts_with("torch.nn.functional.gelu"));
}

TEST("graph breaks alone are supported") {
  const auto found = examine::supported([](Tensor x) { return x * x.sum().item<double>(); }, ones({3}));
  expect_equal(found.problems.size(), 1);
  expect(found.all());
}

TEST("a result without a substitute is reported as the end") {
  const auto found = examine::supported([] {
    Tensor x = call("torch.zeross", {2});
    return x;
  });
  expect_equal(found.problems.size(), 1);
  expect_different(found.problems[0].instead.find("what comes after it was not looked at"), std::string::npos);
}

TEST("an operator without a gradient is reported if one is needed") {
  OperatorExecutor ex("supported_test");
  ex.register_operator("supported_test::twice(Tensor x) -> Tensor", [](Tensor x) { return x + x; });
  const Tensor x = randn({3}).requires_grad_();
  const auto body = [](Tensor y) {
    Tensor z = call("supported_test::twice", {y});
    return z;
  };
  expect(examine::supported(body, x.detach()).problems.empty());
  const auto found = examine::supported(body, x);
  expect_equal(found.problems.size(), 1);
  expect(!found.problems.empty() && found.problems[0].kind == Kind::no_gradient);
}

TEST("it runs in eager mode: what the function gives is not changed") {
  Tensor seen;
  examine::supported([&](Tensor x) { return seen = exp(x); }, ones({2}));
  expect_equal(seen.to_vector<float>(), exp(ones({2})).to_vector<float>());
}
