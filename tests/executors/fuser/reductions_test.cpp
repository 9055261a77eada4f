// Regions with reductions of rows and of columns.
#include <algorithm>

#include <fulgurite/examine.h>
#include <fulgurite/fulgurite.h>

#include "executors/fuser/fused.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("the backward of softmax is one kernel of at most 40 lines of text") {
  manual_seed(1);
  const Tensor y = softmax(randn({4, 50}), -1), g = randn({4, 50});
  const auto function = [](Tensor g, Tensor y) {
    const Tensor dx = prims::softmax_backward(g, y, -1);
    return dx * 2.0;
  };
  auto f = jit(function, {.executors = {"fuser"}, .argument_names = {"g", "y"}});
  expect_close(f(g, y), function(g, y));
  const std::string kernel = kernel_of(last_traces(f).back(), 0);
  expect_at_most(std::ranges::count(kernel, '\n'), 40);
  expect_text(kernel, R"(
extern "C" void fusion0(const Launch& launch, long first, long last) {
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const auto* const g_row = row.of<const float>(0);
    const auto* const y_row = row.of<const float>(1);
    const auto t6_row = row.result<float>(2);
    Sum<Floats> t3_lanes;
    for (Columns c(launch); c.more(); c.next()) {
      const Floats g = load(g_row, c);
      const Floats y = load(y_row, c);
      const Floats t2 = g * y;
      t3_lanes.add(c, t2);
    }
    const Floats t3 = t3_lanes.total();
    for (Columns c(launch); c.more(); c.next()) {
      const Floats g = load(g_row, c);
      const Floats y = load(y_row, c);
      const Floats t4 = g - t3;
      const Floats t5 = t4 * y;
      const Floats t6 = t5 * 2.0f;
      store(t6_row, c, t6);
    }
  }
}
)");
}

TEST("layer norm and what stands around it are one kernel") {
  manual_seed(1);
  const Tensor x = randn({6, 70}), r = randn({6, 70}), w = randn({70}), b = randn({70});
  const auto function = [](Tensor x, Tensor r, Tensor w, Tensor b) {
    const Tensor sum = x + r;
    const Tensor normal = nn::layer_norm(sum, {70}, w, b);
    return std::pair(sum, normal);
  };
  auto f = jit(function, {.executors = {"fuser"}});
  const auto [sum, normal] = f(x, r, w, b);
  const auto [expected_sum, expected_normal] = function(x, r, w, b);
  expect_close(sum, expected_sum);
  expect_close(normal, expected_normal, 2e-6);
  expect_equal(fusions_in(last_traces(f).back()), 1);
  expect_text(kernel_of(last_traces(f).back(), 0), R"(
extern "C" void fusion0(const Launch& launch, long first, long last) {
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const auto* const t_0_row = row.of<const float>(0);
    const auto* const t_1_row = row.of<const float>(1);
    const auto* const t_2_row = row.of<const float>(2);
    const auto* const t_3_row = row.of<const float>(3);
    const auto t0_row = row.result<float>(4);
    const auto t0_kept = row.kept<float>(0);
    const auto t9_row = row.result<float>(5);
    Sum<Floats> t1_sum_lanes;
    for (Columns c(launch); c.more(); c.next()) {
      const Floats t_0 = load(t_0_row, c);
      const Floats t_1 = load(t_1_row, c);
      const Floats t0 = t_0 + t_1;
      t1_sum_lanes.add(c, t0);
      store(t0_kept, c, t0);
      store(t0_row, c, t0);
    }
    const Floats t1_sum = t1_sum_lanes.total();
    const Floats t1 = t1_sum / Floats(launch.columns);
    Sum<Floats> t4_sum_lanes;
    for (Columns c(launch); c.more(); c.next()) {
      const Floats t0 = load(t0_kept, c);
      const Floats t2 = t0 - t1;
      const Floats t3 = t2 * t2;
      t4_sum_lanes.add(c, t3);
    }
    const Floats t4_sum = t4_sum_lanes.total();
    const Floats t4 = t4_sum / Floats(launch.columns);
    const Floats t5 = t4 + 1e-05f;
    const Floats t6 = 1 / sqrt(t5);
    for (Columns c(launch); c.more(); c.next()) {
      const Floats t_2 = load(t_2_row, c);
      const Floats t_3 = load(t_3_row, c);
      const Floats t0 = load(t0_kept, c);
      const Floats t2 = t0 - t1;
      const Floats t7 = t2 * t6;
      const Floats t8 = t7 * t_2;
      const Floats t9 = t8 + t_3;
      store(t9_row, c, t9);
    }
  }
}
)");
}

