#include "tracing/trace_builder.h"

#include <algorithm>

#include "ops/generated/symbols.h"
#include "support/text/text.h"

namespace fulgurite {

void TraceBuilder::continue_numbering(const Trace& other) {
  trace_.next_id = other.next_id;
  trace_.next_name = other.next_name;
  trace_.numbers = other.numbers;
}

Trace TraceBuilder::take(std::vector<Value> results) {
  {
    const Unmarked unmarked(*this);
    bind(prims_return_symbol, std::move(results), {});
  }
  trace_.bound_symbols = std::move(scopes_.back());
  scopes_.back().clear();
  Trace taken = std::move(trace_);
  trace_.name = taken.name;
  return taken;
}

void TraceBuilder::begin_trace() {
  Trace next;
  next.name = trace_.name;
  trace_ = std::move(next);
}

SharedShape TraceBuilder::shared(const Shape& shape) {
  if (shape.is_symbolic()) return shape;
  for (const SharedShape& known : shapes_)
    if (known == shape) return known;
  SharedShape& oldest = shapes_[next_shape_++ % shapes_.size()];
  return oldest = shape;
}

detail::Ref<TensorProxy> TraceBuilder::make_proxy(const TensorType& type, bool requires_grad, std::string name) {
  auto* proxy = new TensorProxy;
  proxy->id = trace_.next_id++;
  proxy->name = name.empty() ? text::cat("t", trace_.next_name++) : std::move(name);
  proxy->shape = shared(type.shape);
  proxy->dtype = type.dtype;
  proxy->device = type.device;
  proxy->requires_grad = requires_grad;
  if (type.shape.is_symbolic()) proxy->numbers = trace_.numbers;
  return detail::Ref<TensorProxy>(proxy);
}

int TraceBuilder::reserve_ids(int least) { return trace_.next_id = std::max(trace_.next_id, least); }

void TraceBuilder::bind(const Symbol& symbol, std::vector<Value> args, std::vector<Value> outputs, SourceLocation at) {
  BoundSymbol bound;
  bound.symbol = &symbol;
  bound.args = std::move(args);
  bound.outputs = std::move(outputs);
  bound.source = at;
  mark(bound);
  append(std::move(bound));
}

void TraceBuilder::begin_scope() {
  scopes_.emplace_back();
  open_scopes_.push_back(++last_scope_);
}

SharedVector<BoundSymbol> TraceBuilder::end_scope() {
  SharedVector<BoundSymbol> recorded = std::move(scopes_.back());
  scopes_.pop_back();
  open_scopes_.pop_back();
  return recorded;
}

bool TraceBuilder::is_open(int scope) const { return std::ranges::find(open_scopes_, scope) != open_scopes_.end(); }

void TraceBuilder::merge_scopes() {
  for (size_t i = 1; i < scopes_.size(); ++i) {
    for (BoundSymbol& bound : scopes_[i]) scopes_[0].push_back(std::move(bound));
    scopes_[i].clear();
  }
  exchange_scopes();
}

void TraceBuilder::set_origin(ForwardOrigins origin) {
  origin_ = std::move(origin);
  role_ = ForwardOrigin::Part::rule;
}

ForwardOrigins TraceBuilder::origin_in_role() const {
  ForwardOrigins out = origin_;
  for (ForwardOrigin& origin : out.change()) origin.part = role_;
  return out;
}

}  // namespace fulgurite
