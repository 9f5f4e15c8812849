// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/cache_key.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <span>
#include <thread>

#include "abi/version.h"
#include "base/mapping.h"
#include "compiler/codegen/target.h"
#include "compiler/driver/creation_time.h"
#include "compiler/import/onnx/external_locations.h"

namespace tiffin::driver {
namespace {

namespace fs = std::filesystem;

// Of the digests of pieces, which several threads compute: the time of a hit is the time to hash the model.
Digest digest_by_pieces(std::span<const uint8_t> bytes) {
  constexpr size_t kPieceBytes = size_t{4} << 20;
  constexpr unsigned kMostThreads = 4;
  std::vector<Digest> digests((bytes.size() + kPieceBytes - 1) / kPieceBytes);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < digests.size(); i = next++) {
      digests[i] = digest_of(bytes.subspan(i * kPieceBytes, std::min(kPieceBytes, bytes.size() - i * kPieceBytes)));
    }
  };
  std::vector<std::thread> threads(std::min<size_t>(std::min(kMostThreads, std::thread::hardware_concurrency()), digests.size()));
  for (std::thread& thread : threads) thread = std::thread(work);
  work();
  for (std::thread& thread : threads) thread.join();
  Hasher hasher;
  hasher.update_u64(bytes.size());
  for (const Digest& digest : digests) hasher.update(digest.bytes);
  return hasher.finish();
}

// Labelled values, each with its length, so that no two lists of them give the same bytes.
class KeyHasher {
 public:
  void add(std::string_view label, std::span<const uint8_t> value) {
    hasher_.update_u64(label.size());
    hasher_.update({reinterpret_cast<const uint8_t*>(label.data()), label.size()});
    hasher_.update_u64(value.size());
    hasher_.update(value);
  }
  void add(std::string_view label, std::string_view value) { add(label, std::span(reinterpret_cast<const uint8_t*>(value.data()), value.size())); }
  void add(std::string_view label, int64_t value) { add(label, std::to_string(value)); }
  void add(std::string_view label, const Digest& digest) { add(label, std::span<const uint8_t>(digest.bytes)); }
  Status add_file(std::string_view label, const std::string& path) {
    TIFFIN_ASSIGN_OR_RETURN(const Mapping file, Mapping::open_file(path.c_str()));
    add(label, digest_by_pieces(file.bytes()));
    return {};
  }
  Digest finish() const { return hasher_.finish(); }

 private:
  Hasher hasher_;
};

// Files beside the model that its tensors name. A location that the importer refuses ends the compilation, which then stores nothing.
Status add_external_data(const std::string& model, std::span<const uint8_t> bytes, KeyHasher& key) {
  const auto locations = import::external_locations(bytes);
  if (!locations.has_value()) return {};  // a text, or no model at all
  for (const std::string& location : *locations) {
    key.add("external location", location);
    TIFFIN_TRY(key.add_file("external data", (fs::path(model).parent_path() / location).string()));
  }
  return {};
}

Status add_options(const CompileOptions& options, KeyHasher& key) {
  for (const std::string& word : options.targets) {
    TIFFIN_ASSIGN_OR_RETURN(const codegen::Target target, codegen::parse_target(word));
    key.add("target", target.text);
    for (const std::string& feature : target.features) key.add("feature", feature);
  }
  key.add("entry", options.entry);
  key.add("opt_level", options.opt_level);
  key.add("embed_params", options.embed_params ? 1 : 0);
  for (const auto& [name, size] : options.dims) {
    key.add("dim", name);
    key.add("size", size);
  }
  for (const auto& [name, shape] : options.input_shapes) {
    key.add("input_shape", name);
    for (const int64_t extent : shape) key.add("extent", extent);
  }
  for (const std::string& pass : options.skip) key.add("skip", pass);
  key.add("golden", options.golden_count);
  key.add("with_sources", options.with_sources ? 1 : 0);
  return {};
}

Status add_folder(const std::string& folder, KeyHasher& key) {
  std::error_code failed;
  std::vector<std::string> paths;
  fs::recursive_directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    if (entry->is_regular_file(failed)) paths.push_back(fs::relative(entry->path(), folder, failed).string());
  }
  if (failed) return error(Code::Io, "cannot read the folder '%s': %s", folder.c_str(), failed.message().c_str());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    key.add("path", path);
    TIFFIN_TRY(key.add_file("content", (fs::path(folder) / path).string()));
  }
  return {};
}

// The build ID among an object's notes; empty without one.
std::span<const uint8_t> build_id(const dl_phdr_info& object) {
  for (const ElfW(Phdr) & segment : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const uint8_t*>(object.dlpi_addr + segment.p_vaddr);
    const uint8_t* end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      memcpy(&note, at, sizeof(note));
      const uint8_t* owner = at + sizeof(note);
      const uint8_t* description = owner + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(owner, "GNU", 4) == 0) return {description, note.n_descsz};
      at = description + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return {};
}

struct Identity {
  KeyHasher key;
  Status status;
};

int add_object(dl_phdr_info* object, size_t, void* context) {
  auto& identity = *static_cast<Identity*>(context);
  const bool is_program = object->dlpi_name[0] == 0;
  if (!is_program && strchr(object->dlpi_name, '/') == nullptr) return 0;  // the kernel's own
  const std::span<const uint8_t> id = build_id(*object);
  if (!id.empty()) {
    identity.key.add("build id", id);
  } else {
    identity.status = identity.key.add_file("object", is_program ? "/proc/self/exe" : object->dlpi_name);
  }
  return identity.status.is_ok() ? 0 : 1;
}

}  // namespace

Result<Digest> compiler_identity() {
  Identity identity;
  identity.key.add("version", std::string_view(TIFFIN_VERSION));
  dl_iterate_phdr(add_object, &identity);
  if (!identity.status.is_ok()) return std::move(identity.status);
  return identity.key.finish();
}

Result<Digest> cache_key(const CacheRequest& request) {
  KeyHasher key;
  TIFFIN_ASSIGN_OR_RETURN(const Digest compiler, compiler_identity());
  key.add("compiler", compiler);
  {
    TIFFIN_ASSIGN_OR_RETURN(const Mapping model, Mapping::open_file(request.model.c_str()));
    key.add("model", digest_by_pieces(model.bytes()));
    TIFFIN_TRY(add_external_data(request.model, model.bytes(), key));
  }
  const std::string& name = request.options->net_name;
  key.add("name", name.empty() ? fs::path(request.model).stem().string() : name);
  TIFFIN_TRY(add_options(*request.options, key));
  key.add("form", request.is_bundle ? "bundle" : "shared object");
  key.add("params", request.params_suffix);
  if (const auto created = creation_time()) key.add("created", *created);
  for (const std::string& path : request.input_files) {
    key.add("file", fs::path(path).filename().string());
    TIFFIN_TRY(key.add_file("content", path));
  }
  for (const std::string& folder : request.input_folders) TIFFIN_TRY(add_folder(folder, key));
  if (!request.input_bytes.empty()) key.add("bytes", std::span<const uint8_t>(request.input_bytes));
  return key.finish();
}

}  // namespace tiffin::driver
