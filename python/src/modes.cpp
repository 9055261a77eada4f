// The state of the thread and of the process.
#include "bridge.h"

namespace fulgurite_python {

namespace {

/// A C++ scope that a with statement enters and leaves.
template <class Scope>
class Manager {
 public:
  explicit Manager(std::function<std::unique_ptr<Scope>()> make) : make_(std::move(make)) {}
  Manager(Manager&&) noexcept = default;
  Manager& operator=(Manager&&) noexcept = default;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  void enter() { scopes_.push_back(make_()); }
  void leave() {
    if (!scopes_.empty()) scopes_.pop_back();
  }

 private:
  std::function<std::unique_ptr<Scope>()> make_;
  std::vector<std::unique_ptr<Scope>> scopes_;
};

template <class Scope>
void bind_manager(nb::module_& m, const char* name) {
  nb::class_<Manager<Scope>>(m, name)
      .def(
          "__enter__",
          [](Manager<Scope>& manager) -> Manager<Scope>& {
            manager.enter();
            return manager;
          },
          nb::rv_policy::reference)
      .def(
          "__exit__", [](Manager<Scope>& manager, nb::handle, nb::handle, nb::handle) { manager.leave(); },
          nb::arg().none(), nb::arg().none(), nb::arg().none());
}

}  // namespace

void follow_default_dtype(fg::Dtype dtype) {
  if (fg::default_dtype() != dtype) fg::set_default_dtype(dtype, python_line());
}

void bind_modes(nb::module_& m) {
  bind_manager<fg::NoGrad>(m, "NoGradScope");
  bind_manager<fg::EnableGrad>(m, "EnableGradScope");
  bind_manager<fg::AutocastScope>(m, "AutocastScope");
  bind_manager<fg::compiled_autograd::Scope>(m, "CompiledAutogradScope");
  m.def("is_grad_enabled", [] { return fg::is_grad_enabled(); });
  m.def("no_grad", [] { return Manager<fg::NoGrad>([] { return std::make_unique<fg::NoGrad>(); }); });
  m.def("enable_grad", [] { return Manager<fg::EnableGrad>([] { return std::make_unique<fg::EnableGrad>(); }); });
  m.def(
      "autocast",
      [](std::optional<fg::Dtype> dtype) {
        return Manager<fg::AutocastScope>(
            [dtype] { return std::unique_ptr<fg::AutocastScope>(new fg::AutocastScope(dtype)); });
      },
      nb::arg("dtype").none());
  m.def(
      "compiled_autograd",
      [](bool fullgraph, bool dynamic) {
        return Manager<fg::compiled_autograd::Scope>([=] {
          return std::make_unique<fg::compiled_autograd::Scope>(
              fg::compiled_autograd::Options{.fullgraph = fullgraph, .dynamic = dynamic});
        });
      },
      nb::arg("fullgraph") = false, nb::arg("dynamic") = true);
  m.def("autocast_dtype", &fg::autocast_dtype);
  m.def("is_tracing", &fg::detail::is_tracing);
  m.def("graph_break", [] { fg::graph_break(python_line()); });
  m.def(
      "manual_seed", [](uint64_t seed) { fg::manual_seed(seed, python_line()); }, nb::arg("seed"));
  m.def("random_state", [] {
    const fg::RandomState state = fg::random_state();
    return nb::make_tuple(state.seed, state.offset);
  });
  m.def(
      "set_random_state",
      [](uint64_t seed, uint64_t offset) {
        fg::set_random_state({seed, offset}, python_line());
      },
      nb::arg("seed"), nb::arg("offset"));
  m.def(
      "set_num_threads", [](int count) { fg::set_num_threads(count, python_line()); }, nb::arg("count"));
  m.def("num_threads", &fg::num_threads);
  m.def("follow_default_dtype", &follow_default_dtype, nb::arg("dtype"));
  m.def("all_executors", &fg::all_executors);
  m.def("default_executors", &fg::default_executors);
}

}  // namespace fulgurite_python
