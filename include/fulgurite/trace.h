#pragma once
#include <fulgurite/detail/requirements.h>

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/detail/shared_vector.h>
#include <fulgurite/value.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

struct Symbol;
struct Implementation;

/// Options of print().
struct PrintOptions {
  bool time = true;      // "(took 3 milliseconds)" in the provenance line
  bool source = true;    // the user's lines as comments
  bool strides = false;  // strides in type comments
  int depth = -1;        // levels of subsymbols shown as comments; -1: all
};

/// An executor's implementation of an op. The ops of traces own that of a fusion: its kernel is freed with the last of
/// them. Those of operators live as long as the process.
class ImplementationRef {
 public:
  /// Refers to an implementation that lives as long as the process, or to none.
  ImplementationRef(const Implementation* permanent = nullptr) : implementation_(std::shared_ptr<void>(), permanent) {}
  /// Shares the ownership of an implementation.
  ImplementationRef(std::shared_ptr<const Implementation> owned) : implementation_(std::move(owned)) {}
  operator const Implementation*() const { return implementation_.get(); }
  const Implementation* operator->() const { return implementation_.get(); }

 private:
  std::shared_ptr<const Implementation> implementation_;
};

/// The forward op that a backward symbol serves. `id` is the link: passes keep it even if they rename or merge. The
/// texts are for printing; a compiled function's are those of the forward as run.
struct ForwardOrigin {
  /// The role of a backward symbol for its forward op. All but the first are printed.
  enum class Part : uint8_t {
    rule,          // recorded by the gradient rule
    accumulation,  // adds two contributions to one cotangent
    zeros,         // stands for a missing cotangent
    unbroadcast,   // sums over the forward's broadcast dimensions
    cast,          // converts a cotangent to its tensor's dtype
    copy,
    recomputation,  // recomputes the forward's value
    node            // of a captured backward: `result` names the node of the autograd graph, `symbol` is unused
  };
  int id = -1;  // of the forward symbol's first result; or of the argument that is returned unchanged
  std::string result, symbol;
  Part part = Part::rule;
  std::string fusion = {};  // the fusion that runs the forward op, if one does
  friend bool operator==(const ForwardOrigin&, const ForwardOrigin&) = default;
};
/// The forward ops of one backward op, without duplicates.
class ForwardOrigins : public SharedVector<ForwardOrigin> {
 public:
  using SharedVector::SharedVector;
  /// Adds those that are missing.
  void add(const ForwardOrigins& more);
};

/// One op of a trace: a symbol applied to values. Composite symbols carry their decomposition as subsymbols. Copies
/// share their contents, because an op occurs in every stage of a trace.
struct BoundSymbol {
  const Symbol* symbol = nullptr;
  SharedVector<Value> args;
  SharedVector<std::pair<std::string, Value>> kwargs;
  SharedVector<Value> outputs;
  SharedVector<BoundSymbol> subsymbols;
  Tags tags;
  int sequence = 0;  // symbols of one sequence, from an ordered trace, keep their order; 0: none
  SourceLocation source;
  ForwardOrigins forward;            // empty in the forward; see forward_origins()
  ImplementationRef implementation;  // set by the executor that claimed it

  std::string name() const;
  bool is_fusion() const;
  std::vector<Value> flat_args() const;  // lists flattened, in order
  std::vector<Value> flat_outs() const;
  /// The forward ops that this one serves: `forward`, and for a fusion also those of its subsymbols.
  ForwardOrigins forward_origins() const;
};
/// Prints its statement, with subsymbols below it as comments.
std::ostream& operator<<(std::ostream&, const BoundSymbol&);

/// A recorded program: a plain value. Passes make new traces; the old ones stay valid.
///
/// `bound_symbols` runs from top to bottom; every value has one definition; the last symbol is `prims.return`, whose
/// args are the results or, in a joint or augmented forward trace, whose kwargs are named as in the printed dictionary.
/// Results of a symbol without side effects depend only on its arguments. Floating arithmetic is IEEE, in the order
/// written.
struct Trace {
  std::string name = "computation";
  std::vector<Value> args;
  SharedVector<BoundSymbol> bound_symbols;
  Tags tags;
  std::string provenance;                                          // "Dead Code Elimination"; empty as recorded
  double milliseconds = 0;                                         // duration of the pass
  int next_id = 0;                                                 // the next proxy's id
  int next_name = 0;                                               // the next number in a name
  std::shared_ptr<std::vector<detail::Ref<NumberProxy>>> numbers;  // the symbols that sizes refer to
  bool associate_forward = false;                                  // print each backward symbol's forward symbol

  std::string cpp(PrintOptions = {}) const;
  std::string python(PrintOptions = {}) const;
};
/// Prints the C++ form.
std::ostream& operator<<(std::ostream&, const Trace&);
/// The C++ form with options.
std::string print(const Trace&, PrintOptions = {});

/// A pass.
using Transform = std::function<Trace(const Trace&)>;
/// The costs of saving and recomputing, and the limit of saved bytes.
struct RecomputationOptions {
  /// Bytes that one call may save for its backward, arguments and results excluded. Without a limit a saved byte costs
  /// as much as eight moved bytes.
  std::optional<int64_t> memory_budget = {};
};
/// The two halves of a joint trace.
struct ForwardBackwardTraces {
  Trace forward, backward;
};

/// The joint trace: the forward's symbols, then those of the backward; returns the gradients of the args.
Trace grad_transform_on_trace(const Trace&);
/// Chooses the values to recompute in the backward instead of saving them: a minimum cut over saved bytes.
Trace choose_recomputation(const Trace& joint, const RecomputationOptions& = {});
ForwardBackwardTraces split_into_forward_and_backward(const Trace& joint);
ForwardBackwardTraces forward_and_backward_from_trace(const Trace&);
Trace eliminate_dead_code(const Trace&);
Trace eliminate_common_subexpressions(const Trace&);
Trace canonical_order(const Trace&);
Trace delete_last_used(const Trace&);
/// Throws InternalError with the first broken rule: unknown or repeated values, results that do not match the symbol's
/// rule.
void check_trace(const Trace&);
/// Returns the lines that differ, as `-` and `+` lines.
std::string trace_diff(const Trace&, const Trace&);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
