// SPDX-License-Identifier: Apache-2.0
#include "test/portable/run_record.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "compiler/kernel/serialize.h"
#include "runtime/device/interpreter/kernel_ir.h"

namespace tiffin::portable {
namespace {

using Memory = std::unique_ptr<void, decltype(&std::free)>;

// Not a byte longer than asked for, so that a sanitizer sees what leaves it.
Memory allocate(uint64_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, bytes) != 0) std::abort();
  std::fill_n(static_cast<uint8_t*>(memory), bytes, uint8_t{0x3C});
  return Memory(memory, &std::free);
}

}  // namespace

Status run_as_data(const kernel::Kernel& kernel, std::span<void* const> buffers, int64_t unit_begin, int64_t unit_end, int32_t* out_status) {
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<uint8_t> record, kernel::serialize_kernel(kernel));
  runtime::Arena arena;
  TIFFIN_ASSIGN_OR_RETURN(const runtime::KernelIr* data, runtime::read_kernel_ir(record, arena));
  if (data->units != kernel.units || data->parameter_count != buffers.size()) return error(Code::Internal, "the record is of another kernel");
  const Memory scratch = allocate(data->scratch_bytes);
  *out_status = runtime::run_kernel(*data, buffers.data(), scratch.get(), unit_begin, unit_end);
  return {};
}

Status try_record(std::span<const uint8_t> record) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 22;
  constexpr int64_t kMaxIterations = 20000;
  runtime::Arena arena;
  TIFFIN_ASSIGN_OR_RETURN(const runtime::KernelIr* kernel, runtime::read_kernel_ir(record, arena));
  uint64_t bytes = kernel->scratch_bytes;
  for (uint32_t i = 0; i < kernel->parameter_count; ++i) bytes += kernel->parameter_bytes(i);
  if (bytes > kMaxBytes) return error(Code::OutOfMemory, "the record asks for %llu bytes", static_cast<unsigned long long>(bytes));
  std::vector<Memory> memory;
  std::vector<void*> buffers;
  for (uint32_t i = 0; i < kernel->parameter_count; ++i) {
    memory.push_back(allocate(kernel->parameter_bytes(i)));
    buffers.push_back(memory.back().get());
  }
  const Memory scratch = allocate(kernel->scratch_bytes);
  (void)runtime::run_kernel(*kernel, buffers.data(), scratch.get(), 0, kernel->units, kMaxIterations);
  return {};
}

}  // namespace tiffin::portable
