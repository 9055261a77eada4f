// Prepares images for a model, for compare_images.py.
// usage: prepare_image FOLDER RESULT.safetensors IMAGE…
// RESULT has for the i-th image its pixels "image.i" [rows, columns, 3], and "prepared.i" as a model takes it. Of an
// image that is refused there is neither, and a line on stderr.
#include <iostream>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

void add(TensorMap& out, const hub::ImageProcessor& processor, const std::string& path, const std::string& index) {
  const hub::Image image = hub::read_image(path);
  const std::vector<int64_t> pixels(image.pixels.begin(), image.pixels.end());
  out["image." + index] = reshape(tensor(pixels), {image.rows, image.columns, 3});
  out["prepared." + index] = processor(image);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::cerr << "usage: prepare_image FOLDER RESULT.safetensors IMAGE…\n";
    return 2;
  }
  try {
    const auto processor = hub::ImageProcessor::load(arguments[1]);
    TensorMap out;
    for (int i = 3; i < count; ++i) try {
        add(out, processor, arguments[i], std::to_string(i - 3));
      } catch (const UserError& error) {
        std::cerr << error.what() << '\n';
      }
    save_safetensors(arguments[2], out);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
