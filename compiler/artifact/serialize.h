// SPDX-License-Identifier: Apache-2.0
// The structured sections of an artifact as bytes: a Plan turned into the FlatBuffers of abi/artifact.fbs. Deterministic.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "compiler/codegen/target.h"
#include "compiler/plan/plan.h"

namespace tiffin::artifact {

// Everything that goes into an artifact. Borrowed; the caller keeps it alive.
struct Contents {
  const plan::Plan& plan;
  const codegen::Target& target;
  const codegen::CodeBlob& code;
  const graph::ModelFacts& facts;
  std::vector<std::pair<std::string, std::string>> options;  // for the manifest, in order
  bool embed_params = true;
};

// The constants section: tensors at multiples of 64, of a uniform one a single element.
struct ConstantsSection {
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> offsets;  // per plan constant
};
ConstantsSection lay_out_constants(const std::vector<plan::Constant>& constants);

std::vector<uint8_t> serialize_storage_plan(const plan::StoragePlan& storage);
std::vector<uint8_t> serialize_program(const Contents& contents, const ConstantsSection& constants);
// `parameter_digests`: tensor digests in the storage plan's order of parameters.
std::vector<uint8_t> serialize_manifest(const Contents& contents, const std::vector<Digest>& parameter_digests, const Digest& storage_plan_digest);

// Name of the only code section as long as an artifact has one variant.
inline constexpr const char* kCodeSectionName = "code.0";

}  // namespace tiffin::artifact
