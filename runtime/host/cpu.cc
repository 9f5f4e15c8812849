// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/cpu.h"

#include <elf.h>
#include <sched.h>

#include <iterator>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace tiffin::runtime {
namespace {

#if defined(__x86_64__)

enum class State : uint8_t { None, Ymm, Zmm, Tile };

// A row of the table below, which only the compiler reads: it packs it to half its size.
struct Row {
  const char* name;
  uint32_t leaf;
  uint8_t subleaf;
  char output;  // the register of cpuid that holds the bit: a, b, c, d
  uint8_t bit;
  State state;  // register state that the system must save
};

// Bits as in the manuals of Intel (volume 2, CPUID) and AMD (volume 3, appendix E).
constexpr Row kRows[] = {
    {"x87", 1, 0, 'd', 0, State::None},
    {"cx8", 1, 0, 'd', 8, State::None},
    {"cmov", 1, 0, 'd', 15, State::None},
    {"mmx", 1, 0, 'd', 23, State::None},
    {"fxsr", 1, 0, 'd', 24, State::None},
    {"sse", 1, 0, 'd', 25, State::None},
    {"sse2", 1, 0, 'd', 26, State::None},
    {"sse3", 1, 0, 'c', 0, State::None},
    {"pclmul", 1, 0, 'c', 1, State::None},
    {"ssse3", 1, 0, 'c', 9, State::None},
    {"fma", 1, 0, 'c', 12, State::Ymm},
    {"cx16", 1, 0, 'c', 13, State::None},
    {"crc32", 1, 0, 'c', 20, State::None},
    {"sse4.1", 1, 0, 'c', 19, State::None},
    {"sse4.2", 1, 0, 'c', 20, State::None},
    {"movbe", 1, 0, 'c', 22, State::None},
    {"popcnt", 1, 0, 'c', 23, State::None},
    {"aes", 1, 0, 'c', 25, State::None},
    {"xsave", 1, 0, 'c', 26, State::None},
    {"avx", 1, 0, 'c', 28, State::Ymm},
    {"f16c", 1, 0, 'c', 29, State::Ymm},
    {"rdrnd", 1, 0, 'c', 30, State::None},
    {"bmi", 7, 0, 'b', 3, State::None},
    {"avx2", 7, 0, 'b', 5, State::Ymm},
    {"bmi2", 7, 0, 'b', 8, State::None},
    {"avx512f", 7, 0, 'b', 16, State::Zmm},
    {"avx512dq", 7, 0, 'b', 17, State::Zmm},
    {"adx", 7, 0, 'b', 19, State::None},
    {"avx512ifma", 7, 0, 'b', 21, State::Zmm},
    {"avx512cd", 7, 0, 'b', 28, State::Zmm},
    {"sha", 7, 0, 'b', 29, State::None},
    {"avx512bw", 7, 0, 'b', 30, State::Zmm},
    {"avx512vl", 7, 0, 'b', 31, State::Zmm},
    {"prfchw", 0x80000001u, 0, 'c', 8, State::None},
    {"avx512vbmi", 7, 0, 'c', 1, State::Zmm},
    {"avx512vbmi2", 7, 0, 'c', 6, State::Zmm},
    {"gfni", 7, 0, 'c', 8, State::None},
    {"vaes", 7, 0, 'c', 9, State::Ymm},
    {"vpclmulqdq", 7, 0, 'c', 10, State::Ymm},
    {"avx512vnni", 7, 0, 'c', 11, State::Zmm},
    {"avx512bitalg", 7, 0, 'c', 12, State::Zmm},
    {"avx512vpopcntdq", 7, 0, 'c', 14, State::Zmm},
    {"avx512vp2intersect", 7, 0, 'd', 8, State::Zmm},
    {"amx-bf16", 7, 0, 'd', 22, State::Tile},
    {"avx512fp16", 7, 0, 'd', 23, State::Zmm},
    {"amx-tile", 7, 0, 'd', 24, State::Tile},
    {"amx-int8", 7, 0, 'd', 25, State::Tile},
    {"sha512", 7, 1, 'a', 0, State::Ymm},
    {"avxvnni", 7, 1, 'a', 4, State::Ymm},
    {"avx512bf16", 7, 1, 'a', 5, State::Zmm},
    {"amx-fp16", 7, 1, 'a', 21, State::Tile},
    {"avxifma", 7, 1, 'a', 23, State::Ymm},
    {"avxvnniint8", 7, 1, 'd', 4, State::Ymm},
    {"avxneconvert", 7, 1, 'd', 5, State::Ymm},
    {"amx-complex", 7, 1, 'd', 8, State::Tile},
    {"avxvnniint16", 7, 1, 'd', 10, State::Ymm},
    {"sahf", 0x80000001u, 0, 'c', 0, State::None},
    {"lzcnt", 0x80000001u, 0, 'c', 5, State::None},
    {"sse4a", 0x80000001u, 0, 'c', 6, State::None},
    {"xop", 0x80000001u, 0, 'c', 11, State::Ymm},
    {"fma4", 0x80000001u, 0, 'c', 16, State::Ymm},
    {"tbm", 0x80000001u, 0, 'c', 21, State::None},
    {"64bit", 0x80000001u, 0, 'd', 29, State::None},
};

constexpr uint32_t kExtended = 0x80000000u;

struct Feature {
  uint8_t leaf;  // its low bits; the highest says that it is an extended one
  uint8_t subleaf;
  char output;
  uint8_t bit;
  State state;
};

constexpr size_t names_bytes() {
  size_t bytes = 0;
  for (const Row& row : kRows) bytes += std::string_view(row.name).size() + 1;
  return bytes;
}

struct Table {
  char names[names_bytes()] = {};  // in the order of the features, each with a NUL behind it
  Feature features[std::size(kRows)] = {};
};

constexpr Table packed() {
  Table table;
  size_t at = 0, index = 0;
  for (const Row& row : kRows) {
    for (const char c : std::string_view(row.name)) table.names[at++] = c;
    table.names[at++] = 0;
    table.features[index++] = {static_cast<uint8_t>((row.leaf & 0x7F) | (row.leaf >= kExtended ? 0x80 : 0)), row.subleaf, row.output, row.bit,
                               row.state};
  }
  return table;
}

constexpr Table kTable = packed();

// The register states that the system saves (XCR0), 0 when it does not use XSAVE.
uint64_t saved_states() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || ((c >> 27) & 1) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | (static_cast<uint64_t>(high) << 32);
}

