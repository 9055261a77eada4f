#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::indexing;

// Short programs of the kinds that LibTorch's documentation shows: tensors by index, models, losses, training loops.

namespace {

std::vector<double> numbers(const Tensor& x) { return x.detach().to(kDouble).contiguous().to_vector<double>(); }

/// Steps of an optimizer on a loss; returns the last value.
template <class Optimizer, class Loss>
double train(Optimizer& optimizer, int steps, const Loss& loss) {
  double last = 0;
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    const Tensor value = loss();
    value.backward();
    optimizer.step();
    last = value.template item<double>();
  }
  return last;
}

struct Xor {
  nn::Linear fc1{2, 8}, fc2{8, 1};
  Tensor operator()(const Tensor& x) const { return fc2(tanh(fc1(x))).squeeze(-1); }
};

struct ConvNet {
  nn::Conv2d conv1{1, 4, 3, {.padding = 1}}, conv2{4, 8, 3, {.padding = 1}};
  nn::BatchNorm2d norm{8};
  nn::Dropout2d dropout{0.1};
  nn::Linear fc{8 * 2 * 2, 3};
  Tensor operator()(const Tensor& x) const {
    const Tensor y = relu(nn::max_pool2d(conv1(x), 2));
    const Tensor z = relu(nn::max_pool2d(dropout(norm(conv2(y))), 2));
    return nn::log_softmax(fc(z.view({z.size(0), -1})), 1);
  }
};

/// The generator and the discriminator of a small DCGAN.
nn::Sequential make_generator() {
  return nn::Sequential(nn::ConvTranspose2d(4, 8, 2, {.bias = false}), nn::BatchNorm2d(8), nn::ReLU(),
                        nn::ConvTranspose2d(8, 1, 4, {.stride = 2, .padding = 1, .bias = false}), nn::Tanh());
}
nn::Sequential make_discriminator() {
  return nn::Sequential(nn::Conv2d(1, 8, 4, {.stride = 2, .padding = 1}), nn::LeakyReLU(0.2),
                        nn::Conv2d(8, 1, 2, {.bias = false}), nn::Flatten(), nn::Sigmoid());
}

struct Autoencoder {
  nn::Conv2d down{1, 2, 3, {.padding = 1}}, up{2, 1, 3, {.padding = 1}};
  nn::MaxPool2d pool{2};
  nn::MaxUnpool2d unpool{2};
  Tensor operator()(const Tensor& x) const {
    const auto [small, indices] = pool.forward_with_indices(relu(down(x)));
    return up(unpool(small, indices));
  }
};

struct Tagger {
  nn::Embedding words{10, 6};
  nn::LSTM lstm{6, 8, {.batch_first = true}};
  nn::Linear tags{8, 3};
  Tensor operator()(const Tensor& x) const { return tags(std::get<0>(lstm(words(x)))); }
};

struct Copier {
  nn::Embedding words{6, 8};
  nn::Transformer transformer{8, 2, 1, 1, {.dim_feedforward = 16, .dropout = 0, .batch_first = true}};
  nn::Linear head{8, 6};
  Tensor operator()(const Tensor& source, const Tensor& target) const {
    const Tensor mask = nn::Transformer::generate_square_subsequent_mask(target.size(1));
    return head(transformer(words(source), words(target), {.tgt_mask = mask}));
  }
};

}  // namespace

TEST("program: a matrix is filled, sliced and summed by index") {
  const Tensor grid = zeros({4, 4}, {.dtype = kInt64});
  for (int64_t i = 0; i < 4; ++i) grid.index_put_({i, i}, i + 1);
  grid.index_put_({Slice(None, 2), 3}, 7);
  expect_equal(numbers(grid.index({0})), std::vector<double>{1, 0, 0, 7});
  expect_equal(grid.sum().item<int64_t>(), 24);
  expect_equal(grid.index({Slice(), 3}).max().item<int64_t>(), 7);
  const auto [values, indices] = grid.max(1);
  expect_equal(numbers(indices), std::vector<double>{3, 3, 2, 3});
  expect_equal(numbers(values), std::vector<double>{7, 7, 3, 4});
}

