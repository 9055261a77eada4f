// Large composites are computed block by block, transposed operands tile by tile: with the bits of small calls.
#include <cstring>

#include <fulgurite/error.h>

#include "executors/reference.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Operation = std::function<Tensor(const Tensor&, const Tensor&)>;

bool same_bits(const Tensor& given, const Tensor& wanted) {
  const Tensor a = given.contiguous(), b = wanted.contiguous();
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  const auto bytes = static_cast<size_t>(a.numel().hint() * size_of(a.dtype()));
  return std::memcmp(a.data_pointer(), b.data_pointer(), bytes) == 0;
}

/// The result row by row: so few elements at a time are computed call by call.
Tensor by_rows(const Operation& f, const Tensor& x, const Tensor& y) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < x.size(0); ++i) {
    const Tensor a = select(x, 0, i).contiguous(), b = (y.ndim() < 2 ? y : select(y, 0, i)).contiguous();
    rows.push_back(f(a, b));
  }
  return stack(rows, 0);
}

struct Case {
  const char* name;
  Operation f;
};

const std::vector<Case>& composites() {
  static const std::vector<Case> cases = {
      {"mish", [](const Tensor& x, const Tensor&) { return nn::mish(x); }},
      {"softplus", [](const Tensor& x, const Tensor&) { return nn::softplus(x); }},
      {"selu", [](const Tensor& x, const Tensor&) { return nn::selu(x); }},
      {"softsign", [](const Tensor& x, const Tensor&) { return nn::softsign(x); }},
      {"logsigmoid", [](const Tensor& x, const Tensor&) { return nn::logsigmoid(x); }},
      {"xlogy", [](const Tensor& x, const Tensor& y) { return xlogy(x, y); }},
      {"fmax", [](const Tensor& x, const Tensor& y) { return fmax(x, y); }},
      {"heaviside", [](const Tensor& x, const Tensor& y) { return heaviside(x, y); }},
      {"signbit", [](const Tensor& x, const Tensor&) { return signbit(x); }},
      {"smooth_l1_loss",
       [](const Tensor& x, const Tensor& y) { return nn::smooth_l1_loss(x, expand(y, x.shape()), {}, {}, "none"); }},
      {"kl_div", [](const Tensor& x, const Tensor& y) { return nn::kl_div(x, expand(y, x.shape()), {}, {}, "none"); }},
  };
  return cases;
}

}  // namespace

TEST("gathered pointwise calls have the bits of single ones, in every layout") {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const Tensor x = make({90, 110}, dtype, -3, 3, 1), y = make({90, 110}, dtype, -3, 3, 2);
    const Tensor turned_x = transpose(make({110, 90}, dtype, -3, 3, 3), 0, 1),
                 turned_y = transpose(make({110, 90}, dtype, -3, 3, 4), 0, 1);
    const Tensor stepped = narrow(make({90, 250}, dtype, -3, 3, 5), 1, 7, 110), row = make({110}, dtype, -3, 3, 6);
    const std::pair<Tensor, Tensor> layouts[] = {
        {x, y}, {turned_x, turned_y}, {x, turned_y}, {turned_x, y}, {stepped, x}, {x, row}, {turned_x, row}};
    for (const Case& c : composites())
      for (size_t i = 0; i < std::size(layouts); ++i) {
        const auto& [a, b] = layouts[i];
        expect(same_bits(c.f(a, b), by_rows(c.f, a, b)),
               std::string(c.name) + " of " + std::string(name(dtype)) + ", layout " + std::to_string(i));
      }
  }
}

TEST("gathered calls do not depend on the number of threads") {
  const Tensor x = make({300, 1000}, Dtype::bf16, -3, 3, 1),
               y = transpose(make({1000, 300}, Dtype::bf16, -3, 3, 2), 0, 1);
  const int before = num_threads();
  for (const Case& c : composites()) {
    set_num_threads(1);
    const Tensor one = c.f(x, y);
    set_num_threads(3);
    expect(same_bits(c.f(x, y), one), c.name);
  }
  set_num_threads(before);
}

TEST("views of gathered results have their elements") {
  const Tensor x = make({24, 8, 5, 7}, Dtype::f32, -3, 3), weight = make({8}, Dtype::f32, -1, 1, 2),
               bias = make({8}, Dtype::f32, -1, 1, 3);
  std::vector<Tensor> samples;
  for (int64_t i = 0; i < 24; ++i) samples.push_back(nn::group_norm(narrow(x, 0, i, 1).contiguous(), 4, weight, bias));
  expect(same_bits(nn::group_norm(x, 4, weight, bias), cat(samples, 0)));
}

TEST("a division by zero among gathered calls names the user's call") {
  const Tensor x = full({5000}, 7, {.dtype = Dtype::i64}), zero = zeros({5000}, {.dtype = Dtype::i64});
  try {
    floor_divide(x, zero);
    fail("nothing was thrown");
  } catch (const UserError& error) {
    expect(std::string(error.what()).find("floor_divide(cpu i64[5000], cpu i64[5000])") != std::string::npos,
           error.what());
  }
}

TEST("tiles of every dtype, any two of the dimensions, against any other layout") {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::i64, Dtype::i32, Dtype::i8, Dtype::u8}) {
    const Tensor x =
        permute(make({70, 3, 90}, dtype, 0, 50, 1), {1, 2, 0});  // [3, 90, 70], its second dimension innermost
    const Tensor same = permute(make({70, 3, 90}, dtype, 0, 50, 2), {1, 2, 0});
    const Tensor straight = make({3, 90, 70}, dtype, 0, 50, 3), row = make({70}, dtype, 0, 50, 4),
                 column = make({90, 1}, dtype, 0, 50, 5);
    const Tensor outermost = permute(make({70, 90, 3}, dtype, 0, 50, 6), {2, 1, 0});
    for (const Tensor& y : {same, straight, row, column, outermost}) {
      expect(same_bits(add(x, y), add(x.contiguous(), expand(y, x.shape()).contiguous())), std::string(name(dtype)));
      expect(same_bits(lt(x, y), lt(x.contiguous(), expand(y, x.shape()).contiguous())), std::string(name(dtype)));
      expect(same_bits(where(lt(x, 20), x, y),
                       where(lt(x.contiguous(), 20), x.contiguous(), expand(y, x.shape()).contiguous())),
             std::string(name(dtype)));
    }
    expect(same_bits(mul(x, 3), mul(x.contiguous(), 3)), std::string(name(dtype)));
    expect(same_bits(x.to(Dtype::f64), x.contiguous().to(Dtype::f64)), std::string(name(dtype)));
    expect(same_bits(x.contiguous(), mul(x, 1)), std::string(name(dtype)));
  }
}
