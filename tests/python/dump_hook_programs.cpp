// Writes random eager programs of views, writes in place, custom functions, hooks of all kinds, retained gradients and
// partial backwards, and what happens here, for run_hook_programs.py. usage: dump_hook_programs FOLDER COUNT SEED
// [--compiled]
//   hooks.jsonl   an object for each program: its steps and its events, each with a checksum of what was seen
// usage: dump_hook_programs --both COUNT SEED
//   runs each program with the engine and with compiled autograd: same events, same numbers to the bit, same errors;
//   ends with `N programs, N agree` Among these are gradients of gradients, hooks that fail once, and hooks that are
//   recorded.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string_view>

#include <fulgurite/fulgurite.h>

#include "support/programs/hook_functions.h"
#include "support/programs/written_records.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr int leaf_count = 2;

/// A weighted sum of a tensor's elements, with a different weight for each index.
double checksum(const Tensor& t) {
  if (!t.defined()) return 0;
  double total = 0, weight = 1;
  for (const double number : t.detach().contiguous().to_vector<double>()) total += number * weight++;
  return total;
}
double checksum(const std::vector<Tensor>& tensors) {
  double total = 0;
  for (const Tensor& t : tensors) total += checksum(t);
  return total;
}

/// Draws a program's steps and runs each immediately, so that a step may depend on the values.
class HookProgram {
 public:
  /// `compares_modes`: with steps that are not for PyTorch.
  explicit HookProgram(unsigned seed, bool compares_modes = false) : random_(seed), compares_modes_(compares_modes) {
    for (int i = 0; i < leaf_count + 1; ++i) {
      const Tensor start = reshape(arange(0, 6, 1, {.dtype = Dtype::f64}), {2, 3}) * (0.25 + 0.125 * i) - 0.5;
      values_.push_back(i < leaf_count ? start.requires_grad_() : start);
      roots_.push_back(i);
    }
    grow();
  }

  // A retained gradient with a graph of its own refers to the tensor that has it.
  ~HookProgram() {
    for (const Tensor& value : values_) value.set_grad({});
  }

  std::string run() {
    const int count = 6 + below(14);
    try {
      for (int i = 0; i < count; ++i) step();
      backward();
    } catch (const UserError& error) {
      say("refused", 0);
      error_ = error.what();
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      say("value", checksum(values_[i]));
      const bool has_gradient = i < leaf_count || retains_[static_cast<int>(i)];
      if (has_gradient) say("gradient", checksum(values_[i].grad()));
    }
    return "\"steps\": [" + steps_ + "], \"events\": [" + events_ + "]";
  }

  /// The error that the library threw, if any.
  const std::string& error() const { return error_; }

 private:
  int below(size_t n) { return static_cast<int>(random_() % n); }
  int last() const { return static_cast<int>(values_.size()) - 1; }
  int draw() { return below(2) == 0 ? last() : below(values_.size()); }
  double draw_factor() { return below(3) == 0 ? 0.5 + 0.25 * below(4) : 0; }

  void say(const std::string& what, double number) {
    char text[100];
    std::snprintf(text, sizeof text, "%s[\"%s\", %.17g]", events_.empty() ? "" : ", ", what.c_str(),
                  std::isfinite(number) ? number : -12345);
    events_ += text;
  }
  void record(const std::string& kind, int on, int other = 0, double number = 0, const std::string& more = "") {
    char text[200];
    std::snprintf(text, sizeof text, "%s{\"do\": \"%s\", \"on\": %d, \"other\": %d, \"number\": %.17g%s}",
                  steps_.empty() ? "" : ", ", kind.c_str(), on, other, number, more.c_str());
    steps_ += text;
  }
  void add(const Tensor& value, int root) {
    values_.push_back(value);
    roots_.push_back(root < 0 ? last() : root);
    grow();
  }
  void grow() {
    written_.resize(values_.size());
    has_hooked_view_.resize(values_.size());
  }
  int same_shape(int of) {
    std::vector<int> found;
    for (int i = 0; i <= last(); ++i)
      if (i != of && values_[i].shape() == values_[of].shape() && roots_[i] != roots_[of]) found.push_back(i);
    return found.empty() ? -1 : found[below(found.size())];
  }

