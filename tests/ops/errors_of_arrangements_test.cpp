// Errors of operators that arrange, write, contract or normalize, for arguments that they reject.
#include <fulgurite/fulgurite.h>

#include "support/cases/wrong_calls.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("tiles and diagonals say what they cannot take") {
  const std::string said = messages({
      {"torch.Tensor.repeat", {reals({2, 3}), {2}}},
      {"torch.Tensor.repeat", {reals({2, 3}), {2, -1}}},
      {"torch.Tensor.repeat", {reals({2, 3}), {int64_t{1} << 40, int64_t{1} << 40}}},
      {"torch.tile", {reals({2, 3}), {-2}}},
      {"torch.repeat_interleave", {reals({2}), -1}},
      {"torch.repeat_interleave", {reals({2}), whole({3})}},
      {"torch.repeat_interleave", {reals({2}), reals({2})}},
      {"torch.repeat_interleave", {reals({2}), whole({2, 1}), 0}},
      {"torch.repeat_interleave", {reals({2}), whole({2}).to(Dtype::i32) - 1, 0}},
      {"torch.repeat_interleave", {reals({2}), whole({2}) + 1, 0}, {{"output_size", 3}}},
      {"torch.repeat_interleave", {reals({2}), 2, 1}},
      {"torch.roll", {reals({2, 3}), {1, 2}}},
      {"torch.roll", {reals({2, 3}), {1, 2}, 0}},
      {"torch.roll", {reals({2, 3}), 1, 2}},
      {"torch.hstack", {std::vector<Tensor>{}}},
      {"torch.hstack", {{reals({2, 3}), reals({3, 3})}}},
      {"torch.vstack", {std::vector<Tensor>{}}},
      {"torch.vstack", {{reals({2, 3}), reals({2})}}},
      {"torch.meshgrid", {{reals({2, 3})}}},
      {"torch.meshgrid", {{reals({2})}}, {{"indexing", "yx"}}},
      {"torch.meshgrid", {{reals({2}), whole({2})}}},
      {"torch.nn.functional.pixel_shuffle", {reals({2, 2}), 2}},
      {"torch.nn.functional.pixel_shuffle", {reals({6, 2, 2}), 2}},
      {"torch.nn.functional.pixel_shuffle", {reals({6, 2, 2}), 0}},
      {"torch.nn.functional.pixel_unshuffle", {reals({6, 2, 3}), 2}},
      {"torch.nn.functional.pixel_unshuffle", {reals({6, 2, 3}), -1}},
      {"torch.diagonal", {reals({3})}},
      {"torch.diagonal", {reals({3, 3}), 0, 1, -1}},
      {"torch.diagonal", {reals({3, 3}), 0, 0, 2}},
      {"torch.diag_embed", {reals({})}},
      {"torch.diag_embed", {reals({3}), 0, 0, 0}},
      {"torch.diag", {reals({2, 2, 2})}},
      {"torch.diag", {reals({})}},
      {"torch.diag", {reals({3}), std::numeric_limits<int64_t>::min()}},
      {"torch.trace", {reals({3})}},
  });
  expect_text(said, R"(
repeat(cpu f32[2, 3], [2]): repeats has 1 numbers for a tensor of 2 dimensions
repeat(cpu f32[2, 3], [2, -1]): a number of repeats is negative: [2, -1]
repeat(cpu f32[2, 3], [1099511627776, 1099511627776]): a size or a count of elements does not fit 64 bits (in expand(cpu f32[1, 2, 1, 3], [1099511627776, 2, 1099511627776, 3]))
tile(cpu f32[2, 3], [-2]): a number of repeats is negative: [1, -2]
repeat_interleave(cpu f32[2], -1): repeats must not be negative: -1
repeat_interleave(cpu f32[2], cpu i64[3]): repeats has 3 entries, dimension 0 has 2
repeat_interleave(cpu f32[2], cpu f32[2]): repeats must be integers, not f32
repeat_interleave(cpu f32[2], cpu i64[2, 1], 0): repeats must have at most 1 dimension, got shape [2, 1]
repeat_interleave(cpu f32[2], cpu i32[2], 0): repeats must not be negative: -1
repeat_interleave(cpu f32[2], cpu i64[2], 0, output_size=3): an index tensor holds 2, which is out of range for a dimension of size 2 (in index_select(cpu f32[2], 0, cpu i64[3]))
repeat_interleave(cpu f32[2], 2, 1): dim 1 is out of range for 1 dimension
roll(cpu f32[2, 3], [1, 2]): without dims there must be one shift, got 2
roll(cpu f32[2, 3], [1, 2], [0]): shifts has 2 numbers and dims 1
roll(cpu f32[2, 3], [1], [2]): dim 2 is out of range for 2 dimensions
hstack([]): expected at least one tensor
hstack([cpu f32[2, 3], cpu f32[3, 3]]): sizes differ in dimension 0: [2, 3] and [3, 3] (in cat([cpu f32[2, 3], cpu f32[3, 3]], 1))
vstack([]): expected at least one tensor
vstack([cpu f32[2, 3], cpu f32[2]]): sizes differ in dimension 1: [2, 3] and [1, 2] (in cat([cpu f32[2, 3], cpu f32[1, 2]]))
meshgrid([cpu f32[2, 3]]): tensors must have at most 1 dimension, got shape [2, 3]
meshgrid([cpu f32[2]], indexing='yx'): indexing must be "ij" or "xy", not "yx"
meshgrid([cpu f32[2], cpu i64[2]]): the tensors' dtypes differ: f32 and i64
pixel_shuffle(cpu f32[2, 2], 2): needs at least 3 dimensions, got 2
pixel_shuffle(cpu f32[6, 2, 2], 2): the 6 channels are not a multiple of 4
pixel_shuffle(cpu f32[6, 2, 2], 0): upscale_factor must be positive, not 0
pixel_unshuffle(cpu f32[6, 2, 3], 2): the sizes 2 and 3 are not multiples of 2
pixel_unshuffle(cpu f32[6, 2, 3], -1): downscale_factor must be positive, not -1
diagonal(cpu f32[3]): needs at least 2 dimensions, got 1
diagonal(cpu f32[3, 3], dim1=1, dim2=-1): dim1 and dim2 are the same dimension, 1
diagonal(cpu f32[3, 3], dim2=2): dim 2 is out of range for 2 dimensions
diag_embed(cpu f32[]): needs at least 1 dimension
diag_embed(cpu f32[3], dim1=0, dim2=0): dim1 and dim2 are the same dimension, 0
diag(cpu f32[2, 2, 2]): needs 1 or 2 dimensions, got 3
diag(cpu f32[]): needs 1 or 2 dimensions, got 0
diag(cpu f32[3], -9223372036854775808): a size or a count of elements does not fit 64 bits (in diag_embed(cpu f32[3], -9223372036854775808))
trace(cpu f32[3]): needs 2 dimensions, got 1
)");
}

