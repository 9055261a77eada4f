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

/// Questions about traces and about what ran. Nothing has to be switched on beforehand. What is asked of a jitted function is about its
/// last call; a fusion's name is unique over its forward, backward and all its specialisations, and of one that the last call did not run
/// the last call that ran it is told.
namespace examine {

/// What a trace keeps in memory while it runs, in bytes of tensors. Tensors that share a storage count once: a view has
/// the bytes of what it views. Lists of sizes and numbers count nothing.
struct MemoryReport {
  /// One op of the trace.
  struct Line {
    std::string name;   // the operator: "torch.matmul"
    std::string text;   // "auto t0 = matmul(t_0, t_1);"
    int64_t bytes = 0;  // alive when the line has run, before anything it used for the last time is let go of
  };
  /// Where a tensor that is saved for the backward comes from. A backward trace does not say.
  enum class Origin : uint8_t { input, result, made, unknown };
  /// One tensor that is saved for the backward.
  struct Saved {
    std::string name, type;  // "t_0", "cpu f32[2, 3]"
    int64_t bytes = 0;       // of its storage
    Origin origin = Origin::made;
    std::string shares_with = {};  // the tensor saved before it that has the same storage; its bytes are counted there
  };

  std::vector<Line> lines;
  int64_t input_bytes = 0, result_bytes = 0;
  int64_t peak_bytes = 0;
  int peak_line = -1;  // place in `lines`; -1: the inputs alone are the most
  std::vector<Saved> saved;
  int64_t saved_bytes = 0;       // all of `saved`, each storage once
  int64_t saved_made_bytes = 0;  // … made in the forward, and no result of it: what is kept only for the backward
};

/// Of a forward, backward, joint or plain trace at any stage. With `del` lines a value lives until it is deleted,
/// without them until its last use; arguments are their caller's and live on, what comes out of a collection does not.
/// A composite counts its results.
MemoryReport memory(const Trace&);

/// A table: a line of the trace in each row, then the sums.
std::ostream& operator<<(std::ostream&, const MemoryReport&);

/// The fusions among a trace's lines, in order.
std::vector<BoundSymbol> get_fusion_symbols(const Trace&);

/// An input of a fusion as it really was.
struct FusionInput {
  std::string name;                // as the trace says it
  Shape shape = {}, strides = {};  // strides count elements
  int64_t offset = 0;              // in elements: of an argument and its views from the storage's start, else from what the program made
  Dtype dtype = Dtype::f32;
  Device device = {};
  std::string shares_with = {};    // the first input before it that lies in the same storage
  // In a repro program:
  bool is_made = false;            // a result, whose elements nobody gives
  int64_t moved_since = -1;        // bytes that lines moved between the last that touched its memory and the program's; -1: nobody knows
};
/// The names of the fusions that the last call ran, of its forward and then of its backward.
std::vector<std::string> fusion_names(const Jitted&);
std::vector<FusionInput> fusion_inputs(const Jitted&, std::string_view fusion);
/// The kernel's text.
std::string kernel_source(const Jitted&, std::string_view fusion);

/// What a fusion moves and computes in one run, and how long that takes.
struct FusionReport {
  std::string name;
  std::vector<FusionInput> inputs, outputs;
  int64_t bytes_read = 0, bytes_written = 0;  // each element of memory once
  int64_t operations = 0;                     // floating operations; a function (exp, erf, a division) counts as one
  std::vector<double> last_runs;              // microseconds that it took in the last runs of its program, the newest last, up to eight
  double microseconds = 0;     // the median of these; of runs made now, on tensors that lie as the inputs did, where lines run one by one
  double share_of_limit = 0;   // the least time that the machine could take for bytes and operations, by the time that it took
};
/// Returns the report on a fusion of the last call, "fusion0". Throws UserError with the known names for an unknown one.
FusionReport fusion_report(const Jitted&, std::string_view fusion);
std::ostream& operator<<(std::ostream&, const FusionReport&);

/// How a tensor lies: strides count elements, as the offset from the storage's start does.
struct Layout {
  Layout(std::initializer_list<Int> strides) : strides(strides) {}
  Layout(Shape strides, int64_t offset = 0) : strides(std::move(strides)), offset(offset) {}
  Shape strides;
  int64_t offset = 0;
};
/// By input name: {{"t_0", {1, 64}}}.
using Layouts = std::map<std::string, Layout, std::less<>>;

/// Tensors for a trace's inputs, collections opened, made from their types: floating elements in [-2, 2), integers 0 or 1. Equal seeds give
/// equal tensors; the generator is left alone. Sizes that are symbols have the values of the recorded call.
std::vector<Tensor> make_inputs(const Trace&, const Layouts& = {}, uint64_t seed = 0);

/// Lines [first, last) of a trace at any stage as a trace of their own. Its inputs are what the lines need, in order of first use; its results
/// what later lines, or the return, use of what they make. Numbers that are symbols have the values of the recorded call.
Trace slice(const Trace&, int first, int last);
/// Runs lines [first, last) on tensors for the slice's inputs. Without executors, lines that an executor has claimed run as they are and the
/// others on the default list; with executors all are claimed anew, fusions opened.
std::vector<Tensor> run_slice(const Trace&, int first, int last, const std::vector<Tensor>& inputs, const std::vector<std::string>& executors = {});
/// Every value of a trace, by name, from tensors for its inputs with collections opened, which are left as they are. Executors as for run_slice.
std::map<std::string, Tensor> run_lines(const Trace&, const std::vector<Tensor>& inputs, const std::vector<std::string>& executors = {});

/// How far results may be apart: |a - b| <= relative * |b| + absolute * the largest |b| of the tensor. None: by dtype, f32 1e-4 and 1e-5.
struct Tolerance {
  std::optional<double> relative = {}, absolute = {};
};
/// Where two runs part.
struct Difference {
  int line = -1;           // in the trace that was given
  std::string text;        // "auto t3 = exp(t2);"; in a fusion its line inside
  std::string fusion;      // the fusion that ran it, or empty
  std::string value;       // whose elements differ: "t3"
  std::string detail;      // "element 12 is 1.5, and 1 on eager"
  SourceLocation source;   // the user's line
};
std::ostream& operator<<(std::ostream&, const Difference&);
/// The first line whose results on `executors` are not those on `reference`, each line given the reference's values: so it is the line that
/// computes something else, not one that inherits it. Fusions are opened to the line inside. None where all agree.
std::optional<Difference> bisect(const Trace&, const std::vector<Tensor>& inputs, const std::vector<std::string>& executors,
                                 const std::vector<std::string>& reference = {"eager"}, Tolerance = {});
enum class Stage : uint8_t { forward, backward };
/// The pass after which a function gives something else, and the line that does.
struct BrokenPass {
  int stage = -1;               // place among last_traces or last_backward_traces
  Stage side = Stage::forward;  // of which of the two
  std::string pass;             // "User transform"
  Difference difference;        // of that stage, with the values of the stage before
  std::string before;           // the line that made the value in the stage before
};
std::ostream& operator<<(std::ostream&, const BrokenPass&);
/// The first of a function's stages whose results, gradients or writes are not those of the stage before. Cotangents are made. None where all
/// agree.
std::optional<BrokenPass> find_broken_pass(const std::vector<Trace>& stages, const std::vector<Tensor>& inputs, Tolerance = {});
/// Of a function's last call, forward and backward. Without inputs they are made from the types.
std::optional<BrokenPass> find_broken_pass(const Jitted&, const std::vector<Tensor>& inputs = {}, Tolerance = {});
/// The first of the stages of a function (last_traces) that does not give the results of the first stage, by place; -1 where all do.
int bisect_passes(const std::vector<Trace>& stages, const std::vector<Tensor>& inputs, Tolerance = {});

/// A function of a line and of the tensors among its arguments, or its results, that gives text, or nothing.
class Callback {
 public:
  using Tensors = std::vector<Tensor>;
  Callback() = default;
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Callback> && std::invocable<F&, const BoundSymbol&, const Tensors&>)
  Callback(F function) {
    if constexpr (std::convertible_to<std::invoke_result_t<F&, const BoundSymbol&, const Tensors&>, std::string>) call_ = std::move(function);
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
/// Called around every line of every program of a function. The text that the last call of each gave stands as comments above its line in
/// last_traces(f).back() and last_backward_traces(f).back(); that of `after` behind that of `before`.
struct Callbacks {
  Callback before = {}, after = {};
};
std::shared_ptr<detail::JitState> state_with_callbacks(const detail::JitState&, Callbacks, SourceLocation);
/// `f` with callbacks: a function of its own, whose programs run line by line.
template <std::derived_from<Jitted> F>
F with_callbacks(const F& f, Callbacks callbacks, SourceLocation at = SourceLocation::here()) {
  return F(state_with_callbacks(*f.state(), std::move(callbacks), at));
}

/// Members are given in this order.
struct ReproOptions {
  enum class Language : uint8_t { cpp, python };
  Language language = Language::cpp;
  uint64_t seed = 0;                        // of the inputs
  std::vector<Tensor> inputs = {};          // instead: these, written to `data`
  std::string data = {};                    // a safetensors file beside the program that has them
  std::vector<std::string> executors = {};  // who runs lines; empty: the function's, or the default list
  Tolerance tolerance = {};
  int runs = 20;                            // how often each side is timed
};
/// A program in one file that makes a fusion's inputs as they were in the last call, strides included, runs its kernel, which stands in it,
/// compares with the eager executor, times both, prints that and ends with 1 where they differ. Its first line is the command that builds
/// it against the installed library. In Python: the same lines on PyTorch, compared with what they gave here.
std::string repro(const Jitted&, std::string_view fusion, const ReproOptions& = {});
/// The same for lines [first, last) of the trace that the last call ran.
std::string repro(const Jitted&, int first, int last, Stage = Stage::forward, const ReproOptions& = {});
std::string repro(const Jitted&, int first, int last, const ReproOptions&, Stage = Stage::forward);
/// The same for a trace that never ran: inputs are made from its types.
std::string repro(const Trace&, int first, int last, const ReproOptions& = {}, const Layouts& = {});

}  // namespace examine

namespace detail {
std::ostream& print_value(std::ostream&, const Value&);
}
/// As a trace shows it: a proxy's name, a constant.
template <std::same_as<Value> V>
std::ostream& operator<<(std::ostream& out, const V& value) {
  return detail::print_value(out, value);
}
/// "(t_0, 1.5)"; of one "(t_0,)".
std::ostream& operator<<(std::ostream&, const SharedVector<Value>&);
/// "[auto [t2] = fusion0(t_0);\n   // …]"
std::ostream& operator<<(std::ostream&, const std::vector<BoundSymbol>&);
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
