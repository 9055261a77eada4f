#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

// The smallest PNG files: one pixel, red and blue.
const std::string png_start("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde", 33);
const std::string red = png_start +
                        std::string(
                            "\0\0\0\x0cIDATx\x9c"
                            "c\xf8\xcf\xc0\0\0\3\1\1\0\xc9\xfe\x92\xef",
                            24) +
                        std::string(
                            "\0\0\0\0IEND\xae"
                            "B`\x82",
                            12);

}  // namespace

TEST("a mapped dataset changes samples, with the sample's generator where it draws") {
  const auto doubled = data::map(data::TensorDataset(arange(4)), [](const auto& sample) { return sample[0] * 2; });
  data::DataLoader loader(doubled, {.batch_size = 4});
  for (auto& x : loader) expect_equal(x.to_vector<int64_t>(), std::vector<int64_t>{0, 2, 4, 6});
  const auto noisy = data::map(std::vector<double>{1, 2, 3}, [](double x, Generator& g) {
    return x + rand({}, {.dtype = Dtype::f64, .generator = g}).item<double>();
  });
  const auto epoch = [&](int64_t workers) {
    data::DataLoader drawn(noisy, {.batch_size = 3, .workers = workers, .seed = 2});
    std::vector<double> out;
    for (auto& x : drawn) out = x.to_vector<double>();
    return out;
  };
  const auto first = epoch(0);
  expect_equal(first, epoch(2));
  for (size_t i = 0; i < 3; ++i)
    expect(first[i] >= static_cast<double>(i) + 1 && first[i] < static_cast<double>(i) + 2);
  const auto twice = data::map(doubled, [](const Tensor& x) { return x + 1; });
  Generator g(1);
  expect_equal(twice.get(3, g).item<int64_t>(), int64_t{7});
}

TEST("datasets follow one another") {
  const data::ConcatDataset<data::TensorDataset<1>> all(
      {data::TensorDataset(arange(2)), data::TensorDataset(arange(10, 13))});
  expect_equal(all.size(), 5);
  expect_equal(all.get(1)[0].item<int64_t>(), int64_t{1});
  expect_equal(all.get(2)[0].item<int64_t>(), int64_t{10});
  expect_error([&] { all.get(5); }, "there is no sample 5; the dataset has 5");
  expect_error([&] { all.get(-1); }, "there is no sample -1; the dataset has 5");
}

TEST("images in folders are samples of the folders' classes") {
  const TestFolder folder;
  for (const char* name : {"dogs", "cats/young", "empty"})
    std::filesystem::create_directories(folder.path + "/" + name);
  write_bytes(folder.file("dogs/1.png"), red);
  write_bytes(folder.file("cats/young/2.PNG"), red);
  write_bytes(folder.file("cats/notes.txt"), "no image");
  const data::ImageFolder images(folder.path, [](const Tensor& image, Generator&) { return image * 2; });
  expect_equal(images.classes(), std::vector<std::string>{"cats", "dogs", "empty"});
  expect_equal(images.size(), 2);
  Generator g(1);
  const auto [image, label] = images.get(1, g);
  expect_equal(label, int64_t{1});
  expect_equal(image.shape(), Shape({3, 1, 1}));
  expect_equal(image.to_vector<float>(), std::vector<float>{2, 0, 0});
  data::DataLoader loader(images, {.batch_size = 2});
  for (auto& [x, y] : loader) {
    expect_equal(x.shape(), Shape({2, 3, 1, 1}));
    expect_equal(y.to_vector<int64_t>(), std::vector<int64_t>{0, 1});
  }
  expect_error([] { data::ImageFolder("/nowhere"); }, "/nowhere is not a folder");
  expect_error([&] { data::ImageFolder(folder.path + "/dogs"); }, "has no folders; each class has a folder of its own");
  std::filesystem::create_directories(folder.path + "/none/class");
  expect_error([&] { data::ImageFolder(folder.path + "/none"); },
               "ImageFolder: there are no PNG or JPEG files in the folders of ");
}

TEST("a long text of tokens is cut into chunks and what follows") {
  const TestFolder folder;
  for (const int64_t bytes : {2, 4}) {
    data::save_tokens(folder.file("t.bin"), arange(1000, 1011), bytes);
    const data::TokenDataset chunks(folder.file("t.bin"), {.length = 3, .token_bytes = bytes});
    expect_equal(chunks.tokens(), 11);
    expect_equal(chunks.size(), 3);
    const auto [x, y] = chunks.get(2);
    expect_equal(x.to_vector<int64_t>(), std::vector<int64_t>{1006, 1007, 1008});
    expect_equal(y.to_vector<int64_t>(), std::vector<int64_t>{1007, 1008, 1009});
  }
  const data::TokenDataset windows(arange(11), {.length = 3, .stride = 1});
  expect_equal(windows.size(), 8);
  expect_equal(windows.get(7).second.to_vector<int64_t>(), std::vector<int64_t>{8, 9, 10});
  expect_error([&] { windows.get(8); }, "there is no sample 8; the dataset has 8");
  expect_error([] { data::TokenDataset(arange(3), {.length = 3}); },
               "TokenDataset: the tensor has 3 tokens; a sample of length 3 needs 4");
  expect_error([&] { data::TokenDataset(folder.file("none.bin")); }, folder.file("none.bin"));
  write_bytes(folder.file("odd.bin"), "abc");
  expect_error([&] { data::TokenDataset(folder.file("odd.bin")); }, "has 3 bytes, no multiple of 2");
  expect_error([&] { data::save_tokens(folder.file("x.bin"), tensor({65536})); },
               "save_tokens: the token 65536 does not fit into 2 bytes");
}

TEST("generated sets have their shapes, classes and seeds") {
  const Generator g(1);
  const auto [x, y] = data::make_moons(500, {.noise = 0, .generator = g});
  expect_equal(x.shape(), Shape({500, 2}));
  expect_equal(y.dtype(), Dtype::i64);
  const Tensor centre_x = y.to(Dtype::f32), centre_y = y.to(Dtype::f32) * 0.5f;
  const Tensor radius = hypot(x(Slice(), 0) - centre_x, x(Slice(), 1) - centre_y);
  expect_near(radius.max().item<double>(), 1, 1e-5);
  expect_near(radius.min().item<double>(), 1, 1e-5);
  const auto [c, inner] = data::make_circles(500, {.noise = 0});
  expect_equal(allclose(norm(c, 2.0, 1), 1 - inner.to(Dtype::f32) * 0.5f, 1e-4, 1e-4), true);
  const auto [s, side] = data::make_spirals(100, {.noise = 0});
  expect(norm(s, 2.0, 1).max().item<double>() <= 1.0001, "within radius 1");
  const auto [b, label] = data::make_blobs(300, {.classes = 4, .features = 5, .spread = 0.01, .extent = 100});
  expect_equal(b.shape(), Shape({300, 5}));
  expect_equal(label.max().item<int64_t>(), int64_t{3});
  const auto [r, target] = data::make_regression(50, {.features = 3, .noise = 0});
  const Tensor weights = linalg::lstsq(r, target);
  expect(allclose(matmul(r, weights), target, 1e-3, 1e-3), "targets are linear in the features");
  expect_error([] { data::make_moons(0); }, "make_moons: the number of samples must be at least 1, not 0");
}
