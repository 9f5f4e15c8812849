// SPDX-License-Identifier: Apache-2.0
#include "compiler/artifact/write_artifact.h"

#include <algorithm>
#include <cstring>

#include "abi/version.h"
#include "base/atomic_file.h"
#include "base/params/weights_file.h"
#include "base/params/write_params.h"
#include "compiler/artifact/elf_image.h"

namespace tiffin::artifact {
namespace {

// Where the container's bytes go: appended in order, patched, and read back for the file digest.
class Output {
 public:
  virtual ~Output() = default;
  virtual Status append(std::span<const uint8_t> bytes) = 0;
  virtual Status write_at(uint64_t offset, std::span<const uint8_t> bytes) = 0;
  virtual Status read_at(uint64_t offset, std::span<uint8_t> out) = 0;
  virtual uint64_t written() const = 0;
};

class FileOutput : public Output {
 public:
  explicit FileOutput(AtomicFile& file) : file_(file) {}
  Status append(std::span<const uint8_t> bytes) override { return file_.write(bytes); }
  Status write_at(uint64_t offset, std::span<const uint8_t> bytes) override { return file_.write_at(offset, bytes); }
  Status read_at(uint64_t offset, std::span<uint8_t> out) override { return file_.read_at(offset, out); }
  uint64_t written() const override { return file_.written_bytes(); }

