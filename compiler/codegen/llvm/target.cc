// SPDX-License-Identifier: Apache-2.0
// parse_target: from a user's words to a triple, a CPU and the features that code may use.
#include "compiler/codegen/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <string_view>

#include "compiler/codegen/llvm/object.h"

namespace tiffin::codegen {
namespace {

// What code may use beyond the baseline, and what a runtime must therefore be able to ask a CPU for. Everything else that a CPU has stays unused.
constexpr std::string_view kX86Features[] = {
    "amx-bf16",     "amx-complex", "amx-fp16",   "amx-int8",        "amx-tile", "avx",        "avx2",       "avx512bf16",
    "avx512bitalg", "avx512bw",    "avx512cd",   "avx512dq",        "avx512f",  "avx512fp16", "avx512ifma", "avx512vbmi",
    "avx512vbmi2",  "avx512vl",    "avx512vnni", "avx512vpopcntdq", "avxvnni",  "bmi",        "bmi2",       "f16c",
    "fma",          "lzcnt",       "movbe",      "popcnt",          "sse3",     "sse4.1",     "sse4.2",     "ssse3",
};
constexpr std::string_view kArmFeatures[] = {"bf16", "dotprod", "fullfp16", "i8mm", "neon"};

constexpr const char* kPortableKind = "portable-ir";

struct Architecture {
  const char* name;      // of the triple
  const char* baseline;  // CPU of a triple without -mcpu
  uint16_t elf_machine;
  std::span<const std::string_view> features;
  const char* needed;      // the feature without which generated code cannot do
  const char* cpu_filter;  // a feature that every CPU of this architecture's table entry has
};

constexpr Architecture kArchitectures[] = {
    {"x86_64", "x86-64-v2", 62, kX86Features, "sse4.2", "64bit"},
    {"aarch64", "generic", 183, kArmFeatures, "neon", nullptr},
};

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return &architecture;
  }
  return nullptr;
}

using Subtarget = std::unique_ptr<llvm::MCSubtargetInfo>;

Subtarget create_subtarget(const std::string& triple, const std::string& cpu, const std::string& features) {
  std::string message;
  const llvm::Triple parsed(triple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(parsed, message);
  return target == nullptr ? nullptr : Subtarget(target->createMCSubtargetInfo(parsed, cpu, features));
}

std::set<std::string> enabled_features(const llvm::MCSubtargetInfo& subtarget) {
  std::set<std::string> names;
  for (const llvm::SubtargetFeatureKV& feature : subtarget.getAllProcessorFeatures()) {
    if (subtarget.hasFeature(feature.Value)) names.insert(feature.Key);
  }
  return names;
}

// The three names nearest to a wrong one, as "'a', 'b', 'c'".
std::string nearest(const std::string& wrong, const std::vector<std::string>& names) {
  std::vector<std::pair<unsigned, std::string>> ranked;
  for (const std::string& name : names) ranked.emplace_back(llvm::StringRef(wrong).edit_distance(name), name);
  std::sort(ranked.begin(), ranked.end());
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, ranked.size()); ++i) text += (i == 0 ? "'" : ", '") + ranked[i].second + "'";
  return text;
}

struct Words {
  std::string triple, cpu;
  std::vector<std::string> attributes;  // "+f" or "-f"
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<Words> parse_words(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' ')) words.push_back(word);
  if (words.empty()) return error(Code::UnsupportedTarget, "the target '%s' is empty, expected is one such as 'llvm -mcpu=native'", text.c_str());
  if (words[0] != "llvm") {
    return error(Code::UnsupportedTarget, "target '%s' has the unknown kind '%s', expected 'llvm' or 'portable-ir'", text.c_str(), words[0].c_str());
  }
  Words result;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals), value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (value.empty() || (name != "-mcpu" && name != "-mattr" && name != "-mtriple")) {
      return error(Code::UnsupportedTarget,
                   "target '%s' has the unknown option '%s', expected -mcpu=NAME, -mattr=+FEATURE,-FEATURE or -mtriple=TRIPLE", text.c_str(),
                   words[i].c_str());
    }
    if (name == "-mcpu") result.cpu = value;
    if (name == "-mtriple") result.triple = value;
    if (name != "-mattr") continue;
    for (const std::string& attribute : split(value, ',')) {
      result.attributes.push_back(attribute[0] == '+' || attribute[0] == '-' ? attribute : "+" + attribute);
    }
  }
  return result;
}

