#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/rules.h"

namespace fulgurite {

/// Builds a trace: makes its values and collects its ops, with their marks, in nested scopes. Tensors that stand for
/// values, views and graph breaks are unknown here.
///
/// Invariants: a scope is open, the outermost one is that of the trace's own ops; no value has the id or the name of
/// another one of the trace, or of the trace that this one continues.
class TraceBuilder {
 public:
  explicit TraceBuilder(std::string name) { trace_.name = std::move(name); }
  TraceBuilder(const TraceBuilder&) = delete;
  TraceBuilder& operator=(const TraceBuilder&) = delete;

  /// The trace so far, without its ops.
  Trace& trace() { return trace_; }
  const Trace& trace() const { return trace_; }
  /// Continues the numbering of another trace, whose symbolic scalars may occur here.
  void continue_numbering(const Trace&);
  /// Ends the trace with a return, which has no marks, and gives it away. The numbering continues.
  Trace take(std::vector<Value> results);
  /// Begins another trace of the same name, with a numbering of its own.
  void begin_trace();

  // Values.
  /// A fresh value. An empty name gives "t<n>".
  detail::Ref<TensorProxy> make_proxy(const TensorType&, bool requires_grad, std::string name = {});
  /// A fresh value of the type of another one.
  detail::Ref<TensorProxy> make_proxy_like(const TensorProxy& other, bool requires_grad) {
    return make_proxy({other.shape, other.dtype, other.device}, requires_grad);
  }
  /// The id that the next value gets, which is not less than `least` from now on.
  int reserve_ids(int least);

  // Ops.
  void append(BoundSymbol bound) { scopes_.back().push_back(std::move(bound)); }
  /// Appends in front of all that the inner scopes have recorded.
  void append_outermost(BoundSymbol bound) { scopes_.front().push_back(std::move(bound)); }
  /// Appends a marked op whose outputs already exist.
  void bind(const Symbol&, std::vector<Value> args, std::vector<Value> outputs, SourceLocation at = {});
  /// The innermost scope's ops.
  std::span<BoundSymbol> recorded() { return scopes_.back().change(); }
  std::span<const BoundSymbol> ops() const { return scopes_.back().read(); }

  // Scopes.
  /// Ops recorded between begin_scope and end_scope are returned instead of appended.
  void begin_scope();
  SharedVector<BoundSymbol> end_scope();
  /// The number of the innermost scope. No two scopes of a recording have the same.
  int scope() const { return open_scopes_.back(); }
  int outermost_scope() const { return open_scopes_.front(); }
  bool is_open(int scope) const;
  /// Returns true if a scope is open inside the trace's own.
  bool has_inner_scope() const { return scopes_.size() > 1; }
  /// Moves the ops of all scopes, from the outermost on, to the innermost.
  void merge_scopes();
  /// While it lives, ops are appended to the outermost scope.
  class InOutermostScope {
   public:
    explicit InOutermostScope(TraceBuilder& builder) : builder_(builder) { builder_.exchange_scopes(); }
    ~InOutermostScope() { builder_.exchange_scopes(); }
    InOutermostScope(const InOutermostScope&) = delete;
    InOutermostScope& operator=(const InOutermostScope&) = delete;

   private:
    TraceBuilder& builder_;
  };

  // Marks of the ops that are recorded from now on.
  void mark(BoundSymbol& bound) const {
    bound.tags = tags_;
    bound.sequence = sequence_;
    bound.forward = origin();
  }
  void set_tags(Tags tags) { tags_ = tags; }
  Tags tags() const { return tags_; }
  void set_sequence(int sequence) { sequence_ = sequence; }
  int sequence() const { return sequence_; }
  /// A number that no sequence of this trace has yet.
  int next_sequence() { return ++last_sequence_; }
  /// The forward ops that they serve; none: an empty list.
  void set_origin(ForwardOrigins origin);
  void set_origin_role(ForwardOrigin::Part role) { role_ = role; }
  ForwardOrigins origin() const {
    return role_ == ForwardOrigin::Part::rule || origin_.empty() ? origin_ : origin_in_role();
  }
  /// Their location, instead of the one that their call passes on; none: the calls' own.
  void set_location(std::optional<SourceLocation> at) { location_ = at; }
  std::optional<SourceLocation> location() const { return location_; }
  /// While it lives, ops get no tags, sequence or origin.
  class Unmarked {
   public:
    explicit Unmarked(TraceBuilder& builder)
        : builder_(builder),
          tags_(std::exchange(builder.tags_, {})),
          sequence_(std::exchange(builder.sequence_, 0)),
          origin_(std::exchange(builder.origin_, {})) {}
    ~Unmarked() {
      builder_.tags_ = tags_;
      builder_.sequence_ = sequence_;
      builder_.origin_ = std::move(origin_);
    }
    Unmarked(const Unmarked&) = delete;
    Unmarked& operator=(const Unmarked&) = delete;

   private:
    TraceBuilder& builder_;
    Tags tags_;
    int sequence_;
    ForwardOrigins origin_;
  };

 private:
  ForwardOrigins origin_in_role() const;
  /// The shape as one of the last values has it, if one does: most ops of a trace have one of a few shapes.
  SharedShape shared(const Shape&);
  void exchange_scopes() {
    if (has_inner_scope()) std::swap(scopes_.front(), scopes_.back());
  }

  Trace trace_;
  std::array<SharedShape, 4> shapes_;
  size_t next_shape_ = 0;
  std::vector<SharedVector<BoundSymbol>> scopes_ = std::vector<SharedVector<BoundSymbol>>(1);
  std::vector<int> open_scopes_{0};
  int last_scope_ = 0;
  Tags tags_;
  int sequence_ = 0, last_sequence_ = 0;
  ForwardOrigins origin_;  // shared by all ops that a rule records
  ForwardOrigin::Part role_ = ForwardOrigin::Part::rule;
  std::optional<SourceLocation> location_;
};

}  // namespace fulgurite
