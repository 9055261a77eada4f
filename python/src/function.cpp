// Jitted functions whose body is a Python callable.
#include "function.h"

#include "views.h"

namespace fulgurite_python {

std::shared_ptr<PyObject> shared(nb::object object) {
  return {object.release().ptr(), [](PyObject* o) {
            if (!Py_IsInitialized()) return;
            const nb::gil_scoped_acquire gil;
            Py_DECREF(o);
          }};
}

namespace {

/// `body` gives the callable, with the interpreter's lock.
fg::ValueFunction value_function(std::function<nb::object()> body, std::vector<std::string> argument_names,
                                 std::vector<std::string> member_names) {
  return {.body =
              [body = std::move(body)](std::span<const Value> arguments, std::span<const Tensor> members) {
                const nb::gil_scoped_acquire gil;
                nb::list given, own;
                for (const Value& value : arguments) given.append(from_value(value));
                for (const Tensor& member : members) own.append(nb::cast(member));
                const nb::object results = body()(given, own);
                std::vector<Value> out;
                for (nb::handle result : results) out.push_back(to_value(result));
                return out;
              },
          .argument_names = std::move(argument_names),
          .member_names = std::move(member_names)};
}

fg::ValueFunction function_of(nb::object body) {
  const auto kept = shared(std::move(body));
  return value_function([kept] { return nb::borrow(kept.get()); }, {}, {});
}

std::function<nb::object()> callable_of(const std::shared_ptr<Body>& body) {
  return [body] {
    if (!body->object) throw nb::value_error("the compiled function is gone");
    return nb::borrow(body->object);
  };
}

fg::Cache cache_named(const std::string& name) {
  if (name == "constant values") return fg::Cache::constant_values;
  if (name == "symbolic values") return fg::Cache::symbolic_values;
  if (name == "same input") return fg::Cache::same_input;
  if (name == "no caching") return fg::Cache::no_caching;
  throw nb::value_error(
      ("cache '" + name + "': there are 'constant values', 'symbolic values', 'same input' and 'no caching'").c_str());
}

nb::object export_result(const Value& value, const Arguments& given) {
  if (!value.is_tensor()) return from_value(value);
  nb::object same = given.object_of(Tensor(value));
  return same.is_valid() ? same : export_tensor(Tensor(value));
}

// A saved result or argument is that very object, and a view of one is a view of that object: PyTorch sees writes into
// it before the backward reads it.
nb::object export_saved(const Tensor& tensor, const std::vector<Value>& values, const nb::list& results,
                        const Arguments& given) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].is_tensor() && fg::is_same_view(tensor, Tensor(values[i]))) return nb::borrow(results[i]);
  if (nb::object same = given.object_of(tensor); same.is_valid()) return same;
  if (const auto base = given.base_of(tensor)) return as_view(given.object(*base), given.tensor(*base), tensor);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].is_tensor() && is_view_of(tensor, Tensor(values[i])))
      return as_view(results[i], Tensor(values[i]), tensor);
  return export_tensor(tensor);
}

void make_function(Function* self, nb::object body, std::vector<std::string> argument_names,
                   std::vector<std::string> member_names, const std::string& cache, std::vector<std::string> executors,
                   std::optional<fg::Dtype> autocast, bool fullgraph, bool associate_forward,
                   std::optional<int64_t> memory_budget, nb::object at) {
  fg::JitOptions options;
  options.cache = cache_named(cache);
  options.executors = std::move(executors);
  options.autocast = autocast;
  options.fullgraph = fullgraph;
  options.memory_budget = memory_budget;
  options.debug.associate_forward = associate_forward;
  new (self) Function(std::move(body), std::move(argument_names), std::move(member_names), std::move(options),
                      location_of(at));
}

