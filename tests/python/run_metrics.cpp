// Measures predictions for compare_metrics.py: run_metrics FILE, with tensors scores [n, classes], classes [n],
// binary_scores [n], is_positive [n], predicted [n, 2] and target [n, 2]. Each line of the answer is a name and
// numbers.
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

using namespace fulgurite;

namespace {

void print(const std::string& name, const std::vector<double>& values) {
  std::printf("%s", name.c_str());
  for (const double value : values) std::printf(" %.17g", value);
  std::printf("\n");
}

void print_counts(const std::map<std::string, Tensor>& file) {
  const Tensor &scores = file.at("scores"), &classes = file.at("classes");
  metrics::ConfusionMatrix matrix(scores.size(1));
  const int64_t half = classes.size(0) / 2;  // in two batches
  matrix.update(scores(Slice({}, half)), classes(Slice({}, half)));
  matrix.update(argmax(scores(Slice(half, {})), 1), classes(Slice(half, {})));
  print("confusion_matrix", matrix.matrix().to(Dtype::f64).reshape({-1}).to_vector<double>());
  print("accuracy", {metrics::accuracy(scores, classes), matrix.accuracy()});
  print("precision", matrix.precision());
  print("recall", matrix.recall());
  print("f1", matrix.f1());
  print("macro", {matrix.precision(metrics::Average::macro), matrix.recall(metrics::Average::macro),
                  matrix.f1(metrics::Average::macro)});
  print("micro", {matrix.precision(metrics::Average::micro), matrix.recall(metrics::Average::micro),
                  matrix.f1(metrics::Average::micro)});
  using metrics::Average;
  print("functions", {metrics::precision(scores, classes), metrics::recall(scores, classes),
                      metrics::f1_score(argmax(scores, 1), classes, Average::micro)});
  const Tensor guessed = argmax(scores, 1) % 2, parity = classes % 2;
  print("binary",
        {metrics::precision(guessed, parity, Average::binary), metrics::recall(guessed, parity, Average::binary),
         metrics::f1_score(guessed, parity, Average::binary)});
  print("jaccard", matrix.intersection_over_union());
  for (const int64_t k : {1, 2, 3}) print("top_" + std::to_string(k), {metrics::top_k_accuracy(scores, classes, k)});
}

}  // namespace

int main(int count, char** values) {
  if (count != 2) return 2;
  const auto file = load_safetensors(values[1]);
  print_counts(file);
  print("roc_auc", {metrics::roc_auc(file.at("binary_scores"), file.at("is_positive"))});
  const Tensor &predicted = file.at("predicted"), &target = file.at("target");
  print("mean_squared_error", {metrics::mean_squared_error(predicted, target)});
  print("mean_absolute_error", {metrics::mean_absolute_error(predicted, target)});
  const Tensor first = predicted(Slice(), 0), wanted = target(Slice(), 0);
  print("r2_score", {metrics::r2_score(first, wanted)});
}
