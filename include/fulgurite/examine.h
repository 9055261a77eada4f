#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fulgurite/jit.h>
#include <fulgurite/trace.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Queries about traces and past runs. Nothing has to be enabled beforehand. Queries about a jitted function concern
/// its last call; a fusion's name is unique over its forward, backward and all its specializations, and a fusion that
/// the last call did not run is reported for the last call that ran it.
namespace examine {

/// The memory that a trace's values occupy while it runs, in bytes of tensors. Tensors that share a storage count once:
/// a view counts the bytes of its base. Lists of sizes and scalars count nothing.
struct MemoryReport {
  /// One op of the trace.
  struct Line {
    std::string name;   // the operator: "torch.matmul"
    std::string text;   // "auto t0 = matmul(t_0, t_1);"
    int64_t bytes = 0;  // alive when the op has run, before values of last use are released
  };
  /// The origin of a tensor saved for the backward. Unknown in a backward trace.
  enum class Origin : uint8_t { input, result, made, unknown };
  /// One tensor that is saved for the backward.
  struct Saved {
    std::string name, type;  // "t_0", "cpu f32[2, 3]"
    int64_t bytes = 0;       // of its storage
    Origin origin = Origin::made;
    std::string shares_with = {};  // the earlier saved tensor with the same storage, which counts its bytes
  };

