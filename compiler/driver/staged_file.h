// SPDX-License-Identifier: Apache-2.0
// Files that belong together: all are written whole under other names beside their own before the first of them is replaced, which then takes one
// rename each.
#pragma once

#include <string>

#include "base/atomic_file.h"
#include "base/status.h"

namespace tiffin::driver {

class StagedFile {
 public:
  // Refuses what AtomicFile refuses. Io.
  static Result<StagedFile> create(const std::string& path, bool is_executable);
  StagedFile(StagedFile&& other) noexcept = default;
  StagedFile& operator=(StagedFile&&) = delete;
  // Removes what was written and not published.
  ~StagedFile();

  // Where to write the file: beside the one that it replaces, with its suffix, and called as the temporaries of AtomicFile are.
  const std::string& staging() const { return staging_; }

  // Replaces `first`, then `second`, by what was written. Io.
  static Status publish(StagedFile& first, StagedFile& second);

 private:
  StagedFile(AtomicFile place, std::string path, std::string target);
  Status take_mode() const;
  Status replace() const;

  AtomicFile place_;  // empty; its temporary has the permissions that the file is to have
  std::string path_;  // as it was given
  std::string target_, staging_;
};

}  // namespace tiffin::driver
