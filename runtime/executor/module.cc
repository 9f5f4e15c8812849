// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/module.h"

#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include "base/dtype.h"
#include "base/text.h"
#include "runtime/artifact/check_program.h"
#include "runtime/artifact/choose_variant.h"
#include "runtime/host/clock.h"

namespace tiffin::runtime {
namespace {

uint64_t align_buffer(uint64_t bytes) { return (bytes + TIFFIN_BUFFER_ALIGNMENT - 1) / TIFFIN_BUFFER_ALIGNMENT * TIFFIN_BUFFER_ALIGNMENT; }

// `bytes` of `target` filled with one element; bytes is a multiple of its size.
void fill_uniform(uint8_t* target, uint64_t bytes, const uint8_t* element, size_t element_bytes) {
  for (uint64_t at = 0; at < bytes; at += element_bytes) memcpy(target + at, element, element_bytes);
}

// Memory for all constants that are stored as one element; none when there are none.
Result<Pages> allocate_uniform(const flatbuffers::Vector<flatbuffers::Offset<abi::Constant>>& constants) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 47;
  uint64_t total = 0;
  for (const abi::Constant* constant : constants) {
    if (!constant->uniform()) continue;
    total += align_buffer(constant->bytes());
    if (total > kMaxBytes) return error(Code::OutOfMemory, "the constants need more than %" PRIu64 " bytes", kMaxBytes);
  }
  if (total == 0) return Pages();
  return allocate_pages(total);
}

}  // namespace

Status Module::load_code(const LoadOptions& options) {
  const Section& section = *artifact_.container().find(TIFFIN_SECTION_CODE, view(variant_->code_section()));
  const CodeLayout layout{section.offset, section.code_start, section.code_offset, section.length - section.code_start, section.alignment};
  const bool is_copy_wanted = options.copy || options.trust == Trust::Signed;
  const Digest* expected = options.trust == Trust::Signed ? &section.digest : nullptr;
  TIFFIN_ASSIGN_OR_RETURN(CodeImage image, CodeImage::load(artifact_.container().source_of(section), layout, !options.copy, expected));
  (image.is_copied() ? report_.copied_bytes : report_.mapped_bytes) += section.length;
  if (image.is_copied() && !is_copy_wanted) {  // a copy that was asked for is no fallback
    auto* text = static_cast<char*>(arena_.allocate_bytes(128));
    if (text == nullptr) return error(Code::OutOfMemory, "no memory for the load report");
    snprintf(text, 128, "the code is copied: %s", image.copy_reason());
    report_.add_fallback(text);
  }
  code_.emplace(std::move(image));
  return {};
}

Status Module::load_kernels() {
  TIFFIN_ASSIGN_OR_RETURN(InterpretedKernels kernels, InterpretedKernels::load(artifact_, *variant_, arena_));
  report_.copied_bytes += kernels.section_bytes();
  interpreted_.emplace(kernels);
  report_.add_fallback("interpreter: the kernels of the chosen variant are data");
  return {};
}

// The bytes of the section, 64-byte aligned: mapped if they can be, else copied.
Result<std::span<const uint8_t>> Module::constants_section(const LoadOptions& options) {
  const Container& container = artifact_.container();
  const Section* section = container.find(TIFFIN_SECTION_CONSTANTS);
  if (section == nullptr || section->length == 0) return std::span<const uint8_t>{};
  const auto length = static_cast<size_t>(section->length);
  const Source& source = container.source_of(*section);
  const bool allow_mapping = !options.copy && options.trust != Trust::Signed;
  if (source.is_file() && allow_mapping && (source.file_offset() + section->offset) % TIFFIN_BUFFER_ALIGNMENT == 0) {
    TIFFIN_ASSIGN_OR_RETURN(constants_window_, source.map(section->offset, length));
    report_.mapped_bytes += length;
    return std::span<const uint8_t>{constants_window_.data(), length};
  }
  const uint8_t* in_memory = source.is_file() ? nullptr : source.memory().data() + section->offset;
  if (in_memory != nullptr && allow_mapping && reinterpret_cast<uintptr_t>(in_memory) % TIFFIN_BUFFER_ALIGNMENT == 0) {
    report_.mapped_bytes += length;
    return std::span<const uint8_t>{in_memory, length};
  }
  report_.copied_bytes += length;
  return container.read_section(*section, arena_);
}

