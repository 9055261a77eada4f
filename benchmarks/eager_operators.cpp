// One side of eager_operators.py: reads cases as lines of JSON from standard input, creates their tensors, and prints
// the time of a call. Operators are called through dispatch with prepacked arguments; "typed" measures the C++
// functions.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include <fulgurite/fulgurite.h>

#include "io/json_values.h"
#include "ops/core/call_arguments.h"

namespace fulgurite {

namespace {

using json::Node;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Seconds of CPU time a call: the least of batches that fill `budget`, of two at least.
template <class Call>
double measure(double budget, const Call& call) {
  const double begin = cpu_seconds();
  call();
  const double first = cpu_seconds() - begin;
  const int64_t batch = std::max<int64_t>(1, static_cast<int64_t>(1e-4 / std::max(first, 1e-8)));
  double best = 1e9;
  const double start = cpu_seconds();
  for (int repeats = 0; repeats < 2 || cpu_seconds() - start < budget; ++repeats) {
    const double from = cpu_seconds();
    for (int64_t i = 0; i < batch; ++i) call();
    // The clock may not advance over a short time.
    if (const double taken = cpu_seconds() - from; taken > 0) best = std::min(best, taken / static_cast<double>(batch));
  }
  return best;
}

/// Tensors by their description, so that cases with equal arguments share them.
class TensorPool {
 public:
  Tensor find(const Node& description) {
    const std::string key = description.at("key", Node::Kind::string).string;
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
    Tensor tensor = make(description);
    bytes_ += tensor.numel().hint() * size_of(tensor.dtype());
    if (bytes_ > limit) {
      made_.clear();
      bytes_ = tensor.numel().hint() * size_of(tensor.dtype());
    }
    made_[key] = tensor;
    return tensor;
  }

 private:
  static constexpr int64_t limit = int64_t{1} << 30;

  static Tensor make(const Node& description) {
    Shape shape;
    for (const Node& size : description.at("tensor", Node::Kind::array).items) shape.push_back(size.integer);
    const bool transposed = description.at("transposed", Node::Kind::boolean).boolean;
    const size_t n = shape.size();
    if (transposed) std::swap(shape[n - 1], shape[n - 2]);
    const Dtype dtype = dtype_from_name(description.at("dtype", Node::Kind::string).string);
    const std::string& values = description.at("values", Node::Kind::string).string;
    const double low = description.at("low", Node::Kind::floating).floating,
                 high = description.at("high", Node::Kind::floating).floating;
    Tensor tensor;
    if (values == "integers") {
      tensor = randint(static_cast<int64_t>(low), static_cast<int64_t>(high), shape, {.dtype = Dtype::i64}).to(dtype);
    } else if (values == "signs") {
      tensor = (randint(0, 2, shape) * 2 - 1).to(dtype);
    } else {
      tensor = (rand(shape) * (high - low) + low).to(dtype);
      if (values == "sorted") tensor = std::get<0>(sort(tensor));
    }
    return transposed ? tensor.transpose(-1, -2) : tensor;
  }

  std::map<std::string, Tensor> made_;
  int64_t bytes_ = 0;
};

Value to_value(const Node& node, TensorPool& tensors) {
  return json::to_value(node, [&tensors](const Node& object) -> Value {
    if (const Node* dtype = object.find("as_dtype")) return dtype_from_name(dtype->string);
    if (const Node* slice = object.find("slice"))
      return Slice(slice->items[0].integer, slice->items[1].integer, slice->items[2].integer);
    return tensors.find(object);
  });
}

struct Prepared {
  const Symbol* symbol = nullptr;
  CallArguments arguments;
};

std::unique_ptr<Prepared> prepare(const Node& line, TensorPool& tensors) {
  auto prepared = std::make_unique<Prepared>();
  const std::string& name = line.at("op", Node::Kind::string).string;
  prepared->symbol = find_symbol(name);
  if (prepared->symbol == nullptr) throw UserError("there is no operator " + name);
  std::vector<Value> args;
  for (const Node& arg : line.at("args", Node::Kind::array).items) args.push_back(to_value(arg, tensors));
  std::map<std::string, Value> kwargs;
  for (const auto& [key, node] : line.at("kwargs", Node::Kind::object).members) kwargs[key] = to_value(node, tensors);
  if (!prepared->arguments.bind(*prepared->symbol, args, kwargs)) throw UserError(prepared->arguments.error());
  return prepared;
}

/// Microseconds of a call of the C++ functions on 16 elements.
void measure_typed(double budget) {
  const Tensor x = rand({16}), y = rand({16});
  const std::pair<const char*, std::function<Tensor()>> calls[] = {
      {"add", [&] { return x + y; }},
      {"mul", [&] { return x * y; }},
      {"mul by a number", [&] { return x * 2; }},
      {"relu", [&] { return nn::relu(x); }},
      {"exp", [&] { return exp(x); }},
      {"sigmoid", [&] { return sigmoid(x); }},
      {"tanh", [&] { return tanh(x); }},
      {"sqrt", [&] { return sqrt(x); }},
      {"neg", [&] { return -x; }},
      {"lt", [&] { return x < y; }},
      {"maximum", [&] { return maximum(x, y); }},
      {"sum", [&] { return sum(x); }},
  };
  std::printf("{");
  for (const auto& [name, call] : calls)
    std::printf("%s\"%s\": %.4g", name == calls[0].first ? "" : ", ", name,
                1e6 * measure(budget, [&call = call] { call(); }));
  std::printf("}\n");
}

void answer() {
  set_num_threads(1);
  const NoGrad no_grad;
  TensorPool tensors;
  std::unique_ptr<Prepared> prepared;
  std::string text;
  while (std::getline(std::cin, text)) {
    try {
      const Node line = json::parse(text);
      const double budget = line.at("seconds", Node::Kind::floating).floating;
      if (line.find("typed")) {
        measure_typed(budget);
      } else {
        if (line.find("op")) prepared = prepare(line, tensors);
        const double seconds = measure(budget, [&] {
          Results results;
          dispatch(*prepared->symbol, prepared->arguments.arguments(), {}, results);
        });
        std::printf("{\"us\": %.6g}\n", 1e6 * seconds);
      }
    } catch (const std::exception& error) {
      std::printf("{\"error\": %s}\n", json::quote(error.what()).c_str());
    }
    std::fflush(stdout);
  }
}

}  // namespace

}  // namespace fulgurite

int main() { fulgurite::answer(); }
