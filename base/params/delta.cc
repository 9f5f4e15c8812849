// SPDX-License-Identifier: Apache-2.0
#include "base/params/delta.h"

#include <cstring>

#include "abi/artifact.h"
#include "abi/delta.h"
#include "abi/version.h"
#include "base/byte_reader.h"
#include "base/params/compare_sets.h"
#include "base/params/tvm_params.h"
#include "base/text.h"

namespace tiffin::params {

static_assert(sizeof(tiffin_delta_header) == 128 && sizeof(tiffin_delta_record) == 24);

// Steps from record to record.
class DeltaReader {
 public:
  explicit DeltaReader(std::span<const uint8_t> bytes) : reader(bytes) {}
  void skip_padding(uint64_t length) {
    for (const uint8_t byte : reader.read_bytes((8 - length % 8) % 8)) has_padding |= byte != 0;
  }
  ByteReader reader;
  bool has_padding = false;  // that is not zero
};

namespace {

unsigned long long printable(uint64_t value) { return value; }

Status malformed(size_t index, const char* what) { return error(Code::InvalidParams, "the delta's record %zu %s", index, what); }

Status check_header(const tiffin_delta_header& header, std::span<const uint8_t> bytes) {
  if (header.format_major != TIFFIN_FORMAT_MAJOR) {
    return error(header.format_major > TIFFIN_FORMAT_MAJOR ? Code::FormatTooNew : Code::FormatTooOld,
                 "the delta has format %u.%u, this version reads %u.x", header.format_major, header.format_minor, TIFFIN_FORMAT_MAJOR);
  }
  if (header.total_length > bytes.size()) {
    return error(Code::Truncated, "the delta ends after %zu of %llu bytes", bytes.size(), printable(header.total_length));
  }
  if (header.total_length < bytes.size()) {
    return error(Code::InvalidParams, "%llu trailing bytes after the delta's %llu", printable(bytes.size() - header.total_length),
                 printable(header.total_length));
  }
  tiffin_delta_header zeroed = header;
  memset(zeroed.delta_digest, 0, sizeof(zeroed.delta_digest));
  Hasher hasher;
  hasher.update({reinterpret_cast<const uint8_t*>(&zeroed), sizeof(zeroed)});
  hasher.update(bytes.subspan(sizeof(header)));
  if (memcmp(hasher.finish().bytes.data(), header.delta_digest, sizeof(header.delta_digest)) == 0) return {};
  return error(Code::DigestMismatch, "the delta's bytes differ from their digest: it was damaged");
}

// False unless dtype and shape make a value of so many bytes, and a .params file may spell the dtype so.
bool has_sound_type(const ParamEntry& entry) {
  const bool is_spelt = entry.tvm_code != 0 || entry.tvm_bits != 0;
  if (is_spelt && !is_tvm_spelling(entry.dtype, entry.tvm_code, entry.tvm_bits)) return false;
  uint64_t count = 1, bytes = 0;
  for (const int64_t extent : entry.shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count)) return false;
  }
  return storage_bytes(entry.dtype, count, &bytes) && bytes == entry.bytes;
}

Status names_twice(std::span<const ParamEntry> entries) {
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex names, NameIndex::create(entries));
  const ParamEntry* twice = names.first_duplicate();
  if (twice == nullptr) return {};
  return error(Code::InvalidParams, "the delta names '%.*s' twice", static_cast<int>(twice->name.size()), twice->name.data());
}

}  // namespace

Status Delta::read_record(DeltaReader& from, size_t index) {
  const auto record = from.reader.read<tiffin_delta_record>();
  if (from.reader.has_failed()) return malformed(index, "lies beyond its end");
  if (record.change > TIFFIN_DELTA_REMOVED || record.reserved != 0) return malformed(index, "is of no known kind");
  if (record.rank > TIFFIN_MAX_RANK) return malformed(index, "has too many axes");
  ParamEntry entry;
  entry.dtype = static_cast<DType>(record.dtype);
  entry.bytes = record.value_length;
  entry.tvm_code = record.tvm_code;
  entry.tvm_bits = record.tvm_bits;
  const size_t first = extents_.size();
  for (uint32_t i = 0; i < record.rank; ++i) {
    if (!extents_.append(from.reader.read<int64_t>())) return error(Code::OutOfMemory, "no memory for the delta's shapes");
  }
  entry.shape = {extents_.data() + first, record.rank};  // read() sets the pointer again when all have come
  entry.name = from.reader.read_text(record.name_length);
  from.skip_padding(record.name_length);
  const auto value = from.reader.read_bytes(record.value_length);
  from.skip_padding(record.value_length);
  if (from.reader.has_failed()) return malformed(index, "lies beyond its end");
  if (from.has_padding) return malformed(index, "has padding that is not zero");
  entry.data = value.data();
  if (record.change == TIFFIN_DELTA_REMOVED) {
    const bool is_bare = record.dtype == 0 && record.tvm_code == 0 && record.tvm_bits == 0 && record.rank == 0 && record.value_length == 0;
    if (!is_bare) return malformed(index, "removes a tensor and gives it a value");
    return removed_.append(entry) ? Status() : error(Code::OutOfMemory, "no memory for the delta's records");
  }
  if (!is_known_dtype(record.dtype) || !has_sound_type(entry)) return malformed(index, "has a value that does not fit its type and shape");
  if (!values_.append(entry) || !changes_.append(record.change)) return error(Code::OutOfMemory, "no memory for the delta's records");
  return {};
}

