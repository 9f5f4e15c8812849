// SPDX-License-Identifier: Apache-2.0
// A static archive and a C header: the files of the unpacked bundle as objects of a program, the code among the program's own code.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/artifact_layout.h"
#include "base/atomic_file.h"
#include "base/dtype.h"
#include "compiler/artifact/linkable.h"
#include "compiler/artifact/write_artifact.h"
#include "tools/commands/host_tensor.h"
#include "tools/tiffin/export.h"
#include "tools/tiffin/read_contents.h"

namespace tiffin::tools {
namespace {

// The artifact without the variants of other machines; what they share stays.
Result<std::vector<uint8_t>> keep_machine(const std::string& path, uint16_t machine) {
  TIFFIN_ASSIGN_OR_RETURN(artifact::Contents contents, read_contents(path));
  for (size_t i = contents.program.variants.size(); i-- > 0;) {
    const uint16_t other = contents.program.variants[i]->machine;
    if (other == machine || other == 0) continue;
    contents.program.variants.erase(contents.program.variants.begin() + static_cast<ptrdiff_t>(i));
    contents.code.erase(contents.code.begin() + static_cast<ptrdiff_t>(i));
  }
  return artifact::artifact_bytes(contents, {artifact::Form::Bundle, {}});
}

bool has_other_machine(const runtime::Artifact& artifact, uint16_t machine) {
  return std::any_of(artifact.program().variants()->begin(), artifact.program().variants()->end(),
                     [&](const abi::Variant* variant) { return variant->machine() != 0 && variant->machine() != machine; });
}

std::string_view member_name(const runtime::Artifact& artifact, const runtime::Section& section) {
  if (!is_attachment(section.kind) || artifact.manifest().attachments() == nullptr) return section.name;
  for (const abi::Attachment* row : *artifact.manifest().attachments()) {
    if (runtime::view(row->section()) == section.name) return runtime::view(row->name());
  }
  return section.name;
}

artifact::LinkableMember member_of(const runtime::Artifact& artifact, const runtime::Section& section, const char* path) {
  artifact::LinkableMember member;
  member.path = path;
  member.is_code = section.kind == TIFFIN_SECTION_CODE;
  member.alignment = std::max<uint64_t>(section.alignment, 64);
  member.length = section.length;
  const runtime::Source* file = &artifact.container().source_of(section);
  // Constants and instructions may lie apart in a shared object.
  member.read = [file, section](uint64_t at, std::span<uint8_t> out) -> Status {
    if (section.kind != TIFFIN_SECTION_CODE) return file->read(section.offset + at, out);
    const auto before = static_cast<size_t>(std::min<uint64_t>(out.size(), at < section.code_start ? section.code_start - at : 0));
    if (before > 0) TIFFIN_TRY(file->read(section.offset + at, out.first(before)));
    return file->read(section.code_offset + (at + before - section.code_start), out.subspan(before));
  };
  return member;
}

Result<std::vector<artifact::LinkableMember>> members_of(const runtime::Artifact& artifact, std::span<const uint8_t> header) {
  std::vector<artifact::LinkableMember> members;
  members.push_back({kHeaderMember, false, 64, header.size(), [header](uint64_t at, std::span<uint8_t> out) -> Status {
                       memcpy(out.data(), header.data() + at, out.size());
                       return {};
                     }});
  for (const runtime::Section& section : artifact.container().sections()) {
    char path[kMemberPathBytes];
    if (!member_path(section.kind, member_name(artifact, section), path)) {
      return error(Code::NotAnArtifact, "'%s' is damaged: section '%s' has no name for a file", artifact.container().source().name(),
                   std::string(section.name).c_str());
    }
    members.push_back(member_of(artifact, section, path));
  }
  return members;
}

// A name in C: other characters become '_', and it begins with a letter.
std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name) out += isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out.empty() || isalpha(static_cast<unsigned char>(out[0])) == 0 ? "net_" + out : out;
}

std::string describe_values(const flatbuffers::Vector<flatbuffers::Offset<abi::Value>>& values) {
  std::string out;
  for (const abi::Value* value : values) {
    const std::span<const int64_t> shape(value->shape()->data(), value->shape()->size());
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", value->name()->c_str(), type_text(static_cast<DType>(value->dtype()), shape).text);
  }
  return out;
}

// Keeps a text from ending the comment that it stands in.
std::string for_comment(std::string text) {
  for (const char* mark : {"*/", "/*"}) {
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) text.insert(at + 1, " ");
  }
  return text;
}

std::string header_text(const runtime::Artifact& artifact, const std::string& name, const std::string& symbol) {
  std::string about = fmt::format("The network '{}', for {}.", artifact.manifest().model_name()->c_str(), artifact.first_variant().target()->c_str());
  for (const abi::Entry* entry : *artifact.first_variant().entries()) {
    about += fmt::format("\n * {}: {} -> {}", entry->name()->c_str(), describe_values(*entry->inputs()), describe_values(*entry->outputs()));
  }
  return fmt::format(R"(/* {0}
 *
 *   tiffin_module* module;
 *   tiffin_status* status = tiffin_module_load_system_lib(TIFFIN_ABI_VERSION, &{1}_tiffin, NULL, &module);
 *
 * Written by tiffin export, together with the library that defines it. */
#ifndef {2}_h
#define {2}_h

#include <tiffin/tiffin.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* The symbol has the digest of the contents in it, so that another build of the network is not linked by mistake, and two can be. */
#define {1}_tiffin {2}
extern const tiffin_system_lib {1}_tiffin;

#ifdef __cplusplus
}}
#endif

#endif
)",
                     for_comment(about), name, symbol);
}

Status write_system_lib(const runtime::Artifact& artifact, uint16_t machine, const SystemLibPaths& out) {
  artifact::Linkable linkable;
  linkable.machine = machine;
  linkable.name = artifact.manifest().model_name()->str();
  const std::string name = identifier(out.name.empty() ? linkable.name : out.name);
  linkable.symbol = name + "_tiffin_" + std::string(to_text(artifact.container().content_digest()).text, 16);
  runtime::Arena arena;
  TIFFIN_ASSIGN_OR_RETURN(const auto header, artifact.container().read_header_bytes(arena));
  TIFFIN_ASSIGN_OR_RETURN(linkable.members, members_of(artifact, header));
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile library, AtomicFile::create(out.library.c_str()));
  TIFFIN_TRY(artifact::write_archive(linkable, library));
  const std::string text = header_text(artifact, name, linkable.symbol);
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile declarations, AtomicFile::create(out.header.c_str()));
  TIFFIN_TRY(declarations.write({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  return AtomicFile::commit(declarations, library);
}

}  // namespace

Status export_system_lib(const runtime::Artifact& artifact, const SystemLibPaths& out) {
  const uint16_t machine = export_machine(artifact);
  if (!has_other_machine(artifact, machine)) return write_system_lib(artifact, machine, out);
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, keep_machine(artifact.container().source().name(), machine));
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::from_memory(bytes));
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact kept, runtime::Artifact::open(std::move(source), runtime::VerifyLevel::None));
  return write_system_lib(kept, machine, out);
}

}  // namespace tiffin::tools
