// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/compare_weights.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "abi/artifact.h"
#include "base/params/compare_sets.h"

namespace tiffin::tools {
namespace {

// The stored tensors that an artifact holds.
class HeldWeights {
 public:
  // None for a weightless artifact, or one that is not in a file.
  static Result<std::optional<HeldWeights>> open(const runtime::Artifact& artifact) {
    const runtime::Section* section = artifact.weights();
    if (section == nullptr) return std::optional<HeldWeights>();
    const runtime::Source& source = artifact.container().source_of(*section);
    tiffin_weights_header header{};
    TIFFIN_TRY(source.read(section->offset, {reinterpret_cast<uint8_t*>(&header), sizeof header}));
    const uint64_t bytes = artifact.storage_plan().data_bytes();
    const bool is_inside = header.data_offset <= section->length && bytes <= section->length - header.data_offset;
    if (!source.is_file() || !is_inside || bytes == 0) return std::optional<HeldWeights>();
    HeldWeights weights(artifact);
    TIFFIN_ASSIGN_OR_RETURN(weights.pages_, source.map(section->offset + header.data_offset, bytes));
    return std::optional<HeldWeights>(std::move(weights));
  }

  // A source of the one parameter of that name, its value in `value`.
  Result<params::ParamEntry> read(const std::string& name, std::vector<uint8_t>& value) const {
    const params::StoragePlan& plan = artifact_->storage_plan();
    const auto entries = plan.parameters();
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const params::ParamEntry& entry) { return entry.name == name; });
    if (found == entries.end()) return error(Code::Internal, "there is no parameter '%s'", name.c_str());
    params::ParamEntry entry = *found;
    value.resize(entry.bytes);
    TIFFIN_TRY(plan.restore_parameter(static_cast<size_t>(found - entries.begin()), {pages_.data(), static_cast<size_t>(plan.data_bytes())}, value));
    entry.data = value.data();
    return entry;
  }

 private:
  explicit HeldWeights(const runtime::Artifact& artifact) : artifact_(&artifact) {}
  const runtime::Artifact* artifact_;
  runtime::Pages pages_;
};

}  // namespace

Status measure_tensors(const runtime::Artifact& before, const runtime::Artifact& after, std::vector<Difference>& tensors) {
  std::optional<HeldWeights> left, right;
  TIFFIN_ASSIGN_OR_RETURN(left, HeldWeights::open(before));
  TIFFIN_ASSIGN_OR_RETURN(right, HeldWeights::open(after));
  std::vector<uint8_t> old_value, new_value;
  for (Difference& tensor : tensors) {
    if (tensor.change == Change::Equal) continue;
    tensor.max_difference = std::numeric_limits<double>::quiet_NaN();
    if (tensor.change != Change::Changed || !left.has_value() || !right.has_value()) continue;
    TIFFIN_ASSIGN_OR_RETURN(const params::ParamEntry old_entry, left->read(tensor.name, old_value));
    TIFFIN_ASSIGN_OR_RETURN(const params::ParamEntry new_entry, right->read(tensor.name, new_value));
    TIFFIN_ASSIGN_OR_RETURN(const auto changes, params::compare_sets({{&old_entry, 1}}, {{&new_entry, 1}}));
    if (changes.size() == 1) tensor.max_difference = changes[0].max_difference;
  }
  return {};
}

}  // namespace tiffin::tools
