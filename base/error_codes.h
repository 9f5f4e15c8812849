// SPDX-License-Identifier: Apache-2.0
// Every error code that a user can see, with its meaning and usual remedy. One list; `tiffin errors` prints it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiffin {

enum class Code : uint8_t {
  Ok,
  InvalidModel,
  UnsupportedOperator,
  UnsupportedType,
  UnsupportedTarget,
  ShapeMismatch,
  TypeMismatch,
  UnknownInput,
  UnsetInput,
  InvalidParams,
  UnknownParam,
  MissingParam,
  ParamTypeMismatch,
  ParamShapeMismatch,
  ParamDigestMismatch,
  NotAnArtifact,
  Truncated,
  DigestMismatch,
  FormatTooNew,
  FormatTooOld,
  AbiMismatch,
  MissingCpuFeature,
  NoVariant,
  MissingFunction,
  MissingLibrary,
  DeviceUnavailable,
  OutOfMemory,
  Io,
  GoldenMismatch,
  SignatureInvalid,
  NotTrusted,
  SizeBudget,
  StaleGeneration,
  Strict,
  Cancelled,
  InvalidInput,
  OpenShape,
  IndexOutOfRange,
  InvalidArgument,
  Internal,
};

struct CodeRow {
  const char* name;
  const char* remedy;
};

inline constexpr size_t kCodeCount = static_cast<size_t>(Code::Internal) + 1;

// The row of a code; its texts are static.
CodeRow code_row(Code code);

// What a failure of that code says about the world, in one static line.
const char* code_meaning(Code code);

}  // namespace tiffin
