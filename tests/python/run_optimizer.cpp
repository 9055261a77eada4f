// Runs optimizers with schedules for compare_optimizers.py: run_optimizer FILE, which has f64 tensors start, target and
// weight [2, 3]. Each line of stdin is "OPTIMIZER key=value … [/ SCHEDULE key=value …]"; the answer is three lines, of
// steps one by one, of such with a save in the middle, and of a jitted step: the parameter, its exponential moving and
// its plain average, and the learning rate.
#include <charconv>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include <fulgurite/fulgurite.h>

using namespace fulgurite;

namespace {

constexpr int step_count = 200, saved_at = 90;

/// The words of a line.
struct Words {
  std::string name;
  std::map<std::string, std::string> given;
  bool has(const std::string& key) const { return given.contains(key); }
  std::string text(const std::string& key, const std::string& other) const { return has(key) ? given.at(key) : other; }
  double number(const std::string& key, double other) const { return has(key) ? std::stod(given.at(key)) : other; }
  int64_t whole(const std::string& key, int64_t other) const { return has(key) ? std::stoll(given.at(key)) : other; }
  bool flag(const std::string& key) const { return whole(key, 0) != 0; }
  std::pair<double, double> pair(const std::string& key, std::pair<double, double> other) const {
    return {number(key + "1", other.first), number(key + "2", other.second)};
  }
};

Words words_of(std::istringstream& line) {
  Words out;
  line >> out.name;
  for (std::string word; line >> word && word != "/";) {
    const size_t place = word.find('=');
    out.given[word.substr(0, place)] = word.substr(place + 1);
  }
  return out;
}

using Made = std::unique_ptr<optim::Optimizer>;
using Parameters = std::vector<Tensor>;

template <class Optimizer, class Options>
Made make(const Tensor& x, const Options& options) {
  return std::make_unique<Optimizer>(Parameters{x}, options);
}

template <class Options>
Options common(const Words& w) {
  Options o;
  o.lr = w.number("lr", o.lr);
  if constexpr (requires { o.weight_decay; }) o.weight_decay = w.number("weight_decay", o.weight_decay);
  if constexpr (requires { o.maximize; }) o.maximize = w.flag("maximize");
  if constexpr (requires { o.betas; }) o.betas = w.pair("betas", o.betas);
  if constexpr (requires { o.amsgrad; }) o.amsgrad = w.flag("amsgrad");
  if constexpr (requires { o.momentum; }) o.momentum = w.number("momentum", o.momentum);
  if constexpr (requires { o.nesterov; }) o.nesterov = w.whole("nesterov", o.nesterov) != 0;
  if constexpr (requires { o.dampening; }) o.dampening = w.number("dampening", o.dampening);
  if constexpr (requires { o.decoupled_weight_decay; }) o.decoupled_weight_decay = w.flag("decoupled_weight_decay");
  if constexpr (requires { o.centered; }) o.centered = w.flag("centered");
  if constexpr (requires { o.alpha; }) o.alpha = w.number("alpha", o.alpha);
  if constexpr (requires { o.lr_decay; }) o.lr_decay = w.number("lr_decay", o.lr_decay);
  if constexpr (requires { o.initial_accumulator_value; })
    o.initial_accumulator_value = w.number("initial_accumulator_value", o.initial_accumulator_value);
  if constexpr (requires { o.rho; }) o.rho = w.number("rho", o.rho);
  if constexpr (requires { o.momentum_decay; }) o.momentum_decay = w.number("momentum_decay", o.momentum_decay);
  if constexpr (requires { o.etas; }) o.etas = w.pair("etas", o.etas);
  if constexpr (requires { o.lambd; }) o.lambd = w.number("lambd", o.lambd);
  if constexpr (requires { o.t0; }) o.t0 = w.number("t0", o.t0);
  if constexpr (requires { o.beta2_decay; }) o.beta2_decay = w.number("beta2_decay", o.beta2_decay);
  if constexpr (requires { o.d; }) o.d = w.number("d", o.d);
  if constexpr (requires { o.eps = 1.0; }) o.eps = w.number("eps", o.eps);
  return o;
}

Made make_optimizer(const Words& w, const Tensor& x) {
  if (w.name == "SGD") return make<optim::SGD>(x, common<optim::SGDOptions>(w));
  if (w.name == "Adam") return make<optim::Adam>(x, common<optim::AdamOptions>(w));
  if (w.name == "AdamW") return make<optim::AdamW>(x, common<optim::AdamWOptions>(w));
  if (w.name == "RMSprop") return make<optim::RMSprop>(x, common<optim::RMSpropOptions>(w));
  if (w.name == "Adagrad") return make<optim::Adagrad>(x, common<optim::AdagradOptions>(w));
  if (w.name == "Adadelta") return make<optim::Adadelta>(x, common<optim::AdadeltaOptions>(w));
  if (w.name == "Adamax") return make<optim::Adamax>(x, common<optim::AdamaxOptions>(w));
  if (w.name == "NAdam") return make<optim::NAdam>(x, common<optim::NAdamOptions>(w));
  if (w.name == "RAdam") return make<optim::RAdam>(x, common<optim::RAdamOptions>(w));
  if (w.name == "Rprop") return make<optim::Rprop>(x, common<optim::RpropOptions>(w));
  if (w.name == "ASGD") return make<optim::ASGD>(x, common<optim::ASGDOptions>(w));
  if (w.name == "Adafactor") return make<optim::Adafactor>(x, common<optim::AdafactorOptions>(w));
  if (w.name == "Muon") {
    auto options = common<optim::MuonOptions>(w);
    options.adjust_lr_fn = w.text("adjust_lr_fn", "original");
    return make<optim::Muon>(x, options);
  }
  if (w.name == "LBFGS")
    return make<optim::LBFGS>(x, optim::LBFGSOptions{.lr = w.number("lr", 1),
                                                     .max_iter = w.whole("max_iter", 20),
                                                     .history_size = w.whole("history_size", 100),
                                                     .line_search_fn = w.text("line_search_fn", "")});
  throw UserError("unknown optimizer " + w.name, SourceLocation::here());
}

using State = std::map<std::string, Tensor>;
/// A schedule of any class.
struct Plan {
  std::function<void(double loss)> step = [](double) {};
  std::function<State()> state_dict = [] { return State(); };
  std::function<void(const State&)> load_state_dict = [](const State&) {};
};
template <class Schedule>
Plan plan_of(std::shared_ptr<Schedule> schedule, std::vector<std::shared_ptr<optim::Schedule>> parts = {}) {
  Plan plan;
  plan.step = [schedule, parts](double loss) {
    if constexpr (requires { schedule->step(loss); }) schedule->step(loss);
    else schedule->step();
  };
  plan.state_dict = [schedule] { return schedule->state_dict(); };
  plan.load_state_dict = [schedule](const State& state) { schedule->load_state_dict(state); };
  return plan;
}
template <class Schedule, class... Arguments>
Plan plan(optim::Optimizer& o, const Arguments&... arguments) {
  return plan_of(std::make_shared<Schedule>(o, arguments...));
}

Plan make_cycle(const Words& w, optim::Optimizer& o) {
  if (w.name == "OneCycleLR") {
    const optim::OneCycleOptions options{.max_lr = w.number("max_lr", 0),
                                         .total_steps = w.whole("total_steps", 0),
                                         .pct_start = w.number("pct_start", 0.3),
                                         .anneal_strategy = w.text("anneal_strategy", "cos"),
                                         .cycle_momentum = w.flag("cycle_momentum"),
                                         .three_phase = w.flag("three_phase")};
    return plan<optim::OneCycle>(o, options);
  }
  const optim::CyclicLROptions options{.base_lr = w.number("base_lr", 0),
                                       .max_lr = w.number("max_lr", 0),
                                       .step_size_up = w.whole("step_size_up", 2000),
                                       .mode = w.text("mode", "triangular"),
                                       .gamma = w.number("gamma", 1),
                                       .cycle_momentum = w.flag("cycle_momentum")};
  return plan<optim::CyclicLR>(o, options);
}

Plan make_combined(const Words& w, optim::Optimizer& o) {
  const std::vector<std::shared_ptr<optim::Schedule>> parts = {
      std::make_shared<optim::LinearLR>(o, optim::LinearLROptions{.start_factor = w.number("start_factor", 1.0 / 3),
                                                                  .total_iters = w.whole("total_iters", 5)}),
      std::make_shared<optim::ExponentialLR>(o, w.number("gamma", 0.95))};
  const std::vector<optim::Schedule*> given = {parts[0].get(), parts[1].get()};
  if (w.name == "ChainedScheduler") return plan_of(std::make_shared<optim::ChainedScheduler>(o, given), parts);
  const optim::SequentialLROptions options{.milestones = {w.whole("milestone", 1)}};
  return plan_of(std::make_shared<optim::SequentialLR>(o, given, options), parts);
}

Plan make_followed(const Words& w, optim::Optimizer& o) {
  if (w.name == "SWALR")
    return plan<optim::SWALR>(o, optim::SWALROptions{.swa_lr = w.number("swa_lr", 0),
                                                     .anneal_epochs = w.whole("anneal_epochs", 10),
                                                     .anneal_strategy = w.text("anneal_strategy", "cos")});
  return plan<optim::ReduceLROnPlateau>(
      o, optim::ReduceLROnPlateauOptions{.mode = w.text("mode", "min"),
                                         .factor = w.number("factor", 0.1),
                                         .patience = w.whole("patience", 10),
                                         .threshold = w.number("threshold", 1e-4),
                                         .threshold_mode = w.text("threshold_mode", "rel"),
                                         .cooldown = w.whole("cooldown", 0),
                                         .min_lr = w.number("min_lr", 0)});
}

Plan make_schedule(const Words& w, optim::Optimizer& o) {
  if (w.name.empty()) return {};
  if (w.name == "StepLR") return plan<optim::StepLR>(o, w.whole("step_size", 1), w.number("gamma", 0.1));
  if (w.name == "MultiStepLR")
    return plan<optim::MultiStepLR>(
        o, optim::MultiStepLROptions{.milestones = {w.whole("milestones1", 1), w.whole("milestones2", 2)},
                                     .gamma = w.number("gamma", 0.1)});
  if (w.name == "ExponentialLR") return plan<optim::ExponentialLR>(o, w.number("gamma", 0.95));
  if (w.name == "CosineAnnealingLR")
    return plan<optim::CosineAnnealingLR>(o, w.whole("T_max", 1), w.number("eta_min", 0));
  if (w.name == "CosineAnnealingWarmRestarts")
    return plan<optim::CosineAnnealingWarmRestarts>(o, w.whole("T_0", 1), w.whole("T_mult", 1), w.number("eta_min", 0));
  if (w.name == "LinearLR")
    return plan<optim::LinearLR>(o, optim::LinearLROptions{.start_factor = w.number("start_factor", 1.0 / 3),
                                                           .end_factor = w.number("end_factor", 1),
                                                           .total_iters = w.whole("total_iters", 5)});
  if (w.name == "PolynomialLR")
    return plan<optim::PolynomialLR>(
        o, optim::PolynomialLROptions{.total_iters = w.whole("total_iters", 5), .power = w.number("power", 1)});
  if (w.name == "ConstantLR")
    return plan<optim::ConstantLR>(
        o, optim::ConstantLROptions{.factor = w.number("factor", 1.0 / 3), .total_iters = w.whole("total_iters", 5)});
  const auto falling = [decay = w.number("decay", 0)](int64_t i) { return 1 / (1 + decay * static_cast<double>(i)); };
  if (w.name == "LambdaLR") return plan<optim::LambdaLR>(o, std::function<double(int64_t)>(falling));
  if (w.name == "MultiplicativeLR") return plan<optim::MultiplicativeLR>(o, std::function<double(int64_t)>(falling));
  if (w.name == "SequentialLR" || w.name == "ChainedScheduler") return make_combined(w, o);
  if (w.name == "ReduceLROnPlateau" || w.name == "SWALR") return make_followed(w, o);
  return make_cycle(w, o);
}

/// All that a run has; the parameter is the weight of a layer, as averages are of models.
struct Run {
  nn::Linear model;
  Made optimizer;
  Plan schedule;
  optim::AveragedModel<nn::Linear> moving, plain;

