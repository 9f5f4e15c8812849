// SPDX-License-Identifier: Apache-2.0
#include "base/description/describe.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/dtype.h"

namespace tiffin {
namespace {

std::string_view view(const flatbuffers::String* text) { return {text->c_str(), text->size()}; }

void describe_value(JsonOutput& out, const abi::Value& value) {
  out.begin_object();
  out.text("name", view(value.name()));
  out.text("dtype", dtype_name(static_cast<DType>(value.dtype())));
  out.begin_array("shape");
  for (uint32_t axis = 0; axis < value.shape()->size(); ++axis) {
    const int64_t extent = value.shape()->Get(axis);
    const bool is_symbol = extent < 0 && value.symbols() != nullptr && axis < value.symbols()->size();
    if (is_symbol) {
      out.text(nullptr, view(value.symbols()->Get(axis)));
    } else {
      out.integer(nullptr, extent);
    }
  }
  out.end_array();
  out.end_object();
}

template <class Table>
const Table* root_of(std::span<const uint8_t> bytes) {
  return flatbuffers::GetRoot<abi::Envelope>(bytes.data())->template root_as<Table>();
}

}  // namespace

std::span<const Digest> ArtifactTables::parameter_digests() const {
  static_assert(sizeof(Digest) == 32 && alignof(Digest) == 1);
  const auto& bytes = *manifest->parameter_digests();
  const size_t count = storage_plan->parameters()->size();
  if (bytes.size() != count * sizeof(Digest)) return {};
  return {reinterpret_cast<const Digest*>(bytes.data()), count};
}

ArtifactTables tables_of(std::span<const uint8_t> manifest, std::span<const uint8_t> program, std::span<const uint8_t> storage_plan) {
  return {root_of<abi::Manifest>(manifest), root_of<abi::Program>(program), root_of<abi::StoragePlan>(storage_plan)};
}

void describe_origin(JsonOutput& out, const abi::Manifest& manifest) {
  out.begin_object("producer");
  out.text("name", view(manifest.producer()));
  out.text("version", view(manifest.producer_version()));
  out.end_object();
  out.begin_object("model");
  out.text("name", view(manifest.model_name()));
  out.text("sha256", view(manifest.model_sha256()));
  out.integer("opset", manifest.model_opset());
  out.integer("ir_version", manifest.model_ir_version());
  out.text("producer", view(manifest.model_producer()));
  out.end_object();
}

void describe_interface(JsonOutput& out, const abi::Variant& variant) {
  out.begin_array("entries");
  for (const abi::Entry* entry : *variant.entries()) {
    out.begin_object();
    out.text("name", view(entry->name()));
    out.text("executor", view(entry->executor()));
    out.begin_array("inputs");
    for (const abi::Value* value : *entry->inputs()) describe_value(out, *value);
    out.end_array();
    out.begin_array("outputs");
    for (const abi::Value* value : *entry->outputs()) describe_value(out, *value);
    out.end_array();
    out.end_object();
  }
  out.end_array();
  out.begin_array("functions");
  for (const abi::Entry* entry : *variant.entries()) out.text(nullptr, view(entry->name()));
  out.end_array();
}

void describe_variant(JsonOutput& out, const abi::Variant& variant) {
  out.text("target", view(variant.target()));
  out.text("triple", view(variant.triple()));
  out.text("cpu", view(variant.cpu()));
  out.begin_array("features");
  for (const flatbuffers::String* feature : *variant.features()) out.text(nullptr, view(feature));
  out.end_array();
}

void describe_parameter(JsonOutput& out, std::string_view name, uint8_t dtype, std::span<const int64_t> shape, uint64_t bytes, const Digest& digest,
                        bool is_frozen) {
  out.begin_object();
  out.text("name", name);
  out.text("dtype", dtype_name(static_cast<DType>(dtype)));
  out.shape("shape", shape);
  out.number("bytes", bytes);
  out.digest("digest", digest);
  out.boolean("frozen", is_frozen);
  out.end_object();
}

void describe_params(JsonOutput& out, const ArtifactTables& tables) {
  const auto& parameters = *tables.storage_plan->parameters();
  const std::span<const Digest> digests = tables.parameter_digests();
  uint64_t bytes = 0;
  for (const abi::Parameter* parameter : parameters) bytes += parameter->bytes();
  Digest all;
  const auto& recorded = *tables.manifest->params_digest();
  if (recorded.size() == all.bytes.size()) memcpy(all.bytes.data(), recorded.data(), all.bytes.size());
  out.begin_object("params");
  out.text("mode", view(tables.manifest->params_mode()));
  out.number("count", parameters.size());
  out.number("bytes", bytes);
  out.digest("digest", all);
  out.begin_array("tensors");
  for (uint32_t i = 0; i < parameters.size(); ++i) {
    const abi::Parameter& parameter = *parameters.Get(i);
    describe_parameter(out, view(parameter.name()), parameter.dtype(), {parameter.shape()->data(), parameter.shape()->size()}, parameter.bytes(),
                       digests.empty() ? Digest() : digests[i], parameter.frozen());
  }
  out.end_array();
  out.end_object();
}

void describe_memory(JsonOutput& out, const abi::Variant& variant) {
  uint64_t arena = 0, lower_bound = 0, scratch = 0;
  for (const abi::Entry* entry : *variant.entries()) {
    arena = std::max(arena, entry->arena_bytes());
    lower_bound = std::max(lower_bound, entry->arena_lower_bound());
    scratch = std::max(scratch, entry->scratch_bytes());
  }
  out.begin_object("memory");
  out.number("arena_bytes", arena);
  out.number("arena_lower_bound", lower_bound);
  out.number("scratch_bytes_per_thread", scratch);
  out.end_object();
}

void describe_options(JsonOutput& out, const abi::Manifest& manifest) {
  out.begin_object("options");
  for (const abi::KeyValue* option : *manifest.options()) out.text(option->key()->c_str(), view(option->value()));
  out.end_object();
}

Status write_manifest_json(FILE* stream, const ArtifactTables& tables) {
  const abi::Variant& first = *tables.program->variants()->Get(0);
  JsonOutput out(stream);
  out.begin_object();
  describe_origin(out, *tables.manifest);
  describe_interface(out, first);
  out.begin_array("variants");
  for (const abi::Variant* variant : *tables.program->variants()) {
    out.begin_object();
    describe_variant(out, *variant);
    out.end_object();
  }
  out.end_array();
  describe_params(out, tables);
  describe_memory(out, first);
  describe_options(out, *tables.manifest);
  out.end_object();
  return out.finish();
}

}  // namespace tiffin
