// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/external_data.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace tiffin::import {
namespace {

Result<std::string> real_path(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return error(Code::Io, "cannot open '%s': %s", path.c_str(), strerror(errno));
  std::string out = resolved;
  free(resolved);
  return out;
}

Status check_location(const std::string& location) {
  const char* fault = nullptr;
  if (location.empty()) fault = "is empty";
  if (location.find('\0') != std::string::npos) fault = "holds a NUL byte";
  if (location.starts_with('/')) fault = "is absolute";
  std::istringstream parts(location);
  for (std::string part; std::getline(parts, part, '/');) {
    if (part == "..") fault = "has '..'";
  }
  if (fault == nullptr) return {};
  return error(Code::InvalidModel, "external data location '%s' %s, a path inside the model's folder is expected", location.c_str(), fault);
}

Result<uint64_t> parse_number(const char* key, const std::optional<std::string>& text, uint64_t otherwise) {
  if (!text) return otherwise;
  uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (failure != std::errc() || end != text->data() + text->size() || text->empty()) {
    return error(Code::InvalidModel, "external data %s '%s' is not a number of bytes", key, text->c_str());
  }
  return value;
}

}  // namespace

Result<MappedFile> ExternalFiles::open(const std::string& location) {
  TIFFIN_TRY(check_location(location));
  if (folder_.empty()) return error(Code::InvalidModel, "external data '%s' of a model that is not a file", location.c_str());
  TIFFIN_ASSIGN_OR_RETURN(const std::string folder, real_path(folder_));
  TIFFIN_ASSIGN_OR_RETURN(const std::string path, real_path(folder_ + "/" + location));
  if (!path.starts_with(folder == "/" ? folder : folder + "/")) {
    return error(Code::InvalidModel, "external data '%s' is a link to '%s', outside the model's folder '%s'", location.c_str(), path.c_str(),
                 folder.c_str());
  }
  return map_file(path);
}

Result<MappedFile> ExternalFiles::find(const ExternalLocation& where, uint64_t size) {
  TIFFIN_ASSIGN_OR_RETURN(const uint64_t offset, parse_number("offset", where.offset, 0));
  TIFFIN_ASSIGN_OR_RETURN(const uint64_t length, parse_number("length", where.length, size));
  if (length != size) {
    return error(Code::InvalidModel, "external data '%s' has length %llu, the tensor needs %llu bytes", where.location.c_str(),
                 static_cast<unsigned long long>(length), static_cast<unsigned long long>(size));
  }
  auto found = files_.find(where.location);
  if (found == files_.end()) {
    TIFFIN_ASSIGN_OR_RETURN(MappedFile file, open(where.location));
    found = files_.emplace(where.location, std::move(file)).first;
  }
  const MappedFile& file = found->second;
  if (offset > file.bytes.size() || length > file.bytes.size() - offset) {
    return error(Code::InvalidModel, "external data '%s' has %zu bytes, offset %llu and length %llu reach beyond", where.location.c_str(),
                 file.bytes.size(), static_cast<unsigned long long>(offset), static_cast<unsigned long long>(length));
  }
  return MappedFile{file.bytes.subspan(offset, length), file.owner};
}

}  // namespace tiffin::import
