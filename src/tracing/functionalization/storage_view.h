#pragma once
#include <optional>
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/rules.h"

namespace fulgurite {

/// A view that was recorded, to be recreated of another tensor.
struct RecordedView {
  const Symbol* symbol = nullptr;
  SharedVector<Value> args;
  bool has_gradients = true;  // created while gradients were on
  bool may_copy = false;      // it is a view or a copy, by strides that are not known
  Tensor handle = {};         // that it gave
};

/// The root whose memory a value aliases, and the views between them, the root's first.
struct StorageView {
  Tensor root;
  std::vector<RecordedView> views;
  /// In the root, taken as contiguous; none if sizes are symbols.
  std::optional<ViewGeometry> geometry;
};

}  // namespace fulgurite
