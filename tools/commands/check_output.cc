// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/check_output.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstring>

namespace tiffin::tools {
namespace {

bool find(const char* path, struct stat* out) { return stat(path, out) == 0; }

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

const char* name_of(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool find_folder(const char* path, struct stat* out) {
  const size_t length = static_cast<size_t>(name_of(path) - path);
  char folder[PATH_MAX] = ".";
  if (length >= sizeof folder) return false;
  if (length > 0) memcpy(folder, path, length);
  if (length > 0) folder[length] = 0;
  return find(folder, out);
}

}  // namespace

Status check_output(const char* output, const char* input) {
  struct stat written {
  }, read{};
  if (!find(output, &written) || !find(input, &read) || !is_same(written, read)) return {};
  return error(Code::InvalidArgument, "'%s' is given for two files: it would replace '%s', which is read", output, input)
      .with_remedy("give the output another name");
}

Status check_output(const char* output, const runtime::Container& input) {
  TIFFIN_TRY(check_output(output, input.source().name()));
  TIFFIN_TRY(check_output(output, input.header_source().name()));
  for (const runtime::Section& section : input.sections()) TIFFIN_TRY(check_output(output, input.source_of(section).name()));
  return {};
}

Status check_distinct(const char* output, const char* other) {
  struct stat first {
  }, second{};
  const bool is_there = find(output, &first), is_other_there = find(other, &second);
  bool is_one = is_there && is_other_there && is_same(first, second);
  if (!is_there && !is_other_there && strcmp(name_of(output), name_of(other)) == 0) {
    is_one = find_folder(output, &first) && find_folder(other, &second) && is_same(first, second);
  }
  if (!is_one) return {};
  return error(Code::InvalidArgument, "'%s' is given for two files, different ones are expected", output);
}

}  // namespace tiffin::tools
