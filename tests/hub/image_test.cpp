#include <fulgurite/fulgurite.h>

#include "hub/image/resample.h"
#include "hub/model_folder.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// Rows of (37 r + 91 k) mod 256 for the k-th number of row r.
hub::Image striped(int64_t rows, int64_t columns) {
  hub::Image image{rows, columns, {}};
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < columns * 3; ++k) image.pixels.push_back(static_cast<uint8_t>(row % 5 * 37 + k * 91));
  return image;
}

hub::Image plain(int64_t rows, int64_t columns, uint8_t value) {
  return {rows, columns, std::vector<uint8_t>(static_cast<size_t>(rows * columns * 3), value)};
}

std::vector<int> numbers(const hub::Image& image) { return {image.pixels.begin(), image.pixels.end()}; }

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// The 83 bytes of a PNG file of 2 x 2 pixels with opacities, and a JPEG file of two stripes.
const std::string png_digits =
    "89504e470d0a1a0a0000000d494844520000000200000002080600000072b60d240000001a4944415478da63f8cfc0f09fe13f4303030"
    "3c37f062e11b91300374905810047341e0000000049454e44ae426082";
const std::string jpeg_digits =
    "ffd8ffe000104a46494600010100000100010000ffdb0043000302020302020303030304030304050805050404050a070706080c0a0c0c0b"
    "0a0b0b0d0e12100d0e110e0b0b1016101113141515150c0f171816141812141514ffdb00430103040405040509050509140d0b0d14141414"
    "14141414141414141414141414141414141414141414141414141414141414141414141414141414141414141414ffc00011080008000803"
    "011100021101031101ffc40014000100000000000000000000000000000007ffc40018100002030000000000000000000000000000054382"
    "c1ffc4001501010100000000000000000000000000000506ffc4001c110001030500000000000000000000000000060743458283c2c3ffda"
    "000c03010002110311003f0020413d746d273dbb146ffd2f3723ffd9";

std::string bytes_of(const std::string& digits) {
  std::string out;
  for (size_t i = 0; i < digits.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return out;
}

// False in a build without the libraries of images, where decoding says so.
bool decodes() {
  const std::string message = message_of([] { hub::decode_image(bytes_of(png_digits)); });
  if (message == "no error") return true;
  expect_equal(message,
               std::string("this build of fulgurite does not read images; build it with -DFULGURITE_IMAGES=ON"));
  return false;
}

hub::ImageProcessor processor(const std::string& config) { return hub::ImageProcessor(hub::Config(config, "FILE")); }

}  // namespace

// The numbers of this file are those of Pillow and of transformers.
TEST("a PNG file is read with its transparent pixels over white") {
  if (!decodes()) return;
  const hub::Image image = hub::decode_image(bytes_of(png_digits));
  expect_equal(numbers(image), std::vector<int>{255, 0, 0, 127, 255, 127, 255, 255, 255, 63, 71, 79});
  expect(image.rows == 2 && image.columns == 2);
}

TEST("a JPEG file is read with the pixels of libjpeg's most exact transform") {
  if (!decodes()) return;
  const hub::Image image = hub::decode_image(bytes_of(jpeg_digits));
  expect(image.rows == 8 && image.columns == 8);
  const std::vector<int> row = {200, 30,  59,  200, 30,  57,  202, 29,  59,  200, 30,  57,
                                21,  130, 163, 21,  130, 161, 21,  130, 163, 21,  130, 161};
  for (size_t i = 0; i < 8; ++i)
    expect(std::equal(row.begin(), row.end(), image.pixels.begin() + static_cast<std::ptrdiff_t>(i * row.size())));
}

TEST("damaged and unknown image files are refused with their path") {
  const TestFolder folder;
  const std::string path = folder.file("image");
  const auto refuse = [&](const std::string& bytes, const std::string& message) {
    write_text(path, bytes);
    expect_equal(message_of([&] { hub::read_image(path); }), "\"" + path + "\" cannot be read: " + message);
  };
  refuse("", "the file is not a PNG or JPEG image; convert it to one of them");
  refuse("GIF89a", "the file is not a PNG or JPEG image; convert it to one of them");
  if (!decodes()) return;
  const std::string png = bytes_of(png_digits), jpeg = bytes_of(jpeg_digits);
  refuse(png.substr(0, 60), "the PNG image is damaged: the file is cut short");
  refuse(jpeg.substr(0, 300), "the JPEG image is damaged: Premature end of JPEG file");
  std::string other = png;
  other[19] ^= 1;  // in the header, whose checksum then differs
  refuse(other, "the PNG image is damaged: IHDR: CRC error");
  other = jpeg;
  other.replace(other.find("\xff\xc0") + 5, 2, std::string(2, '\xff'));
  other.replace(other.find("\xff\xc0") + 7, 2, std::string(2, '\xff'));
  expect(
      message_of([&] { hub::decode_image(other); }).starts_with("the image has 65535 x 65535 pixels; images of 1 to") ||
      message_of([&] { hub::decode_image(other); }).starts_with("the JPEG image is damaged"));
  for (size_t length = 0; length < png.size(); ++length)
    expect_different(message_of([&] { hub::decode_image(png.substr(0, length)); }), "no error");
  for (size_t length = 0; length + 2 < jpeg.size(); ++length)
    expect_different(message_of([&] { hub::decode_image(jpeg.substr(0, length)); }), "no error");
  expect_error([&] { hub::read_image(folder.file("none")); }, "\"" + folder.file("none") + "\" cannot be read");
}

