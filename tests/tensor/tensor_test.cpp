#include <fulgurite/error.h>
#include <fulgurite/tensor.h>

#include "support/test.h"
#include "tensor/memory/allocator.h"
#include "tensor/memory/large_blocks.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

std::string printed(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

Tensor transposed(const Tensor& x) {
  const TensorImpl& impl = *x.impl();
  return make_view(impl.storage, Sizes{impl.sizes[1], impl.sizes[0]}, Sizes{impl.strides[1], impl.strides[0]}, 0,
                   impl.dtype);
}

}  // namespace

TEST("braces make tensors of the usual dtypes, vectors keep theirs") {
  expect_equal(tensor({1.0, 2.0}).dtype(), Dtype::f32);
  expect_equal(tensor({1, 2}).dtype(), Dtype::i64);
  expect_equal(tensor({true, false}).dtype(), Dtype::boolean);
  expect_equal(tensor(std::vector<double>{1, 2}).dtype(), Dtype::f64);
  expect_equal(tensor(std::vector<uint8_t>{1, 2}).dtype(), Dtype::u8);
  expect_equal(tensor({{1, 2.5}, {3, 4}}).dtype(), Dtype::f32);
  expect_equal(tensor({1, 2}, {.dtype = Dtype::bf16}).dtype(), Dtype::bf16);
  expect_equal(tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}).shape(), Shape({2, 3}));
  expect_equal(tensor(3.0).shape(), Shape());
  expect_equal(tensor({}).shape(), Shape({0}));
  expect_error([] { tensor({{1, 2}, {3}}); }, "rows of different sizes: [1] beside [2]");
  expect_error([] { tensor({1, 2}, {.requires_grad = true}); }, "only floating tensors have a gradient");
}

TEST("a tensor tells what it is") {
  const Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  expect_equal(x.ndim(), 2);
  expect_equal(x.size(-1), Int(3));
  expect_equal(x.numel(), Int(6));
  expect_equal(x.strides().at(0), Int(3));
  expect(x.is_contiguous());
  expect(!transposed(x).is_contiguous());
  expect_equal(type_text(x), "cpu f32[2, 3]");
  expect_error([&] { x.size(2); }, "dimension out of range");
  expect_error([] { Tensor().shape(); }, "undefined tensor");
}

TEST("elements are read in row-major order") {
  const Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  expect_equal(transposed(x).to_vector<float>(), std::vector<float>({1, 4, 2, 5, 3, 6}));
  expect_equal(tensor({true, false}).to_vector<bool>(), std::vector<bool>({true, false}));
  expect_equal(tensor(2.5).item<double>(), 2.5);
  expect_equal(tensor(2.5).item<int>(), 2);
  expect(static_cast<bool>(tensor(2.5)));
  expect_equal(x.data<float>()[4], 5.0f);
  expect_error([&] { x.item<float>(); }, "exactly one element");
  expect_error([&] { x.to_vector<double>(); }, "to_vector<double>() of cpu f32[2, 3]: its elements are float");
  expect_error([&] { x.data<int64_t>(); }, "its elements are float");
  expect_error([&] { static_cast<void>(static_cast<bool>(x)); }, "ambiguous");
}

TEST("handles share the tensor, set_data shares the storage") {
  const Tensor x = tensor({1.0, 2.0}), y = tensor({{3.0}});
  const Tensor same = x;
  expect(same.is_same(x));
  x.set_name("weights");
  expect_equal(same.name(), "weights");
  x.set_data(y);
  expect_equal(same.shape(), Shape({1, 1}));
  expect_equal(same.data<float>(), y.data<float>());
  same.requires_grad_();
  expect(x.requires_grad());
  expect_error([] { tensor(1).requires_grad_(); }, "only tensors of a floating dtype");
}

TEST("contiguity ignores dimensions of size one and empty tensors") {
  expect(has_contiguous_strides(Sizes{2, 1, 3}, Sizes{3, 77, 1}));
  expect(has_contiguous_strides(Sizes{2, 0}, Sizes{5, 9}));
  expect(!has_contiguous_strides(Sizes{2, 3}, Sizes{1, 2}));
  expect_equal(contiguous_strides(Sizes{2, 0, 3}), Sizes({3, 3, 1}));
}

