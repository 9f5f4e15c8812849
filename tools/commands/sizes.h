// SPDX-License-Identifier: Apache-2.0
// What takes the bytes of an artifact, what of it is there twice, and whether it keeps to a budget or to an earlier size.
#pragma once

#include <string_view>

#include "base/status.h"
#include "runtime/artifact/artifact.h"
#include "tools/commands/arguments.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {

struct SizePart {
  const char* kind;  // "tensor", "kernel", "section" or "padding"
  std::string_view name;
  uint64_t bytes;
};

struct SizeParts {
  Array<SizePart> list;  // largest first; together they are the whole file
  runtime::Arena arena;  // of names that are made
};
Result<SizeParts> size_parts(const runtime::Artifact& artifact);

// Parameters and sections with the same bytes, `count` names in a row.
struct Duplicate {
  uint64_t bytes;  // of each
  uint32_t first, count;
};
struct Duplicates {
  Array<Duplicate> groups;  // those that waste most first
  Array<std::string_view> names;
};
Result<Duplicates> find_duplicates(const runtime::Artifact& artifact);

// For people, and as the keys "largest" and "duplicates".
Status print_sizes(const runtime::Artifact& artifact);
Status write_size_parts(JsonOutput& out, const runtime::Artifact& artifact);

// What grew since a baseline.
struct Growth {
  SizePart part;
  uint64_t before;
};
struct SizeVerdict {
  Status over_budget, over_baseline;  // SizeBudget
  uint64_t baseline_total = 0;
  SizeParts parts;      // that `grown` refers to
  Array<Growth> grown;  // most first; when the whole grew
};
// Of --budget and --baseline; what reading the baseline gives.
Result<SizeVerdict> judge_sizes(const runtime::Artifact& artifact, const Arguments& arguments);
// The keys "budget" and "baseline", where these options are given.
void write_size_verdict(JsonOutput& out, const Arguments& arguments, const SizeVerdict& verdict);

}  // namespace tiffin::tools