  Run(const std::map<std::string, Tensor>& file, const Words& a, const Words& b)
      : model(start(file)),
        optimizer(make_optimizer(a, model.weight)),
        schedule(make_schedule(b, *optimizer)),
        moving(model, {.decay = 0.95}),
        plain(model) {}

  static nn::Linear start(const std::map<std::string, Tensor>& file) {
    nn::Linear layer(3, 2, {.bias = false});
    layer.weight = file.at("start").clone().requires_grad_();
    return layer;
  }
};

struct Loss {
  Tensor target, weight;
  Tensor operator()(const Tensor& x) const {
    const Tensor distance = x - target;
    return sum(cos(x * 3) * 0.3 + distance * distance * weight);
  }
};

template <class Step>
void take(Run& run, const Step& step, int count) {
  for (int i = 0; i < count; ++i) {
    const Tensor loss = step();
    run.schedule.step(loss.item<double>());
    run.moving.update_parameters(run.model);
    run.plain.update_parameters(run.model);
  }
}

auto eager_step(Run& run, const Loss& loss) {
  return [&run, &loss] {
    const auto evaluate = [&] {
      run.optimizer->zero_grad();
      const Tensor value = loss(run.model.weight);
      value.backward();
      return value.detach();
    };
    if (auto* const searching = dynamic_cast<optim::LBFGS*>(run.optimizer.get())) return searching->step(evaluate);
    Tensor value = evaluate();
    run.optimizer->step();
    return value;
  };
}

void print(const Run& run) {
  for (const nn::Linear* layer : {&run.model, &run.moving.module, &run.plain.module})
    for (const double value : layer->weight.detach().to_vector<double>()) std::printf("%.17g ", value);
  std::printf("%.17g\n", run.optimizer->learning_rate());
}

void resume(Run& to, const Run& from) {
  const auto state = from.optimizer->state_dict();
  to.optimizer->load_state_dict(state);
  to.schedule.load_state_dict(from.schedule.state_dict());
  to.moving.load_state_dict(from.moving.state_dict());
  to.plain.load_state_dict(from.plain.state_dict());
  const NoGradGuard guard;
  to.model.weight.copy_(from.model.weight);
}

void answer(const std::map<std::string, Tensor>& file, const std::string& text) {
  std::istringstream line(text);
  const Words a = words_of(line), b = words_of(line);
  const Loss loss{file.at("target"), file.at("weight")};
  Run whole(file, a, b), first(file, a, b), second(file, a, b), jitted(file, a, b);
  take(whole, eager_step(whole, loss), step_count);
  print(whole);
  take(first, eager_step(first, loss), saved_at);
  resume(second, first);
  take(second, eager_step(second, loss), step_count - saved_at);
  print(second);
  take(jitted, jit(eager_step(jitted, loss)), step_count);
  print(jitted);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** values) {
  if (count != 2) return 2;
  const auto file = load_safetensors(values[1]);
  for (std::string line; std::getline(std::cin, line);) {
    try {
      answer(file, line);
    } catch (const UserError& error) {
      std::printf("error %s\n", std::string(error.what()).substr(0, std::string(error.what()).find('\n')).c_str());
    }
  }
}
