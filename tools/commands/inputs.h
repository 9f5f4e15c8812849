// SPDX-License-Identifier: Apache-2.0
// From --inputs, --input and --fill to one tensor for each of the model's inputs.
#pragma once

#include <optional>

#include "base/array.h"
#include "base/text.h"
#include "tools/commands/arguments.h"
#include "tools/commands/dispatch.h"
#include "tools/commands/fixed_list.h"
#include "tools/commands/host_tensor.h"

namespace tiffin::tools {

// What the model wants of one input. Borrowed.
struct WantedInput {
  std::string_view name;
  DType dtype = DType::Undefined;
  std::span<const int64_t> shape;
};

// A tensor file that was given, read or not.
struct GivenFile {
  static constexpr size_t kByName = SIZE_MAX;
  Array<char> name;           // of the input, or the file's stem for `input_N` files; NUL terminated
  size_t position = kByName;  // N of an `input_N` file
  Array<char> path;
  bool is_option = false;  // --input, which goes before --inputs
  Status failure;          // why it could not be read
  HostTensor tensor;

  std::string_view input_name() const { return name.data(); }
};

// Finds and reads the files of --inputs and --input. A file that is no tensor is noted in its `failure`: what the model wants decides how that
// is told. Io when the folder cannot be read, InvalidInput for .pb files without an extension that reads them.
Result<FixedList<GivenFile>> read_given_files(const Arguments& arguments, const Extensions* extensions);

// One tensor for each wanted input, filled where none is given and --fill asks for that. UnknownInput (with the nearest name), UnsetInput (all of
// them), TypeMismatch, ShapeMismatch with actual and expected, or why a file could not be read.
Result<FixedList<HostTensor>> match_inputs(FixedList<GivenFile> given, std::span<const WantedInput> wanted, const Arguments& arguments);

// The wanted name with the smallest edit distance to `name`, "" when none is near.
std::string_view nearest_name(std::string_view name, std::span<const WantedInput> wanted);

}  // namespace tiffin::tools
