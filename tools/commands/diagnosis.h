// SPDX-License-Identifier: Apache-2.0
// What `doctor` found out about an artifact and a machine.
#pragma once

#include <cstdint>

#include "base/text.h"
#include "runtime/artifact/choose_variant.h"
#include "tools/commands/arguments.h"
#include "tools/commands/fixed_list.h"
#include "tools/commands/json_output.h"
#include "tools/commands/libraries.h"
#include "tools/commands/memory_limits.h"

namespace tiffin::tools {

struct VariantAnswer {
  std::string_view target;
  Text reason;  // why it is not the chosen one; empty for that
};

// Bytes.
struct MemoryNeed {
  uint64_t arena = 0;    // and scratch of every thread
  uint64_t weights = 0;  // stored tensors made in private memory
  uint64_t mapped = 0;   // of the files' pages: code and weights
  MemoryLimits limits{UINT64_MAX, UINT64_MAX};
  bool is_judged = false;  // limits are those of this machine, which is the one asked about
};

struct Diagnosis {
  static constexpr size_t kMaxProblems = 32, kMaxFallbacks = 8;
  FixedList<VariantAnswer> variants;
  size_t chosen = SIZE_MAX;
  Status problems[kMaxProblems];
  size_t problem_count = 0;
  const char* fallbacks[kMaxFallbacks] = {};
  size_t fallback_count = 0;
  Libraries libraries;
  MemoryNeed memory;

  // No effect for a success.
  void add_problem(Status problem) {
    if (!problem.is_ok() && problem_count < kMaxProblems) problems[problem_count++] = std::move(problem);
  }
  void add_fallback(const char* text) {
    if (fallback_count < kMaxFallbacks) fallbacks[fallback_count++] = text;
  }
};

// `artifact` is null when the file could not be opened. Io.
Status print_diagnosis_json(const Diagnosis& diagnosis, const runtime::Artifact* artifact);
Status print_diagnosis_text(const Diagnosis& diagnosis, const runtime::Artifact* artifact, const Arguments& arguments, const char* machine);

}  // namespace tiffin::tools
