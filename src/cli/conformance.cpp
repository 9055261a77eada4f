#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include <fulgurite/fulgurite.h>
#include <fulgurite/symbol.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "io/json_values.h"

namespace fulgurite::cli {

namespace {

using json::Node;

/// One call of PyTorch's operator tests with what it answers.
struct Case {
  std::string name, operator_name;
  Dtype dtype = Dtype::f32;
  const Node* node = nullptr;
  const TensorMap* tensors = nullptr;
  const Symbol* symbol = nullptr;
  std::vector<std::string> inputs;  // names of the tensors among the arguments, in order
};

// "div.floor_rounding" is a variant of div, "nn.functional.pad.reflect" of nn.functional.pad; "linalg.vector_norm" is
// an operator.
const Symbol* find_operator(std::string name) {
  if (name == "__getitem__") name = "torch.Tensor.__getitem__";
  for (;;) {
    if (const Symbol* symbol = find_symbol(name)) return symbol;
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) return nullptr;
    name.resize(dot);
    if (name == "nn.functional" || name == "linalg" || name == "torch") return nullptr;
  }
}

Value to_value(const Node& node, const std::map<std::string, Tensor>& tensors);

Value value_of_object(const Node& node, const std::map<std::string, Tensor>& tensors) {
  if (node.members.size() != 1) throw UserError("an argument of a case is of an unknown form");
  const std::string& kind = node.members[0].name;
  const Node& content = node.members[0].value;
  if (kind == "tensor") return tensors.at(content.string);
  if (kind == "dtype") return dtype_from_name(content.string);
  if (kind == "tuple") return to_value(content, tensors);
  if (kind == "ellipsis") return Ellipsis;
  if (kind == "float") return content.string == "nan" ? NAN : content.string == "inf" ? INFINITY : -INFINITY;
  if (kind == "slice") {
    const auto end = [&](size_t i) {
      return content.items[i].is(Node::Kind::null) ? std::optional<Int>()
                                                   : std::optional<Int>(content.items[i].integer);
    };
    return Slice(end(0), end(1), end(2));
  }
  throw UserError("an argument of a case is of the unknown form " + kind);
}

Value to_value(const Node& node, const std::map<std::string, Tensor>& tensors) {
  return json::to_value(node, [&tensors](const Node& object) { return value_of_object(object, tensors); });
}

void collect_inputs(const Node& node, std::vector<std::string>& names) {
  if (node.is(Node::Kind::object) && node.members.size() == 1 && node.members[0].name == "tensor")
    names.push_back(node.members[0].value.string);
  for (const Node& item : node.items) collect_inputs(item, names);
  for (const auto& [key, member] : node.members) collect_inputs(member, names);
}

void flatten(const Value& value, std::vector<Tensor>& out) {
  if (value.is_list()) {
    for (const Value& item : value.list()) flatten(item, out);
  } else if (value.is_tensor()) {
    out.push_back(value);
  }
}

// Indexing accepts one list of indices; a lone index counts as a list of one.
std::vector<Value> arguments_of(const Case& c, const std::map<std::string, Tensor>& tensors) {
  std::vector<Value> args;
  for (const Node& arg : c.node->at("args", Node::Kind::array).items) args.push_back(to_value(arg, tensors));
  if (c.operator_name == "__getitem__" && args.size() == 2) {
    const Node& index = c.node->at("args", Node::Kind::array).items[1];
    const bool is_tuple = index.is(Node::Kind::object) && index.members[0].name == "tuple";
    if (!is_tuple) args[1] = Value(std::vector<Value>{args[1]});
  }
  // The cases list the tensor that is differentiated first, which these calls do not.
  const bool swaps =
      c.operator_name == "where" || c.operator_name == "nn.functional.embedding" || c.operator_name == "einsum";
  if (swaps && args.size() >= 2) std::swap(args[0], args[1]);
  return args;
}

std::vector<Tensor> run_call(const Case& c, const std::vector<Tensor>& inputs) {
  std::map<std::string, Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) tensors[c.inputs[i]] = inputs[i];
  std::map<std::string, Value> kwargs;
  for (const auto& [name, node] : c.node->at("kwargs", Node::Kind::object).members)
    kwargs[name] = to_value(node, tensors);
  std::vector<Tensor> results;
  flatten(call(c.symbol->qualified_name(), arguments_of(c, tensors), kwargs), results);
  return results;
}

