// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace tiffin::codegen {
namespace {

bool has(const Target& target, const char* feature) {
  return std::find(target.features.begin(), target.features.end(), feature) != target.features.end();
}

Target parsed(const char* words) {
  Result<Target> target = parse_target(words);
  EXPECT_TRUE(target.has_value()) << words << ": " << (target.has_value() ? "" : target.error().message());
  return target.has_value() ? *target : Target{};
}

void expect_refused(const char* words, const char* mention) {
  const Result<Target> target = parse_target(words);
  ASSERT_FALSE(target.has_value()) << words;
  EXPECT_EQ(target.error().code(), Code::UnsupportedTarget);
  EXPECT_NE(std::strstr(target.error().message(), mention), nullptr) << target.error().message();
}

TEST(Target, levels_give_vector_widths) {
  const Target v2 = parsed("llvm -mcpu=x86-64-v2 -mtriple=x86_64-linux-gnu"), v3 = parsed("llvm -mtriple=x86_64 -mcpu=x86-64-v3");
  const Target v4 = parsed("llvm -mcpu=x86-64-v4 -mtriple=x86_64-unknown-linux-gnu");
  EXPECT_EQ(v2.machine.vector_bytes, 16);
  EXPECT_FALSE(v2.machine.has_fma || has(v2, "avx"));
  EXPECT_EQ(v3.machine.vector_bytes, 32);
  EXPECT_TRUE(v3.machine.has_fma && v3.machine.has_f16c && !v3.machine.has_masks);
  EXPECT_EQ(v4.machine.vector_bytes, 64);
  EXPECT_TRUE(v4.machine.has_masks && v4.machine.vector_registers == 32);
  EXPECT_EQ(v3.text, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3");
  EXPECT_EQ(v3.elf_machine, 62);
}

TEST(Target, portable_kernels_are_for_no_machine) {
  const Target portable = parsed(" portable-ir ");
  EXPECT_EQ(portable.text, "portable-ir");
  EXPECT_TRUE(portable.is_portable() && portable.features.empty() && !portable.machine.has_fma);
  EXPECT_FALSE(parsed("llvm -mcpu=x86-64-v2 -mtriple=x86_64-linux-gnu").is_portable());
  expect_refused("portable-ir -mcpu=x86-64-v2", "portable-ir");
}

TEST(Target, nothing_is_no_target) {
  expect_refused("", "is empty");
  expect_refused("  ", "is empty");
}

TEST(Target, features_are_of_the_allow_list_alone) {
  const Target zen = parsed("llvm -mtriple=x86_64-linux-gnu -mcpu=znver3");
  EXPECT_TRUE(has(zen, "avx2") && has(zen, "movbe") && has(zen, "lzcnt"));
  EXPECT_FALSE(has(zen, "aes") || has(zen, "sha") || has(zen, "sse4a"));
  EXPECT_TRUE(std::is_sorted(zen.features.begin(), zen.features.end()));
}

TEST(Target, attributes_add_and_remove) {
  const Target more = parsed("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+avx512fp16,+avxvnni,+amx-tile");
  EXPECT_TRUE(has(more, "avx512fp16") && has(more, "avxvnni") && has(more, "amx-tile"));
  EXPECT_EQ(more.text, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+amx-tile,+avx512fp16,+avxvnni");
  const Target less = parsed("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -mattr=-avx2,-fma");
  EXPECT_FALSE(has(less, "avx2") || less.machine.has_fma);
  EXPECT_EQ(less.machine.vector_bytes, 16);
}

TEST(Target, normalised_text_parses_to_itself) {
  for (const char* words : {"llvm", "llvm -mcpu=native", "llvm -mtriple=aarch64-linux-gnu", "llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx2",
                            "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+avx512fp16", "llvm -mtriple=x86_64-linux-gnu"}) {
    const Target once = parsed(words);
    const Target twice = parsed(once.text.c_str());
    EXPECT_EQ(once.text, twice.text);
    EXPECT_EQ(once.features, twice.features) << words;
  }
}

TEST(Target, aarch64) {
  const Target arm = parsed("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72");
  EXPECT_EQ(arm.elf_machine, 183);
  EXPECT_TRUE(has(arm, "neon") && arm.machine.has_fma);
  EXPECT_EQ(arm.machine.vector_bytes, 16);
  const Target neoverse = parsed("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1");
  EXPECT_TRUE(has(neoverse, "dotprod") && has(neoverse, "fullfp16"));
  EXPECT_FALSE(has(parsed("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1"), "sve"));
}

TEST(Target, every_known_cpu_parses) {
  for (const std::string architecture : {"x86_64", "aarch64"}) {
    const std::vector<std::string> cpus = known_cpus(architecture);
    EXPECT_GT(cpus.size(), 30u);
    for (const std::string& cpu : cpus) parsed(("llvm -mtriple=" + architecture + "-linux-gnu -mcpu=" + cpu).c_str());
  }
}

TEST(Target, unknown_words_are_refused_with_the_nearest_names) {
  expect_refused("llvm -mcpu=pentium9000 -mtriple=x86_64-linux-gnu", "pentium9000");
  expect_refused("llvm -mcpu=x86-64-v9 -mtriple=x86_64-linux-gnu", "x86-64-v2");
  expect_refused("llvm -mcpu=x86-64 -mtriple=x86_64-linux-gnu", "sse4.2");
  expect_refused("llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -mattr=+avx3", "avx2");
  expect_refused("opencl", "opencl");
  expect_refused("llvm -mtriple=riscv64-linux-gnu", "riscv64");
  expect_refused("llvm -mtriple=x86_64-windows-msvc", "windows");
  expect_refused("llvm -O3", "-O3");
  expect_refused("llvm -mcpu=", "-mcpu=");
  expect_refused("llvm -mtriple=aarch64-linux-gnu -mcpu=native", "native");
}

}  // namespace
}  // namespace tiffin::codegen