TEST("program: a custom loop writes through an accessor") {
  const Tensor x = empty({3, 2});
  const auto cells = accessor<float, 2>(x);
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) cells[i][j] = static_cast<float>(10 * i + j);
  expect_equal(numbers(x), std::vector<double>{0, 1, 10, 11, 20, 21});
  float* const first = x.data_ptr<float>();
  first[x.stride(0) * 2] = -1;
  expect_equal(x.index({2, 0}).item<float>(), -1.f);
}

TEST("program: least squares by SGD") {
  manual_seed(0);
  const Tensor x = randn({64, 3}), w = tensor({1.0, -2.0, 0.5}), y = x.mv(w) + 0.25;
  nn::Linear model(3, 1);
  optim::SGD optimizer(nn::parameters(model), {.lr = 0.1, .momentum = 0.9});
  expect_less(train(optimizer, 300, [&] { return nn::mse_loss(model(x).squeeze(1), y); }), 1e-6);
  expect_near(numbers(model.weight), {1, -2, 0.5}, 1e-2);
  expect_near(model.bias.item<double>(), 0.25, 1e-2);
}

TEST("program: XOR with Adam and a logistic loss") {
  manual_seed(1);
  const Tensor x = tensor({{0.0, 0.0}, {0.0, 1.0}, {1.0, 0.0}, {1.0, 1.0}}), y = tensor({0.0, 1.0, 1.0, 0.0});
  Xor model;
  optim::Adam optimizer(nn::parameters(model), {.lr = 0.05});
  expect_less(train(optimizer, 250, [&] { return nn::binary_cross_entropy_with_logits(model(x), y); }), 0.1);
  const NoGradGuard no_grad;
  expect((model(x) > 0).to(kFloat).equal(y));
}

TEST("program: a convolutional net is trained from a data loader and tested") {
  manual_seed(2);
  const Tensor labels = arange(24) % 3, images = randn({24, 1, 8, 8}) * 0.1;
  for (int64_t i = 0; i < 24; ++i) images.index_put_({i, 0, labels.index({i}).item<int64_t>() * 2}, 1.0);
  ConvNet model;
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
  data::DataLoader loader(data::TensorDataset(images, labels), {.batch_size = 8, .shuffle = true, .seed = 3});
  nn::train(model);
  for (int epoch = 0; epoch < 12; ++epoch)
    for (auto& [batch, target] : loader) {
      optimizer.zero_grad();
      nn::nll_loss(model(batch), target).backward();
      optimizer.step();
    }
  nn::eval(model);
  const NoGradGuard no_grad;
  const int64_t correct = model(images).argmax(1).eq(labels).sum().item<int64_t>();
  expect(correct >= 22, "right: " + std::to_string(correct));
}

TEST("program: one step of a DCGAN") {
  manual_seed(3);
  nn::Sequential generator = make_generator(), discriminator = make_discriminator();
  optim::Adam for_generator(nn::parameters(generator), {.lr = 2e-4, .betas = {0.5, 0.999}});
  optim::Adam for_discriminator(nn::parameters(discriminator), {.lr = 2e-4, .betas = {0.5, 0.999}});
  const Tensor real = rand({5, 1, 4, 4}), noise = randn({5, 4, 1, 1});
  const Tensor real_labels = empty({5, 1}).uniform_(0.8, 1.0), fake_labels = zeros({5, 1});
  const Tensor fake = generator(noise);
  expect_equal(fake.sizes(), Shape{5, 1, 4, 4});
  const Tensor loss_real = nn::binary_cross_entropy(discriminator(real), real_labels);
  const Tensor loss_fake = nn::binary_cross_entropy(discriminator(fake.detach()), fake_labels);
  loss_real.backward();
  loss_fake.backward();
  for_discriminator.step();
  for (const Tensor& parameter : nn::parameters(generator)) expect(!parameter.grad().defined());
  const Tensor loss = nn::binary_cross_entropy(discriminator(fake), ones({5, 1}));
  loss.backward();
  for_generator.step();
  for (const Tensor& parameter : nn::parameters(generator)) expect(parameter.grad().defined());
  expect(std::isfinite((loss + loss_real + loss_fake).item<double>()));
}

