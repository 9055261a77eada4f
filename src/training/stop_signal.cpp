#include "training/stop_signal.h"

#include <atomic>
#include <csignal>

#include <fulgurite/error.h>
#include <fulgurite/training.h>

#include "support/context.h"

namespace fulgurite {

namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};

static_assert(std::atomic<int>::is_always_lock_free);
void request(int number) {
  context().stop_signal.store(number, std::memory_order_relaxed);
  for (const int each : signals) std::signal(each, SIG_DFL);
}

}  // namespace

void catch_stop_signals() {
  static_cast<void>(context());  // the handler must not make it
  for (const int signal : signals) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = request;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

void release_stop_signals() {
  for (const int signal : signals) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == request) std::signal(signal, SIG_DFL);
  }
  context().stop_signal = 0;
}

int stop_signal() { return context().stop_signal; }

namespace training {

StopSignal::StopSignal(SourceLocation at) {
  if (context().is_stop_watched.exchange(true)) throw UserError("training::StopSignal: there is one already", at);
  catch_stop_signals();
}
StopSignal::~StopSignal() {
  release_stop_signals();
  context().is_stop_watched = false;
}
bool StopSignal::requested() const { return stop_signal() != 0; }

}  // namespace training

}  // namespace fulgurite
