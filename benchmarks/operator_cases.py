"""The cases of eager_operators.py: for every operator that PyTorch has too, its arguments as a function of the number
of elements.

A case is (arguments, keywords, PyTorch's name where it is another one). Tensors are described, not made: both programs
make their own."""

import math


class T(dict):
    """A tensor: sizes, a dtype (that of the case where none is given), and how it is filled. One of two or more
    dimensions is stored with its last two exchanged in the transposed cases, unless it `stays`."""

    def __init__(self, *sizes, low=-2.0, high=2.0, dtype=None, values="uniform", stays=False):
        super().__init__(tensor=list(sizes), low=float(low), high=float(high), dtype=dtype, values=values, stays=stays)


def indices(*sizes, below, stays=False):
    return T(*sizes, low=0, high=below, dtype="i64", values="integers", stays=stays)


def truths(*sizes):
    return T(*sizes, low=0, high=2, dtype="bool", values="integers")


def matrix(n):
    rows = {100: 10, 1000: 25, 10_000: 100, 100_000: 250, 1_000_000: 1000, 10_000_000: 2500}.get(
        n, max(1, math.isqrt(n))
    )
    return rows, n // rows


def images(n):
    """Samples, channels, height, width; about n elements."""
    known = {
        100: (1, 4, 5, 5),
        1000: (1, 8, 11, 11),
        10_000: (2, 16, 18, 18),
        100_000: (2, 32, 40, 40),
        1_000_000: (4, 64, 64, 64),
        10_000_000: (16, 64, 100, 100),
    }
    side = max(1, math.isqrt(n // 4))
    return known.get(n, (1, 4, side, side))


def signals(n):
    samples, channels, height, width = images(n)
    return samples, channels, height * width


def volumes(n):
    samples, channels, height, width = images(n)
    return samples, channels, 4, max(3, height // 2), max(3, width // 2)


def rows_of(n, width=768):
    """Rows as long as a transformer's, where there are enough elements for some."""
    width = min(width, max(10, n // 10))
    return max(1, n // width), width


CASES = {}
# Work that grows faster than the number of elements, or that takes seconds a call: the largest size measured.
LARGEST = {}


def case(*names, largest=None):
    def keep(build):
        for name in names:
            CASES.setdefault(name, []).append(build)
            if largest:
                LARGEST[name] = largest
        return build

    return keep


def unary(names, low=-2, high=2, **more):
    for name in names.split():
        case(name)(lambda n: ((T(*matrix(n), low=low, high=high, **more),), {}))


unary(
    "torch.abs torch.neg torch.exp torch.exp2 torch.expm1 torch.square torch.sin torch.cos torch.tan torch.atan "
    "torch.sinh "
    "torch.cosh torch.tanh torch.erf torch.erfc torch.sigmoid torch.floor torch.ceil torch.round torch.trunc "
    "torch.sign torch.signbit "
    "torch.isnan torch.isinf torch.isfinite torch.logical_not torch.asinh torch.frac torch.deg2rad torch.rad2deg "
    "torch.nan_to_num "
    "torch.nn.functional.relu torch.nn.functional.silu torch.nn.functional.gelu torch.nn.functional.hardtanh "
    "torch.nn.functional.relu6 torch.nn.functional.hardsigmoid torch.nn.functional.hardswish "
    "torch.nn.functional.hardshrink "
    "torch.nn.functional.softshrink torch.nn.functional.tanhshrink torch.nn.functional.leaky_relu "
    "torch.nn.functional.elu "
    "torch.nn.functional.celu torch.nn.functional.selu torch.nn.functional.softplus torch.nn.functional.mish "
    "torch.nn.functional.logsigmoid torch.nn.functional.softsign torch.nn.functional.glu torch.clone torch.detach "
    "torch.zeros_like torch.ones_like torch.empty_like torch.rand_like torch.randn_like torch.Tensor.contiguous "
    "torch.t "
    "torch.tril torch.triu torch.trace torch.diagonal torch.diag torch.flatten torch.squeeze torch.count_nonzero "
    "torch.sum torch.mean torch.any torch.all torch.amax torch.amin torch.argmax torch.argmin torch.max torch.min "
    "torch.var torch.std torch.var_mean torch.std_mean torch.norm torch.linalg.vector_norm "
    "torch.nn.functional.normalize "
    "torch.nn.functional.dropout torch.unbind"
)
unary(
    "torch.log torch.log2 torch.log10 torch.log1p torch.sqrt torch.rsqrt torch.reciprocal torch.lgamma torch.digamma",
    low=0.1,
    high=4,
)
unary("torch.asin torch.acos torch.atanh torch.erfinv", low=-0.9, high=0.9)
unary("torch.acosh", low=1.1, high=4)
unary("torch.logit", low=0.05, high=0.95)
unary("torch.bitwise_not", low=0, high=100, dtype="i64", values="integers")
unary("torch.prod", low=0.9, high=1.1)
case("torch.nn.functional.gelu")(lambda n: ((T(*matrix(n)),), {"approximate": "tanh"}))
case("torch.polygamma")(lambda n: ((1, T(*matrix(n), low=0.1, high=4)), {}))
case("torch.nn.functional.threshold")(lambda n: ((T(*matrix(n)), 0.1, 0.5), {}))
case("torch.nn.functional.prelu")(lambda n: ((T(*matrix(n)), T(matrix(n)[1])), {}))
case("prims.convert_element_type")(lambda n: ((T(*matrix(n)), {"as_dtype": "f64"}), {}, "torch.Tensor.to"))
case("prims.convert_element_type")(lambda n: ((T(*matrix(n)), {"as_dtype": "bf16"}), {}, "torch.Tensor.to"))
case("prims.convert_element_type")(lambda n: ((T(*matrix(n)), {"as_dtype": "f32"}), {}, "torch.Tensor.to"))
case("prims.convert_element_type")(lambda n: ((T(*matrix(n)), {"as_dtype": "i64"}), {}, "torch.Tensor.to"))


def binary(names, **filled):
    for name in names.split():
        case(name)(lambda n: ((T(*matrix(n), **filled), T(*matrix(n), **filled)), {}))


binary(
    "torch.add torch.sub torch.mul torch.maximum torch.minimum torch.atan2 torch.eq torch.ne torch.lt torch.le "
    "torch.gt torch.ge "
    "torch.logical_and torch.logical_or torch.logical_xor torch.copysign torch.heaviside torch.fmax torch.fmin "
    "torch.hypot "
    "torch.logaddexp torch.nn.functional.mse_loss torch.nn.functional.l1_loss torch.nn.functional.smooth_l1_loss "
    "torch.nn.functional.huber_loss torch.nn.functional.kl_div torch.Tensor.view_as torch.Tensor.reshape_as "
    "torch.Tensor.expand_as "
    "torch.nn.functional.pairwise_distance torch.nn.functional.cosine_similarity torch.clamp_min torch.clamp_max"
)
binary(
    "torch.div torch.pow torch.remainder torch.fmod torch.floor_divide torch.xlogy "
    "torch.nn.functional.poisson_nll_loss",
    low=0.5,
    high=3,
)
binary(
    "torch.nn.functional.binary_cross_entropy torch.nn.functional.binary_cross_entropy_with_logits", low=0.05, high=0.95
)
binary("torch.bitwise_and torch.bitwise_or torch.bitwise_xor", low=0, high=1000, dtype="i64", values="integers")
binary("torch.bitwise_left_shift torch.bitwise_right_shift", low=0, high=20, dtype="i64", values="integers")
for _name in ("torch.add", "torch.mul", "torch.div", "torch.pow", "torch.eq", "torch.lt", "torch.remainder"):
    case(_name)(lambda n: ((T(*matrix(n), low=0.5, high=3), 2.5), {}))
for _name in ("torch.add", "torch.mul"):  # a row added to every row, as biases are
    case(_name)(lambda n: ((T(*matrix(n)), T(matrix(n)[1])), {}))
    case(_name)(lambda n: ((T(*matrix(n)), T(matrix(n)[0], 1, stays=True)), {}))
case("torch.pow")(lambda n: ((T(*matrix(n)), 2), {}))
case("torch.div")(lambda n: ((T(*matrix(n)), T(*matrix(n), low=0.5, high=3)), {"rounding_mode": "floor"}))
case("torch.where")(lambda n: ((truths(*matrix(n)), T(*matrix(n)), T(*matrix(n))), {}))
case("torch.clamp")(lambda n: ((T(*matrix(n)), -0.5, 0.5), {}))
case("torch.masked_fill")(lambda n: ((T(*matrix(n)), truths(*matrix(n)), 0.5), {}))
case("torch.lerp")(lambda n: ((T(*matrix(n)), T(*matrix(n)), 0.3), {}))
case("torch.addcmul")(lambda n: ((T(*matrix(n)), T(*matrix(n)), T(*matrix(n))), {}))
case("torch.addcdiv")(lambda n: ((T(*matrix(n)), T(*matrix(n)), T(*matrix(n), low=0.5, high=3)), {}))

# Reductions and scans over the last and the first dimension.
for _name in (
    "torch.sum",
    "torch.mean",
    "torch.any",
    "torch.all",
    "torch.amax",
    "torch.amin",
    "torch.argmax",
    "torch.argmin",
    "torch.var",
    "torch.std",
    "torch.var_mean",
    "torch.std_mean",
    "torch.logsumexp",
    "torch.cumsum",
    "torch.cumprod",
    "torch.logcumsumexp",
    "torch.cummax",
    "torch.cummin",
    "torch.softmax",
    "torch.log_softmax",
):
    for _dim in (-1, 0):
        case(_name)(lambda n, dim=_dim: ((T(*matrix(n), low=0.5, high=1.5), dim), {}))
for _dim in (-1, 0):
    case("torch.prod")(lambda n, dim=_dim: ((T(*matrix(n), low=0.9, high=1.1), dim), {}))
    case("prims.max_with_indices")(lambda n, dim=_dim: ((T(*matrix(n)), dim), {}, "torch.max"))
    case("prims.min_with_indices")(lambda n, dim=_dim: ((T(*matrix(n)), dim), {}, "torch.min"))
    case("torch.linalg.vector_norm")(lambda n, dim=_dim: ((T(*matrix(n)), 2, dim), {}))
    case("torch.norm")(lambda n, dim=_dim: ((T(*matrix(n)), 2, dim), {}))
    case("torch.nn.functional.softmin")(lambda n, dim=_dim: ((T(*matrix(n)), dim), {}))
    case("torch.unbind")(lambda n, dim=_dim: ((T(*matrix(n)), dim), {}))
case("torch.linalg.vector_norm")(lambda n: ((T(*matrix(n)), 1), {}))

# Orders. Rows are as long as the matrix is wide.
for _name in ("torch.sort", "torch.argsort"):
    case(_name, largest=1_000_000)(lambda n: ((T(*matrix(n)),), {}))
    case(_name, largest=1_000_000)(lambda n: ((T(*matrix(n)), 0), {}))
case("torch.sort", largest=1_000_000)(lambda n: ((T(n),), {}))
case("torch.sort", largest=1_000_000)(lambda n: ((T(*matrix(n)),), {"stable": True}))
case("torch.msort", largest=1_000_000)(lambda n: ((T(*matrix(n)),), {}))
case("torch.topk", largest=1_000_000)(lambda n: ((T(*matrix(n)), 10), {}))
case("torch.kthvalue", largest=1_000_000)(lambda n: ((T(*matrix(n)), 5), {}))
for _name, _theirs in (
    ("prims.median_with_indices", "torch.median"),
    ("prims.nanmedian_with_indices", "torch.nanmedian"),
):
    case(_name, largest=1_000_000)(lambda n, theirs=_theirs: ((T(*matrix(n)), -1), {}, theirs))
for _name in ("torch.median", "torch.nanmedian"):
    case(_name, largest=1_000_000)(lambda n: ((T(*matrix(n)),), {}))
case("torch.searchsorted", largest=1_000_000)(lambda n: ((T(1000, values="sorted"), T(*matrix(n))), {}))
case("torch.bucketize", largest=1_000_000)(lambda n: ((T(*matrix(n)), T(1000, values="sorted")), {}))

# Creation.
for _name in ("torch.zeros", "torch.ones", "torch.empty", "torch.rand", "torch.randn"):
    case(_name)(lambda n: ((list(matrix(n)),), {"dtype": {"as_dtype": None}}))
case("torch.full")(lambda n: ((list(matrix(n)), 1.5), {"dtype": {"as_dtype": None}}))
case("torch.full_like")(lambda n: ((T(*matrix(n)), 1.5), {}))
case("torch.arange")(lambda n: ((0, n), {"dtype": {"as_dtype": "f32"}}))
case("torch.arange")(lambda n: ((0, n), {}))
case("torch.linspace")(lambda n: ((0.0, 1.0, n), {"dtype": {"as_dtype": None}}))
case("torch.eye")(lambda n: ((matrix(n)[0], matrix(n)[1]), {"dtype": {"as_dtype": None}}))
case("torch.randint")(lambda n: ((0, 100, list(matrix(n))), {}))

# Shapes, joins, pieces.
case("torch.reshape")(lambda n: ((T(*matrix(n)), [n]), {}))
case("torch.Tensor.view")(lambda n: ((T(*matrix(n), stays=True), [n]), {}))
case("torch.unflatten")(lambda n: ((T(*matrix(n)), 1, [5, -1]), {}))
case("torch.movedim")(lambda n: ((T(*images(n)), [1], [3]), {}))
case("torch.permute")(lambda n: ((T(*images(n)), [0, 2, 3, 1]), {}))
case("torch.transpose")(lambda n: ((T(*matrix(n)), 0, 1), {}))
case("torch.broadcast_to")(lambda n: ((T(*matrix(n)), [2, *matrix(n)]), {}))
case("torch.Tensor.expand")(lambda n: ((T(*matrix(n)), [2, *matrix(n)]), {}))
case("torch.unsqueeze")(lambda n: ((T(*matrix(n)), 0), {}))
case("torch.select")(lambda n: ((T(*matrix(n)), 0, 1), {}))
case("torch.narrow")(lambda n: ((T(*matrix(n)), 1, 1, 5), {}))
for _name in ("torch.cat", "torch.stack"):
    for _dim in (0, 1):
        case(_name)(lambda n, dim=_dim: (([T(*matrix(n // 2)), T(*matrix(n // 2))], dim), {}))
for _name in ("torch.hstack", "torch.vstack"):
    case(_name)(lambda n: (([T(*matrix(n // 2)), T(*matrix(n // 2))],), {}))
case("torch.nn.functional.pad")(lambda n: ((T(*matrix(n)), [1, 1, 2, 2]), {}))
for _mode in ("reflect", "replicate", "circular"):
    case("torch.nn.functional.pad")(lambda n, mode=_mode: ((T(*images(n)), [1, 1, 2, 2], mode), {}))
case("torch.constant_pad_nd")(lambda n: ((T(*matrix(n)), [1, 1, 2, 2], 0.5), {}))
case("torch.split")(lambda n: ((T(*matrix(n)), 5), {}))
case("torch.split_with_sizes")(lambda n: ((T(*matrix(n)), [5, matrix(n)[0] - 5]), {}))
case("torch.chunk")(lambda n: ((T(*matrix(n)), 4), {}))
case("torch.flip")(lambda n: ((T(*matrix(n)), [0]), {}))
case("torch.flip")(lambda n: ((T(*matrix(n)), [1]), {}))
case("torch.roll")(lambda n: ((T(*matrix(n)), [3], [1]), {}))
case("torch.roll")(lambda n: ((T(*matrix(n)), [3]), {}))
case("torch.Tensor.repeat")(lambda n: ((T(*matrix(n // 4)), [2, 2]), {}))
case("torch.tile")(lambda n: ((T(*matrix(n // 4)), [2, 2]), {}))
case("torch.repeat_interleave")(lambda n: ((T(*matrix(n // 4)), 4, 0), {}))
case("torch.repeat_interleave")(lambda n: ((T(*matrix(n // 4)), 4, 1), {}))
case("torch.meshgrid")(lambda n: (([T(matrix(n)[0]), T(matrix(n)[1])],), {"indexing": "ij"}))
case("torch.nn.functional.pixel_shuffle")(lambda n: ((T(*images(n)), 2), {}))
case("torch.nn.functional.pixel_unshuffle")(
    lambda n: ((T(images(n)[0], images(n)[1], 2 * max(1, images(n)[2] // 4), 2 * images(n)[3]), 2), {})
)
case("torch.channel_shuffle")(lambda n: ((T(*images(n)), 2), {}))
case("torch.diag_embed", largest=1_000_000)(lambda n: ((T(5, math.isqrt(n // 5)),), {}))
case("torch.diag", largest=1_000_000)(lambda n: ((T(math.isqrt(n)),), {}))
case("torch.Tensor.unfold")(lambda n: ((T(*matrix(n)), 1, 4, 2), {}))
case("torch.Tensor.__getitem__")(lambda n: ((T(*matrix(n)), [{"slice": [1, 9, 2]}]), {}))
case("torch.Tensor.__getitem__")(lambda n: ((T(*matrix(n)), [indices(matrix(n)[0], below=matrix(n)[0])]), {}))

# Indices.
case("torch.index_select")(lambda n: ((T(*matrix(n)), 0, indices(matrix(n)[0], below=matrix(n)[0])), {}))
case("torch.index_select")(lambda n: ((T(*matrix(n)), 1, indices(matrix(n)[1], below=matrix(n)[1])), {}))
for _dim in (0, 1):
    case("torch.gather")(lambda n, dim=_dim: ((T(*matrix(n)), dim, indices(*matrix(n), below=matrix(n)[dim])), {}))
    case("torch.scatter")(
        lambda n, dim=_dim: ((T(*matrix(n)), dim, indices(*matrix(n), below=matrix(n)[dim]), T(*matrix(n))), {})
    )
    case("torch.scatter_add")(
        lambda n, dim=_dim: ((T(*matrix(n)), dim, indices(*matrix(n), below=matrix(n)[dim]), T(*matrix(n))), {})
    )
    case("torch.index_add")(
        lambda n, dim=_dim: ((T(*matrix(n)), dim, indices(matrix(n)[dim], below=matrix(n)[dim]), T(*matrix(n))), {})
    )
    case("torch.index_copy")(
        lambda n, dim=_dim: ((T(*matrix(n)), dim, indices(matrix(n)[dim], below=matrix(n)[dim]), T(*matrix(n))), {})
    )
    case("torch.index_fill")(
        lambda n, dim=_dim: ((T(*matrix(n)), dim, indices(matrix(n)[dim], below=matrix(n)[dim]), 0.5), {})
    )
    case("torch.take_along_dim")(
        lambda n, dim=_dim: ((T(*matrix(n)), indices(*matrix(n), below=matrix(n)[dim]), dim), {})
    )
for _reduce in ("sum", "amax", "mean"):
    case("torch.scatter_reduce")(
        lambda n, reduce=_reduce: (
            (T(*matrix(n)), 1, indices(*matrix(n), below=matrix(n)[1]), T(*matrix(n)), reduce),
            {},
        )
    )
case("torch.take")(lambda n: ((T(*matrix(n)), indices(*matrix(n), below=n)), {}))
case("torch.select_scatter")(lambda n: ((T(*matrix(n)), T(matrix(n)[1]), 0, 1), {}))
case("torch.slice_scatter")(lambda n: ((T(*matrix(n)), T(4, matrix(n)[1]), 0, 1, 5), {}))
case("torch.index_put")(lambda n: ((T(*matrix(n)), [indices(matrix(n)[0], below=matrix(n)[0])], T(*matrix(n))), {}))
case("torch.index_put")(
    lambda n: ((T(*matrix(n)), [indices(matrix(n)[0], below=matrix(n)[0])], T(*matrix(n)), True), {})
)
case("torch.nn.functional.embedding")(lambda n: ((indices(rows_of(n)[0], below=1000), T(1000, rows_of(n)[1])), {}))
case("torch.nn.functional.one_hot")(lambda n: ((indices(n // 10, below=10), 10), {}))

# Products: n elements in a square matrix.
_PRODUCT = 1_000_000


def square(n):
    return (math.isqrt(n),) * 2


for _name in ("torch.matmul", "torch.mm", "torch.inner"):
    case(_name, largest=_PRODUCT)(lambda n: ((T(*square(n)), T(*square(n))), {}))
for _name in ("torch.nn.functional.linear",):
    case(_name, largest=_PRODUCT)(lambda n: ((T(*square(n)), T(*square(n)), T(square(n)[0])), {}))
case("torch.bmm", largest=_PRODUCT)(lambda n: ((T(4, *square(n // 4)), T(4, *square(n // 4))), {}))
case("torch.mv")(lambda n: ((T(*matrix(n)), T(matrix(n)[1])), {}))
case("torch.dot")(lambda n: ((T(n), T(n)), {}))
case("torch.outer")(lambda n: ((T(matrix(n)[0]), T(matrix(n)[1])), {}))
case("torch.addmm", largest=_PRODUCT)(lambda n: ((T(*square(n)), T(*square(n)), T(*square(n))), {}))
case("torch.addmv")(lambda n: ((T(matrix(n)[0]), T(*matrix(n)), T(matrix(n)[1])), {}))
case("torch.baddbmm", largest=_PRODUCT)(
    lambda n: ((T(4, *square(n // 4)), T(4, *square(n // 4)), T(4, *square(n // 4))), {})
)
case("torch.addbmm", largest=_PRODUCT)(
    lambda n: ((T(*square(n // 4)), T(4, *square(n // 4)), T(4, *square(n // 4))), {})
)
case("torch.kron")(lambda n: ((T(*matrix(n // 25)), T(5, 5)), {}))
case("torch.linalg.multi_dot", largest=_PRODUCT)(lambda n: (([T(*square(n)), T(*square(n)), T(*square(n))],), {}))
case("torch.nn.functional.bilinear", largest=10_000)(
    lambda n: ((T(*square(n)), T(*square(n)), T(8, square(n)[0], square(n)[0])), {})
)
case("torch.einsum", largest=_PRODUCT)(lambda n: (("ij,jk->ik", [T(*square(n)), T(*square(n))]), {}))
case("torch.einsum", largest=_PRODUCT)(lambda n: (("bij,bjk->bik", [T(4, *square(n // 4)), T(4, *square(n // 4))]), {}))
case("torch.einsum")(lambda n: (("ij,ij->i", [T(*matrix(n)), T(*matrix(n))]), {}))
case("torch.tensordot", largest=_PRODUCT)(lambda n: ((T(*square(n)), T(*square(n)), 1), {}))


@case("torch.nn.functional.scaled_dot_product_attention", largest=1_000_000)
def attention(n):
    length = max(4, round((n / 64) ** 0.5 / 8) * 8)
    heads = max(1, n // (length * 64))
    return (tuple(T(1, heads, length, 64) for _ in range(3)), {"is_causal": True})


# Normalizations and losses.
for _name in ("torch.nn.functional.layer_norm", "torch.nn.functional.rms_norm"):
    case(_name)(lambda n: ((T(*rows_of(n)), [rows_of(n)[1]], T(rows_of(n)[1])), {}))
case("torch.nn.functional.batch_norm")(
    lambda n: ((T(*images(n)), *(T(images(n)[1], low=0.5, high=1.5) for _ in range(4))), {"training": True})
)
case("torch.nn.functional.batch_norm")(
    lambda n: ((T(*images(n)), *(T(images(n)[1], low=0.5, high=1.5) for _ in range(4))), {})
)
case("torch.nn.functional.instance_norm")(lambda n: ((T(*images(n)),), {}))
case("torch.nn.functional.group_norm")(lambda n: ((T(*images(n)), 4, T(images(n)[1]), T(images(n)[1])), {}))
case("torch.nn.functional.local_response_norm")(lambda n: ((T(*images(n)), 3), {}))
for _name in ("torch.nn.functional.nll_loss", "torch.nn.functional.cross_entropy"):
    case(_name)(lambda n: ((T(*matrix(n)), indices(matrix(n)[0], below=matrix(n)[1])), {}))
case("torch.nn.functional.cross_entropy")(
    lambda n: ((T(*matrix(n)), indices(matrix(n)[0], below=matrix(n)[1])), {"label_smoothing": 0.1})
)
case("torch.nn.functional.gaussian_nll_loss")(
    lambda n: ((T(*matrix(n)), T(*matrix(n)), T(*matrix(n), low=0.5, high=2)), {})
)
case("torch.nn.functional.triplet_margin_loss")(lambda n: (tuple(T(*matrix(n)) for _ in range(3)), {}))
case("torch.nn.functional.margin_ranking_loss")(
    lambda n: ((T(*matrix(n)), T(*matrix(n)), T(*matrix(n), values="signs")), {})
)
case("torch.nn.functional.hinge_embedding_loss")(lambda n: ((T(*matrix(n)), T(*matrix(n), values="signs")), {}))

# Windows: images of up to 64 channels.
_CONVOLUTION = 1_000_000


def channels_of(n):
    return images(n)[1]


case("torch.nn.functional.conv1d", largest=_CONVOLUTION)(
    lambda n: ((T(*signals(n)), T(channels_of(n), channels_of(n), 3, stays=True)), {"padding": 1})
)
for _kernel in (1, 3):
    case("torch.nn.functional.conv2d", largest=_CONVOLUTION)(
        lambda n, k=_kernel: ((T(*images(n)), T(channels_of(n), channels_of(n), k, k, stays=True)), {"padding": k // 2})
    )
case("torch.nn.functional.conv2d", largest=_CONVOLUTION)(  # a stem: three channels in, 7x7, stride 2
    lambda n: (
        (T(images(n)[0], 3, 4 * images(n)[2], 4 * images(n)[3]), T(channels_of(n), 3, 7, 7, stays=True)),
        {"padding": 3, "stride": 2},
    )
)
case("torch.nn.functional.conv2d", largest=_CONVOLUTION)(  # depthwise
    lambda n: ((T(*images(n)), T(channels_of(n), 1, 3, 3, stays=True)), {"padding": 1, "groups": channels_of(n)})
)
case("torch.nn.functional.conv3d", largest=_CONVOLUTION)(
    lambda n: ((T(*volumes(n)), T(channels_of(n), channels_of(n), 3, 3, 3, stays=True)), {"padding": 1})
)
case("torch.nn.functional.conv_transpose1d", largest=_CONVOLUTION)(
    lambda n: ((T(*signals(n)), T(channels_of(n), channels_of(n), 3, stays=True)), {"stride": 2})
)
case("torch.nn.functional.conv_transpose2d", largest=_CONVOLUTION)(
    lambda n: ((T(*images(n)), T(channels_of(n), channels_of(n), 2, 2, stays=True)), {"stride": 2})
)
case("torch.nn.functional.conv_transpose3d", largest=_CONVOLUTION)(
    lambda n: ((T(*volumes(n)), T(channels_of(n), channels_of(n), 2, 2, 2, stays=True)), {"stride": 2})
)
for _d, _shape in ((1, signals), (2, images), (3, volumes)):
    for _name in (
        f"torch.nn.functional.max_pool{_d}d",
        f"torch.nn.functional.max_pool{_d}d_with_indices",
        f"torch.nn.functional.avg_pool{_d}d",
    ):
        case(_name)(
            lambda n, shape=_shape, d=_d: (
                (T(*shape(n)), [1, 3, 3][-d:] if d == 3 else [2] * d),
                {"stride": [1, 2, 2][-d:]},
            )
        )
    for _name in (
        f"torch.nn.functional.adaptive_avg_pool{_d}d",
        f"torch.nn.functional.adaptive_max_pool{_d}d",
        f"torch.nn.functional.adaptive_max_pool{_d}d_with_indices",
    ):
        case(_name)(lambda n, shape=_shape, d=_d: ((T(*shape(n)), [1, 2, 2][-d:]), {}))
case("torch.nn.functional.unfold")(lambda n: ((T(*images(n // 9 if n > 900 else n)), [3, 3]), {}))


@case("torch.nn.functional.fold")
def fold(n):
    samples, channels, height, width = images(n // 9 if n > 900 else n)
    return ((T(samples, channels * 9, (height - 2) * (width - 2)), [height, width], [3, 3]), {})


for _mode in ("nearest", "bilinear", "bicubic"):
    case("torch.nn.functional.interpolate")(
        lambda n, mode=_mode: ((T(*images(n // 10 if n > 900 else n)),), {"scale_factor": [2.0, 2.0], "mode": mode})
    )


@case("torch.nn.functional.grid_sample", largest=1_000_000)
def grid_sample(n):
    samples, channels, height, width = images(n)
    return ((T(*images(n)), T(samples, height, width, 2, low=-1, high=1, stays=True)), {"align_corners": False})


case("torch.nn.functional.affine_grid")(
    lambda n: ((T(images(n)[0], 2, 3), [images(n)[0], 3, images(n)[2] * 2, images(n)[3] * 2]), {"align_corners": False})
)
