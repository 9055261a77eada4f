#include "runtime/program.h"

#include <thread>

#include <fulgurite/error.h>

#include "runtime/trace_builder.h"
#include "support/test.h"
#include "tensor/memory/allocator.h"

namespace fulgurite {

using test::TraceBuilder;

namespace {

std::vector<Tensor> run(const Program& program, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> results;
  program.run(inputs, results);
  return results;
}

Tensor matrix() { return tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}); }

Tensor transposed(const Tensor& x) {
  const TensorImpl& impl = *x.impl();
  return make_view(impl.storage, Sizes{impl.sizes[1], impl.sizes[0]}, Sizes{impl.strides[1], impl.strides[0]}, 0,
                   impl.dtype);
}

uint32_t version(const Tensor& x) { return x.impl()->storage->version.load(); }

}  // namespace

TEST("a chain of kernels reuses its memory and gives fresh results") {
  TraceBuilder t;
  Value x = t.input({16});
  Value y = x;
  for (int i = 0; i < 10; ++i) y = t.plus(y, y);
  const Program program(t.give({y}));
  expect_equal(program.planned_bytes(), 128);
  const Tensor ones = tensor(std::vector<float>(16, 1));
  const std::vector<Tensor> first = run(program, {ones}), second = run(program, {ones});
  expect_equal(first[0].to_vector<float>(), std::vector<float>(16, 1024));
  expect_different(first[0].data<float>(), second[0].data<float>());
  expect_equal(ones.to_vector<float>(), std::vector<float>(16, 1));
}

TEST("a program is made once, at its first use") {
  TraceBuilder t;
  Value x = t.input({16});
  Trace trace = t.give({t.plus(x, x)});
  int made = 0;
  const Program program([&] {
    if (++made == 1) throw UserError("not yet");
    return trace;
  });
  expect(!program.is_made());
  expect_equal(program.bytes().plan, int64_t{0});
  expect_error([&] { run(program, {ones({16})}); }, "not yet");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { run(program, {ones({16})}); });
  for (std::thread& thread : threads) thread.join();
  expect(program.is_made());
  expect_equal(made, 2);
}

TEST("views of planned memory keep it alive and cost nothing") {
  TraceBuilder t;
  const Value x = t.input({2, 3});
  const Value sum = t.plus(x, x);
  const Value line = t.line(sum);
  Value other = t.plus(x, x);
  for (int i = 0; i < 4; ++i) other = t.plus(other, other);
  const Value joined = t.join({line, t.line(other)}, 0.5, 12);
  const Program program(t.give({joined}));
  const std::vector<Tensor> results = run(program, {matrix()});
  expect_equal(results[0].to_vector<float>(),
               std::vector<float>({2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 32.5, 64.5, 96.5, 128.5, 160.5, 192.5}));
}

TEST("an operand whose strides allow no view is copied") {
  TraceBuilder t;
  const Value x = t.input({2, 3});
  const Value sum = t.plus(x, x);
  const Value of_sum = t.line(t.flip(sum));
  const Value of_input = t.line(t.flip(x));
  const Program program(t.give({t.join({of_sum, of_input}, 0, 12), of_input}));
  for (int round = 0; round < 2; ++round) {
    const std::vector<Tensor> results = run(program, {matrix()});
    expect_equal(results[0].to_vector<float>(), std::vector<float>({2, 8, 4, 10, 6, 12, 1, 4, 2, 5, 3, 6}));
    expect_equal(results[1].to_vector<float>(), std::vector<float>({1, 4, 2, 5, 3, 6}));
  }
}

TEST("views of an input follow its strides from call to call") {
  TraceBuilder t;
  const Value x = t.input({2, 3});
  const Value line = t.line(x);
  const Program program(t.give({line, t.join({line}, 1, 6), x}));
  const Tensor plain = matrix(), strided = transposed(tensor({{1.0, 4.0}, {2.0, 5.0}, {3.0, 6.0}}));
  for (int round = 0; round < 4; ++round) {
    const Tensor& input = round % 2 == 0 ? plain : strided;
    const std::vector<Tensor> results = run(program, {input});
    expect_equal(results[0].to_vector<float>(), std::vector<float>({1, 2, 3, 4, 5, 6}));
    expect_equal(results[1].to_vector<float>(), std::vector<float>({2, 3, 4, 5, 6, 7}));
    expect(results[2].is_same(input));
    expect_equal(results[0].data<float>() == input.data<float>(), round % 2 == 0);
  }
}

TEST("a returned view shares the storage of the returned value") {
  TraceBuilder t;
  const Value x = t.input({2, 3});
  const Value sum = t.plus(x, x);
  const Value flipped = t.flip(sum), line = t.line(sum);
  const Program program(t.give({sum, flipped, t.join({line}, 0, 6)}));
  const std::vector<Tensor> results = run(program, {matrix()});
  expect_equal(results[0].impl()->storage, results[1].impl()->storage);
  expect_equal(results[1].to_vector<float>(), std::vector<float>({2, 8, 4, 10, 6, 12}));
  expect_equal(results[2].to_vector<float>(), std::vector<float>({2, 4, 6, 8, 10, 12}));
}

