// SPDX-License-Identifier: Apache-2.0
#include "compiler/artifact/write_artifact.h"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/artifact_layout.h"
#include "base/description/describe.h"
#include "base/memory_stream.h"
#include "base/params/weights_file.h"
#include "base/params/write_params.h"
#include "compiler/artifact/elf_image.h"
#include "compiler/artifact/tar_image.h"

namespace tiffin::artifact {
namespace {

// Where the container's bytes go: appended in order, then patched.
class Output {
 public:
  virtual ~Output() = default;
  // Before anything else; so many bytes will be appended.
  virtual Status begin(uint64_t total_bytes) = 0;
  virtual Status write_at(uint64_t offset, std::span<const uint8_t> bytes) = 0;
  Status append(std::span<const uint8_t> bytes) {
    written_ += bytes.size();
    return take(bytes);
  }
  ByteSink sink() {
    return {this, [](void* self, std::span<const uint8_t> bytes) { return static_cast<Output*>(self)->append(bytes); }};
  }
  Status pad_to(uint64_t offset) { return sink().write_zeros(offset - written_); }

 private:
  virtual Status take(std::span<const uint8_t> bytes) = 0;

  uint64_t written_ = 0;
};

class FileOutput : public Output {
 public:
  explicit FileOutput(AtomicFile& file) : file_(file) {}
  Status begin(uint64_t total_bytes) override {
    file_.announce(total_bytes);
    return {};
  }
  Status write_at(uint64_t offset, std::span<const uint8_t> bytes) override { return file_.write_at(offset, bytes); }

 private:
  Status take(std::span<const uint8_t> bytes) override { return file_.write(bytes); }

  AtomicFile& file_;
};

class MemoryOutput : public Output {
 public:
  Status begin(uint64_t total_bytes) override {
    bytes_.reserve(total_bytes);
    return {};
  }
  Status write_at(uint64_t offset, std::span<const uint8_t> bytes) override {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<ptrdiff_t>(offset));
    return {};
  }
  std::vector<uint8_t> take_bytes() { return std::move(bytes_); }

 private:
  Status take(std::span<const uint8_t> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {};
  }

  std::vector<uint8_t> bytes_;
};

// Passes everything on and hashes it on the way.
struct HashingSink {
  ByteSink next;
  Hasher hasher;
  ByteSink sink() {
    return {this, [](void* context, std::span<const uint8_t> bytes) {
              auto* self = static_cast<HashingSink*>(context);
              self->hasher.update(bytes);
              return self->next.write(bytes);
            }};
  }
};

// The model's parameters as the storage plan's reader wants them.
params::ParameterReader reader_of(const Contents& contents) {
  return {const_cast<Contents*>(&contents),
          [](void* context, size_t index, Array<uint8_t>& scratch) { return static_cast<const Contents*>(context)->read_parameter(index, scratch); }};
}

Result<std::vector<Digest>> digests_of(const Contents& contents) {
  return contents.digests.size() == contents.storage.parameters.size() ? contents.digests : hash_parameters(contents);
}

// Of a Result whose value is not needed.
template <class T>
Status status_of(Result<T> result) {
  return result.has_value() ? Status() : result.take_error();
}

template <class T>
std::span<const uint8_t> bytes_of_object(const T& object) {
  return {reinterpret_cast<const uint8_t*>(&object), sizeof(T)};
}

#if defined(__aarch64__)
constexpr uint16_t kOwnMachine = EM_AARCH64;
#else
constexpr uint16_t kOwnMachine = EM_X86_64;
#endif

class Writer {
 public:
  Writer(const Contents& contents, const WriteOptions& options) : contents_(contents), options_(options) {}

  Status write(Output& output) {
    if (options_.form == Form::SharedObject && contents_.code.size() != 1) {
      return error(Code::InvalidArgument, "a shared object holds one variant, %zu are to be written", contents_.code.size())
          .with_remedy("name the output .tar: a bundle holds any number");
    }
    TIFFIN_TRY(make_sections());
    TIFFIN_ASSIGN_OR_RETURN(const Image image, lay_out());
    TIFFIN_TRY(output.begin(image.total_length));
    TIFFIN_TRY(write_body(image, output));
    TIFFIN_ASSIGN_OR_RETURN(const std::vector<uint8_t> front, header(image));
    return output.write_at(image.header_offset, front);
  }

