// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/inputs.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/name_distance.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/fill.h"

namespace tiffin::tools {
namespace {

size_t find_wanted(std::string_view name, std::span<const WantedInput> wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].name == name) return i;
  }
  return kNoFile;
}

// The input that a file is for: by name first, because exporters call inputs input_1 as well, and then the number is no position.
size_t slot_of(const GivenFile& file, std::span<const WantedInput> wanted) {
  const size_t named = find_wanted(file.input_name(), wanted);
  return named == kNoFile && file.position < wanted.size() ? file.position : named;
}

void add_names(Text& text, std::span<const WantedInput> wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i > 0) text.add(", ");
    text.add_quoted(wanted[i].name);
  }
}

Status unknown_input(const GivenFile& file, std::span<const WantedInput> wanted) {
  Text text;
  if (file.position != GivenFile::kByName) {
    text.add("'");
    text.add(file.path.data());
    text.add("' is for input ");
    text.add_number(static_cast<int64_t>(file.position));
    text.add(", the model has ");
    text.add_number(static_cast<int64_t>(wanted.size()));
    text.add(": ");
    add_names(text, wanted);
    return error(Code::UnknownInput, "%s", text.c_str());
  }
  text.add("the model has no input ");
  text.add_quoted(file.input_name());
  text.add("; its inputs are ");
  add_names(text, wanted);
  Status status = error(Code::UnknownInput, "%s", text.c_str());
  const std::string_view nearest = nearest_name(file.input_name(), wanted);
  if (nearest.empty()) return status;
  Text meant;
  meant.add(nearest);
  return std::move(status).with_remedy("did you mean '%s'?", meant.c_str()).with_detail("nearest", meant.c_str());
}

Status check_type(const HostTensor& tensor, const WantedInput& wanted) {
  const int length = static_cast<int>(wanted.name.size());
  const bool same_shape = std::equal(tensor.shape().begin(), tensor.shape().end(), wanted.shape.begin(), wanted.shape.end());
  if (tensor.dtype() == wanted.dtype && same_shape) return {};
  const Code code = tensor.dtype() != wanted.dtype ? Code::TypeMismatch : Code::ShapeMismatch;
  return error(code, "input '%.*s' is %s, the model wants %s", length, wanted.name.data(), type_text(tensor).text,
               type_text(wanted.dtype, wanted.shape).text);
}

Status check_all_set(std::span<const size_t> files, std::span<const WantedInput> wanted) {
  Text text, keys;
  size_t missing = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (files[i] != kNoFile) continue;
    if (missing++ > 0) text.add(", ");
    text.add_quoted(wanted[i].name);
    text.add(" (");
    text.add_type(wanted[i].dtype, wanted[i].shape);
    text.add(")");
    keys.add(wanted[i].name);
    keys.add(std::string_view("\0", 1));
  }
  if (missing == 0) return {};
  return error(Code::UnsetInput, missing == 1 ? "input %s has no value" : "inputs %s have no value", text.c_str())
      .with_remedy("give every input with --inputs DIR or --input NAME=FILE.npy, or --fill random:SEED|zeros|ones")
      .with_details("inputs", keys.view());
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const WantedInput> wanted) {
  std::string_view best;
  size_t best_distance = name.size() / 2 + 2;  // farther names are no help
  for (const WantedInput& input : wanted) {
    const size_t distance = name_distance(name, input.name);
    if (distance >= best_distance) continue;
    best = input.name;
    best_distance = distance;
  }
  return best;
}

Result<Array<size_t>> assign_files(std::span<const GivenFile> given, std::span<const WantedInput> wanted) {
  Array<size_t> files;
  if (!files.resize(wanted.size())) return out_of_memory();
  std::fill(files.begin(), files.end(), kNoFile);
  for (size_t i = 0; i < given.size(); ++i) {
    const size_t slot = slot_of(given[i], wanted);
    if (slot == kNoFile && given[i].is_output) continue;
    if (slot == kNoFile) return unknown_input(given[i], wanted);
    size_t& file = files[slot];
    if (file != kNoFile && given[file].is_option == given[i].is_option) {
      return error(Code::InvalidArgument, "input '%.*s' is given twice, by '%s' and '%s'", static_cast<int>(wanted[slot].name.size()),
                   wanted[slot].name.data(), given[file].path.data(), given[i].path.data())
          .with_remedy("keep one of them; input_N.npy is the input of that name, or the one of number N, from 0 on, where none has that name");
    }
    file = i;  // options come last
  }
  return files;
}

Result<FixedList<HostTensor>> match_inputs(std::span<GivenFile> given, std::span<const WantedInput> wanted, const Arguments& arguments,
                                           const Extensions* extensions) {
  const Fill& fill = arguments.values.fill;
  TIFFIN_ASSIGN_OR_RETURN(const Array<size_t> files, assign_files(given, wanted));
  if (fill.kind == FillKind::None) TIFFIN_TRY(check_all_set(files.span(), wanted));
  FixedList<HostTensor> tensors;
  TIFFIN_TRY(tensors.create(wanted.size()));
  RandomStream stream{fill.seed};
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (files[i] == kNoFile) {
      TIFFIN_ASSIGN_OR_RETURN(tensors[i], HostTensor::create(wanted[i].dtype, wanted[i].shape));
      TIFFIN_TRY(fill_tensor(fill, stream, tensors[i]));
      continue;
    }
    GivenFile& file = given[files[i]];
    TIFFIN_TRY(read_given(file, wanted[i].name, extensions));
    TIFFIN_ASSIGN_OR_RETURN(tensors[i], adopt_raw(std::move(file.tensor), wanted[i].dtype));
    TIFFIN_TRY(check_type(tensors[i], wanted[i]));
  }
  return tensors;
}

}  // namespace tiffin::tools
