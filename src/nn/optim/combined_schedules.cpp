// Schedules made of others: one after the other, or all at once.
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/schedules.h>

#include "support/text/text.h"

namespace fulgurite::optim {

namespace {

int64_t iteration_in(const std::map<std::string, Tensor>& state, const char* name, SourceLocation at) {
  const auto found = state.find("iteration");
  if (found == state.end()) throw UserError(text::cat(name, ": the state has no iteration"), at);
  const int64_t iteration = found->second.item<int64_t>(at);
  if (iteration < 0) throw UserError(text::cat(name, ": the iteration must not be negative: ", iteration), at);
  return iteration;
}

void check_schedules(const std::vector<Schedule*>& schedules, const char* name, SourceLocation at) {
  if (schedules.empty()) throw UserError(text::cat(name, ": there are no schedules"), at);
  for (const Schedule* schedule : schedules)
    if (!schedule) throw UserError(text::cat(name, ": a schedule is null"), at);
}

}  // namespace

SequentialLR::SequentialLR(Optimizer&, std::vector<Schedule*> schedules, const SequentialLROptions& options,
                           SourceLocation at)
    : schedules_(std::move(schedules)), milestones_(options.milestones) {
  check_schedules(schedules_, "SequentialLR", at);
  if (milestones_.size() + 1 != schedules_.size())
    throw UserError(text::cat("SequentialLR: ", schedules_.size(), " schedules have ", schedules_.size() - 1,
                              " milestones, not ", milestones_.size()),
                    at);
  int64_t before = 0;
  for (const int64_t milestone : milestones_) {
    if (milestone <= before) throw UserError("SequentialLR: the milestones ascend, from above 0", at);
    before = milestone;
  }
  apply(at);
}

void SequentialLR::apply(SourceLocation at) {
  size_t index = 0;
  while (index < milestones_.size() && iteration_ >= milestones_[index]) ++index;
  schedules_[index]->set_iteration(iteration_ - (index == 0 ? 0 : milestones_[index - 1]), at);
}

void SequentialLR::step(SourceLocation at) {
  ++iteration_;
  apply(at);
}

std::vector<double> SequentialLR::last_lr() const { return schedules_[0]->last_lr(); }
std::map<std::string, Tensor> SequentialLR::state_dict() const { return {{"iteration", tensor(iteration_)}}; }
void SequentialLR::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  iteration_ = iteration_in(state, "SequentialLR", at);
  apply(at);
}

ChainedScheduler::ChainedScheduler(Optimizer& optimizer, std::vector<Schedule*> schedules, SourceLocation at)
    : optimizer_(optimizer), schedules_(std::move(schedules)) {
  check_schedules(schedules_, "ChainedScheduler", at);
  bases_ = schedules_[0]->base_lrs();
  apply(at);
}

void ChainedScheduler::apply(SourceLocation at) {
  std::vector<double> rates = bases_;
  for (Schedule* const schedule : schedules_) {
    schedule->set_iteration(iteration_, at);
    const std::vector<double> own = schedule->last_lr();
    for (size_t i = 0; i < rates.size(); ++i) rates[i] = bases_[i] == 0 ? 0 : rates[i] * own[i] / bases_[i];
  }
  for (size_t i = 0; i < rates.size(); ++i) fill_(optimizer_.group_at(i).learning_rate, rates[i], at);
}

void ChainedScheduler::step(SourceLocation at) {
  ++iteration_;
  apply(at);
}

std::vector<double> ChainedScheduler::last_lr() const { return schedules_[0]->last_lr(); }
std::map<std::string, Tensor> ChainedScheduler::state_dict() const { return {{"iteration", tensor(iteration_)}}; }
void ChainedScheduler::load_state_dict(const std::map<std::string, Tensor>& state, SourceLocation at) {
  iteration_ = iteration_in(state, "ChainedScheduler", at);
  apply(at);
}

}  // namespace fulgurite::optim