  std::vector<Line> lines;
  int64_t input_bytes = 0, result_bytes = 0;
  int64_t peak_bytes = 0;
  int peak_line = -1;  // position in `lines`; -1: the inputs alone are the maximum
  std::vector<Saved> saved;
  int64_t saved_bytes = 0;       // all of `saved`, each storage once
  int64_t saved_made_bytes = 0;  // … made in the forward and not results of it: saved only for the backward
};

/// The memory of a forward, backward, joint or plain trace at any stage. With `del` ops a value lives until it is
/// deleted, otherwise until its last use; arguments are their caller's and stay alive, unless they are unpacked from a
/// collection. A composite counts its results.
MemoryReport memory(const Trace&);

/// Prints a table: an op of the trace in each row, then the sums.
std::ostream& operator<<(std::ostream&, const MemoryReport&);

/// Returns the fusions among a trace's ops, in order.
std::vector<BoundSymbol> get_fusion_symbols(const Trace&);

/// An actual input of a fusion.
struct FusionInput {
  std::string name;                // as in the trace
  Shape shape = {}, strides = {};  // strides count elements
  /// In elements: for an argument and its views from the storage's start, else from the program's allocation.
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;
  Device device = {};
  std::string shares_with = {};  // the first earlier input with the same storage
  // In a repro program:
  bool is_made = false;      // a result, which needs no elements
  int64_t moved_since = -1;  // bytes moved between the last access to its memory and the fusion; -1: unknown
};
/// Returns the names of the fusions that the last call ran, in its forward and then in its backward.
std::vector<std::string> fusion_names(const Jitted&);
std::vector<FusionInput> fusion_inputs(const Jitted&, std::string_view fusion);
/// A text of a kernel. Compiled: C++ over vectors, which runs. Scalar: the same loops and the same bits in plain C++,
/// one element at a time. Ir: the operands, values and loops that both are printed from.
enum class KernelForm : uint8_t { compiled, scalar, ir };
/// Returns a fusion's kernel as text. Throws UserError for another form than the compiled one of a kernel of a user's
/// executor.
std::string kernel_source(const Jitted&, std::string_view fusion, KernelForm = KernelForm::compiled);

/// The bytes and operations of one run of a fusion, and its time.
struct FusionReport {
  std::string name;
  std::vector<FusionInput> inputs, outputs;
  int64_t bytes_read = 0, bytes_written = 0;  // each element of memory once
  int64_t operations = 0;                     // floating operations; a function (exp, erf, a division) counts as one
  /// Microseconds of the last runs of its program, the newest last, up to eight.
  std::vector<double> last_runs;
  double microseconds = 0;    // their median; op by op: of runs made now, on tensors with the inputs' layouts
  double share_of_limit = 0;  // the machine's minimum time for these bytes and operations, divided by the actual time
};
/// Returns the report on a fusion of the last call, "fusion0". Throws UserError with the known names for an unknown
/// one.
FusionReport fusion_report(const Jitted&, std::string_view fusion);
std::ostream& operator<<(std::ostream&, const FusionReport&);

/// The layout of a tensor: strides and the offset from the storage's start, in elements.
struct Layout {
  Layout(std::initializer_list<Int> strides) : strides(strides) {}
  Layout(Shape strides, int64_t offset = 0) : strides(std::move(strides)), offset(offset) {}
  Shape strides;
  int64_t offset = 0;
};
/// By input name: {{"t_0", {1, 64}}}.
using Layouts = std::map<std::string, Layout, std::less<>>;

/// Returns tensors for a trace's inputs, collections flattened, made from their types: floating elements in [-2, 2),
/// integers 0 or 1. Equal seeds yield equal tensors; the generator is unchanged. Symbolic sizes have the values of the
/// recorded call.
std::vector<Tensor> make_inputs(const Trace&, const Layouts& = {}, uint64_t seed = 0);

/// Returns ops [first, last) of a trace at any stage as a trace. Its inputs are the values that the ops read, in order
/// of first use; its results those of their values that later ops, or the return, read. Symbolic scalars have the
/// values of the recorded call.
Trace slice(const Trace&, int first, int last);
/// Runs ops [first, last) on tensors for the slice's inputs. Without executors, claimed ops run as claimed and the
/// others on the default list; with executors all are claimed again, with fusions decomposed.
std::vector<Tensor> run_slice(const Trace&, int first, int last, const std::vector<Tensor>& inputs,
                              const std::vector<std::string>& executors = {});
/// Returns every value of a trace, by name, computed from tensors for its inputs (collections flattened), which are not
/// modified. Executors as for run_slice.
std::map<std::string, Tensor> run_lines(const Trace&, const std::vector<Tensor>& inputs,
                                        const std::vector<std::string>& executors = {});

/// The tolerance of comparisons: |a - b| <= relative * |b| + absolute * the largest |b| of the tensor. None: by dtype,
/// f32 1e-4 and 1e-5.
struct Tolerance {
  std::optional<double> relative = {}, absolute = {};
};
/// The first difference between two runs.
struct Difference {
  int line = -1;          // in the given trace
  std::string text;       // "auto t3 = exp(t2);"; in a fusion the op inside
  std::string fusion;     // the fusion that ran it, or empty
  std::string value;      // the differing value: "t3"
  std::string detail;     // "element 12 is 1.5, and 1 on eager"
  SourceLocation source;  // the user's line
};
std::ostream& operator<<(std::ostream&, const Difference&);
/// Returns the first op whose results on `executors` differ from those on `reference`, each op run on the reference's
/// values: so the op itself differs, and does not only propagate a difference. Fusions are decomposed to the op inside.
/// Returns nullopt if all agree.
std::optional<Difference> bisect(const Trace&, const std::vector<Tensor>& inputs,
                                 const std::vector<std::string>& executors,
                                 const std::vector<std::string>& reference = {"eager"}, Tolerance = {});
enum class Stage : uint8_t { forward, backward };
/// The pass after which a function computes something else, and the op that does.
struct BrokenPass {
  int stage = -1;               // index in last_traces or last_backward_traces
  Stage side = Stage::forward;  // selects one of the two
  std::string pass;             // "User transform"
  Difference difference;        // in that stage, with the values of the stage before
  std::string before;           // the op that computed the value in the stage before
};
std::ostream& operator<<(std::ostream&, const BrokenPass&);
/// Returns the first of a function's stages whose results, gradients or writes differ from those of the stage before.
/// Cotangents are generated. Returns nullopt if all agree.
std::optional<BrokenPass> find_broken_pass(const std::vector<Trace>& stages, const std::vector<Tensor>& inputs,
                                           Tolerance = {});
/// The same for a function's last call, forward and backward. Without inputs they are made from the types.
std::optional<BrokenPass> find_broken_pass(const Jitted&, const std::vector<Tensor>& inputs = {}, Tolerance = {});
/// Returns the index of the first stage of a function (last_traces) whose results differ from those of the first stage;
/// -1 if all agree.
int bisect_passes(const std::vector<Trace>& stages, const std::vector<Tensor>& inputs, Tolerance = {});

/// A function of an op and of the tensors among its arguments, or its results, that returns a text, or nothing.
class Callback {
 public:
  using Tensors = std::vector<Tensor>;
  Callback() = default;
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Callback> && std::invocable<F&, const BoundSymbol&, const Tensors&>)
      Callback(F function) {
    if constexpr (std::convertible_to<std::invoke_result_t<F&, const BoundSymbol&, const Tensors&>, std::string>)
      call_ = std::move(function);
    else
      call_ = [function = std::move(function)](const BoundSymbol& line, const Tensors& tensors) mutable {
        function(line, tensors);
        return std::string();
      };
  }
  explicit operator bool() const { return bool(call_); }
  std::string operator()(const BoundSymbol& line, const Tensors& tensors) const { return call_(line, tensors); }

