// Convolutions alone and two small convolutional networks: prints one JSON line for each case and metric.
//   bench_convolutions [--dtype bf16] [--only NAME] [--seconds 0.3]
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/convnet.h>

using namespace fulgurite;

namespace {

double cpu_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}
double wall_milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds = 0.3;

void measure(const char* name, const char* what, const std::function<void()>& run) {
  run();
  run();
  double best = 1e30, best_cpu = 1e30;
  int calls = 0;
  for (const double start = wall_milliseconds(); wall_milliseconds() - start < 1000 * seconds || calls < 3; ++calls) {
    const double begin = wall_milliseconds(), cpu = cpu_milliseconds();
    run();
    best = std::min(best, wall_milliseconds() - begin);
    best_cpu = std::min(best_cpu, cpu_milliseconds() - cpu);
  }
  std::printf("{\"case\": \"%s\", \"what\": \"%s\", \"ms_best\": %.4g, \"cpu_ms_best\": %.4g}\n", name, what, best,
              best_cpu);
  std::fflush(stdout);
}

/// The same as in convolutions.py.
struct Case {
  const char* name;
  Shape input;
  int64_t rows, kernel, stride, padding, groups;
  bool is_first = false;  // of a network: its input requires no gradient
};

void measure_convolution(const Case& c, Dtype dtype) {
  const size_t spatial = c.input.size() - 2;
  std::vector<int64_t> sizes{c.rows, c.input[1] / c.groups};
  sizes.resize(spatial + 2, c.kernel);
  Tensor x = randn(c.input).to(dtype), weight = (randn(sizes) * 0.05).to(dtype), bias = randn({c.rows}).to(dtype);
  const auto convolve = [&] {
    return spatial == 1 ? nn::conv1d(x, weight, bias, c.stride, c.padding, 1, c.groups)
                        : nn::conv2d(x, weight, bias, c.stride, c.padding, 1, c.groups);
  };
  const Tensor grad = randn(convolve().shape()).to(dtype);
  measure(c.name, "forward", [&] { convolve(); });
  std::vector<Tensor> inputs{weight, bias};
  if (!c.is_first) inputs.push_back(x);
  for (Tensor& input : inputs) input.requires_grad_();
  measure(c.name, "training", [&] { autograd::grad({convolve()}, inputs, {grad}); });
}

/// Two convolutions with batch norm, and what is added to them.
struct ResidualBlock {
  nn::Conv2d first, second, shortcut;
  nn::BatchNorm2d first_norm, second_norm, shortcut_norm;
  bool is_narrowing = false;
  Tensor operator()(const Tensor& x) const {
    const Tensor y = second_norm(second(relu(first_norm(first(x)))));
    return relu(y + (is_narrowing ? shortcut_norm(shortcut(x)) : x));
  }
};

ResidualBlock make_block(int64_t from, int64_t to) {
  const bool is_narrowing = from != to;
  ResidualBlock block;
  block.first = nn::Conv2d(from, to, 3, is_narrowing ? 2 : 1, 1, 1, 1, false);
  block.second = nn::Conv2d(to, to, 3, 1, 1, 1, 1, false);
  block.first_norm = nn::BatchNorm2d(to);
  block.second_norm = nn::BatchNorm2d(to);
  block.is_narrowing = is_narrowing;
  if (is_narrowing) {
    block.shortcut = nn::Conv2d(from, to, 1, 2, 0, 1, 1, false);
    block.shortcut_norm = nn::BatchNorm2d(to);
  }
  return block;
}

/// The residual network of 8 layers for images of 32 x 32.
struct ResNet {
  nn::Conv2d first = nn::Conv2d(3, 16, 3, 1, 1, 1, 1, false);
  nn::BatchNorm2d norm = nn::BatchNorm2d(16);
  std::vector<ResidualBlock> blocks{make_block(16, 16), make_block(16, 32), make_block(32, 64)};
  nn::AdaptiveAvgPool2d average{1};
  nn::Linear output = nn::Linear(64, 10);