TEST("images are resampled to the pixels of Pillow by each filter") {
  const hub::Image image = striped(5, 4);
  const std::vector<std::vector<int>> wanted = {
      {37, 128, 219, 71, 162, 253, 88, 179, 14, 111, 202, 37, 145, 236, 71, 162, 253, 88},
      {33, 127, 153, 56, 162, 184, 78, 184, 120, 121, 190, 42, 144, 139, 65, 166, 169, 80},
      {42, 133, 154, 63, 154, 175, 83, 174, 121, 116, 183, 54, 137, 147, 75, 157, 167, 87},
      {35, 128, 156, 58, 157, 182, 80, 179, 121, 119, 188, 45, 142, 140, 68, 164, 166, 84},
      {37, 128, 134, 63, 154, 160, 88, 179, 99, 130, 221, 56, 156, 119, 82, 181, 144, 107},
      {34, 125, 171, 57, 148, 194, 79, 170, 112, 120, 197, 47, 143, 146, 70, 165, 168, 92}};
  for (size_t i = 0; i < wanted.size(); ++i)
    expect_equal(numbers(hub::resample(image, {2, 3}, static_cast<hub::Filter>(i))), wanted[i]);
  std::vector<int> larger = numbers(hub::resample(image, {6, 5}, hub::Filter::bicubic));
  larger.resize(12);
  expect_equal(larger, std::vector<int>{0, 89, 180, 10, 101, 192, 25, 116, 206, 39, 130, 223});
  expect_equal(numbers(hub::resample(image, {5, 4}, hub::Filter::lanczos)), numbers(image));
}

TEST("rows are resampled first where their number shrinks by more than twice that of columns") {
  expect_equal(numbers(hub::resample(striped(20, 4), {2, 3}, hub::Filter::bicubic)),
               std::vector<int>{72, 152, 111, 95, 140, 135, 117, 164, 114, 82, 159, 100, 105, 136, 124, 127, 161, 109});
}

TEST("the middle of an image is cropped, with black around a smaller one") {
  const hub::Image image = striped(5, 4);
  expect_equal(numbers(hub::center_crop(image, {1, 1})),
               std::vector<int>{image.pixels[27], image.pixels[28], image.pixels[29]});
  const hub::Image wide = hub::center_crop(plain(1, 2, 7), {2, 5});
  expect_equal(numbers(wide), std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                               0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 0, 0, 0});
}

TEST("an image processor scales and normalizes each channel") {
  const auto prepare = processor(R"({"image_processor_type": "CLIPImageProcessor", "do_resize": false,
    "do_center_crop": false})");
  const Tensor pixels = prepare(hub::Image{1, 1, {255, 0, 128}});
  expect_equal(pixels.shape(), Shape({1, 3, 1, 1}));
  expect_equal(pixels.dtype(), Dtype::f32);
  expect_near(values(pixels), {1.9303361, -1.7520971, 0.3399488}, 1e-6);
  const auto plainly = processor(R"({"image_processor_type": "ViTImageProcessor", "do_resize": false,
    "do_normalize": false, "rescale_factor": 0.5})");
  expect_equal(values(plainly(hub::Image{1, 1, {255, 0, 128}})), std::vector<double>{127.5, 0, 64});
}

TEST("the sizes of prepared images follow the kind of the processor and the form of its settings") {
  const auto shape = [](const std::string& config, const hub::Image& image) {
    return processor(config)(image).shape();
  };
  const hub::Image image = plain(30, 20, 9);
  expect_equal(shape(R"({"feature_extractor_type": "ViTFeatureExtractor", "size": 8})", image), Shape({1, 3, 8, 8}));
  expect_equal(shape(R"({"image_processor_type": "ViTImageProcessorFast", "size": {"height": 6, "width": 5}})", image),
               Shape({1, 3, 6, 5}));
  expect_equal(
      shape(R"({"feature_extractor_type": "CLIPFeatureExtractor", "size": 8, "do_center_crop": false})", image),
      Shape({1, 3, 12, 8}));
  expect_equal(
      shape(R"({"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 8}, "crop_size": 7})", image),
      Shape({1, 3, 7, 7}));
  expect_equal(shape(R"({"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 384}})", image),
               Shape({1, 3, 384, 384}));
  expect_equal(shape(R"({"feature_extractor_type": "ConvNextFeatureExtractor", "size": 14, "crop_pct": 0.875})", image),
               Shape({1, 3, 14, 14}));
}

