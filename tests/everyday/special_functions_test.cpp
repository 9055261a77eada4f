#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Expected numbers are PyTorch's in f64.

namespace {

void check(const Tensor& actual, const std::vector<double>& expected, SourceLocation at = SourceLocation::here()) {
  const std::vector<double> numbers = actual.to(kDouble).contiguous().to_vector<double>();
  if (!expect_equal(numbers.size(), expected.size(), at)) return;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::isinf(expected[i])) expect_equal(numbers[i], expected[i], at);
    else expect_near(numbers[i], expected[i], 1e-11, at);
}

const Tensor x = tensor({-1.5, -0.3, 0.4, 2.0}, kDouble), p = tensor({0.5, 1.2, 3.0}, kDouble),
             q = tensor({0.1, 0.5, 0.95}, kDouble);

}  // namespace

TEST("the Airy function, its gradient and its limits") {
  const std::vector<double> at = {-20, -4.5, -4, -1.5, 0, 0.7, 2, 2.5, 10};
  check(special::airy_ai(tensor(at, kDouble)),
        {-0.17640612707798469, 0.29215278105595947, -0.070265532949289515, 0.46425657774886941, 0.35502805388781724,
         0.18916240039815008, 0.034924130423274379, 0.01572592338047049, 1.1047532552898686e-10});
  const Tensor far = special::airy_ai(tensor({10.0, 100.0}, kDouble)) /
                     tensor({1.1047532552898686e-10, 2.6344821520881845e-291}, kDouble);
  check(far, {1, 1});
  const Tensor points = tensor({-20.0, -4.5, -1.5, 0.0, 0.7, 2.5}, kDouble).requires_grad_();
  special::airy_ai(points).sum().backward();
  check(points.grad(), {0.89286285673647124, -0.5233625323157477, 0.30918696720241042, -0.2588194037928068,
                        -0.19985119158228048, -0.02625088103590323});
  check(special::airy_ai(tensor({INFINITY, -INFINITY}, kDouble)), {0, 0});
  expect(std::isnan(special::airy_ai(tensor(NAN)).item<float>()));
  expect(special::airy_ai(tensor({0, 1})).dtype() == kFloat && special::airy_ai(zeros({0})).numel() == 0);
  expect_error([] { special::airy_ai(Tensor()); }, "special.airy_ai: the input is an undefined tensor");
}

