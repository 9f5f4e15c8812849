// SPDX-License-Identifier: Apache-2.0
// `params diff`, `params delta` and `params apply`: what differs between two sets of parameters, as an answer and as a file.
#include <algorithm>
#include <cstdio>

#include "base/params/compare_sets.h"
#include "base/params/delta.h"
#include "base/params/write_delta.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/check_output.h"
#include "tools/commands/commands.h"
#include "tools/commands/inspect.h"
#include "tools/commands/named_set.h"

namespace tiffin::tools {
namespace {

using params::Change;
using params::TensorChange;

struct Counts {
  size_t of[4] = {};
  size_t operator[](Change change) const { return of[static_cast<size_t>(change)]; }
};

Counts count_changes(std::span<const TensorChange> changes) {
  Counts counts;
  for (const TensorChange& change : changes) ++counts.of[static_cast<size_t>(change.change)];
  return counts;
}

Status print_json(std::span<const TensorChange> changes, bool is_same) {
  JsonOutput out(stdout);
  out.begin_object();
  out.boolean("same", is_same);
  write_tensor_changes(out, changes);
  out.end_object();
  return out.finish();
}

// The type, or how it changed.
void add_types(Text& line, const TensorChange& change, const NamedSet& before, const NamedSet& after) {
  const auto add = [&line](const NamedSet& set, size_t index) {
    const params::ParamEntry& entry = set.source.entries[index];
    line.add_type(entry.dtype, entry.shape);
  };
  if (change.change == Change::Added) return add(after, change.after);
  add(before, change.before);
  if (change.change != Change::Changed) return;
  const params::ParamEntry &old_entry = before.source.entries[change.before], &new_entry = after.source.entries[change.after];
  if (old_entry.dtype == new_entry.dtype && std::ranges::equal(old_entry.shape, new_entry.shape)) return;
  line.add(" -> ");
  add(after, change.after);
}

Status print_text(std::span<const TensorChange> changes, const NamedSet& before, const NamedSet& after) {
  for (const TensorChange& change : changes) {
    if (change.change == Change::Equal) continue;
    Text line;
    line.add(change.name);
    line.add("  ");
    add_types(line, change, before, after);
    printf("%s  %s", params::change_name(change.change), line.c_str());
    if (change.max_difference == change.max_difference) printf("  largest difference %g", change.max_difference);
    printf("\n");
  }
  const Counts counts = count_changes(changes);
  printf("%zu equal, %zu changed, %zu added, %zu removed\n", counts[Change::Equal], counts[Change::Changed], counts[Change::Added],
         counts[Change::Removed]);
  return flush_output();
}

// An artifact is more than the set that would replace it.
Status check_artifact(const char* output, const NamedSet& read) {
  return read.artifact.has_value() ? check_output(output, read.artifact->container()) : Status();
}

}  // namespace

void write_tensor_changes(JsonOutput& out, std::span<const TensorChange> changes) {
  out.begin_array("tensors");
  for (const TensorChange& change : changes) {
    out.begin_object();
    out.text("name", change.name);
    out.text("change", params::change_name(change.change));
    out.real("max_difference", change.max_difference);
    out.end_object();
  }
  out.end_array();
}

Result<int> diff_params(const Arguments& arguments) {
  NamedSet before, after;
  TIFFIN_TRY(open_set(arguments.file, &before));
  TIFFIN_TRY(open_set(arguments.second_file, &after));
  TIFFIN_ASSIGN_OR_RETURN(const Array<TensorChange> changes, params::compare_sets(before.source, after.source));
  const bool is_same = count_changes(changes.span())[Change::Equal] == changes.size();
  if (arguments.json) {
    TIFFIN_TRY(print_json(changes.span(), is_same));
  } else if (!arguments.quiet) {
    TIFFIN_TRY(print_text(changes.span(), before, after));
  }
  return is_same ? 0 : 1;
}

Result<int> write_params_delta(const Arguments& arguments) {
  // A delta written over what it was made of could not be used any more.
  TIFFIN_TRY(check_output(arguments.output, arguments.file));
  TIFFIN_TRY(check_output(arguments.output, arguments.second_file));
  NamedSet before, after;
  TIFFIN_TRY(open_sound_set(arguments.file, &before));
  TIFFIN_TRY(open_sound_set(arguments.second_file, &after));
  TIFFIN_TRY(check_artifact(arguments.output, before));
  TIFFIN_TRY(check_artifact(arguments.output, after));
  TIFFIN_ASSIGN_OR_RETURN(const Array<TensorChange> changes, params::compare_sets(before.source, after.source));
  TIFFIN_TRY(params::write_delta_file(arguments.output, before.source, after.source, changes.span()));
  TIFFIN_TRY(print_written(arguments.output, changes.size() - count_changes(changes.span())[Change::Equal], arguments));
  return 0;
}

Result<int> apply_params_delta(const Arguments& arguments) {
  TIFFIN_TRY(check_output(arguments.output, arguments.second_file));
  NamedSet base;
  TIFFIN_TRY(open_sound_set(arguments.file, &base));
  TIFFIN_TRY(check_artifact(arguments.output, base));
  TIFFIN_ASSIGN_OR_RETURN(const params::Delta delta, params::Delta::open(arguments.second_file));
  TIFFIN_ASSIGN_OR_RETURN(const params::PatchedSet patched, params::PatchedSet::create(base.source, delta));
  TIFFIN_TRY(write_set(arguments.output, patched.source(), base.plan, {}, arguments.file));
  TIFFIN_TRY(print_written(arguments.output, patched.source().entries.size(), arguments));
  return 0;
}

}  // namespace tiffin::tools
