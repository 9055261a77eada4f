#include <algorithm>
#include <filesystem>

#include <fulgurite/datasets.h>
#include <fulgurite/error.h>
#include <fulgurite/hub/image_processor.h>
#include <fulgurite/memory.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::data {

namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

std::vector<std::string> images_in(const fs::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink))
    if (entry.is_regular_file() && is_image(entry.path())) out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> folders_in(const std::string& folder, SourceLocation at) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw UserError(text::cat(printable(folder), " is not a folder"), at);
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  if (out.empty())
    throw UserError(
        text::cat("ImageFolder: ", printable(folder), " has no folders; each class has a folder of its own"), at);
  return out;
}

Tensor to_tensor(const hub::Image& image) {
  const std::span<const uint8_t> bytes(image.pixels);
  const Tensor pixels = tensor(bytes, {image.rows, image.columns, 3});
  return mul(permute(pixels, {2, 0, 1}).to(Dtype::f32), 1.0 / 255).contiguous();
}

}  // namespace

ImageFolder::ImageFolder(const std::string& folder, Transform transform, SourceLocation at)
    : classes_(folders_in(folder, at)), transform_(std::move(transform)) {
  for (size_t i = 0; i < classes_.size(); ++i)
    for (std::string& file : images_in(fs::path(folder) / classes_[i]))
      samples_.emplace_back(std::move(file), static_cast<int64_t>(i));
  if (samples_.empty())
    throw UserError(text::cat("ImageFolder: there are no PNG or JPEG files in the folders of ", printable(folder)), at);
}

std::pair<Tensor, int64_t> ImageFolder::get(int64_t index, Generator& generator) const {
  if (index < 0 || index >= size()) data_detail::refuse_index(index, size(), SourceLocation());
  const auto& [file, label] = samples_[static_cast<size_t>(index)];
  const Tensor image = to_tensor(hub::read_image(file));
  return {transform_ ? transform_(image, generator) : image, label};
}

}  // namespace fulgurite::data