TEST("sums over rows are made beside what else the rows are read for") {
  manual_seed(1);
  for (const int64_t rows : {0, 1, 15, 16, 17, 200, 3000}) {
    const Tensor g = randn({rows, 37}), x = randn({rows, 37}), w = randn({37});
    const auto function = [](Tensor g, Tensor x, Tensor w) {
      const Tensor dx = g * w;
      const Tensor weighted = g * x;
      const Tensor dw = sum(weighted, {0});
      const Tensor db = sum(g, {0});
      return std::tuple(dx, dw, db);
    };
    auto f = jit(function, {.executors = {"fuser"}});
    const auto [dx, dw, db] = f(g, x, w);
    const auto [expected_dx, expected_dw, expected_db] = function(g, x, w);
    expect_close(dx, expected_dx);
    expect_close(dw, expected_dw, 1e-4);
    expect_close(db, expected_db, 1e-4);
    expect_equal(fusions_in(last_traces(f).back()), 1);
  }
}

TEST("results do not depend on the number of threads") {
  manual_seed(1);
  const Tensor x = randn({700, 300}), w = randn({300});
  const auto function = [](Tensor x, Tensor w) {
    const Tensor scaled = x * w;
    const Tensor share = softmax(scaled, -1);
    const Tensor weighted = share * x;
    return std::tuple(share, sum(weighted, {0}), sum(weighted, {1}), var(scaled, {1}));
  };
  auto f = jit(function, {.executors = {"fuser"}});
  const int before = num_threads();
  std::vector<std::vector<float>> first;
  for (int threads = 1; threads <= 3; ++threads) {
    set_num_threads(threads);
    const auto [share, columns, rows, variance] = f(x, w);
    const std::vector<std::vector<float>> now{share.to_vector<float>(), columns.to_vector<float>(),
                                              rows.to_vector<float>(), variance.to_vector<float>()};
    if (threads == 1) first = now;
    expect_equal(now, first);
  }
  set_num_threads(before);
  expect_equal(fusions_in(last_traces(f).back()), 1);
}

TEST("a reduction to one element is one row, and ops after it are fused") {
  manual_seed(1);
  const auto doubled_variance = [](Tensor x) {
    const Tensor variance = var(x, {0, 1}, 1);
    return variance + variance;
  };
  const auto loss = [](Tensor x, Tensor y) {
    const Tensor difference = x - y;
    const Tensor total = sum(difference * difference);
    return std::tuple(total / 2.0, difference * total, amax(difference, {}, true));
  };
  for (const Shape& shape : {Shape{512, 512}, Shape{3, 7}, Shape{1, 1025}}) {
    const Tensor x = randn(shape), y = randn(shape);
    auto f = jit(doubled_variance, {.executors = {"fuser"}});
    expect_close(f(x.t()), doubled_variance(x.t()), 1e-5);
    expect_equal(fusions_in(last_traces(f).back()), 1);
    auto g = jit(loss, {.executors = {"fuser"}});
    const auto [half, scaled, most] = g(x, y);
    const auto [wanted_half, wanted_scaled, wanted_most] = loss(x.to(Dtype::f64), y.to(Dtype::f64));
    expect_close(half / wanted_half, ones({}), 1e-6);
    expect_close(scaled / wanted_half, wanted_scaled / wanted_half, 1e-5);
    expect_close(most, wanted_most);
    expect_equal(fusions_in(last_traces(g).back()), 1);
  }
  auto defaults = jit(doubled_variance);
  const Tensor x = randn({512, 512});
  expect_close(defaults(x), doubled_variance(x), 1e-6);
  expect_equal(fusions_in(last_traces(defaults).back()), 1);
  auto large = jit([](Tensor x) { return sum(x * 2.0); }, {.executors = {"fuser"}});
  const Tensor many = ones({513, 512});
  expect_equal(large(many).item<double>(), 2.0 * 513 * 512);
  expect_equal(fusions_in(last_traces(large).back()), 0);
}

