#include <fulgurite/fulgurite.h>

#include "support/gradcheck.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

// The values are PyTorch's.
namespace {

Tensor small() {
  return tensor({{2.0, 1.0, 0.0}, {1.0, 3.0, -1.0}, {0.5, -1.0, 4.0}}, {.dtype = Dtype::f64, .requires_grad = true});
}
Tensor positive() {
  const Tensor A = small().detach();
  return (matmul(A, A.mT()) + eye(3, {}, {.dtype = Dtype::f64})).detach().requires_grad_();
}
/// A matrix of full rank.
Tensor full_rank(int64_t rows, int64_t columns, double phase = 0) {
  return (wave({rows, columns}, phase) + eye(rows, columns, {.dtype = Dtype::f64}) * 1.5).detach().requires_grad_();
}
Tensor symmetric_part(const Tensor& x) { return (x + x.mT()) * 0.5; }

/// The gradient of the results' sum weighted by a wave.
template <class F>
std::vector<double> weighted_gradient(const F& function, const Tensor& x) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  const Tensor y = function(leaf);
  sum(y * wave(y.shape(), 0.2)).backward();
  return values(leaf.grad());
}
Tensor flat(const std::vector<Tensor>& results) {
  std::vector<Tensor> parts;
  for (const Tensor& result : results) parts.push_back(result.reshape({-1}));
  return cat(parts);
}
Tensor flat_qr(const Tensor& x) {
  const auto [Q, R] = linalg::qr(x);
  return flat({Q, R});
}
void expect_gradients(const std::function<Tensor(const Tensor&)>& function, const Tensor& x,
                      SourceLocation at = SourceLocation::here()) {
  const auto all = [&](const std::vector<Tensor>& inputs) { return std::vector<Tensor>{function(inputs[0])}; };
  expect_equal(gradcheck(all, {x.detach().requires_grad_()}), "", at);
}
void expect_identity(const Tensor& x, double tolerance, SourceLocation at = SourceLocation::here()) {
  expect_near(values(x), values(eye(x.size(-1), {}, {.dtype = Dtype::f64}).expand(x.shape())), tolerance, at);
}

}  // namespace

TEST("linalg: cholesky reads a triangle and has symmetric gradients") {
  const Tensor L = linalg::cholesky(positive());
  expect_near(values(L), {2.449489743, 0, 0, 2.041241452, 2.798809271, 0, 0, -2.322416203, 3.585579866}, 1e-9);
  expect_near(values(linalg::cholesky(positive(), true)), values(L.mT()), 1e-12);
  expect_equal(values(linalg::cholesky(tensor({{4.0, 9.0}, {2.0, 5.0}}))), std::vector<double>{2, 0, 1, 2});
  const std::vector<double> gradient{-0.1950721037, 0.2827503733,   -0.01161637338, 0.2827503733,  -0.1566407211,
                                     -0.2191543039, -0.01161637338, -0.2191543039,  -0.06478759318};
  expect_near(weighted_gradient([](const Tensor& x) { return linalg::cholesky(x); }, positive()), gradient, 1e-9);
  const auto of_square = [](const Tensor& x) {
    return linalg::cholesky(matmul(x, x.mT()) + eye(3, {}, {.dtype = Dtype::f64}));
  };
  expect_gradients(of_square, small());
  expect_error([] { linalg::cholesky(tensor({{1.0, 2.0}, {2.0, 1.0}})); }, "the matrix is not positive definite");
  const Tensor batch = stack({eye(2), -eye(2)});
  expect_error([&] { linalg::cholesky(batch); }, "matrix 1 of the batch is not positive definite");
}

