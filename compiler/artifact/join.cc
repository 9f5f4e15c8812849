// SPDX-License-Identifier: Apache-2.0
// Joining variants of one model: what they share is kept once, and the indices of the second program are led to the joined tables.
#include <algorithm>
#include <map>

#include "base/artifact_layout.h"
#include "base/text.h"
#include "compiler/artifact/contents.h"
#include "compiler/artifact/golden_section.h"

namespace tiffin::artifact {
namespace {

constexpr uint64_t kAlignment = 64;

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

std::string keys(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + '\0';
  return text;
}

std::string type_text(uint8_t dtype, const std::vector<int64_t>& shape) {
  Text text;
  text.add_type(static_cast<DType>(dtype), shape);
  return text.c_str();
}

Status differs(const std::string& what) {
  return error(Code::InvalidArgument, "they are not the same model: %s", what.c_str())
      .with_remedy("compile all of them from the same model file with the same shapes, entry and options but --target");
}

Status compare_values(const char* what, const std::vector<std::unique_ptr<abi::ValueT>>& ours,
                      const std::vector<std::unique_ptr<abi::ValueT>>& theirs) {
  if (ours.size() != theirs.size()) {
    return differs(std::to_string(ours.size()) + " and " + std::to_string(theirs.size()) + " " + what + "s");
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    const abi::ValueT &a = *ours[i], &b = *theirs[i];
    if (a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.symbols == b.symbols) continue;
    return differs(std::string(what) + " '" + a.name + "' " + type_text(a.dtype, a.shape) + " and '" + b.name + "' " + type_text(b.dtype, b.shape));
  }
  return {};
}

Status compare_interfaces(const abi::VariantT& ours, const abi::VariantT& theirs) {
  if (ours.entries.size() != theirs.entries.size()) return differs("they have different functions");
  for (size_t i = 0; i < ours.entries.size(); ++i) {
    const abi::EntryT &a = *ours.entries[i], &b = *theirs.entries[i];
    if (a.name != b.name) return differs("functions '" + a.name + "' and '" + b.name + "'");
    TIFFIN_TRY(compare_values("input", a.inputs, b.inputs));
    TIFFIN_TRY(compare_values("output", a.outputs, b.outputs));
  }
  return {};
}

// For each parameter of `theirs` its index in `ours`.
Result<std::vector<uint32_t>> match_parameters(const abi::StoragePlanT& ours, const abi::StoragePlanT& theirs) {
  std::map<std::string, uint32_t> index;
  for (uint32_t i = 0; i < ours.parameters.size(); ++i) index[ours.parameters[i]->name] = i;
  std::vector<uint32_t> matched;
  std::vector<std::string> lone;
  for (const auto& theirs_row : theirs.parameters) {
    const auto found = index.find(theirs_row->name);
    if (found == index.end()) {
      lone.push_back(theirs_row->name);
      continue;
    }
    const abi::ParameterT& row = *ours.parameters[found->second];
    if (row.dtype != theirs_row->dtype || row.shape != theirs_row->shape) {
      return differs("parameter '" + row.name + "' is " + type_text(row.dtype, row.shape) + " and " +
                     type_text(theirs_row->dtype, theirs_row->shape));
    }
    matched.push_back(found->second);
    index.erase(found);
  }
  for (const auto& [name, position] : index) lone.push_back(name);
  if (!lone.empty()) return differs("only one of them has the parameters " + quoted_list(lone));
  return matched;
}

Result<bool> is_same_value(const Contents& ours, size_t index, const Contents& theirs, size_t their_index) {
  if (!ours.digests.empty() && !theirs.digests.empty()) return ours.digests[index] == theirs.digests[their_index];
  Array<uint8_t> scratch, their_scratch;
  TIFFIN_ASSIGN_OR_RETURN(const auto a, ours.read_parameter(index, scratch));
  TIFFIN_ASSIGN_OR_RETURN(const auto b, theirs.read_parameter(their_index, their_scratch));
  return a.data() == b.data() || std::equal(a.begin(), a.end(), b.begin(), b.end());
}

Status compare_parameters(const Contents& ours, const Contents& theirs, const std::vector<uint32_t>& matched) {
  std::vector<std::string> different;
  for (size_t i = 0; i < matched.size(); ++i) {
    TIFFIN_ASSIGN_OR_RETURN(const bool is_same, is_same_value(ours, matched[i], theirs, i));
    if (!is_same) different.push_back(theirs.storage.parameters[i]->name);
  }
  if (different.empty()) return {};
  return error(Code::ParamDigestMismatch, "the artifacts hold different weights under the same names: %s", quoted_list(different).c_str())
      .with_remedy("compile all of them from the same model file")
      .with_details("mismatched", keys(different));
}

// Puts the parameters of `stored`, which are another plan's, in terms of the joined one.
void renumber(abi::StoredT& stored, const std::vector<uint32_t>& matched) {
  for (const auto& piece : stored.pieces) piece->parameter = matched[piece->parameter];
  for (const auto& step : stored.steps) {
    if (step->op == abi::VectorOp::LoadParameter || step->op == abi::VectorOp::SumAxis) step->operand = matched[step->operand];
  }
}

// All that says how a stored tensor is made, without its name and place, as a key.
std::string definition(const abi::StoredT& stored) {
  flatbuffers::FlatBufferBuilder builder;
  abi::StoredT nameless = stored;
  nameless.name.clear();
  nameless.offset = 0;
  builder.Finish(abi::Stored::Pack(builder, &nameless));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

// For each stored tensor of `theirs` its index in the joined plan.
std::vector<uint32_t> join_stored(abi::StoragePlanT& ours, abi::StoragePlanT& theirs, const std::vector<uint32_t>& matched) {
  std::map<std::string, uint32_t> known;
  std::map<std::string, int> names;
  for (uint32_t i = 0; i < ours.stored.size(); ++i) {
    known.emplace(definition(*ours.stored[i]), i);
    ++names[ours.stored[i]->name];
  }
  std::vector<uint32_t> indices;
  for (auto& stored : theirs.stored) {
    renumber(*stored, matched);
    const auto [found, is_new] = known.emplace(definition(*stored), static_cast<uint32_t>(ours.stored.size()));
    indices.push_back(found->second);
    if (!is_new) continue;
    if (const int taken = names[stored->name]++; taken > 0) stored->name += "#" + std::to_string(taken + 1);
    stored->offset = align_up(ours.data_bytes, kAlignment);
    ours.data_bytes = stored->offset + stored->bytes;
    ours.stored.push_back(std::move(stored));
  }
  return indices;
}

uint64_t kept_bytes(const abi::ConstantT& constant) {
  return constant.uniform ? static_cast<uint64_t>(dtype_bits(static_cast<DType>(constant.dtype))) / 8 : constant.bytes;
}

std::vector<uint32_t> join_constants(Contents& into, const Contents& other) {
  const auto key = [](const Contents& from, const abi::ConstantT& constant) {
    const auto* bytes = reinterpret_cast<const char*>(from.constants.data()) + constant.offset;
    return std::to_string(constant.dtype) + (constant.uniform ? "u" : "b") + std::to_string(constant.bytes) + ":" +
           std::string(bytes, static_cast<size_t>(kept_bytes(constant)));
  };
  std::map<std::string, uint32_t> known;
  for (uint32_t i = 0; i < into.program.constants.size(); ++i) known.emplace(key(into, *into.program.constants[i]), i);
  std::vector<uint32_t> indices;
  for (const auto& constant : other.program.constants) {
    const auto [found, is_new] = known.emplace(key(other, *constant), static_cast<uint32_t>(into.program.constants.size()));
    indices.push_back(found->second);
    if (!is_new) continue;
    auto row = std::make_unique<abi::ConstantT>(*constant);
    into.constants.resize(align_up(into.constants.size(), kAlignment));
    row->offset = into.constants.size();
    const auto begin = other.constants.begin() + static_cast<ptrdiff_t>(constant->offset);
    into.constants.insert(into.constants.end(), begin, begin + static_cast<ptrdiff_t>(kept_bytes(*constant)));
    into.program.constants.push_back(std::move(row));
  }
  return indices;
}

void renumber(abi::VariantT& variant, const std::vector<uint32_t>& stored, const std::vector<uint32_t>& constants) {
  for (const auto& entry : variant.entries) {
    for (const auto& buffer : entry->buffers) {
      if (buffer->space == abi::Space::Stored) buffer->index = stored[buffer->index];
      if (buffer->space == abi::Space::Constant) buffer->index = constants[buffer->index];
    }
  }
}

Status compare_targets(const Contents& ours, const Contents& theirs) {
  for (const auto& variant : theirs.program.variants) {
    for (const auto& known : ours.program.variants) {
      if (variant->target == known->target) {
        return error(Code::InvalidArgument, "two variants are for the same target '%s'", variant->target.c_str())
            .with_remedy("give each target once");
      }
    }
  }
  return {};
}

// Weights are taken from whichever has them: their parameters are numbered as ours first.
void take_weights(Contents& into, Contents& other, const std::vector<uint32_t>& matched) {
  if (into.embed_params || !other.embed_params) return;
  std::vector<uint32_t> theirs(matched.size());
  for (uint32_t i = 0; i < matched.size(); ++i) theirs[matched[i]] = i;
  into.embed_params = true;
  for (const auto& option : into.manifest.options) {
    if (option->key == "params") option->value = "embed";
  }
  into.read_parameter = [theirs = std::move(theirs), read = std::move(other.read_parameter)](size_t index, Array<uint8_t>& scratch) {
    return read(theirs[index], scratch);
  };
}

void add_attachments(Contents& into, std::vector<Attachment> others) {
  for (Attachment& other : others) {
    const bool is_there = std::any_of(into.attachments.begin(), into.attachments.end(), [&](const Attachment& own) {
      return own.kind == other.kind && own.name == other.name && own.bytes == other.bytes;
    });
    if (!is_there) into.attachments.push_back(std::move(other));
  }
}

}  // namespace

Status join(Contents& into, Contents other) {
  TIFFIN_TRY(compare_targets(into, other));
  TIFFIN_TRY(compare_interfaces(*into.program.variants[0], *other.program.variants[0]));
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<uint32_t> matched, match_parameters(into.storage, other.storage));
  TIFFIN_TRY(compare_parameters(into, other, matched));
  TIFFIN_ASSIGN_OR_RETURN(std::vector<uint8_t> golden, join_golden(into.golden, other.golden, static_cast<uint32_t>(into.program.variants.size())));
  for (size_t i = 0; i < matched.size(); ++i) {
    abi::ParameterT& row = *into.storage.parameters[matched[i]];
    row.frozen = row.frozen || other.storage.parameters[i]->frozen;
  }
  const std::vector<uint32_t> stored = join_stored(into.storage, other.storage, matched);
  const std::vector<uint32_t> constants = join_constants(into, other);
  for (size_t i = 0; i < other.program.variants.size(); ++i) {
    renumber(*other.program.variants[i], stored, constants);
    into.program.variants.push_back(std::move(other.program.variants[i]));
    into.code.push_back(std::move(other.code[i]));
  }
  take_weights(into, other, matched);
  add_attachments(into, std::move(other.attachments));
  into.golden = std::move(golden);
  return {};
}

}  // namespace tiffin::artifact
