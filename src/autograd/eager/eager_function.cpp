#include "autograd/eager/eager_function.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include <fulgurite/error.h>
#include <fulgurite/extend.h>
#include <fulgurite/symbol.h>

#include "autograd/engine/tensor_autograd.h"
#include "executors/gradient_rules.h"
#include "ir/analysis/trace_bytes.h"
#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"
#include "support/context.h"
#include "support/environment.h"
#include "tracing/tracer.h"

namespace fulgurite {

namespace {

// "log_softmax" → "LogSoftmaxBackward0"
std::string node_name_of(std::string_view name) {
  std::string out;
  bool is_start = true;
  for (const char c : name) {
    if (c != '_') out += is_start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_start = c == '_';
  }
  return out + "Backward0";
}

bool is_number_symbol(const Value& value) { return value.is_proxy() && !value.is_tensor(); }

int place_of(const std::vector<Value>& values, const Value& value) {
  const int id = proxy_id(value);
  for (size_t i = 0; i < values.size(); ++i)
    if (id >= 0 && proxy_id(values[i]) == id) return static_cast<int>(i);
  return -1;
}

// The results of the operator in its one-op trace.
std::vector<Value> results_of(const Symbol& symbol, const Trace& trace) {
  for (const BoundSymbol& bound : trace.bound_symbols)
    if (bound.symbol == &symbol) return bound.flat_outs();
  return {};
}

// A joint trace without unneeded gradients. `positions` maps inputs to the call's tensors.
Trace only_needed_gradients(const Trace& joint, uint64_t needed, const std::vector<size_t>& positions) {
  Trace out = joint;
  BoundSymbol& last = out.bound_symbols.back();
  std::vector<std::pair<std::string, Value>> results = last.kwargs;
  for (auto& [name, value] : results) {
    if (name != "output") continue;
    std::vector<Value> gradients = value.list();
    for (size_t i = 0; i < positions.size(); ++i)
      if (positions[i] < 64 && (needed >> positions[i] & 1) == 0) gradients[i] = Value();
    value = Value(std::move(gradients));
  }
  last.kwargs = results;
  return eliminate_dead_code(out);
}

}  // namespace

EagerFunction::EagerFunction(const Symbol& symbol, Arguments arguments, SourceLocation at)
    : symbol_(&symbol),
      node_name_(node_name_of(symbol.name())),
      structure_hash_(call_structure_hash(symbol, arguments)),
      reverses_edges_(symbol.semantics.last_edge_first),
      structure_(call_structure(symbol, arguments)) {
  options_.executors = default_executors();
  if (options_.executors.empty()) options_.executors = {"eager"};
  // An operator's inputs and results are alive anyway, and a call that runs immediately must not run twice.
  options_.skip_transforms = {"recomputation"};
  options_.fuses = false;
  const GradModeScope grad_mode(true);
  Tracer tracer(std::string(symbol.name()));
  const InterpreterScope scope(&tracer);
  std::vector<Tensor> inputs;
  for (const Tensor* tensor : tensors_of(arguments)) {
    inputs.emplace_back();
    if (!tensor->defined()) continue;
    inputs.back() = tracer.add_argument({tensor->shape(), tensor->dtype(), tensor->device()},
                                        tensor->impl()->requires_grad, {}, at);
    input_positions_.push_back(inputs.size() - 1);
    if (tensor->impl()->requires_grad && inputs.size() <= 64) differentiable_ |= uint64_t{1} << (inputs.size() - 1);
  }
  const ReplacedArguments replaced(arguments, inputs.data());
  Results results;
  dispatch(symbol, replaced.arguments(), at, results);
  for (const Tensor& result : results) outputs_.push_back(tracer.value_of(result));
  recorded_ = tracer.finish(Value(outputs_));
  if (!tracer.captures().empty())
    throw InternalError(
        text::cat(symbol.qualified_name(), ": its decomposition uses a tensor that is not an argument"));

  choose_saved(ExecutorRules(resolve_executors(options_.executors)).find(symbol, arguments) != nullptr);
}

void EagerFunction::choose_saved(bool is_rule_an_executors) {
  if (outputs_.size() == 1 || is_rule_an_executors) {
    const uint64_t all = !chooses_outputs() ? ~uint64_t{0} : (~uint64_t{0} >> (64 - outputs_.size()));
    Backward& first = *(backwards_[{all, differentiable_}] = make_backward(all, differentiable_));
    if (first.saves_inside || (is_rule_an_executors && !runs_alone(first))) forward_program_ = &first;
    if (outputs_.size() == 1 || forward_program_) return;
    saves_.clear();
    backwards_.clear();
  }
  // The results that will have a cotangent are not known yet, so everything is saved; the results are mostly views or
  // small.
  for (const size_t position : input_positions_) saves_.push_back({SavedTensor::Origin::input, position});
  for (size_t i = 0; i < outputs_.size(); ++i) saves_.push_back({SavedTensor::Origin::output, i});
}

std::unique_ptr<EagerFunction::Backward> EagerFunction::make_backward(uint64_t outputs_with_cotangent,
                                                                      uint64_t needed) {
  const GradModeScope grad_mode(true);
  const InterpreterScope eager(nullptr);
  Trace trace = recorded_;
  std::vector<size_t> chosen;
  std::vector<Value> results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (chooses_outputs() && !(outputs_with_cotangent >> i & 1)) continue;
    chosen.push_back(i);
    results.push_back(outputs_[i]);
  }
  const bool chosen_all = chosen.size() == outputs_.size();
  trace.bound_symbols.back().args = results;
  auto out = std::make_unique<Backward>();
  PipelineOptions options = options_;
  if (needed != differentiable_)
    options.transforms.emplace_back(
        [&](const Trace& joint) { return only_needed_gradients(joint, needed, input_positions_); });
  out->compiled = compile(trace, true, options);
  if (is_for_pattern_) {
    try {
      out->formula = std::make_unique<EagerFormula>(out->compiled.backward_traces.back());
    } catch (const InternalError&) {
      // Such calls get functions of their own.
    }
  }