 private:
  AtomicFile& file_;
};

class MemoryOutput : public Output {
 public:
  Status append(std::span<const uint8_t> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {};
  }
  Status write_at(uint64_t offset, std::span<const uint8_t> bytes) override {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<ptrdiff_t>(offset));
    return {};
  }
  Status read_at(uint64_t offset, std::span<uint8_t> out) override {
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  uint64_t written() const override { return bytes_.size(); }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

// The model's parameters as the storage plan's reader wants them.
params::ParameterReader reader_of(const plan::StoragePlan& storage) {
  return {const_cast<plan::StoragePlan*>(&storage), [](void* context, size_t index, Array<uint8_t>&) -> Result<std::span<const uint8_t>> {
            return static_cast<const plan::StoragePlan*>(context)->parameters[index].tensor.bytes();
          }};
}

template <class T>
std::span<const uint8_t> bytes_of_object(const T& object) {
  return {reinterpret_cast<const uint8_t*>(&object), sizeof(T)};
}

class Writer {
 public:
  Writer(const Contents& contents, const WriteOptions& options) : contents_(contents), options_(options) {}

  Status write(Output& output) {
    TIFFIN_TRY(make_sections());
    const ElfImage image = lay_out_elf(sections_, contents_.target, contents_.code.query_offset, code_symbols());
    TIFFIN_TRY(write_body(image, output));
    TIFFIN_TRY(write_header(image, output));
    return write_file_digest(image, output);
  }

 private:
  Section& add_section(tiffin_section_kind kind, const std::string& name, std::vector<uint8_t> bytes, uint64_t alignment, bool is_required);
  Status make_sections();
  std::vector<CodeSymbol> code_symbols() const;
  Status write_body(const ElfImage& image, Output& output);
  Status write_weights_section(Output& output);
  Status write_header(const ElfImage& image, Output& output);
  Status write_file_digest(const ElfImage& image, Output& output);

  const Contents& contents_;
  const WriteOptions& options_;
  std::vector<Section> sections_;
  std::optional<params::StoragePlan> storage_;
  Array<Digest> parameter_digests_;
  tiffin_artifact_header header_{};
};

Section& Writer::add_section(tiffin_section_kind kind, const std::string& name, std::vector<uint8_t> bytes, uint64_t alignment, bool is_required) {
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
  sections_.push_back(std::move(section));
  return sections_.back();
}

Status Writer::make_sections() {
  const std::vector<uint8_t> storage_bytes = serialize_storage_plan(contents_.plan.storage);
  TIFFIN_ASSIGN_OR_RETURN(params::StoragePlan storage, params::StoragePlan::read(storage_bytes));
  storage_.emplace(std::move(storage));
  TIFFIN_ASSIGN_OR_RETURN(parameter_digests_, params::parameter_digests(*storage_, reader_of(contents_.plan.storage)));
  const std::vector<Digest> digests(parameter_digests_.begin(), parameter_digests_.end());

  const ConstantsSection constants = lay_out_constants(contents_.plan.constants);
  add_section(TIFFIN_SECTION_MANIFEST, "manifest", serialize_manifest(contents_, digests, storage_->digest()), 64, true);
  add_section(TIFFIN_SECTION_PROGRAM, "program", serialize_program(contents_, constants), 64, true);
  add_section(TIFFIN_SECTION_STORAGE_PLAN, "storage_plan", storage_bytes, 64, true);
  Section& code = add_section(TIFFIN_SECTION_CODE, kCodeSectionName, contents_.code.bytes, TIFFIN_PAGE_BYTES, true);
  code.entry.detail = contents_.code.text_offset;
  if (!constants.bytes.empty()) add_section(TIFFIN_SECTION_CONSTANTS, "constants", constants.bytes, 64, true);
  if (options_.created.has_value()) {
    const int64_t seconds = *options_.created;
    const auto bytes = bytes_of_object(seconds);
    add_section(TIFFIN_SECTION_CREATED, "created", {bytes.begin(), bytes.end()}, 8, false);
  }
  if (contents_.embed_params) {
    Section& weights = add_section(TIFFIN_SECTION_WEIGHTS, "weights", {}, TIFFIN_PAGE_BYTES, true);
    weights.entry.length = params::weights_layout(*storage_).total_length;
  }
  return {};
}

std::vector<CodeSymbol> Writer::code_symbols() const {
  std::vector<CodeSymbol> symbols;
  for (size_t i = 0; i < contents_.plan.kernels.size(); ++i) {
    const auto& function = contents_.code.functions[i];
    symbols.push_back({contents_.plan.kernels[i]->name, function.offset, function.size});
  }
  return symbols;
}

Status pad_to(Output& output, uint64_t offset) {
  static constexpr uint8_t kZeros[4096] = {};
  while (output.written() < offset) {
    const auto now = static_cast<size_t>(std::min<uint64_t>(sizeof(kZeros), offset - output.written()));
    TIFFIN_TRY(output.append({kZeros, now}));
  }
  return {};
}

Status Writer::write_body(const ElfImage& image, Output& output) {
  bool weights_are_due = image.weights_offset != 0;
  for (const Extent& extent : image.extents) {
    if (weights_are_due && extent.offset > image.weights_offset) {
      TIFFIN_TRY(pad_to(output, image.weights_offset));
      TIFFIN_TRY(write_weights_section(output));
      weights_are_due = false;
    }
    TIFFIN_TRY(pad_to(output, extent.offset));
    TIFFIN_TRY(output.append(extent.bytes));
  }
  return {};
}

Status Writer::write_weights_section(Output& output) {
  struct Hashing {
    Output* output;
    Hasher hasher;
  } hashing{&output, {}};
  const ByteSink sink{&hashing, [](void* context, std::span<const uint8_t> bytes) -> Status {
                        auto* both = static_cast<Hashing*>(context);
                        both->hasher.update(bytes);
                        return both->output->append(bytes);
                      }};
  TIFFIN_TRY(params::write_weights(*storage_, parameter_digests_.span(), reader_of(contents_.plan.storage), sink));
  const Digest digest = hashing.hasher.finish();
  std::copy(digest.bytes.begin(), digest.bytes.end(), sections_.back().entry.digest);
  return {};
}

// Content digest: kind, name, length and digest of every section but `created` and the signature, in the table's order.
Digest content_digest(const std::vector<Section>& sections) {
  Hasher hasher;
  for (const Section& section : sections) {
    if (section.entry.kind == TIFFIN_SECTION_CREATED || section.entry.kind == TIFFIN_SECTION_SIGNATURE) continue;
    hasher.update(bytes_of_object(section.entry.kind));
    hasher.update({reinterpret_cast<const uint8_t*>(section.entry.name), sizeof(section.entry.name)});
    hasher.update_u64(section.entry.length);
    hasher.update(section.entry.digest);
  }
  return hasher.finish();
}

Status Writer::write_header(const ElfImage& image, Output& output) {
  constexpr uint8_t kMagic[8] = TIFFIN_MAGIC_BYTES;
  memcpy(header_.magic, kMagic, sizeof(kMagic));
  header_.format_major = TIFFIN_FORMAT_MAJOR;
  header_.format_minor = TIFFIN_FORMAT_MINOR;
  header_.abi = TIFFIN_ABI_VERSION;
  header_.section_count = static_cast<uint32_t>(sections_.size());
  header_.total_length = image.total_length;
  const Digest content = content_digest(sections_);
  memcpy(header_.content_digest, content.bytes.data(), content.bytes.size());

  std::vector<uint8_t> table(sizeof(header_));
  for (const Section& section : sections_) {
    const auto bytes = bytes_of_object(section.entry);
    table.insert(table.end(), bytes.begin(), bytes.end());
  }
  memcpy(table.data(), &header_, sizeof(header_));
  const Digest digest = digest_of(table);
  memcpy(header_.header_digest, digest.bytes.data(), digest.bytes.size());
  memcpy(table.data(), &header_, sizeof(header_));
  return output.write_at(image.header_offset, table);
}

Status Writer::write_file_digest(const ElfImage& image, Output& output) {
  Hasher hasher;
  std::vector<uint8_t> chunk(1 << 20);
  for (uint64_t at = 0; at < image.total_length; at += chunk.size()) {
    chunk.resize(static_cast<size_t>(std::min<uint64_t>(chunk.size(), image.total_length - at)));
    TIFFIN_TRY(output.read_at(at, chunk));
    hasher.update(chunk);
  }
  const Digest digest = hasher.finish();
  return output.write_at(image.header_offset + offsetof(tiffin_artifact_header, file_digest), digest.bytes);
}

bool ends_with(const std::string& text, const char* suffix) { return std::string_view(text).ends_with(suffix); }

}  // namespace

Status write_so(const Contents& contents, const WriteOptions& options, const std::string& path) {
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path.c_str(), true));
  FileOutput output(file);
  TIFFIN_TRY(Writer(contents, options).write(output));
  return file.commit();
}