 private:
  std::function<std::string(const BoundSymbol&, const Tensors&)> call_;
};
/// Called around every op of every program of a function. The text that the last call of each returned is printed as
/// comments above the op in last_traces(f).back() and last_backward_traces(f).back(); that of `after` follows that of
/// `before`.
struct Callbacks {
  Callback before = {}, after = {};
};
std::shared_ptr<detail::JitState> state_with_callbacks(const detail::JitState&, Callbacks, SourceLocation);
/// Returns `f` with callbacks: a separate function, whose programs run op by op.
template <std::derived_from<Jitted> F>
F with_callbacks(const F& f, Callbacks callbacks, SourceLocation at = SourceLocation::here()) {
  return F(state_with_callbacks(*f.state(), std::move(callbacks), at));
}

/// Members are given in this order.
struct ReproOptions {
  enum class Language : uint8_t { cpp, python };
  Language language = Language::cpp;
  uint64_t seed = 0;                        // of the inputs
  std::vector<Tensor> inputs = {};          // instead of `seed`: these, written to `data`
  std::string data = {};                    // a safetensors file with them, beside the program
  std::vector<std::string> executors = {};  // executors of the ops; empty: the function's, or the default list
  Tolerance tolerance = {};
  int runs = 20;  // timed runs of each side
};
/// Returns a program in one file that creates a fusion's inputs as in the last call, strides included, runs its kernel,
/// whose text it contains, compares with the eager executor, times both, prints the results and exits with 1 if they
/// differ. Its first line is the command that builds it against the installed library. In Python: the same ops on
/// PyTorch, compared with the results computed here.
std::string repro(const Jitted&, std::string_view fusion, const ReproOptions& = {});
/// The same for ops [first, last) of the trace that the last call ran.
std::string repro(const Jitted&, int first, int last, Stage = Stage::forward, const ReproOptions& = {});
std::string repro(const Jitted&, int first, int last, const ReproOptions&, Stage = Stage::forward);
/// The same for a trace that never ran: inputs are made from its types.
std::string repro(const Trace&, int first, int last, const ReproOptions& = {}, const Layouts& = {});

}  // namespace examine

namespace detail {
std::ostream& print_value(std::ostream&, const Value&);
}
/// Prints as in a trace: a proxy's name, a constant.
template <std::same_as<Value> V>
std::ostream& operator<<(std::ostream& out, const V& value) {
  return detail::print_value(out, value);
}
/// "(t_0, 1.5)"; for one value "(t_0,)".
std::ostream& operator<<(std::ostream&, const SharedVector<Value>&);
/// "[auto [t2] = fusion0(t_0);\n   // …]"
std::ostream& operator<<(std::ostream&, const std::vector<BoundSymbol>&);
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
