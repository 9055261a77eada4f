// The library's functions that are composed of operators, by the names of PyTorch's operators.
#include "bridge.h"

namespace fulgurite_python {

namespace {

using At = nb::handle;
using Whole = int64_t;
using Dimension = std::optional<int64_t>;
using Given = std::optional<Tensor>;

/// A pair or a triple of tensors as a tuple of Python's.
template <class... T>
nb::tuple as_tuple(const std::tuple<T...>& tensors) {
  return std::apply([](const auto&... t) { return nb::make_tuple(t...); }, tensors);
}

using Polynomial = Tensor (*)(const Tensor&, int64_t, SourceLocation);

void bind_special(nb::module_& m) {
  namespace s = fg::special;
  const std::pair<const char*, Polynomial> polynomials[] = {
      {"special_chebyshev_polynomial_t", &s::chebyshev_polynomial_t},
      {"special_chebyshev_polynomial_u", &s::chebyshev_polynomial_u},
      {"special_chebyshev_polynomial_v", &s::chebyshev_polynomial_v},
      {"special_chebyshev_polynomial_w", &s::chebyshev_polynomial_w},
      {"special_shifted_chebyshev_polynomial_t", &s::shifted_chebyshev_polynomial_t},
      {"special_shifted_chebyshev_polynomial_u", &s::shifted_chebyshev_polynomial_u},
      {"special_shifted_chebyshev_polynomial_v", &s::shifted_chebyshev_polynomial_v},
      {"special_shifted_chebyshev_polynomial_w", &s::shifted_chebyshev_polynomial_w},
      {"special_hermite_polynomial_h", &s::hermite_polynomial_h},
      {"special_hermite_polynomial_he", &s::hermite_polynomial_he},
      {"special_laguerre_polynomial_l", &s::laguerre_polynomial_l},
      {"special_legendre_polynomial_p", &s::legendre_polynomial_p},
  };
  for (const auto& [name, function] : polynomials)
    m.def(name, [f = function](const Tensor& x, Whole n, At at) { return f(x, n, location_of(at)); });
  m.def("special_log_ndtr", [](const Tensor& x, At at) { return s::log_ndtr(x, location_of(at)); });
  m.def("special_spherical_bessel_j0",
        [](const Tensor& x, At at) { return s::spherical_bessel_j0(x, location_of(at)); });
  m.def("special_airy_ai", [](const Tensor& x, At at) { return s::airy_ai(x, location_of(at)); });
}

void bind_sizes_of_data(nb::module_& m) {
  m.def("nonzero", [](const Tensor& x, At at) { return fg::nonzero(x, location_of(at)); });
  m.def("masked_select",
        [](const Tensor& x, const Tensor& mask, At at) { return fg::masked_select(x, mask, location_of(at)); });
  m.def("unique", [](const Tensor& x, bool sorted, Dimension dim, At at) {
    return as_tuple(fg::unique(x, sorted, true, true, dim, location_of(at)));
  });
  m.def("unique_consecutive", [](const Tensor& x, Dimension dim, At at) {
    return as_tuple(fg::unique_consecutive(x, true, true, dim, location_of(at)));
  });
  m.def("histc", [](const Tensor& x, Whole bins, double min, double max, At at) {
    return fg::histc(x, bins, min, max, location_of(at));
  });
  m.def("histogram", [](const Tensor& x, Whole bins, double low, double high, const Given& weight, bool density,
                        At at) {
    const fg::HistogramOptions options{.range = {low, high}, .weight = weight.value_or(Tensor()), .density = density};
    return as_tuple(fg::histogram(x, bins, options, location_of(at)));
  });
  m.def("histogram_between", [](const Tensor& x, const Tensor& edges, const Given& weight, bool density, At at) {
    const fg::HistogramOptions options{.weight = weight.value_or(Tensor()), .density = density};
    return as_tuple(fg::histogram(x, edges, options, location_of(at)));
  });
  m.def("nonzero_static", [](const Tensor& x, Whole size, Whole fill, At at) {
    return fg::nonzero_static(x, size, fill, location_of(at));
  });
}

void bind_linalg(nb::module_& m) {
  m.def("matrix_exp", [](const Tensor& a, At at) { return fg::linalg::matrix_exp(a, location_of(at)); });
  m.def("lstsq", [](const Tensor& a, const Tensor& b, At at) { return fg::linalg::lstsq(a, b, location_of(at)); });
  m.def("matrix_power",
        [](const Tensor& a, Whole n, At at) { return fg::linalg::matrix_power(a, n, location_of(at)); });
  m.def("cholesky_solve", [](const Tensor& b, const Tensor& l, bool upper, At at) {
    return fg::cholesky_solve(b, l, upper, location_of(at));
  });
  m.def("cholesky_inverse",
        [](const Tensor& l, bool upper, At at) { return fg::cholesky_inverse(l, upper, location_of(at)); });
  m.def("triangular_solve",
        [](const Tensor& b, const Tensor& a, bool upper, bool transpose, bool unitriangular, At at) {
          return as_tuple(fg::triangular_solve(b, a, upper, transpose, unitriangular, location_of(at)));
        });
}

void bind_moves(nb::module_& m) {
  m.def("masked_scatter", [](const Tensor& x, const Tensor& mask, const Tensor& source, At at) {
    return fg::masked_scatter(x, mask, source, location_of(at));
  });
  m.def("put", [](const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate, At at) {
    return fg::put(x, index, source, accumulate, location_of(at));
  });
  m.def("index_reduce", [](const Tensor& x, Whole dim, const Tensor& index, const Tensor& source,
                           const std::string& reduce, bool include_self, At at) {
    return fg::index_reduce(x, dim, index, source, reduce, include_self, location_of(at));
  });
  m.def("diagonal_scatter", [](const Tensor& x, const Tensor& source, Whole offset, Whole dim1, Whole dim2, At at) {
    return fg::diagonal_scatter(x, source, offset, dim1, dim2, location_of(at));
  });
  m.def("as_strided",
        [](const Tensor& x, const std::vector<Whole>& size, const std::vector<Whole>& stride, Dimension offset, At at) {
          return fg::as_strided(x, fg::Dims(size), fg::Dims(stride), offset, location_of(at));
        });
  m.def("as_strided_scatter", [](const Tensor& x, const Tensor& source, const std::vector<Whole>& size,
                                 const std::vector<Whole>& stride, Dimension offset, At at) {
    return fg::as_strided_scatter(x, source, fg::Dims(size), fg::Dims(stride), offset, location_of(at));
  });
  m.def("nextafter",
        [](const Tensor& x, const Tensor& other, At at) { return fg::nextafter(x, other, location_of(at)); });
  m.def("gcd", [](const Tensor& a, const Tensor& b, At at) { return fg::gcd(a, b, location_of(at)); });
  m.def("lcm", [](const Tensor& a, const Tensor& b, At at) { return fg::lcm(a, b, location_of(at)); });
  m.def("frexp", [](const Tensor& x, At at) { return as_tuple(fg::frexp(x, location_of(at))); });
  m.def("mode", [](const Tensor& x, Whole dim, bool keepdim, At at) {
    return as_tuple(fg::mode(x, dim, keepdim, location_of(at)));
  });
}

void bind_layers(nb::module_& m) {
  m.def("cdist", [](const Tensor& a, const Tensor& b, double p, At at) { return fg::cdist(a, b, p, location_of(at)); });
  m.def("ctc_loss",
        [](const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
           Whole blank, const std::string& reduction, bool zero_infinity, At at) {
          const fg::nn::CTCLossOptions options{.blank = blank, .reduction = reduction, .zero_infinity = zero_infinity};
          return fg::nn::ctc_loss(log_probs, targets, input_lengths, target_lengths, options, location_of(at));
        });
  m.def("embedding_bag", [](const Tensor& indices, const Tensor& weight, const Given& offsets, const std::string& mode,
                            const Given& per_sample_weights, bool include_last_offset, Dimension padding_idx,
                            bool scale_grad_by_freq, At at) {
    const fg::nn::EmbeddingBagArguments arguments{.offsets = offsets.value_or(Tensor()),
                                                  .mode = mode,
                                                  .per_sample_weights = per_sample_weights.value_or(Tensor()),
                                                  .include_last_offset = include_last_offset,
                                                  .padding_idx = padding_idx,
                                                  .scale_grad_by_freq = scale_grad_by_freq};
    return fg::nn::embedding_bag(indices, weight, arguments, location_of(at));
  });
  m.def("pdist", [](const Tensor& x, double p, At at) { return fg::nn::pdist(x, p, location_of(at)); });
}

}  // namespace

void bind_compositions(nb::module_& m) {
  nb::module_ inner = m.def_submodule("compositions");
  bind_special(inner);
  bind_sizes_of_data(inner);
  bind_linalg(inner);
  bind_moves(inner);
  bind_layers(inner);
}

}  // namespace fulgurite_python
