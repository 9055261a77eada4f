"""The exceptions of the generator: names that no record has."""

# Operators of a tensor and a list that also accept the list's numbers one by one, as in PyTorch: x.view(3, 2).
SEPARATE_SIZES = {"broadcast_to", "expand", "flip", "permute", "repeat", "reshape", "tile", "view"}
MAX_SEPARATE_SIZES = 6

CPP_KEYWORDS = set(
    """alignas and asm auto bool break case catch char class const continue default delete do double else enum explicit
    export extern false float for friend goto if inline int long mutable namespace new not operator or private protected
    public register return short signed sizeof static struct switch template this throw true try typedef union unsigned
    using virtual void volatile while xor bitand bitor compl""".split()
)
# torch.Tensor's method has its arguments in another order than the function.
NOT_METHODS = {"where"}
# In torch.nn.functional, or in torch, but callable under both namespaces.
IN_BOTH_NAMESPACES = ["gelu", "relu", "silu", "softmax", "log_softmax"]
NAMESPACES = {
    "torch": "",
    "torch.Tensor": "",
    "torch.nn.functional": "nn",
    "torch.linalg": "linalg",
    "torch.special": "special",
    "torch.nn.functional.": "nn",
    "prims": "prims",
}
# Functions that write into their first tensor and have no record: defined in src/ops/tensor/in_place.cpp.
HAND_WRITTEN = [
    (
        "Copies `source`, converted and broadcast, into the tensor (torch.Tensor.copy_).",
        "copy_",
        "const Operand& source",
        "source",
    ),
    ("Sets every element to a number (torch.Tensor.fill_).", "fill_", "const Operand& value", "value"),
    ("Sets every element to zero (torch.Tensor.zero_).", "zero_", "", ""),
]
# Further records that torch.<name> stands for, depending on its arguments.
OVERLOADS = {
    "max": ["prims.max_with_indices", "torch.maximum"],
    "min": ["prims.min_with_indices", "torch.minimum"],
    "median": ["prims.median_with_indices"],
    "nanmedian": ["prims.nanmedian_with_indices"],
    "scatter": ["prims.scatter_with_reduce"],
}
# Other names that PyTorch has for an operator.
ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "moveaxis": "movedim",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "row_stack": "vstack",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "true_divide": "div",
    "linalg.matmul": "matmul",
    "nn.functional.sigmoid": "sigmoid",
    "nn.functional.tanh": "tanh",
    "special.expit": "sigmoid",
    "special.gammaln": "lgamma",
    "special.psi": "digamma",
    "special.i0": "i0",
    "special.modified_bessel_i0": "i0",
    "special.modified_bessel_i1": "special.i1",
    "special.gammainc": "igamma",
    "special.gammaincc": "igammac",
}
ALIASES |= {
    f"special.{name}": name
    for name in [
        "digamma",
        "erf",
        "erfc",
        "erfinv",
        "exp2",
        "expm1",
        "log1p",
        "log_softmax",
        "logit",
        "logsumexp",
        "polygamma",
        "round",
        "sinc",
        "softmax",
        "xlogy",
    ]
}


# PyTorch's older arguments of losses: an overload with an options structure does without them.
OLDER_ARGUMENTS = {"size_average", "reduce"}
