// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/interpreted_kernels.h"

#include <cinttypes>

#include "runtime/device/interpreter/kernel_ir.h"

namespace tiffin::runtime {
namespace {

int32_t interpret(const void* kernel, void* const* buffers, void* scratch, int64_t unit_begin, int64_t unit_end) {
  return run_kernel(*static_cast<const KernelIr*>(kernel), buffers, scratch, unit_begin, unit_end);
}

// The step computes all units, and its buffers are as long as the kernel takes them to be; what it writes may be written.
const char* find_fault(const abi::Entry& entry, const abi::Step& step, const KernelIr& kernel) {
  if (step.units() != kernel.units) return "its units are not those of its kernel";
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    const abi::Buffer& buffer = *entry.buffers()->Get(step.buffers()->Get(i));
    if (buffer.bytes() < kernel.parameter_bytes(i)) return "a buffer is shorter than its kernel says";
    const bool is_writable = buffer.space() == abi::Space::Arena || buffer.space() == abi::Space::Output;
    if (kernel.is_output(i) && !is_writable) return "its kernel writes a buffer that is only read";
  }
  return nullptr;
}

Status check_steps(const abi::Variant& variant, const char* file, const void* const* kernels) {
  for (const abi::Entry* entry : *variant.entries()) {
    for (const abi::Step* step : *entry->steps()) {
      const char* fault = find_fault(*entry, *step, *static_cast<const KernelIr*>(kernels[step->kernel()]));
      if (fault != nullptr) return error(Code::NotAnArtifact, "'%s' is damaged: step '%s': %s", file, step->label()->c_str(), fault);
    }
  }
  return {};
}

}  // namespace

Result<InterpretedKernels> InterpretedKernels::load(const Artifact& artifact, const abi::Variant& variant, Arena& arena) {
  const Container& container = artifact.container();
  const char* file = container.source().name();
  const Section& section = *container.find(TIFFIN_SECTION_KERNEL_IR, view(variant.code_section()));
  Arena records_memory;
  TIFFIN_ASSIGN_OR_RETURN(const auto records, container.read_section(section, records_memory));
  const auto& table = *variant.kernels();
  InterpretedKernels kernels;
  kernels.kernels_ = arena.allocate<const void*>(table.size());
  if (kernels.kernels_ == nullptr) return error(Code::OutOfMemory, "no memory for the kernels of '%s'", file);
  // A record that many kernels share would be read many times.
  uint64_t unread = section.length;
  for (uint32_t i = 0; i < table.size(); ++i) {
    const abi::Kernel& row = *table.Get(i);
    if (row.code_bytes() > unread) return error(Code::NotAnArtifact, "'%s' is damaged: its kernels share records", file);
    unread -= row.code_bytes();
    auto kernel = read_kernel_ir(records.subspan(static_cast<size_t>(row.code_offset()), static_cast<size_t>(row.code_bytes())), arena);
    if (!kernel.has_value()) return kernel.take_error().with_context("'%s': kernel '%s'", file, row.name()->c_str());
    if ((*kernel)->parameter_count != row.buffer_count()) {
      return error(Code::NotAnArtifact, "'%s' is damaged: the record of kernel '%s' has %u parameters, the program says %u", file,
                   row.name()->c_str(), (*kernel)->parameter_count, row.buffer_count());
    }
    kernels.kernels_[i] = *kernel;
    if ((*kernel)->scratch_bytes > kernels.scratch_bytes_) kernels.scratch_bytes_ = (*kernel)->scratch_bytes;
  }
  TIFFIN_TRY(check_steps(variant, file, kernels.kernels_));
  kernels.run_ = interpret;
  kernels.section_bytes_ = section.length;
  return kernels;
}

}  // namespace tiffin::runtime
