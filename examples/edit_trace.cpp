// A printed trace, edited, and run instead of the original: forward and backward.
#include <iostream>

#include <fulgurite/edit.h>

namespace fg = fulgurite;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) throw fg::UserError("the trace has no " + from);
  return text.replace(at, from.size(), to);
}

}  // namespace

int main(int count, char** arguments) {
  const auto f =
      fg::jit([](fg::Tensor x, fg::Tensor w) { return fg::sum(fg::tanh(x * w), {1}); }, {.executors = {"eager"}});
  const auto x = fg::ones({2, 3}), w = fg::full({2, 3}, 0.5).requires_grad_();
  fg::sum(f(x, w)).backward();
  std::cout << "tanh: " << f(x, w) << '\n' << w.grad() << '\n';

  const std::string forward = fg::last_traces(f).back().cpp({.time = false, .source = false});
  const std::string backward = fg::last_backward_traces(f).back().cpp({.time = false, .source = false});
  // A folder of headers may be passed; an installed library finds its own.
  const std::vector<std::string> folders(arguments + 1, arguments + count);
  const auto edited =
      fg::examine::with_edited(f, {.forward = replaced(forward, "tanh(t0)", "relu(t0) * 3.0"),
                                   .backward = replaced(backward, "return {Tensor(), ", "return {Tensor(), -2.0 * "),
                                   .include_folders = folders});
  w.set_grad({});
  fg::sum(edited(x, w)).backward();
  std::cout << "edited: " << edited(x, w) << '\n' << w.grad() << '\n';

  try {
    fg::examine::with_edited(f, {.forward = replaced(forward, "tanh(t0)", "tanh(t7)"), .include_folders = folders});
  } catch (const fg::UserError& error) {
    const std::string message = error.what();
    std::cout << (message.find("refuses the edited forward") != std::string::npos &&
                  message.find("t7") != std::string::npos)
              << '\n';
  }
  return 0;
}
