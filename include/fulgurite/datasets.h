#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/data.h>
#include <fulgurite/generator.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::data {

/// A dataset whose samples go through a function, which may take a generator beside the sample: `data::map(dataset,
/// [](auto sample) { … })`.
template <class Dataset, class Function>
class MappedDataset {
 public:
  MappedDataset(Dataset dataset, Function function) : dataset_(std::move(dataset)), function_(std::move(function)) {}
  int64_t size() const { return static_cast<int64_t>(dataset_.size()); }
  auto get(int64_t index, Generator& generator) const {
    if constexpr (requires { dataset_.get(index, generator); })
      return applied(dataset_.get(index, generator), generator);
    else if constexpr (requires { dataset_.get(index); }) return applied(dataset_.get(index), generator);
    else return applied(dataset_[static_cast<size_t>(index)], generator);
  }

 private:
  template <class Item>
  auto applied(Item item, Generator& generator) const {
    if constexpr (requires { function_(item, generator); }) return function_(std::move(item), generator);
    else return function_(std::move(item));
  }
  Dataset dataset_;
  Function function_;
};
/// A dataset whose samples go through the function.
template <class Dataset, class Function>
MappedDataset<Dataset, Function> map(Dataset dataset, Function function) {
  return {std::move(dataset), std::move(function)};
}

/// Datasets of one type, one after the other.
template <class Dataset>
class ConcatDataset {
 public:
  explicit ConcatDataset(std::vector<Dataset> datasets) : datasets_(std::move(datasets)) {}
  int64_t size() const {
    int64_t out = 0;
    for (const Dataset& dataset : datasets_) out += static_cast<int64_t>(dataset.size());
    return out;
  }
  auto get(int64_t index) const {
    int64_t rest = index;
    for (const Dataset& dataset : datasets_) {
      const auto count = static_cast<int64_t>(dataset.size());
      if (rest >= 0 && rest < count) return dataset.get(rest);
      rest -= count;
    }
    data_detail::refuse_index(index, size(), SourceLocation());
  }

 private:
  std::vector<Dataset> datasets_;
};

/// Images in folders, one for each class: `cats/1.png`, `dogs/2.jpg`. Classes are the folders' names in the order of
/// the alphabet, samples the PNG and JPEG files in the order of their paths, deeper folders included. A sample is an
/// f32 tensor [3, rows, columns] from 0 to 1, and its class.
class ImageFolder {
 public:
  /// A function of an image, and of the sample's generator where it draws: see transforms::.
  using Transform = std::function<Tensor(const Tensor& image, Generator& generator)>;
  /// UserError if the folder is missing, or has no folders or no images.
  explicit ImageFolder(const std::string& folder, Transform transform = {}, SourceLocation at = SourceLocation::here());
  int64_t size() const { return static_cast<int64_t>(samples_.size()); }
  std::pair<Tensor, int64_t> get(int64_t index, Generator& generator) const;
  const std::vector<std::string>& classes() const { return classes_; }
  /// The file and the class of each sample.
  const std::vector<std::pair<std::string, int64_t>>& samples() const { return samples_; }

 private:
  std::vector<std::string> classes_;
  std::vector<std::pair<std::string, int64_t>> samples_;
  Transform transform_;
};

/// The array in an IDX file, the format of MNIST: u8, i8, i16, i32, f32 or f64, of any number of dimensions. UserError
/// naming the file if it is missing, truncated, compressed or of another format.
Tensor read_idx(const std::string& path, SourceLocation at = SourceLocation::here());

/// Handwritten digits, or another set in the four files of MNIST, uncompressed: train-images-idx3-ubyte,
/// train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (or with a dot before idx). A sample is
/// an f32 tensor [1, 28, 28] from 0 to 1, and its class.
class MNIST {
 public:
  /// UserError naming the file that is missing or broken.
  explicit MNIST(const std::string& folder, bool train = true, SourceLocation at = SourceLocation::here());
  int64_t size() const { return images_.size(0); }
  std::pair<Tensor, int64_t> get(int64_t index) const;
  std::pair<Tensor, Tensor> get_batch(const std::vector<int64_t>& indices) const;
  /// u8 [n, 28, 28], and i64 [n].
  const Tensor& images() const { return images_; }
  const Tensor& targets() const { return targets_; }

 private:
  Tensor images_, targets_;
};

/// Members are given in this order.
struct TokenDatasetOptions {
  int64_t length = 128;     // tokens of a sample
  int64_t stride = 0;       // from one sample to the next; 0: `length`
  int64_t token_bytes = 2;  // of a token in a file: 2 or 4, little-endian and unsigned
};

/// Pieces of a long text of tokens for language models: a sample is i64 [length], and the tokens that follow each one.
class TokenDataset {
 public:
  /// Opens a file of tokens, which are read sample by sample. UserError if it is missing, or too short for one
  /// sample.
  explicit TokenDataset(const std::string& path, const TokenDatasetOptions& options = {},
                        SourceLocation at = SourceLocation::here());
  /// Tokens in an integer tensor of one dimension.
  explicit TokenDataset(const Tensor& tokens, const TokenDatasetOptions& options = {},
                        SourceLocation at = SourceLocation::here());
  int64_t size() const;
  std::pair<Tensor, Tensor> get(int64_t index) const;
  /// The number of tokens in the text.
  int64_t tokens() const;

 private:
  struct Source;
  std::shared_ptr<const Source> source_;
};
/// Writes tokens as a file for TokenDataset, atomically. UserError for tokens out of the range of `token_bytes`.
void save_tokens(const std::string& path, const Tensor& tokens, int64_t token_bytes = 2,
                 SourceLocation at = SourceLocation::here());

}  // namespace fulgurite::data
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