TEST("memory is aligned, given out again and counted") {
  const int64_t before = allocator_statistics().in_use;
  void* block = allocate(1000);
  expect_equal(reinterpret_cast<uintptr_t>(block) % 64, 0u);
  expect_at_least(allocator_statistics().in_use, before + 1000);
  deallocate(block, 1000);
  expect_equal(allocator_statistics().in_use, before);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{512}, size_t{513}, size_t{5} << 20}) {
    void* other = allocate(bytes);
    expect_equal(reinterpret_cast<uintptr_t>(other) % 64, 0u);
    deallocate(other, bytes);
  }
  release_kept_memory();
  expect_equal(allocator_statistics().kept, 0);
  expect_error([] { make_tensor(Sizes{int64_t{1} << 40, int64_t{1} << 40}, Dtype::f32); }, "is too large");
  expect_error([] { make_tensor(Sizes{-1}, Dtype::f32); }, "negative size");
  expect_error([] { make_tensor(Sizes{1}, Dtype::f32, Device("cuda:0")); }, "this build has no CUDA");
}

TEST("a large block that was freed serves other sizes") {
  constexpr size_t kibibyte = size_t{1} << 10, mebibyte = size_t{1} << 20;
  LargeBlocks blocks;
  void* const smallest = LargeBlocks::make(160 * kibibyte);
  char* const small = static_cast<char*>(LargeBlocks::make(3 * mebibyte));
  char* const large = static_cast<char*>(LargeBlocks::make(12 * mebibyte));
  expect_equal(blocks.take(3 * mebibyte), nullptr);
  blocks.put(smallest);
  expect_equal(blocks.take(161 * kibibyte), nullptr);  // too small, and not made of pages that could be moved
  blocks.put(large);
  expect_equal(blocks.take(6 * mebibyte), nullptr);  // half of it would be idle
  blocks.put(small);
  expect_equal(blocks.take(3 * mebibyte), small);
  expect_equal(blocks.take(7 * mebibyte), large);
  expect_equal(blocks.take(100 * kibibyte), smallest);
  expect_equal(blocks.kept_bytes(), size_t{0});
  blocks.put(smallest);
  blocks.put(large);
  expect_equal(blocks.kept_bytes(), 12 * mebibyte + 160 * kibibyte);

  blocks.put(small);
  blocks.release_down_to(4 * mebibyte);  // those that were kept longest go
  expect_equal(blocks.kept_bytes(), 3 * mebibyte);
  expect_equal(blocks.take(3 * mebibyte), small);

  small[0] = 'a';
  small[3 * mebibyte - 1] = 'z';
  blocks.put(small);
  char* const grown = static_cast<char*>(blocks.take(10 * mebibyte));
  expect_equal(reinterpret_cast<uintptr_t>(grown) % 64, uintptr_t{0});
  expect(grown[0] == 'a' && grown[3 * mebibyte - 1] == 'z');  // the same pages
  grown[10 * mebibyte - 1] = 'b';
  expect_equal(blocks.kept_bytes(), size_t{0});
  blocks.put(grown);
  expect_equal(blocks.kept_bytes(), 10 * mebibyte);
}

TEST("tensors print as in PyTorch") {
  expect_equal(printed(tensor({{1.0, 2.5}, {-3.0, 4.0}})), "tensor([[ 1.0000,  2.5000],\n        [-3.0000,  4.0000]])");
  expect_equal(printed(tensor({1.0, 2.0})), "tensor([1., 2.])");
  expect_equal(printed(tensor({1, 20, 300})), "tensor([  1,  20, 300])");
  expect_equal(printed(tensor({true, false})), "tensor([ True, False])");
  expect_equal(printed(tensor(3.0)), "tensor(3.)");
  expect_equal(printed(tensor({1e-5, 2.0})), "tensor([1.0000e-05, 2.0000e+00])");
  expect_equal(printed(tensor(std::vector<double>{0.5})), "tensor([0.5000], dtype=f64)");
  expect_equal(printed(tensor({})), "tensor([])");
  expect_equal(printed(make_tensor(Sizes{2, 0}, Dtype::i32)), "tensor([], size=[2, 0], dtype=i32)");
  expect_equal(printed(Tensor()), "None");
  std::vector<int64_t> many(2000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i);
  expect_equal(printed(tensor(many)), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])");
}

}  // namespace fulgurite
