// Questions about what ran.

#include "check.h"

void examining() {
  auto f = fg::jit([](Tensor x) { return fg::sum(fg::gelu(x) * 2, {1}); });
  auto x = fg::randn({64, 64}).transpose(0, 1);
  f(x);
  auto lines = fg::examine::get_fusion_symbols(fg::last_traces(f).back());
  check(lines.size() == 1);
  if (lines.empty()) return;
  auto name = lines[0].name();
  auto inputs = fg::examine::fusion_inputs(f, name);
  check(inputs.size() == 1 && inputs[0].strides[0] == 1);
  check(!fg::examine::repro(f, name).empty());
  check(!fg::examine::repro(f, name, fg::examine::ReproOptions{}).empty());
  check(!fg::examine::repro(f, 0, 1).empty());
  fg::Trace t = fg::trace([](Tensor x) { return fg::sin(x) + 1; }, x);
  check(!fg::examine::repro(t, 0, 1).empty());
  auto made = fg::examine::make_inputs(t, {});
  check(made.size() == 1);
  auto out = fg::examine::run_slice(t, 0, 1, made);
  check(out.size() == 1);
  auto out2 = fg::examine::run_slice(t, 0, 1, made, {"eager"});
  check(!fg::examine::kernel_source(f, name).empty());
  fg::examine::MemoryReport m = fg::examine::memory(fg::last_traces(f).back());
  (void)m;
  fg::examine::Report report = fg::examine::profile(f, x);
  (void)report;
  fg::examine::write_html(f, "out.html");
  fg::examine::Supported s = fg::examine::supported([](Tensor x) { return fg::sin(x); }, x);
  (void)s;
}
