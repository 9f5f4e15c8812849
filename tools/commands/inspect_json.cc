// SPDX-License-Identifier: Apache-2.0
// `inspect --json`: everything that an artifact says of itself.
#include <cstdio>
#include <cstring>
#include <ctime>

#include "tools/commands/inspect.h"
#include "tools/commands/json_output.h"
#include "tools/commands/sizes.h"

namespace tiffin::tools {
namespace {

using runtime::view;

void write_value(JsonOutput& out, const abi::Value& value) {
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

void write_origin(JsonOutput& out, const runtime::Artifact& artifact) {
  const abi::Manifest& manifest = artifact.manifest();
  const tiffin_artifact_header& header = artifact.container().header();
  char version[32];
  snprintf(version, sizeof version, "%u.%u", header.format_major, header.format_minor);
  out.text("format_version", version);
  out.number("abi_version", header.abi);
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

void write_interface(JsonOutput& out, const abi::Variant& variant) {
  out.begin_array("entries");
  for (const abi::Entry* entry : *variant.entries()) {
    out.begin_object();
    out.text("name", view(entry->name()));
    out.text("executor", view(entry->executor()));
    out.begin_array("inputs");
    for (const abi::Value* value : *entry->inputs()) write_value(out, *value);
    out.end_array();
    out.begin_array("outputs");
    for (const abi::Value* value : *entry->outputs()) write_value(out, *value);
    out.end_array();
    out.end_object();
  }
  out.end_array();
  out.begin_array("functions");
  for (const abi::Entry* entry : *variant.entries()) out.text(nullptr, view(entry->name()));
  out.end_array();
}

void write_variants(JsonOutput& out, const runtime::Artifact& artifact) {
  out.begin_array("variants");
  for (const abi::Variant* variant : *artifact.program().variants()) {
    const runtime::Section* code = code_section(artifact, *variant);
    out.begin_object();
    out.text("target", view(variant->target()));
    out.text("triple", view(variant->triple()));
    out.text("cpu", view(variant->cpu()));
    out.begin_array("features");
    for (const flatbuffers::String* feature : *variant->features()) out.text(nullptr, view(feature));
    out.end_array();
    out.number("code_bytes", code == nullptr ? 0 : code->length);
    out.end_object();
  }
  out.end_array();
}

Digest params_digest(const abi::Manifest& manifest) {
  Digest digest;
  if (manifest.params_digest()->size() == digest.bytes.size()) memcpy(digest.bytes.data(), manifest.params_digest()->data(), digest.bytes.size());
  return digest;
}

void write_params(JsonOutput& out, const runtime::Artifact& artifact) {
  const auto parameters = artifact.storage_plan().parameters();
  uint64_t bytes = 0;
  for (const params::ParamEntry& entry : parameters) bytes += entry.bytes;
  out.begin_object("params");
  out.text("mode", view(artifact.manifest().params_mode()));
  out.number("count", parameters.size());
  out.number("bytes", bytes);
  out.digest("digest", params_digest(artifact.manifest()));
  out.begin_array("tensors");
  for (size_t i = 0; i < parameters.size(); ++i) write_parameter(out, parameters[i], artifact.parameter_digests()[i]);
  out.end_array();
  out.end_object();
}

Status write_stored(JsonOutput& out, const runtime::Artifact& artifact) {
  TIFFIN_ASSIGN_OR_RETURN(const uint64_t start, stored_data_offset(artifact));
  out.begin_object("stored");
  out.number("bytes", artifact.storage_plan().data_bytes());
  out.begin_array("tensors");
  for (const abi::Stored* stored : *artifact.storage_plan().table().stored()) {
    out.begin_object();
    out.text("name", view(stored->name()));
    out.number("bytes", stored->bytes());
    out.number("offset", start + stored->offset());
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return {};
}

void write_memory(JsonOutput& out, const abi::Variant& variant) {
  uint64_t lower_bound = 0, scratch = 0;
  for (const abi::Entry* entry : *variant.entries()) {
    lower_bound = lower_bound < entry->arena_lower_bound() ? entry->arena_lower_bound() : lower_bound;
    scratch = scratch < entry->scratch_bytes() ? entry->scratch_bytes() : scratch;
  }
  out.begin_object("memory");
  out.number("arena_bytes", arena_bytes(variant));
  out.number("arena_lower_bound", lower_bound);
  out.number("scratch_bytes_per_thread", scratch);
  out.end_object();
}

void write_program(JsonOutput& out, const abi::Variant& variant) {
  out.begin_array("program");
  for (const abi::Entry* entry : *variant.entries()) {
    for (const abi::Step* step : *entry->steps()) {
      const abi::Kernel& kernel = *variant.kernels()->Get(step->kernel());
      out.begin_object();
      out.text("entry", view(entry->name()));
      out.text("kernel", view(kernel.name()));
      out.text("nodes", view(step->label()));
      out.integer("units", step->units());
      out.number("code_bytes", kernel.code_bytes());
      out.end_object();
    }
  }
  out.end_array();
}

// The section holds the seconds since 1970; the key is ISO 8601 in UTC.
Status write_created(JsonOutput& out, const runtime::Container& container) {
  const runtime::Section* section = container.find(TIFFIN_SECTION_CREATED);
  int64_t seconds = 0;
  if (section == nullptr || section->length != sizeof seconds) return {};
  TIFFIN_TRY(container.source().read(section->offset, {reinterpret_cast<uint8_t*>(&seconds), sizeof seconds}));
  const time_t time = seconds;
  tm parts{};
  char text[64];
  if (gmtime_r(&time, &parts) == nullptr) return {};
  const size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  out.text("created", {text, length});
  return {};
}

}  // namespace

void write_parameter(JsonOutput& out, const params::ParamEntry& entry, const Digest& digest) {
  out.begin_object();
  out.text("name", entry.name);
  out.text("dtype", dtype_name(entry.dtype));
  out.shape("shape", entry.shape);
  out.number("bytes", entry.bytes);
  out.digest("digest", digest);
  out.boolean("frozen", entry.is_frozen);
  out.end_object();
}

void write_sizes(JsonOutput& out, const char* key, const TierSizes& sizes) {
  out.begin_object(key);
  out.number("code", sizes.code);
  out.number("program", sizes.program);
  out.number("weights", sizes.weights);
  out.number("manifest", sizes.manifest);
  out.number("golden", sizes.golden);
  out.number("padding", sizes.padding);
  out.number("total", sizes.total);
  out.end_object();
}

Status print_inspection(const runtime::Artifact& artifact, const Arguments& arguments, const SizeVerdict& verdict) {
  const abi::Variant& variant = artifact.first_variant();
  JsonOutput out(stdout);
  out.begin_object();
  write_origin(out, artifact);
  write_interface(out, variant);
  write_variants(out, artifact);
  write_params(out, artifact);
  TIFFIN_TRY(write_stored(out, artifact));
  write_sizes(out, "sizes", tier_sizes(artifact.container()));
  if (arguments.sizes) TIFFIN_TRY(write_size_parts(out, artifact));
  write_size_verdict(out, arguments, verdict);
  write_memory(out, variant);
  out.begin_object("golden");
  out.number("cases", 0);
  out.end_object();
  out.begin_object("options");
  for (const abi::KeyValue* option : *artifact.manifest().options()) out.text(option->key()->c_str(), view(option->value()));
  out.end_object();
  out.begin_object("digests");
  out.digest("content", artifact.container().content_digest());
  out.digest("file", artifact.container().file_digest());
  out.end_object();
  TIFFIN_TRY(write_created(out, artifact.container()));
  if (arguments.program) write_program(out, variant);
  out.end_object();
  return out.finish();
}

}  // namespace tiffin::tools
