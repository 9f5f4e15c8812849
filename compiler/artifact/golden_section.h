// SPDX-License-Identifier: Apache-2.0
// Golden cases as plain data, and as the bytes of their section (abi/golden.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "abi/golden.h"
#include "base/dtype.h"
#include "base/status.h"

namespace tiffin::artifact {

struct GoldenTensor {
  DType dtype = DType::Undefined;
  std::vector<uint8_t> bytes;
};

struct GoldenCase {
  std::vector<GoldenTensor> inputs, outputs;
  std::vector<tiffin_golden_tolerance> tolerances;  // of the outputs
};

struct GoldenCases {
  uint32_t entry = 0;
  std::vector<GoldenCase> cases;
  // By the index of the variant: for each case the sketches of its steps, as many in each.
  std::map<uint32_t, std::vector<std::vector<tiffin_golden_sketch>>> sketches;
};

// No bytes for no cases.
std::vector<uint8_t> serialize(const GoldenCases& golden);

// NotAnArtifact.
Result<GoldenCases> read_golden(const std::vector<uint8_t>& bytes);

// The section of an artifact to which the variants of another were added behind its first `first_count`: the sketches of both where they hold the
// same cases, else the cases of the first, whose sketches then are the only ones. NotAnArtifact.
Result<std::vector<uint8_t>> join_golden(const std::vector<uint8_t>& first, const std::vector<uint8_t>& second, uint32_t first_count);

}  // namespace tiffin::artifact
