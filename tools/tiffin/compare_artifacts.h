// SPDX-License-Identifier: Apache-2.0
// What differs between two artifacts by meaning: bytes that say the same in another place or container are no difference.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/artifact/artifact.h"

namespace tiffin::tools {

enum class Change : uint8_t { Equal, Changed, Added, Removed };

// "equal", "changed", "added" or "removed".
const char* change_name(Change change);

// One thing by name, as it is in each of the two; "" where it is not.
struct Difference {
  std::string name;
  Change change = Change::Equal;
  std::string before, after;
  double max_difference = 0;  // of a tensor; NaN where it is not known
};

struct Comparison {
  std::vector<Difference> interface, targets, producer, model, options, program, kernels, tensors, sections, sizes;
  bool is_same() const;
};

// Reads headers and tables; of bytes only the code of kernels, and the weights of tensors whose digests differ, where both files hold them. Io,
// Truncated, OutOfMemory.
Result<Comparison> compare_artifacts(const runtime::Artifact& before, const runtime::Artifact& after);

}  // namespace tiffin::tools
