#include "training/stop_signal.h"

#include <atomic>
#include <csignal>

#include <fulgurite/error.h>
#include <fulgurite/training.h>

namespace fulgurite {

namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t requested = 0;  // a signal handler can reach nothing else
std::atomic<bool> is_watched{false};

void request(int number) {
  requested = number;
  for (const int each : signals) std::signal(each, SIG_DFL);
}

}  // namespace

void catch_stop_signals() {
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
  requested = 0;
}

int stop_signal() { return requested; }

namespace training {

StopSignal::StopSignal(SourceLocation at) {
  if (is_watched.exchange(true)) throw UserError("training::StopSignal: there is one already", at);
  catch_stop_signals();
}
StopSignal::~StopSignal() {
  release_stop_signals();
  is_watched = false;
}
bool StopSignal::requested() const { return stop_signal() != 0; }

}  // namespace training

}  // namespace fulgurite