Result<std::vector<uint8_t>> so_bytes(const Contents& contents, const WriteOptions& options) {
  MemoryOutput output;
  TIFFIN_TRY(Writer(contents, options).write(output));
  return output.take();
}

Status write_params(const plan::StoragePlan& storage, const std::string& path) {
  if (ends_with(path, ".tfw")) {
    const std::vector<uint8_t> bytes = serialize_storage_plan(storage);
    TIFFIN_ASSIGN_OR_RETURN(params::StoragePlan plan, params::StoragePlan::read(bytes));
    TIFFIN_ASSIGN_OR_RETURN(Array<Digest> digests, params::parameter_digests(plan, reader_of(storage)));
    return params::write_weights_file(path.c_str(), plan, digests.span(), reader_of(storage));
  }
  std::vector<params::ParamEntry> entries;
  for (const plan::Parameter& parameter : storage.parameters) {
    const graph::Tensor& tensor = parameter.tensor;
    entries.push_back({parameter.name, tensor.dtype(), tensor.shape(), tensor.bytes().size(), tensor.bytes().data(), parameter.is_frozen});
  }
  const params::ParamSource source{entries};
  if (ends_with(path, ".safetensors")) return params::write_params_file(path.c_str(), params::Format::Safetensors, source);
  if (ends_with(path, ".params")) return params::write_params_file(path.c_str(), params::Format::TvmParams, source);
  return error(Code::InvalidArgument, "the parameter file '%s' has no known suffix: .safetensors, .params and .tfw are known", path.c_str());
}

}  // namespace tiffin::artifact