// "" when close by the rules of the cases' README, else what differs.
std::string compare(const Tensor& ours, const Tensor& reference, const std::string& what) {
  if (!ours.defined()) return what + " is missing";
  if (ours.dtype() != reference.dtype() || !(ours.shape() == reference.shape()))
    return what + " is " + std::string(name(ours.dtype())) + ours.shape().text() + ", expected " +
           std::string(name(reference.dtype())) + reference.shape().text();
  const std::vector<double> a = ours.detach().to(Dtype::f64).contiguous().to_vector<double>();
  const std::vector<double> b = reference.to(Dtype::f64).contiguous().to_vector<double>();
  double largest = 1;
  for (const double value : b)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  const bool exact = !is_floating(reference.dtype());
  const bool low = reference.dtype() == Dtype::bf16 || reference.dtype() == Dtype::f16;
  const double relative = exact ? 0 : low ? 1.6e-2 : 1e-5;
  const double absolute = exact ? 0 : low ? 1e-2 : 1e-6;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::fabs(a[i] - b[i]) <= absolute * largest + relative * std::fabs(b[i])) continue;
    char text[160];
    std::snprintf(text, sizeof text, " element %zu is %.9g, expected %.9g", i, a[i], b[i]);
    return what + text;
  }
  return "";
}

using Runner = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

std::string check_run(const Case& c, const Runner& run, const std::string& how) {
  const Node* gradients = c.node->find("grads");
  std::vector<Tensor> inputs, wanted;
  std::vector<std::string> wanted_names;
  for (const std::string& name : c.inputs) {
    Tensor input = c.tensors->at(name).clone();
    if (gradients && gradients->find(name)) {
      input.requires_grad_();
      if (std::find(wanted_names.begin(), wanted_names.end(), name) == wanted_names.end()) {
        wanted.push_back(input);
        wanted_names.push_back(name);
      } else {
        input = wanted[static_cast<size_t>(std::find(wanted_names.begin(), wanted_names.end(), name) -
                                           wanted_names.begin())];
      }
    }
    inputs.push_back(input);
  }
  const std::vector<Tensor> results = run(inputs);
  const Node& expected = c.node->at("outs", Node::Kind::array);
  if (results.size() != expected.items.size())
    return how + ": " + std::to_string(results.size()) + " results, expected " + std::to_string(expected.items.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string problem =
        compare(results[i], c.tensors->at(expected.items[i].string), "result " + std::to_string(i));
    if (!problem.empty()) return how + ": " + problem;
  }
  if (wanted.empty()) return "";
  std::vector<Tensor> outputs, cotangents;
  for (const auto& [index, name] : c.node->at("cots", Node::Kind::object).members) {
    outputs.push_back(results[static_cast<size_t>(std::stoul(index))]);
    cotangents.push_back(c.tensors->at(name.string));
  }
  const std::vector<Tensor> grads =
      autograd::grad(outputs, wanted, cotangents, {.allow_unused = true, .materialize_grads = true});
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Tensor& reference = c.tensors->at(gradients->find(wanted_names[i])->string);
    const std::string problem = compare(grads[i], reference, "gradient of " + wanted_names[i]);
    if (!problem.empty()) return how + ": " + problem;
  }
  return "";
}

// "" when the case passes in every way of running it.
std::string check(Case& c, const std::vector<std::string>& executors, Cache cache) {
  const Runner eager = [&](const std::vector<Tensor>& inputs) { return run_call(c, inputs); };
  const auto jitted = [&](std::vector<std::string> names) -> Runner {
    return jit([&c](std::vector<Tensor> inputs) { return run_call(c, inputs); },
               JitOptions{.cache = cache, .executors = std::move(names)});
  };
  std::string problem = check_run(c, eager, "eager");
  if (problem.empty()) problem = check_run(c, jitted(executors), "jit");
  if (problem.empty()) problem = check_run(c, jitted({"eager"}), "jit with eager");
  return problem;
}