TEST("a result that repeats a row's number, or one number, is stored by the kernel that makes it") {
  manual_seed(1);
  const auto function = [](Tensor x) {
    const Tensor rows = mean(x, {1}, true), all = sum(x);
    const Tensor mean_of_row = expand(rows, x.shape()) * 3.0, part = expand(all, x.shape()) / 7.0;
    return std::tuple(x - mean_of_row, mean_of_row, x * 2.0, part);
  };
  for (const bool is_row : {true, false}) {
    const auto chosen = [&](Tensor x) {
      const auto [difference, repeated, twice, part] = function(x);
      return is_row ? std::pair(difference, repeated) : std::pair(twice, part);
    };
    auto f = jit(chosen, {.executors = {"fuser"}});
    for (const Shape& shape : {Shape{6, 70}, Shape{1, 5}, Shape{33, 16}}) {
      const Tensor x = randn(shape);
      const auto [a, b] = f(x);
      const auto [wanted_a, wanted_b] = chosen(x);
      expect_close(a, wanted_a, 1e-5);
      expect_close(b, wanted_b, 1e-5);
      expect_equal(fusions_in(last_traces(f).back()), 1);
    }
  }
}

TEST("16-bit rows are summed in f32, and rounded where the program rounds them") {
  manual_seed(1);
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    const Tensor x = randn({5, 33}).to(dtype), w = randn({33}).to(dtype);
    const auto function = [](Tensor x, Tensor w) {
      const Tensor scaled = x * w;
      const Tensor shifted = scaled + 1.0;
      return nn::rms_norm(shifted, {33}, w);
    };
    auto f = jit(function, {.executors = {"fuser"}});
    expect_close(f(x, w), function(x, w), dtype == Dtype::bf16 ? 0x1p-7 : 0x1p-10);
    expect_equal(fusions_in(last_traces(f).back()), 1);
  }
}

TEST("equal values of two ops are computed once, and may be two results") {
  const auto count = [](const std::string& text, std::string_view word) {
    int found = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  const Tensor x = randn({7, 37});
  const auto entropy = [](Tensor x) { return softmax(x, -1) * log_softmax(x, -1); };
  auto f = jit(entropy, {.executors = {"fuser"}});
  expect_close(f(x), entropy(x));
  const std::string kernel = kernel_of(last_traces(f).back(), 0);
  expect(count(kernel, "Max<") == 1 && count(kernel, "Sum<") == 1, kernel);

  const auto twice = [](Tensor x) { return std::pair{exp(x), sum(exp(x), -1)}; };
  auto g = jit(twice, {.executors = {"fuser"}, .skip_transforms = {{"cse"}}});
  const auto [first, total] = g(x);
  expect_close(first, exp(x));
  expect_close(total, sum(exp(x), -1), 1e-4);
  expect_equal(count(kernel_of(last_traces(g).back(), 0), "exp("), 1);

  const auto same = [](Tensor x) { return std::pair{exp(x), exp(x)}; };
  auto h = jit(same, {.executors = {"fuser"}, .skip_transforms = {{"cse"}}});
  const auto [one, other] = h(x);
  expect_close(one, exp(x));
  expect_close(other, exp(x));
  expect_equal(count(kernel_of(last_traces(h).back(), 0), "exp("), 1);
}

TEST("sums over all rows that are stored in another dtype are added up in their own") {
  const Tensor doubles = randn({6, 5}).to(Dtype::f64), floats = randn({6, 5}), whole = randint(-9, 9, {6, 5});
  const auto check = [](const Tensor& x, Dtype dtype) {
    const auto sums = [dtype](Tensor t) {
      const Tensor twice = t * 2;
      return std::pair{twice, sum(twice, {0}).to(dtype)};
    };
    auto f = jit(sums, {.executors = {"fuser"}, .debug = {.check_traces = true}});
    const auto [twice, total] = f(x);
    const auto [expected_twice, expected] = sums(x);
    expect_close(twice, expected_twice);
    expect_close(total, expected, dtype == Dtype::bf16 ? 1e-2 : dtype == Dtype::f16 ? 1e-3 : 1e-6);
  };
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64}) {
    check(doubles, dtype);
    check(floats, dtype);
  }
  for (const Dtype dtype : {Dtype::i32, Dtype::f32, Dtype::i8, Dtype::boolean}) check(whole, dtype);
}

