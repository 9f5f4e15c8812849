// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/libraries.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/host/cpu.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/elf_needs.h"
#include "tools/commands/linker_cache.h"

namespace tiffin::tools {
namespace {

using runtime::view;

constexpr size_t kMaxLibraries = 1024;
constexpr size_t kPathBytes = 4096;

// Debian's folders of both machines: a file for the other one is passed over.
constexpr const char* kSystemFolders =
    "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib";

// The folder part of a path with its '/', or "".
std::string_view folder_of(std::string_view path) {
  size_t length = path.size();
  while (length > 0 && path[length - 1] != '/') --length;
  return {path.data(), length};
}

class Search {
 public:
  Search(const runtime::Artifact& artifact, uint16_t elf_machine, bool is_here, Libraries& out)
      : artifact_(artifact), elf_machine_(elf_machine), is_here_(is_here), out_(out) {}
  Status run();

 private:
  const char* artifact_path() const { return artifact_.container().source().name(); }
  Status add_attached();
  Status follow(size_t index);
  Result<ElfNeeds> needs_of(const Library& library);
  Status look_for(const char* name, const char* needed_by, const char* search, std::string_view origin);
  Result<const char*> find_file(const char* name, const char* search, std::string_view origin);
  const char* try_folders(const char* folders, const char* name, std::string_view origin);
  const char* try_file(const char* path);
  bool is_known(const char* name) const;
  Result<const char*> copy(std::string_view text) {
    const char* made = out_.arena.copy_text(text);
    if (made == nullptr) return out_of_memory();
    return made;
  }

