#include <sstream>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

// Programs with the names and arguments of LibTorch that are not operators' own.

namespace {

std::vector<double> numbers(const Tensor& x) { return x.detach().to(kDouble).contiguous().to_vector<double>(); }

}  // namespace

TEST("creators take a dtype or a device instead of options") {
  expect_equal(zeros({2}, kInt64).dtype(), kInt64);
  expect_equal(ones({2, 2}, kCPU).dtype(), kFloat32);
  expect_equal(full({2}, 3, kFloat64).dtype(), kFloat64);
  expect_equal(arange(3, kFloat16).dtype(), kFloat16);
  expect_equal(eye(2, kInt).dtype(), kInt);
  expect_equal(randn({2}, kDouble).dtype(), kDouble);
  expect_equal(tensor({1, 2}, kFloat).dtype(), kFloat);
  expect_equal(zeros_like(ones({2}), kLong).dtype(), kLong);
  expect_equal(zeros({2}, {}).dtype(), kFloat32);
  expect_equal(randint(10, {50}).max().item<int64_t>() < 10, true);
  expect_equal(randint(5, 6, {2}).to_vector<int64_t>(), std::vector<int64_t>{5, 5});
  expect_equal(scalar_tensor(2).dtype(), kFloat32);
}

TEST("limits and promotions of dtypes") {
  expect_equal(finfo(kFloat).eps, static_cast<double>(std::numeric_limits<float>::epsilon()));
  expect_equal(finfo(kDouble).max, std::numeric_limits<double>::max());
  expect_equal(finfo(kHalf).max, 65504.0);
  expect_equal(finfo(kBFloat16).tiny, std::ldexp(1.0, -126));
  expect_equal(iinfo(kInt).min, int64_t{std::numeric_limits<int32_t>::min()});
  expect_equal(iinfo(kByte).max, int64_t{255});
  expect_error([] { finfo(kInt); }, "finfo: i32 is not a floating dtype");
  expect_error([] { iinfo(kBool); }, "iinfo: bool is not an integer dtype");
  expect_equal(result_type(ones({2}, kInt), 2.5), kFloat);
  expect_equal(result_type(ones({2}, kHalf), ones({}, kDouble)), kHalf);
  expect_equal(result_type(ones({2}, kInt), ones({2}, kLong)), kLong);
  expect_equal(result_type(1, true), kLong);
  expect(can_cast(kInt, kFloat) && !can_cast(kFloat, kInt) && !can_cast(kInt, kBool) && can_cast(kBool, kInt));
  expect_equal(broadcast_shapes({2, 1}, {3}), Shape({2, 3}));
  expect_error([] { broadcast_shapes({2}, {3}); }, "broadcast_shapes: [3] does not broadcast with [2]");
  expect_equal(get_default_dtype(), kFloat32);
  expect(!cuda::is_available() && cuda::device_count() == 0);
}

