#include <fulgurite/jit_values.h>

#include <fulgurite/compiled_autograd.h>
#include <fulgurite/error.h>

#include "jit/values/value_call.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

using namespace detail;

void read_value(FlatArguments& flat, const Value& value, SourceLocation at) {
  switch (value.kind()) {
    case Value::Kind::none: return read_structure(flat, std::string_view("none"));
    case Value::Kind::tensor: return read_leaf(flat, value.tensor().concrete);
    case Value::Kind::integer: return read_leaf(flat, value.integer());
    case Value::Kind::floating: return read_leaf(flat, value.floating());
    case Value::Kind::boolean: return read_leaf(flat, static_cast<bool>(value.boolean()));
    case Value::Kind::string: return read_leaf(flat, std::string_view(value.string()));
    case Value::Kind::device: return read_leaf(flat, value.device());
    case Value::Kind::dtype: return read_structure(flat, name(value.dtype()));
    case Value::Kind::list:
      read_structure(flat, value.list().size());
      for (const Value& item : value.list()) read_value(flat, item, at);
      return;
    default:
      throw UserError("jit_values: arguments are tensors, numbers, strings, dtypes, devices, none, and lists of these",
                      at);
  }
}

void add_path(std::vector<LeafPath>& paths, int argument, const Value& value, const std::string& name) {
  switch (value.kind()) {
    case Value::Kind::none:
    case Value::Kind::dtype: return;
    case Value::Kind::list:
      for (size_t i = 0; i < value.list().size(); ++i)
        add_path(paths, argument, value.list()[i], text::cat(name, ".", i));
      return;
    default: paths.push_back({argument, true, value.is_tensor(), name, value.is_int(), value.is_float()});
  }
}

std::string name_of(const std::vector<std::string>& names, size_t i) {
  return i < names.size() ? names[i] : std::to_string(i);
}

const ValueFunction& function_of(const void* callable) { return *static_cast<const ValueFunction*>(callable); }
const ValueCall& call_of(const void* const* arguments) { return *static_cast<const ValueCall*>(arguments[0]); }

void read(const void*, const void* const* arguments, FlatArguments& flat) {
  const ValueCall& call = call_of(arguments);
  read_structure(flat, call.arguments.size());
  for (const Value& value : call.arguments) read_value(flat, value, call.at);
  begin_members(flat);
  read_structure(flat, call.members.size());
  for (const Tensor& member : call.members) read_leaf(flat, member);
}

void paths(const void* callable, const void* const* arguments, std::vector<LeafPath>& out) {
  const ValueCall& call = call_of(arguments);
  const ValueFunction& function = function_of(callable);
  for (size_t i = 0; i < call.arguments.size(); ++i)
    add_path(out, static_cast<int>(i), call.arguments[i], name_of(function.argument_names, i));
  for (size_t i = 0; i < call.members.size(); ++i)
    out.push_back({LeafPath::callable_member, true, true, name_of(function.member_names, i)});
}

/// Replaces tensors and numbers by those of a replay, in order.
class Replacement {
 public:
  explicit Replacement(const Replay& replay)
      : tensors_(replay.arguments), integers_(replay.integers), floats_(replay.floats) {}
  Value of(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::tensor: return Value(*tensors_++);
      case Value::Kind::integer: return integers_ ? Value(*integers_++) : value;
      case Value::Kind::floating: return floats_ ? Value(*floats_++) : value;
      case Value::Kind::list: {
        std::vector<Value> items;
        for (const Value& item : value.list()) items.push_back(of(item));
        return Value(std::move(items));
      }
      default: return value;
    }
  }

 private:
  const Tensor* tensors_;
  const Int* integers_;
  const Float* floats_;
};

/// Takes the tensors and numbers out of a result, in the order in which put_back() has them; an ellipsis stays where a
/// tensor was.
Value take_out(const Value& value, Replay& replay) {
  if (value.is_tensor()) {
    replay.results.push_back(Tensor(value));
    return Value(Ellipsis);
  }
  if (value.is_ellipsis() || value.is_slice()) throw UserError("jit_values: a slice cannot be a result", replay.at);
  if (value.is_int()) replay.result_integers.push_back(value.integer());
  if (value.is_float()) replay.result_floats.push_back(value.floating());
  if (value.is_bool()) return Value(static_cast<bool>(value.boolean()));
  if (!value.is_list()) return value;
  std::vector<Value> items;
  for (const Value& item : value.list()) items.push_back(take_out(item, replay));
  return Value(std::move(items));
}

std::shared_ptr<void> run(void* callable, const void* const* arguments, Replay& replay) {
  const ValueCall& call = call_of(arguments);
  Replacement replacement(replay);
  std::vector<Value> given;
  for (const Value& value : call.arguments) given.push_back(replacement.of(value));
  const std::vector<Value> results = function_of(callable).body(given, call.members);
  auto rest = std::make_shared<std::vector<Value>>();
  for (const Value& result : results) rest->push_back(take_out(result, replay));
  return rest;
}

constexpr CallableTable table{&read, &paths, &run};

class Assembly {
 public:
  explicit Assembly(const CallResult& result)
      : tensors_(result.tensors.data()), integers_(result.integers), floats_(result.floats) {}
  Value of(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::ellipsis: return Value(*tensors_++);
      case Value::Kind::integer: return integers_ ? Value(*integers_++) : value;
      case Value::Kind::floating: return floats_ ? Value(*floats_++) : value;
      case Value::Kind::list: {
        std::vector<Value> items;
        for (const Value& item : value.list()) items.push_back(of(item));
        return Value(std::move(items));
      }
      default: return value;
    }
  }

 private:
  const Tensor* tensors_;
  const Int* integers_;
  const Float* floats_;
};

}  // namespace

namespace detail {

std::vector<Value> call_values(const JittedValues& f, const ValueCall& call) {
  const void* const addresses[] = {&call, nullptr};
  CallResult result;
  detail::call(*f.state(), table, addresses, call.at, result);
  return assemble_values(result);
}

const CallableTable& value_table() { return table; }

std::vector<Value> assemble_values(const CallResult& result) {
  Assembly assembly(result);
  std::vector<Value> out;
  for (const Value& value : *static_cast<const std::vector<Value>*>(result.rest.get()))
    out.push_back(assembly.of(value));
  return out;
}

}  // namespace detail

std::vector<Value> JittedValues::operator()(std::span<const Value> arguments, std::span<const Tensor> members,
                                            SourceLocation at) const {
  if (is_tracing())
    return function_of(callable_of(*state_)).body(arguments, members);  // becomes part of the recording in progress
  return call_values(*this, {arguments, members, at});
}

JittedValues jit_values(ValueFunction function, JitOptions options, SourceLocation at) {
  if (!function.body) throw UserError("jit_values: the function has no body", at);
  return JittedValues(make_jit_state(std::make_shared<ValueFunction>(std::move(function)), std::move(options),
                                     compiled_autograd::detail::open_scope, at));
}

}  // namespace fulgurite
