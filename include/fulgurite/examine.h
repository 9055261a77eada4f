#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Questions about traces.
namespace examine {

/// What a trace keeps in memory while it runs, in bytes of tensors. Tensors that share a storage count once: a view has
/// the bytes of what it views. Lists of sizes and numbers count nothing.
struct MemoryReport {
  struct Line {
    std::string name;   // the operator: "torch.matmul"
    std::string text;   // "auto t0 = matmul(t_0, t_1);"
    int64_t bytes = 0;  // alive when the line has run, before anything it used for the last time is let go of
  };
  /// Where a tensor that is saved for the backward comes from. A backward trace does not say.
  enum class Origin : uint8_t { input, result, made, unknown };
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

}  // namespace examine
}  // namespace fulgurite
#pragma GCC visibility pop
