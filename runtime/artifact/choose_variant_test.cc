// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/choose_variant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "runtime/artifact/testing_artifact.h"

namespace tiffin::runtime {
namespace {

using testing::Spec;

using Features = std::vector<std::string>;

Machine machine_with(const Features& features, uint16_t elf_machine = EM_X86_64) {
  const auto has = [](const void* context, std::string_view name) {
    const auto& list = *static_cast<const Features*>(context);
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  return {"that machine", elf_machine, has, &features, true};
}

// Three levels of x86-64, the middle one first.
Spec levels() {
  Spec spec;
  spec.machine = EM_X86_64;
  spec.features = {"avx2", "fma"};
  spec.others = {{"llvm -mcpu=low", EM_X86_64, {"sse4.2"}}, {"llvm -mcpu=high", EM_X86_64, {"avx2", "avx512f", "fma"}}};
  return spec;
}

class ChooseVariant : public ::testing::Test {
 protected:
  void open(const Spec& spec) {
    file_ = testing::build(spec);
    auto artifact = Artifact::open(Source::from_memory(file_).value(), VerifyLevel::Code);
    ASSERT_TRUE(artifact.has_value()) << artifact.error().message();
    artifact_.emplace(std::move(artifact).value());
  }
  std::string target(size_t index) const {
    return index == SIZE_MAX ? "none" : artifact_->program().variants()->Get(static_cast<uint32_t>(index))->target()->str();
  }
  std::string reason(size_t index, const Machine& machine) const {
    Text text;
    explain_variant(*artifact_, index, find_best_variant(*artifact_, machine), machine, text);
    return text.c_str();
  }
  Status refusal(const Machine& machine) const {
    auto variant = choose_variant(*artifact_, machine);
    return variant.has_value() ? Status() : variant.take_error();
  }

  std::vector<uint8_t> file_;
  std::optional<Artifact> artifact_;
};

TEST_F(ChooseVariant, TakesTheOneThatUsesMost) {
  open(levels());
  const Features high = {"avx2", "avx512f", "fma", "sse4.2"}, middle = {"avx2", "fma", "sse4.2"}, low = {"sse4.2", "fma"}, none = {};
  EXPECT_EQ(target(find_best_variant(*artifact_, machine_with(high))), "llvm -mcpu=high");
  EXPECT_EQ(target(find_best_variant(*artifact_, machine_with(middle))), "llvm -mcpu=generic");
  EXPECT_EQ(target(find_best_variant(*artifact_, machine_with(low))), "llvm -mcpu=low");
  EXPECT_EQ(target(find_best_variant(*artifact_, machine_with(none))), "none");
}

TEST_F(ChooseVariant, PutsTheWidthOfVectorsBeforeTheNumberOfFeatures) {
  Spec spec = levels();
  spec.others.push_back({"llvm -mcpu=many", EM_X86_64, {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}});
  open(spec);
  const Features all = {"avx2", "avx512f", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "sse4.2"};
  EXPECT_EQ(target(find_best_variant(*artifact_, machine_with(all))), "llvm -mcpu=high");
}

TEST_F(ChooseVariant, ExplainsEveryVariant) {
  open(levels());
  const Features middle = {"avx2", "fma", "sse4.2"};
  const Machine machine = machine_with(middle);
  EXPECT_EQ(reason(0, machine), "");
  EXPECT_NE(reason(1, machine).find("'llvm -mcpu=generic' uses more"), std::string::npos) << reason(1, machine);
  EXPECT_NE(reason(2, machine).find("that machine lacks: avx512f"), std::string::npos) << reason(2, machine);
  const Machine arm = machine_with(middle, EM_AARCH64);
  for (const size_t index : {0, 1, 2}) EXPECT_NE(reason(index, arm).find("that machine is aarch64"), std::string::npos) << reason(index, arm);
}

TEST_F(ChooseVariant, NamesWhatTheNearestVariantLacks) {
  open(levels());
  const Features none = {"fma"};
  const Status status = refusal(machine_with(none));
  EXPECT_EQ(status.code(), Code::MissingCpuFeature);
  EXPECT_NE(std::string(status.message()).find("lacks: avx2"), std::string::npos) << status.message();
  EXPECT_EQ(std::string(status.message()).find("avx512f"), std::string::npos) << status.message();
  EXPECT_EQ(status.detail_count(), 1u);
  EXPECT_EQ(refusal(machine_with(none, EM_AARCH64)).code(), Code::NoVariant);
}

TEST_F(ChooseVariant, ListsEveryMissingFeature) {
  Spec spec;
  spec.features = {"no-such-feature", "another-one"};
  open(spec);
  const Status status = refusal(this_machine());
  EXPECT_EQ(status.code(), Code::MissingCpuFeature);
  EXPECT_NE(std::string(status.message()).find("no-such-feature, another-one"), std::string::npos) << status.message();
}

TEST_F(ChooseVariant, NamesBothMachines) {
  Spec spec;
  spec.machine = host_machine() == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
  open(spec);
  const Status status = refusal(this_machine());
  EXPECT_EQ(status.code(), Code::NoVariant);
  for (const char* word : {"aarch64", "x86-64", "this machine"}) EXPECT_NE(std::string(status.message()).find(word), std::string::npos);
}

TEST_F(ChooseVariant, BelievesTheFileBeforeTheVariant) {
  Spec spec;
  spec.machine = EM_X86_64;
  spec.file_machine = EM_AARCH64;
  open(spec);
  const Features none;
  EXPECT_EQ(refusal(machine_with(none)).code(), Code::NoVariant);
}

TEST_F(ChooseVariant, TakesNoCodeWhereNoneMayRun) {
  open(levels());
  const Features middle = {"avx2", "fma", "sse4.2"};
  Machine machine = machine_with(middle);
  machine.runs_code = false;
  EXPECT_EQ(refusal(machine).code(), Code::NotTrusted);
}

}  // namespace
}  // namespace tiffin::runtime