  void step() {
    switch (below(11)) {
      case 10: return jitted();
      case 0:
      case 1:
      case 2: return make();
      case 3: return view();
      case 4: return custom();
      case 5: return write();
      case 6:
      case 7:
      case 8: return hook();
      default:
        if (below(3) == 0) backward();
    }
  }

  void make() {
    const int on = draw(), other = same_shape(on);
    const double number = 0.5 + 0.25 * below(5);
    const int kind = below(other < 0 ? 3 : 5);
    const char* const names[] = {"scaled", "sine", "exp", "product", "sum"};
    record(names[kind], on, other, number);
    const Tensor x = values_[on];
    if (kind == 0) add(x * number, -1);
    if (kind == 1) add(sin(x), -1);
    if (kind == 2) add(exp(x * 0.125), -1);
    if (kind == 3) add(x * values_[other], -1);
    if (kind == 4) add(x + values_[other], -1);
  }

  void jitted() {
    const int on = draw(), other = same_shape(on);
    const bool with_breaks = other >= 0 && below(2) == 0;
    record(with_breaks ? "jitted_subgraphs" : "jitted_wave", on, other);
    add(with_breaks ? jitted_subgraphs(values_[on], values_[other]) : jitted_wave(values_[on]), -1);
    is_jitted_.insert(last());
  }

  void view() {
    const int on = draw();
    const Tensor x = values_[on];
    if (x.ndim() == 0) return;
    const int kind = below(3);
    const char* const names[] = {"row", "transposed", "narrowed"};
    record(names[kind], on);
    if (kind == 0) add(select(x, 0, 1), roots_[on]);
    if (kind == 1) add(transpose(x, 0, -1), roots_[on]);
    if (kind == 2) add(narrow(x, 0, 0, 2), roots_[on]);
  }

  void custom() {
    const int on = draw(), other = same_shape(on), kind = below(other < 0 ? 3 : 5);
    if (kind == 0) {
      record("cube", on);
      return add(autograd::apply<Cube>(values_[on]), -1);
    }
    if (kind == 1) {
      record("with_signs", on);
      const auto [doubled, signs] = autograd::apply<WithSigns>(values_[on]);
      add(doubled, -1);
      return add(signs, -1);
    }
    if (kind == 2) {
      // PyTorch's nodes of a view differ.
      if (roots_[on] != on || on < leaf_count || has_hooked_view_[on]) return;
      record("shrunk", on);
      written_[on] = true;
      autograd::apply<Shrunk>(values_[on]);
      return;
    }
    const double by = 0.5 + 0.25 * below(5);
    record(kind == 3 ? "mix" : "partly", on, other, by);
    const auto [first, second] = kind == 3 ? autograd::apply<Mix>(values_[on], values_[other])
                                           : autograd::apply<Partly>(values_[on], values_[other], by);
    add(first, -1);
    add(second, -1);
  }

  void write() {
    const int on = draw();
    if (roots_[on] < leaf_count || has_hooked_view_[roots_[on]]) return;
    const int other = same_shape(on), kind = below(other < 0 ? 2 : 3);
    const double number = 0.5 + 0.5 * below(3);
    const char* const names[] = {"add_", "mul_", "mul_value_"};
    record(names[kind], on, other, number);
    written_[roots_[on]] = true;
    if (kind == 0) values_[on].add_(number);
    if (kind == 1) values_[on].mul_(number);
    if (kind == 2) values_[on].mul_(values_[other]);
  }

  void keep(HookHandle handle) { handles_.push_back(std::move(handle)); }