TEST("special functions") {
  check(i0(x), {1.6467231897728907, 1.0226268793515967, 1.0404017822293414, 2.279585302336067});
  check(special::i0e(x), {0.36743360905415834, 0.7575806251825477, 0.6974021705595334, 0.308508322553671});
  check(special::i1(x), {-0.9816664285779075, -0.15169384000359282, 0.2040267557335706, 1.5906368546373295});
  check(special::i1e(x), {-0.21903938742092566, -0.11237756063983881, 0.13676322429582918, 0.2152692892489377});
  check(special::bessel_j0(x), {0.5118276717359184, 0.9776262465382961, 0.9603982266595634, 0.22389077914124356});
  check(special::bessel_j1(x), {-0.5579365079100997, -0.148318816273104, 0.19602657795531878, 0.5767248077568801});
  check(special::bessel_y0(p), {-0.4445187335067066, 0.22808350322719684, 0.3768500100184375});
  check(special::bessel_y1(p), {-1.4714723926702433, -0.6211363797488479, 0.32467442479622594});
  check(special::modified_bessel_k0(p), {0.924419071227666, 0.3185082202865935, 0.03473950438627925});
  check(special::modified_bessel_k1(p), {1.6564411200033007, 0.4345923910607151, 0.04015643112819419});
  check(special::scaled_modified_bessel_k0(p), {1.5241093857739099, 1.057484532204219, 0.6977615980438517});
  check(special::scaled_modified_bessel_k1(p), {2.7310097082117855, 1.4428975520532197, 0.806563480128787});
  check(special::modified_bessel_i0(p), {1.0634833707413236, 1.393725584134064, 4.880792585865024});
  check(special::modified_bessel_i1(p), {0.25789430539089636, 0.7146779415526429, 3.9533702174026093});
  check(special::erfcx(x), {18.653886256262734, 1.4537492328427655, 0.6707877852947615, 0.2553956763105058});
  check(special::ndtri(q), {-1.2815515655446004, 0.0, 1.644853626951472});
  check(special::ndtr(x), {0.06680720126885803, 0.3820885778110474, 0.6554217416103242, 0.9772498680518208});
  check(special::log_ndtr(x * 10),
        {-116.13138484571171, -6.60772622151035, -3.1671743377489226e-05, -2.7536241186061926e-89});
  check(special::entr(x), {-INFINITY, -INFINITY, 0.366516292749662, -1.3862943611198906});
  check(special::xlog1py(q, p), {0.04054651081081644, 0.3942286801821351, 1.316979643063896});
  check(special::spherical_bessel_j0(x),
        {0.6649966577360363, 0.9850673555377986, 0.9735458557716262, 0.45464871341284085});
  check(igamma(p, p * 2), {0.8427007929497151, 0.8745111616748054, 0.938031195583341});
  check(igammac(p, p * 2), {0.15729920705028505, 0.12548883832519386, 0.061968804416658946});
  check(special::gammainc(p, q), {0.345279153981423, 0.30370014024154307, 0.07133811742987899});
  check(special::zeta(p + 1, q), {34.052975515075595, 5.3581950906986755, 1.317901826059597});
  check(mvlgamma(p + 1, 3), {2.1686775340635553, 1.6328605081543575, 5.402975080909175});
  check(special::multigammaln(p + 1, 2), {0.4515827052894549, 0.5735047123082732, 3.565098014499829});
  check(logaddexp2(p, q), {1.3138187665642793, 1.892045232113827, 3.3120657640251743});
  check(special::chebyshev_polynomial_t(q, 4), {0.9208, -0.5, 0.29604999999999954});
  check(special::chebyshev_polynomial_t(q, 1), {0.1, 0.5, 0.95});
  check(special::chebyshev_polynomial_u(q, 4), {0.8815999999999999, -1.0, 3.2020999999999993});
  check(special::chebyshev_polynomial_u(q, 1), {0.2, 1.0, 1.9});
  check(special::chebyshev_polynomial_v(q, 4), {1.2735999999999998, 0.0, 0.14309999999999928});
  check(special::chebyshev_polynomial_v(q, 1), {-0.8, 0.0, 0.8999999999999999});
  check(special::chebyshev_polynomial_w(q, 4), {0.48960000000000004, -2.0, 6.261099999999999});
  check(special::chebyshev_polynomial_w(q, 1), {1.2, 2.0, 2.9});
  check(special::shifted_chebyshev_polynomial_t(q, 4), {-0.8431999999999998, 1.0, -0.23120000000000085});
  check(special::shifted_chebyshev_polynomial_t(q, 1), {-0.8, 0.0, 0.8999999999999999});
  check(special::shifted_chebyshev_polynomial_u(q, 4), {-0.12639999999999946, 1.0, 1.7775999999999974});
  check(special::shifted_chebyshev_polynomial_u(q, 1), {-1.6, 0.0, 1.7999999999999998});
  check(special::shifted_chebyshev_polynomial_v(q, 4), {0.7696000000000017, 1.0, -0.4544000000000008});
  check(special::shifted_chebyshev_polynomial_v(q, 1), {-2.6, -1.0, 0.7999999999999998});
  check(special::shifted_chebyshev_polynomial_w(q, 4), {-1.0224, 1.0, 4.009599999999996});
  check(special::shifted_chebyshev_polynomial_w(q, 1), {-0.6000000000000001, 1.0, 2.8});
  check(special::hermite_polynomial_h(q, 4), {11.5216, 1.0, -18.287899999999997});
  check(special::hermite_polynomial_h(q, 1), {0.2, 1.0, 1.9});
  check(special::hermite_polynomial_he(q, 4), {2.9400999999999997, 1.5625, -1.6004937499999998});
  check(special::hermite_polynomial_he(q, 1), {0.1, 0.5, 0.95});
  check(special::laguerre_polynomial_l(q, 4), {0.6293375, -0.3307291666666667, -0.6301455729166666});
  check(special::laguerre_polynomial_l(q, 1), {0.9, 0.5, 0.050000000000000044});
  check(special::legendre_polynomial_p(q, 4), {0.3379375, -0.2890625, 0.5540898437499996});
  check(special::legendre_polynomial_p(q, 1), {0.1, 0.5, 0.95});
}

