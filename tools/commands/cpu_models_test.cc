// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/cpu_models.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <string>

namespace tiffin::tools {
namespace {

bool has(const AskedMachine& asked, const char* feature) {
  const runtime::Machine machine = asked.machine();
  return machine.has_feature(machine.context, feature);
}

TEST(AskedMachine, KnowsCpusOfBothArchitectures) {
  const auto haswell = AskedMachine::of_cpu("haswell"), arm = AskedMachine::of_cpu("neoverse-n1");
  ASSERT_TRUE(haswell.has_value() && arm.has_value());
  EXPECT_EQ(haswell->machine().elf_machine, EM_X86_64);
  EXPECT_TRUE(has(*haswell, "avx2") && has(*haswell, "fma"));
  EXPECT_FALSE(has(*haswell, "avx512f"));
  EXPECT_EQ(arm->machine().elf_machine, EM_AARCH64);
  EXPECT_TRUE(has(*arm, "dotprod"));
  EXPECT_FALSE(has(*arm, "bf16") || has(*arm, "avx2"));
}

TEST(AskedMachine, NativeIsThisMachine) {
  const auto asked = AskedMachine::of_cpu("native");
  ASSERT_TRUE(asked.has_value());
  EXPECT_TRUE(asked->is_this());
  EXPECT_STREQ(asked->machine().name, "this machine");
}

TEST(AskedMachine, NamesTheNearestCpus) {
  const auto asked = AskedMachine::of_cpu("skylaek");
  ASSERT_FALSE(asked.has_value());
  EXPECT_EQ(asked.error().code(), Code::UnsupportedTarget);
  EXPECT_NE(std::string(asked.error().message()).find("'skylake'"), std::string::npos) << asked.error().message();
  EXPECT_FALSE(AskedMachine::of_cpu("").has_value());
  EXPECT_FALSE(AskedMachine::of_cpu(std::string(1000, 'x').c_str()).has_value());
}

TEST(AskedMachine, FeaturesBringWhatTheyImply) {
  const auto asked = AskedMachine::of_features("+avx2, fma,sse2");
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->machine().elf_machine, EM_X86_64);
  EXPECT_TRUE(has(*asked, "avx2") && has(*asked, "avx") && has(*asked, "sse4.2") && has(*asked, "fma"));
  EXPECT_FALSE(has(*asked, "bmi2") || has(*asked, "avx512f"));
}

TEST(AskedMachine, FeaturesDecideTheArchitecture) {
  const auto asked = AskedMachine::of_features("dotprod");
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->machine().elf_machine, EM_AARCH64);
  EXPECT_TRUE(has(*asked, "neon"));
}

TEST(AskedMachine, TakesAFeatureThatTheTableLacksByItsName) {
  const auto asked = AskedMachine::of_features("avx2,avx1024");
  ASSERT_TRUE(asked.has_value());
  EXPECT_TRUE(has(*asked, "avx1024"));
}

TEST(AskedMachine, RefusesAListWithoutAKnownFeature) {
  const auto asked = AskedMachine::of_features("avx22");
  ASSERT_FALSE(asked.has_value());
  EXPECT_NE(std::string(asked.error().message()).find("'avx2'"), std::string::npos) << asked.error().message();
  EXPECT_TRUE(AskedMachine::of_features("").has_value());
}

}  // namespace
}  // namespace tiffin::tools
