#pragma once
#include <fulgurite/detail/requirements.h>

#include <string_view>

#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// The loss of logits [batch, classes] as transformers chooses it by a config's "problem_type":
/// "single_label_classification", the mean cross entropy of classes [batch] of i64; "multi_label_classification", the
/// mean binary cross entropy of [batch, classes]; "regression", the mean squared error of [batch, classes], or of
/// [batch] for one class. An empty name chooses by the labels: regression for one class, then a single label for
/// integers, several for floating-point numbers. UserError for another name.
Tensor image_classification_loss(const Tensor& logits, const Tensor& labels, std::string_view problem_type = "");

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
