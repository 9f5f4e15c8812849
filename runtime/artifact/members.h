// SPDX-License-Identifier: Apache-2.0
// The members of a bundle: of a tar archive (POSIX.1-2001 ustar and pax), where they lie in the file, or of the folder it was unpacked into, where
// each is a file of its own. Nothing is extracted or created.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "runtime/host/arena.h"
#include "runtime/host/source.h"

namespace tiffin::runtime {

class Members {
 public:
  struct Place {
    const Source* source = nullptr;  // a file of the folder, owned here; null: the bundle's own source
    uint64_t offset = 0, bytes = 0;
  };

  Members() = default;
  Members(Members&& other) noexcept;
  Members& operator=(Members&& other) noexcept;
  ~Members();

  // Reads an archive's headers, nothing else. NotAnArtifact for a damaged one, Truncated when it ends before its end mark, Io.
  static Result<Members> read(const Source& source);

  // The member of that path, NUL terminated. NotAnArtifact when there is none, Io.
  Result<Place> find(const Source& source, const char* path);
  // The same in an archive.
  Result<Place> find_packed(const Source& source, const char* path) const;

 private:
  struct Entry {
    const char* path;
    uint64_t offset, bytes;
  };
  Status read_archive(const Source& source);
  Result<Place> open_file(const Source& folder, const char* path);

  Arena arena_;
  Entry* entries_ = nullptr;
  size_t entry_count_ = 0;
  Source* files_ = nullptr;  // of a folder, in the order they were asked for
  size_t file_count_ = 0;
};

}  // namespace tiffin::runtime
