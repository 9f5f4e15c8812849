// SPDX-License-Identifier: Apache-2.0
// Builds small artifacts in tests, byte by byte and independently of the compiler: y = x * w + c over four floats, with a hand-made kernel.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "abi/artifact.h"
#include "abi/artifact_generated.h"
#include "base/artifact_layout.h"
#include "base/digest.h"
#include "base/params/testing_plans.h"
#include "base/params/weights_file.h"
#include "runtime/host/cpu.h"

namespace tiffin::runtime::testing {

inline constexpr uint64_t kPage = 4096;
inline constexpr uint64_t kCodeAddress = TIFFIN_SO_CODE_ADDRESS;
inline constexpr uint64_t kConstantBytes = kPage;  // of the code section

// A further variant, with the code and entries of the first.
struct OtherVariant {
  const char* target;
  uint16_t machine;
  std::vector<std::string> features;
};

struct Spec {
  uint16_t machine = host_machine();
  uint16_t file_machine = 0;  // of the ELF header; 0: as above
  std::vector<std::string> features;
  std::vector<OtherVariant> others;
  bool has_weights = true;
  std::vector<float> weights = {1, 2, 3, 4};
  float uniform = 10;                    // c
  std::vector<uint8_t> kernel = {0xC3};  // instructions of the only kernel
  int64_t units = 4;
  int64_t grain = 1;
  uint64_t code_shift = 0;    // moves the instructions in the file by so many bytes, their address stays
  uint64_t missing_tail = 0;  // total_length says so much more, as before strip
  uint32_t extra_kind = 0;    // an additional section
  uint32_t extra_flags = 0;
  bool has_signature = false;  // a place for one
  std::vector<uint8_t> extra_bytes = {1, 2, 3};
  // Bad values, for the checks.
  uint32_t kernel_buffers = 4;
  uint64_t kernel_offset = kConstantBytes;
  uint32_t step_kernel = 0;
  uint32_t step_buffer = 3;
  uint64_t scratch_bytes = 64;
  uint32_t stored_index = 0;
  uint64_t arena_offset = 0;
  uint64_t input_buffer_bytes = 16;
  uint64_t constant_offset = 0;
  uint64_t constant_bytes = 16;
  uint8_t input_dtype = TIFFIN_DTYPE_FLOAT32;
  std::vector<int64_t> input_shape = {4};
  std::string code_section = "code.0";
};

inline std::vector<uint8_t> plan_bytes() {
  return params::testing::build_plan({{{"w", DType::Float32, {4}}}, {{"w.stored", DType::Float32, {4}, {{0, {4}, {1}, {1}}}}}});
}

template <class T>
std::vector<uint8_t> envelope(flatbuffers::FlatBufferBuilder& builder, abi::Root kind, flatbuffers::Offset<T> root) {
  builder.Finish(abi::CreateEnvelope(builder, kind, root.Union()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

inline std::vector<uint8_t> program_bytes(const Spec& spec) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<flatbuffers::Offset<abi::Constant>> constants = {
      abi::CreateConstant(b, TIFFIN_DTYPE_FLOAT32, spec.constant_bytes, spec.constant_offset, true)};
  const std::vector<flatbuffers::Offset<abi::Kernel>> kernels = {
      abi::CreateKernelDirect(b, "scale_add", spec.kernel_offset, spec.kernel.size(), spec.kernel_buffers)};
  const std::vector<int64_t> shape = {4};
  const std::vector<flatbuffers::Offset<abi::Value>> inputs = {abi::CreateValueDirect(b, "data", spec.input_dtype, &spec.input_shape)};
  const std::vector<flatbuffers::Offset<abi::Value>> outputs = {abi::CreateValueDirect(b, "y", TIFFIN_DTYPE_FLOAT32, &shape)};
  const std::vector<flatbuffers::Offset<abi::Buffer>> buffers = {
      abi::CreateBuffer(b, abi::Space::Input, 0, 0, spec.input_buffer_bytes), abi::CreateBuffer(b, abi::Space::Stored, spec.stored_index, 0, 16),
      abi::CreateBuffer(b, abi::Space::Constant, 0, 0, 16), abi::CreateBuffer(b, abi::Space::Output, 0, 0, 16),
      abi::CreateBuffer(b, abi::Space::Arena, 0, spec.arena_offset, 64)};
  const std::vector<uint32_t> step_buffers = {0, 1, 2, spec.step_buffer};
  const std::vector<flatbuffers::Offset<abi::Step>> steps = {
      abi::CreateStepDirect(b, spec.step_kernel, &step_buffers, spec.units, spec.scratch_bytes, spec.grain, "mul_1, add_2")};
  const std::vector<flatbuffers::Offset<abi::Entry>> entries = {
      abi::CreateEntryDirect(b, "default", "graph", &inputs, &outputs, &buffers, &steps, 128, 128, 64)};
  std::vector<flatbuffers::Offset<abi::Variant>> variants;
  const auto add_variant = [&](const OtherVariant& variant) {
    std::vector<flatbuffers::Offset<flatbuffers::String>> features;
    for (const std::string& feature : variant.features) features.push_back(b.CreateString(feature));
    const char* triple = variant.machine == EM_AARCH64 ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
    variants.push_back(
        abi::CreateVariantDirect(b, variant.target, triple, variant.machine, "generic", &features, spec.code_section.c_str(), &kernels, &entries));
  };
  add_variant({"llvm -mcpu=generic", spec.machine, spec.features});
  for (const OtherVariant& variant : spec.others) add_variant(variant);
  return envelope(b, abi::Root::Program, abi::CreateProgramDirect(b, &constants, &variants));
}

inline std::vector<uint8_t> manifest_bytes(const Digest& parameter, const Digest& plan) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<uint8_t> digests(parameter.bytes.begin(), parameter.bytes.end());
  const Digest all = digest_of(digests);
  const std::vector<uint8_t> all_bytes(all.bytes.begin(), all.bytes.end()), plan_digest(plan.bytes.begin(), plan.bytes.end());
  const std::vector<flatbuffers::Offset<abi::KeyValue>> options;
  return envelope(
      b, abi::Root::Manifest,
      abi::CreateManifestDirect(b, "test", "1", "net", "00", 1, 1, "nobody", "embedded", &digests, &all_bytes, &plan_digest, &options, 0));
}

inline std::vector<uint8_t> weights_bytes(const Spec& spec, const Digest& parameter) {
  auto plan = params::StoragePlan::read(plan_bytes());
  params::ParameterReader reader{const_cast<Spec*>(&spec), [](void* context, size_t, Array<uint8_t>&) -> Result<std::span<const uint8_t>> {
                                   const auto& values = static_cast<const Spec*>(context)->weights;
                                   return std::span(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
                                 }};
  Array<uint8_t> out;
  if (!params::write_weights(*plan, {&parameter, 1}, reader, memory_sink(out)).is_ok()) return {};
  return {out.begin(), out.end()};
}

inline Digest weight_digest(const Spec& spec) {
  const int64_t shape[] = {4};
  return tensor_digest(DType::Float32, shape, {reinterpret_cast<const uint8_t*>(spec.weights.data()), spec.weights.size() * sizeof(float)});
}

// The file being built. Addresses equal offsets, but for instructions that are shifted.
class Builder {
 public:
  explicit Builder(const Spec& spec) : spec_(spec) {}

  std::vector<uint8_t> build() {
    const Digest parameter = weight_digest(spec_);
    const std::vector<uint8_t> plan = plan_bytes();
    uint64_t at = TIFFIN_SO_HEADER_ADDRESS + kPage;
    const auto add = [&](uint32_t kind, const char* name, const std::vector<uint8_t>& bytes) {
      place(kind, name, bytes, at);
      at = (at + bytes.size() + 63) / 64 * 64;
    };
    add(TIFFIN_SECTION_MANIFEST, "manifest", manifest_bytes(parameter, digest_of(plan)));
    add(TIFFIN_SECTION_PROGRAM, "program", program_bytes(spec_));
    add(TIFFIN_SECTION_STORAGE_PLAN, "storage_plan", plan);
    std::vector<uint8_t> uniform(sizeof(float));
    memcpy(uniform.data(), &spec_.uniform, sizeof(float));
    add(TIFFIN_SECTION_CONSTANTS, "constants", uniform);
    if (spec_.extra_kind != 0) add(spec_.extra_kind, "novelty", spec_.extra_bytes);
    if (spec_.has_signature) add(TIFFIN_SECTION_SIGNATURE, "signature", std::vector<uint8_t>(sizeof(tiffin_signature)));
    const uint64_t front_end = at;
    place_code();
    uint64_t end = kCodeAddress + kConstantBytes + spec_.code_shift + spec_.kernel.size();
    add_segment(0, front_end, 0, PF_R);
    add_segment(kCodeAddress, kConstantBytes, 0, PF_R);
    add_segment(kCodeAddress + kConstantBytes, spec_.kernel.size(), spec_.code_shift, PF_R | PF_X);
    if (spec_.has_weights) {
      const std::vector<uint8_t> weights = weights_bytes(spec_, parameter);
      const uint64_t weights_at = (end + kPage - 1) / kPage * kPage;
      place(TIFFIN_SECTION_WEIGHTS, "weights", weights, weights_at);
      add_segment(weights_at, weights.size(), 0, PF_R);
      end = weights_at + weights.size();
    }
    write_front();
    write_header();
    return std::move(file_);
  }

 private:
  void put(uint64_t offset, const void* bytes, size_t count) {
    if (file_.size() < offset + count) file_.resize(offset + count);
    if (count > 0) memcpy(file_.data() + offset, bytes, count);
  }
  tiffin_section& place(uint32_t kind, const char* name, const std::vector<uint8_t>& bytes, uint64_t at) {
    put(at, bytes.data(), bytes.size());
    tiffin_section section{};
    section.kind = kind;
    section.version = 1;
    section.flags = kind == spec_.extra_kind ? spec_.extra_flags : uint32_t{TIFFIN_SECTION_REQUIRED};
    strncpy(section.name, name, sizeof(section.name) - 1);
    section.offset = at;
    section.length = bytes.size();
    section.alignment = 64;
    memcpy(section.digest, digest_of(bytes).bytes.data(), sizeof(section.digest));
    table_.push_back(section);
    return table_.back();
  }
  void place_code() {
    std::vector<uint8_t> code(kConstantBytes, 0x5A);
    code.resize(kConstantBytes + spec_.kernel.size());
    memcpy(code.data() + kConstantBytes, spec_.kernel.data(), spec_.kernel.size());
    tiffin_section& section = place(TIFFIN_SECTION_CODE, "code.0", code, kCodeAddress);
    section.alignment = kPage;
    section.detail = kConstantBytes;
    if (spec_.code_shift != 0) put(kCodeAddress + kConstantBytes + spec_.code_shift, spec_.kernel.data(), spec_.kernel.size());
  }
  void add_segment(uint64_t address, uint64_t bytes, uint64_t shift, uint32_t flags) {
    segments_.push_back({PT_LOAD, flags, address + shift, address, address, bytes, bytes, kPage});
  }
  void write_front() {
    constexpr uint64_t kNoteOffset = 0x800;
    struct {
      Elf64_Nhdr header{sizeof(TIFFIN_NOTE_OWNER), sizeof(tiffin_note), TIFFIN_NOTE_TYPE};
      char owner[8] = TIFFIN_NOTE_OWNER;
      char note[sizeof(tiffin_note)] = {};
    } note;
    const tiffin_note where{TIFFIN_SO_HEADER_ADDRESS, sizeof(tiffin_artifact_header) + table_.size() * sizeof(tiffin_section)};
    memcpy(note.note, &where, sizeof(where));
    put(kNoteOffset, &note, sizeof(note));
    segments_.push_back({PT_NOTE, PF_R, kNoteOffset, kNoteOffset, kNoteOffset, sizeof(note), sizeof(note), 4});
    Elf64_Ehdr elf{};
    memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_ident[EI_CLASS] = ELFCLASS64;
    elf.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.e_ident[EI_VERSION] = EV_CURRENT;
    elf.e_type = ET_DYN;
    elf.e_machine = spec_.file_machine == 0 ? spec_.machine : spec_.file_machine;
    elf.e_phoff = sizeof(elf);
    elf.e_phentsize = sizeof(Elf64_Phdr);
    elf.e_phnum = static_cast<uint16_t>(segments_.size());
    put(0, &elf, sizeof(elf));
    put(sizeof(elf), segments_.data(), segments_.size() * sizeof(Elf64_Phdr));
  }
  void write_header() {
    const tiffin_artifact_header header = make_header(table_, file_.size() + spec_.missing_tail);
    put(TIFFIN_SO_HEADER_ADDRESS, &header, sizeof(header));
    put(TIFFIN_SO_HEADER_ADDRESS + sizeof(header), table_.data(), table_.size() * sizeof(tiffin_section));
    seal(file_);
  }

 public:
  // Makes the digests of sections, contents and header true again after bytes were changed.
  static void seal(std::vector<uint8_t>& file) {
    tiffin_artifact_header header;
    memcpy(&header, file.data() + TIFFIN_SO_HEADER_ADDRESS, sizeof(header));
    std::vector<tiffin_section> table(header.section_count);
    uint8_t* table_at = file.data() + TIFFIN_SO_HEADER_ADDRESS + sizeof(header);
    memcpy(table.data(), table_at, table.size() * sizeof(tiffin_section));
    for (tiffin_section& section : table) {
      if (section.kind != TIFFIN_SECTION_CODE && section.offset + section.length <= file.size()) {
        memcpy(section.digest, digest_of({file.data() + section.offset, section.length}).bytes.data(), sizeof(section.digest));
      }
    }
    memcpy(header.content_digest, content_digest(table).bytes.data(), sizeof(header.content_digest));
    memset(header.file_digest, 0, sizeof(header.file_digest));
    memcpy(header.header_digest, header_digest(header, table).bytes.data(), sizeof(header.header_digest));
    memcpy(file.data() + TIFFIN_SO_HEADER_ADDRESS, &header, sizeof(header));
    memcpy(table_at, table.data(), table.size() * sizeof(tiffin_section));
  }

 private:
  const Spec& spec_;
  std::vector<uint8_t> file_;
  std::vector<tiffin_section> table_;
  std::vector<Elf64_Phdr> segments_;
};

inline std::vector<uint8_t> build(const Spec& spec) { return Builder(spec).build(); }

}  // namespace tiffin::runtime::testing