  void hook() {
    const int on = below(3) == 0 ? below(leaf_count) : draw();
    const Tensor x = values_[on];
    if (!x.requires_grad()) return;
    const int id = static_cast<int>(handles_.size());
    const std::string name = std::to_string(id);
    const double factor = draw_factor();
    const auto scaled = [factor](std::vector<Tensor> gradients) -> std::optional<std::vector<Tensor>> {
      if (factor == 0) return std::nullopt;
      for (Tensor& gradient : gradients)
        if (gradient.defined()) gradient = gradient * factor;
      return gradients;
    };
    const auto before = [=, this](const std::vector<Tensor>& gradients) {
      say("before " + name, checksum(gradients));
      return scaled(gradients);
    };
    const auto after = [=, this](const std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs) {
      say("after " + name, checksum(of_inputs) + 3 * checksum(of_outputs));
      return scaled(of_inputs);
    };
    if (compares_modes_ && below(4) == 0) return own_hook(x, name);
    const int kind = below(6);
    if (kind == 0 && !handles_.empty()) {
      const int which = below(handles_.size());
      record("remove", 0, which);
      return handles_[which].remove();
    }
    // In PyTorch a write through a view skips the nodes of earlier views; here gradients still pass through them.
    const bool is_view = roots_[on] != on;
    if (is_view && written_[roots_[on]]) return;
    has_hooked_view_[roots_[on]] |= is_view;
    if (kind <= 2) {
      record("hook", on, id, factor);
      // PyTorch's grad() for such a value returns the hook's result, unless its node is run too.
      if (factor != 0 && on >= leaf_count) has_scaling_hook_.insert(on);
      return keep(x.register_hook([=, this](Tensor gradient) -> std::optional<Tensor> {
        say("hook " + name, checksum(gradient));
        if (factor == 0) return std::nullopt;
        return gradient * factor;
      }));
    }
    if (on < leaf_count) {
      const std::shared_ptr<Node> accumulator = (x * 1).grad_fn()->next_edges()[0].node;
      accumulators_.push_back(accumulator);
      const char* const names[] = {"leaf_before", "leaf_after", "accumulated"};
      record(names[kind - 3], on, id, kind == 3 ? factor : 0);
      if (kind == 3) return keep(accumulator->register_prehook(before));
      if (kind == 4)
        return keep(accumulator->register_hook(
            [=, this](const std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_outputs) {
              say("leaf_after " + name, checksum(of_inputs) + 3 * checksum(of_outputs));
            }));
      return keep(x.register_post_accumulate_grad_hook(
          [=, this](Tensor leaf) { say("accumulated " + name, checksum(leaf.grad())); }));
    }
    if (kind == 5) {
      record("retain", on);
      retains_[on] = true;
      return x.retain_grad();
    }
    // PyTorch's nodes of values written in place differ.
    if (written_[on] || is_jitted_.contains(on)) return;
    record(kind == 3 ? "before" : "after", on, id, factor);
    keep(kind == 3 ? x.grad_fn()->register_prehook(before) : x.grad_fn()->register_hook(after));
  }

  // One that is recorded, or one that fails the first time.
  void own_hook(const Tensor& x, const std::string& name) {
    const double factor = 0.5 + 0.25 * below(4);
    if (below(2) == 0)
      return keep(x.register_hook(autograd::traceable([factor](Tensor gradient) { return sin(gradient) * factor; })));
    const auto has_failed = std::make_shared<bool>(false);
    keep(x.register_hook([=, this](Tensor gradient) {
      say("fails " + name, checksum(gradient));
      if (!*has_failed) {
        *has_failed = true;
        throw std::runtime_error("the hook gave up");
      }
    }));
  }

  // The report of a run with hooks that may fail.
  template <class Run>
  void attempt(Run&& run) {
    try {
      run();
    } catch (const UserError&) {
      throw;
    } catch (const std::runtime_error&) {
      say("failed", 0);
    }
  }

  void differentiate_twice(int on, bool retains) {
    const Tensor loss = sum(values_[on] * values_[on]);
    const auto say_all = [&](const std::vector<Tensor>& gradients) {
      for (const Tensor& gradient : gradients) say(gradient.defined() ? "result" : "no result", checksum(gradient));
    };
    const std::vector<Tensor> leaves(values_.begin(), values_.begin() + leaf_count);
    attempt([&] {
      const std::vector<Tensor> first =
          autograd::grad(loss, leaves, {}, {.retain_graph = true, .create_graph = true, .allow_unused = true});
      say_all(first);
      Tensor total = zeros({}, {.dtype = Dtype::f64});
      for (const Tensor& gradient : first)
        if (gradient.defined()) total = total + sum(gradient * gradient);
      if (total.requires_grad())
        say_all(autograd::grad(total, leaves, {}, {.retain_graph = retains, .allow_unused = true}));
    });
  }

