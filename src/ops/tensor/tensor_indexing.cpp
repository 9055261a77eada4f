// x(…), x[…] and x(…) = value.
#include <algorithm>
#include <utility>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/generated/symbols.h"
#include "ops/indexing/indexing_rules.h"
#include "ops/tensor/indexed_elements.h"
#include "ops/tensor/negative_steps.h"
#include "support/base/deferred_error.h"
#include "support/text/text.h"

namespace fulgurite {
namespace {

bool is_mask(const Argument& index) {
  return index.is_tensor() && (index.tensor().dtype() == Dtype::boolean || index.tensor().dtype() == Dtype::u8);
}
bool is_list(const Argument& index) { return index.is_tensor() || index.kind() == Argument::Kind::integers; }

// A copy, as that of a list: an assignment to it writes back.
Tensor indexed_backwards(const Tensor& x, std::span<const Argument> list, SourceLocation at) {
  std::shared_ptr<const IndexedElements> outer = IndexedElements::take(x);
  const ForwardIndices forward = forward_indices(x, list, at);
  const Argument arguments[] = {x, std::span<const Argument>(forward.indices)};
  const Tensor view = dispatch(getitem_symbol, arguments, at);
  const Dims flipped(forward.flipped);
  Tensor result = flip(view, flipped, at);
  IndexedElements::note_flipped(view, flipped, result, std::move(outer));
  return result;
}

Tensor indexed(const Tensor& x, std::span<const Argument> list, std::span<const Index* const> indices) {
  // While tracing, writing to a complete tensor gives its handle a new value, so the handle must be returned itself.
  if (innermost_interpreter() && is_whole(list)) return x;
  if (x.defined() && has_negative_step(list)) return indexed_backwards(x, list, indices[0]->at());
  std::shared_ptr<const IndexedElements> outer = IndexedElements::take(x);
  const Argument arguments[] = {x, list};
  Tensor result;
  try {
    result = dispatch(getitem_symbol, arguments, indices[0]->at());
  } catch (const UserError&) {
    // How many elements a mask lists is not known inside a trace; x(mask) = value does not ask for them.
    if (outer || !innermost_interpreter() || std::ranges::none_of(list, is_mask)) throw;
    defer_error(std::current_exception());
  }
  if (outer || std::ranges::any_of(list, is_list)) IndexedElements::note(x, indices, result, std::move(outer));
  return result;
}

template <class... Indexes>
Tensor get_item(const Tensor& x, const Index& first, const Indexes&... others) {
  const Argument list[] = {argument_of(first), argument_of(others)...};
  const Index* const indices[] = {&first, &others...};
  return indexed(x, list, indices);
}

Tensor get_item(const Tensor& x, std::initializer_list<Index> indices, const char* name, SourceLocation at) {
  if (!x.defined()) throw UserError(text::cat(name, ": the tensor is undefined"), at);
  if (indices.size() == 0) throw UserError(text::cat(name, ": there are no indices"), at);
  SmallVector<Argument, 6> list;
  SmallVector<const Index*, 6> pointers;
  for (const Index& index : indices) {
    list.push_back(argument_of(index));
    pointers.push_back(&index);
  }
  return indexed(x, {list.begin(), list.size()}, {pointers.begin(), pointers.size()});
}

}  // namespace

Tensor Tensor::operator()(const Index& a) const { return get_item(*this, a); }
Tensor Tensor::operator()(const Index& a, const Index& b) const { return get_item(*this, a, b); }
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c) const { return get_item(*this, a, b, c); }
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d) const {
  return get_item(*this, a, b, c, d);
}
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e) const {
  return get_item(*this, a, b, c, d, e);
}
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                          const Index& f) const {
  return get_item(*this, a, b, c, d, e, f);
}
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                          const Index& f, const Index& g) const {
  return get_item(*this, a, b, c, d, e, f, g);
}
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                          const Index& f, const Index& g, const Index& h) const {
  return get_item(*this, a, b, c, d, e, f, g, h);
}
Tensor Tensor::operator[](const Index& index) const { return get_item(*this, index); }

Index::Index(const char* ellipsis, SourceLocation at) : kind_(Kind::ellipsis), at_(at) {
  if (!ellipsis || std::string_view(ellipsis) != "...")
    throw UserError(text::cat("x(…): an index that is a text must be \"...\", not \"", ellipsis ? ellipsis : "", "\""),
                    at);
}

Tensor TensorMembers::index(std::initializer_list<Index> indices, SourceLocation at) const {
  return get_item(static_cast<const Tensor&>(*this), indices, "index", at);
}

Tensor TensorMembers::index_put_(std::initializer_list<Index> indices, const Operand& value, SourceLocation at) const {
  const auto& self = static_cast<const Tensor&>(*this);
  get_item(self, indices, "index_put_", at) = value;
  return self;
}

Tensor TensorMembers::index_put_(std::initializer_list<Index> indices, const Tensor& value, bool accumulate,
                                 SourceLocation at) const {
  if (!accumulate) return index_put_(indices, Operand(value, at), at);
  const auto& self = static_cast<const Tensor&>(*this);
  if (!self.defined() || !value.defined()) throw UserError("index_put_: the tensor or the value is undefined", at);
  const Tensor elements = arange(self.numel(), {}, at).reshape(self.shape(), at);
  const Tensor positions = get_item(elements, indices, "index_put_", at);
  const Tensor added = value.to(self.dtype(), at).expand(positions.shape(), at).reshape({-1}, at);
  const Tensor flat = self.reshape({-1}, at), list = positions.reshape({-1}, at);
  const Tensor sums = flat.index_put({list}, added, true, at);
  return copy_(sums.reshape(self.shape(), at), at);
}

void Tensor::operator=(const Operand& value) && {
  const auto elements = IndexedElements::take(*this);
  if (value.kind() == Operand::Kind::none || (!defined() && !elements)) throw_deferred_error();
  forget_deferred_error();
  if (!defined() && !elements) throw UserError("a value is assigned to an undefined tensor", value.at());
  if (value.kind() == Operand::Kind::none)
    throw UserError("x(…) = value: the value is an undefined tensor", value.at());
  if (elements) return elements->assign(value, value.at());
  // A temporary is the only owner of the memory that would be written.
  const bool unseen = impl_->owners == 1 && (is_proxy(*this) ? !impl_->base : impl_->storage->owners == 1);
  if (unseen)
    throw UserError(
        "x(…) = value writes into a copy that is dropped: the left side is the result of an operator, not an index "
        "of a tensor",
        value.at());
  fulgurite::copy_(*this, value, value.at());
}

}  // namespace fulgurite