  const Trace& forward = out->compiled.forward_traces.back();
  const BoundSymbol& last = forward.bound_symbols.back();
  const std::vector<Value> inputs = input_values(forward);
  const std::vector<Value> outputs = results_of(*symbol_, out->compiled.forward_traces.front());
  const std::vector<Value>& saved = keyword(last, "saved_tensors").list();
  for (const Value& value : saved) {
    SavedTensor::Origin origin = SavedTensor::Origin::input;
    int position = place_of(inputs, value);
    if (position >= 0) {
      position = static_cast<int>(input_positions_[position]);
    } else {
      origin = SavedTensor::Origin::output;
      position = place_of(outputs, value);
    }
    if (position < 0) {
      if (!chosen_all)
        throw InternalError(text::cat(node_name_, " saves a value made inside an operator of several results"));
      out->saves_inside = true;
      break;
    }
    size_t slot = 0;
    while (slot < saves_.size() &&
           !(saves_[slot].origin == origin && saves_[slot].index == static_cast<size_t>(position)))
      ++slot;
    if (slot == saves_.size()) saves_.push_back({origin, static_cast<size_t>(position)});
    out->saved.push_back(static_cast<int>(slot));
  }
  const std::vector<Value> expected = input_values(out->trace());
  for (size_t i = saved.size(); i < expected.size(); ++i)
    if (!is_number_symbol(expected[i])) out->reads.push_back(!expected[i].is_none());
  if (out->reads.size() != chosen.size())
    throw InternalError(
        text::cat(node_name_, " takes ", out->reads.size(), " cotangents for ", chosen.size(), " results"));
  return out;
}

// Returns true if the forward is the operator alone: then its kernel computes all of it.
bool EagerFunction::runs_alone(const Backward& backward) const {
  for (const Trace& stage : backward.compiled.forward_traces)
    if (stage.tags.has(Tag::augmented_forward))
      return stage.bound_symbols.size() == 2 && stage.bound_symbols.front().symbol == symbol_;
  return false;
}

const EagerFunction::Backward& EagerFunction::backward(uint64_t outputs_with_cotangent, uint64_t needed) {
  if (!chooses_outputs()) outputs_with_cotangent = ~uint64_t{0};
  needed &= differentiable_;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Backward>& slot = backwards_[{outputs_with_cotangent, needed}];
  if (!slot) slot = make_backward(outputs_with_cotangent, needed);
  return *slot;
}

int64_t EagerFunction::bytes() const {
  TraceBytes traces;
  traces.add(recorded_);
  for (const auto& [choice, backward] : backwards_)
    for (const std::vector<Trace>* stages : {&backward->compiled.forward_traces, &backward->compiled.backward_traces})
      for (const Trace& trace : *stages) traces.add(trace);
  // Programs are made later, and need about as much memory.
  return 2 * traces.total() + static_cast<int64_t>(sizeof(EagerFunction));
}

namespace {

struct Hash {
  size_t operator()(const CallKey& key) const { return key.hash; }
};

/// Calls that differ only in sizes and scalars.
struct Family {
  int calls = 0;  // without a function
  bool needs_values = false;
  // For patterns; several, because scalars may decide what is computed.
  std::vector<std::shared_ptr<EagerFunction>> functions;
};
constexpr int first_calls = 3;
constexpr size_t max_functions_of_family = 4, max_families_in_shard = 1024;

struct Known {
  std::shared_ptr<EagerFunction> function;
  int64_t bytes = 0;
  uint64_t last_use = 0;
};

}  // namespace

