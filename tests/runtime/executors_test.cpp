#include <fulgurite/error.h>
#include <fulgurite/jit.h>
#include <fulgurite/operators.h>

#include "executors/registry.h"
#include "support/test.h"

namespace fulgurite {

TEST("eager is always asked last") {
  const auto names = [](const std::vector<const Executor*>& executors) {
    std::vector<std::string> out;
    for (const Executor* executor : executors) out.push_back(executor->name);
    return out;
  };
  expect_equal(names(resolve_executors({})), std::vector<std::string>({"gemm", "onednn", "fuser", "eager"}));
  expect_equal(names(resolve_executors({"eager"})), std::vector<std::string>({"eager"}));
  expect_equal(names(resolve_executors({"eager", "onednn", "onednn"})), std::vector<std::string>({"onednn", "eager"}));
}

TEST("an unknown executor is an error that names the registered ones") {
  expect_error([] { resolve_executors({"cudnn"}); },
               "there is no executor \"cudnn\"; registered are onednn, gemm, fuser, eager");
  expect_error([] { set_default_executors({"cudnn"}); }, "there is no executor");
}

TEST("gemm still answers to products, its name before 0.2") {
  const std::vector<const Executor*> found = resolve_executors({"products"});
  expect_equal(found.size(), 2u);
  expect_equal(found.front()->name, "gemm");
  const auto f = jit([](Tensor x) { return x * 2; }, {.executors = {"products", "onednn"}});
  expect_equal(f(ones({2})).to_vector<float>(), std::vector<float>{2, 2});
  const std::vector<std::string> before = default_executors();
  set_default_executors({"products"});
  expect_equal(resolve_executors({}).front()->name, "gemm");
  set_default_executors(before);
}

TEST("the default order can be changed") {
  const std::vector<std::string> before = default_executors();
  set_default_executors({"eager"});
  expect_equal(resolve_executors({}).size(), 1u);
  set_default_executors(before);
}

}  // namespace fulgurite
