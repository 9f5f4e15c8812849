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

Status ParamFile::parse(std::span<const uint8_t> bytes) {
  file_bytes_ = bytes.size();
  if (is_weights(bytes)) {
    format_ = Format::Weights;
    return weights_.emplace().parse(bytes);
  }
  TIFFIN_ASSIGN_OR_RETURN(list_, read_foreign_file(bytes, &format_));
  return {};
}

Result<ParamFile> ParamFile::from_memory(std::span<const uint8_t> bytes) {
  ParamFile file;
  TIFFIN_TRY(file.parse(bytes));
  return file;
}

Result<ParamFile> ParamFile::open(const char* path) {
  ParamFile file;
  TIFFIN_ASSIGN_OR_RETURN(file.mapping_, Mapping::open_file(path));
  if (Status status = file.parse(file.mapping_.bytes()); !status.is_ok()) return std::move(status).with_context("'%s'", path);
  return file;
}

ParamSource ParamFile::source() const { return weights_.has_value() ? weights_->source() : ParamSource{list_.entries.span()}; }

}  // namespace tiffin::params
