#pragma once
// A trainer to copy and change: epochs with evaluation, the best and the last checkpoint, early stop, Ctrl-C, and a run
// that continues with the bits that it would have had without a stop.
#include <fulgurite/fulgurite.h>

#include <filesystem>
#include <iostream>
#include <string>

struct TrainerOptions {
  std::string folder = "run";  // checkpoints, metrics and events
  int64_t epochs = 10;
  int64_t patience = 5;  // epochs without a better evaluation
  bool is_silent = false;
};

enum class TrainingEnd { finished, stopped_early, interrupted };

template <class Model, class Loader>
class Trainer {
 public:
  Trainer(Model& model, fulgurite::optim::Optimizer& optimizer, Loader& loader, const TrainerOptions& options)
      : model_(model), optimizer_(optimizer), loader_(loader), options_(options), early_stop_(options.patience) {}

  /// loss_of(model, batch) is the loss of a batch; evaluate(model) a number of which lower is better.
  template <class Loss, class Evaluate>
  TrainingEnd fit(const Loss& loss_of, const Evaluate& evaluate) {
    std::filesystem::create_directories(options_.folder);
    if (std::filesystem::exists(last())) resume();
    fulgurite::training::EventWriter events(options_.folder);
    const fulgurite::training::StopSignal stop;
    while (epoch_ < options_.epochs && !early_stop_.stops()) {
      if (!train_epoch(loss_of, stop)) {
        save();
        return TrainingEnd::interrupted;
      }
      ++epoch_;
      const double measure = evaluate(model_);
      events.add_scalar("train/loss", losses_.value(), epoch_);
      events.add_scalar("evaluation", measure, epoch_);
      if (!options_.is_silent)
        std::cout << "epoch " << epoch_ << "  loss " << losses_.value() << "  evaluation " << measure << "\n";
      losses_.reset();
      if (early_stop_.update(measure))
        fulgurite::save_safetensors(options_.folder + "/best.safetensors", fulgurite::nn::state_dict(model_));
      save();
      if (stop.requested() && epoch_ < options_.epochs) return TrainingEnd::interrupted;
    }
    return early_stop_.stops() ? TrainingEnd::stopped_early : TrainingEnd::finished;
  }

  int64_t epoch() const { return epoch_; }
  double best() const { return early_stop_.best(); }
  /// The weights of the best evaluation.
  void load_best() {
    fulgurite::nn::load_state_dict(model_, fulgurite::load_safetensors(options_.folder + "/best.safetensors"));
  }

 private:
  // Returns false if a signal came before the epoch's last batch; the batch that was computed counts.
  template <class Loss>
  bool train_epoch(const Loss& loss_of, const fulgurite::training::StopSignal& stop) {
    std::optional<fulgurite::training::ProgressLine> progress;
    if (!options_.is_silent) progress.emplace(loader_.size(), "epoch " + std::to_string(epoch_ + 1));
    for (auto& batch : loader_) {
      optimizer_.zero_grad();
      const fulgurite::Tensor loss = loss_of(model_, batch);
      loss.backward();
      optimizer_.step();
      losses_.update(loss.template item<double>());
      if (progress) progress->step("loss " + std::to_string(losses_.value()));
      const auto position = loader_.state_dict().at("position").template item<int64_t>();
      if (stop.requested() && position < loader_.size()) return false;
    }
    return true;
  }

  std::string last() const { return options_.folder + "/last.safetensors"; }

  void save() const {
    fulgurite::TensorMap own = early_stop_.state_dict();
    own["epoch"] = fulgurite::tensor(epoch_);
    own["losses"] = fulgurite::tensor({losses_.weight() > 0 ? losses_.value() : 0, losses_.weight()},
                                      {.dtype = fulgurite::Dtype::f64});
    fulgurite::training::save_checkpoint(last(), {{"model", fulgurite::nn::state_dict(model_)},
                                                  {"optimizer", optimizer_.state_dict()},
                                                  {"loader", loader_.state_dict()},
                                                  {"trainer", own}});
  }

  void resume() {
    auto parts = fulgurite::training::load_checkpoint(last(), {"model", "optimizer", "loader", "trainer"});
    fulgurite::nn::load_state_dict(model_, parts["model"]);
    optimizer_.load_state_dict(parts["optimizer"]);
    loader_.load_state_dict(parts["loader"]);
    early_stop_.load_state_dict(parts["trainer"]);
    epoch_ = parts["trainer"].at("epoch").template item<int64_t>();
    const auto losses = parts["trainer"].at("losses").template to_vector<double>();
    losses_.reset();
    if (losses[1] > 0) losses_.update(losses[0], losses[1]);
  }

  Model& model_;
  fulgurite::optim::Optimizer& optimizer_;
  Loader& loader_;
  TrainerOptions options_;
  fulgurite::training::EarlyStop early_stop_;
  fulgurite::metrics::Mean losses_;
  int64_t epoch_ = 0;
};
