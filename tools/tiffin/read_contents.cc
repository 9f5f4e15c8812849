// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/read_contents.h"

#include <memory>
#include <optional>

#include "base/mapping.h"
#include "base/params/weights_file.h"
#include "runtime/artifact/artifact.h"

namespace tiffin::tools {
namespace {

Result<std::vector<uint8_t>> bytes_of(const runtime::Artifact& artifact, const runtime::Section& section) {
  std::vector<uint8_t> bytes(static_cast<size_t>(section.length));
  const runtime::Source& file = artifact.container().source_of(section);
  const auto head = static_cast<size_t>(section.kind == TIFFIN_SECTION_CODE ? section.code_start : section.length);
  TIFFIN_TRY(file.read(section.offset, {bytes.data(), head}));
  if (head < bytes.size()) TIFFIN_TRY(file.read(section.code_offset, {bytes.data() + head, bytes.size() - head}));
  return bytes;
}

// The embedded weights where they lie, or copied where no file can be mapped.
struct OpenWeights {
  runtime::Artifact artifact;
  runtime::Pages window;
  Mapping file;  // of weights beside the artifact
  std::optional<params::Weights> weights;

  explicit OpenWeights(runtime::Artifact opened) : artifact(std::move(opened)) {}

  Status open() {
    const runtime::Section* section = artifact.weights();
    if (section == nullptr) return {};
    const runtime::Source& file = artifact.container().source_of(*section);
    TIFFIN_ASSIGN_OR_RETURN(window, file.map(section->offset, section->length));
    TIFFIN_ASSIGN_OR_RETURN(params::Weights read, params::Weights::read({window.data(), static_cast<size_t>(section->length)}));
    weights.emplace(std::move(read));
    return {};
  }

  Status open_beside(const std::string& path) {
    TIFFIN_ASSIGN_OR_RETURN(file, Mapping::open_file(path.c_str()));
    TIFFIN_ASSIGN_OR_RETURN(params::Weights read, params::Weights::read(file.bytes()));
    if (read.plan().digest() != artifact.storage_plan().digest()) {
      return error(Code::InvalidParams, "'%s' holds the weights of another storage plan than '%s'", path.c_str(),
                   artifact.container().source().name());
    }
    weights.emplace(std::move(read));
    return {};
  }

  Result<std::span<const uint8_t>> read(size_t index, Array<uint8_t>& scratch) const {
    const params::StoragePlan& plan = weights->plan();
    const auto bytes = static_cast<size_t>(plan.parameters()[index].bytes);
    if (const uint8_t* place = plan.find_in_place(index, weights->data())) return std::span<const uint8_t>{place, bytes};
    if (!scratch.resize(bytes)) return error(Code::OutOfMemory, "no memory for a parameter of %zu bytes", bytes);
    TIFFIN_TRY(plan.restore_parameter(index, weights->data(), scratch.span()));
    return std::span<const uint8_t>{scratch.data(), bytes};
  }
};

Status read_code(const runtime::Artifact& artifact, artifact::Contents& contents) {
  for (const abi::Variant* variant : *artifact.program().variants()) {
    const bool is_data = variant->machine() == 0;
    const runtime::Section* section =
        artifact.container().find(is_data ? TIFFIN_SECTION_KERNEL_IR : TIFFIN_SECTION_CODE, runtime::view(variant->code_section()));
    if (section == nullptr) {
      return error(Code::NotAnArtifact, "'%s' is damaged: it has no code for '%s'", artifact.container().source().name(), variant->target()->c_str());
    }
    TIFFIN_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, bytes_of(artifact, *section));
    contents.code.push_back({section->kind, std::move(bytes), section->code_start, 0});
  }
  return {};
}

Status read_attachments(const runtime::Artifact& artifact, artifact::Contents& contents) {
  const auto* rows = artifact.manifest().attachments();
  if (rows == nullptr) return {};
  for (const abi::Attachment* row : *rows) {
    for (const runtime::Section& section : artifact.container().sections()) {
      if (section.name != runtime::view(row->section())) continue;
      TIFFIN_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, bytes_of(artifact, section));
      contents.attachments.push_back({section.kind, row->name()->str(), std::move(bytes)});
    }
  }
  return {};
}

}  // namespace

Result<artifact::Contents> read_contents(const std::string& path, const std::string& params) {
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::open(path.c_str()));
  TIFFIN_ASSIGN_OR_RETURN(runtime::Artifact opened, runtime::Artifact::open(std::move(source), runtime::VerifyLevel::All));
  const auto open = std::make_shared<OpenWeights>(std::move(opened));
  TIFFIN_TRY(params.empty() ? open->open() : open->open_beside(params));
  const runtime::Artifact& artifact = open->artifact;

  artifact::Contents contents;
  artifact.program().UnPackTo(&contents.program);
  artifact.storage_plan().table().UnPackTo(&contents.storage);
  artifact.manifest().UnPackTo(&contents.manifest);
  TIFFIN_TRY(read_code(artifact, contents));
  TIFFIN_TRY(read_attachments(artifact, contents));
  if (const runtime::Section* constants = artifact.container().find(TIFFIN_SECTION_CONSTANTS)) {
    TIFFIN_ASSIGN_OR_RETURN(contents.constants, bytes_of(artifact, *constants));
  }
  if (const runtime::Section* golden = artifact.container().find(TIFFIN_SECTION_GOLDEN)) {
    TIFFIN_ASSIGN_OR_RETURN(contents.golden, bytes_of(artifact, *golden));
  }
  contents.digests.assign(artifact.parameter_digests().begin(), artifact.parameter_digests().end());
  contents.embed_params = open->weights.has_value() && params.empty();
  if (open->weights.has_value()) contents.read_parameter = [open](size_t index, Array<uint8_t>& scratch) { return open->read(index, scratch); };
  return contents;
}

}  // namespace tiffin::tools
