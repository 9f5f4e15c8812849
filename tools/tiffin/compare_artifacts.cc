// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/compare_artifacts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "abi/artifact.h"
#include "tools/commands/open_artifact.h"
#include "tools/tiffin/compare_weights.h"

namespace tiffin::tools {
namespace {

using runtime::view;

// `identity` decides, `shown` is what people read.
struct Item {
  std::string name, identity, shown;
};
using Items = std::vector<Item>;

Item item(std::string name, std::string text) { return {std::move(name), text, text}; }

// In the order of `before`, then what only `after` has. The n-th of a name meets the n-th of that name.
std::vector<Difference> compare(const Items& before, const Items& after) {
  std::multimap<std::string, const Item*> rest;
  for (const Item& one : after) rest.emplace(one.name, &one);
  std::vector<Difference> out;
  for (const Item& one : before) {
    const auto found = rest.lower_bound(one.name);
    if (found == rest.end() || found->first != one.name) {
      out.push_back({one.name, Change::Removed, one.shown, ""});
      continue;
    }
    const Change change = found->second->identity == one.identity ? Change::Equal : Change::Changed;
    out.push_back({one.name, change, one.shown, found->second->shown});
    rest.erase(found);
  }
  for (const Item& one : after) {
    const auto same_name = rest.equal_range(one.name);
    const bool is_left = std::any_of(same_name.first, same_name.second, [&](const auto& entry) { return entry.second == &one; });
    if (is_left) out.push_back({one.name, Change::Added, "", one.shown});
  }
  return out;
}

std::string type_of(const abi::Value& value) {
  std::string extents;
  for (uint32_t axis = 0; axis < value.shape()->size(); ++axis) {
    const int64_t extent = value.shape()->Get(axis);
    const bool is_symbol = extent < 0 && value.symbols() != nullptr && axis < value.symbols()->size();
    extents += (axis == 0 ? "" : ",") + (is_symbol ? value.symbols()->Get(axis)->str() : std::to_string(extent));
  }
  return fmt::format("{}[{}]", dtype_name(static_cast<DType>(value.dtype())), extents);
}

// Names, types and positions: a caller that sets inputs by position sees the order.
Items interface_of(const runtime::Artifact& artifact) {
  Items items;
  for (const abi::Entry* entry : *artifact.first_variant().entries()) {
    items.push_back(item(fmt::format("function '{}'", entry->name()->str()), fmt::format("{} executor", entry->executor()->str())));
    const auto add = [&](const char* what, const auto& values) {
      for (uint32_t i = 0; i < values.size(); ++i) {
        const std::string type = type_of(*values.Get(i));
        items.push_back({fmt::format("{} '{}' of '{}'", what, values.Get(i)->name()->str(), entry->name()->str()), fmt::format("{} {}", i, type),
                         fmt::format("{}, number {}", type, i)});
      }
    };
    add("input", *entry->inputs());
    add("output", *entry->outputs());
  }
  return items;
}

Items targets_of(const runtime::Artifact& artifact) {
  Items items;
  for (const abi::Variant* variant : *artifact.program().variants()) {
    std::string features;
    for (const flatbuffers::String* feature : *variant->features()) features += (features.empty() ? "" : " ") + feature->str();
    items.push_back(item(variant->target()->str(), features));
  }
  return items;
}

Items producer_of(const abi::Manifest& manifest) {
  return {item("producer", fmt::format("{} {}", manifest.producer()->str(), manifest.producer_version()->str()))};
}

Items model_of(const abi::Manifest& manifest) {
  return {item("name", manifest.model_name()->str()),
          item("sha256", manifest.model_sha256()->str()),
          item("opset", std::to_string(manifest.model_opset())),
          item("ir_version", std::to_string(manifest.model_ir_version())),
          item("producer", manifest.model_producer()->str()),
          item("params", manifest.params_mode()->str())};
}

Items options_of(const abi::Manifest& manifest) {
  Items items;
  for (const abi::KeyValue* option : *manifest.options()) items.push_back(item(option->key()->str(), option->value()->str()));
  return items;
}

// Everything that the executor follows.
std::string steps_of(const abi::Variant& variant, const abi::Entry& entry) {
  std::string text = fmt::format("arena {} scratch {}\n", entry.arena_bytes(), entry.scratch_bytes());
  for (const abi::Buffer* buffer : *entry.buffers()) {
    text += fmt::format("buffer {} {} {} {}\n", static_cast<int>(buffer->space()), buffer->index(), buffer->offset(), buffer->bytes());
  }
  for (const abi::Step* step : *entry.steps()) {
    text += fmt::format("{} {} {} {} {}", variant.kernels()->Get(step->kernel())->name()->str(), step->label()->str(), step->units(),
                        step->scratch_bytes(), step->grain());
    for (const uint32_t buffer : *step->buffers()) text += fmt::format(" {}", buffer);
    text += "\n";
  }
  return text;
}

Items program_of(const runtime::Artifact& artifact) {
  Items items;
  for (const abi::Variant* variant : *artifact.program().variants()) {
    for (const abi::Entry* entry : *variant->entries()) {
      items.push_back({fmt::format("steps of '{}' for {}", entry->name()->str(), variant->target()->str()), steps_of(*variant, *entry),
                       fmt::format("{} steps, {} bytes of arena", entry->steps()->size(), entry->arena_bytes())});
    }
  }
  const auto& plan = artifact.storage_plan();
  items.push_back(
      {"storage plan", to_text(plan.digest()).text, fmt::format("{} stored tensors, {} bytes", plan.table().stored()->size(), plan.data_bytes())});
  return items;
}

// The digest of a kernel's own bytes.
Result<Digest> hash_kernel(const runtime::Artifact& artifact, const runtime::Section& section, const abi::Kernel& kernel) {
  const bool is_code = section.kind == TIFFIN_SECTION_CODE;
  const uint64_t start = is_code ? section.code_offset - section.code_start : section.offset;
  std::vector<uint8_t> bytes(kernel.code_bytes());
  TIFFIN_TRY(artifact.container().source_of(section).read(start + kernel.code_offset(), bytes));
  return digest_of(bytes);
}

Result<Items> kernels_of(const runtime::Artifact& artifact) {
  Items items;
  for (const abi::Variant* variant : *artifact.program().variants()) {
    const runtime::Section* section = code_section(artifact, *variant);
    if (section == nullptr) continue;
    for (const abi::Kernel* kernel : *variant->kernels()) {
      TIFFIN_ASSIGN_OR_RETURN(const Digest digest, hash_kernel(artifact, *section, *kernel));
      items.push_back({fmt::format("{} for {}", kernel->name()->str(), variant->target()->str()), to_text(digest).text,
                       fmt::format("{} bytes", kernel->code_bytes())});
    }
  }
  return items;
}

// What is neither table nor weights, by digest: constants, golden cases, attachments.
Items sections_of(const runtime::Artifact& artifact) {
  Items items;
  for (const runtime::Section& section : artifact.container().sections()) {
    constexpr uint32_t kComparedElsewhere[] = {TIFFIN_SECTION_MANIFEST, TIFFIN_SECTION_PROGRAM, TIFFIN_SECTION_STORAGE_PLAN,
                                               TIFFIN_SECTION_WEIGHTS,  TIFFIN_SECTION_CREATED, TIFFIN_SECTION_SIGNATURE};
    if (std::find(std::begin(kComparedElsewhere), std::end(kComparedElsewhere), section.kind) != std::end(kComparedElsewhere)) continue;
    items.push_back({std::string(section.name), to_text(section.digest).text, fmt::format("{} bytes", section.length)});
  }
  return items;
}

// Without padding and total, which are the container's.
Items sizes_of(const runtime::Artifact& artifact) {
  const TierSizes sizes = tier_sizes(artifact.container());
  return {item("code", std::to_string(sizes.code)), item("program", std::to_string(sizes.program)), item("weights", std::to_string(sizes.weights)),
          item("manifest", std::to_string(sizes.manifest)), item("golden", std::to_string(sizes.golden))};
}

Items tensors_of(const runtime::Artifact& artifact) {
  Items items;
  const auto parameters = artifact.storage_plan().parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    Text type;
    type.add_type(parameters[i].dtype, parameters[i].shape);
    items.push_back({std::string(parameters[i].name), fmt::format("{} {}", to_text(artifact.parameter_digests()[i]).text, parameters[i].is_frozen),
                     fmt::format("{}{}", type.view(), parameters[i].is_frozen ? " frozen" : "")});
  }
  return items;
}

}  // namespace