  Tensor operator()(const Tensor& images) const {
    Tensor y = relu(norm(first(images)));
    for (const ResidualBlock& block : blocks) y = block(y);
    return output(flatten(average(y), 1));
  }
  Tensor loss(const Tensor& images, const Tensor& classes) const { return nn::cross_entropy((*this)(images), classes); }
};

template <class Model>
void measure_network(const char* name, Model model, const Shape& images) {
  const Tensor x = randn(images), classes = randint(0, 10, {images[0]}, {.dtype = Dtype::i64});
  optim::SGD optimizer(nn::parameters(model), {.lr = 1e-3, .momentum = 0.9});
  const auto loss = jit([](Model m, Tensor input, Tensor wanted) { return m.loss(input, wanted); });
  measure(name, "step, eager", [&] {
    optimizer.zero_grad();
    model.loss(x, classes).backward();
    optimizer.step();
  });
  measure(name, "step, compiled", [&] {
    optimizer.zero_grad();
    loss(model, x, classes).backward();
    optimizer.step();
  });
  nn::eval(model);
  const NoGrad no_grad;
  const auto forward = jit([](Model m, Tensor input) { return m(input); });
  measure(name, "forward, eager", [&] { model(x); });
  measure(name, "forward, compiled", [&] { forward(model, x); });
}

}  // namespace

int main(int argc, char** argv) {
  const Case cases[] = {
      {"3x3, 64 at 56", {8, 64, 56, 56}, 64, 3, 1, 1, 1},
      {"3x3, 128 at 28", {8, 128, 28, 28}, 128, 3, 1, 1, 1},
      {"3x3, 256 at 14", {8, 256, 14, 14}, 256, 3, 1, 1, 1},
      {"3x3, 512 at 7", {8, 512, 7, 7}, 512, 3, 1, 1, 1},
      {"3x3 / 2, 128 to 256", {8, 128, 28, 28}, 256, 3, 2, 1, 1},
      {"1x1, 64 to 256 at 56", {8, 64, 56, 56}, 256, 1, 1, 0, 1},
      {"1x1, 1024 to 256 at 14", {8, 1024, 14, 14}, 256, 1, 1, 0, 1},
      {"7x7 / 2, images", {8, 3, 224, 224}, 64, 7, 2, 3, 1, true},
      {"depthwise 3x3, 128 at 56", {8, 128, 56, 56}, 128, 3, 1, 1, 128},
      {"depthwise 3x3 / 2, 128 at 56", {8, 128, 56, 56}, 128, 3, 2, 1, 128},
      {"depthwise 3x3, 512 at 14", {8, 512, 14, 14}, 512, 3, 1, 1, 512},
      {"3x3, 16 to 32 at 14", {64, 16, 14, 14}, 32, 3, 1, 1, 1},
      {"3x3, 1 to 16 at 28", {64, 1, 28, 28}, 16, 3, 1, 1, 1, true},
      {"3x3, 64 at 56, one image", {1, 64, 56, 56}, 64, 3, 1, 1, 1},
      {"1-d, 9, 64 at 4000", {8, 64, 4000}, 64, 9, 1, 4, 1},
  };
  std::string only;
  Dtype dtype = Dtype::f32;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--dtype" && (value == "f32" || value == "bf16")) dtype = value == "f32" ? Dtype::f32 : Dtype::bf16;
    else if (flag == "--only") only = value;
    else if (flag == "--seconds") seconds = std::atof(value.c_str());
    else return std::fprintf(stderr, "unknown flag %s %s\n", flag.c_str(), value.c_str()), 2;
  }
  manual_seed(1);
  for (const Case& c : cases)
    if (only.empty() || only == c.name) measure_convolution(c, dtype);
  if (dtype != Dtype::f32) return 0;
  if (only.empty() || only == "CNN") measure_network("CNN", models::make_convnet({}), {64, 1, 28, 28});
  if (only.empty() || only == "ResNet") measure_network("ResNet", ResNet(), {64, 3, 32, 32});
  return 0;
}
