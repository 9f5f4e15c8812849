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

constexpr size_t kNone = SIZE_MAX;

size_t find_wanted(std::string_view name, std::span<const WantedInput> wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].name == name) return i;
  }
  return kNone;
}

// The input that a file is for: by position first, because the files of a folder are numbered.
size_t slot_of(const GivenFile& file, std::span<const WantedInput> wanted) {
  if (file.position < wanted.size()) return file.position;
  return find_wanted(file.input_name(), wanted);
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

// Which file serves each input; kNone where none does.
Status assign_files(FixedList<GivenFile>& given, std::span<const WantedInput> wanted, Array<size_t>* out_files) {
  if (!out_files->resize(wanted.size())) return out_of_memory();
  std::fill(out_files->begin(), out_files->end(), kNone);
  for (size_t i = 0; i < given.size(); ++i) {
    const size_t slot = slot_of(given[i], wanted);
    if (slot == kNone) return unknown_input(given[i], wanted);
    size_t& file = (*out_files)[slot];
    if (file != kNone && given[file].is_option == given[i].is_option) {
      return error(Code::InvalidArgument, "input '%.*s' is given twice, by '%s' and '%s'", static_cast<int>(wanted[slot].name.size()),
                   wanted[slot].name.data(), given[file].path.data(), given[i].path.data());
    }
    file = i;  // options come last
  }
  return {};
}

Status check_all_set(std::span<const size_t> files, std::span<const WantedInput> wanted) {
  Text text, keys;
  size_t missing = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (files[i] != kNone) continue;
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

Result<FixedList<HostTensor>> match_inputs(FixedList<GivenFile> given, std::span<const WantedInput> wanted, const Arguments& arguments) {
  const Fill& fill = arguments.values.fill;
  Array<size_t> files;
  TIFFIN_TRY(assign_files(given, wanted, &files));
  if (fill.kind == FillKind::None) TIFFIN_TRY(check_all_set(files.span(), wanted));
  FixedList<HostTensor> tensors;
  TIFFIN_TRY(tensors.create(wanted.size()));
  RandomStream stream{fill.seed};
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (files[i] == kNone) {
      TIFFIN_ASSIGN_OR_RETURN(tensors[i], HostTensor::create(wanted[i].dtype, wanted[i].shape));
      TIFFIN_TRY(fill_tensor(fill, stream, tensors[i]));
      continue;
    }
    GivenFile& file = given[files[i]];
    if (!file.failure.is_ok()) {
      return std::move(file.failure).with_context("input '%.*s'", static_cast<int>(wanted[i].name.size()), wanted[i].name.data());
    }
    TIFFIN_ASSIGN_OR_RETURN(tensors[i], adopt_raw(std::move(file.tensor), wanted[i].dtype));
    TIFFIN_TRY(check_type(tensors[i], wanted[i]));
  }
  return tensors;
}

}  // namespace tiffin::tools
