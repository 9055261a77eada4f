#pragma once
#include <fulgurite/detail/requirements.h>

// Classes of images, as models for image classification give them.
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <fulgurite/hub/checkpoint.h>
#include <fulgurite/hub/image_processor.h>
#include <fulgurite/model_parts.h>
#include <fulgurite/models/resnet.h>
#include <fulgurite/models/vit.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// A class of an image.
struct ImageClass {
  std::string label;
  int64_t index = 0;
  double score = 0;  // its probability
};

/// Options of ImageClassifier::classify.
struct ClassifyOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  int64_t classes = 5;      // of each image, those of the highest scores
  int64_t batch_size = 16;  // images of one call of the model
};

/// Classifies images with a vision transformer or a residual network, which is compiled.
class ImageClassifier {
 public:
  using Model = std::variant<models::VitClassifier, models::ResnetClassifier>;
  ImageClassifier(Model model, hub::ImageProcessor processor);
  /// Loads a folder of a model with labels and of its image processor. UserError for a family that the library does not
  /// have.
  static ImageClassifier load(const std::string& folder, const hub::LoadOptions& options = {});

  /// Returns the classes of each image, highest score first. The scores of all classes sum to 1; in a model of several
  /// labels, or of one class, each is between 0 and 1; those of a regression are its results. They are transformers'.
  std::vector<std::vector<ImageClass>> classify(const std::vector<hub::Image>& images,
                                                const ClassifyOptions& options = {}) const;
  /// The names of the classes.
  const std::vector<std::string>& labels() const;

 private:
  Model model_;
  hub::ImageProcessor processor_;
  std::function<Tensor(const Model& model, const Tensor& images)> step_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