TEST("members of tensors with LibTorch's arguments") {
  const Tensor x = tensor({{1.0, 2.0}, {4.0, 8.0}});
  expect_equal(numbers(x.var(0, false)), std::vector<double>{2.25, 9});
  expect_equal(numbers(x.var({0}, true, true)), std::vector<double>{4.5, 18});
  expect_near(x.std(false).item<double>(), std::sqrt(7.1875), 1e-6);
  expect_near(x.std(0, true).to_vector<float>(), {std::sqrt(4.5), std::sqrt(18.0)}, 1e-6);
  expect_equal(numbers(tensor({1.26, -0.35, 1250.0}).round(1)), numbers(tensor({1.3f, -0.4f, 1250.0f})));
  expect_equal(numbers(tensor({1250.0, 1349.0}).round(-2)), std::vector<double>{1200, 1300});
  expect_equal(numbers(x.ravel()), std::vector<double>{1, 2, 4, 8});
  expect_equal(numbers(x.sum_to_size({1, 2})), std::vector<double>{5, 10});
  expect_equal(numbers(x.sum_to_size({2})), std::vector<double>{5, 10});
  expect_error([&] { x.sum_to_size({3}); }, "sum_to_size: [3] does not broadcast to [2, 2]");
  expect_equal(numbers(x.where(x > 2, 0.0)), std::vector<double>{0, 0, 4, 8});
  const auto [low, high] = x.aminmax(0);
  expect_equal(numbers(low), std::vector<double>{1, 2});
  expect_equal(numbers(high), std::vector<double>{4, 8});
  expect_equal(std::get<1>(x.aminmax()).item<double>(), 8.0);
  expect_equal(x.float_power(2).dtype(), kDouble);
  expect_equal(numbers(x.addr(tensor({1.0, 2.0}), tensor({1.0, 1.0}), 2, 3)), std::vector<double>{5, 7, 14, 22});
  expect_near(x.renorm(2, 0, 2).to_vector<float>(),
              {2 / std::sqrt(5.0), 4 / std::sqrt(5.0), 8 / std::sqrt(80.0), 16 / std::sqrt(80.0)}, 1e-6);
  expect_equal(numbers(zeros({3, 3}).fill_diagonal_(2)), std::vector<double>{2, 0, 0, 0, 2, 0, 0, 0, 2});
  expect_equal(numbers(zeros({5, 2}).fill_diagonal_(1, true)), std::vector<double>{1, 0, 0, 1, 0, 0, 1, 0, 0, 1});
  expect_equal(zeros({2, 2, 2}).fill_diagonal_(1).sum().item<double>(), 2.0);
  expect_error(
      [] {
        zeros({2, 3, 2}).fill_diagonal_(1);
      },
      "fill_diagonal_: dimensions of equal sizes, not cpu f32[2, 3, 2]");
  expect_equal(x.toString(), std::string("CPUFloatType"));
  expect_equal(x.accessor<float, 2>()[1][0], 4.0f);
  expect_equal(numbers(x.narrow_copy(1, 1, 1)), std::vector<double>{2, 8});
  Tensor y = x;
  y.reset();
  expect(!y.defined() && x.defined());
  expect_equal(ones({2}).set_requires_grad(true).requires_grad(), true);
}

TEST("backward and grad take LibTorch's booleans") {
  const Tensor x = tensor({3.0}, {.requires_grad = true});
  const Tensor y = (x * x * x).sum();
  y.backward({}, true, true);
  expect_equal(x.grad().item<double>(), 27.0);
  const auto first = autograd::grad({y}, {x}, {}, true, true);
  const auto second = autograd::grad({first[0].sum()}, {x});
  expect_equal(second[0].item<double>(), 18.0);
  x.set_grad({});  // its history holds the leaf
  set_grad_enabled(false);
  expect(!GradMode::is_enabled() && !(x * 2).requires_grad());
  GradMode::set_enabled(true);
  expect((x * 2).requires_grad());
}

TEST("functions of layers take named arguments") {
  const Tensor x = arange(16.0).reshape({1, 1, 4, 4}), weight = ones({1, 1, 3, 3});
  expect_equal(nn::conv2d(x, weight, {}, {.stride = 2, .padding = 1}).shape(), Shape({1, 1, 2, 2}));
  expect_equal(nn::conv2d(x, weight, {}, {2, 1}).shape(), Shape({1, 1, 1, 2}));
  expect_equal(nn::conv_transpose2d(x, weight, {}, {.stride = 2}).shape(), Shape({1, 1, 9, 9}));
  expect_equal(nn::interpolate(x, {.scale_factor = 2.0, .mode = "nearest"}).shape(), Shape({1, 1, 8, 8}));
  expect_equal(nn::interpolate(x, {.size = {2, 3}, .mode = "bilinear", .align_corners = false}).shape(),
               Shape({1, 1, 2, 3}));
  expect_equal(nn::pad(x, {1, 1}, {.mode = "reflect"}).shape(), Shape({1, 1, 4, 6}));
  expect_equal(nn::max_pool2d(x, 2, {.stride = 1}).shape(), Shape({1, 1, 3, 3}));
  expect_equal(nn::avg_pool2d(x, 2, {.padding = 1, .count_include_pad = false}).shape(), Shape({1, 1, 3, 3}));
  expect_equal(nn::fractional_max_pool2d(x, 2, {.output_ratio = 0.5}).shape(), Shape({1, 1, 2, 2}));
  expect_error([&] { nn::fractional_max_pool2d(x, 2, nn::FractionalMaxPoolOptions{}); },
               "fractional_max_pool2d: give output_size or output_ratio, one of both");
  expect_equal(nn::FractionalMaxPool2d(2, {.output_size = {3, 2}})(x).shape(), Shape({1, 1, 3, 2}));
  expect_equal(nn::Upsample({.scale_factor = 2, .mode = "nearest"})(x).shape(), Shape({1, 1, 8, 8}));
  expect_equal(nn::UpsamplingBilinear2d(2)(x).shape(), Shape({1, 1, 8, 8}));
  expect_equal(nn::UpsamplingNearest2d({2, 8})(x).shape(), Shape({1, 1, 2, 8}));
  expect_equal(nn::Unfold({2, 2}, {.padding = 1, .stride = {2, 2}})(x).shape(), Shape({1, 4, 9}));
  const Tensor w = empty({4, 4});
  manual_seed(1);
  nn::init::kaiming_normal_(w, {.mode = "fan_out", .nonlinearity = "relu"});
  const auto named = numbers(w);
  manual_seed(1);
  nn::init::kaiming_normal_(w, 0, "fan_out", "relu");
  expect_equal(numbers(w), named);
}

