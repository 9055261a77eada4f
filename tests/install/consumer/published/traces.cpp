// Traces, and passes over them.
#include <sstream>

#include "check.h"

void traces() {
  auto x = fg::randn({3, 4}), w = fg::randn({4, 2});
  auto fn = [](Tensor x, Tensor w) { return fg::sum(fg::gelu(fg::matmul(x, w))); };
  fg::Trace t = fg::trace(fn, x, w);
  check(!t.name.empty() && t.args.size() == 2 && !t.bound_symbols.empty());
  std::cout << t << t.cpp() << t.python() << t.cpp({.time = false, .source = false, .strides = true, .depth = 1});
  for (const fg::BoundSymbol& line : t.bound_symbols) {
    std::ostringstream o;
    o << line;
    check(!line.name().empty());
    (void)line.is_fusion();
    (void)line.flat_args();
    (void)line.flat_outs();
    (void)line.kwargs;
    (void)line.subsymbols;
    (void)line.tags;
    (void)line.source.line;
  }
  auto d = fg::eliminate_dead_code(t);
  auto c = fg::eliminate_common_subexpressions(d);
  auto l = fg::delete_last_used(c);
  fg::check_trace(c);
  check(!fg::trace_diff(t, l).empty());
  auto xr = fg::randn({3, 4}).requires_grad_();
  fg::Trace tr = fg::trace(fn, xr, w);
  fg::Trace joint = fg::grad_transform_on_trace(tr);
  fg::ForwardBackwardTraces fb = fg::split_into_forward_and_backward(joint);
  fg::ForwardBackwardTraces fb2 = fg::forward_and_backward_from_trace(tr);
  std::cout << fb.forward << fb2.backward;
  int calls = 0;
  fg::Transform pass = [&](const fg::Trace& in) {
    ++calls;
    return in;
  };
  auto f = fg::jit(fn);
  auto f2 = fg::with_transforms(f, {pass});
  check(fg::allclose(f2(x, w), f(x, w)));
  check(calls == 1);
  const fg::Value& v = t.args[0];
  check(v.is_tensor());
  const fg::TensorProxy proxy = v.tensor();
  check(proxy.shape == (Shape{3, 4}) && proxy.dtype == Dtype::f32 && !proxy.requires_grad && !proxy.name.empty());
  (void)proxy.tags;
  (void)proxy.device;
  fg::SourceLocation here = fg::SourceLocation::here();
  check(here.line == __LINE__ - 1);
}
