// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/interruption.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "base/status.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {
namespace {

constexpr int kEnd = SIGUSR1;  // sent by the destructor

sigset_t interrupting_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, kEnd);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction current {};
    const bool is_ignored = sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;  // as under nohup
    if (!is_ignored) sigaddset(&signals, signal);
  }
  return signals;
}

// The folder where the temporary of an output lies: that of the file a link names.
std::string folder_of(const std::string& output) {
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::canonical(output, failed);
  const std::filesystem::path folder = (failed ? std::filesystem::path(output) : target).parent_path();
  return folder.empty() ? "." : folder.string();
}

void remove_unfinished(const std::string& folder) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (is_temporary_of_process(name, getpid())) unlink(entry->path().c_str());
  }
}

}  // namespace

Interruption::Interruption(const std::vector<std::string>& outputs, bool json) : json_(json) {
  for (const std::string& output : outputs) {
    if (!output.empty()) folders_.push_back(folder_of(output));
  }
  const sigset_t signals = interrupting_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { wait(); });
}

Interruption::~Interruption() {
  is_over_ = true;
  pthread_kill(thread_.native_handle(), kEnd);
  thread_.join();
  const sigset_t signals = interrupting_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void Interruption::wait() {
  const sigset_t signals = interrupting_signals();
  int signal = kEnd;
  while (signal == kEnd) {
    if (sigwait(&signals, &signal) != 0) return;
    if (signal == kEnd && is_over_) return;
  }
  for (const std::string& folder : folders_) remove_unfinished(folder);
  const char* name = signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
  report_failure(error(Code::Cancelled, "interrupted by %s, unfinished files were removed", name).with_remedy("start it again"), json_);
  _exit(3);
}

}  // namespace tiffin::tools