TEST("dropout of channels keeps or saturates all of a channel") {
  manual_seed(2);
  const Tensor y = nn::FeatureAlphaDropout(0.5)(ones({4, 8, 3, 3})).reshape({32, 9});
  expect_equal(equal(std::get<0>(max(y, 1)), std::get<0>(min(y, 1))), true);
  expect_equal(std::get<0>(unique(y(Slice(), 0))).numel(), 2);
  nn::FeatureAlphaDropout off(0.5);
  nn::eval(off);
  expect_equal(numbers(off(ones({1, 2}))), std::vector<double>{1, 1});
}

TEST("an adaptive softmax has PyTorch's names, and probabilities that sum to 1") {
  nn::AdaptiveLogSoftmaxWithLoss softmax(8, 20, {5, 10}, {.div_value = 2});
  const auto names = nn::named_parameters(softmax);
  expect_equal(names[0].first, std::string("head.weight"));
  expect_equal(names[1].first, std::string("tail.0.0.weight"));
  expect_equal(names.back().first, std::string("tail.1.1.weight"));
  expect_equal(names.back().second.shape(), Shape({10, 2}));
  const Tensor x = randn({6, 8}), classes = tensor({0, 4, 5, 9, 10, 19});
  const Tensor all = softmax.log_prob(x);
  expect_near(all.exp().sum(1).to_vector<float>(), {1, 1, 1, 1, 1, 1}, 1e-5);
  const auto [output, loss] = softmax(x, classes);
  expect_near(loss.item<double>(), -output.mean().item<double>(), 1e-6);
  expect_near(output(3).item<double>(), all(3, 9).item<double>(), 1e-6);
  expect_equal(equal(softmax.predict(x), all.argmax(1)), true);
  expect_equal(softmax(x(0), classes(0)).output.shape(), Shape());
  loss.backward();
  expect(names[1].second.grad().defined());
  expect_error(
      [] {
        nn::AdaptiveLogSoftmaxWithLoss(8, 20, {10, 5});
      },
      "AdaptiveLogSoftmaxWithLoss: the cutoffs ascend, from above 0 to below n_classes");
}

TEST("models are asked, printed, saved and loaded") {
  struct Net {
    nn::Linear fc{2, 3};
    nn::BatchNorm1d norm{3};
    nn::Sequential head{{"act", nn::ReLU()}, {"out", nn::Linear(3, 1, {.bias = false})}};
    Tensor operator()(const Tensor& x) const { return head(norm(fc(x))); }
  };
  Net net;
  expect_text(nn::to_string(net), R"(Net(
  (fc): Linear(weight=f32[3, 2], bias=f32[3])
  (norm): BatchNorm(weight=f32[3], bias=f32[3], running_mean=f32[3], running_var=f32[3], num_batches_tracked=i64[], eps=1e-05, momentum=0.1)
  (head): Sequential(
    (act): ReLU()
    (out): Linear(weight=f32[1, 3], bias=none)
  )
))");
  std::ostringstream out;
  out << nn::Linear(2, 3);
  expect_equal(out.str(), std::string("Linear(weight=f32[3, 2], bias=f32[3])"));
  expect_equal(nn::named_buffers(net)[0].first, std::string("norm.running_mean"));
  expect_equal(nn::buffers(net).size(), size_t{3});
  expect_equal(nn::is_training(net), true);
  nn::eval(net);
  expect_equal(nn::is_training(net), false);
  net(ones({2, 2})).sum().backward();
  nn::zero_grad(net);
  expect(!net.fc.weight.grad().defined());
  nn::requires_grad_(net, false);
  expect(nn::parameters(net).empty());
  nn::requires_grad_(net);
  const TestFolder folder;
  save(net, folder.file());
  Net other;
  load(other, folder.file());
  expect_equal(equal(other.fc.weight, net.fc.weight), true);
  optim::Adam optimizer(nn::parameters(net)), restored(nn::parameters(other));
  save(optimizer, folder.file("o"));
  load(restored, folder.file("o"));
  save(ones({2}), folder.file("t"));
  Tensor t;
  load(t, folder.file("t"));
  expect_equal(numbers(t), std::vector<double>{1, 1});
  save(std::vector<Tensor>{ones({2}), zeros({1})}, folder.file("v"));
  std::vector<Tensor> v;
  load(v, folder.file("v"));
  expect_equal(v.size(), size_t{2});
  expect_error([&] { load(t, folder.file("v")); }, "holds 2 tensors, not one");
  expect_error([&] { load(net, folder.file("t")); }, "");
}