TEST("linalg: solve takes matrices, vectors, batches, and either side") {
  const Tensor A = small();
  expect_near(values(linalg::solve(A, wave({3, 2}))),
              {-0.2443878326, 0.2276765898, 0.4887756652, 0.1888645077, 0.2364894329, -0.06893925371}, 1e-9);
  expect_near(values(linalg::solve(A, wave({3}))), {-0.2035611702, 0.4071223405, 0.3735881639}, 1e-9);
  expect_near(values(linalg::solve(A, wave({2, 3}), false)),
              {-0.3064345096, 0.435278047, 0.3551819443, 0.5065608244, -0.09427944769, -0.1112656688}, 1e-9);
  expect_near(values(linalg::solve(stack({A, positive()}), wave({3, 2}))),
              {-0.2443878326, 0.2276765898, 0.4887756652, 0.1888645077, 0.2364894329, -0.06893925371, -0.1668339309,
               0.07695171934, 0.2002007171, 0.03650147424, 0.08965988006, -0.006220473707},
              1e-9);
  expect_equal(linalg::solve(empty({0, 3, 3}), empty({0, 3, 2})).shape(), Shape{0, 3, 2});
  expect_equal(linalg::solve(empty({0, 0}), empty({0, 2})).shape(), Shape{0, 2});
  const auto both = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{linalg::solve(x[0], x[1])}; };
  expect_equal(gradcheck(both, {A, wave({3, 2}).detach().requires_grad_()}), "");
  expect_equal(gradcheck(both, {A.mT().detach().requires_grad_(), wave({3}).detach().requires_grad_()}), "");
  expect_error([] { linalg::solve(ones({2, 2}), ones({2, 1})); }, "the matrix is singular");
  expect_error([] { linalg::solve(ones({2, 3}), ones({2, 1})); }, "A needs square matrices, not 2 rows and 3 columns");
  expect_error([] { linalg::solve(eye(2), ones({3, 1})); }, "A has 2 columns, B 3 rows");
  expect_error([] { linalg::solve(eye(2).to(Dtype::bf16), ones({2, 1})); }, "A needs the dtype f32 or f64, not bf16");
  expect_error([] { linalg::solve(eye(2), ones({2}), false); }, "a vector B is solved for with left=True only");
}

TEST("linalg: solve_triangular reads one triangle") {
  const Tensor A = small();
  expect_near(values(linalg::solve_triangular(A, wave({3, 2}), true)),
              {-0.1781994613, 0.1928565837, 0.3563989225, 0.2585045199, 0.08374703754, -0.08769580692}, 1e-9);
  expect_near(values(linalg::solve_triangular(A, wave({2, 3}), false, false, true)),
              {-2.122392282, 1.629667417, 0.98544973, 1.054396058, -0.01579507753, -0.3507832277}, 1e-9);
  for (const bool upper : {false, true})
    for (const bool unit : {false, true}) {
      const auto both = [=](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{linalg::solve_triangular(x[0], x[1], upper, true, unit)};
      };
      expect_equal(gradcheck(both, {A, wave({3, 2}).detach().requires_grad_()}), "");
    }
}

TEST("linalg: inv, det, slogdet and logdet") {
  const Tensor A = small();
  expect_near(values(linalg::inv(A)),
              {0.6285714286, -0.2285714286, -0.05714285714, -0.2571428571, 0.4571428571, 0.1142857143, -0.1428571429,
               0.1428571429, 0.2857142857},
              1e-9);
  expect_near(A.det().item<double>(), 17.5, 1e-12);
  const auto [sign, logarithm] = linalg::slogdet(-A);
  expect_equal(sign.item<double>(), -1.0);
  expect_near(logarithm.item<double>(), 2.862200881, 1e-9);
  expect_near(logdet(A).item<double>(), 2.862200881, 1e-9);
  expect(std::isnan(logdet(-A).item<double>()));
  expect_near(weighted_gradient([](const Tensor& x) { return linalg::inv(x); }, A),
              {0.1385463196, -0.3461608887, -0.3115881938, -0.1873814765, 0.215222428, 0.21149242, 0.04315122949,
               0.1117129282, 0.08513799668},
              1e-9);
  det(A).backward();
  expect_near(values(A.grad()), {11, -4.5, -2.5, -4, 8, 2.5, -1, 2, 5}, 1e-9);
  expect_gradients([](const Tensor& x) { return linalg::det(x); }, small());
  expect_gradients([](const Tensor& x) { return std::get<1>(linalg::slogdet(x)); }, -small());
  expect_gradients([](const Tensor& x) { return inverse(x); }, small());
  const Tensor batch = stack({small().detach(), positive().detach(), eye(3, {}, {.dtype = Dtype::f64})});
  expect_near(values(linalg::det(batch)), {17.5, 604.25, 1}, 1e-9);
  expect_equal(linalg::det(empty({0, 0})).item<float>(), 1.f);
  expect_equal(std::get<0>(linalg::slogdet(zeros({2, 2}))).item<float>(), 0.f);
  expect_equal(std::get<1>(linalg::slogdet(zeros({2, 2}))).item<float>(), -INFINITY);
  expect_error([] { linalg::inv(ones({2, 2})); }, "the matrix is singular");
}