TEST("windows of signals") {
  set_default_dtype(kDouble);
  check(signal::windows::hann(5), {0.0, 0.49999999999999994, 1.0, 0.5000000000000001, 0.0});
  check(signal::windows::hann(4, {.sym = false}), {0.0, 0.49999999999999994, 1.0, 0.5000000000000001});
  check(signal::windows::hamming(5), {0.08000000000000007, 0.54, 1.0, 0.5400000000000001, 0.08000000000000007});
  check(signal::windows::hamming(4, {.sym = false}), {0.08000000000000007, 0.54, 1.0, 0.5400000000000001});
  check(signal::windows::blackman(5),
        {-1.3877787807814457e-17, 0.3399999999999999, 0.9999999999999999, 0.3400000000000001, -1.3877787807814457e-17});
  check(signal::windows::blackman(4, {.sym = false}),
        {-1.3877787807814457e-17, 0.3399999999999999, 0.9999999999999999, 0.3400000000000001});
  check(signal::windows::nuttall(5),
        {0.0003628000000000381, 0.22698239999999995, 1.0, 0.2269824000000001, 0.0003628000000000381});
  check(signal::windows::nuttall(4, {.sym = false}),
        {0.0003628000000000381, 0.22698239999999995, 1.0, 0.2269824000000001});
  check(signal::windows::bartlett(5), {0.0, 0.5, 1.0, 0.5, 0.0});
  check(signal::windows::bartlett(4, {.sym = false}), {0.0, 0.5, 1.0, 0.5});
  check(signal::windows::cosine(5),
        {0.3090169943749474, 0.8090169943749475, 1.0, 0.8090169943749475, 0.3090169943749475});
  check(signal::windows::cosine(4, {.sym = false}), {0.3090169943749474, 0.8090169943749475, 1.0, 0.8090169943749475});
  check(signal::windows::gaussian(5, 1.5),
        {0.41111229050718756, 0.8007374029168081, 1.0, 0.8007374029168081, 0.41111229050718756});
  check(signal::windows::gaussian(4, 1.5, {.sym = false}),
        {0.41111229050718756, 0.8007374029168081, 1.0, 0.8007374029168081});
  check(signal::windows::exponential(5, 2.0),
        {0.36787944117144233, 0.6065306597126334, 1.0, 0.6065306597126334, 0.36787944117144233});
  check(signal::windows::exponential(4, 2.0, {.sym = false}),
        {0.36787944117144233, 0.6065306597126334, 1.0, 0.6065306597126334});
  check(signal::windows::kaiser(5, 5.0),
        {0.036710892271286676, 0.5528517696991327, 1.0, 0.5528517696991327, 0.036710892271286676});
  check(signal::windows::kaiser(4, 5.0, {.sym = false}),
        {0.036710892271286676, 0.5528517696991327, 1.0, 0.5528517696991327});
  check(signal::windows::general_hamming(5, 0.6),
        {0.19999999999999996, 0.6, 1.0, 0.6000000000000001, 0.19999999999999996});
  check(signal::windows::general_hamming(4, 0.6, {.sym = false}), {0.19999999999999996, 0.6, 1.0, 0.6000000000000001});
  check(signal::windows::general_cosine(5, {0.5, 0.3, 0.2}), {0.4, 0.3, 1.0, 0.3, 0.4});
  set_default_dtype(kFloat);
}

TEST("special functions at their ends") {
  const Tensor ends = tensor({0.0, INFINITY, NAN}, kDouble);
  check(special::modified_bessel_k0(ends), {INFINITY, 0, NAN});
  check(special::i0e(ends), {1, 0, NAN});
  check(i0(ends), {1, INFINITY, NAN});
  check(special::bessel_y0(tensor({0.0, -1.0}, kDouble)), {-INFINITY, NAN});
  check(special::ndtri(tensor({0.0, 1.0, 2.0}, kDouble)), {-INFINITY, INFINITY, NAN});
  check(special::ndtri(tensor({1e-300}, kDouble)), {-37.0470962993612});
  check(special::erfcx(tensor({1e3, -30.0}, kDouble)), {0.0005641893014533876, INFINITY});
  check(igamma(tensor({0.0, 1.0, 1.0, -1.0}, kDouble), tensor({1.0, 0.0, INFINITY, 1.0}, kDouble)), {1, 0, 1, NAN});
  check(igamma(tensor({1e6}, kDouble), tensor({1e6}, kDouble)), {0.5001329807608725});
  check(special::zeta(tensor({2.0, 1.0, 0.5}, kDouble), tensor({1.0, 1.0, 1.0}, kDouble)),
        {M_PI * M_PI / 6, INFINITY, NAN});
  check(special::log_ndtr(tensor({-40.0}, kDouble)), {-804.6084420137538});
}

TEST("the incomplete gamma function has a derivative by its shape, and no second one") {
  const Tensor a = tensor({0.7, 2.0}, {.dtype = kDouble, .requires_grad = true});
  const Tensor at = tensor({1.5, 0.5}, kDouble);
  const auto f = [&](const std::vector<Tensor>& in) { return igamma(in[0], at); };
  expect(autograd::gradcheck(f, {a}));
  expect_error([&] { autograd::gradgradcheck(f, {a}); },
               "a second derivative of the incomplete gamma function by its shape");
  expect_error([&] { special::zeta(a, at).sum().backward(); },
               "special.zeta: the derivative by the exponent is not defined");
}

TEST("special functions refuse what they cannot take") {
  expect_error([] { mvlgamma(ones({1}), 0); }, "special.multigammaln: p must be at least 1, not 0");
  expect_error([] { signal::windows::hann(-1); }, "signal.windows.hann: M must not be negative: -1");
  expect_error([] { signal::windows::gaussian(3, 0); }, "signal.windows.gaussian: std must be above 0, not 0");
  expect_error([] { special::entr(Tensor()); }, "special.entr: the input is an undefined tensor");
}