 private:
  Result<Section*> add_section(uint32_t kind, const std::string& name, std::vector<uint8_t> bytes, uint64_t alignment, bool is_required,
                               const std::string& file_name = {});
  Status make_sections();
  Status add_code();
  Status add_attachments();
  abi::ManifestT described() const;
  ElfCode elf_code() const;
  Result<Image> lay_out();
  Status write_body(const Image& image, Output& output);
  Status write_weights(Output& output);
  Result<std::vector<uint8_t>> header(const Image& image) const;
  Result<Digest> file_digest(const Image& image, std::span<const uint8_t> header) const;

  const Contents& contents_;
  const WriteOptions& options_;
  std::vector<Section> sections_;
  std::optional<params::StoragePlan> storage_;
  std::vector<Digest> parameter_digests_;
};

std::string code_name(const VariantCode& code, size_t index) { return (code.kind == TIFFIN_SECTION_CODE ? "code." : "ir.") + std::to_string(index); }

std::string attachment_section(const Attachment& attachment, size_t index) {
  const char* kind = attachment.kind == TIFFIN_SECTION_LIBRARY ? "library." : attachment.kind == TIFFIN_SECTION_SOURCE ? "source." : "file.";
  return kind + std::to_string(index);
}

Result<Section*> Writer::add_section(uint32_t kind, const std::string& name, std::vector<uint8_t> bytes, uint64_t alignment, bool is_required,
                                     const std::string& file_name) {
  Section section;
  section.entry.kind = kind;
  section.entry.version = 1;
  section.entry.flags = is_required ? TIFFIN_SECTION_REQUIRED : 0;
  name.copy(section.entry.name, sizeof(section.entry.name) - 1);
  section.entry.length = bytes.size();
  section.entry.alignment = alignment;
  const Digest digest = digest_of(bytes);
  std::copy(digest.bytes.begin(), digest.bytes.end(), section.entry.digest);
  section.bytes = std::move(bytes);
  char path[kMemberPathBytes];
  if (!member_path(kind, file_name.empty() ? name : file_name, path)) {
    return error(Code::InvalidArgument, "'%s' is no name for a file in a bundle", file_name.c_str());
  }
  section.member = path;
  if (sections_.size() == TIFFIN_MAX_SECTIONS) return error(Code::InvalidArgument, "an artifact holds at most %u sections", TIFFIN_MAX_SECTIONS);
  sections_.push_back(std::move(section));
  return &sections_.back();
}

// The manifest with what only the writer knows.
abi::ManifestT Writer::described() const {
  abi::ManifestT manifest = contents_.manifest;
  manifest.parameter_digests.clear();
  for (const Digest& digest : parameter_digests_) {
    manifest.parameter_digests.insert(manifest.parameter_digests.end(), digest.bytes.begin(), digest.bytes.end());
  }
  const Digest all = digest_of(manifest.parameter_digests);
  manifest.params_digest.assign(all.bytes.begin(), all.bytes.end());
  manifest.storage_plan_digest.assign(storage_->digest().bytes.begin(), storage_->digest().bytes.end());
  manifest.params_mode = contents_.embed_params ? "embedded" : "external";
  manifest.weights_bytes = contents_.storage.data_bytes;
  manifest.attachments.clear();
  for (size_t i = 0; i < contents_.attachments.size(); ++i) {
    auto row = std::make_unique<abi::AttachmentT>();
    row->section = attachment_section(contents_.attachments[i], i);
    row->name = contents_.attachments[i].name;
    manifest.attachments.push_back(std::move(row));
  }
  return manifest;
}

Status Writer::add_code() {
  for (size_t i = 0; i < contents_.code.size(); ++i) {
    const VariantCode& code = contents_.code[i];
    const bool is_native = code.kind == TIFFIN_SECTION_CODE;
    const uint64_t page = contents_.program.variants[i]->machine == EM_AARCH64 ? TIFFIN_LARGE_PAGE_BYTES : TIFFIN_PAGE_BYTES;
    TIFFIN_ASSIGN_OR_RETURN(Section * section, add_section(code.kind, code_name(code, i), code.bytes, is_native ? page : 64, true));
    section->entry.detail = code.text_offset;
  }
  return {};
}

Status Writer::add_attachments() {
  for (size_t i = 0; i < contents_.attachments.size(); ++i) {
    const Attachment& attachment = contents_.attachments[i];
    TIFFIN_ASSIGN_OR_RETURN(Section * section,
                            add_section(attachment.kind, attachment_section(attachment, i), attachment.bytes, 64, false, attachment.name));
    for (const Section& other : sections_) {
      if (&other == section || other.member != section->member) continue;
      return error(Code::InvalidArgument, "two files named '%s' are to be added", attachment.name.c_str());
    }
  }
  return {};
}

Status Writer::make_sections() {
  sections_.reserve(TIFFIN_MAX_SECTIONS);
  const std::vector<uint8_t> storage_bytes = serialize(contents_.storage);
  TIFFIN_ASSIGN_OR_RETURN(params::StoragePlan storage, params::StoragePlan::read(storage_bytes));
  storage_.emplace(std::move(storage));
  TIFFIN_ASSIGN_OR_RETURN(parameter_digests_, digests_of(contents_));
  abi::ProgramT program = contents_.program;
  for (size_t i = 0; i < program.variants.size(); ++i) program.variants[i]->code_section = code_name(contents_.code[i], i);

  TIFFIN_TRY(status_of(add_section(TIFFIN_SECTION_MANIFEST, "manifest", serialize(described()), 64, true)));
  TIFFIN_TRY(status_of(add_section(TIFFIN_SECTION_PROGRAM, "program", serialize(program), 64, true)));
  TIFFIN_TRY(status_of(add_section(TIFFIN_SECTION_STORAGE_PLAN, "storage_plan", storage_bytes, 64, true)));
  TIFFIN_TRY(add_code());
  if (!contents_.constants.empty()) TIFFIN_TRY(status_of(add_section(TIFFIN_SECTION_CONSTANTS, "constants", contents_.constants, 64, true)));
  if (!contents_.golden.empty()) TIFFIN_TRY(status_of(add_section(TIFFIN_SECTION_GOLDEN, "golden", contents_.golden, 64, false)));
  TIFFIN_TRY(add_attachments());
  if (options_.created.has_value()) {
    const int64_t seconds = *options_.created;
    const auto bytes = bytes_of_object(seconds);
    TIFFIN_TRY(status_of(add_section(TIFFIN_SECTION_CREATED, "created", {bytes.begin(), bytes.end()}, 8, false)));
  }
  TIFFIN_TRY(status_of(add_section(TIFFIN_SECTION_SIGNATURE, "signature", std::vector<uint8_t>(sizeof(tiffin_signature)), 8, false)));
  if (contents_.embed_params) {
    TIFFIN_ASSIGN_OR_RETURN(Section * weights, add_section(TIFFIN_SECTION_WEIGHTS, "weights", {}, TIFFIN_PAGE_BYTES, true));
    weights->entry.length = params::weights_layout(*storage_).total_length;
  }
  return {};
}

ElfCode Writer::elf_code() const {
  const abi::VariantT& variant = *contents_.program.variants[0];
  ElfCode code{variant.machine != EM_NONE ? variant.machine : kOwnMachine, contents_.code[0].query_offset, {}};
  for (const auto& kernel : variant.kernels) code.symbols.push_back({kernel->name, kernel->code_offset, kernel->code_bytes});
  return code;
}

// What `write` prints, as a member.
template <class Write>
Result<TextMember> text_member(std::string path, Write write) {
  MemoryStream memory;
  if (memory.stream == nullptr) return error(Code::OutOfMemory, "no memory for '%s'", path.c_str());
  TIFFIN_TRY(write(memory.stream));
  if (fflush(memory.stream) != 0) return error(Code::OutOfMemory, "no memory for '%s'", path.c_str());
  return TextMember{std::move(path), std::string(memory.bytes, memory.size)};
}

// A bundle has its description as text, too: derived from its first three sections, so `verify` can compare them.
Result<Image> Writer::lay_out() {
  if (options_.form == Form::SharedObject) return lay_out_elf(sections_, elf_code());
  const ArtifactTables tables = tables_of(sections_[0].bytes, sections_[1].bytes, sections_[2].bytes);
  char header_name[80];
  header_file_name(*tables.manifest, header_name);
  std::vector<TextMember> texts(2);
  TIFFIN_ASSIGN_OR_RETURN(texts[0], text_member(kManifestMember, [&](FILE* stream) { return write_manifest_json(stream, tables); }));
  TIFFIN_ASSIGN_OR_RETURN(texts[1], text_member(std::string("include/") + header_name, [&](FILE* stream) { return write_c_header(stream, tables); }));
  return lay_out_tar(sections_, texts);
}

// All but the header, which holds the digest of the weights: zeros stand in its place.
Status Writer::write_body(const Image& image, Output& output) {
  bool weights_are_due = image.weights_offset != 0;
  for (const Extent& extent : image.extents) {
    if (weights_are_due && extent.offset > image.weights_offset) {
      TIFFIN_TRY(output.pad_to(image.weights_offset));
      TIFFIN_TRY(write_weights(output));
      weights_are_due = false;
    }
    TIFFIN_TRY(output.pad_to(extent.offset));
    TIFFIN_TRY(output.append(extent.bytes));
  }
  return {};
}

Status Writer::write_weights(Output& output) {
  HashingSink hashing{output.sink(), {}};
  TIFFIN_TRY(params::write_weights(*storage_, parameter_digests_, reader_of(contents_), hashing.sink()));
  const Digest digest = hashing.hasher.finish();
  std::copy(digest.bytes.begin(), digest.bytes.end(), sections_.back().entry.digest);
  return {};
}

// Header and table, once every section has its digest.
Result<std::vector<uint8_t>> Writer::header(const Image& image) const {
  std::vector<tiffin_section> table;
  for (const Section& section : sections_) table.push_back(section.entry);
  const tiffin_artifact_header header = make_header(table, image.total_length);
  std::vector<uint8_t> bytes(sizeof(header) + table.size() * sizeof(tiffin_section));
  memcpy(bytes.data(), &header, sizeof(header));
  memcpy(bytes.data() + sizeof(header), table.data(), table.size() * sizeof(tiffin_section));
  TIFFIN_ASSIGN_OR_RETURN(const Digest file, file_digest(image, bytes));
  memcpy(bytes.data() + offsetof(tiffin_artifact_header, file_digest), file.bytes.data(), file.bytes.size());
  return bytes;
}

// Of the file with this header, in which the file digest itself is zeros. The weights, which lie between two extents, have a digest of their own.
Result<Digest> Writer::file_digest(const Image& image, std::span<const uint8_t> header) const {
  Hasher hasher;
  const ByteSink sink{&hasher, [](void* context, std::span<const uint8_t> bytes) -> Status {
                        static_cast<Hasher*>(context)->update(bytes);
                        return {};
                      }};
  uint64_t at = 0;
  const auto add = [&](uint64_t offset, std::span<const uint8_t> bytes) -> Status {
    const bool has_weights_before = image.weights_offset != 0 && image.weights_offset >= at && image.weights_offset < offset;
    TIFFIN_TRY(sink.write_zeros(offset - at - (has_weights_before ? sections_.back().entry.length : 0)));
    at = offset + bytes.size();
    return sink.write(bytes);
  };
  bool header_is_due = true;
  for (const Extent& extent : image.extents) {
    if (header_is_due && extent.offset > image.header_offset) {
      TIFFIN_TRY(add(image.header_offset, header));
      header_is_due = false;
    }
    TIFFIN_TRY(add(extent.offset, extent.bytes));
  }
  return hasher.finish();
}

Status write_foreign(const Contents& contents, params::Format format, const ByteSink& sink) {
  std::vector<params::ParamEntry> entries;
  std::vector<Array<uint8_t>> owned(contents.storage.parameters.size());
  for (size_t i = 0; i < owned.size(); ++i) {
    const abi::ParameterT& row = *contents.storage.parameters[i];
    TIFFIN_ASSIGN_OR_RETURN(const auto bytes, contents.read_parameter(i, owned[i]));
    entries.push_back({row.name, static_cast<DType>(row.dtype), row.shape, bytes.size(), bytes.data(), row.frozen});
  }
  return params::write_foreign(format, params::ParamSource{entries}, sink);
}

}  // namespace

Form form_of(const std::string& path) { return path.ends_with(".tar") ? Form::Bundle : Form::SharedObject; }

Status write_artifact(const Contents& contents, const WriteOptions& options, AtomicFile& file) {
  FileOutput output(file);
  return Writer(contents, options).write(output);
}

Result<std::vector<uint8_t>> artifact_bytes(const Contents& contents, const WriteOptions& options) {
  MemoryOutput output;
  TIFFIN_TRY(Writer(contents, options).write(output));
  return output.take_bytes();
}

Status write_params(const Contents& contents, params::Format format, AtomicFile& file) {
  if (format != params::Format::Weights) return write_foreign(contents, format, file.sink());
  TIFFIN_ASSIGN_OR_RETURN(const params::StoragePlan plan, params::StoragePlan::read(serialize(contents.storage)));
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<Digest> digests, digests_of(contents));
  return params::write_weights(plan, digests, reader_of(contents), file.sink());
}

}  // namespace tiffin::artifact
