#include <fulgurite/hub/image_classifier.h>

#include <algorithm>
#include <numeric>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/jit.h>
#include <fulgurite/operators.h>

namespace fulgurite {

namespace {

using Model = ImageClassifier::Model;

Tensor scores_of(const Tensor& logits, const std::string& problem_type) {
  Tensor exact = logits.to(Dtype::f32);
  if (problem_type == "regression") return exact;
  if (problem_type == "multi_label_classification" || logits.size(1) == 1) return sigmoid(exact);
  return softmax(exact, 1);
}

Tensor run(const Model& model, const Tensor& images) {
  return std::visit([&](const auto& any) { return scores_of(any(images), any.problem_type); }, model);
}

std::vector<ImageClass> best_of(std::span<const float> scores, const std::vector<std::string>& labels, int64_t count) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  std::vector<ImageClass> classes;
  for (const size_t index : order) classes.push_back({labels.at(index), static_cast<int64_t>(index), scores[index]});
  return classes;
}

void check(const ClassifyOptions& options) {
  if (options.classes < 1) throw UserError("ImageClassifier: classes must be positive");
  if (options.batch_size < 1) throw UserError("ImageClassifier: batch_size must be positive");
}

}  // namespace

ImageClassifier::ImageClassifier(Model model, hub::ImageProcessor processor)
    : model_(std::move(model)), processor_(std::move(processor)), step_(jit(&run)) {}

ImageClassifier ImageClassifier::load(const std::string& folder, const hub::LoadOptions& options) {
  const hub::Config config = hub::Config::read(folder);
  const std::string type = config.model_type();
  const hub::ImageProcessor processor = hub::ImageProcessor::load(folder);
  if (type == "vit") return {hub::load<models::VitClassifier>(folder, options), processor};
  if (type == "resnet") return {hub::load<models::ResnetClassifier>(folder, options), processor};
  config.refuse("model_type", "images are classified by the families vit and resnet");
}

const std::vector<std::string>& ImageClassifier::labels() const {
  return std::visit([](const auto& model) -> const std::vector<std::string>& { return model.labels; }, model_);
}

std::vector<std::vector<ImageClass>> ImageClassifier::classify(const std::vector<hub::Image>& images,
                                                               const ClassifyOptions& options) const {
  check(options);
  const NoGrad no_grad;
  std::vector<std::vector<ImageClass>> out;
  const auto size = static_cast<size_t>(options.batch_size);
  for (size_t begin = 0; begin < images.size(); begin += size) {
    const size_t end = std::min(begin + size, images.size());
    const std::vector<hub::Image> batch(images.begin() + static_cast<std::ptrdiff_t>(begin),
                                        images.begin() + static_cast<std::ptrdiff_t>(end));
    const std::vector<float> scores = step_(model_, processor_(batch)).to_vector<float>();
    const size_t classes = scores.size() / batch.size();
    for (size_t i = 0; i < batch.size(); ++i)
      out.push_back(best_of({scores.data() + i * classes, classes}, labels(), options.classes));
  }
  return out;
}

}  // namespace fulgurite
