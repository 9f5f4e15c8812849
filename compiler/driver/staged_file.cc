// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/staged_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace tiffin::driver {
namespace {

namespace fs = std::filesystem;

}  // namespace

StagedFile::StagedFile(AtomicFile place, std::string path, std::string target)
    : place_(std::move(place)), path_(std::move(path)), target_(std::move(target)) {
  staging_ = place_.temporary_path() + fs::path(path_).extension().string();
}

Result<StagedFile> StagedFile::create(const std::string& path, bool is_executable) {
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile place, AtomicFile::create(path.c_str(), is_executable));
  std::error_code failed;
  const fs::path target = fs::canonical(path, failed);  // through a link the file that it names is replaced
  return StagedFile(std::move(place), path, failed ? path : target.string());
}

StagedFile::~StagedFile() {
  if (!staging_.empty()) unlink(staging_.c_str());
}

Status StagedFile::take_mode() const {
  struct stat status {};
  if (stat(place_.temporary_path(), &status) == 0 && chmod(staging_.c_str(), status.st_mode & 0777) == 0) return {};
  return error(Code::Io, "cannot write '%s': %s", path_.c_str(), strerror(errno));
}

Status StagedFile::replace() const {
  if (rename(staging_.c_str(), target_.c_str()) == 0) return {};
  return error(Code::Io, "cannot write '%s': %s", path_.c_str(), strerror(errno));
}

Status StagedFile::publish(StagedFile& first, StagedFile& second) {
  TIFFIN_TRY(first.take_mode());
  TIFFIN_TRY(second.take_mode());
  TIFFIN_TRY(first.replace());
  Status replaced = second.replace();
  sync_folder(first.target_.c_str());
  sync_folder(second.target_.c_str());
  return std::move(replaced).with_context("'%s' is replaced already", first.path_.c_str());
}

}  // namespace tiffin::driver