  void backward() {
    const int on = draw();
    if (!values_[on].requires_grad()) return;
    const bool retains = below(4) != 0, is_grad = below(4) == 0;
    if (compares_modes_ && below(4) == 0) return differentiate_twice(on, retains);
    std::vector<Tensor> inputs;
    std::string numbers;
    if (is_grad || below(3) == 0) {
      const int count = 1 + below(2);
      for (int i = 0; i < count; ++i) {
        const int input = below(2) == 0 ? below(leaf_count) : below(values_.size());
        if (!values_[input].requires_grad() || has_scaling_hook_.contains(input) || (!is_grad && input >= leaf_count))
          continue;
        numbers += (numbers.empty() ? "" : ", ") + std::to_string(input);
        inputs.push_back(values_[input]);
      }
      if (inputs.empty()) return;
    }
    record(is_grad ? "grad" : "backward", on, retains, 0, ", \"inputs\": [" + numbers + "]");
    say("begin", 0);
    const Tensor loss = sum(values_[on] * 0.75);
    attempt([&] {
      if (!is_grad) return loss.backward({}, {.retain_graph = retains, .inputs = inputs});
      for (const Tensor& gradient : autograd::grad(loss, inputs, {}, {.retain_graph = retains, .allow_unused = true}))
        say(gradient.defined() ? "result" : "no result", checksum(gradient));
    });
  }

  std::mt19937 random_;
  bool compares_modes_;
  std::string steps_, events_, error_;
  std::vector<Tensor> values_;
  std::vector<int> roots_;                       // the root of each value's memory
  std::vector<char> written_, has_hooked_view_;  // by root
  std::map<int, bool> retains_;
  std::set<int> has_scaling_hook_, is_jitted_;
  std::vector<HookHandle> handles_;
  std::vector<std::shared_ptr<Node>> accumulators_;  // a leaf holds its own only while a graph does
};

void add_program(WrittenRecords& records, unsigned number) {
  records.lines() << "{\"name\": \"program " << number << "\", " << HookProgram(number).run() << "}\n";
}

const compiled_autograd::Options on_eager_executor{.executors = {"eager"}};

int compare_modes(unsigned count, unsigned seed) {
  unsigned agree = 0;
  for (unsigned i = 0; i < count; ++i) {
    HookProgram with_engine(seed * 1000003 + i, true), captured(seed * 1000003 + i, true);
    const std::string expected = with_engine.run();
    const auto scope = compiled_autograd::enable(on_eager_executor);
    const std::string found = captured.run();
    if (found == expected && captured.error() == with_engine.error()) {
      ++agree;
      continue;
    }
    std::printf("program %u differs\n  engine:   %s %s\n  captured: %s %s\n", i, expected.c_str(),
                with_engine.error().c_str(), found.c_str(), captured.error().c_str());
  }
  std::printf("%u programs, %u agree, %lld captures\n", count, agree,
              static_cast<long long>(compiled_autograd::captures()));
  return agree == count ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 4 && std::string_view(arguments[1]) == "--both")
    return compare_modes(static_cast<unsigned>(std::atoi(arguments[2])),
                         static_cast<unsigned>(std::atoi(arguments[3])));
  const bool compiles = count > 1 && std::string_view(arguments[count - 1]) == "--compiled";
  std::optional<compiled_autograd::Scope> scope;
  if (compiles) scope.emplace(on_eager_executor);
  const int status = write_records("dump_hook_programs", "hooks", count - compiles, arguments, add_program);
  if (compiles) std::fprintf(stderr, "%lld captures\n", static_cast<long long>(compiled_autograd::captures()));
  return status;
}
