#pragma once
#include "bridge.h"

namespace fulgurite_python {

/// The elements from the first to the last in memory, of a tensor that has some.
int64_t span_of(const Tensor& tensor);

/// Returns true if all elements of `view` are in the memory of `base`'s.
bool is_view_of(const Tensor& view, const Tensor& base);

/// The arguments and members of a call, with the objects that they came from.
class Arguments {
 public:
  Arguments(nb::handle arguments, nb::handle members);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Tensor>& members() const { return members_; }
  /// The object that a result is, if it is one of the tensors given.
  nb::object object_of(const Tensor& result) const;
  /// The place of a tensor whose memory the elements of `view` are in, if there is one.
  std::optional<size_t> base_of(const Tensor& view) const;
  /// Returns true if a tensor has the memory of one of those given.
  bool shares_memory(const Tensor& tensor) const;
  const Tensor& tensor(size_t place) const { return tensors_[place]; }
  nb::object object(size_t place) const { return nb::borrow(objects_[place]); }
  size_t tensor_count() const { return tensors_.size(); }
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