// The triple in the one spelling that files carry; only Linux with ELF is generated for.
Result<std::string> normalise_triple(const std::string& text, const Architecture*& architecture) {
  const llvm::Triple triple(llvm::Triple::normalize(text));
  std::string name = triple.getArchName().str();
  if (name == "arm64") name = "aarch64";
  if (name == "amd64" || name == "x86-64") name = "x86_64";
  architecture = find_architecture(name);
  const bool is_known_system = triple.getOS() == llvm::Triple::Linux || triple.getOS() == llvm::Triple::UnknownOS;
  if (architecture == nullptr || !is_known_system || !triple.isOSBinFormatELF()) {
    return error(Code::UnsupportedTarget, "triple '%s' is not supported, expected 'x86_64-linux-gnu' or 'aarch64-linux-gnu'", text.c_str());
  }
  const bool is_musl = triple.getEnvironment() == llvm::Triple::Musl;
  return name + (is_musl ? "-linux-musl" : "-linux-gnu");
}

// The host's features as "+f"/"-f" for every name of the allow-list: a hypervisor may hide what the CPU's name promises.
std::vector<std::string> host_attributes(const Architecture& architecture) {
  const auto host = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> attributes;
  for (const std::string_view name : architecture.features) {
    const auto found = host.find(llvm::StringRef(name));
    if (found == host.end()) continue;
    attributes.push_back((found->second ? "+" : "-") + std::string(name));
  }
  // Removals first: removing a feature removes what builds on it.
  std::stable_sort(attributes.begin(), attributes.end(), [](const std::string& a, const std::string& b) { return a[0] == '-' && b[0] != '-'; });
  return attributes;
}

Status check_attributes(const llvm::MCSubtargetInfo& subtarget, const std::vector<std::string>& attributes) {
  std::vector<std::string> names;
  for (const llvm::SubtargetFeatureKV& feature : subtarget.getAllProcessorFeatures()) names.push_back(feature.Key);
  for (const std::string& attribute : attributes) {
    const std::string name = attribute.substr(1);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return error(Code::UnsupportedTarget, "feature '%s' is unknown for '%s', nearest known: %s", name.c_str(),
                   subtarget.getTargetTriple().getArchName().str().c_str(), nearest(name, names).c_str());
    }
  }
  return {};
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

// The allowed features that a CPU with these attributes has, sorted.
std::vector<std::string> allowed_features(const Architecture& architecture, const std::string& triple, const std::string& cpu,
                                          const std::vector<std::string>& attributes) {
  const std::set<std::string> enabled = enabled_features(*create_subtarget(triple, cpu, join(attributes)));
  std::vector<std::string> features;
  for (const std::string_view name : architecture.features) {
    if (enabled.count(std::string(name)) != 0) features.emplace_back(name);
  }
  std::sort(features.begin(), features.end());
  return features;
}

kernel::Machine machine_of(const Target& target) {
  const auto has = [&](const char* name) { return std::binary_search(target.features.begin(), target.features.end(), name); };
  kernel::Machine machine;
  if (target.elf_machine == 183) {
    machine.vector_registers = 32;
    machine.has_fma = true;
    machine.has_f16c = true;  // conversion is part of the baseline
    return machine;
  }
  const bool has_avx512 = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
  machine.vector_bytes = has_avx512 ? 64 : has("avx2") ? 32 : 16;
  machine.vector_registers = has_avx512 ? 32 : 16;
  machine.has_fma = has("fma");
  machine.has_masks = has_avx512;
  machine.has_f16c = has("f16c");
  machine.has_dot_u8s8 = has("avxvnni") || (has_avx512 && has("avx512vnni"));
  machine.l2_bytes = has_avx512 ? 1024 * 1024 : 512 * 1024;
  return machine;
}

// "-mattr" of the normalised text: how the features differ from those of the CPU's name.
std::string difference(const std::vector<std::string>& usual, const std::vector<std::string>& actual) {
  std::vector<std::string> parts;
  for (const std::string& name : usual) {
    if (!std::binary_search(actual.begin(), actual.end(), name)) parts.push_back("-" + name);
  }
  for (const std::string& name : actual) {
    if (!std::binary_search(usual.begin(), usual.end(), name)) parts.push_back("+" + name);
  }
  return join(parts);
}

// The interpreter's own costs decide: it pays for each instruction, so lanes are many and masks save the code for rests; it has no use for FMA, which
// a plain CPU cannot round once. Blocks and panels are those of AVX-512, whose storage plan it thereby shares.
Target portable_target() {
  Target target;
  target.text = target.triple = target.cpu = kPortableKind;
  target.machine.vector_bytes = 64;
  target.machine.has_masks = true;
  return target;
}

}  // namespace

