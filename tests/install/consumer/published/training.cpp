// Models, optimizers and files.
#include <functional>

#include "check.h"

namespace {

struct Model {
  fg::nn::Linear linear{10, 10};
  Tensor operator()(Tensor x) const { return linear(x); }
};

}  // namespace

void training() {
  Model model;
  auto f = fg::jit(std::ref(model));
  check(fg::nn::named_parameters(model).size() == 2 && fg::nn::parameters(model).size() == 2);
  fg::nn::train(model);
  fg::nn::eval(model);
  auto state = fg::nn::state_dict(model);
  check(state.count("linear.weight") == 1);
  fg::nn::load_state_dict(model, state);
  fg::optim::AdamW opt(fg::nn::parameters(model), {.lr = 1e-3, .betas = {0.9, 0.99}, .weight_decay = 0.1});
  fg::optim::SGD sgd(fg::nn::parameters(model), {.lr = 1e-3});
  fg::optim::Adam adam(fg::nn::parameters(model), {.lr = 1e-3});
  fg::optim::CosineSchedule schedule(opt, {.warmup = 2, .steps = 10, .min_lr = 1e-4});
  auto step = fg::jit([&](Tensor x) {
    opt.zero_grad();
    auto loss = fg::mean(fg::square(model(x)));
    loss.backward();
    fg::optim::clip_grad_norm_(fg::nn::parameters(model), 1.0);
    opt.step();
    return loss;
  });
  double first = 0, last = 0;
  auto x = fg::randn({16, 10});
  for (int i = 0; i < 20; ++i) {
    last = step(x).item<double>();
    if (i == 0) first = last;
    schedule.step();
  }
  check(last < first);
  opt.zero_grad();
  fg::mean(model(x)).backward();
  opt.step();
  fg::save_safetensors("m.safetensors", state, {{"who", "me"}});
  auto back = fg::load_safetensors("m.safetensors");
  check(back.size() == 2);
  fg::nn::to(model, Dtype::bf16);
  check(model.linear.weight.dtype() == Dtype::bf16);
}