  const runtime::Artifact& artifact_;
  uint16_t elf_machine_;
  bool is_here_;
  Libraries& out_;
  LinkerCache cache_;
};

bool Search::is_known(const char* name) const {
  for (const Library& library : out_.list) {
    if (strcmp(library.name, name) == 0) return true;
  }
  return false;
}

// The path when it is a shared library for the machine, in the arena; null otherwise.
const char* Search::try_file(const char* path) {
  const Result<runtime::Source> source = runtime::Source::open(path);
  if (!source.has_value() || source->is_folder()) return nullptr;
  const Result<ElfNeeds> needs = read_elf_needs(*source, 0, source->size(), out_.arena);
  return needs.has_value() && needs->machine == elf_machine_ ? out_.arena.copy_text(path) : nullptr;
}

// `folders` are separated by ':' or ';'; "$ORIGIN" at the front of one is `origin`.
const char* Search::try_folders(const char* folders, const char* name, std::string_view origin) {
  while (folders != nullptr && *folders != 0) {
    std::string_view folder(folders, strcspn(folders, ":;"));
    folders += folder.size() + (folders[folder.size()] == 0 ? 0 : 1);
    constexpr std::string_view kOrigins[] = {"$ORIGIN", "${ORIGIN}"};
    std::string_view front;
    for (const std::string_view word : kOrigins) {
      if (folder.size() < word.size() || memcmp(folder.data(), word.data(), word.size()) != 0) continue;
      front = origin.empty() ? std::string_view("./") : origin;
      folder.remove_prefix(word.size());
    }
    // "$ORIGIN/lib" has a '/' of its own.
    while (front.size() > 1 && front.back() == '/') front.remove_suffix(1);
    while (folder.size() > 1 && folder.back() == '/') folder.remove_suffix(1);
    char path[kPathBytes];
    const int length = snprintf(path, sizeof path, "%.*s%.*s/%s", static_cast<int>(front.size()), front.data(), static_cast<int>(folder.size()),
                                folder.data(), name);
    if (length < 0 || static_cast<size_t>(length) >= sizeof path) continue;
    if (const char* found = try_file(path)) return found;
  }
  return nullptr;
}

// Null when it is nowhere.
Result<const char*> Search::find_file(const char* name, const char* search, std::string_view origin) {
  if (strchr(name, '/') != nullptr) return is_here_ ? try_file(name) : nullptr;
  if (const char* found = try_folders("$ORIGIN", name, folder_of(artifact_path()))) return found;
  if (!is_here_) return static_cast<const char*>(nullptr);
  if (const char* found = try_folders(search, name, origin)) return found;
  if (const char* found = try_folders(getenv("LD_LIBRARY_PATH"), name, origin)) return found;
  for (size_t i = 0; const char* path = cache_.find(name, &i);) {
    if (const char* found = try_file(path)) return found;
  }
  return try_folders(kSystemFolders, name, origin);
}

Status Search::look_for(const char* name, const char* needed_by, const char* search, std::string_view origin) {
  if (is_known(name) || out_.list.size() >= kMaxLibraries) return {};
  TIFFIN_ASSIGN_OR_RETURN(const char* path, find_file(name, search, origin));
  return out_.list.append({name, path, needed_by, nullptr}) ? Status() : out_of_memory();
}

// All libraries that travel come first: they are found before any other.
Status Search::add_attached() {
  const auto* attachments = artifact_.manifest().attachments();
  if (attachments == nullptr) return {};
  for (const abi::Attachment* attachment : *attachments) {
    const runtime::Section* section = artifact_.container().find(TIFFIN_SECTION_LIBRARY, view(attachment->section()));
    if (section == nullptr) continue;
    char path[kPathBytes];
    snprintf(path, sizeof path, "%s:%s", artifact_path(), attachment->name()->c_str());
    TIFFIN_ASSIGN_OR_RETURN(const char* where, copy(path));
    Library library{attachment->name()->c_str(), where, nullptr, nullptr};
    const Result<ElfNeeds> needs = read_elf_needs(artifact_.container().source_of(*section), section->offset, section->length, out_.arena);
    if (!needs.has_value()) {
      if (needs.error().code() != Code::MissingLibrary) return needs.error().clone();
      TIFFIN_ASSIGN_OR_RETURN(library.fault, copy(needs.error().message()));
    } else if (needs->machine != elf_machine_) {
      char fault[96];
      snprintf(fault, sizeof fault, "it is code for %s", runtime::machine_name(needs->machine));
      TIFFIN_ASSIGN_OR_RETURN(library.fault, copy(fault));
    }
    if (!out_.list.append(library)) return out_of_memory();
  }
  return {};
}

Result<ElfNeeds> Search::needs_of(const Library& library) {
  if (library.needed_by != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(const runtime::Source source, runtime::Source::open(library.path));
    return read_elf_needs(source, 0, source.size(), out_.arena);
  }
  for (const abi::Attachment* attachment : *artifact_.manifest().attachments()) {
    const runtime::Section* section = artifact_.container().find(TIFFIN_SECTION_LIBRARY, view(attachment->section()));
    if (section == nullptr || strcmp(attachment->name()->c_str(), library.name) != 0) continue;
    return read_elf_needs(artifact_.container().source_of(*section), section->offset, section->length, out_.arena);
  }
  return ElfNeeds();
}

Status Search::follow(size_t index) {
  const Library library = out_.list[index];
  if (library.path == nullptr || library.fault != nullptr) return {};
  TIFFIN_ASSIGN_OR_RETURN(const ElfNeeds needs, needs_of(library));
  const std::string_view origin = folder_of(library.needed_by == nullptr ? artifact_path() : library.path);
  for (const char* name : needs.needed) TIFFIN_TRY(look_for(name, library.name, needs.search, origin));
  return {};
}

Status Search::run() {
  TIFFIN_TRY(add_attached());
  if (out_.list.empty()) return {};
  if (is_here_) cache_.read("/etc/ld.so.cache");
  for (size_t i = 0; i < out_.list.size(); ++i) TIFFIN_TRY(follow(i));
  return {};
}

}  // namespace

Status find_libraries(const runtime::Artifact& artifact, uint16_t elf_machine, bool is_here, Libraries& out) {
  return Search(artifact, elf_machine, is_here, out).run();
}

}  // namespace tiffin::tools
