// SPDX-License-Identifier: Apache-2.0
// What the tables of an artifact say, in the words of `inspect --json`. Nothing here depends on the container.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

#include "abi/artifact_generated.h"
#include "base/description/json_output.h"
#include "base/digest.h"
#include "base/status.h"

namespace tiffin {

// The verified tables of one artifact; borrowed.
struct ArtifactTables {
  const abi::Manifest* manifest = nullptr;
  const abi::Program* program = nullptr;
  const abi::StoragePlan* storage_plan = nullptr;
  std::span<const Digest> parameter_digests() const;  // in the plan's order; empty when the manifest has another count
};

// The tables in verified FlatBuffers, as they lie in their sections.
ArtifactTables tables_of(std::span<const uint8_t> manifest, std::span<const uint8_t> program, std::span<const uint8_t> storage_plan);

// Keys and values of an object that is begun.
void describe_origin(JsonOutput& out, const abi::Manifest& manifest);   // producer, model
void describe_interface(JsonOutput& out, const abi::Variant& variant);  // entries, functions
void describe_variant(JsonOutput& out, const abi::Variant& variant);    // target triple cpu features
void describe_params(JsonOutput& out, const ArtifactTables& tables);    // params
void describe_memory(JsonOutput& out, const abi::Variant& variant);     // memory
void describe_options(JsonOutput& out, const abi::Manifest& manifest);  // options
void describe_parameter(JsonOutput& out, std::string_view name, uint8_t dtype, std::span<const int64_t> shape, uint64_t bytes, const Digest& digest,
                        bool is_frozen);  // an object of its own

// manifest.json of a bundle: all of the above. Io.
Status write_manifest_json(FILE* stream, const ArtifactTables& tables);

// The C header of a bundle: indices, names, types and shapes of inputs and outputs as macros that begin with the network's name. Io.
Status write_c_header(FILE* stream, const ArtifactTables& tables);

// "NAME.h", with the network's name made an identifier, as write_c_header uses it.
void header_file_name(const abi::Manifest& manifest, char (&out)[80]);

}  // namespace tiffin
