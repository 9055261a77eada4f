#pragma once
#include "bridge.h"

namespace fulgurite_python {

/// The arguments and members of a call, with the objects that they came from.
class Arguments {
 public:
  Arguments(nb::handle arguments, nb::handle members);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Tensor>& members() const { return members_; }
  /// The object that a result is, if it is one of the tensors given.
  nb::object object_of(const Tensor& result) const;
  /// The tensors written since they were imported, by place among all tensors: those of the arguments, then the
  /// members.
  nb::list written() const;

 private:
  void add(nb::handle object, const Tensor& tensor);
  bool join_overlapping();

  std::vector<Value> values_;
  std::vector<Tensor> members_, tensors_;
  std::vector<nb::handle> objects_;  // of tensors_; the caller's list holds them
  std::vector<uint64_t> counts_;
};

}  // namespace fulgurite_python
