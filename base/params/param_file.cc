// SPDX-License-Identifier: Apache-2.0
#include "base/params/param_file.h"

#include <cstring>

#include "base/params/foreign_files.h"

namespace tiffin::params {
namespace {

struct FormatRow {
  Format format;
  const char* name;
};
constexpr FormatRow kFormats[] = {{Format::Safetensors, "safetensors"}, {Format::TvmParams, "params"}, {Format::Weights, "tfw"}};

}  // namespace

const char* format_name(Format format) { return kFormats[static_cast<size_t>(format)].name; }

Result<Format> format_of_path(const char* path) {
  const char* dot = strrchr(path, '.');
  for (const FormatRow& row : kFormats) {
    if (dot != nullptr && strcmp(dot + 1, row.name) == 0) return row.format;
  }
  return error(Code::InvalidArgument, "the name '%s' does not say a format of parameters, expected .safetensors, .params or .tfw", path);
}

Result<ParamFile> ParamFile::from_memory(std::span<const uint8_t> bytes) {
  ParamFile file;
  file.file_bytes_ = bytes.size();
  if (is_weights(bytes)) {
    file.format_ = Format::Weights;
    TIFFIN_ASSIGN_OR_RETURN(file.weights_, Weights::read(bytes));
    return file;
  }
  TIFFIN_ASSIGN_OR_RETURN(file.list_, read_foreign_file(bytes, &file.format_));
  return file;
}

Result<ParamFile> ParamFile::open(const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(Mapping mapping, Mapping::open_file(path));
  Result<ParamFile> file = from_memory(mapping.bytes());
  if (!file.has_value()) return file.take_error().with_context("'%s'", path);
  file->mapping_ = std::move(mapping);
  return file;
}

ParamSource ParamFile::source() const { return weights_.has_value() ? weights_->source() : ParamSource{list_.entries.span()}; }

}  // namespace tiffin::params
