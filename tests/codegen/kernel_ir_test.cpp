// The printed form of lowered kernels.
#include "codegen/kernel_of_fusion.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("pointwise operators are one loop over the columns") {
  auto f = jit([](Tensor x, Tensor y) { return exp(x) * 0.5 + clamp(y, -1.0, 1000.0); }, {.executors = {"fuser"}});
  f(randn({3, 5}), randn({5}));
  expect_text(ir_of(f), R"(
input 0: f32 [d0, d1]
input 1: f32 [d1]
output 0: f32 [d0, d1]
launch numbers: 1000.0
rows d0, columns d1
%0 = load input 0 : f32 full  # t_0
%1 = exp(%0) : f32 full, costly  # t0
%2 = multiply(%1, 0.5) : f32 full  # t1
%3 = load input 1 : f32 full  # t_1
%4 = minimum(maximum(%3, -1.0), launch_number(0)) : f32 full  # t2
%5 = add(%2, %4) : f32 full -> output 0  # t3
for each row
  loop 0 over columns: load %0, %3; compute %1, %2, %4, %5; store %5
)");
}

TEST("conversions and comparisons have the types they compute in") {
  auto f = jit([](Tensor x, Tensor n) { return where(n > 2, x.to(Dtype::f64), 0.25) + n.to(Dtype::i64); },
               {.executors = {"fuser"}});
  f(randn({4}), ones({4}, Dtype::i32));
  expect_text(ir_of(f), R"(
input 0: i32 [d0]
input 1: f32 [d0]
output 0: f64 [d0]
rows none, columns d0
%0 = load input 0 : i32 full  # t_1
%1 = greater(%0, 2) : bool full  # t0
%2 = load input 1 : f32 full  # t_0
%3 = convert<f64>(%2) : f64 full  # t1
%4 = select(%1, %3, 0.25) : f64 full  # t2
%5 = convert<i64>(%0) : i64 full  # t3
%6 = add(%4, convert<f64>(%5)) : f64 full -> output 0  # t4
for each row
  loop 0 over columns: load %0, %2; compute %1, %3, %4, %5, %6; store %6
)");
}

TEST("a row reduction divides the kernel into row loops") {
  auto f = jit([](Tensor x) { return x - mean(x, {-1}, true); }, {.executors = {"fuser"}});
  f(randn({3, 7}));
  expect_text(ir_of(f), R"(
input 0: f32 [d0, d1]
output 0: f32 [d0, d1]
rows d0, columns d1
%0 = load input 0 : f32 full  # t_0
%1 = sum of %0 over columns : f32 row  # t0_sum
%2 = divide(%1, column_count) : f32 row, costly  # t0
%3 = subtract(%0, %2) : f32 full -> output 0  # t1
for each row
  loop 0 over columns: load %0; reduce %1
  compute %2
  loop 1 over columns: load %0; compute %3; store %3
)");
}

TEST("softmax is a maximum, a sum and a quotient") {
  auto f = jit([](Tensor x) { return softmax(x * 2.0, -1); }, {.executors = {"fuser"}});
  f(randn({3, 7}));
  expect_text(ir_of(f), R"(
input 0: f32 [d0, d1]
output 0: f32 [d0, d1]
rows d0, columns d1
%0 = load input 0 : f32 full  # t_0
%1 = multiply(%0, 2.0) : f32 full  # t0
%2 = maximum of %1 over columns : f32 row  # t1
%3 = subtract(%1, %2) : f32 full  # t2
%4 = exp(%3) : f32 full, costly  # t3
%5 = sum of %4 over columns : f32 row  # t4
%6 = divide(%4, %5) : f32 full, costly -> output 0  # t5
for each row
  loop 0 over columns: load %0; compute %1; reduce %2
  loop 1 over columns: load %0; compute %1, %3, %4; reduce %5; cache %4
  loop 2 over columns: load cached %4; compute %6; store %6
)");
}

TEST("a class loss gathers one element of each row") {
  auto f = jit([](Tensor x, Tensor target) { return nn::cross_entropy(x, target, {.reduction = "none"}); },
               {.executors = {"fuser"}});
  f(randn({3, 7}), tensor({1, 0, 6}));
  expect_text(ir_of(f, 1), R"(
input 0: f32 [d0, d1]
input 1: i64 [d0], column indices
input 2: f32 [d0]
input 3: bool [d0]
output 0: f32 [d0]
rows d0, columns d1
%0 = load input 0 : f32 full  # t_0
%1 = maximum of %0 over columns : f32 row  # t0
%2 = subtract(%0, %1) : f32 full  # t1
%3 = exp(%2) : f32 full, costly  # t2
%4 = sum of %3 over columns : f32 row  # t3
%5 = log(%4) : f32 row, costly  # t4
%6 = load input 1 : i64 row  # t7
%7 = gather input 0 at %6 : f32 row  # t_0_taken
%8 = subtract(%7, %1) : f32 row  # t1_taken
%9 = subtract(%8, %5) : f32 row  # t5_taken
%10 = load input 2 : f32 row  # t8
%11 = multiply(%9, %10) : f32 row  # t12
%12 = negate(%11) : f32 row  # t13
%13 = load input 3 : bool row  # t6
%14 = select(%13, %12, 0.0) : f32 row -> output 0  # t14
for each row
  compute %7, %10, %13
  loop 0 over columns: load %0; reduce %1
  compute %8
  loop 1 over columns: load %0; compute %2, %3; reduce %4
  compute %5, %9, %11, %12, %14
)");
}