TEST("layers in a row are named, extended and gone through") {
  nn::Sequential net{{"fc", nn::Linear(2, 2)}, {"act", nn::Tanh()}};
  net.extend(nn::Sequential(nn::Linear(2, 1)));
  expect_equal(nn::named_parameters(net).back().first, std::string("2.bias"));
  Tensor x = ones({1, 2});
  const Tensor y = net(x);
  for (const nn::AnyLayer& layer : net) x = layer(x);
  expect_equal(equal(x, y), true);
  nn::ModuleDict layers{{"a", nn::Linear(1, 1)}, {"b", nn::ReLU()}};
  expect_equal(layers.at("b")(tensor({-1.0f})).item<double>(), 0.0);
  const std::vector<Tensor> parameters = nn::parameters(net);
  const Tensor flat = nn::utils::parameters_to_vector(parameters);
  nn::utils::vector_to_parameters(flat * 2, parameters);
  expect_equal(equal(nn::utils::parameters_to_vector(parameters), flat * 2), true);
  expect_error([&] { nn::utils::vector_to_parameters(zeros({2}), parameters); },
               "vector_to_parameters: the parameters have 9 elements, the vector [2]");
}

TEST("schedules follow one another or act together") {
  nn::Linear net(1, 1);
  optim::SGD optimizer(nn::parameters(net), {.lr = 1});
  optim::LinearLR warmup(optimizer, {.start_factor = 0.25, .total_iters = 3});
  optim::ExponentialLR decay(optimizer, {.gamma = 0.5});
  optim::SequentialLR both(optimizer, {&warmup, &decay}, {.milestones = {3}});
  std::vector<double> rates{optimizer.learning_rate()};
  for (int i = 0; i < 5; ++i) {
    both.step();
    rates.push_back(optimizer.learning_rate());
  }
  expect_near(rates, {0.25, 0.5, 0.75, 1, 0.5, 0.25}, 1e-6);
  const auto state = both.state_dict();
  both.step();
  both.load_state_dict(state);
  expect_near(optimizer.learning_rate(), 0.25, 1e-6);
  optim::SGD other(nn::parameters(net), {.lr = 1});
  optim::ConstantLR constant(other, {.factor = 0.1, .total_iters = 2});
  optim::LambdaLR halves(other, {.lr_lambda = [](int64_t i) { return std::pow(0.5, i); }});
  optim::ChainedScheduler chained(other, {&constant, &halves});
  rates = {other.learning_rate()};
  for (int i = 0; i < 3; ++i) {
    chained.step();
    rates.push_back(other.learning_rate());
  }
  expect_near(rates, {0.1, 0.05, 0.25, 0.125}, 1e-6);
  expect_error(
      [&] {
        optim::SequentialLR(other, {&constant, &halves}, {});
      },
      "SequentialLR: 2 schedules have 1 milestones, not 0");
  expect_error([&] { optim::ChainedScheduler(other, {}); }, "ChainedScheduler: there are no schedules");
}

