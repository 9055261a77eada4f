#include <algorithm>
#include <map>

#include <fulgurite/error.h>
#include <fulgurite/profile.h>

#include "examine/fusions/find_fusion.h"
#include "examine/profile/profile_lines.h"
#include "examine/profile/quantile.h"
#include "ir/analysis/trace_values.h"
#include "ir/printing/source_lines.h"
#include "jit/jit_state.h"
#include "runtime/plan/execution_plan.h"
#include "runtime/step_clock.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

using Programs = std::vector<std::shared_ptr<const Program>>;

/// The programs have clocks for a scope.
class Clocks {
 public:
  explicit Clocks(const Programs& programs) : programs_(programs) {
    for (size_t i = 0; i < programs.size(); ++i) clocks_.push_back(std::make_shared<StepClock>());
  }
  ~Clocks() { attach(false); }
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  void attach(bool timed) {
    for (size_t i = 0; i < programs_.size(); ++i) programs_[i]->time_steps(timed ? clocks_[i] : nullptr);
  }
  std::vector<std::deque<StepClock::Run>> take() {
    std::vector<std::deque<StepClock::Run>> runs;
    for (const auto& clock : clocks_) runs.push_back(clock->take());
    return runs;
  }

 private:
  const Programs& programs_;
  std::vector<std::shared_ptr<StepClock>> clocks_;
};

struct TimedStep {
  int64_t begin = 0, end = 0;
  std::vector<std::deque<StepClock::Run>> runs;  // of each program
  int64_t nanoseconds() const { return end - begin; }
};

void add_step(const TimedStep& step, const std::vector<DescribedProgram>& described, Report& report) {
  for (size_t p = 0; p < described.size(); ++p) {
    Report::Part& part = report.parts[p];
    for (const StepClock::Run& run : step.runs[p]) {
      ++part.runs;
      int64_t before = run.began;
      for (size_t i = 0; i < run.done.size(); ++i) {
        const int op = described[p].op_of_step[i];
        const double microseconds = 1e-3 * static_cast<double>(run.done[i] - before);
        part.lines[static_cast<size_t>(op)].microseconds += microseconds;
        part.microseconds += microseconds;
        report.events.push_back(
            {static_cast<int>(p), op, 1e-3 * static_cast<double>(before - step.begin), microseconds});
        before = run.done[i];
      }
    }
  }
  std::ranges::stable_sort(report.events, {}, &Report::Event::begin);
}

void add_limits(const Programs& programs, Report& report) {
  for (size_t p = 0; p < programs.size(); ++p) {
    Report::Part& part = report.parts[p];
    const std::span<const BoundSymbol> symbols = programs[p]->trace().bound_symbols.read();
    for (size_t i = 0; i < symbols.size(); ++i) {
      Report::Line& op = part.lines[i];
      if (op.microseconds > 0)
        op.share_of_limit = part.runs *
                            min_microseconds(op.bytes_read + op.bytes_written, op.operations, report.limits,
                                             computes_in_bf16(symbols[i])) /
                            op.microseconds;
    }
  }
}

std::vector<Report::Row> sorted(const std::map<std::string, Report::Row>& rows) {
  std::vector<Report::Row> out;
  for (const auto& [name, row] : rows) out.push_back(row);
  std::ranges::stable_sort(out, std::ranges::greater(), &Report::Row::microseconds);
  return out;
}

}  // namespace

double Report::in_lines() const {
  double sum = 0;
  for (const Part& part : parts) sum += part.microseconds;
  return sum;
}

std::vector<Report::Row> Report::by_operator() const {
  std::map<std::string, Row> rows;
  for (const Part& part : parts)
    for (const Line& op : part.lines) {
      if (!op.is_statement || op.microseconds == 0) continue;
      Row& row = rows[op.operation];
      row.name = op.operation;
      row.count += part.runs;
      row.microseconds += op.microseconds;
      row.bytes += part.runs * (op.bytes_read + op.bytes_written);
      row.operations += part.runs * op.operations;
    }
  return sorted(rows);
}

std::vector<Report::Row> Report::by_user_line() const {
  std::map<std::string, Row> rows;
  SourceLines texts;
  const auto add = [&](SourceLocation at, const Line& op, const Part& part, int among) {
    const std::string name = at.line == 0 ? "no line of yours" : texts.text(at);
    Row& row = rows[name];
    row.name = name;
    row.count += part.runs;
    row.microseconds += op.microseconds / among;
    row.bytes += part.runs * (op.bytes_read + op.bytes_written) / among;
    row.operations += part.runs * op.operations / among;
  };
  for (const Part& part : parts)
    for (const Line& op : part.lines) {
      if (!op.is_statement || op.microseconds == 0) continue;
      if (op.sources.empty()) add(op.source, op, part, 1);
      else
        for (const SourceLocation at : op.sources) add(at, op, part, static_cast<int>(op.sources.size()));
    }
  return sorted(rows);
}

Report profile_step(const Jitted& f, const std::function<void()>& step, const ProfileOptions& options) {
  step();  // compiles, and allocates
  const Programs programs = programs_of_last_call(f, "profile");
  for (const auto& program : programs)
    if (program->runs_otherwise())
      throw UserError(
          "profile: the function runs op by op (debug.check_nan, debug.verify_against_eager or callbacks); profile "
          "it without");
  Report report;
  report.limits = machine_limits();

  Clocks clocks(programs);
  std::vector<TimedStep> timed;
  std::vector<int64_t> timed_totals, plain_totals;
  const int64_t end = StepClock::now() + static_cast<int64_t>(1e9 * options.seconds);
  constexpr int least = 3;
  for (int i = 0; i < least || (i < options.most_steps && StepClock::now() < end); ++i) {
    clocks.attach(true);
    TimedStep& measured = timed.emplace_back();
    measured.begin = StepClock::now();
    step();
    measured.end = StepClock::now();
    measured.runs = clocks.take();
    timed_totals.push_back(measured.nanoseconds());
    clocks.attach(false);
    const int64_t begin = StepClock::now();
    step();
    plain_totals.push_back(StepClock::now() - begin);
  }
  if (std::ranges::all_of(timed.back().runs, [](const auto& runs) { return runs.empty(); }))
    throw UserError(
        "profile: the step did not run what the function's last call ran; it has to call the function, with "
        "arguments like those");

  const auto middle = timed.begin() + static_cast<std::ptrdiff_t>(timed.size() / 2);
  std::ranges::nth_element(timed, middle, {}, &TimedStep::nanoseconds);
  std::vector<DescribedProgram> described;
  for (const auto& program : programs) {
    described.push_back(describe(*program));
    report.parts.push_back(described.back().part);
  }
  report.step = 1e-3 * static_cast<double>(middle->nanoseconds());
  report.plain_step = 1e-3 * median({plain_totals.begin(), plain_totals.end()});
  report.least_step = 1e-3 * static_cast<double>(*std::ranges::min_element(timed_totals));
  report.least_plain_step = 1e-3 * static_cast<double>(*std::ranges::min_element(plain_totals));
  report.steps = static_cast<int>(timed.size());
  add_step(*middle, described, report);
  add_limits(programs, report);
  return report;
}

}  // namespace fulgurite::examine