nb::dict stats_of(const Function& f) {
  const fg::CompileStats s = fg::compile_stats(f.jitted());
  nb::dict out;
  out["calls"] = s.calls;
  out["hits"] = s.hits;
  out["misses"] = s.misses;
  out["tracing_ms"] = s.tracing;
  out["transforms_ms"] = s.transforms;
  out["planning_ms"] = s.planning;
  out["total_ms"] = s.total;
  out["last_call_us"] = s.last_call;
  out["mean_call_us"] = s.mean_call;
  return out;
}

Function with_transforms(const Function& f, std::vector<nb::object> transforms) {
  std::vector<fg::Transform> all;
  for (nb::object& transform : transforms) {
    const auto kept = shared(std::move(transform));
    all.push_back([kept](const fg::Trace& trace) {
      const nb::gil_scoped_acquire gil;
      return nb::cast<fg::Trace>(nb::handle(kept.get())(nb::cast(trace)));
    });
  }
  return {fg::with_transforms(f.jitted(), std::move(all), python_line()), f};
}

struct Pullback {
  fg::ValuePullback kept;
};

nb::tuple vjp(nb::object body, nb::handle arguments, const std::vector<int>& with_respect_to) {
  std::vector<Value> given;
  for (nb::handle argument : arguments) given.push_back(to_value(argument));
  Pullback out{fg::vjp_values(function_of(std::move(body)), given, with_respect_to, python_line())};
  nb::list results;
  for (const Value& result : out.kept.results) results.append(from_value(result));
  return nb::make_tuple(nb::tuple(results), std::move(out));
}

fg::Trace record(nb::object body, nb::handle arguments, nb::handle members) {
  const Arguments given(arguments, members);
  return fg::record_values(function_of(std::move(body)), given.values(), given.members(), python_line());
}

nb::list pull(const Pullback& pullback, nb::handle cotangents) {
  std::vector<Tensor> given;
  for (nb::handle cotangent : cotangents) given.push_back(import_tensor(cotangent));
  nb::list out;
  for (const Tensor& gradient : pullback.kept.pull(given)) out.append(nb::cast(gradient));
  return out;
}

/// The tensors that a function returns, whose operators are recomputed when backward needs their values.
std::vector<Tensor> recomputed(const nb::callable& body) {
  return fg::detail::recomputed([&] { return nb::cast<std::vector<Tensor>>(body()); });
}

using Stages = std::vector<fg::Trace> (*)(const fg::Jitted&);
template <Stages stages>
std::vector<fg::Trace> stages_of(const Function& f) {
  return stages(f.jitted());
}

}  // namespace

Function::Function(nb::object body, std::vector<std::string> argument_names, std::vector<std::string> member_names,
                   fg::JitOptions options, SourceLocation at)
    : object_(std::move(body)),
      body_(std::make_shared<Body>(Body{object_.ptr(), 1})),
      f_(fg::jit_values(value_function(callable_of(body_), std::move(argument_names), std::move(member_names)),
                        std::move(options), at)) {}

Function::Function(fg::JittedValues f, const Function& other)
    : object_(other.object_), body_(other.body_), f_(std::move(f)) {
  ++body_->owners;
}

void Function::clear() {
  if (!object_.is_valid()) return;
  if (--body_->owners == 0) body_->object = nullptr;
  object_.reset();
}

nb::tuple Function::call(nb::handle arguments, nb::handle members, nb::handle at) const {
  const Arguments given(arguments, members);
  const SourceLocation where = location_of(at);
  std::vector<Value> results;
  if (fg::detail::is_tracing()) {
    results = f_(given.values(), given.members(), where);
  } else {
    const nb::gil_scoped_release released;
    results = f_(given.values(), given.members(), where);
  }
  nb::list out;
  for (const Value& result : results) out.append(from_value(result));
  return nb::tuple(out);
}

nb::list Function::run(const Arguments& given) const {
  std::vector<Value> results;
  {
    const nb::gil_scoped_release released;
    results = f_(given.values(), given.members(), {"", 0});
  }
  nb::list out;
  for (const Value& result : results) out.append(export_result(result, given));
  for (const ViewResult& view : views_among(results, given)) {
    const Tensor result(results[view.result]);
    const size_t base = view.base - given.tensor_count();
    if (view.base < given.tensor_count())
      out[view.result] = as_view(given.object(view.base), given.tensor(view.base), result);
    else out[view.result] = as_view(out[base], Tensor(results[base]), result);
  }
  return out;
}

