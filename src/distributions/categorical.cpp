// Categorical and OneHotCategorical.
#include <cmath>

#include <fulgurite/compositions.h>
#include <fulgurite/discrete_distributions.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::distributions {

namespace {

const Tensor& checked_classes(const Tensor& weights, const char* name, SourceLocation at) {
  if (!weights.defined() || weights.ndim() < 1 || !is_floating(weights.dtype()))
    throw UserError(
        text::cat("distributions::Categorical: ", name, " must be a floating tensor of at least one dimension"), at);
  if (weights.size(-1) < 1)
    throw UserError(text::cat("distributions::Categorical: ", name, " has no classes: ", type_text(weights)), at);
  return weights;
}

Tensor log_shares(const Tensor& probs, SourceLocation at) {
  checked_classes(probs, "probs", at);
  const Tensor total = sum(probs, {-1}, true, {}, at);
  if (!innermost_interpreter()) {
    const Tensor is_positive = logical_and(gt(total, 0, at), isfinite(total, at), at);
    const bool is_share = all(ge(probs, 0, at), {}, false, at).item<bool>();
    if (!is_share || !all(is_positive, {}, false, at).item<bool>())
      throw UserError("distributions::Categorical: probs must be finite, at least 0, and not all 0", at);
  }
  return log(div(probs, total, {}, at), at);
}

Tensor log_shares(const Logits& logits, SourceLocation at) {
  if (!logits.logits.is_tensor()) throw UserError("distributions::Categorical: logits must be a tensor", at);
  return log_softmax(checked_classes(logits.logits.tensor(), "logits", at), -1, {}, at);
}

Tensor log_shares(const Probabilities& probabilities, SourceLocation at) {
  if (!probabilities.probs.is_tensor()) throw UserError("distributions::Categorical: probs must be a tensor", at);
  return log_shares(checked_classes(probabilities.probs.tensor(), "probs", at), at);
}

Shape without_last(const Tensor& tensor) {
  Shape out = tensor.shape();
  out.pop_back();
  return out;
}

// p log p, 0 where p is 0.
Tensor information(const Tensor& logits, SourceLocation at) {
  const Tensor p = exp(logits, at);
  return xlogy(p, p, at);
}

}  // namespace

Categorical::Categorical(const Tensor& probs, SourceLocation at)
    : Distribution("Categorical", without_last(checked_classes(probs, "probs", at)), {}, probs.dtype()),
      logits_(log_shares(probs, at)) {}
Categorical::Categorical(const Logits& logits, SourceLocation at) : Categorical(LogShares{log_shares(logits, at)}) {}
Categorical::Categorical(const Probabilities& probabilities, SourceLocation at)
    : Categorical(LogShares{log_shares(probabilities, at)}) {}
Categorical::Categorical(LogShares logits)
    : Distribution("Categorical", without_last(logits.value), {}, logits.value.dtype()), logits_(logits.value) {}

Tensor Categorical::probs(SourceLocation at) const { return exp(logits_, at); }
Tensor Categorical::log_prob(const Tensor& value, SourceLocation at) const {
  if (!value.defined() || is_floating(value.dtype()))
    throw UserError("distributions::Categorical: log_prob() takes integers, the indices of classes", at);
  const Tensor column = unsqueeze(value.to(Dtype::i64, at), -1, at);
  const std::vector<Tensor> parts = broadcast_tensors({column, logits_}, at);
  const Tensor index = narrow(parts[0], -1, 0, 1, at);
  return squeeze(gather(parts[1], -1, index, at), {-1}, at);
}
Tensor Categorical::mean(SourceLocation at) const {
  return full(Dims(batch_shape()), std::nan(""), {.dtype = dtype()}, at);
}
Tensor Categorical::variance(SourceLocation at) const { return mean(at); }
Tensor Categorical::entropy(SourceLocation at) const {
  return neg(sum(information(logits_, at), {-1}, false, {}, at), at);
}
Tensor Categorical::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  const Int count = shape.numel(), batch = batch_shape().numel();
  const Tensor rows = reshape(probs(at).detach(at), {batch, Int(classes())}, at);
  if (count == 0) return zeros(Dims(shape), {.dtype = Dtype::i64}, at);
  const int64_t draws = (count / batch).hint();
  const Tensor drawn = multinomial(rows, draws, true, generator, at);  // [batch, draws]
  return reshape(transpose(drawn, 0, 1, at), Dims(shape), at);
}

OneHotCategorical::OneHotCategorical(Categorical classes)
    : Distribution("OneHotCategorical", classes.batch_shape(), {classes.classes()}, classes.dtype()),
      classes_(std::move(classes)) {}
OneHotCategorical::OneHotCategorical(const Tensor& probs, SourceLocation at)
    : OneHotCategorical(Categorical(probs, at)) {}
OneHotCategorical::OneHotCategorical(const Logits& logits, SourceLocation at)
    : OneHotCategorical(Categorical(logits, at)) {}
OneHotCategorical::OneHotCategorical(const Probabilities& probabilities, SourceLocation at)
    : OneHotCategorical(Categorical(probabilities, at)) {}
Tensor OneHotCategorical::log_prob(const Tensor& value, SourceLocation at) const {
  return classes_.log_prob(argmax(value, -1, false, at), at);
}
Tensor OneHotCategorical::variance(SourceLocation at) const {
  const Tensor p = probs(at);
  return mul(p, sub(1, p, 1, at), at);
}
Tensor OneHotCategorical::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  Shape batch = shape;
  batch.pop_back();
  Shape samples;
  for (size_t i = 0; i + batch_shape().size() < batch.size(); ++i) samples.push_back(batch[i]);
  return nn::one_hot(classes_.sample(Dims(samples), generator, at), classes_.classes(), at).to(dtype(), at);
}

}  // namespace fulgurite::distributions