TEST("images of equal prepared sizes form a batch") {
  const auto prepare = processor(R"({"image_processor_type": "ViTImageProcessor", "size": 4, "image_mean": 0.5})");
  const Tensor batch = prepare(std::vector<hub::Image>{plain(9, 5, 0), plain(3, 8, 255)});
  expect_equal(batch.shape(), Shape({2, 3, 4, 4}));
  expect_equal(values(select(batch, 0, 0)), std::vector<double>(48, -1.0));
  expect_equal(values(select(batch, 0, 1)), std::vector<double>(48, 1.0));
  const auto keep = processor(R"({"image_processor_type": "ViTImageProcessor", "do_resize": false})");
  expect_error(
      [&] {
        keep(std::vector<hub::Image>{plain(2, 2, 0), plain(2, 3, 0)});
      },
      "ImageProcessor: image 1 is prepared to 2 x 3 pixels, those before it to 2 x 2; prepare them one by one");
  expect_error([&] { keep(std::vector<hub::Image>{}); }, "ImageProcessor: there are no images");
  expect_error(
      [&] {
        keep(hub::Image{2, 2, {1, 2, 3}});
      },
      "ImageProcessor: an image of 2 x 2 pixels needs 3 numbers for each, it has 3 numbers");
}

TEST("image processors are found in a folder's files") {
  const TestFolder folder;
  expect_error([&] { hub::ImageProcessor::load(folder.path); },
               "\"" + folder.path + "\" has no preprocessor_config.json, which says how images are prepared");
  write_text(folder.file("processor_config.json"),
             R"({"image_processor": {"image_processor_type": "CLIPImageProcessor", "crop_size": 5}})");
  expect_equal(hub::ImageProcessor::load(folder.path)(plain(9, 9, 1)).shape(), Shape({1, 3, 5, 5}));
  write_text(folder.file("preprocessor_config.json"), R"({"image_processor_type": "ViTImageProcessor", "size": 3})");
  expect_equal(hub::ImageProcessor::load(folder.path)(plain(9, 9, 1)).shape(), Shape({1, 3, 3, 3}));
}

TEST("settings of image processors that are not supported are refused") {
  const auto refuse = [](const std::string& more, const std::string& message) {
    expect_error([&] { processor(R"({"image_processor_type": "ViTImageProcessor")" + more + "}"); }, message);
  };
  expect_error([&] { processor(R"({"image_processor_type": "SamImageProcessor"})"); },
               "FILE: \"image_processor_type\" is \"SamImageProcessor\", which is not supported; there are "
               "ViTImageProcessor, CLIPImageProcessor and ConvNextImageProcessor");
  expect_error([&] { processor("{}"); },
               "FILE: \"feature_extractor_type\" is absent, which is not supported; there are ViTImageProcessor, "
               "CLIPImageProcessor and ConvNextImageProcessor");
  refuse(R"(, "resample": 6)", "FILE: \"resample\" is 6, which is not supported; there are Pillow's filters 0 to 5");
  refuse(R"(, "do_pad": true)", "FILE: \"do_pad\" is true, which is not supported; images are not padded");
  refuse(R"(, "size": {"shortest_edge": 3, "longest_edge": 5})",
         "FILE, size: \"longest_edge\" is 5, which is not supported; sizes have height and width, or shortest_edge");
  refuse(R"(, "size": 0)", "FILE: \"size\" is 0, which is not supported; it must be positive");
  refuse(R"(, "size": {"height": 3})", "FILE, size: there is no \"width\"");
  refuse(R"(, "image_mean": [0.5, 0.5])",
         "FILE: \"image_mean\" is of another kind, which is not supported; images have three channels");
  refuse(R"(, "image_std": ["a"])", "FILE: \"image_std\" must be a list of numbers");
  refuse(R"(, "do_center_crop": true)", "FILE: \"crop_size\" is absent, which is not supported; a crop needs a size");
  expect_error([&] { processor(R"({"image_processor_type": "ConvNextImageProcessor", "size": 14, "crop_pct": 2})"); },
               "FILE: \"crop_pct\" is 2, which is not supported; it must be above 0 and at most 1");
}