TEST("linalg: det's gradient at singular matrices is that of the cofactors") {
  const Tensor singular = tensor({{1.0, 2.0}, {2.0, 4.0}}, {.dtype = Dtype::f64, .requires_grad = true});
  linalg::det(singular).backward();
  expect_near(values(singular.grad()), {4, -2, -2, 1}, 1e-6);
  const Tensor nothing = zeros({3, 3}, {.dtype = Dtype::f64, .requires_grad = true});
  linalg::det(nothing).backward();
  expect_near(values(nothing.grad()), std::vector<double>(9, 0.0), 1e-12);
}

TEST("linalg: qr has LAPACK's signs, modes and gradients") {
  const auto [Q, R] = linalg::qr(full_rank(4, 3, 0.3));
  expect_near(values(Q),
              {-0.8253397444, 0.4224145551, -0.3029483713, -0.3104875159, -0.7736018913, 0.1533868257, 0.4493374424,
               0.09379885368, -0.6630727787, -0.143204999, -0.4629339396, -0.6671051313},
              1e-9);
  expect_near(values(R), {-2.175492237, -1.691897029, -0.2641578119, 0, -1.313683134, 0.5398496385, 0, 0, -1.800981871},
              1e-9);
  const auto [wide_Q, wide_R] = linalg::qr(full_rank(3, 4));
  expect_near(values(wide_R),
              {-1.661539837, -0.8068939712, 0.1055807601, -0.2057768465, 0, -1.041595144, 0.2355286645, 0.6935337757, 0,
               0, 2.513309698, 1.4708796},
              1e-9);
  const auto [complete, padded] = linalg::qr(full_rank(4, 3, 0.3), "complete");
  expect_equal(padded.shape(), Shape{4, 3});
  expect_near(values(complete.select(1, 3)), {-0.2204598248, -0.5306694808, -0.5912969881, 0.5658226221}, 1e-9);
  const auto [none, only_R] = linalg::qr(full_rank(4, 3, 0.3), "r");
  expect_equal(none.shape(), Shape{0});
  expect_equal(values(only_R), values(R));
  expect_near(weighted_gradient(flat_qr, full_rank(4, 3, 0.3)),
              {0.004627542843, -0.363025489, 0.06697489428, -1.301307112, 1.105907611, 0.9352532005, 0.998408352,
               0.3342766931, -0.6526583524, 0.7991723475, -0.1257116162, -0.6627157553},
              1e-8);
  expect_near(weighted_gradient(flat_qr, full_rank(3, 4)),
              {-2.309522605, 1.622606669, -0.6396289155, -0.3157322189, 1.251376809, -1.052567487, 0.5040786693,
               0.4736055285, -4.257562359, 5.386033312, 1.376910785, 1.434075383},
              1e-8);
  expect_gradients(flat_qr, full_rank(4, 3, 0.3));
  expect_gradients(flat_qr, full_rank(3, 4));
  expect_error(
      [] {
        linalg::qr(ones({2, 2}), "full");
      },
      "mode must be \"reduced\", \"complete\" or \"r\", not \"full\"");
}

TEST("linalg: eigh has ascending eigenvalues, orthonormal vectors and gradients") {
  const auto [w, V] = linalg::eigh(positive());
  expect_near(values(w), {2.396750166, 11.06160887, 22.79164096}, 1e-8);
  expect_near(values(abs(V)),
              {0.7889337475, 0.591032306, 0.168120062, 0.5685450789, 0.5983148724, 0.5646023439, 0.2331094919,
               0.5410176769, 0.8080593036},
              1e-8);
  expect_near(values(matmul(matmul(V, diag(w)), V.mT())), values(positive()), 1e-12);
  expect_near(weighted_gradient([](const Tensor& x) { return linalg::eigvalsh(x); }, positive()),
              {0.4255384836, 0.2827712311, 0.07814584859, 0.2827712311, 0.6632743577, -0.1761452713, 0.07814584859,
               -0.1761452713, 0.8927570021},
              1e-8);
  const auto squares = [](const Tensor& x) { return square(std::get<1>(linalg::eigh(x))); };
  const auto weighted = [&](const Tensor& x) {
    const auto [values, vectors] = linalg::eigh(symmetric_part(x));
    return flat({values, vectors});
  };
  const Tensor leaf = positive();
  sum(squares(leaf) * wave({3, 3}, 0.1)).backward();
  expect_near(values(leaf.grad()),
              {0.05362485359, 0.003651489489, 0.009242414158, 0.003651489489, -0.07873334526, -0.009869704128,
               0.009242414158, -0.009869704128, 0.02510849167},
              1e-8);
  expect_gradients(weighted, small());
  const Tensor lower = tril(positive()).detach(), upper = triu(positive()).detach();
  expect_near(values(linalg::eigvalsh(lower)), values(w), 1e-12);
  expect_near(values(linalg::eigvalsh(upper, "U")), values(w), 1e-12);
  expect_equal(values(linalg::eigvalsh(zeros({2, 2}))), std::vector<double>(2, 0.0));
  expect_error([] { linalg::eigh(eye(2), "X"); }, "UPLO must be \"L\" or \"U\", not \"X\"");
}

