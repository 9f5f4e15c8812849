// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/memory_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tiffin::tools {
namespace {

// The start of a small file as text; "" when it cannot be read.
struct SmallFile {
  char text[8192] = {};
  explicit SmallFile(const char* path) {
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    const ssize_t length = read(descriptor, text, sizeof text - 1);
    text[length > 0 ? length : 0] = 0;
    close(descriptor);
  }
};

// The number behind `key` in bytes, of a line "key:  1234 kB"; 0 when there is none.
uint64_t line_value(const char* text, const char* key) {
  const char* at = strstr(text, key);
  return at == nullptr ? 0 : strtoull(at + strlen(key), nullptr, 10) * 1024;
}

uint64_t freeable_memory() {
  const SmallFile meminfo("/proc/meminfo");
  const uint64_t available = line_value(meminfo.text, "MemAvailable:"), swap = line_value(meminfo.text, "SwapFree:");
  if (available > 0) return available + swap;
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// A limit less what is used of it; UINT64_MAX when the file holds no number ("max").
uint64_t remaining(const char* folder, const char* limit_name, const char* usage_name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, limit_name);
  const SmallFile limit(path);
  if (limit.text[0] < '0' || limit.text[0] > '9') return UINT64_MAX;
  snprintf(path, sizeof path, "%s/%s", folder, usage_name);
  const uint64_t most = strtoull(limit.text, nullptr, 10), used = strtoull(SmallFile(path).text, nullptr, 10);
  return most > used ? most - used : 0;
}

// The least of the limits of the group of this process and of those above it, in the unified hierarchy and in the older one.
uint64_t group_limit() {
  const SmallFile membership("/proc/self/cgroup");
  const char* unified = strstr(membership.text, "0::/");
  char folder[768];
  const int length = unified == nullptr ? 0 : static_cast<int>(strcspn(unified + 3, "\n"));
  snprintf(folder, sizeof folder, "/sys/fs/cgroup%.*s", std::min(length, 700), unified == nullptr ? "" : unified + 3);
  uint64_t least = UINT64_MAX;
  constexpr size_t kRoot = sizeof("/sys/fs/cgroup") - 1;
  while (true) {
    least = std::min(least, remaining(folder, "memory.max", "memory.current"));
    char* slash = strrchr(folder, '/');
    if (strlen(folder) <= kRoot || slash == nullptr) break;
    *slash = 0;
  }
  return std::min(least, remaining("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"));
}

uint64_t address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  const uint64_t used = strtoull(SmallFile("/proc/self/statm").text, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

}  // namespace

MemoryLimits memory_limits() { return {std::min(freeable_memory(), group_limit()), address_space()}; }

}  // namespace tiffin::tools
