// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/cpu_models.h"

#include <cstdio>
#include <cstring>

#include "base/name_distance.h"
#include "base/text.h"
#include "runtime/host/cpu.h"

namespace tiffin::tools {
namespace {

// Position of `wanted` among `count` names that stand one behind the other; `count` when it is none of them.
uint16_t find_name(const char* names, uint16_t count, std::string_view wanted) {
  for (uint16_t i = 0; i < count; ++i) {
    if (wanted == names) return i;
    names += strlen(names) + 1;
  }
  return count;
}

// The names nearest to a wrong one, of several lists.
class Nearest {
 public:
  explicit Nearest(std::string_view wrong) : wrong_(wrong) {}
  void look_at(const char* names, uint16_t count) {
    for (uint16_t i = 0; i < count; ++i, names += strlen(names) + 1) offer(names);
  }
  // "'a', 'b', 'c'"
  void write(Text& out) const {
    for (size_t i = 0; i < kCount && names_[i] != nullptr; ++i) {
      out.add(i == 0 ? "'" : ", '");
      out.add(names_[i]);
      out.add("'");
    }
  }

 private:
  static constexpr size_t kCount = 3;
  void offer(const char* name) {
    size_t distance = name_distance(wrong_, name);
    for (size_t i = 0; i < kCount; ++i) {
      if (names_[i] != nullptr && strcmp(names_[i], name) == 0) return;
      if (names_[i] != nullptr && distances_[i] <= distance) continue;
      const char* pushed = names_[i];
      const size_t pushed_distance = distances_[i];
      names_[i] = name;
      distances_[i] = distance;
      if (pushed == nullptr) return;
      name = pushed;
      distance = pushed_distance;
    }
  }
  std::string_view wrong_;
  const char* names_[kCount] = {};
  size_t distances_[kCount] = {};
};

Status unknown_name(const char* what, std::string_view wrong, const Nearest& nearest) {
  Text text;
  nearest.write(text);
  return error(Code::UnsupportedTarget, "%s '%.*s' is unknown, nearest known: %s", what, static_cast<int>(wrong.size()), wrong.data(), text.c_str());
}

// The next word of a comma separated list, without blanks and a '+'; false at its end.
bool next_feature(std::string_view* list, std::string_view* out) {
  while (!list->empty()) {
    size_t end = 0;
    while (end < list->size() && (*list)[end] != ',' && (*list)[end] != ' ') ++end;
    std::string_view word(list->data(), end);
    list->remove_prefix(end < list->size() ? end + 1 : end);
    if (!word.empty() && word[0] == '+') word.remove_prefix(1);
    if (word.empty()) continue;
    *out = word;
    return true;
  }
  return false;
}

// What a list names of a table's features, with what they imply; the number of names in `out_known`.
uint32_t mask_of_list(const CpuTable& table, std::string_view list, size_t* out_known) {
  uint32_t mask = 0;
  std::string_view feature;
  *out_known = 0;
  while (next_feature(&list, &feature)) {
    const uint16_t index = find_name(table.features, table.feature_count, feature);
    if (index == table.feature_count) continue;
    mask |= table.implied[index];
    ++*out_known;
  }
  return mask;
}

}  // namespace

Result<AskedMachine> AskedMachine::of_cpu(const char* name) {
  AskedMachine asked;
  if (strcmp(name, "native") == 0) return asked;
  Nearest nearest(name);
  for (const CpuTable& table : kCpuTables) {
    nearest.look_at(table.names, table.cpu_count);
    const uint16_t index = find_name(table.names, table.cpu_count, name);
    // A name that both have ("generic") is the one of this machine's kind.
    if (index == table.cpu_count || (asked.table_ != nullptr && table.elf_machine != runtime::host_machine())) continue;
    asked.table_ = &table;
    asked.mask_ = table.masks[index];
  }
  if (asked.table_ == nullptr) return unknown_name("cpu", name, nearest);
  snprintf(asked.name_, sizeof asked.name_, "'%s'", name);
  return asked;
}

Result<AskedMachine> AskedMachine::of_features(const char* list) {
  AskedMachine asked;
  asked.list_ = list;
  std::string_view rest = list, first;
  const bool is_empty = !next_feature(&rest, &first);
  size_t most = 0;
  Nearest nearest(first);
  for (const CpuTable& table : kCpuTables) {
    nearest.look_at(table.features, table.feature_count);
    size_t known = 0;
    const uint32_t mask = mask_of_list(table, list, &known);
    const bool is_better = asked.table_ == nullptr || known > most || (known == most && table.elf_machine == runtime::host_machine());
    if (!is_better) continue;
    most = known;
    asked.table_ = &table;
    asked.mask_ = mask;
  }
  if (most == 0 && !is_empty) return unknown_name("feature", first, nearest);
  snprintf(asked.name_, sizeof asked.name_, "the machine asked about");
  return asked;
}

bool AskedMachine::has_feature(std::string_view feature) const {
  const uint16_t index = find_name(table_->features, table_->feature_count, feature);
  if (index < table_->feature_count) return (mask_ >> index & 1) != 0;
  // A feature that a newer compiler may use, and this table does not know.
  std::string_view rest = list_, listed;
  while (next_feature(&rest, &listed)) {
    if (listed == feature) return true;
  }
  return false;
}

runtime::Machine AskedMachine::machine() const {
  runtime::Machine machine = runtime::this_machine();
  if (is_this()) return machine;
  machine.name = name_;
  machine.elf_machine = table_->elf_machine;
  machine.context = this;
  machine.has_feature = [](const void* context, std::string_view name) { return static_cast<const AskedMachine*>(context)->has_feature(name); };
  return machine;
}

}  // namespace tiffin::tools