TEST("sums of rows of equal elements are as exact as eager mode's") {
  const auto squares = [](Tensor t) {
    const Tensor bent = t * 2.0;
    return std::pair{bent, sum(bent * bent, {1})};
  };
  auto f = jit(squares, {.executors = {"fuser"}});
  for (const int64_t count : {640, 1024, 3000, 20000})
    for (const double element : {0.3807971, 0.29, 0.411, 0.4567, 0.3001}) {
      const Tensor x = full({1, count}, element, {.dtype = Dtype::f32});
      const auto [bent, total] = f(x);
      const double exact = sum(bent.to(Dtype::f64) * bent.to(Dtype::f64)).item<double>();
      const double error = std::abs(total.to(Dtype::f64).item<double>() - exact),
                   eager = std::abs(squares(x).second.to(Dtype::f64).item<double>() - exact);
      expect(error <= 4 * eager + exact * 0x1p-22,
             text::cat(count, " of ", element, ": error ", error, ", eager's ", eager));
    }
}

TEST("sums of columns of equal elements are within 2 units in the last place, however many rows there are") {
  const auto squares = [](Tensor t) {
    const Tensor bent = t * 2.0;
    return std::pair{bent, sum(bent * bent, {0})};
  };
  const Tensor elements = tensor({0.3807971, 0.29, 0.411, 0.4567, 0.3001});
  for (const int64_t rows : {1, 7, 8, 9, 16, 63, 64, 65, 130, 1000, 1040, 30000, 300000}) {
    auto f = jit(squares, {.executors = {"fuser"}});
    const auto [bent, total] = f(elements.expand({rows, 5}));
    const Tensor exact = sum(bent.to(Dtype::f64) * bent.to(Dtype::f64), {0});
    const double error = amax(abs(total.to(Dtype::f64) / exact - 1)).item<double>();
    expect(error <= 2 * 0x1p-23, text::cat(rows, " rows: error ", error));
    if (rows == 16)
      expect_text(kernel_of(last_traces(f).back(), 0), R"(
extern "C" void fusion0(const Launch& launch, long first, long last) {
  ColumnSums<float> t2_columns(launch, 2);
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const auto* const t_0_row = row.of<const float>(0);
    const auto t0_row = row.result<float>(1);
    for (Columns c(launch); c.more(); c.next()) {
      const Floats t_0 = load(t_0_row, c);
      const Floats t0 = t_0 * 2.0f;
      const Floats t1 = t0 * t0;
      t2_columns.add(c, t1);
      store(t0_row, c, t0);
    }
    t2_columns.end_row();
  }
  t2_columns.finish();
}
)");
  }
}

TEST("in 16 bits sums of rows are rounded as in eager mode, and the least of computed elements is one of them") {
  const auto sums = [](Tensor x) {
    const Tensor normal = nn::layer_norm(x, {8}).to(Dtype::bf16);
    return sum(normal * normal, {1}, true).to(Dtype::f32) * x;
  };
  auto f = jit(sums, {.executors = {"fuser"}});
  const Tensor x = randn({5, 8});
  expect_close(f(x), sums(x), 1e-2);
  expect_different(kernel_of(last_traces(f).back(), 0).find("round_to_bfloat16("), std::string::npos);

  const auto least = [](Tensor t) {
    const Tensor scaled = t.to(Dtype::bf16) * 1.5;
    return sum(amin(scaled, {-1}, true) * 2.0).to(Dtype::f32);
  };
  auto g = jit(grad(least), {.executors = {"fuser"}});
  for (int i = 0; i < 20; ++i) {
    const Tensor t = randn({3, 5});
    expect_close(g(t), grad(least)(t), 1e-2);
  }
}
