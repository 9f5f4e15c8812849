// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/sign_artifact.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/artifact_layout.h"
#include "base/atomic_file.h"
#include "runtime/artifact/artifact.h"
#include "runtime/artifact/signature.h"

namespace tiffin::tools {
namespace {

namespace fs = std::filesystem;

template <class T>
std::span<const uint8_t> bytes_of(const T& object) {
  return {reinterpret_cast<const uint8_t*>(&object), sizeof(T)};
}

Status io_error(const char* what, const std::string& path, int reason) {
  return error(Code::Io, "cannot %s '%s': %s", what, path.c_str(), strerror(reason));
}

// Every digest but that of the signature, which is to be replaced anyway.
Status check_digests(const runtime::Artifact& artifact) {
  const runtime::Container& container = artifact.container();
  for (const runtime::Section& section : container.sections()) {
    if (section.kind != TIFFIN_SECTION_SIGNATURE) TIFFIN_TRY(container.check_section(section));
  }
  if (container.is_folder() || container.is_rewritten()) return {};
  TIFFIN_ASSIGN_OR_RETURN(const Digest actual, container.hash_file());
  if (actual == container.file_digest()) return {};
  return error(Code::DigestMismatch, "'%s': the digest of the file is %.16s…, recorded is %.16s…", container.source().name(), to_text(actual).text,
               to_text(container.file_digest()).text);
}

// The new bytes of header and table, and of the signature's section.
struct Sealed {
  std::vector<uint8_t> header;
  tiffin_signature signature{};
};

Status check_place(const runtime::Container& container, const runtime::Section* section) {
  const char* name = container.source().name();
  if (container.is_enclosed()) {
    return error(Code::InvalidArgument, "'%s' is an executable around an artifact, which cannot be signed there", name)
        .with_remedy("sign the artifact, and export it then");
  }
  if (section != nullptr && section->length == sizeof(tiffin_signature)) return {};
  return error(Code::InvalidArgument, "'%s' reserves no place for a signature", name).with_remedy("compile the model again with this version");
}

Result<tiffin_signature> make_signature(const runtime::Container& container, const SecretKey& key, const Signing& signing) {
  tiffin_signature out{};
  out.algorithm = TIFFIN_SIGNATURE_ED25519;
  out.created = signing.created;
  out.release = signing.release;
  memcpy(out.content_digest, container.header().content_digest, sizeof(out.content_digest));
  TIFFIN_ASSIGN_OR_RETURN(const PublicKey shown, public_key_of(key));
  memcpy(out.public_key, shown.bytes.data(), shown.bytes.size());
  TIFFIN_ASSIGN_OR_RETURN(const Signature signature, sign(key, runtime::signed_message(out)));
  memcpy(out.signature, signature.bytes.data(), signature.bytes.size());
  return out;
}

// What a tool rewrote is whole again once it is signed: its length is recorded anew.
Result<Sealed> seal(const runtime::Container& container, const SecretKey& key, const Signing& signing) {
  Sealed out;
  TIFFIN_ASSIGN_OR_RETURN(out.signature, make_signature(container, key, signing));
  tiffin_artifact_header header = container.header();
  std::vector<tiffin_section> table(header.section_count);
  const std::span<uint8_t> table_bytes(reinterpret_cast<uint8_t*>(table.data()), table.size() * sizeof(tiffin_section));
  TIFFIN_TRY(container.header_source().read(container.header_offset() + sizeof(header), table_bytes));
  const auto entry = std::find_if(table.begin(), table.end(), [](const tiffin_section& row) { return row.kind == TIFFIN_SECTION_SIGNATURE; });
  if (entry == table.end()) return error(Code::Internal, "the table lost its signature while it was read");
  memcpy(entry->digest, digest_of(bytes_of(out.signature)).bytes.data(), sizeof(entry->digest));
  if (!container.is_folder()) header.total_length = container.source().size();
  memset(header.file_digest, 0, sizeof(header.file_digest));
  memcpy(header.header_digest, header_digest(header, table).bytes.data(), sizeof(header.header_digest));
  const auto head = bytes_of(header);
  out.header.assign(head.begin(), head.end());
  out.header.insert(out.header.end(), table_bytes.begin(), table_bytes.end());
  return out;
}

struct Patch {
  uint64_t offset;
  std::span<const uint8_t> bytes;
};

void apply(const Patch& patch, uint64_t at, std::span<uint8_t> chunk) {
  const uint64_t begin = std::max(at, patch.offset), end = std::min(at + chunk.size(), patch.offset + patch.bytes.size());
  if (begin < end) memcpy(chunk.data() + (begin - at), patch.bytes.data() + (begin - patch.offset), static_cast<size_t>(end - begin));
}

Status write_signed_file(const runtime::Container& container, const Sealed& sealed, const std::string& path) {
  const runtime::Section& section = *container.find(TIFFIN_SECTION_SIGNATURE);
  const Patch patches[] = {{container.header_offset(), sealed.header}, {section.offset, bytes_of(sealed.signature)}};
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path.c_str()));
  Hasher hasher;
  std::vector<uint8_t> chunk;
  const auto copy = [&](uint64_t begin, uint64_t end, bool is_hashed) -> Status {
    for (uint64_t at = begin; at < end; at += chunk.size()) {
      chunk.resize(static_cast<size_t>(std::min<uint64_t>(1 << 20, end - at)));
      TIFFIN_TRY(container.source().read(at, chunk));
      for (const Patch& patch : patches) apply(patch, at, chunk);
      if (is_hashed) hasher.update(chunk);
      TIFFIN_TRY(file.write(chunk));
    }
    return {};
  };
  const runtime::Section* weights = container.find(TIFFIN_SECTION_WEIGHTS);
  const uint64_t total = container.source().size();
  const uint64_t gap = weights != nullptr ? weights->offset : total, behind = weights != nullptr ? gap + weights->length : total;
  TIFFIN_TRY(copy(0, gap, true));
  TIFFIN_TRY(copy(gap, behind, false));  // the weights, which have a digest of their own
  TIFFIN_TRY(copy(behind, total, true));
  TIFFIN_TRY(file.write_at(container.header_offset() + offsetof(tiffin_artifact_header, file_digest), hasher.finish().bytes));
  return file.commit();
}

