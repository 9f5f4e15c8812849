// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/own_tensors.h"

namespace tiffin::tools {
namespace {

// Of a stored tensor: the only variant that reads it, from 1 on, or one of these.
constexpr uint32_t kNobody = 0, kSeveral = UINT32_MAX;

void mark_readers(const abi::Variant& variant, uint32_t number, FixedList<uint32_t>& readers) {
  for (const abi::Entry* entry : *variant.entries()) {
    for (const abi::Buffer* buffer : *entry->buffers()) {
      if (buffer->space() != abi::Space::Stored) continue;
      uint32_t& reader = readers[buffer->index()];
      reader = reader == kNobody || reader == number ? number : kSeveral;
    }
  }
}

}  // namespace

Result<FixedList<OwnTensors>> find_own_tensors(const runtime::Artifact& artifact) {
  const auto& variants = *artifact.program().variants();
  const auto& stored = *artifact.storage_plan().table().stored();
  FixedList<OwnTensors> own;
  FixedList<uint32_t> readers;
  TIFFIN_TRY(own.create(variants.size()));
  TIFFIN_TRY(readers.create(stored.size()));
  if (variants.size() < 2) return own;
  for (uint32_t i = 0; i < variants.size(); ++i) mark_readers(*variants.Get(i), i + 1, readers);
  for (uint32_t i = 0; i < stored.size(); ++i) {
    if (readers[i] == kNobody || readers[i] == kSeveral) continue;
    OwnTensors& reader = own[readers[i] - 1];
    ++reader.count;
    reader.bytes += stored.Get(i)->bytes();
  }
  return own;
}

}  // namespace tiffin::tools