TEST("program: a gradient penalty differentiates a gradient") {
  manual_seed(4);
  nn::Linear critic(3, 1);
  const Tensor samples = randn({6, 3}).requires_grad_();
  const Tensor score = critic(samples).pow(2).sum();
  const auto gradients = autograd::grad(score, samples, {}, {.create_graph = true});
  const Tensor penalty = (gradients[0].norm(2, 1) - 1).pow(2).mean();
  penalty.backward();
  expect(critic.weight.grad().defined() && critic.weight.grad().abs().sum().item<double>() > 0);
}

TEST("program: a recurrent tagger carries its state, detached, from batch to batch") {
  manual_seed(5);
  Tagger model;
  const Tensor x = randint(0, 10, {2, 5}), tags = x % 3;
  optim::Adam optimizer(nn::parameters(model), {.lr = 0.05});
  const double loss = train(optimizer, 60, [&] { return nn::cross_entropy(model(x).view({-1, 3}), tags.view({-1})); });
  expect(loss < 0.2, std::to_string(loss));
  nn::GRUCell cell(2, 3);
  Tensor state = zeros({1, 3});
  for (int step = 0; step < 4; ++step) {
    state = cell(ones({1, 2}), state);
    if (step % 2 == 1) state.detach_();
  }
  expect(!state.requires_grad());
}

TEST("program: an autoencoder pools and unpools") {
  manual_seed(6);
  Autoencoder model;
  const Tensor x = rand({2, 1, 4, 4});
  optim::Adam optimizer(nn::parameters(model), {.lr = 0.02});
  const auto loss = [&] { return nn::mse_loss(model(x), x); };
  const double before = loss().item<double>();
  expect_less(train(optimizer, 60, loss), before / 2);
}

TEST("program: bags of words are classified") {
  manual_seed(7);
  nn::EmbeddingBag bag(8, 4, {.mode = "sum"});
  nn::Linear head(4, 2);
  const Tensor words = tensor({0, 1, 2, 5, 6, 0, 2, 7, 5}), offsets = tensor({0, 3, 5, 7}), y = tensor({0, 1, 0, 1});
  std::vector<Tensor> parameters = nn::parameters(bag);
  for (const Tensor& parameter : nn::parameters(head)) parameters.push_back(parameter);
  optim::SGD optimizer(parameters, {.lr = 0.5});
  expect_less(train(optimizer, 60, [&] { return nn::cross_entropy(head(bag(words, offsets)), y); }), 0.1);
}

TEST("program: a speech model learns two labels with CTC") {
  manual_seed(8);
  const Tensor sound = randn({8, 2, 5}), targets = tensor({{1, 2}, {2, 1}});
  nn::Sequential model(nn::Linear(5, 16), nn::Tanh(), nn::Linear(16, 3));
  optim::Adam optimizer(nn::parameters(model), {.lr = 0.05});
  const nn::CTCLoss ctc({.zero_infinity = true});
  expect_less(train(optimizer, 80,
                    [&] {
                      return ctc(nn::log_softmax(model(sound), 2), targets, {8, 8}, {2, 2});
                    }),
              0.3);
}

TEST("program: a Transformer learns to copy") {
  manual_seed(9);
  Copier model;
  const Tensor source = randint(1, 6, {4, 3}), start = zeros({4, 1}, {.dtype = kLong});
  const Tensor target = cat({start, source.slice(1, 0, 2)}, 1);
  optim::Adam optimizer(nn::parameters(model), {.lr = 0.02});
  const double loss = train(optimizer, 80, [&] {
    return nn::cross_entropy(model(source, target).view({-1, 6}), source.view({-1}));
  });
  expect(loss < 0.3, std::to_string(loss));
}

TEST("program: parameters are initialised by hand and frozen") {
  nn::Linear layer(3, 2);
  {
    const NoGradGuard no_grad;
    layer.weight.normal_(0, 0.02);
    layer.bias.zero_();
  }
  expect_equal(numbers(layer.bias), std::vector<double>{0, 0});
  layer.weight.requires_grad_(false);
  sum(layer(ones({1, 3}))).backward();
  expect(!layer.weight.grad().defined() && layer.bias.grad().defined());
  Tensor copy = layer.bias.clone().detach_();
  expect(copy.is_leaf() && !copy.requires_grad());
}
