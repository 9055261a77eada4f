// Every operator with one, two and three threads, on its cases made large enough to be shared out.
#include <algorithm>
#include <map>

#include "support/altered_inputs.h"
#include "support/case_traces.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// Three times what the pointwise kernels give one thread, and what the largest tensor of a call may have.
constexpr int64_t wanted = 98304, allowed = 400000;

struct Threads {
  explicit Threads(int count) : before(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before); }
  int before;
};

int64_t largest_of(const Value& value) {
  if (value.is_proxy() && value.is_tensor()) return value.tensor().shape.numel().hint();
  int64_t most = 0;
  if (value.is_list())
    for (const Value& item : value.list()) most = std::max(most, largest_of(item));
  return most;
}

/// The elements of the largest tensor that a call makes or takes.
int64_t largest_in(const std::vector<BoundSymbol>& lines) {
  int64_t most = 0;
  for (const BoundSymbol& line : lines) {
    for (const Value& value : line.args) most = std::max(most, largest_of(value));
    for (const Value& value : line.outputs) most = std::max(most, largest_of(value));
    most = std::max(most, largest_in(line.subsymbols));
  }
  return most;
}

/// The inputs with the dimensions of this size as large as allowed; none where the operator refuses that.
std::vector<Tensor> made_large(const OperatorCase& c, const std::vector<Tensor>& inputs, int64_t size,
                               int64_t& reached) {
  for (int64_t times = allowed / size; times > 1; times = times * 2 / 3) {
    int64_t own = 0;
    for (const Tensor& t : inputs) {
      int64_t count = 1;
      for (const Int s : t.shape())
        count = std::min<int64_t>(allowed + 1, count * (s == size ? s.hint() * times : s.hint()));
      own = std::max(own, count);
    }
    if (own > allowed) continue;
    const std::vector<Tensor> large = changed(inputs, [&](const Tensor& t) { return enlarged(t, size, times); });
    try {
      reached = largest_in(record_case(c, large).bound_symbols);
    } catch (const UserError&) {
      return {};
    }
    if (reached <= allowed) return large;
  }
  return {};
}

}  // namespace

TEST("every operator gives the same bits with one, two and three threads") {
  std::map<std::string, int64_t> largest;
  for (const OperatorCase& c : operator_cases()) {
    int64_t& most = largest[std::string(c.symbol->qualified_name())];
    if (c.contiguous_only || c.symbol->name().starts_with("empty")) continue;
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      const std::vector<Tensor> inputs = plain_inputs(c, dtype);
      for (const int64_t size : distinct_sizes(inputs)) {
        int64_t reached = 0;
        const std::vector<Tensor> large = made_large(c, inputs, size, reached);
        if (large.empty()) continue;
        for (const bool is_turned : {false, true}) {
          const std::vector<Tensor> given = is_turned ? changed(large, transposed_copy) : large;
          const auto run = [&](int threads) {
            const Threads scope(threads);
            return answer_of(c, given);
          };
          const Answer one = run(1);
          if (one.error.empty()) most = std::max(most, reached);
          for (const int threads : {2, 3}) {
            const Answer several = run(threads);
            const std::string wrong = difference(several.results, one.results);
            expect(wrong.empty() && several.error.empty() == one.error.empty(),
                   c.name + " with size " + std::to_string(size) + " enlarged on " + std::to_string(threads) +
                       " threads: " + wrong + several.error);
          }
        }
      }
    }
  }
  std::string small;
  for (const auto& [op, count] : largest)
    if (count < wanted) small += op + "\n";
  // Views, sizes that are arguments, and what draws or reads no tensor.
  expect_text(small, "");
}