Status write_member(const fs::path& path, std::span<const uint8_t> bytes) {
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path.c_str()));
  TIFFIN_TRY(file.write(bytes));
  return file.commit();
}

// A folder beside `original` with the same files, by hard links; removed unless it took the original's place.
class Twin {
 public:
  Twin() = default;
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;
  ~Twin() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  Status make(const fs::path& original) {
    char own[40];  // as AtomicFile calls its temporaries, so that an interruption finds it
    snprintf(own, sizeof(own), ".tiffin-%08x.XXXXXX", static_cast<unsigned>(getpid()));
    std::string name = (original.parent_path() / own).string();
    if (mkdtemp(name.data()) == nullptr) return io_error("make a folder beside", original.string(), errno);
    path_ = name;
    std::error_code failure;
    fs::copy(original, path_, fs::copy_options::recursive | fs::copy_options::create_hard_links | fs::copy_options::copy_symlinks, failure);
    if (!failure) fs::permissions(path_, fs::status(original, failure).permissions(), failure);
    return failure ? io_error("link the files of", original.string(), failure.value()) : Status();
  }

  // Afterwards this is the old folder, which goes.
  Status exchange(const fs::path& original) {
    if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, original.c_str(), RENAME_EXCHANGE) == 0) return {};
    return io_error("exchange the folder", original.string(), errno).with_remedy("sign the bundle as .tar, and unpack that");
  }

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Status write_signed_folder(const Sealed& sealed, const std::string& path) {
  std::error_code failure;
  const fs::path original = fs::canonical(path, failure);
  if (failure) return io_error("find", path, failure.value());
  char member[kMemberPathBytes];
  if (!member_path(TIFFIN_SECTION_SIGNATURE, "signature", member)) return error(Code::Internal, "a signature has no path");
  Twin twin;
  TIFFIN_TRY(twin.make(original));
  TIFFIN_TRY(write_member(twin.path() / member, bytes_of(sealed.signature)));
  TIFFIN_TRY(write_member(twin.path() / kHeaderMember, sealed.header));
  return twin.exchange(original);
}

}  // namespace

Result<tiffin_signature> sign_artifact(const std::string& path, const SecretKey& key, const Signing& signing) {
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::open(path.c_str()));
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact artifact, runtime::Artifact::open(std::move(source), runtime::VerifyLevel::None));
  const runtime::Container& container = artifact.container();
  TIFFIN_TRY(check_place(container, container.find(TIFFIN_SECTION_SIGNATURE)));
  TIFFIN_TRY(check_digests(artifact));
  TIFFIN_ASSIGN_OR_RETURN(const Sealed sealed, seal(container, key, signing));
  TIFFIN_TRY(container.is_folder() ? write_signed_folder(sealed, path) : write_signed_file(container, sealed, path));
  return sealed.signature;
}

}  // namespace tiffin::tools