TEST("its gradient scatters into each row") {
  const auto loss = [](Tensor x, Tensor target) { return nn::cross_entropy(x, target); };
  auto f = jit([&](Tensor x, Tensor target) { return grad<0>(loss)(x, target); }, {.executors = {"fuser"}});
  f(randn({3, 7}), tensor({1, 0, 6}));
  expect_text(ir_of(f, 1), R"(
input 0: f32 [d0, d1]
input 1: i64 [d0], column indices
input 2: f32 [d0]
input 3: bool [d0]
input 4: f32 []
input 5: f32 []
output 0: f32 [d0]
output 1: f32 [d0, d1]
rows d0, columns d1
%0 = load input 0 : f32 full  # t_0
%1 = maximum of %0 over columns : f32 row  # t0
%2 = subtract(%0, %1) : f32 full  # t1
%3 = exp(%2) : f32 full, costly  # t2
%4 = sum of %3 over columns : f32 row  # t3
%5 = log(%4) : f32 row, costly  # t4
%6 = load input 1 : i64 row  # t7
%7 = gather input 0 at %6 : f32 row  # t_0_taken
%8 = subtract(%7, %1) : f32 row  # t1_taken
%9 = subtract(%8, %5) : f32 row  # t5_taken
%10 = load input 2 : f32 row  # t8
%11 = multiply(%9, %10) : f32 row  # t12
%12 = negate(%11) : f32 row  # t13
%13 = load input 3 : bool row  # t6
%14 = select(%13, %12, 0.0) : f32 row -> output 0  # t14
%15 = load input 4 : f32 uniform  # t18
%16 = load input 5 : f32 uniform  # t16
%17 = divide(%15, %16) : f32 uniform, costly  # t23
%18 = multiply(%10, %17) : f32 row  # t24
%19 = negate(%18) : f32 row  # t25
%20 = select(%13, %19, 0.0) : f32 row  # t26
%21 = 0.0 : f32 uniform  # t29
%22 = convert<i32>(%6) : i32 row  # t7_column
%23 = select(equal(column_index, %22), %20, %21) : f32 full  # t30
%24 = divide(1, %4) : f32 row, costly  # t3_inverse
%25 = multiply(%3, %24) : f32 full  # t32
%26 = multiply(%25, %20) : f32 full  # t33
%27 = subtract(%23, %26) : f32 full -> output 1  # t34
before all rows: compute %15, %16, %17, %21
for each row
  compute %6, %7, %10, %13, %18, %19, %20, %22
  loop 0 over columns: load %0; reduce %1
  compute %8
  loop 1 over columns: load %0; compute %2, %3; reduce %4; cache %3
  compute %5, %9, %11, %12, %14, %24
  loop 2 over columns: load cached %3; compute %23, %25, %26, %27; store %27
)");
}

TEST("sums over all rows are column sums") {
  auto f = jit([](Tensor x) { return sum(x * x, {0}); }, {.executors = {"fuser"}});
  f(randn({3, 7}));
  expect_text(ir_of(f), R"(
input 0: f32 [d0, d1]
output 0: f32 [d1], column sums
rows d0, columns d1
%0 = load input 0 : f32 full  # t_0
%1 = multiply(%0, %0) : f32 full  # t0
%2 = sum of %1 over rows : f32 full -> output 0  # t1
for each row
  loop 0 over columns: load %0; compute %1; reduce %2
)");
}

TEST("values of bf16 are rounded where the program rounds them") {
  auto f = jit([](Tensor x, Tensor y) { return abs(exp(x) * y); }, {.executors = {"fuser"}});
  f(randn({8}).to(Dtype::bf16), randn({8}).to(Dtype::bf16));
  expect_text(ir_of(f), R"(
input 0: bf16 [d0]
input 1: bf16 [d0]
output 0: bf16 [d0]
rows none, columns d0
%0 = load input 0 : bf16 in f32 full, rounded  # t_0
%1 = round_inside_bf16(exp(%0)) : bf16 in f32 full, costly, rounded  # t0
%2 = load input 1 : bf16 in f32 full, rounded  # t_1
%3 = round_inside_bf16(multiply(%1, %2)) : bf16 in f32 full, rounded  # t1
%4 = absolute(%3) : bf16 in f32 full, rounded -> output 0 (exact)  # t2
for each row
  loop 0 over columns: load %0, %2; compute %1, %3, %4; store %4
)");
}
