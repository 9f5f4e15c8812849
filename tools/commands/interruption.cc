// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/interruption.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/atomic_file.h"
#include "tools/commands/byte_file.h"
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

int remove_entry(const char* path, const struct stat*, int, FTW*) {
  (void)remove(path);
  return 0;
}

// A folder gets another name first: whoever is about to put it in its place finds either all of it or none.
void remove_folder(const char* folder, const char* name) {
  char path[PATH_MAX], gone[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  const int gone_length = snprintf(gone, sizeof gone, "%s/%s.gone", folder, name);
  if (length >= PATH_MAX || gone_length >= PATH_MAX || rename(path, gone) != 0) return;
  constexpr int kMostDescriptors = 8;
  (void)nftw(gone, remove_entry, kMostDescriptors, FTW_DEPTH | FTW_PHYS);
}

void remove_unfinished_of(const char* folder) {
  DIR* stream = opendir(folder);
  if (stream == nullptr) return;
  while (const dirent* entry = readdir(stream)) {
    if (!is_temporary_of_process(entry->d_name, getpid())) continue;
    if (unlinkat(dirfd(stream), entry->d_name, 0) != 0 && errno == EISDIR) remove_folder(folder, entry->d_name);
  }
  closedir(stream);
}

}  // namespace

Interruption::~Interruption() {
  if (!is_on_) return;
  is_over_ = true;
  pthread_kill(thread_, kEnd);
  pthread_join(thread_, nullptr);
  const sigset_t signals = interrupting_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

Status Interruption::add_folder(const char* path) {
  if (path == nullptr || path[0] == 0) return {};
  return folders_.append(std::span<const char>(path, strlen(path) + 1)) ? Status() : out_of_memory();
}

// The temporary lies beside the file that a link names.
Status Interruption::add_output(const char* path) {
  if (path == nullptr || path[0] == 0) return {};
  char resolved[PATH_MAX], folder[PATH_MAX];
  const char* target = realpath(path, resolved) != nullptr ? resolved : path;
  const char* slash = strrchr(target, '/');
  if (slash == nullptr) return add_folder(".");
  if (slash == target) return add_folder("/");
  const size_t length = static_cast<size_t>(slash - target);
  if (length >= sizeof folder) return {};  // the file cannot be made either
  memcpy(folder, target, length);
  folder[length] = 0;
  return add_folder(folder);
}

void Interruption::start(bool json) {
  if (folders_.empty()) return;
  json_ = json;
  const sigset_t signals = interrupting_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  is_on_ = pthread_create(&thread_, nullptr, wait, this) == 0;
  if (!is_on_) pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void Interruption::remove_unfinished() const {
  for (const char* folder = folders_.begin(); folder < folders_.end(); folder += strlen(folder) + 1) remove_unfinished_of(folder);
}

void* Interruption::wait(void* self) {
  const auto& interruption = *static_cast<const Interruption*>(self);
  const sigset_t signals = interrupting_signals();
  int signal = kEnd;
  while (signal == kEnd) {
    if (sigwait(&signals, &signal) != 0 || (signal == kEnd && interruption.is_over_)) return nullptr;
  }
  interruption.remove_unfinished();
  const char* name = signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
  report_failure(error(Code::Cancelled, "interrupted by %s, unfinished files were removed", name).with_remedy("start it again"), interruption.json_);
  _exit(3);
}

}  // namespace tiffin::tools
