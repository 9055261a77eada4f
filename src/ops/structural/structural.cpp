// Structural symbols of traces: return, unpacking, deletions, get_grad and put_grad, and the guards of prologues.
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {

namespace {

void check_same_type(const Tensor& value, const Tensor& source) {
  require(value.shape() == source.shape(), "shapes differ: ", value.shape(), " and ", source.shape());
  require(value.dtype() == source.dtype(), "dtypes differ: ", value.dtype(), " and ", source.dtype());
}

}  // namespace

constinit const Symbol prims_return_symbol{
    .signature = "prims.return() -> ()",
    .documentation = "Ends a trace: its arguments are the results.",
    .kind = SymbolKind::returning,
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_del_symbol{
    .signature = "prims.del() -> ()",
    .documentation = "The values are not used any more; their memory may be used again.",
    .kind = SymbolKind::deletion,
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_unpack_sequence_symbol{
    .signature = "prims.unpack_sequence() -> ()",
    .documentation = "The items of a collection.",
    .kind = SymbolKind::unpacking,
    .traits = {.structural = true},
};

constinit const Symbol prims_clear_collection_symbol{
    .signature = "prims.clear_collection() -> ()",
    .documentation = "Empties a collection, so that it does not keep its items alive.",
    .kind = SymbolKind::clearing,
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_copy__symbol{
    .signature = "prims.copy_(Tensor source, Tensor destination) -> Tensor",
    .documentation = "Writes source into destination's memory. The sizes and dtypes are equal.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &source = a[0].tensor(), &destination = a[1].tensor();
          check_same_type(source, destination);
          out.push_back(like(destination, destination.shape()));
        },
    .gradient = [](Gradient& g) { g.set(0, g.cotangent()); },
    .python = "{1}.copy_({0})",
    .kind = SymbolKind::writing,
    .traits = {.effects = Effect::memory},
};

constinit const Symbol prims_with_history_symbol{
    .signature = "prims.with_history(Tensor value, Tensor source) -> Tensor",
    .documentation =
        "The values of one tensor with the gradient of another: what a write leaves of a tensor where gradients are "
        "off.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          check_same_type(a[0].tensor(), a[1].tensor());
          out.push_back(like(a[0].tensor(), a[0].tensor().shape()));
        },
    .gradient = [](Gradient& g) { g.set(1, g.cotangent()); },
    .view =
        [](Arguments a, ViewGeometry& view) {
          check_same_type(a[0].tensor(), a[1].tensor());
          const TensorImpl& value = *a[0].tensor().impl();
          view = {value.sizes, value.strides, value.offset};
          return true;
        },
    .python = "with_history({0}, {1})",
    .python_definition =
        "def with_history(value, source):\n"
        "  return value.view_as(value)\n",
    .traits = {.view = true},
};

constinit const Symbol prims_get_grad_symbol{
    .signature = "prims.get_grad() -> ()",
    .documentation = "The cotangent that comes from outside for a result of the function.",
    .kind = SymbolKind::reading_gradient,
    .traits = {.structural = true},
};

constinit const Symbol prims_put_grad_symbol{
    .signature = "prims.put_grad() -> ()",
    .documentation = "Adds to the cotangent of a value.",
    .kind = SymbolKind::adding_gradient,
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_unpack_trivial_symbol{
    .signature = "prims.unpack_trivial() -> ()",
    .documentation = "An argument as it is given.",
    .python = "{0}",
    .traits = {.structural = true},
};

constinit const Symbol prims_shape_symbol{
    .signature = "prims.shape(Tensor a) -> ()",
    .documentation = "The sizes of a tensor; None for those that are not symbols.",
    .python = "{0}.shape",
    .kind = SymbolKind::reading_shape,
    .traits = {.not_differentiable = true, .structural = true},
};

constinit const Symbol prims_unpack_field_symbol{
    .signature = "prims.unpack_field() -> ()",
    .documentation = "A member of a structure, by name.",
    .python = "unpack_field({0}, {1})",
    .python_definition =
        "def unpack_field(structure, name):\n"
        "  return structure[name] if isinstance(structure, dict) else getattr(structure, name)\n",
    .traits = {.structural = true},
};

constinit const Symbol prims_check_tensor_symbol{
    .signature = "prims.check_tensor() -> ()",
    .documentation = "Guard: a tensor has this shape (None: any size), device, dtype and requires_grad.",
    .python = "check_tensor({0}, {1}, {2}, {3}, {4})",
    .python_definition =
        "def check_tensor(x, shape, device, dtype, requires_grad):\n"
        "  assert len(x.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, x.shape)), x.shape\n"
        "  assert x.device == torch.device(device) and x.dtype == dtype, (x.device, x.dtype)\n"
        "  assert x.requires_grad == requires_grad\n",
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_check_strides_symbol{
    .signature = "prims.check_strides() -> ()",
    .documentation = "Guard: a tensor has these strides, for which the function asked.",
    .python = "check_strides({0}, {1})",
    .python_definition =
        "def check_strides(x, strides):\n"
        "  assert tuple(x.stride()) == tuple(strides), x.stride()\n",
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_check_number_symbol{
    .signature = "prims.check_number() -> ()",
    .documentation = "Guard: a number has this value.",
    .python = "check_number({0}, {1})",
    .python_definition =
        "def check_number(n, value):\n"
        "  assert type(n) is type(value) and (n == value or n != n and value != value), n\n",
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_check_condition_symbol{
    .signature = "prims.check_condition() -> ()",
    .documentation = "Guard: a comparison of symbols had this outcome.",
    .python = "check_condition({0}, {1})",
    .python_definition =
        "def check_condition(outcome, expected):\n"
        "  assert outcome == expected\n",
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_check_string_symbol{
    .signature = "prims.check_string() -> ()",
    .documentation = "Guard: a string has this value.",
    .python = "check_string({0}, {1})",
    .python_definition =
        "def check_string(text, value):\n"
        "  assert text == value, text\n",
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_check_length_symbol{
    .signature = "prims.check_length() -> ()",
    .documentation = "Guard: a list has this many items.",
    .python = "check_length({0}, {1})",
    .python_definition =
        "def check_length(items, length):\n"
        "  assert len(items) == length, len(items)\n",
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_check_none_symbol{
    .signature = "prims.check_none() -> ()",
    .documentation = "Guard: an optional argument is not given.",
    .python = "check_none({0})",
    .python_definition =
        "def check_none(value):\n"
        "  assert value is None, value\n",
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_check_literal_symbol{
    .signature = "prims.check_literal() -> ()",
    .documentation = "Guard: a dtype, device or setting has this value.",
    .python = "check_literal({0}, {1})",
    .python_definition =
        "def check_literal(value, expected):\n"
        "  assert value == expected, value\n",
    .traits = {.effects = Effects::all(), .structural = true},
};

constinit const Symbol prims_check_aliases_symbol{
    .signature = "prims.check_aliases() -> ()",
    .documentation = "Guard: which arguments share storage; groups of positions.",
    .python = "check_aliases({0}, {1})",
    .python_definition =
        "def check_aliases(tensors, groups):\n"
        "  seen = {}\n"
        "  for i, t in enumerate(tensors):\n"
        "    seen.setdefault(t.untyped_storage().data_ptr(), []).append(i)\n"
        "  assert [tuple(g) for g in seen.values() if len(g) > 1] == [tuple(g) for g in groups], seen\n",
    .traits = {.effects = Effects::all(), .structural = true},
};

std::span<const Symbol* const> structural_symbols() {
  static constexpr const Symbol* all[] = {&prims_return_symbol,          &prims_del_symbol,
                                          &prims_unpack_sequence_symbol, &prims_clear_collection_symbol,
                                          &prims_copy__symbol,           &prims_with_history_symbol,
                                          &prims_get_grad_symbol,        &prims_put_grad_symbol,
                                          &prims_unpack_trivial_symbol,  &prims_shape_symbol,
                                          &prims_unpack_field_symbol,    &prims_check_tensor_symbol,
                                          &prims_check_strides_symbol,   &prims_check_number_symbol,
                                          &prims_check_condition_symbol, &prims_check_string_symbol,
                                          &prims_check_length_symbol,    &prims_check_none_symbol,
                                          &prims_check_literal_symbol,   &prims_check_aliases_symbol};
  return all;
}

}  // namespace fulgurite
