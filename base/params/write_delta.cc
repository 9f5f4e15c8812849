// SPDX-License-Identifier: Apache-2.0
#include "base/params/write_delta.h"

#include <cstddef>
#include <cstring>

#include "abi/delta.h"
#include "abi/version.h"
#include "base/artifact_layout.h"
#include "base/atomic_file.h"

namespace tiffin::params {
namespace {

// Every part of a record ends on a multiple of eight.
constexpr uint64_t padded(uint64_t length) { return align_up(length, 8); }

// Bytes on their way to the file and into its digest.
struct HashedFile {
  AtomicFile& file;
  Hasher& hasher;
  Status write(std::span<const uint8_t> bytes) const {
    hasher.update(bytes);
    return file.write(bytes);
  }
  Status pad(uint64_t length) const {
    constexpr uint8_t kZeros[8] = {};
    return write({kZeros, static_cast<size_t>(padded(length) - length)});
  }
};

uint64_t record_bytes(const TensorChange& change, const ParamSource& after) {
  const uint64_t fixed = sizeof(tiffin_delta_record) + padded(change.name.size());
  if (change.change == Change::Removed) return fixed;
  const ParamEntry& entry = after.entries[change.after];
  return fixed + entry.shape.size_bytes() + padded(entry.bytes);
}

Status write_record(const TensorChange& change, const ParamSource& after, Array<uint8_t>& scratch, const HashedFile& out) {
  tiffin_delta_record record{};
  record.name_length = static_cast<uint32_t>(change.name.size());
  std::span<const int64_t> shape;
  std::span<const uint8_t> value;
  if (change.change == Change::Removed) {
    record.change = TIFFIN_DELTA_REMOVED;
  } else {
    const ParamEntry& entry = after.entries[change.after];
    TIFFIN_ASSIGN_OR_RETURN(value, bytes_of(after, change.after, scratch));
    shape = entry.shape;
    record.change = change.change == Change::Added ? TIFFIN_DELTA_ADDED : TIFFIN_DELTA_CHANGED;
    record.dtype = static_cast<uint8_t>(entry.dtype);
    record.tvm_code = entry.tvm_code;
    record.tvm_bits = entry.tvm_bits;
    record.rank = static_cast<uint32_t>(shape.size());
    record.value_length = value.size();
  }
  TIFFIN_TRY(out.write({reinterpret_cast<const uint8_t*>(&record), sizeof(record)}));
  TIFFIN_TRY(out.write({reinterpret_cast<const uint8_t*>(shape.data()), shape.size_bytes()}));
  TIFFIN_TRY(out.write({reinterpret_cast<const uint8_t*>(change.name.data()), change.name.size()}));
  TIFFIN_TRY(out.pad(change.name.size()));
  TIFFIN_TRY(out.write(value));
  return out.pad(value.size());
}

Status fill_digest(const ParamSource& source, uint8_t* out) {
  TIFFIN_ASSIGN_OR_RETURN(const Array<Digest> digests, hash_entries(source));
  TIFFIN_ASSIGN_OR_RETURN(const Digest digest, digest_of_set(source.entries, digests.span()));
  memcpy(out, digest.bytes.data(), digest.bytes.size());
  return {};
}

}  // namespace

Status write_delta_file(const char* path, const ParamSource& before, const ParamSource& after, std::span<const TensorChange> changes) {
  tiffin_delta_header header{};
  constexpr uint8_t kMagic[8] = TIFFIN_DELTA_MAGIC_BYTES;
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.format_major = TIFFIN_FORMAT_MAJOR;
  header.format_minor = TIFFIN_FORMAT_MINOR;
  header.total_length = sizeof(header);
  for (const TensorChange& change : changes) {
    if (change.change == Change::Equal) continue;
    header.total_length += record_bytes(change, after);
    ++header.record_count;
  }
  TIFFIN_TRY(fill_digest(before, header.base_digest));
  TIFFIN_TRY(fill_digest(after, header.result_digest));
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  Hasher hasher;
  const HashedFile out{file, hasher};
  TIFFIN_TRY(out.write({reinterpret_cast<const uint8_t*>(&header), sizeof(header)}));
  Array<uint8_t> scratch;
  for (const TensorChange& change : changes) {
    if (change.change != Change::Equal) TIFFIN_TRY(write_record(change, after, scratch, out));
  }
  TIFFIN_TRY(file.write_at(offsetof(tiffin_delta_header, delta_digest), hasher.finish().bytes));
  return file.commit();
}

}  // namespace tiffin::params
