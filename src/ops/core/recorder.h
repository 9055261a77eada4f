#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/interpreter.h"

namespace fulgurite {

/// A recording in progress: the trace that ops are appended to, and facts about its values. See Interpreter::recorder.
class Recorder {
 public:
  Recorder() = default;
  virtual ~Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The recording in which this one is made; null if there is none.
  virtual Recorder* outer_recorder() const = 0;

  // Values.
  /// Returns true if the handle stands for a value of this recording.
  virtual bool records(const Tensor& handle) const = 0;
  /// The value of a tensor in the trace; a concrete tensor becomes an input.
  virtual Value value_of(const Tensor&) = 0;
  /// A fresh proxy of the trace.
  virtual detail::Ref<TensorProxy> make_proxy(const TensorType&, bool requires_grad, std::string name = {}) = 0;
  /// A handle for a proxy that exists already (an argument of the trace continued, a forward value in a backward).
  virtual Tensor adopt(const detail::Ref<TensorProxy>&) = 0;
  /// The id that the next value gets, which is not less than `least` from now on.
  virtual int reserve_ids(int least) = 0;
  /// The symbolic scalars of the trace; null if it has none.
  virtual std::shared_ptr<std::vector<detail::Ref<NumberProxy>>> numbers() const = 0;

  // Layouts.
  /// A value's strides; those of the arguments that it is a view of are noted.
  virtual Sizes strides_of(const Tensor&) = 0;
  /// Returns true if it is a value with memory of its own, which is neither an argument nor a view.
  virtual bool is_contiguous(const Tensor&) const = 0;
  /// For a view of a value of this trace: the same views of another tensor, through the innermost interpreter.
  virtual Tensor view_again(const Tensor& view, const Tensor& viewed, const Tensor& other) const = 0;

  // Subgraphs.
  /// Returns true if a graph break has ended a subgraph.
  virtual bool has_breaks() const = 0;
  /// The tensor that an argument's handle represents after a break; other handles unchanged.
  virtual Tensor concrete_of(const Tensor&) const = 0;

  // Ops.
  virtual void append(BoundSymbol) = 0;
  /// Appends an op for `symbol` whose outputs already exist.
  virtual void bind(const Symbol&, std::vector<Value> args, std::vector<Value> outputs, SourceLocation at = {}) = 0;
  /// Nested recording: ops recorded between begin_scope and end_scope are returned instead of appended.
  virtual void begin_scope() = 0;
  virtual SharedVector<BoundSymbol> end_scope() = 0;
  /// The ops recorded so far by the innermost scope.
  virtual std::span<BoundSymbol> recorded() = 0;
  /// Tags of the ops that are recorded from now on.
  virtual void set_tags(Tags) = 0;
  virtual Tags tags() const = 0;
  /// The sequence of the ops that are recorded from now on (BoundSymbol::sequence); 0: none.
  virtual void set_sequence(int) = 0;
  virtual int sequence() const = 0;
  /// A number that no sequence of this trace has yet.
  virtual int next_sequence() = 0;

  // Functions that are differentiated inside the recording.
  /// The limit on the bytes that they save for their backward; none: no limit.
  virtual std::optional<int64_t> memory_budget() const = 0;
  /// Names of the executors that the recording is for; empty: the default ones.
  virtual const std::vector<std::string>& executors() const = 0;
  /// Returns true inside a grad transform, which may record get_grad and put_grad.
  virtual bool takes_gradients() const = 0;
  /// The custom function whose forward or backward records, if one does: it may not end a subgraph, nor write values
  /// older than `first_id`.
  struct CustomFunction {
    std::string name = {};
    int first_id = 0;
  };
  virtual CustomFunction exchange_custom_function(CustomFunction) = 0;
  /// Notes that a custom function's result shares the memory of `viewed`: in-place writes into either are refused.
  virtual void note_function_view(const Tensor& result, const Tensor& viewed) = 0;
};

/// The recording that receives this thread's ops; null in eager mode.
Recorder* innermost_recorder();
/// The recording on this thread whose value the handle stands for; null if that has ended or is another thread's.
Recorder* recording_of(const Tensor& handle);

}  // namespace fulgurite
