// x(…), x[…] and x(…) = value.
#include <algorithm>
#include <utility>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/generated/symbols.h"
#include "ops/indexing/indexing_rules.h"
#include "ops/tensor/indexed_elements.h"
#include "support/base/deferred_error.h"

namespace fulgurite {
namespace {

bool is_mask(const Argument& index) {
  return index.is_tensor() && (index.tensor().dtype() == Dtype::boolean || index.tensor().dtype() == Dtype::u8);
}
bool is_list(const Argument& index) { return index.is_tensor() || index.kind() == Argument::Kind::integers; }

template <class... Indexes>
Tensor get_item(const Tensor& x, const Index& first, const Indexes&... others) {
  const Argument list[] = {argument_of(first), argument_of(others)...};
  // While tracing, writing to a complete tensor gives its handle a new value, so the handle must be returned itself.
  if (innermost_interpreter() && is_whole(list)) return x;
  std::shared_ptr<const IndexedElements> outer = IndexedElements::take(x);
  const Argument arguments[] = {x, std::span<const Argument>(list)};
  Tensor result;
  try {
    result = dispatch(getitem_symbol, arguments, first.at());
  } catch (const UserError&) {
    // How many elements a mask lists is not known inside a trace; x(mask) = value does not ask for them.
    if (outer || !innermost_interpreter() || std::ranges::none_of(list, is_mask)) throw;
    defer_error(std::current_exception());
  }
  if (outer || std::ranges::any_of(list, is_list)) {
    const Index* const indices[] = {&first, &others...};
    IndexedElements::note(x, indices, result, std::move(outer));
  }
  return result;
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

void Tensor::operator=(const Operand& value) && {
  const auto elements = IndexedElements::take(*this);
  if (value.kind() == Operand::Kind::none || (!defined() && !elements)) throw_deferred_error();
  forget_deferred_error();
  if (!defined() && !elements) throw UserError("a value is assigned to an undefined tensor", value.at());
  if (value.kind() == Operand::Kind::none)
    throw UserError("x(…) = value: the value is an undefined tensor", value.at());
  if (elements) return elements->assign(value, value.at());
  // Nobody else holds what would be written: the tensor is a temporary.
  const bool unseen = impl_->owners == 1 && (is_proxy(*this) ? !impl_->base : impl_->storage->owners == 1);
  if (unseen)
    throw UserError(
        "x(…) = value writes into a copy that is dropped: the left side is the result of an operator, not an index of a tensor",
        value.at());
  fulgurite::copy_(*this, value, value.at());
}

}  // namespace fulgurite
