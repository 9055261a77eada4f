// Binary search in sorted sequences, and one-hot classes.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

void check_side(bool right, const Argument& side) {
  if (side.is_none()) return;
  require(side.string() == "left" || side.string() == "right", "side must be \"left\" or \"right\", got \"",
          side.string(), "\"");
  require(!right || side.string() == "right", "side is \"left\" and right is True");
}

void infer_searchsorted(Arguments a, InferredTypes& types) {
  const Tensor& sequence = a[0].tensor();
  check_side(a[3].boolean(), a[4]);
  require(sequence.ndim() > 0, "sorted_sequence needs at least 1 dimension");
  require(!is_boolean(sequence.dtype()), "not defined for booleans");
  Shape shape;
  if (a[1].is_tensor()) {
    const Tensor& values = a[1].tensor();
    require(!is_boolean(values.dtype()), "not defined for booleans");
    shape = values.shape();
  }
  if (sequence.ndim() > 1) {
    require(a[1].is_tensor() && !shape.empty(),
            "a single number is looked for in a sorted_sequence of one dimension, not of ", sequence.ndim());
    bool fits = static_cast<int64_t>(shape.size()) == sequence.ndim();
    for (size_t d = 0; fits && d + 1 < shape.size(); ++d) fits = shape[d] == sequence.size(static_cast<int>(d));
    require(fits, "sorted_sequence ", sequence.shape(), " and input ", shape, " must agree but for the last dimension");
  }
  if (a[5].is_tensor()) {
    const Tensor& sorter = a[5].tensor();
    require(sorter.dtype() == Dtype::i64, "sorter must be i64, got ", sorter.dtype());
    require(sorter.shape() == sequence.shape(), "sorter has shape ", sorter.shape(), ", sorted_sequence ",
            sequence.shape());
  }
  types.push_back({shape, a[2].boolean() ? Dtype::i32 : Dtype::i64, sequence.device()});
}

}  // namespace

constinit const Symbol searchsorted_symbol{
    .signature =
        "torch.searchsorted(Tensor sorted_sequence, Operand input, *, bool out_int32=False, bool right=False, "
        "str? side=None, Tensor? sorter=None) -> Tensor",
    .documentation =
        "For each element the place in the ordered sequence (the row of it) that it would be inserted at: before "
        "equal elements, or, with right or side \"right\", behind them. sorter lists the order of a sequence that is "
        "not in order.",
    .infer = infer_searchsorted,
    .python = "torch.searchsorted({0}, {1}, out_int32={2}, right={3}, side={4}, sorter={5})",
    .traits = {.not_differentiable = true},
};

constinit const Symbol bucketize_symbol{
    .signature =
        "torch.bucketize(Operand input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    .documentation = "For each element the number of the bucket between the ordered boundaries that it falls into.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& boundaries = a[1].tensor();
          require(boundaries.ndim() == 1, "boundaries must have 1 dimension, got ", boundaries.ndim());
          out.push_back(searchsorted(boundaries, a[0].operand(), a[2].boolean(), a[3].boolean(), {}, Tensor(), at));
        },
    .python = "torch.bucketize({0}, {1}, out_int32={2}, right={3})",
    .traits = {.not_differentiable = true},
};

constinit const Symbol prims_one_hot_symbol{
    .signature = "prims.one_hot(Tensor input, int num_classes) -> Tensor",
    .documentation = "torch.nn.functional.one_hot with the number of classes given.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Tensor& x = a[0].tensor();
          require(x.dtype() == Dtype::i64, "class numbers must be i64, got ", x.dtype());
          const Int classes = a[1].integer();
          require(classes > 0, "num_classes must be positive, got ", classes.hint());
          Shape shape = x.shape();
          shape.push_back(classes);
          types.push_back(like(x, shape));
        },
    .python = "torch.nn.functional.one_hot({0}, {1})",
    .traits = {.not_differentiable = true},
};

constinit const Symbol one_hot_symbol{
    .signature = "torch.nn.functional.one_hot(Tensor tensor, int num_classes=-1) -> Tensor",
    .documentation =
        "For each class number a row of zeros with a 1 at its place. Without num_classes one more than the largest "
        "number; a trace ends its piece there to see it.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          require(x.dtype() == Dtype::i64, "class numbers must be i64, got ", x.dtype());
          Int classes = a[1].integer();
          if (classes == -1) {
            require(x.numel() > 0, "the number of classes of no elements is not known: give num_classes");
            const Tensor largest = amax(x, {}, false, at);
            classes = largest.item<int64_t>(at) + 1;
            if (classes < 1) classes = 1;  // prims.one_hot reports the negative numbers
          }
          out.push_back(prims::one_hot(x, classes, at));
        },
    .traits = {.not_differentiable = true},
};

SymbolList search_symbols() {
  static constexpr const Symbol* list[] = {&searchsorted_symbol, &bucketize_symbol, &prims_one_hot_symbol,
                                           &one_hot_symbol};
  return list;
}

}  // namespace fulgurite