nb::tuple Function::run_objects(nb::handle arguments, nb::handle members) const {
  const Arguments given(arguments, members);
  nb::list results = run(given);
  return nb::make_tuple(results, given.written());
}

nb::tuple Function::forward(nb::handle arguments, nb::handle members, nb::bytes needs) const {
  const Arguments given(arguments, members);
  std::vector<bool> needs_gradient;
  for (size_t i = 0; i < needs.size(); ++i) needs_gradient.push_back(needs.c_str()[i] != 0);
  fg::ForwardCall call;
  {
    const nb::gil_scoped_release released;
    call = f_.call_with_saved(given.values(), given.members(), needs_gradient, {"", 0});
  }
  nb::list results, saved, carries, later;
  for (size_t i = 0; i < call.results.size(); ++i) {
    results.append(export_result(call.results[i], given));
    carries.append(static_cast<bool>(call.carries_gradient[i]));
  }
  for (const Tensor& tensor : call.saved) saved.append(export_saved(tensor, call.results, results, given));
  for (const char is_later : call.for_derivatives) later.append(static_cast<bool>(is_later));
  nb::list views;
  for (const ViewResult& view : views_among(call.results, given, call.carries_gradient, needs_gradient))
    views.append(nb::make_tuple(view.result, view.base));
  return nb::make_tuple(results, saved, later, export_backward(call.backward), carries, given.written(), views);
}

const fg::Jitted& jitted_of(nb::handle object) { return nb::cast<Function&>(object).jitted(); }

void bind_functions(nb::module_& m) {
  nb::class_<Pullback>(m, "Pullback", "The way back from a function's results.")
      .def("__call__", &pull, nb::arg("cotangents"));
  m.def("record", &record, nb::arg("body"), nb::arg("arguments"), nb::arg("members") = nb::tuple());
  m.def("recomputed", &recomputed, nb::arg("body"));
  m.def("vjp", &vjp, nb::arg("body"), nb::arg("arguments"), nb::arg("with_respect_to"));
  nb::class_<Function>(m, "Function", nb::type_slots(collected_slots<Function>()),
                       "A compiled function over flat lists of values.")
      .def("__init__", &make_function, nb::arg("body"), nb::arg("argument_names") = std::vector<std::string>(),
           nb::arg("member_names") = std::vector<std::string>(), nb::arg("cache") = "constant values",
           nb::arg("executors") = std::vector<std::string>(), nb::arg("autocast") = nb::none(),
           nb::arg("fullgraph") = false, nb::arg("associate_forward") = false, nb::arg("memory_budget") = nb::none(),
           nb::arg("at") = nb::none())
      .def("call", &Function::call, nb::arg("arguments"), nb::arg("members") = nb::tuple(), nb::arg("at") = nb::none())
      .def("run", &Function::run_objects, nb::arg("arguments"), nb::arg("members"))
      .def("forward", &Function::forward, nb::arg("arguments"), nb::arg("members"), nb::arg("needs_gradient"))
      .def("with_transforms", &with_transforms, nb::arg("transforms"))
      .def("last_traces", &stages_of<&fg::last_traces>)
      .def("last_backward_traces", &stages_of<&fg::last_backward_traces>)
      .def("last_prologue_traces", &stages_of<&fg::last_prologue_traces>)
      .def("explain", [](const Function& f) { return fg::explain(f.jitted()); })
      .def("cache_hits", [](const Function& f) { return fg::cache_hits(f.jitted()); })
      .def("cache_misses", [](const Function& f) { return fg::cache_misses(f.jitted()); })
      .def("draws", [](const Function& f) { return fg::draws(f.jitted()); })
      .def("stats", &stats_of);
}

}  // namespace fulgurite_python