TEST("linalg: svd of wide, tall, full and deficient matrices") {
  for (const Tensor& A : {full_rank(3, 4), full_rank(4, 3, 0.3), full_rank(3, 3, 0.5), wave({3, 4}), zeros({2, 3}),
                          wave({2, 5, 3}), full_rank(1, 4), full_rank(4, 1)})
    for (const bool full : {false, true}) {
      const auto [U, S, Vt] = linalg::svd(A.to(Dtype::f64), full);
      const Int inner = S.size(-1);
      const Tensor product = matmul(U.narrow(-1, 0, inner) * S.unsqueeze(-2), Vt.narrow(-2, 0, inner));
      expect_near(values(product), values(A), 1e-12);
      expect_identity(matmul(U.mT(), U), 1e-12);
      expect_identity(matmul(Vt, Vt.mT()), 1e-12);
      expect(all(S.narrow(-1, 0, inner - 1) >= S.narrow(-1, 1, inner - 1)).item<bool>());
    }
  expect_near(values(linalg::svdvals(full_rank(3, 4))), {2.97371278, 1.916619507, 1.024930052}, 1e-8);
}

TEST("linalg: svd's gradients") {
  expect_near(weighted_gradient([](const Tensor& x) { return linalg::svdvals(x); }, full_rank(3, 4)),
              {0.6838016837, 0.1941238525, 0.00728406768, 0.1879762856, -0.07692979347, 0.7608310483, 0.1775512793,
               -0.334315823, -0.4017487987, 0.3179353799, 0.3105947796, -0.1566309683},
              1e-8);
  const auto two_values = [](const Tensor& x) {
    const auto [U, S, Vt] = linalg::svd(x, false);
    return matmul(U.narrow(1, 0, 2) * S.narrow(0, 0, 2), Vt.narrow(0, 0, 2));
  };
  expect_near(weighted_gradient(two_values, full_rank(3, 4)),
              {0.3809588856, 0.509789419, 0.8707623784, 0.8467127142, 0.009061921831, -0.3698269323, -0.84962861,
               -0.8604477712, -0.5476248244, 0.3101874374, 0.8590310995, 1.060108306},
              1e-8);
  expect_near(weighted_gradient(two_values, full_rank(4, 3, 0.3)),
              {0.0738176629, 0.8375083771, 0.8248261937, 0.5520448448, 0.4123956068, -0.2436614772, -1.195830262,
               -0.6322403308, -0.2481507153, 0.3870715187, 0.714172986, 1.225107072},
              1e-8);
  const auto everything = [](const Tensor& x) {
    const auto [U, S, Vt] = linalg::svd(x, false);
    return flat({U, S, Vt});
  };
  expect_gradients(everything, full_rank(3, 4));
  expect_gradients(everything, full_rank(4, 3, 0.3));
}

