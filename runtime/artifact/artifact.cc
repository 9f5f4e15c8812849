// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/artifact.h"

#include <cinttypes>
#include <cstring>

#include "base/artifact_layout.h"
#include "runtime/artifact/check_program.h"
#include "runtime/artifact/signature.h"

namespace tiffin::runtime {
namespace {

// A table takes four bytes and its reference four. More tables than fit are shared between many parents, which would make the check slow.
flatbuffers::Verifier::Options verifier_options(size_t bytes) {
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes / 8 + 2);
  return options;
}

Result<const Section*> require_section(const Container& container, tiffin_section_kind kind, const char* name) {
  const Section* section = container.find(kind);
  if (section == nullptr) return error(Code::NotAnArtifact, "'%s' is damaged: it has no section '%s'", container.source().name(), name);
  if (section->length >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return error(Code::NotAnArtifact, "'%s' is damaged: section '%s' has %" PRIu64 " bytes", container.source().name(), name, section->length);
  }
  return section;
}

// The table of type T in the envelope that the section holds.
template <class T>
Result<const T*> read_table(const Container& container, tiffin_section_kind kind, const char* name, Arena& arena) {
  TIFFIN_ASSIGN_OR_RETURN(const Section* section, require_section(container, kind, name));
  TIFFIN_ASSIGN_OR_RETURN(const auto bytes, container.read_section(*section, arena));
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), verifier_options(bytes.size()));
  const T* table = nullptr;
  if (abi::VerifyEnvelopeBuffer(verifier)) table = abi::GetEnvelope(bytes.data())->template root_as<T>();
  if (table == nullptr) return error(Code::NotAnArtifact, "'%s' is damaged: section '%s' is malformed", container.source().name(), name);
  return table;
}

Status check_demand(const Container& container, const SignatureDemand& demand) {
  if (demand.keys != nullptr) return demand.keys->demand(container, demand.min_release);
  return error(Code::NotTrusted, "no key is given, so no signature of '%s' can be trusted", container.source().name())
      .with_remedy("give its publisher's public key with --key");
}

}  // namespace

Status Artifact::read_tables() {
  TIFFIN_ASSIGN_OR_RETURN(manifest_, read_table<abi::Manifest>(container_, TIFFIN_SECTION_MANIFEST, "manifest", arena_));
  TIFFIN_ASSIGN_OR_RETURN(program_, read_table<abi::Program>(container_, TIFFIN_SECTION_PROGRAM, "program", arena_));
  TIFFIN_ASSIGN_OR_RETURN(const Section* section, require_section(container_, TIFFIN_SECTION_STORAGE_PLAN, "storage_plan"));
  Arena plan_memory;
  TIFFIN_ASSIGN_OR_RETURN(const auto plan_bytes, container_.read_section(*section, plan_memory));
  if (Status status = storage_plan_.parse(plan_bytes); !status.is_ok()) {
    if (status.code() == Code::OutOfMemory) return status;
    return error(Code::NotAnArtifact, "'%s' is damaged: section 'storage_plan' is malformed: %s", container_.source().name(), status.message());
  }
  if (manifest_->parameter_digests()->size() != storage_plan_.parameter_count() * sizeof(Digest)) {
    return error(Code::NotAnArtifact, "'%s' is damaged: it has %zu parameters and %u bytes of their digests", container_.source().name(),
                 storage_plan_.parameter_count(), manifest_->parameter_digests()->size());
  }
  return {};
}

// In a bundle the attachments are members under their own names.
Status Artifact::place_attachments(VerifyLevel level) {
  if (manifest_->attachments() == nullptr) return {};
  for (const abi::Attachment* attachment : *manifest_->attachments()) {
    TIFFIN_TRY(container_.place_attachment(view(attachment->section()), view(attachment->name())));
  }
  for (const Section& section : container_.sections()) {
    if (level == VerifyLevel::All && is_attachment(section.kind)) TIFFIN_TRY(container_.check_section(section));
  }
  return {};
}

// The weights belong to this plan and to these parameters. Their table is checked again, in full, when they are bound.
Status Artifact::check_weights() const {
  const Section* section = weights();
  if (section == nullptr) return {};
  const char* file = container_.source().name();
  tiffin_weights_header header;
  if (section->length < sizeof(header))
    return error(Code::NotAnArtifact, "'%s' is damaged: its weights have %" PRIu64 " bytes", file, section->length);
  TIFFIN_TRY(container_.source_of(*section).read(section->offset, {reinterpret_cast<uint8_t*>(&header), sizeof(header)}));
  constexpr uint8_t kMagic[] = TIFFIN_WEIGHTS_MAGIC_BYTES;
  if (memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.total_length != section->length) {
    return error(Code::NotAnArtifact, "'%s' is damaged: the header of its weights is malformed", file);
  }
  if (memcmp(header.plan_digest, storage_plan_.digest().bytes.data(), sizeof(header.plan_digest)) != 0) {
    return error(Code::DigestMismatch, "'%s': its weights follow another storage plan than its program", file);
  }
  return {};
}

// Apart from its callers, so that read_contents is inlined here: a quarter of a kilobyte less in the core library.
[[gnu::noinline]] Status Artifact::read(Source&& source, VerifyLevel level, const SignatureDemand* demand) {
  TIFFIN_TRY(container_.read(std::move(source), demand == nullptr ? level : VerifyLevel::None));
  if (demand != nullptr) {
    level = VerifyLevel::All;
    TIFFIN_TRY(check_demand(container_, *demand));
    container_.check_copies();
    TIFFIN_TRY(container_.check_sections(level));
  }
  return read_contents(level);
}

Status Artifact::read(Container&& container) {
  container_ = std::move(container);
  return read_contents(VerifyLevel::None);
}

Status Artifact::read_contents(VerifyLevel level) {
  TIFFIN_TRY(read_tables());
  TIFFIN_TRY(place_attachments(level));
  TIFFIN_TRY(check_program(*program_, storage_plan_.table(), container_));
  return check_weights();
}

Result<Artifact> Artifact::open(Source source, VerifyLevel level, const SignatureDemand* demand) {
  Artifact artifact;
  TIFFIN_TRY(artifact.read(std::move(source), level, demand));
  return artifact;
}

std::span<const Digest> Artifact::parameter_digests() const {
  static_assert(sizeof(Digest) == TIFFIN_DIGEST_BYTES && alignof(Digest) == 1);
  const auto& bytes = *manifest_->parameter_digests();
  return {reinterpret_cast<const Digest*>(bytes.data()), bytes.size() / sizeof(Digest)};
}

}  // namespace tiffin::runtime