struct Counts {
  int64_t passed = 0, failed = 0;
  std::map<std::string, int64_t> skipped;  // by reason
};

void run_file(const std::string& path, const std::string& only, const std::vector<std::string>& executors, Cache cache,
              bool as_json, Counts& counts) {
  const Metadata metadata = load_safetensors_metadata(path);
  for (const char* key : {"op", "dtype", "cases"})
    if (!metadata.contains(key)) throw UserError(path + " has no \"" + key + "\" in its metadata");
  const std::string operator_name = metadata.at("op");
  if (!only.empty() && operator_name != only && !operator_name.starts_with(only + ".")) return;
  const Node cases = json::parse(metadata.at("cases"));
  const Symbol* symbol = find_operator(operator_name);
  if (!symbol) {
    counts.skipped["operator " + operator_name] += static_cast<int64_t>(cases.items.size());
    return;
  }
  const TensorMap tensors = load_safetensors(path);
  for (const Node& node : cases.items) {
    Case c{node.at("name", Node::Kind::string).string,
           operator_name,
           dtype_from_name(metadata.at("dtype")),
           &node,
           &tensors,
           symbol,
           {}};
    collect_inputs(node.at("args", Node::Kind::array), c.inputs);
    collect_inputs(node.at("kwargs", Node::Kind::object), c.inputs);
    std::string problem;
    try {
      problem = check(c, executors, cache);
    } catch (const UserError& error) {
      const std::string message = error.what();
      // A form of the arguments that does not exist yet.
      if (message.find("not supported") != std::string::npos || message.find("has no argument") != std::string::npos) {
        ++counts.skipped[operator_name + ": " + message.substr(0, message.find('\n'))];
        continue;
      }
      problem = message;
    } catch (const std::exception& error) {
      problem = error.what();
    }
    ++(problem.empty() ? counts.passed : counts.failed);
    if (as_json)
      std::printf("{\"case\": %s, \"passed\": %s, \"problem\": %s}\n", json::quote(c.name).c_str(),
                  problem.empty() ? "true" : "false", json::quote(problem).c_str());
    else if (!problem.empty()) std::printf("FAILED %s: %s\n", c.name.c_str(), problem.c_str());
  }
}

}  // namespace

int conformance(const std::vector<std::string>& arguments) {
  std::string folder, executor, cache, only;
  bool as_json = false;
  Flags flags("fulgurite conformance FOLDER [--executor NAME] [--cache symbolic] [--only OP] [--json]");
  flags.positional("FOLDER", folder, "a folder of case files");
  flags.text("executor", "NAME", executor, "the executor of the jitted run, before eager");
  flags.choice("cache", cache, {"constant", "symbolic"}, "how jitted functions are cached");
  flags.text("only", "OP", only, "this operator only");
  flags.toggle("json", as_json, "one JSON object for each case");
  if (!flags.parse(arguments)) return 0;
  if (folder.empty()) throw WrongUse("a folder of cases is missing; see --help");
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) throw UserError("there is no folder " + folder);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  if (files.empty()) throw UserError("there are no .safetensors files in " + folder);
  std::sort(files.begin(), files.end());
  Counts counts;
  for (const std::string& file : files)
    run_file(file, only, executor.empty() ? std::vector<std::string>{} : std::vector<std::string>{executor},
             cache == "symbolic" ? Cache::symbolic_values : Cache::constant_values, as_json, counts);
  int64_t skipped = 0;
  for (const auto& [reason, count] : counts.skipped) {
    if (!as_json) std::printf("skipped %lld: %s\n", static_cast<long long>(count), reason.c_str());
    skipped += count;
  }
  std::printf("%lld passed, %lld failed, %lld skipped\n", static_cast<long long>(counts.passed),
              static_cast<long long>(counts.failed), static_cast<long long>(skipped));
  return counts.failed == 0 ? 0 : 1;
}

}  // namespace fulgurite::cli
