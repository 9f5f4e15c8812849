// SPDX-License-Identifier: Apache-2.0
// Which files --inputs and --input name, and their tensors.
#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/commands/byte_file.h"
#include "tools/commands/inputs.h"
#include "tools/commands/npy.h"

namespace tiffin::tools {
namespace {

Status copy_text(std::string_view text, Array<char>* out) {
  if (out->append(std::span<const char>(text.data(), text.size())) && out->append('\0')) return {};
  return out_of_memory();
}

// Names of the folder's tensor files in alphabetical order, NUL separated, so that errors do not depend on the file system.
struct Listing {
  Array<char> text;
  Array<size_t> starts;
  const char* name(size_t i) const { return text.data() + starts[i]; }
};

Result<Listing> list_folder(const char* folder) {
  Listing listing;
  DIR* stream = opendir(folder);
  if (stream == nullptr) return error(Code::Io, "cannot read the folder '%s': %s", folder, strerror(errno));
  bool has_memory = true;
  while (const dirent* entry = readdir(stream)) {
    if (!is_tensor_file(entry->d_name)) continue;
    has_memory = listing.starts.append(listing.text.size()) && copy_text(entry->d_name, &listing.text).is_ok();
    if (!has_memory) break;
  }
  closedir(stream);
  if (!has_memory) return out_of_memory();
  std::sort(listing.starts.begin(), listing.starts.end(),
            [&](size_t a, size_t b) { return strcmp(listing.text.data() + a, listing.text.data() + b) < 0; });
  return listing;
}

// N of "input_N"; kByName for other names.
size_t position_of(std::string_view stem) {
  constexpr std::string_view kPrefix = "input_";
  if (!stem.starts_with(kPrefix) || stem.size() == kPrefix.size() || stem.size() > kPrefix.size() + 6) return GivenFile::kByName;
  stem.remove_prefix(kPrefix.size());
  size_t position = 0;
  for (const char c : stem) {
    if (c < '0' || c > '9') return GivenFile::kByName;
    position = position * 10 + static_cast<size_t>(c - '0');
  }
  return position;
}

Status describe_file(const char* folder, const char* file, GivenFile* out) {
  const std::string_view text = file;
  const std::string_view stem(file, text.rfind('.'));
  out->position = position_of(stem);
  out->is_output = is_output_name(stem);
  TIFFIN_TRY(copy_text(stem, &out->name));
  TIFFIN_ASSIGN_OR_RETURN(out->path, joined_path(folder, file));
  return {};
}

Result<HostTensor> read_tensor(const char* path, const Extensions* extensions) {
  if (!std::string_view(path).ends_with(".pb")) return read_npy(path);
  if (extensions != nullptr) return extensions->read_pb(path);
  return error(Code::InvalidInput, "'%s' is a .pb file, this program reads .npy alone", path)
      .with_remedy("use 'tiffin run', which reads .pb too, or write the tensor as .npy");
}

}  // namespace

bool is_tensor_file(std::string_view name) { return !name.starts_with('.') && (name.ends_with(".npy") || name.ends_with(".pb")); }

bool is_output_name(std::string_view name) { return name.starts_with("output_"); }

Result<FixedList<GivenFile>> find_given_files(const Arguments& arguments) {
  Listing listing;
  if (arguments.inputs != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(listing, list_folder(arguments.inputs));
  }
  const size_t in_folder = listing.starts.size();
  FixedList<GivenFile> given;
  TIFFIN_TRY(given.create(in_folder + arguments.input_file_count));
  for (size_t i = 0; i < in_folder; ++i) TIFFIN_TRY(describe_file(arguments.inputs, listing.name(i), &given[i]));
  for (size_t i = 0; i < arguments.input_file_count; ++i) {
    GivenFile& file = given[in_folder + i];
    file.is_option = true;
    TIFFIN_TRY(copy_text(arguments.input_files[i].name, &file.name));
    TIFFIN_TRY(copy_text(arguments.input_files[i].file, &file.path));
  }
  for (GivenFile& file : given) file.is_read = false;
  return given;
}

Status read_given(GivenFile& file, std::string_view input, const Extensions* extensions) {
  if (file.is_read) return {};
  Result<HostTensor> tensor = read_tensor(file.path.data(), extensions);
  if (!tensor.has_value()) return tensor.take_error().with_context("input '%.*s'", static_cast<int>(input.size()), input.data());
  file.tensor = std::move(*tensor);
  file.is_read = true;
  return {};
}

}  // namespace tiffin::tools
