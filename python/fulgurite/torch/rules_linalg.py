"""Rules of linear algebra: PyTorch's forms of factorizations, in which what only LAPACK needs is empty."""

from __future__ import annotations

from typing import Any

from .._core import Dtype, Tensor, Unsupported, compositions
from .aten import A
from .calls import At, call, convert, reading, with_zero_gradient
from .rules import aten_rule, rule


def _info(a: Tensor, at: At) -> Tensor:
    """LAPACK's report of success for each matrix."""
    return call("zeros", [list(a.shape[:-2])], {"dtype": Dtype.int32}, at)


def _unused(a: Tensor, at: At) -> tuple[Tensor, Tensor]:
    """In the place of an LU factorization that only PyTorch's own gradients read."""
    pivots = call("zeros", [list(a.shape[:-1])], {"dtype": Dtype.int32}, at)
    return call("zeros_like", [a], {}, at), pivots


def _need_square(a: Tensor, name: str) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise Unsupported(f"{name} of what is not square")


@rule("linalg_cholesky_ex")
def cholesky_ex(at: At, self: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The factor, and which matrices have none."""
    _need_square(self, "cholesky")
    factor = call("linalg.cholesky", [self], {"upper": upper}, at)
    bad = call("any", [call("any", [call("isnan", [factor], {}, at), [-1]], {}, at), [-1]], {}, at)
    return factor, convert(bad, Dtype.int32, at)


@rule("linalg_inv_ex")
def inv_ex(at: At, A: Tensor, *, check_errors: bool = False) -> Any:
    """The inverse."""
    _need_square(A, "inv")
    inverse = call("linalg.inv", [A], {}, at)
    return inverse, _info(A, at)


@rule("_linalg_solve_ex")
def solve_ex_parts(at: At, A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution, with an LU factorization that is not read."""
    _need_square(A, "solve")
    solution = call("linalg.solve", [A, B], {"left": left}, at)
    return (solution, *_unused(A, at), _info(A, at))


@rule("linalg_solve_ex")
def solve_ex(at: At, A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution."""
    _need_square(A, "solve")
    solution = call("linalg.solve", [A, B], {"left": left}, at)
    return solution, _info(A, at)


@rule("_linalg_det")
def det_parts(at: At, A: Tensor) -> Any:
    """The determinant, with an LU factorization that is not read."""
    return (call("linalg.det", [A], {}, at), *_unused(A, at))


@rule("_linalg_slogdet")
def slogdet_parts(at: At, A: Tensor) -> Any:
    """Likewise."""
    return (*call("linalg.slogdet", [A], {}, at), *_unused(A, at))


@rule("_linalg_eigh")
def eigh_parts(at: At, A: Tensor, UPLO: str = "L", compute_v: bool = True) -> Any:
    """Eigenvalues and eigenvectors."""
    values, vectors = call("linalg.eigh", [A, UPLO], {}, at)
    return values, vectors if compute_v else call("zeros", [[0]], {"dtype": A.dtype}, at)


@rule("_linalg_svd")
def svd_parts(at: At, A: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: Any = None) -> Any:
    """Singular values and vectors."""
    u, s, vh = call("linalg.svd", [A, full_matrices], {}, at)
    if compute_uv:
        return u, s, vh
    return (call("zeros", [[0]], {"dtype": A.dtype}, at), s, call("zeros", [[0]], {"dtype": A.dtype}, at))


def _symmetric(a: Tensor, at: At) -> Tensor:
    """The symmetric matrices whose lower triangles are those of `a`."""
    lower = call("tril", [a], {}, at)
    below = call("tril", [a, -1], {}, at)
    return call("add", [lower, call("transpose", [below, -2, -1], {}, at)], {}, at)


@aten_rule(A.linalg_pinv.atol_rtol_tensor)
@reading
def pinv(at: At, self: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The tolerances are read."""
    if any(t is not None and t.ndim for t in (atol, rtol)):
        raise Unsupported("linalg.pinv with a tolerance for each matrix")
    given = {k: float(v.item(at)) for k, v in (("atol", atol), ("rtol", rtol)) if v is not None}
    if hermitian:  # one triangle is read, but the gradient is that of the whole matrix
        change = call("detach", [call("sub", [_symmetric(self, at), self], {}, at)], {}, at)
        self = call("add", [self, change], {}, at)
    return call("linalg.pinv", [self], given, at)


@rule("linalg_matrix_exp", "matrix_exp")
def matrix_exp(at: At, self: Tensor) -> Tensor:
    """By scaling and squaring."""
    _need_square(self, "matrix_exp")
    return compositions.matrix_exp(self, at)


@rule("cholesky_solve")
def cholesky_solve(at: At, self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """With a factor that is given."""
    return compositions.cholesky_solve(self, input2, upper, at)


@rule("cholesky_inverse")
def cholesky_inverse(at: At, self: Tensor, upper: bool = False) -> Tensor:
    """Likewise."""
    _need_square(self, "cholesky_inverse")
    return compositions.cholesky_inverse(self, upper, at)


@rule("triangular_solve")
def triangular_solve(
    at: At, self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The solution, and the matrix."""
    return compositions.triangular_solve(self, A, upper, transpose, unitriangular, at)


def _ranks(a: Tensor, at: At) -> tuple[Tensor, Tensor, float]:
    """Singular values, how many of them count, and from which part of the largest one they do."""
    tolerance = max(a.shape[-2:]) * (2.0**-52 if a.dtype == Dtype.float64 else 2.0**-23)
    values = call("detach", [call("linalg.svd", [a, False], {}, at)[1]], {}, at)
    least = call("mul", [call("amax", [values, [-1], True], {}, at), tolerance], {}, at)
    return values, call("sum", [call("gt", [values, least], {}, at), [-1]], {}, at), tolerance


@rule("linalg_lstsq")
@reading
def lstsq(at: At, self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The solution; and of LAPACK's drivers that find them the residuals, the ranks and the singular values."""
    if rcond is not None or self.ndim < 2 or b.ndim != self.ndim or 0 in self.shape:
        raise Unsupported("linalg.lstsq with a tolerance, of vectors or of nothing")
    residuals = values = call("zeros", [[0]], {"dtype": self.dtype}, at)
    if driver == "gels":
        solution = compositions.lstsq(self, b, at)
        rank, is_full = call("zeros", [[0]], {"dtype": Dtype.int64}, at), True
    else:
        found, rank, tolerance = _ranks(self, at)
        inverse = call("linalg.pinv", [self], {"rtol": tolerance}, at)
        solution, is_full = call("matmul", [inverse, b], {}, at), False
        if driver in ("gelsd", "gelss"):
            values = found
            is_full = bool(call("all", [call("eq", [rank, self.shape[-1]], {}, at)], {}, at).item(at))
    if is_full and self.shape[-2] > self.shape[-1]:
        wrong = call("sub", [call("matmul", [self, solution], {}, at), b], {}, at)
        residuals = call("sum", [call("square", [wrong], {}, at), [-2]], {}, at)
    return solution, residuals, rank, values


@rule("linalg_matrix_power", "matrix_power")
def matrix_power(at: At, self: Tensor, n: int) -> Tensor:
    """By repeated squaring."""
    _need_square(self, "matrix_power")
    if n == 0:
        ones = call("eye", [self.shape[-1]], {"dtype": self.dtype}, at)
        ones = call("clone", [call("expand", [ones, list(self.shape)], {}, at)], {}, at)
        return with_zero_gradient(ones, self, at)
    return compositions.matrix_power(self, n, at)


def _reflected(at: At, input: Tensor, tau: Tensor, other: Tensor, first_to_last: bool) -> Tensor:
    """`other` multiplied from the left by the reflections I - tau v v^T, of which v has a one on the diagonal."""
    count = int(tau.shape[-1])
    below = call("tril", [input, -1], {}, at)
    identity = call("eye", [input.shape[-2], input.shape[-1]], {"dtype": input.dtype}, at)
    vectors = call("add", [below, identity], {}, at)
    for i in range(count) if first_to_last else reversed(range(count)):
        v = call("narrow", [vectors, -1, i, 1], {}, at)
        scale = call("unsqueeze", [call("narrow", [tau, -1, i, 1], {}, at), -1], {}, at)
        along = call("matmul", [call("transpose", [v, -2, -1], {}, at), other], {}, at)
        step = call("mul", [scale, call("matmul", [v, along], {}, at)], {}, at)
        other = call("sub", [other, step], {}, at)
    return other


@rule("linalg_householder_product", "orgqr")
def householder_product(at: At, input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of reflections."""
    if input.ndim < 2 or tau.ndim != input.ndim - 1:
        raise Unsupported("householder_product of such sizes")
    rows, columns = input.shape[-2:]
    if columns > rows or tau.shape[-1] > columns:
        raise Unsupported("householder_product of such sizes")
    start = call("eye", [rows, columns], {"dtype": input.dtype}, at)
    start = call("expand", [start, [*input.shape[:-2], rows, columns]], {}, at)
    out = _reflected(at, input, tau, start, False)
    return with_zero_gradient(with_zero_gradient(out, input, at), tau, at) if 0 in (out.numel(), tau.numel()) else out


@rule("ormqr")
def ormqr(at: At, self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """A matrix multiplied by the product of reflections, or by its transpose."""
    if any(t.ndim < 2 for t in (self, input3)):
        raise Unsupported("ormqr of vectors")
    rows = self.shape[-2]
    if input3.shape[-2 if left else -1] != rows:
        raise Unsupported("ormqr of such sizes")
    if left:
        return _reflected(at, self, input2, input3, transpose)
    turned = call("transpose", [input3, -2, -1], {}, at)
    return call("transpose", [_reflected(at, self, input2, turned, not transpose), -2, -1], {}, at)


def _permutations(pivots: Any, rows: int) -> Any:
    """The rows that LAPACK's exchanges put at each place, of nested lists of pivots."""
    if pivots and isinstance(pivots[0], list):
        return [_permutations(part, rows) for part in pivots]
    order = list(range(rows))
    for i, other in enumerate(pivots):
        order[i], order[other - 1] = order[other - 1], order[i]
    return order


def _flat(numbers: Any) -> list[int]:
    return [n for part in numbers for n in _flat(part)] if isinstance(numbers, list) else [numbers]


@reading
def _order(pivots: Tensor, rows: int, at: At) -> Tensor:
    """[..., rows]; the pivots are read."""
    if pivots.numel() == 0:
        numbers = call("arange", [rows], {"dtype": Dtype.int64}, at)
        return call("expand", [numbers, [*pivots.shape[:-1], rows]], {}, at)
    order = _flat(_permutations(pivots.tolist(), rows))
    return call("reshape", [call("prims.integer_tensor", [order], {}, at), [*pivots.shape[:-1], rows]], {}, at)


def _triangles(lu: Tensor, at: At) -> tuple[Tensor, Tensor]:
    rows, columns = lu.shape[-2:]
    least = min(rows, columns)
    ones = call("eye", [rows, least], {"dtype": lu.dtype}, at)
    left = call("narrow", [lu, -1, 0, least], {}, at)
    lower = call("add", [call("tril", [left, -1], {}, at), ones], {}, at)
    return lower, call("triu", [call("narrow", [lu, -2, 0, least], {}, at)], {}, at)


@rule("lu_unpack")
def lu_unpack(at: At, LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The permutation matrices and the triangles."""
    nothing = call("zeros", [[0]], {"dtype": LU_data.dtype}, at)
    if LU_data.ndim < 2:
        raise Unsupported("lu_unpack of a vector")
    matrix = nothing
    if unpack_pivots:
        rows = int(LU_data.shape[-2])
        order = _order(LU_pivots, rows, at)
        numbers = call("unsqueeze", [call("arange", [rows], {"dtype": Dtype.int64}, at), -1], {}, at)
        matrix = convert(call("eq", [numbers, call("unsqueeze", [order, -2], {}, at)], {}, at), LU_data.dtype, at)
    return (matrix, *(_triangles(LU_data, at) if unpack_data else (nothing, nothing)))


@rule("linalg_lu_solve")
def linalg_lu_solve(
    at: At, LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """A solution with a factorization that is given."""
    if B.ndim < 2:
        raise Unsupported("lu_solve of nothing")
    matrix, lower, upper = lu_unpack(at, LU, pivots)
    transposed = adjoint == left  # of P L U X = B; from the right, both sides are transposed
    right = B if left else call("transpose", [B, -2, -1], {}, at)
    first, last = (upper, lower) if transposed else (lower, upper)

    def solved(a: Tensor, b: Tensor) -> Tensor:
        given = {"upper": (a is upper) != transposed, "unitriangular": a is lower}
        a = call("transpose", [a, -2, -1], {}, at) if transposed else a
        return call("linalg.solve_triangular", [a, b], given, at)

    if not transposed:
        right = call("matmul", [call("transpose", [matrix, -2, -1], {}, at), right], {}, at)
    out = solved(last, solved(first, right))
    out = call("matmul", [matrix, out], {}, at) if transposed else out
    return out if left else call("transpose", [out, -2, -1], {}, at)


@rule("lu_solve")
def lu_solve(at: At, self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Likewise."""
    return linalg_lu_solve(at, LU_data, LU_pivots, self)