TEST("errors of writes at indices name the bad argument") {
  const Tensor x = reals({3, 4});
  const std::string said = messages({
      {"torch.index_add", {x, 2, whole({1}), reals({1, 4})}},
      {"torch.index_add", {x, 0, reals({1}), reals({1, 4})}},
      {"torch.index_add", {x, 0, whole({1, 1}), reals({1, 4})}},
      {"torch.index_add", {x, 0, whole({2}), reals({1, 4})}},
      {"torch.index_add", {x, 0, whole({1}), whole({1, 4})}},
      {"torch.index_add", {x, 0, whole({1}) + 3, reals({1, 4})}},
      {"torch.index_add", {x, 0, whole({1}) - 4, reals({1, 4})}},
      {"torch.scatter", {x, 1, whole({2, 2}), reals({})}},
      {"torch.scatter_add", {x, 1, whole({2, 2}), reals({2})}},
      {"torch.index_copy", {x, 0, whole({1}), reals({1, 3})}},
      {"torch.index_copy", {x, 1, whole({1}) + 4, reals({3, 1})}},
      {"torch.index_fill", {x, 0, whole({1}), reals({1})}},
      {"torch.index_fill", {x, 0, whole({1}) + 3, 1}},
      {"torch.index_fill", {x, 0, flags({3}), 1}},
      {"torch.select_scatter", {x, reals({3}), 0, 0}},
      {"torch.select_scatter", {x, reals({4}), 0, 3}},
      {"torch.select_scatter", {reals({}), reals({}), 0, 0}},
      {"torch.slice_scatter", {x, reals({1, 4}), 0, 0, 2}},
      {"torch.slice_scatter", {x, reals({1, 4}), 0, 0, 1, 0}},
      {"torch.slice_scatter", {x, reals({1, 4}), 2, 0, 1}},
      {"torch.slice_scatter", {reals({}), reals({})}},
      {"torch.take", {x, reals({1})}},
      {"torch.take", {x, whole({1}) + 12}},
      {"torch.take", {x, whole({1}) - 13}},
      {"torch.take", {reals({0}), whole({1})}},
      {"torch.take_along_dim", {x, whole({3}), 0}},
      {"torch.take_along_dim", {x, whole({2, 3}), 1}},
      {"torch.take_along_dim", {x, whole({1, 4}) + 3, 0}},
      {"torch.take_along_dim", {x, reals({1, 4}), 0}},
      {"torch.count_nonzero", {x, 2}},
  });
  expect_text(said, R"(
index_add(cpu f32[3, 4], 2, cpu i64[1], cpu f32[1, 4]): dim 2 is out of range for 2 dimensions
index_add(cpu f32[3, 4], 0, cpu f32[1], cpu f32[1, 4]): index must hold integers, got f32
index_add(cpu f32[3, 4], 0, cpu i64[1, 1], cpu f32[1, 4]): index must have at most 1 dimension, got shape [1, 1]
index_add(cpu f32[3, 4], 0, cpu i64[2], cpu f32[1, 4]): source has shape [1, 4], expected [2, 4]
index_add(cpu f32[3, 4], 0, cpu i64[1], cpu i64[1, 4]): source is i64, the tensor f32
index_add(cpu f32[3, 4], 0, cpu i64[1], cpu f32[1, 4]): an index tensor holds 3, which is out of range for a dimension of size 3 (in index_put(cpu f32[3, 4], [cpu i64[1]], cpu f32[1, 4], True))
index_add(cpu f32[3, 4], 0, cpu i64[1], cpu f32[1, 4]): an index tensor holds -4, which is out of range for a dimension of size 3 (in index_put(cpu f32[3, 4], [cpu i64[1]], cpu f32[1, 4], True))
scatter(cpu f32[3, 4], 1, cpu i64[2, 2], cpu f32[]): the index's shape [2, 2] and the source's [] differ in their number of dimensions
scatter_add(cpu f32[3, 4], 1, cpu i64[2, 2], cpu f32[2]): the index's shape [2, 2] and the source's [2] differ in their number of dimensions
index_copy(cpu f32[3, 4], 0, cpu i64[1], cpu f32[1, 3]): source has shape [1, 3], expected [1, 4]
index_copy(cpu f32[3, 4], 1, cpu i64[1], cpu f32[3, 1]): an index tensor holds 4, which is out of range for a dimension of size 4 (in index_put(cpu f32[3, 4], [None, cpu i64[1]], cpu f32[3, 1]))
index_fill(cpu f32[3, 4], 0, cpu i64[1], cpu f32[1]): value must have no dimensions, got shape [1]
index_fill(cpu f32[3, 4], 0, cpu i64[1], 1): an index tensor holds 3, which is out of range for a dimension of size 3 (in index_put(cpu f32[3, 4], [cpu i64[1]], cpu f32[]))
index_fill(cpu f32[3, 4], 0, cpu bool[3], 1): index must hold integers, got bool
select_scatter(cpu f32[3, 4], cpu f32[3], 0, 0): src has shape [3], expected [4]
select_scatter(cpu f32[3, 4], cpu f32[4], 0, 3): index 3 is out of range for a dimension of size 3
select_scatter(cpu f32[], cpu f32[], 0, 0): a tensor without dimensions has nothing to write to
slice_scatter(cpu f32[3, 4], cpu f32[1, 4], start=0, end=2): src has shape [1, 4], the slice [2, 4]
slice_scatter(cpu f32[3, 4], cpu f32[1, 4], start=0, end=1, step=0): step must be positive, got 0
slice_scatter(cpu f32[3, 4], cpu f32[1, 4], 2, 0, 1): dim 2 is out of range for 2 dimensions
slice_scatter(cpu f32[], cpu f32[]): a tensor without dimensions has no slices
take(cpu f32[3, 4], cpu f32[1]): index must hold integers, got f32
take(cpu f32[3, 4], cpu i64[1]): an index tensor holds 12, which is out of range for a dimension of size 12 (in index(cpu f32[12], [cpu i64[1]]))
take(cpu f32[3, 4], cpu i64[1]): an index tensor holds -13, which is out of range for a dimension of size 12 (in index(cpu f32[12], [cpu i64[1]]))
take(cpu f32[0], cpu i64[1]): an index tensor holds 0, which is out of range for a dimension of size 0 (in index(cpu f32[0], [cpu i64[1]]))
take_along_dim(cpu f32[3, 4], cpu i64[3], 0): input has 2 dimensions, indices 1
take_along_dim(cpu f32[3, 4], cpu i64[2, 3], 1): shapes [3, 1] and [2, 1] do not broadcast: sizes 3 and 2 differ
take_along_dim(cpu f32[3, 4], cpu i64[1, 4], 0): an index tensor holds 3, which is out of range for a dimension of size 3 (in gather(cpu f32[3, 4], 0, cpu i64[1, 4]))
take_along_dim(cpu f32[3, 4], cpu f32[1, 4], 0): indices must hold integers, got f32
count_nonzero(cpu f32[3, 4], [2]): dim 2 is out of range for 2 dimensions (in sum(cpu bool[3, 4], [2]))
)");
}

