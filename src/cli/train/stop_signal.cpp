#include "cli/train/stop_signal.h"

#include <csignal>
#include <initializer_list>

namespace fulgurite::cli {

namespace {

volatile std::sig_atomic_t requested = 0;  // a signal handler can reach nothing else

}  // namespace

void catch_stop_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = [](int number) {
      requested = number;
      for (const int each : {SIGINT, SIGTERM, SIGHUP}) std::signal(each, SIG_DFL);
    };
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

int stop_signal() { return requested; }

}  // namespace fulgurite::cli
