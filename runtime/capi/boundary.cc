// SPDX-License-Identifier: Apache-2.0
#include "runtime/capi/boundary.h"

#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/error_codes.h"

struct tiffin_status {
  tiffin::Status failure;
};

namespace tiffin::runtime {
namespace {

// Stands for a status that could not be allocated; only its address matters.
constexpr uint64_t kNoMemoryMark = 0;

bool is_no_memory_mark(const tiffin_status* status) { return static_cast<const void*>(status) == &kNoMemoryMark; }

CodeRow row_of(const tiffin_status* status) {
  if (status == nullptr) return code_row(Code::Ok);
  return code_row(is_no_memory_mark(status) ? Code::OutOfMemory : status->failure.code());
}

}  // namespace

tiffin_status* to_c(Status status) {
  if (status.is_ok()) return nullptr;
  void* memory = malloc(sizeof(tiffin_status));
  if (memory == nullptr) return reinterpret_cast<tiffin_status*>(const_cast<uint64_t*>(&kNoMemoryMark));
  return new (memory) tiffin_status{std::move(status)};
}

Status require_pointers(const char* what, std::initializer_list<const void*> pointers) {
  for (const void* pointer : pointers) {
    if (pointer == nullptr) return error(Code::InvalidArgument, "%s was called with a null pointer", what);
  }
  return {};
}

Status check_abi(uint32_t abi_version) {
  if (abi_version == TIFFIN_ABI_VERSION) return {};
  return error(Code::AbiMismatch, "the caller was compiled for ABI %u, this library has ABI %u", abi_version, TIFFIN_ABI_VERSION)
      .with_remedy("compile the program with the headers of the library that it runs with");
}

Status check_index(const char* what, size_t index, size_t count) {
  if (index < count) return {};
  return error(Code::InvalidArgument, "there is no %s %zu, their count is %zu", what, index, count);
}

void write_report(const Module& module, const LoadReport& report, tiffin_report* out_report) {
  static_assert(sizeof(tiffin_report_phase) == sizeof(LoadPhase) && offsetof(tiffin_report_phase, ns) == offsetof(LoadPhase, ns));
  static_assert(sizeof(tiffin_report_variant) == sizeof(VariantChoice) && offsetof(tiffin_report_variant, reason) == offsetof(VariantChoice, reason));
  tiffin_report value{};
  value.variant = module.variant().target()->c_str();
  value.mapped_bytes = report.mapped_bytes;
  value.copied_bytes = report.copied_bytes;
  value.repacked_bytes = report.repacked_bytes;
  value.fallback_count = report.fallbacks().size();
  value.fallbacks = report.fallback_texts;
  value.phase_count = report.phases().size();
  value.phases = reinterpret_cast<const tiffin_report_phase*>(report.phase_rows);
  const std::span<const VariantChoice> variants = module.report().variants;
  value.variant_count = variants.size();
  value.variants = reinterpret_cast<const tiffin_report_variant*>(variants.data());
  write_struct(out_report, value);
}

}  // namespace tiffin::runtime

using namespace tiffin::runtime;

const char* tiffin_status_code(const tiffin_status* status) noexcept { return row_of(status).name; }

const char* tiffin_status_message(const tiffin_status* status) noexcept {
  if (status == nullptr) return "";
  return is_no_memory_mark(status) ? "the system gave no more memory" : status->failure.message();
}

const char* tiffin_status_remedy(const tiffin_status* status) noexcept {
  if (status == nullptr) return "";
  return is_no_memory_mark(status) ? row_of(status).remedy : status->failure.remedy();
}

size_t tiffin_status_detail_count(const tiffin_status* status) noexcept {
  return status == nullptr || is_no_memory_mark(status) ? 0 : status->failure.detail_count();
}

void tiffin_status_detail(const tiffin_status* status, size_t index, const char** out_key, const char** out_value, int* out_is_listed) noexcept {
  if (index >= tiffin_status_detail_count(status)) return;
  const tiffin::Status::Detail detail = status->failure.detail(index);
  if (out_key != nullptr) *out_key = detail.key;
  if (out_value != nullptr) *out_value = detail.value;
  if (out_is_listed != nullptr) *out_is_listed = detail.is_listed ? 1 : 0;
}

void tiffin_status_free(tiffin_status* status) noexcept {
  if (status == nullptr || is_no_memory_mark(status)) return;
  status->~tiffin_status();
  free(status);
}

const char* tiffin_runtime_version(void) noexcept { return TIFFIN_VERSION; }

uint32_t tiffin_runtime_abi_version(void) noexcept { return TIFFIN_ABI_VERSION; }