TEST("contractions and normalizations of channels say what they cannot take") {
  const std::string said = messages({
      {"torch.inner", {reals({2, 3}), reals({4})}},
      {"torch.addmv", {reals({2}), reals({2, 3}), reals({2})}},
      {"torch.addmv", {reals({3}), reals({2, 3}), reals({3})}},
      {"torch.addmv", {reals({2}), reals({2}), reals({2})}},
      {"torch.addbmm", {reals({2, 2}), reals({2, 3}), reals({2, 3, 2})}},
      {"torch.addbmm", {reals({2, 2}), reals({1, 2, 3}), reals({2, 3, 2})}},
      {"torch.addbmm", {reals({3, 2}), reals({2, 2, 3}), reals({2, 3, 2})}},
      {"torch.linalg.multi_dot", {{reals({2, 2})}}},
      {"torch.linalg.multi_dot", {{reals({2, 3}), reals({2, 3})}}},
      {"torch.linalg.multi_dot", {{reals({2, 3}), reals({3}), reals({3, 2})}}},
      {"torch.linalg.multi_dot", {{reals({2, 3}), whole({3, 2})}}},
      {"torch.nn.functional.bilinear", {reals({4, 2}), reals({4, 3}), reals({5, 2})}},
      {"torch.nn.functional.bilinear", {reals({4, 2}), reals({3, 3}), reals({5, 2, 3})}},
      {"torch.nn.functional.bilinear", {reals({4, 2}), reals({4, 3}), reals({5, 3, 2})}},
      {"torch.nn.functional.bilinear", {reals({4, 2}), reals({4, 3}), reals({5, 2, 3}), reals({4})}},
      {"torch.nn.functional.batch_norm", {reals({2, 3}), None, None}},
      {"torch.nn.functional.batch_norm", {reals({2, 3}), reals({2}), reals({3})}},
      {"torch.nn.functional.batch_norm", {reals({2, 3}), reals({3}), reals({3}), reals({2})}},
      {"torch.nn.functional.batch_norm", {reals({1, 3}), None, None, None, None, true}},
      {"torch.nn.functional.batch_norm", {reals({2, 3}), reals({2}), None, None, None, true}},
      {"torch.nn.functional.batch_norm", {whole({2, 3}), None, None, None, None, true}},
      {"torch.nn.functional.batch_norm", {reals({3}), None, None, None, None, true}},
      {"torch.nn.functional.instance_norm", {reals({2, 3})}},
      {"torch.nn.functional.instance_norm", {reals({2, 3, 1})}},
      {"torch.nn.functional.instance_norm", {reals({2, 3, 4}), None, None, None, None, false}},
      {"torch.nn.functional.instance_norm", {reals({2, 3, 4}), None, None, None, reals({2})}},
      {"torch.nn.functional.group_norm", {reals({2, 3}), 2}},
      {"torch.nn.functional.group_norm", {reals({2, 3}), 0}},
      {"torch.nn.functional.group_norm", {reals({2}), 1}},
      {"torch.nn.functional.group_norm", {reals({2, 3}), 3, reals({2})}},
  });
  expect_text(said, R"(
inner(cpu f32[2, 3], cpu f32[4]): the last sizes differ: [2, 3] and [4]
addmv(cpu f32[2], cpu f32[2, 3], cpu f32[2]): inner sizes differ: 3 and 2 (in mv(cpu f32[2, 3], cpu f32[2]))
addmv(cpu f32[3], cpu f32[2, 3], cpu f32[3]): shapes [3] and [2] do not broadcast: sizes 3 and 2 differ
addmv(cpu f32[2], cpu f32[2], cpu f32[2]): input must have 2 dimensions, got 1 (in mv(cpu f32[2], cpu f32[2]))
addbmm(cpu f32[2, 2], cpu f32[2, 3], cpu f32[2, 3, 2]): batch1 and batch2 must have 3 dimensions, got 2 and 3
addbmm(cpu f32[2, 2], cpu f32[1, 2, 3], cpu f32[2, 3, 2]): sizes do not fit: [1, 2, 3] and [2, 3, 2]
addbmm(cpu f32[3, 2], cpu f32[2, 2, 3], cpu f32[2, 3, 2]): shapes [3, 2] and [2, 2] do not broadcast: sizes 3 and 2 differ
multi_dot([cpu f32[2, 2]]): expected at least two tensors, got 1
multi_dot([cpu f32[2, 3], cpu f32[2, 3]]): sizes do not fit: [2, 3] and [2, 3]
multi_dot([cpu f32[2, 3], cpu f32[3], cpu f32[3, 2]]): tensor 1 must be a matrix, got shape [3]
multi_dot([cpu f32[2, 3], cpu i64[3, 2]]): the operands' dtypes differ: f32 and i64 (in mm(cpu f32[2, 3], cpu i64[3, 2]))
bilinear(cpu f32[4, 2], cpu f32[4, 3], cpu f32[5, 2]): weight must have 3 dimensions, got shape [5, 2]
bilinear(cpu f32[4, 2], cpu f32[3, 3], cpu f32[5, 2, 3]): the leading sizes of input1 [4, 2] and input2 [3, 3] differ
bilinear(cpu f32[4, 2], cpu f32[4, 3], cpu f32[5, 3, 2]): the last sizes 2 and 3 do not fit weight [5, 3, 2]
bilinear(cpu f32[4, 2], cpu f32[4, 3], cpu f32[5, 2, 3], cpu f32[4]): shapes [4, 5] and [4] do not broadcast: sizes 5 and 4 differ (in add(cpu f32[4, 5], cpu f32[4]))
batch_norm(cpu f32[2, 3], None, None): running_mean and running_var are needed outside training
batch_norm(cpu f32[2, 3], cpu f32[2], cpu f32[3]): running_mean has shape [2], there are 3 channels
batch_norm(cpu f32[2, 3], cpu f32[3], cpu f32[3], cpu f32[2]): weight has shape [2], there are 3 channels
batch_norm(cpu f32[1, 3], None, None, training=True): training needs more than one value for each channel, got an input of shape [1, 3]
batch_norm(cpu f32[2, 3], cpu f32[2], None, training=True): a tensor of shape [1, 3] cannot have the shape [2]: the numbers of elements differ (in reshape(cpu f32[1, 3], [2]))
batch_norm(cpu i64[2, 3], None, None, training=True): needs a floating dtype, not i64
batch_norm(cpu f32[3], None, None, training=True): needs at least 2 dimensions, got 1
instance_norm(cpu f32[2, 3]): needs at least 3 dimensions, got 2
instance_norm(cpu f32[2, 3, 1]): needs more than one value for each channel of a sample, got an input of shape [2, 3, 1]
instance_norm(cpu f32[2, 3, 4], use_input_stats=False): running_mean and running_var are needed where use_input_stats is false
instance_norm(cpu f32[2, 3, 4], bias=cpu f32[2]): bias has shape [2], there are 3 channels
group_norm(cpu f32[2, 3], 2): the 3 channels are not a multiple of num_groups = 2
group_norm(cpu f32[2, 3], 0): num_groups must be positive, not 0
group_norm(cpu f32[2], 1): needs at least 2 dimensions, got 1
group_norm(cpu f32[2, 3], 3, cpu f32[2]): weight has shape [2], there are 3 channels
)");
}