// Sharded to reduce contention.
struct EagerFunctionShard {
  std::mutex mutex;
  std::unordered_map<CallKey, Known, Hash> functions;
  std::unordered_map<CallKey, Family, Hash> families;
  uint64_t uses = 0;
  int64_t bytes = 0;

  std::shared_ptr<EagerFunction> find(const CallKey& key) {
    const auto found = functions.find(key);
    if (found == functions.end()) return nullptr;
    found->second.last_use = ++uses;
    return found->second.function;
  }
  std::shared_ptr<EagerFunction> add(CallKey key, std::shared_ptr<EagerFunction> function);
  void make_room();
};

namespace {

constexpr size_t shard_count = 16;

EagerFunctionShard& shard_of(const CallKey& key) {
  EagerFunctionShard* const shards = &context().eager_functions.get([] { return new EagerFunctionShard[shard_count]; });
  return shards[key.hash >> 32 & (shard_count - 1)];
}

}  // namespace

std::shared_ptr<EagerFunction> EagerFunctionShard::add(CallKey key, std::shared_ptr<EagerFunction> function) {
  static const int64_t max_bytes = cache_bytes() / static_cast<int64_t>(shard_count);
  const int64_t more = function->bytes() + static_cast<int64_t>(sizeof(CallKey) + sizeof(Known));
  const auto [known, is_new] = functions.emplace(std::move(key), Known{std::move(function), more, ++uses});
  std::shared_ptr<EagerFunction> result = known->second.function;
  if (is_new && (bytes += more) > max_bytes) make_room();
  return result;
}

// Evicts the least recently used half.
void EagerFunctionShard::make_room() {
  std::vector<uint64_t> last_uses;
  for (const auto& [key, known] : functions) last_uses.push_back(known.last_use);
  const auto middle = last_uses.begin() + static_cast<std::ptrdiff_t>(last_uses.size() / 2);
  std::nth_element(last_uses.begin(), middle, last_uses.end());
  std::erase_if(functions, [&](const auto& one) {
    const bool is_old = one.second.last_use < *middle;
    if (is_old) bytes -= one.second.bytes;
    return is_old;
  });
}

namespace {

// Returns the family's function that holds for these values, or null; sets `makes_one` if one should be made.
std::shared_ptr<EagerFunction> find_in_family(const CallPattern& pattern, bool& makes_one) {
  EagerFunctionShard& shard = shard_of(pattern.key);
  const std::lock_guard lock(shard.mutex);
  if (shard.families.size() >= max_families_in_shard && !shard.families.contains(pattern.key)) shard.families.clear();
  Family& family = shard.families[pattern.key];
  if (++family.calls <= first_calls) return nullptr;
  for (const auto& function : family.functions)
    if (function->holds({pattern.values.data(), pattern.values.size()})) return function;
  makes_one = !family.needs_values && family.functions.size() < max_functions_of_family;
  return nullptr;
}

void add_to_family(const CallPattern& pattern, std::shared_ptr<EagerFunction> function) {
  EagerFunctionShard& shard = shard_of(pattern.key);
  const std::lock_guard lock(shard.mutex);
  Family& family = shard.families[pattern.key];
  if (!function) family.needs_values = true;
  else family.functions.push_back(std::move(function));
}

}  // namespace

std::shared_ptr<EagerFunction> exact_eager_function(const Symbol& symbol, Arguments arguments, SourceLocation at) {
  CallKey key = call_key(symbol, arguments);
  EagerFunctionShard& shard = shard_of(key);
  {
    const std::lock_guard lock(shard.mutex);
    if (std::shared_ptr<EagerFunction> found = shard.find(key)) return found;
  }
  auto made = std::make_shared<EagerFunction>(symbol, arguments, at);
  const std::lock_guard lock(shard.mutex);
  return shard.add(std::move(key), std::move(made));
}

EagerCall eager_function(const Symbol& symbol, Arguments arguments, SourceLocation at) {
  CallKey key = call_key(symbol, arguments);
  EagerFunctionShard& shard = shard_of(key);
  {
    const std::lock_guard lock(shard.mutex);
    if (std::shared_ptr<EagerFunction> found = shard.find(key)) return {std::move(found), {}};
  }
  CallPattern pattern;
  bool makes_one = false;
  if (find_call_pattern(symbol, arguments, pattern) && !pattern.values.empty())
    if (std::shared_ptr<EagerFunction> found = find_in_family(pattern, makes_one))
      return {std::move(found), std::move(pattern.values)};
  auto made = std::make_shared<EagerFunction>(symbol, arguments, at);
  if (makes_one) add_to_family(pattern, made->for_pattern(pattern));
  const std::lock_guard lock(shard.mutex);
  return {shard.add(std::move(key), std::move(made)), {}};
}

}  // namespace fulgurite