TEST("linalg: pinv and lstsq, also of deficient rank") {
  const auto pseudo = [](const Tensor& x) { return linalg::pinv(x); };
  expect_near(values(linalg::pinv(full_rank(3, 4))),
              {0.4893265255, -0.1610211043, -0.3518187256, 0.0669608853, 0.6904957237, 0.3286725401, 0.05115605703,
               0.1161165645, 0.399120172, 0.1997905829, -0.3680740167, -0.08957437685},
              1e-8);
  expect_near(weighted_gradient(pseudo, full_rank(4, 3, 0.3)),
              {0.8850363974, -0.9345387933, -0.6246547938, -0.4630687774, 0.5134065861, 0.4851404475, 0.3816576455,
               -0.2655309439, -0.05447479209, -0.6601713988, 0.7439009807, 0.4163074824},
              1e-8);
  expect_near(values(linalg::pinv(wave({3, 4}))),
              {0.6537819803, 0.08478612703, -0.8135567464, 0.7035070477, -0.04351587675, -0.6215037852, 0.4223617579,
               -0.1513516837, -0.1371478825, -0.05742686618, -0.1880044289, 0.4117108123},
              1e-8);
  expect_near(weighted_gradient(pseudo, wave({3, 4})),
              {-1.10183526, 1.304525109, -0.3968025595, -0.5497834216, 0.267737003, 0.3095625192, 0.1026424668,
               -0.1789627916, 1.755707897, -0.9000747897, 0.5559982805, 0.4386220951},
              1e-8);
  const std::vector<double> truncated{0.3793556387, 0.1883511787,   -0.09309934788, 0.2413643494,
                                      0.1364242035, -0.08163201419, 0.1267352131,   -0.123994824,
                                      0.2213113646, 0.1047764963,   -0.06621877725, 0.1339573785};
  expect_near(values(linalg::pinv(full_rank(3, 4), {}, 0.5)), truncated, 1e-8);
  expect_near(values(linalg::pinv(full_rank(3, 4), 1.2)), truncated, 1e-8);
  expect_gradients(pseudo, full_rank(3, 4));
  expect_gradients(pseudo, full_rank(4, 3, 0.3));
  expect_near(values(linalg::lstsq(full_rank(4, 3, 0.3), wave({4, 2}, 0.8))),
              {0.6688170418, 0.9791824385, -0.2525081798, -0.4703573785, -0.4663108581, -0.3938729587}, 1e-8);
}

TEST("linalg: norms, condition and rank") {
  const Tensor W = full_rank(3, 4);
  expect_near(linalg::matrix_norm(W).item<double>(), 3.683324537, 1e-8);
  expect_near(linalg::matrix_norm(W, "nuc").item<double>(), 5.915262339, 1e-8);
  const std::vector<std::pair<double, double>> norms{{1, 4.014012101},        {-1, 1.81024836},
                                                     {2, 2.97371278},         {-2, 1.024930052},
                                                     {INFINITY, 3.992876784}, {-INFINITY, 3.338233308}};
  for (const auto& [order, norm] : norms) {
    expect_near(linalg::matrix_norm(W, order).item<double>(), norm, 1e-8);
    expect_gradients([order = order](const Tensor& x) { return linalg::matrix_norm(x, order); }, W);
  }
  const Tensor batch = linalg::matrix_norm(stack({W, W * 2}, 1), "nuc", {0, 2}, true);
  expect_equal(batch.shape(), Shape{1, 2, 1});
  expect_near(values(batch), {5.915262339, 11.83052468}, 1e-8);
  expect_near(linalg::norm(W).item<double>(), 3.683324537, 1e-8);
  expect_near(linalg::norm(W, 1).item<double>(), 4.014012101, 1e-8);
  expect_near(linalg::norm(W, "fro").item<double>(), 3.683324537, 1e-8);
  expect_near(values(linalg::norm(W, 3, 1)), {1.737190352, 1.468332415, 2.240839319}, 1e-8);
  expect_near(linalg::norm(W(0), INFINITY).item<double>(), 1.5, 1e-12);
  expect_near(linalg::cond(W).item<double>(), 2.901381197, 1e-8);
  expect_near(linalg::cond(small(), 1).item<double>(), 5.142857143, 1e-8);
  expect_equal(linalg::matrix_rank(wave({3, 4})).item<int64_t>(), 2);
  expect_equal(linalg::matrix_rank(stack({small(), zeros({3, 3}, {.dtype = Dtype::f64})})).to_vector<int64_t>(),
               std::vector<int64_t>{3, 0});
  expect_equal(linalg::matrix_rank(W, 1.5).item<int64_t>(), 2);
  expect_error([&] { linalg::matrix_norm(W, 3); },
               "matrix_norm: the order must be 1, 2, infinity or their negatives, not 3");
  expect_error([&] { linalg::matrix_norm(W, "max"); }, "matrix_norm: the order must be \"fro\", \"nuc\" or a number");
  expect_error([&] { linalg::norm(stack({W, W}), 1); }, "linalg::norm: an order needs a vector, a matrix");
}

