// SPDX-License-Identifier: Apache-2.0
// The bound of a cache's size: least recently used entries go first.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "compiler/driver/compile_cache.h"

namespace tiffin::driver {
namespace {

namespace fs = std::filesystem;

// An entry is written within this time; what is older and has no entry, or is a temporary, was left by a process that ended.
constexpr std::chrono::hours kGrace{1};

struct Group {
  uint64_t bytes = 0;
  fs::file_time_type used = fs::file_time_type::min();
  std::vector<fs::path> files;  // the entry itself first
  bool has_entry = false;
};

void add(const fs::directory_entry& file, std::map<std::string, Group>& groups) {
  std::error_code failed;
  const uint64_t bytes = file.file_size(failed);
  const fs::file_time_type time = failed ? fs::file_time_type::min() : file.last_write_time(failed);
  if (failed) return;  // gone meanwhile
  const bool is_entry = file.path().extension() == ".entry";
  Group& group = groups[(file.path().parent_path() / file.path().stem()).string()];
  group.bytes += bytes;
  if (is_entry || !group.has_entry) group.used = is_entry ? time : std::max(group.used, time);
  group.has_entry = group.has_entry || is_entry;
  group.files.insert(is_entry ? group.files.begin() : group.files.end(), file.path());
}

void remove(const Group& group) {
  std::error_code ignored;
  for (const fs::path& file : group.files) fs::remove(file, ignored);
}

// Files by the name that they share but for the suffix; of the two-letter folders below the cache's own.
std::map<std::string, Group> read_groups(const std::string& folder) {
  std::map<std::string, Group> groups;
  std::error_code failed;
  for (fs::directory_iterator part(folder, failed), end; !failed && part != end; part.increment(failed)) {
    if (part->path().filename().string().size() != 2 || !part->is_directory(failed)) continue;
    std::error_code unreadable;
    for (fs::directory_iterator file(part->path(), unreadable); !unreadable && file != end; file.increment(unreadable)) add(*file, groups);
  }
  return groups;
}

}  // namespace

void shrink_cache(const std::string& folder, uint64_t limit_bytes) {
  const std::map<std::string, Group> groups = read_groups(folder);
  const auto now = fs::file_time_type::clock::now();
  std::vector<const Group*> by_age;
  uint64_t total = 0;
  for (const auto& [name, group] : groups) {
    if (!group.has_entry && now - group.used > kGrace) {
      remove(group);
      continue;
    }
    total += group.bytes;
    if (group.has_entry) by_age.push_back(&group);
  }
  std::sort(by_age.begin(), by_age.end(), [](const Group* a, const Group* b) { return a->used < b->used; });
  for (const Group* group : by_age) {
    if (total <= limit_bytes) return;
    remove(*group);
    total -= group->bytes;
  }
}

}  // namespace tiffin::driver
