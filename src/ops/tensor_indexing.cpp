// x(…), x[…] and x(…) = value.
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/dispatch.h"
#include "ops/indexing_rules.h"
#include "ops/symbols.h"

namespace fulgurite {
namespace {

Argument argument_of(const Index& index) {
  switch (index.kind()) {
    case Index::Kind::integer: return index.integer();
    case Index::Kind::slice: return index.slice();
    case Index::Kind::ellipsis: return Ellipsis;
    case Index::Kind::none: return {};
    case Index::Kind::tensor: return index.tensor();
    case Index::Kind::integers: return index.integers();
  }
  return {};
}

template <class... Indexes>
Tensor get_item(const Tensor& x, const Index& first, const Indexes&... others) {
  const Argument list[] = {argument_of(first), argument_of(others)...};
  // While tracing, writing to the whole of a tensor gives its handle a new value, so it must stay that handle.
  if (innermost_interpreter() && is_whole(list)) return x;
  const Argument arguments[] = {x, std::span<const Argument>(list)};
  return dispatch(getitem_symbol, arguments, first.at());
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
                          const Index& f,
                          const Index& g) const {
  return get_item(*this, a, b, c, d, e, f, g);
}
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                          const Index& f,
                          const Index& g, const Index& h) const {
  return get_item(*this, a, b, c, d, e, f, g, h);
}
Tensor Tensor::operator[](const Index& index) const { return get_item(*this, index); }

void Tensor::operator=(const Operand& value) && {
  if (!defined()) throw UserError("a value is assigned to an undefined tensor", value.at());
  // Nobody else holds what would be written: the index gave a copy, or the tensor is a temporary.
  const bool unseen = impl_->owners == 1 && (is_proxy(*this) ? !impl_->base : impl_->storage->owners == 1);
  if (unseen)
    throw UserError("x(…) = value writes into a copy that is dropped: indexing with tensors or lists does not give a view; use "
                    "x.index_put_({index}, value)", value.at());
  fulgurite::copy_(*this, value, value.at());
}

}  // namespace fulgurite