TEST("datasets are split, loaded and read from IDX files") {
  const auto parts = data::random_split(data::TensorDataset(arange(10)), {7, 3}, 1);
  expect_equal(parts[0].size() + parts[1].size(), int64_t{10});
  auto loader = data::make_data_loader(parts[1], {.batch_size = 3});
  for (auto& [x] : loader) expect_equal(x.shape(), Shape({3}));
  const TestFolder folder;
  const auto write = [&](const std::string& name, const std::string& header, const std::string& bytes) {
    write_bytes(folder.file(name), header + bytes);
  };
  std::string pixels(2 * 28 * 28, '\0');
  pixels[28 * 28] = '\xff';
  write("train-images-idx3-ubyte", std::string("\0\0\x08\3\0\0\0\2\0\0\0\x1c\0\0\0\x1c", 16), pixels);
  write("train-labels-idx1-ubyte", std::string("\0\0\x08\1\0\0\0\2", 8), std::string("\7\3", 2));
  const data::MNIST digits(folder.path);
  expect_equal(digits.size(), 2);
  const auto [image, label] = digits.get(1);
  expect_equal(image.shape(), Shape({1, 28, 28}));
  expect_equal(image(0, 0, 0).item<double>(), 1.0);
  expect_equal(label, int64_t{3});
  auto batches = data::make_data_loader(digits, {.batch_size = 2});
  for (auto& [x, y] : batches) {
    expect_equal(x.shape(), Shape({2, 1, 28, 28}));
    expect_equal(y.to_vector<int64_t>(), std::vector<int64_t>{7, 3});
  }
  write("i16", std::string("\0\0\x0b\1\0\0\0\2", 8), std::string("\1\0\xff\xff", 4));
  expect_equal(data::read_idx(folder.file("i16")).to_vector<int16_t>(), std::vector<int16_t>{256, -1});
  expect_error([&] { data::MNIST(folder.path, false); }, "t10k-images-idx3-ubyte");
  write("gz", "\x1f\x8b\x08 ", "");
  expect_error([&] { data::read_idx(folder.file("gz")); }, "cannot be read: it is compressed; unpack it with gunzip");
  write("short", std::string("\0\0\x08\1\0\0\0\2", 8), "a");
  expect_error([&] { data::read_idx(folder.file("short")); },
               "its header declares 2 elements of 1 bytes, and 1 bytes follow");
}

TEST("derivatives of functions") {
  const Tensor x = tensor({1.0, 2.0}, {.dtype = kDouble});
  const auto f = [](const Tensor& a) { return stack({a(0) * a(1), a(0) * a(0), a(1)}); };
  expect_equal(numbers(jacobian(f, x)), std::vector<double>{2, 1, 2, 0, 0, 1});
  expect_equal(jacobian(f, x).shape(), Shape({3, 2}));
  const auto g = [](const Tensor& a) { return a(0) * a(0) * a(1); };
  expect_equal(numbers(hessian(g, x)), std::vector<double>{4, 2, 2, 0});
  const auto [value, along] = jvp(f, x, tensor({1.0, -1.0}, {.dtype = kDouble}));
  expect_equal(numbers(value), std::vector<double>{2, 1, 2});
  expect_equal(numbers(along), std::vector<double>{1, 2, -1});
  const auto [y, product] = hvp(g, x, tensor({1.0, 1.0}, {.dtype = kDouble}));
  expect_equal(y.item<double>(), 2.0);
  expect_equal(numbers(product), std::vector<double>{6, 2});
  const Tensor w = tensor({2.0}, {.dtype = kDouble, .requires_grad = true});
  jacobian([&](const Tensor& a) { return a * a * w; }, w, {.create_graph = true}).sum().backward();
  expect(w.grad().defined());
  expect_error([&] { hessian(f, x); }, "hessian: the function returns one element, not cpu f64[3]");
  expect_error([&] { jvp(f, x, ones({3})); }, "jvp: the vector has the shape of the argument, [2], not [3]");
}

TEST("gradcheck accepts right gradients and names wrong ones") {
  const Tensor x = tensor({0.5, -1.5}, {.dtype = kDouble, .requires_grad = true});
  const Tensor i = tensor({1, 0});
  const auto f = [](const std::vector<Tensor>& in) { return in[0].index_select(0, in[1]).exp() * in[0]; };
  expect(autograd::gradcheck(f, {x, i}) && autograd::gradgradcheck(f, {x, i}));
  struct Wrong {
    static Tensor forward(autograd::Context&, Tensor a) { return a * a; }
    static Tensor backward(autograd::Context&, Tensor g) { return g * 3; }
  };
  expect_error(
      [&] { autograd::gradcheck([](const std::vector<Tensor>& in) { return autograd::apply<Wrong>(in[0]); }, {x}); },
      "gradcheck: input 0, element 0: the derivative of result 0 is 3.0, the difference 0.99999");
  expect_error([] { autograd::gradcheck([](const std::vector<Tensor>& in) { return in[0]; }, {ones({1})}); },
               "gradcheck: no input requires a gradient");
}
