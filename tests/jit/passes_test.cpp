// The list of named passes: reading, extending, reordering.
#include <algorithm>

#include <fulgurite/fulgurite.h>
#include <fulgurite/symbol.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += name + "\n";
  return out;
}

/// A pass that changes nothing and notes its name, and whether the trace is that of a backward.
Transform noting(std::vector<std::string>& notes, const std::string& name) {
  return [&notes, name](const Trace& trace) {
    notes.push_back(name + (trace.tags.has(Tag::backward) ? " backward" : ""));
    return trace;
  };
}

int count_of(const Trace& trace, std::string_view name) {
  int count = 0;
  for (const BoundSymbol& op : trace.bound_symbols) count += op.name() == name;
  return count;
}

Tensor repeated(Tensor x) {
  const Tensor a = tanh(x), b = tanh(x);
  return a * b;
}

std::vector<std::string> provenances(const std::vector<Trace>& stages) {
  std::vector<std::string> out;
  for (const Trace& stage : stages) out.push_back(stage.provenance);
  return out;
}

}  // namespace

TEST("the passes have names, in their order") {
  expect_text(joined(Passes().names()), R"(
canonical_order
keep_results
dce
cse
grad
transforms
recomputation
split
backward_cse
choose_executors
multiply_codes
join_products
claims
fold_scatter_add
fusion
execution_dce
schedule_updates_early
delete_last_used
)");
}

TEST("added passes run where they were put, on both halves after the split") {
  std::vector<std::string> notes;
  Passes passes;
  passes.insert_before("dce", "first", noting(notes, "first"))
      .insert_after("grad", "joint", noting(notes, "joint"))
      .insert_before("backward_cse", "late", noting(notes, "late"))
      .insert_before("claims", "unclaimed", noting(notes, "unclaimed"))
      .insert_before("delete_last_used", "last", noting(notes, "last"));
  expect_equal(passes.names().size(), Passes().names().size() + 5);
  const auto f = with_passes(jit(repeated), passes);
  const Tensor x = ones({4}).requires_grad_(), same = ones({4}).requires_grad_();
  sum(f(x)).backward();
  expect_equal(notes, std::vector<std::string>({"first", "joint", "late backward", "unclaimed", "last",
                                                "unclaimed backward", "last backward"}));
  sum(repeated(same)).backward();
  expect_equal(x.grad().to_vector<float>(), same.grad().to_vector<float>());
  notes.clear();
  f(ones({4}));  // without a gradient
  expect_equal(notes, std::vector<std::string>({"first", "joint", "unclaimed", "last"}));
}

TEST("a function with other passes is another function") {
  std::vector<std::string> notes;
  const auto f = jit(repeated, {.executors = {"eager"}});
  const auto g = with_passes(f, Passes().insert_after("cse", "mine", noting(notes, "mine")));
  f(ones({4}));
  expect_equal(notes.size(), 0u);
  g(ones({4}));
  expect_equal(notes.size(), 1u);
  expect_equal(cache_misses(f), 1);
  const std::vector<std::string> stages = provenances(last_traces(g));
  expect(std::ranges::find(stages, "mine") != stages.end(), joined(stages));
  expect_equal(stages.size(), last_traces(f).size() + 1);
}

TEST("passes can be removed and moved") {
  const auto whole = jit(repeated, {.executors = {"eager"}});
  const auto without = with_passes(whole, Passes().remove("cse"));
  whole(ones({4}));
  without(ones({4}));
  expect_equal(count_of(last_traces(whole).back(), "tanh"), 1);
  expect_equal(count_of(last_traces(without).back(), "tanh"), 2);

  Passes moved;
  moved.move_before("cse", "dce");
  const auto f = with_passes(whole, moved);
  f(ones({4}));
  const std::vector<std::string> stages = provenances(last_traces(f));
  expect_equal(stages[1], std::string("Common Subexpression Elimination"));
  expect_equal(stages[2], std::string("Dead Code Elimination"));
  moved.move_before("dce", "cse");
  expect_equal(moved.names(), Passes().names());
}