TEST("copy_ writes into the input that was given") {
  TraceBuilder t;
  const Value x = t.input({2, 3}), y = t.input({2, 3});
  const Value sum = t.plus(x, y);
  const Value written = t.copy(sum, x);
  const Program program(t.give({written}));
  expect_equal(program.planned_bytes(), 0);  // the kernel writes straight into x
  const Tensor a = matrix(), b = matrix();
  const std::vector<Tensor> results = run(program, {a, b});
  expect(results[0].is_same(a));
  expect_equal(a.to_vector<float>(), std::vector<float>({2, 4, 6, 8, 10, 12}));
  expect_equal(version(a), 1u);
  expect_equal(version(b), 0u);
}

TEST("copy_ respects the strides of its destination") {
  TraceBuilder t;
  const Value x = t.input({2, 3}), y = t.input({2, 3});
  t.copy(t.plus(y, y), x);
  const Program program(t.give({}));
  const Tensor base = tensor({{0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}});
  run(program, {transposed(base), matrix()});
  expect_equal(base.to_vector<float>(), std::vector<float>({2, 8, 4, 10, 6, 12}));
}

TEST("a value read after its input was overwritten is the old one") {
  TraceBuilder t;
  const Value x = t.input({3}), y = t.input({3});
  t.copy(y, x);
  t.copy(x, y);
  const Value sum = t.plus(x, x);
  const Program program(t.give({sum}));
  const Tensor a = tensor({1.0, 2.0, 3.0}), b = tensor({4.0, 5.0, 6.0});
  const std::vector<Tensor> results = run(program, {a, b});
  expect_equal(a.to_vector<float>(), std::vector<float>({4, 5, 6}));
  expect_equal(b.to_vector<float>(), std::vector<float>({1, 2, 3}));
  expect_equal(results[0].to_vector<float>(), std::vector<float>({2, 4, 6}));
}

TEST("a kernel does not write into an input that is still read") {
  TraceBuilder t;
  const Value x = t.input({3});
  const Value sum = t.plus(x, x);
  const Value again = t.plus(x, x);
  t.copy(sum, x);
  const Program program(t.give({again}));
  const Tensor a = tensor({1.0, 2.0, 3.0});
  const std::vector<Tensor> results = run(program, {a});
  expect_equal(results[0].to_vector<float>(), std::vector<float>({2, 4, 6}));
  expect_equal(a.to_vector<float>(), std::vector<float>({2, 4, 6}));
}

TEST("None stays None, a value may be given twice") {
  TraceBuilder t;
  const Value x = t.input({3});
  t.trace.args.emplace_back();
  const Value sum = t.plus(x, x);
  const Program program(t.give({Value(), sum, sum}));
  const std::vector<Tensor> results = run(program, {tensor({1.0, 2.0, 3.0}), Tensor()});
  expect(!results[0].defined());
  expect(results[1].is_same(results[2]));
}

TEST("the last call's inputs are remembered") {
  TraceBuilder t;
  const Value x = t.input({2, 3});
  const Program program(t.give({t.plus(x, x)}));
  run(program, {transposed(tensor({{1.0, 4.0}, {2.0, 5.0}, {3.0, 6.0}}))});
  const std::vector<InputRecord> inputs = program.last_inputs();
  expect_equal(inputs.size(), 1u);
  expect_equal(inputs[0].strides, Sizes({1, 2}));
  expect_equal(inputs[0].sizes, Sizes({2, 3}));
}

TEST("inputs of other types or sizes are refused") {
  TraceBuilder t;
  const Value x = t.input({2, 3});
  const Program program(t.give({t.plus(x, x)}));
  expect_error([&] { run(program, {tensor({1.0})}); },
               "input 0 is cpu f32[1], but the program was made for cpu f32[2, 3]");
  expect_error([&] { run(program, {}); }, "takes 1 inputs, got 0");
  expect_equal(run(program, {matrix()}).size(), 1u);
}

TEST("a symbol without an implementation is named") {
  TraceBuilder t;
  const Value x = t.input({2});
  t.add(test::plus_symbol, {x, x}, {2});
  const Trace trace = t.give({});
  expect_error([&] { const Program program(trace); }, "test.plus has no implementation");
}

TEST("a run holds nothing of its caller's afterwards, and allocates only its results") {
  TraceBuilder t;
  const Value x = t.input({1024});
  const Value sum = t.plus(x, x);
  const Program program(t.give({t.plus(sum, t.line(sum))}));
  const Tensor input = tensor(std::vector<float>(1024, 1));
  run(program, {input});
  expect_equal(input.impl()->owners.load(), 1);
  const int64_t before = allocator_statistics().in_use;
  const std::vector<Tensor> results = run(program, {input});
  expect_equal(allocator_statistics().in_use - before, 4096);
}

TEST("any number of threads may run a program") {
  TraceBuilder t;
  const Value x = t.input({256});
  Value y = t.plus(x, x);
  for (int i = 0; i < 5; ++i) y = t.plus(y, x);
  const Program program(t.give({y}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      const Tensor input = tensor(std::vector<float>(256, static_cast<float>(thread)));
      for (int round = 0; round < 50; ++round)
        if (run(program, {input})[0].to_vector<float>() != std::vector<float>(256, static_cast<float>(7 * thread)))
          ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  expect_equal(wrong.load(), 0);
}

}  // namespace fulgurite
