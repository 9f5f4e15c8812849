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

// A tensor file that was given.
struct GivenFile {
  static constexpr size_t kByName = SIZE_MAX;
  Array<char> name;           // of the input, or the file's stem; NUL terminated
  size_t position = kByName;  // N of an `input_N` file, where no input has that name
  Array<char> path;
  bool is_option = false;  // --input, which goes before --inputs
  bool is_output = false;  // an `output_…` file, which runs write: given only where an input has that name
  bool is_read = true;
  HostTensor tensor;  // once it is read

  std::string_view input_name() const { return name.data(); }
};

// True for the name of a file that --inputs takes: .npy or .pb, and not hidden.
bool is_tensor_file(std::string_view name);
// True for the names that runs give their outputs.
bool is_output_name(std::string_view name);

// The files of --inputs and --input, none of them read: what the model wants decides which are. Io when the folder cannot be read.
Result<FixedList<GivenFile>> find_given_files(const Arguments& arguments);

// Reads the file of that input, unless it is read. The codes of reading; InvalidInput for .pb files without an extension that reads them.
Status read_given(GivenFile& file, std::string_view input, const Extensions* extensions);

constexpr size_t kNoFile = SIZE_MAX;

// The index of the file that serves each wanted input, kNoFile where none does: the one that has the input's name, else `input_N` of its number.
// UnknownInput (with the nearest name), InvalidArgument for two files.
Result<Array<size_t>> assign_files(std::span<const GivenFile> given, std::span<const WantedInput> wanted);

// One tensor for each wanted input, filled where none is given and --fill asks for that. The codes of assign_files and read_given, UnsetInput (all
// of them), TypeMismatch, ShapeMismatch with actual and expected.
Result<FixedList<HostTensor>> match_inputs(std::span<GivenFile> given, std::span<const WantedInput> wanted, const Arguments& arguments,
                                           const Extensions* extensions);

// The wanted name with the smallest edit distance to `name`, "" when none is near.
std::string_view nearest_name(std::string_view name, std::span<const WantedInput> wanted);

}  // namespace tiffin::tools