TEST("ops that a pass adds after the claims are claimed") {
  // t0 = tanh(x)   ->   t9 = tanh(x), t0 = neg(t9)
  const Transform negate = [](const Trace& trace) {
    if (trace.tags.has(Tag::backward)) return trace;
    Trace out = trace;
    SharedVector<BoundSymbol> ops;
    for (BoundSymbol op : trace.bound_symbols) {
      if (op.name() != "tanh") {
        ops.push_back(op);
        continue;
      }
      auto* proxy = new TensorProxy(op.outputs.read()[0].tensor());
      proxy->id = out.next_id++;
      proxy->name = "bent";
      const Value bent{detail::Ref<TensorProxy>(proxy)};
      BoundSymbol last;
      last.symbol = find_symbol("neg");
      last.args.push_back(bent);
      last.outputs = op.outputs;
      op.outputs = {bent};
      ops.push_back(op);
      ops.push_back(last);
    }
    out.bound_symbols = ops;
    return out;
  };
  for (const char* place : {"claims", "fusion", "execution_dce"}) {
    const auto f = with_passes(jit([](Tensor x) { return tanh(x); }, {.executors = {"eager"}}),
                               Passes().insert_after(place, "negate", negate));
    expect_equal(f(ones({2})).to_vector<float>(), (-tanh(ones({2}))).to_vector<float>());
  }
}

TEST("specializations of symbolic functions run the passes too") {
  std::vector<std::string> notes;
  const auto f = with_passes(jit(repeated, {.cache = Cache::symbolic_values}),
                             Passes().insert_before("delete_last_used", "last", noting(notes, "last")));
  f(ones({4}));
  const size_t once = notes.size();
  f(ones({7}));
  expect_greater(notes.size(), once);
  expect_equal(f(ones({9})).to_vector<float>(), repeated(ones({9})).to_vector<float>());
}

TEST("wrong changes of the list are errors that name the passes") {
  const Transform same = [](const Trace& trace) { return trace; };
  Passes passes;
  expect_error([&] { passes.remove("csee"); },
               "unknown pass \"csee\"; the passes are canonical_order, keep_results, dce, cse, grad, transforms, "
               "recomputation, split, backward_cse, choose_executors, multiply_codes, join_products, claims, "
               "fold_scatter_add, fusion, execution_dce, schedule_updates_early, delete_last_used");
  expect_error([&] { passes.insert_before("fuse", "mine", same); }, "unknown pass \"fuse\"");
  expect_error([&] { passes.move_before("cse", "end"); }, "unknown pass \"end\"");
  expect_error([&] { passes.insert_after("cse", "dce", same); }, "there is a pass \"dce\" already");
  expect_error([&] { passes.insert_after("cse", "", same); }, "a pass needs a name");
  expect_error([&] { passes.insert_after("cse", "mine", {}); }, "the pass \"mine\" has no function");
  expect_error([&] { passes.insert_after("delete_last_used", "mine", same); },
               "\"delete_last_used\" is the last pass: nothing can run after it");
  expect_error([&] { passes.insert_before("canonical_order", "mine", same); },
               "\"canonical_order\" is the first pass: nothing can run before it");
  expect_error([&] { passes.remove("claims"); },
               "the pass \"claims\" cannot be removed: programs cannot be made without it");
  expect_error([&] { passes.move_before("fusion", "claims"); }, "the pass \"fusion\" cannot be moved");
  expect_error([&] { passes.move_before("cse", "recomputation"); }, "the pass \"cse\" cannot be moved across \"grad\"");
  expect_error([&] { passes.move_before("execution_dce", "fold_scatter_add"); },
               "the pass \"execution_dce\" cannot be moved across \"fusion\"");
  expect_equal(passes.names(), Passes().names());
}

TEST("a user's pass moves freely, and its result is checked") {
  const Transform same = [](const Trace& trace) { return trace; };
  Passes passes;
  passes.insert_after("dce", "mine", same).move_before("mine", "delete_last_used");
  expect_equal(passes.names()[passes.names().size() - 2], std::string("mine"));
  const auto f =
      with_passes(jit(repeated), Passes().insert_after("cse", "empty", [](const Trace&) { return Trace(); }));
  expect_error([&] { f(ones({2})); }, "after the pass \"empty\": ");
  expect_error([&] { f(ones({2})); }, "it has no return");
}