const char* change_name(Change change) {
  constexpr const char* kNames[] = {"equal", "changed", "added", "removed"};
  return kNames[static_cast<size_t>(change)];
}

bool Comparison::is_same() const {
  for (const auto* part : {&interface, &targets, &producer, &model, &options, &program, &kernels, &tensors, &sections, &sizes}) {
    if (std::any_of(part->begin(), part->end(), [](const Difference& one) { return one.change != Change::Equal; })) return false;
  }
  return true;
}

Result<Comparison> compare_artifacts(const runtime::Artifact& before, const runtime::Artifact& after) {
  Comparison out;
  out.interface = compare(interface_of(before), interface_of(after));
  out.targets = compare(targets_of(before), targets_of(after));
  out.producer = compare(producer_of(before.manifest()), producer_of(after.manifest()));
  out.model = compare(model_of(before.manifest()), model_of(after.manifest()));
  out.options = compare(options_of(before.manifest()), options_of(after.manifest()));
  out.program = compare(program_of(before), program_of(after));
  TIFFIN_ASSIGN_OR_RETURN(const Items kernels_before, kernels_of(before));
  TIFFIN_ASSIGN_OR_RETURN(const Items kernels_after, kernels_of(after));
  out.kernels = compare(kernels_before, kernels_after);
  out.tensors = compare(tensors_of(before), tensors_of(after));
  TIFFIN_TRY(measure_tensors(before, after, out.tensors));
  out.sections = compare(sections_of(before), sections_of(after));
  out.sizes = compare(sizes_of(before), sizes_of(after));
  return out;
}

}  // namespace tiffin::tools
