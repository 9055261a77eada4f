#include <fulgurite/dlpack.h>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

/// Memory of another library, and the number of calls of its deleter.
struct Foreign {
  std::vector<float> elements{0, 1, 2, 3, 4, 5};
  std::vector<int64_t> sizes{2, 3};
  int deleted = 0;
  DLManagedTensor managed{};

  DLManagedTensor* tensor() {
    managed.dl_tensor.data = elements.data();
    managed.dl_tensor.device.device_type = kDLCPU;
    managed.dl_tensor.ndim = static_cast<int>(sizes.size());
    managed.dl_tensor.dtype = {kDLFloat, 32, 1};
    managed.dl_tensor.shape = sizes.data();
    managed.manager_ctx = &deleted;
    managed.deleter = [](DLManagedTensor* self) { ++*static_cast<int*>(self->manager_ctx); };
    return &managed;
  }
};

void refuses(Foreign& foreign, const std::string& message, SourceLocation at = SourceLocation::here()) {
  expect_error([&] { from_dlpack(&foreign.managed); }, message, at);
  expect_equal(foreign.deleted, 1, at);
}

}  // namespace

TEST("a foreign tensor is used in place and released with the last view") {
  Foreign foreign;
  {
    Tensor x = from_dlpack(foreign.tensor());
    expect_equal(x.shape(), Shape({2, 3}));
    const Tensor column = x(Slice(), 1);
    x(0, 1) = 7;
    expect_equal(foreign.elements[1], 7.0f);
    foreign.elements[4] = 9;
    x = Tensor();
    expect_equal(foreign.deleted, 0);
    expect_equal(column.to_vector<float>(), std::vector<float>{7, 9});
  }
  expect_equal(foreign.deleted, 1);
}

TEST("strides and offsets of a foreign tensor are kept") {
  Foreign foreign;
  std::vector<int64_t> strides{1, 2};
  foreign.tensor();
  foreign.managed.dl_tensor.strides = strides.data();
  foreign.managed.dl_tensor.byte_offset = 0;
  expect_equal(from_dlpack(&foreign.managed).to_vector<float>(), std::vector<float>{0, 2, 4, 1, 3, 5});
  foreign.sizes = {2};
  foreign.tensor();
  foreign.managed.dl_tensor.strides = nullptr;
  foreign.managed.dl_tensor.byte_offset = 8;
  expect_equal(from_dlpack(&foreign.managed).to_vector<float>(), std::vector<float>{2, 3});
  foreign.sizes = {0, 3};
  expect_equal(from_dlpack(foreign.tensor()).shape(), Shape({0, 3}));
  foreign.sizes = {};
  foreign.managed.dl_tensor.byte_offset = 0;
  expect_equal(from_dlpack(foreign.tensor()).item<float>(), 0.0f);
}

TEST("tensors of every dtype are handed over and back without a copy") {
  for (int i = 0; i < dtype_count; ++i) {
    const Tensor x = arange(6).to(static_cast<Dtype>(i)).reshape({2, 3}).t();
    const Tensor back = from_dlpack(to_dlpack(x));
    expect_equal(back.dtype(), x.dtype());
    expect_equal(back.data_pointer() == x.data_pointer(), true);
    expect_equal(equal(back, x), true);
    expect_equal(back.strides() == x.strides(), true);
  }
  DLManagedTensor* const view = to_dlpack(arange(6)(Slice(2, {})));
  expect_equal(static_cast<const int64_t*>(view->dl_tensor.data)[0], int64_t{2});
  view->deleter(view);
}

TEST("foreign tensors that cannot be used are refused and released") {
  expect_error([] { from_dlpack(nullptr); }, "from_dlpack: the tensor is null");
  Foreign on_device;
  on_device.tensor()->dl_tensor.device.device_type = kDLCUDA;
  refuses(on_device, "from_dlpack: the tensor is on a device of type 2, not on the CPU (1)");
  Foreign complex;
  complex.tensor()->dl_tensor.dtype = {kDLComplex, 64, 1};
  refuses(complex, "from_dlpack: there is no dtype for elements of code 5, 64 bits and 1 lanes");
  Foreign reversed;
  std::vector<int64_t> strides{-3, 1};
  reversed.tensor()->dl_tensor.strides = strides.data();
  refuses(reversed, "from_dlpack: negative strides are not supported");
  expect_error([] { to_dlpack(Tensor()); }, "to_dlpack: the tensor is undefined");
  expect_error([] { to_dlpack(ones({2}, {.requires_grad = true})); },
               "to_dlpack: the tensor requires gradients; call detach() first");
}
