// Error messages for gradient rules that are missing or wrong.
#include <filesystem>
#include <fstream>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

Tensor grad_of(const std::function<Tensor(Tensor)>& f, const Tensor& x) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  f(leaf).sum().backward();
  return leaf.grad();
}

// A user's source, older than this program, so that errors quote it.
std::string write_source(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / name;
  std::ofstream(path) << text;
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::min());
  return path.string();
}

}  // namespace

TEST("without any rule the error names the symbol, prints the line and the user's source") {
  const OperatorExecutor ex("norule");
  const auto f =
      ex.register_operator("norule::f(Tensor x, float s) -> Tensor", [](Tensor x, double s) { return x * s; });
  const Tensor x = ones({2}).requires_grad_();
  const std::string source = write_source("user.cpp", "return f(t, 2.0);\n");
  const SourceLocation line{source.c_str(), 1};
  const auto g = jit([f, line](Tensor t) { return f(t, 2.0, line); });
  expect_error(
      [&] { g(x); },
      "norule::f has no gradient rule: none of the executors gemm, onednn, fuser, eager has a grad transform, or an "
      "augmented forward and a backward, for this call, and the operator has neither a rule of its own nor "
      "a decomposition:\n  auto t0 = norule::f(t_0, 2.0);");
  expect_error([&] { g(x); }, "\n  user.cpp:1: return f(t, 2.0);\n  at user.cpp:1");
  expect_error([&] { f(x, 2.0); }, "f(cpu f32[2], 2.0): it has no gradient rule, and an argument requires grad");
  expect_near(f(x.detach(), 2.0).to_vector<float>(), {2, 2});
  const auto index = ex.register_operator("norule::index(Tensor x) -> Tensor", [](Tensor t) { return argmax(t, 0); });
  expect_equal(index(x).item<int64_t>(), 0);
  expect_near(jit([index](Tensor t) { return t * index(t); })(x).to_vector<float>(), {0, 0});
}

TEST("Backward for myadd returned too few values") {
  const OperatorExecutor ex("arity");
  const auto myadd =
      ex.register_operator("arity::myadd(Tensor a, Tensor b) -> Tensor", [](Tensor a, Tensor b) { return a + b; });
  ex.register_augmented_forward(myadd, [](Tensor a, Tensor b) {
    const Tensor c = a + b;
    return std::pair(c, std::tuple(c));
  });
  ex.register_backward(myadd, [](Tensor, Tensor g) { return g; });
  const Tensor a = ones({2, 2}), b = ones({2, 2}).requires_grad_();
  const std::string message =
      "Backward for myadd returned 1 value(s), but expected 2: one for each tensor argument, undefined where "
      "there is no gradient";
  expect_error([&] { myadd(a, b); }, message);
  expect_error([&] { jit([myadd](Tensor s, Tensor t) { return myadd(s, t); })(a, b); }, message);
  expect_error([&] { grad_transform_on_trace(trace([myadd](Tensor s, Tensor t) { return myadd(s, t); }, a, b)); },
               message);
}

TEST("a rule gives as many results as the operator has") {
  const OperatorExecutor ex("results");
  const auto two = ex.register_operator("results::two(Tensor x) -> (Tensor, Tensor)",
                                        [](Tensor x) { return std::pair(x + 1, x * 2); },
                                        {.grad_transform = [](Tensor x) { return x + 1; }});
  const Tensor x = ones({2}).requires_grad_();
  expect_error(
      [&] { two(x); },
      "the grad transform of results::two gave 1 result(s), but results::two has 2; return one tensor for each "
      "result of the operator, in its order");
  const auto shape = ex.register_operator("results::shape(Tensor x) -> Tensor", [](Tensor x) { return x; },
                                          {.grad_transform = [](Tensor t) { return t.sum(); }});
  expect_error([&] { shape(x); },
               "the grad transform of results::shape gave cpu f32[] as result 0, which is cpu f32[2]");
}

TEST("put_grad after get_grad would be lost") {
  const OperatorExecutor ex("order");
  const auto f = ex.register_operator("order::f(Tensor x) -> Tensor", [](Tensor x) { return x * 2; },
                                      {.grad_transform = [](Tensor x) {
                                        Tensor y = x * 2;
                                        const Tensor g = get_grad(y);
                                        put_grad(y, g);
                                        put_grad(x, g);
                                        return y;
                                      }});
  const Tensor x = ones({2}).requires_grad_();
  expect_error([&] { grad_transform_on_trace(trace([f](Tensor t) { return f(t); }, x)); },
               "put_grad after get_grad on t0 in the gradient rule of order::f: the gradient was read "
               "already, so what is added now would be lost");
  expect_error([&] { get_grad(x); }, "get_grad() is called outside a grad transform");
  expect_error([&] { put_grad(x, x); }, "put_grad() is called outside a grad transform");
}

TEST("a gradient has a shape that broadcasting explains") {
  const OperatorExecutor ex("shapes");
  const auto wide = ex.register_operator("shapes::wide(Tensor x) -> Tensor",
                                         [](Tensor x) {
                                           return x.expand({3, 2}) * 1;
                                         },
                                         {.grad_transform = [](Tensor x) {
                                           Tensor y = x.expand({3, 2}) * 1;
                                           put_grad(x, get_grad(y));
                                           return y;
                                         }});
  expect_near(grad_of([&](Tensor t) { return wide(t); }, ones({2})).to_vector<float>(), {3, 3});
  const auto wrong = ex.register_operator("shapes::wrong(Tensor x) -> Tensor", [](Tensor x) { return x * 1; },
                                          {.grad_transform = [](Tensor x) {
                                            Tensor y = x * 1;
                                            const Tensor g = get_grad(y);
                                            put_grad(x, g.sum());
                                            return y;
                                          }});
  const Tensor x = ones({2}).requires_grad_();
  expect_error([&] { wrong(x); },
               "the gradient rule of shapes::wrong gives t_0, which is cpu f32[2], a gradient that is cpu f32[]");
}

TEST("rules use arguments only, and results do not depend on gradients") {
  const OperatorExecutor ex("outside");
  const Tensor weight = ones({2});
  const auto captured = ex.register_operator("outside::captured(Tensor x) -> Tensor", [](Tensor x) { return x * 1; },
                                             {.grad_transform = [weight](Tensor x) { return x * weight; }});
  const Tensor x = ones({2}).requires_grad_();
  expect_error([&] { captured(x); },
               "the grad transform of outside::captured uses a tensor that is none of its arguments");
  const auto circular = ex.register_operator("outside::circular(Tensor x) -> Tensor", [](Tensor x) { return x * 1; },
                                             {.grad_transform = [](Tensor x) { return get_grad(x) * 2; }});
  expect_error([&] { circular(x); }, "the grad transform of outside::circular computes a result from a gradient");
}

}  // namespace fulgurite