bool is_saved(State state) {
  constexpr uint64_t kYmm = 0x6, kZmm = 0xE6, kTile = 0x60006;
  switch (state) {
    case State::None:
      return true;
    case State::Ymm:
      return (saved_states() & kYmm) == kYmm;
    case State::Zmm:
      return (saved_states() & kZmm) == kZmm;
    case State::Tile:
      return (saved_states() & kTile) == kTile;
  }
  return false;
}

bool has_feature(const Feature& feature) {
  const uint32_t leaf = (feature.leaf & 0x7Fu) | ((feature.leaf & 0x80) != 0 ? kExtended : 0);
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (feature.subleaf > 0 && (__get_cpuid_count(leaf, 0, &a, &b, &c, &d) == 0 || a < feature.subleaf)) return false;
  if (__get_cpuid_count(leaf, feature.subleaf, &a, &b, &c, &d) == 0) return false;
  const uint32_t word = feature.output == 'a' ? a : feature.output == 'b' ? b : feature.output == 'c' ? c : d;
  return ((word >> feature.bit) & 1) != 0 && is_saved(feature.state);
}

bool has_feature(std::string_view llvm_name) {
  const char* name = kTable.names;
  for (const Feature& feature : kTable.features) {
    const std::string_view candidate(name);
    if (candidate == llvm_name) return has_feature(feature);
    name += candidate.size() + 1;
  }
  return false;
}

#elif defined(__aarch64__)

struct Feature {
  char name[12];
  unsigned long word;  // AT_HWCAP or AT_HWCAP2
  uint8_t bit;
};

// Bits as in the Linux kernel's arm64 elf_hwcaps document.
constexpr Feature kFeatures[] = {
    {"fp-armv8", AT_HWCAP, 0}, {"neon", AT_HWCAP, 1},      {"aes", AT_HWCAP, 3},      {"sha2", AT_HWCAP, 6},    {"crc", AT_HWCAP, 7},
    {"lse", AT_HWCAP, 8},      {"fullfp16", AT_HWCAP, 10}, {"rdm", AT_HWCAP, 12},     {"jsconv", AT_HWCAP, 13}, {"complxnum", AT_HWCAP, 14},
    {"rcpc", AT_HWCAP, 15},    {"sha3", AT_HWCAP, 17},     {"dotprod", AT_HWCAP, 20}, {"sve", AT_HWCAP, 22},    {"fp16fml", AT_HWCAP, 23},
    {"sve2", AT_HWCAP2, 1},    {"i8mm", AT_HWCAP2, 13},    {"bf16", AT_HWCAP2, 14},   {"sme", AT_HWCAP2, 23},
};

bool has_feature(std::string_view llvm_name) {
  for (const Feature& feature : kFeatures) {
    if (feature.name == llvm_name) return ((getauxval(feature.word) >> feature.bit) & 1) != 0;
  }
  return false;
}

#else

bool has_feature(std::string_view) { return false; }

#endif

}  // namespace

uint16_t host_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

const char* machine_name(uint16_t elf_machine) {
  switch (elf_machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "x86 (32 bit)";
    case EM_ARM:
      return "arm (32 bit)";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "powerpc64";
    case EM_S390:
      return "s390";
    default:
      return "an unknown machine";
  }
}

bool cpu_has_feature(std::string_view llvm_name) { return has_feature(llvm_name); }

int usable_core_count() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  const int count = CPU_COUNT(&cores);
  return count > 0 ? count : 1;
}

}  // namespace tiffin::runtime