Status Module::load_constants(const LoadOptions& options) {
  const auto& constants = *artifact_.program().constants();
  TIFFIN_ASSIGN_OR_RETURN(const auto section, constants_section(options));
  constants_ = arena_.allocate<const uint8_t*>(constants.size());
  if (constants_ == nullptr) return error(Code::OutOfMemory, "no memory for the constants of '%s'", artifact_.container().source().name());
  TIFFIN_ASSIGN_OR_RETURN(uniform_constants_, allocate_uniform(constants));
  uint8_t* next = uniform_constants_.data();
  for (uint32_t i = 0; i < constants.size(); ++i) {
    const abi::Constant& constant = *constants.Get(i);
    constants_[i] = section.data() + constant.offset();
    if (!constant.uniform()) continue;
    uint64_t element_bytes = 0;
    if (!storage_bytes(static_cast<DType>(constant.dtype()), 1, &element_bytes)) return error(Code::Internal, "a constant without a size");
    fill_uniform(next, constant.bytes(), constants_[i], static_cast<size_t>(element_bytes));
    constants_[i] = next;
    next += align_buffer(constant.bytes());
  }
  return {};
}

// The variant that runs, and for the report why no other.
Status Module::choose(const LoadOptions& options) {
  Machine machine = this_machine();
  machine.runs_code = options.trust != Trust::Data;
  TIFFIN_ASSIGN_OR_RETURN(variant_, choose_variant(artifact_, machine));
  if (explain_variants(artifact_, *variant_, machine, arena_, &report_.variants)) return {};
  return error(Code::OutOfMemory, "no memory for the load report");
}

Status Module::prepare(const LoadOptions& options) {
  const uint64_t start = now_ns();
  TIFFIN_TRY(choose(options));
  TIFFIN_TRY(is_data(*variant_) ? load_kernels() : load_code(options));
  TIFFIN_TRY(load_constants(options));
  const uint64_t mapped = now_ns();
  report_.add_phase("map", mapped - start);
  if (artifact_.weights() != nullptr || artifact_.storage_plan().parameter_count() == 0) {
    TIFFIN_ASSIGN_OR_RETURN(Ref<ParameterSet> embedded, ParameterSet::from_artifact(artifact_, !options.copy, report_));
    TIFFIN_ASSIGN_OR_RETURN(Generation * first, sets_.make(std::move(embedded)));
    sets_.publish(first);
  }
  report_.add_phase("parameters", now_ns() - mapped);
  return report_.fallback_count > 0 ? check_report(report_, UINT64_MAX) : Status();
}

Status Module::check_report(const LoadReport& report, uint64_t repacked_before) const {
  if (!is_strict_ || report.repacked_bytes == repacked_before) return {};
  return error(Code::Strict, "%s", report.fallback_texts[0]);
}

Result<Ref<Module>> Module::load(Source&& source, const LoadOptions& options) {
  const uint64_t start = now_ns();
  const bool is_signed = options.trust == Trust::Signed;
  void* memory = malloc(sizeof(Module));
  if (memory == nullptr) return error(Code::OutOfMemory, "no memory for a module");
  Ref<Module> module = Ref<Module>::adopt(new (memory) Module());
  TIFFIN_TRY(module->artifact_.read(std::move(source), options.verify, is_signed ? &options.signature : nullptr));
  module->bind_options_ = {.verify_values = is_signed || options.verify == VerifyLevel::All, .copy = options.copy};
  module->is_strict_ = options.strict;
  module->report_.add_phase("check", now_ns() - start);
  TIFFIN_TRY(module->prepare(options));
  return module;
}

Result<Ref<Module>> Module::load(const char* path, const LoadOptions& options) {
  TIFFIN_ASSIGN_OR_RETURN(Source source, Source::open(path));
  return load(std::move(source), options);
}

void Module::destroy(Module* module) {
  module->~Module();
  free(module);
}

Result<const abi::Entry*> Module::find_entry(std::string_view name) const {
  Text names;
  for (const abi::Entry* entry : *variant_->entries()) {
    if (view(entry->name()) == name) return entry;
    names.add_item("'%s'", entry->name()->c_str());
  }
  return error(Code::MissingFunction, "the module has no function '%.*s', it has %s", static_cast<int>(name.size()), name.data(), names.c_str());
}

}  // namespace tiffin::runtime
