// SPDX-License-Identifier: Apache-2.0
// Everything that goes into an artifact, as plain data: made from a plan and its code, read back from a file, and joined with others.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "abi/artifact.h"
#include "abi/artifact_generated.h"
#include "base/array.h"
#include "base/digest.h"
#include "base/status.h"
#include "compiler/codegen/target.h"
#include "compiler/plan/plan.h"

namespace tiffin::artifact {

// The code of one variant: a section of kind code or kernel IR, in the order of the program's variants.
struct VariantCode {
  uint32_t kind = TIFFIN_SECTION_CODE;
  std::vector<uint8_t> bytes;
  uint64_t text_offset = 0;   // code: of the first instruction
  uint64_t query_offset = 0;  // code: of tiffin_artifact_query
};

// A file that travels with the model: a section of kind library, file or source.
struct Attachment {
  uint32_t kind = TIFFIN_SECTION_FILE;
  std::string name;  // a plain file name
  std::vector<uint8_t> bytes;
};

// Compact bytes of the storage plan's parameter `index`, borrowed or made in `scratch`.
using ReadParameter = std::function<Result<std::span<const uint8_t>>(size_t index, Array<uint8_t>& scratch)>;

struct Contents {
  abi::ProgramT program;  // each variant's code_section is set by the writer
  abi::StoragePlanT storage;
  abi::ManifestT manifest;  // digests, params_mode and attachments are set by the writer
  std::vector<uint8_t> constants;
  std::vector<VariantCode> code;
  std::vector<Attachment> attachments;
  std::vector<uint8_t> golden;  // the section's bytes; empty: none
  bool embed_params = true;
  ReadParameter read_parameter;  // empty: the weights are not at hand, which then cannot be embedded
  std::vector<Digest> digests;   // of the parameters, in the storage plan's order, where they are known already; else empty
};

// One variant. `options` go into the manifest, in order; the plan's tensors are kept alive by their owners.
Contents make_contents(const plan::Plan& plan, const codegen::Target& target, const codegen::CodeBlob& code, const graph::ModelFacts& facts,
                       const std::vector<std::pair<std::string, std::string>>& options);

// Adds the variants of `other` to `into`: code, and the stored tensors and constants that are not there yet. They must be the same model with
// the same interface and parameters: InvalidArgument naming what differs, ParamDigestMismatch naming the parameters whose values do; `into` is
// then as it was.
Status join(Contents& into, Contents other);

// Digests of the parameters, in the storage plan's order, by several threads. What `read_parameter` returns.
Result<std::vector<Digest>> hash_parameters(const Contents& contents);

abi::StoragePlanT to_table(const plan::StoragePlan& storage);

// The storage plan's bytes, the same in an artifact and in a .tfw.
std::vector<uint8_t> serialize(const abi::StoragePlanT& storage);
std::vector<uint8_t> serialize(const abi::ProgramT& program);
std::vector<uint8_t> serialize(const abi::ManifestT& manifest);

}  // namespace tiffin::artifact