TEST("linalg: exponentials, powers and Cholesky's solutions") {
  const Tensor A = small();
  expect_near(values(linalg::matrix_exp(A)),
              {12.35514929, 18.51673019, -12.72215565, 12.15565237, 43.59403513, -43.96104149, 2.897287272,
               -37.59996367, 74.83292097},
              1e-8);
  expect_near(values(matrix_exp(A * 3)),
              {17047.26601, 144641.9793, -214830.266, 37226.84633, 376519.5113, -574302.5112, -35094.14332,
               -466887.3782, 735991.7565},
              1e-8);
  expect_near(weighted_gradient([](const Tensor& x) { return linalg::matrix_exp(x); }, A),
              {6.572368461, 5.455064019, 15.15496447, 36.0496753, 41.37200216, -9.265615326, -52.15012922, -56.81879616,
               -7.907191148},
              1e-8);
  expect_gradients([](const Tensor& x) { return linalg::matrix_exp(x * 0.5); }, A);
  expect_near(values(linalg::matrix_power(A, -2)),
              {0.4620408163, -0.2563265306, -0.07836734694, -0.2955102041, 0.2840816327, 0.09959183673, -0.1673469388,
               0.1387755102, 0.106122449},
              1e-8);
  expect_equal(values(linalg::matrix_power(A, 0)), values(eye(3)));
  const Tensor L = linalg::cholesky(positive());
  const std::vector<double> solved{-0.1668339309, 0.07695171934, 0.2002007171,
                                   0.03650147424, 0.08965988006, -0.006220473707};
  expect_near(values(cholesky_solve(wave({3, 2}), L)), solved, 1e-8);
  expect_near(values(cholesky_solve(wave({3, 2}), L.mT(), true)), solved, 1e-8);
  expect_near(values(matmul(cholesky_inverse(L), positive())), values(eye(3)), 1e-12);
  expect_near(values(pinverse(A)), values(inverse(A)), 1e-12);
  expect_near(linalg::vecdot(wave({3}), wave({3}, 1)).item<double>(), 1.304483020, 1e-8);
  expect_error([] { linalg::matrix_exp(ones({2, 3})); }, "matrix_exp: A needs square matrices, not cpu f32[2, 3]");
}

TEST("linalg: f32, strided inputs and jit give the eager values") {
  const Tensor A = small().detach(), B = wave({2, 3}).detach().t();
  const auto all_of = [](const Tensor& a, const Tensor& b) {
    const Tensor symmetric = matmul(a, a.mT());
    const Tensor X = linalg::solve(a, b);
    const auto [Q, R] = linalg::qr(a);
    const auto [w, V] = linalg::eigh(symmetric);
    const auto [U, S, Vt] = linalg::svd(a);
    const Tensor L = linalg::cholesky(symmetric), P = linalg::pinv(a);
    const Tensor d = linalg::det(a);
    return flat({X, Q, R, w, abs(V), abs(U), S, abs(Vt), L, P, d});
  };
  const Tensor eager = all_of(A.mT(), B);
  expect_near(values(jit(all_of)(A.mT(), B)), values(eager), 1e-12);
  const Tensor single = all_of(A.mT().to(Dtype::f32), B.to(Dtype::f32));
  expect_equal(single.dtype(), Dtype::f32);
  expect_near(values(single), values(eager), 2e-5);
  const Tensor x = A.clone().requires_grad_(), y = A.clone().requires_grad_();
  sum(jit(all_of)(x, B)).backward();
  sum(all_of(y, B)).backward();
  expect_near(values(x.grad()), values(y.grad()), 1e-9);
}

TEST("linalg: larger matrices are factored as exactly") {
  manual_seed(1);
  const Tensor A = randn({60, 60}, {.dtype = Dtype::f64}), B = randn({80, 50}, {.dtype = Dtype::f64});
  expect_near(values(matmul(A, linalg::inv(A))), values(eye(60)), 1e-9);
  const auto [w, V] = linalg::eigh(A + A.mT());
  expect_near(values(matmul(V * w, V.mT())), values(A + A.mT()), 1e-11);
  expect_identity(matmul(V.mT(), V), 1e-12);
  const auto [U, S, Vt] = linalg::svd(B, false);
  expect_near(values(matmul(U * S, Vt)), values(B), 1e-11);
  expect_identity(matmul(U.mT(), U), 1e-12);
  const auto [Q, R] = linalg::qr(B);
  expect_near(values(matmul(Q, R)), values(B), 1e-12);
  const Tensor positive_definite = matmul(A, A.mT());
  const Tensor L = linalg::cholesky(positive_definite);
  expect_near(values(matmul(L, L.mT())), values(positive_definite), 1e-11);
}
