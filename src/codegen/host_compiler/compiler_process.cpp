#include "codegen/host_compiler/compiler_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace fulgurite::codegen {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t max_errors = 4096;

/// Reads the output of a started program until it ends, or returns false when its time is over.
class Watch {
 public:
  Watch(pid_t process, int pipe, double seconds)
      : process_(process),
        pipe_(pipe),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  bool wait(std::string& errors, int& status) {
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
      if (left <= 0) return false;
      // A child of the compiler may hold the pipe after the compiler has ended, or the other way round: both are
      // polled.
      pollfd event{pipe_, POLLIN, 0};
      const int ready = is_open_ ? poll(&event, 1, static_cast<int>(left < 50 ? left : 50)) : (usleep(1000), 0);
      if (ready > 0) read_some(errors);
      const pid_t ended = waitpid(process_, &status, WNOHANG);
      if (ended == process_ || (ended < 0 && errno != EINTR)) {
        for (pollfd last{pipe_, POLLIN, 0}; is_open_ && poll(&last, 1, 0) > 0;) read_some(errors);
        // If the program ignores SIGCHLD the exit status is unknown: its output files will show.
        if (ended < 0) status = 0;
        return true;
      }
    }
  }

 private:
  void read_some(std::string& errors) {
    char buffer[1024];
    const ssize_t count = read(pipe_, buffer, sizeof(buffer));
    if (count > 0) {
      if (errors.size() < max_errors) errors.append(buffer, static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      is_open_ = false;
    }
  }
  pid_t process_;
  int pipe_;
  Clock::time_point end_;
  bool is_open_ = true;
};

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, double seconds) {
  ProcessResult result;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
    result.status = errno;
    return result;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t process = 0;
  const int failed = posix_spawnp(&process, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(pipe_ends[1]);
  if (failed != 0) {
    result.status = failed;
    close(pipe_ends[0]);
    return result;
  }
  int status = 0;
  if (!Watch(process, pipe_ends[0], seconds).wait(result.errors, status)) {
    kill(-process, SIGKILL);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    result.end = ProcessResult::End::timed_out;
  } else if (WIFEXITED(status)) {
    result.end = ProcessResult::End::exited;
    result.status = WEXITSTATUS(status);
  } else {
    result.end = ProcessResult::End::killed;
    result.status = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  close(pipe_ends[0]);
  return result;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : std::string();
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    std::string candidate = folders.substr(at, end - at) + "/" + name;
    if (end > at && access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return {};
}

}  // namespace fulgurite::codegen
