// SPDX-License-Identifier: Apache-2.0
#include "base/params/param_source.h"

#include <algorithm>

#include "base/sort.h"

namespace tiffin::params {

Result<std::span<const uint8_t>> bytes_of(const ParamSource& source, size_t index, Array<uint8_t>& scratch) {
  const ParamEntry& entry = source.entries[index];
  if (entry.data != nullptr || entry.bytes == 0) return std::span<const uint8_t>(entry.data, entry.bytes);
  if (source.read == nullptr) return error(Code::Internal, "parameter '%.*s' has no value", static_cast<int>(entry.name.size()), entry.name.data());
  if (!scratch.resize_uninitialized(entry.bytes)) {
    return error(Code::OutOfMemory, "no memory for the %llu bytes of parameter '%.*s'", static_cast<unsigned long long>(entry.bytes),
                 static_cast<int>(entry.name.size()), entry.name.data());
  }
  TIFFIN_TRY(source.read(source.context, index, scratch.span()));
  return std::span<const uint8_t>(scratch.span());
}

Result<NameIndex> NameIndex::create(std::span<const ParamEntry> entries) {
  NameIndex index;
  index.entries_ = entries;
  if (entries.size() > UINT32_MAX) return error(Code::InvalidParams, "a set of %zu parameters is more than fit", entries.size());
  if (!index.order_.resize_uninitialized(entries.size())) return error(Code::OutOfMemory, "no memory for %zu names", entries.size());
  for (size_t i = 0; i < entries.size(); ++i) index.order_[i] = static_cast<uint32_t>(i);
  sort(index.order_.span(), [entries](uint32_t a, uint32_t b) {
    const int order = entries[a].name.compare(entries[b].name);
    return order != 0 ? order < 0 : a < b;
  });
  return index;
}

size_t NameIndex::find(std::string_view name) const {
  const uint32_t* found =
      std::lower_bound(order_.begin(), order_.end(), name, [this](uint32_t entry, std::string_view wanted) { return entries_[entry].name < wanted; });
  return found != order_.end() && entries_[*found].name == name ? *found : kAbsent;
}

const ParamEntry* NameIndex::first_duplicate() const {
  for (size_t i = 1; i < order_.size(); ++i) {
    if (entries_[order_[i - 1]].name == entries_[order_[i]].name) return &entries_[order_[i]];
  }
  return nullptr;
}

Status NameIndex::check_given_once() const {
  const ParamEntry* twice = first_duplicate();
  if (twice == nullptr) return {};
  return error(Code::InvalidParams, "parameter '%.*s' is given twice", static_cast<int>(twice->name.size()), twice->name.data());
}

Result<Overlay> Overlay::create(const ParamSource& lower, const ParamSource& upper, std::span<const ParamEntry> removed) {
  Overlay overlay;
  overlay.lower_ = lower;
  overlay.upper_ = upper;
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex lower_names, NameIndex::create(lower.entries));
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex upper_names, NameIndex::create(upper.entries));
  TIFFIN_TRY(upper_names.check_given_once());
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex removed_names, NameIndex::create(removed));
  const auto append = [&overlay](bool is_upper, const ParamSource& source, size_t index) {
    return overlay.entries_.append(source.entries[index]) && overlay.origins_.append(Origin{is_upper, static_cast<uint32_t>(index)});
  };
  bool has_memory = true;
  for (size_t i = 0; i < lower.entries.size(); ++i) {
    if (!removed.empty() && removed_names.find(lower.entries[i].name) != NameIndex::kAbsent) continue;
    const size_t replaced = upper_names.find(lower.entries[i].name);
    has_memory = has_memory && (replaced == NameIndex::kAbsent ? append(false, lower, i) : append(true, upper, replaced));
  }
  for (size_t i = 0; i < upper.entries.size(); ++i) {
    if (lower_names.find(upper.entries[i].name) == NameIndex::kAbsent) has_memory = has_memory && append(true, upper, i);
  }
  if (!has_memory) return error(Code::OutOfMemory, "no memory for %zu parameters", lower.entries.size() + upper.entries.size());
  return overlay;
}

Status Overlay::read_entry(void* context, size_t index, std::span<uint8_t> out) {
  const auto& overlay = *static_cast<const Overlay*>(context);
  const Origin origin = overlay.origins_[index];
  const ParamSource& from = origin.is_upper ? overlay.upper_ : overlay.lower_;
  if (from.read == nullptr) return error(Code::Internal, "parameter %zu of an overlay has no value", index);
  return from.read(from.context, origin.index, out);
}

ParamSource Overlay::source() const { return {entries_.span(), read_entry, const_cast<Overlay*>(this)}; }

}  // namespace tiffin::params
