// Every operator with one, two and three threads, on its cases made large enough to be shared out.
#include <algorithm>
#include <cstring>
#include <map>

#include "support/cases/altered_inputs.h"
#include "support/cases/case_traces.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// Three times what the pointwise kernels give one thread, and what the largest tensor of a call may have.
constexpr int64_t wanted = 98304, allowed = 150000;

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(a[i].shape() == b[i].shape()) || a[i].dtype() != b[i].dtype()) return false;
    const Tensor x = a[i].contiguous(), y = b[i].contiguous();
    const auto bytes = static_cast<size_t>(x.numel().hint() * size_of(x.dtype()));
    if (bytes > 0 && std::memcmp(x.data_pointer(), y.data_pointer(), bytes) != 0) return false;
  }
  return true;
}

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
    std::vector<Tensor> large = changed(inputs, [&](const Tensor& t) { return enlarged(t, size, times); });
    try {
      const Trace trace = record_case(c, large);
      if (trace.bound_symbols.back().args.size() > 100) return {};  // as many results as there are places
      reached = largest_in(trace.bound_symbols);
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
  for (const OperatorCase& c : chosen_cases()) {
    int64_t& most = largest[std::string(c.symbol->qualified_name())];
    if (c.contiguous_only || c.symbol->name().starts_with("empty")) continue;
    const std::vector<Tensor> inputs = plain_inputs(c, Dtype::f32);
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
          expect(same_bits(several.results, one.results) && several.error.empty() == one.error.empty(),
                 c.name + ", size " + std::to_string(size) + " enlarged" + (is_turned ? " and transposed" : "") +
                     ", on " + std::to_string(threads) + " threads " + several.error);
        }
      }
    }
  }
  if (!runs_all_cases()) return;
  std::string small;
  for (const auto& [op, count] : largest)
    if (count < wanted) small += op + "\n";
  // Views of a size that is an argument, what takes no tensor, and matrices that are singular once enlarged.
  expect_text(small, R"(
prims.as_strided
prims.cholesky
prims.integer_tensor
prims.normal
prims.one_hot
prims.random_integers
prims.random_state
prims.uniform
torch.Tensor.view
torch.Tensor.view_as
torch.arange
torch.broadcast_to
torch.empty
torch.empty_like
torch.eye
torch.full
torch.linalg.cholesky
torch.linalg.inv
torch.linspace
torch.nn.functional.affine_grid
torch.nn.functional.one_hot
torch.ones
torch.rand
torch.randint
torch.randn
torch.zeros
)");
}

TEST("operators without tensor arguments have the same bits with one, two and three threads") {
  const auto make = [](int threads) -> std::vector<Tensor> {
    const Threads scope(threads);
    manual_seed(case_seed);
    std::vector<Tensor> made;
    made.push_back(rand({1000, 151}));
    made.push_back(randn({1000, 151}));
    made.push_back(randint(-5, 90, {1000, 151}));
    made.push_back(arange(0.5, 100000, 0.75));
    made.push_back(linspace(-1, 3, 150001));
    made.push_back(eye(400));
    made.push_back(full({1000, 151}, 1.5));
    return made;
  };
  const std::vector<Tensor> one = make(1);
  for (const int threads : {2, 3}) expect(same_bits(make(threads), one));
}