Result<Delta> Delta::read(std::span<const uint8_t> bytes) {
  constexpr uint8_t kMagic[8] = TIFFIN_DELTA_MAGIC_BYTES;
  const size_t known = bytes.size() < sizeof(kMagic) ? bytes.size() : sizeof(kMagic);
  if (known > 0 && memcmp(bytes.data(), kMagic, known) != 0) return error(Code::InvalidParams, "the file is no delta of parameters");
  if (bytes.size() < sizeof(tiffin_delta_header)) {
    return error(Code::Truncated, "the delta ends after %zu of its header's %zu bytes", bytes.size(), sizeof(tiffin_delta_header));
  }
  tiffin_delta_header header;
  memcpy(&header, bytes.data(), sizeof(header));
  TIFFIN_TRY(check_header(header, bytes));
  Delta delta;
  memcpy(delta.base_.bytes.data(), header.base_digest, sizeof(header.base_digest));
  memcpy(delta.result_.bytes.data(), header.result_digest, sizeof(header.result_digest));
  DeltaReader reader(bytes.subspan(sizeof(header)));
  for (uint64_t i = 0; i < header.record_count; ++i) TIFFIN_TRY(delta.read_record(reader, static_cast<size_t>(i)));
  if (reader.reader.remaining() != 0) {
    return error(Code::InvalidParams, "%llu bytes follow the delta's last record", printable(reader.reader.remaining()));
  }
  const int64_t* extents = delta.extents_.data();
  for (ParamEntry& entry : delta.values_) {
    entry.shape = {extents, entry.shape.size()};
    extents += entry.shape.size();
  }
  TIFFIN_TRY(names_twice(delta.values_.span()));
  TIFFIN_TRY(names_twice(delta.removed_.span()));
  return delta;
}

Result<Delta> Delta::open(const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(Mapping mapping, Mapping::open_file(path));
  Result<Delta> delta = read(mapping.bytes());
  if (!delta.has_value()) return delta.take_error().with_context("'%s'", path);
  delta->mapping_ = std::move(mapping);
  return delta;
}

Result<PatchedSet> PatchedSet::create(const ParamSource& base, const Delta& delta) {
  TIFFIN_ASSIGN_OR_RETURN(const Array<Digest> digests, hash_entries(base));
  TIFFIN_ASSIGN_OR_RETURN(const Digest found, digest_of_set(base.entries, digests.span()));
  if (found != delta.base_) {
    return error(Code::StaleGeneration, "the base has the digest %.16s, the delta was made for %.16s", to_text(found).text, to_text(delta.base_).text)
        .with_remedy("apply it to the parameters it was made from, or make a new delta from these");
  }
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex names, NameIndex::create(base.entries));
  for (size_t i = 0; i < delta.values_.size(); ++i) {
    const bool is_known = names.find(delta.values_[i].name) != NameIndex::kAbsent;
    if (is_known != (delta.changes_[i] == TIFFIN_DELTA_CHANGED)) return malformed(i, is_known ? "adds a tensor that exists" : "changes no tensor");
  }
  for (size_t i = 0; i < delta.removed_.size(); ++i) {
    if (names.find(delta.removed_[i].name) == NameIndex::kAbsent) return malformed(i, "removes no tensor");
  }
  PatchedSet patched;
  TIFFIN_ASSIGN_OR_RETURN(patched.overlay_, Overlay::create(base, ParamSource{delta.values()}, delta.removed()));
  TIFFIN_ASSIGN_OR_RETURN(const Array<Digest> result_digests, hash_entries(patched.source()));
  TIFFIN_ASSIGN_OR_RETURN(const Digest result, digest_of_set(patched.source().entries, result_digests.span()));
  if (result == delta.result_) return patched;
  return error(Code::DigestMismatch, "the delta leads to a set with the digest %.16s, it announces %.16s", to_text(result).text,
               to_text(delta.result_).text);
}

}  // namespace tiffin::params