std::vector<std::string> known_cpus(const std::string& architecture_name) {
  const Architecture* architecture = find_architecture(architecture_name);
  if (architecture == nullptr || !prepare_llvm().is_ok()) return {};
  const std::string triple = architecture_name + "-linux-gnu";
  const Subtarget table = create_subtarget(triple, architecture->baseline, "");
  std::vector<std::string> names;
  for (const llvm::SubtargetSubTypeKV& cpu : table->getAllProcessorDescriptions()) {
    const std::set<std::string> enabled = enabled_features(*create_subtarget(triple, cpu.Key, ""));
    const bool is_right = architecture->cpu_filter == nullptr || enabled.count(architecture->cpu_filter) != 0;
    if (is_right && enabled.count(architecture->needed) != 0) names.push_back(cpu.Key);
  }
  return names;
}

CpuTable cpu_table(const std::string& architecture_name) {
  CpuTable table;
  const Architecture* architecture = find_architecture(architecture_name);
  if (architecture == nullptr || !prepare_llvm().is_ok()) return table;
  const std::string triple = architecture_name + "-linux-gnu";
  table.features.assign(architecture->features.begin(), architecture->features.end());
  std::sort(table.features.begin(), table.features.end());
  const auto mask_of = [&](const std::set<std::string>& enabled) {
    uint32_t mask = 0;
    for (size_t i = 0; i < table.features.size(); ++i) mask |= enabled.count(table.features[i]) != 0 ? uint32_t{1} << i : 0;
    return mask;
  };
  for (const std::string& feature : table.features) {
    table.implied.push_back(mask_of(enabled_features(*create_subtarget(triple, "", "+" + feature))));
  }
  const Subtarget list = create_subtarget(triple, architecture->baseline, "");
  for (const llvm::SubtargetSubTypeKV& cpu : list->getAllProcessorDescriptions()) {
    const std::set<std::string> enabled = enabled_features(*create_subtarget(triple, cpu.Key, ""));
    if (architecture->cpu_filter == nullptr || enabled.count(architecture->cpu_filter) != 0) table.cpus.emplace_back(cpu.Key, mask_of(enabled));
  }
  std::sort(table.cpus.begin(), table.cpus.end());
  return table;
}

Result<Target> parse_target(const std::string& words) {
  if (split(words, ' ') == std::vector<std::string>{kPortableKind}) return portable_target();
  TIFFIN_TRY(prepare_llvm());
  TIFFIN_ASSIGN_OR_RETURN(Words parsed, parse_words(words));
  const std::string host_triple = llvm::sys::getDefaultTargetTriple();
  const Architecture* host = nullptr;
  const Architecture* architecture = nullptr;
  const Result<std::string> host_name = normalise_triple(host_triple, host);
  Target target;
  TIFFIN_ASSIGN_OR_RETURN(target.triple, normalise_triple(parsed.triple.empty() ? host_triple : parsed.triple, architecture));
  target.elf_machine = architecture->elf_machine;
  target.cpu = !parsed.cpu.empty() ? parsed.cpu : parsed.triple.empty() ? "native" : architecture->baseline;
  std::vector<std::string> attributes;
  if (target.cpu == "native") {
    if (architecture != host) {
      return error(Code::UnsupportedTarget, "cpu 'native' is this machine's, '%s' is not this machine's triple; name a cpu with -mcpu",
                   target.triple.c_str());
    }
    target.cpu = llvm::sys::getHostCPUName().str();
    attributes = host_attributes(*architecture);
  }
  const std::vector<std::string> cpus = known_cpus(architecture->name);
  if (std::find(cpus.begin(), cpus.end(), target.cpu) == cpus.end()) {
    return error(Code::UnsupportedTarget, "cpu '%s' is unknown for '%s' or lacks '%s', nearest known: %s", target.cpu.c_str(), architecture->name,
                 architecture->needed, nearest(target.cpu, cpus).c_str());
  }
  TIFFIN_TRY(check_attributes(*create_subtarget(target.triple, target.cpu, ""), parsed.attributes));
  attributes.insert(attributes.end(), parsed.attributes.begin(), parsed.attributes.end());
  target.features = allowed_features(*architecture, target.triple, target.cpu, attributes);
  if (!std::binary_search(target.features.begin(), target.features.end(), architecture->needed)) {
    return error(Code::UnsupportedTarget, "target '%s' lacks '%s', which generated code needs", words.c_str(), architecture->needed);
  }
  target.machine = machine_of(target);
  target.text = "llvm -mtriple=" + target.triple + " -mcpu=" + target.cpu;
  const std::string attribute_text = difference(allowed_features(*architecture, target.triple, target.cpu, {}), target.features);
  if (!attribute_text.empty()) target.text += " -mattr=" + attribute_text;
  return target;
}

}  // namespace tiffin::codegen
