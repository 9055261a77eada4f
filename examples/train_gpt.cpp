// Teaches a very small GPT one verse, letter by letter, and lets it recite. `fulgurite train` does this for real texts.
#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>
#include <algorithm>
#include <iostream>
#include <string>
namespace fg = fulgurite;

const std::string text =
    "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\n"
    "Could frame thy fearful symmetry?\n";

int main() {
  std::string letters = text;
  std::sort(letters.begin(), letters.end());
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  std::vector<int64_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<int64_t>(letters.find(c)));

  fg::manual_seed(1);
  const int64_t block = 16, windows = static_cast<int64_t>(tokens.size()) - block;
  auto model = fg::models::make_gpt(
      {.vocabulary = static_cast<int64_t>(letters.size()), .layers = 2, .heads = 2, .width = 32, .block = block});
  const auto parameters = fg::nn::parameters(model);
  fg::optim::AdamW optimizer(parameters, {.lr = 1e-2});
  fg::optim::CosineSchedule schedule(optimizer, {.warmup = 10, .steps = 120, .min_lr = 1e-3});

  // Each row of the batch is a window of the verse, and the same window one letter on.
  std::vector<fg::Tensor> inputs, targets;
  for (int64_t i = 0; i < windows; i += 2) {
    inputs.push_back(fg::tensor(std::vector<int64_t>(tokens.begin() + i, tokens.begin() + i + block)));
    targets.push_back(fg::tensor(std::vector<int64_t>(tokens.begin() + i + 1, tokens.begin() + i + 1 + block)));
  }
  const auto loss_of = fg::jit([](fg::models::Gpt model, fg::Tensor x, fg::Tensor y) { return model.loss(x, y); });
  const auto x = fg::stack(inputs), y = fg::stack(targets);
  double last = 0;
  for (int i = 0; i < 120; ++i) {
    const auto loss = loss_of(model, x, y);
    loss.backward();
    fg::optim::clip_grad_norm_(parameters, 1.0);
    optimizer.step();
    optimizer.zero_grad();
    schedule.step();
    last = loss.item<double>();
    if (i % 30 == 0) std::cout << "step " << i << ": loss " << last << "\n";
  }

  const fg::NoGrad no_grad;
  std::vector<int64_t> said(tokens.begin(), tokens.begin() + block);
  while (said.size() < tokens.size()) {
    const int64_t length = std::min<int64_t>(block, static_cast<int64_t>(said.size()));
    const auto window = fg::tensor(std::vector<int64_t>(said.end() - length, said.end()));
    const auto scores = model(window.unsqueeze(0));
    said.push_back(fg::argmax(scores(0, -1)).item<int64_t>());
  }
  for (const int64_t token : said) std::cout << letters[static_cast<size_t>(token)];
  return last < 0.5 ? 0 : 1;
}
