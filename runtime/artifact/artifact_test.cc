// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/artifact.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "abi/version.h"
#include "runtime/artifact/choose_variant.h"
#include "runtime/artifact/testing_artifact.h"

namespace tiffin::runtime {
namespace {

using testing::Builder;
using testing::Spec;

Result<Artifact> open(const std::vector<uint8_t>& file, VerifyLevel level = VerifyLevel::Code) {
  auto source = Source::from_memory(file);
  return Artifact::open(std::move(source).value(), level);
}

// "Code: message" of opening, "Ok" when it succeeds.
std::string verdict(const std::vector<uint8_t>& file, VerifyLevel level = VerifyLevel::Code) {
  const auto artifact = open(file, level);
  if (artifact.has_value()) return "Ok";
  return std::string(code_row(artifact.error().code()).name) + ": " + artifact.error().message();
}

#define EXPECT_VERDICT(file, code) EXPECT_EQ(verdict(file).substr(0, sizeof(code) - 1), code) << verdict(file)

TEST(Artifact, GivesItsTables) {
  const auto artifact = open(testing::build({}), VerifyLevel::All);
  ASSERT_TRUE(artifact.has_value()) << artifact.error().message();
  EXPECT_STREQ(artifact->manifest().model_name()->c_str(), "net");
  EXPECT_STREQ(artifact->first_variant().entries()->Get(0)->name()->c_str(), "default");
  EXPECT_EQ(artifact->parameter_digests().size(), 1u);
  EXPECT_NE(artifact->weights(), nullptr);
  EXPECT_FALSE(artifact->container().is_rewritten());
}

TEST(Artifact, OfAnyLengthButItsOwnIsTruncated) {
  const std::vector<uint8_t> whole = testing::build({});
  ASSERT_EQ(verdict(whole), "Ok");
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto artifact = open({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)});
    ASSERT_FALSE(artifact.has_value()) << length;
    ASSERT_TRUE(artifact.error().code() == Code::Truncated || artifact.error().code() == Code::NotAnArtifact) << length << artifact.error().message();
  }
}

TEST(Artifact, NamesOtherVersionsBeforeAnyDigest) {
  for (const auto& [offset, code] : {std::pair{8, "FormatTooNew"}, std::pair{16, "AbiMismatch"}}) {
    std::vector<uint8_t> file = testing::build({});
    file[TIFFIN_SO_HEADER_ADDRESS + static_cast<size_t>(offset)] += 41;
    const std::string text = verdict(file);
    EXPECT_EQ(text.find(code), 0u) << text;
    EXPECT_NE(text.find("42"), std::string::npos) << text;
    EXPECT_NE(text.find(" 1"), std::string::npos) << text;
  }
  std::vector<uint8_t> file = testing::build({});
  file[TIFFIN_SO_HEADER_ADDRESS + 8] = 0;
  EXPECT_VERDICT(file, "FormatTooOld");
}

TEST(Artifact, NamesTheSectionWhoseBytesChanged) {
  std::vector<uint8_t> file = testing::build({});
  file[testing::kCodeAddress + testing::kConstantBytes] ^= 1;
  EXPECT_VERDICT(file, "DigestMismatch");
  EXPECT_NE(verdict(file).find("'code.0'"), std::string::npos) << verdict(file);
  EXPECT_EQ(verdict(file, VerifyLevel::None), "Ok");
}

TEST(Artifact, FindsEveryChangedBitOfHeaderAndTables) {
  const std::vector<uint8_t> whole = testing::build({});
  const size_t end = TIFFIN_SO_HEADER_ADDRESS + testing::kPage + 2048;
  for (size_t at = 0; at < end; ++at) {
    for (const uint8_t bit : {1, 128}) {
      std::vector<uint8_t> file = whole;
      file[at] ^= bit;
      static_cast<void>(verdict(file));
      const bool is_covered = at >= TIFFIN_SO_HEADER_ADDRESS && at < TIFFIN_SO_HEADER_ADDRESS + 160 && !(at >= 0x1000 + 96 && at < 0x1000 + 128);
      ASSERT_TRUE(!is_covered || verdict(file) != "Ok") << at;
    }
  }
}

// Damage that all digests agree with: only the checks of structure stand between it and the executor.
TEST(Artifact, SurvivesDamageUnderTrueDigests) {
  const std::vector<uint8_t> whole = testing::build({});
  const size_t begin = TIFFIN_SO_HEADER_ADDRESS + 160;
  const size_t end = TIFFIN_SO_HEADER_ADDRESS + testing::kPage + 2048;
  for (size_t at = begin; at < end; ++at) {
    for (const uint8_t value : {0x00, 0x01, 0x7F, 0xFF}) {
      std::vector<uint8_t> file = whole;
      file[at] = value;
      Builder::seal(file);
      const auto artifact = open(file);
      if (!artifact.has_value()) continue;
      static_cast<void>(choose_variant(*artifact).has_value());
    }
  }
}

TEST(Artifact, SkipsUnknownSectionsUnlessTheyAreRequired) {
  Spec spec;
  spec.extra_kind = 77;
  EXPECT_EQ(verdict(testing::build(spec)), "Ok");
  spec.extra_flags = TIFFIN_SECTION_REQUIRED;
  EXPECT_VERDICT(testing::build(spec), "FormatTooNew");
  EXPECT_NE(verdict(testing::build(spec)).find("'novelty'"), std::string::npos);
}

TEST(Artifact, ReadsNewerMinorVersions) {
  std::vector<uint8_t> file = testing::build({});
  const uint32_t newer = TIFFIN_FORMAT_MINOR + 7;
  memcpy(file.data() + TIFFIN_SO_HEADER_ADDRESS + offsetof(tiffin_artifact_header, format_minor), &newer, sizeof(newer));
  Builder::seal(file);
  EXPECT_EQ(verdict(file), "Ok");
}

TEST(Artifact, RefusesWhatWouldLeadOutOfBounds) {
  const std::vector<std::pair<const char*, void (*)(Spec&)>> cases = {
      {"buffer count", [](Spec& s) { s.kernel_buffers = 5; }},
      {"kernel before the instructions", [](Spec& s) { s.kernel_offset = 0; }},
      {"kernel behind the code", [](Spec& s) { s.kernel_offset = testing::kConstantBytes + 1; }},
      {"kernel offset overflows", [](Spec& s) { s.kernel_offset = UINT64_MAX; }},
      {"kernel index", [](Spec& s) { s.step_kernel = 1; }},
      {"buffer index", [](Spec& s) { s.step_buffer = 5; }},
      {"units", [](Spec& s) { s.units = -1; }},
      {"more units than elements", [](Spec& s) { s.units = int64_t{1} << 40; }},
      {"grain", [](Spec& s) { s.grain = -1; }},
      {"scratch", [](Spec& s) { s.scratch_bytes = 65; }},
      {"stored tensor", [](Spec& s) { s.stored_index = 1; }},
      {"arena", [](Spec& s) { s.arena_offset = 128; }},
      {"alignment in the arena", [](Spec& s) { s.arena_offset = 4; }},
      {"input's bytes", [](Spec& s) { s.input_buffer_bytes = 17; }},
      {"constant's place", [](Spec& s) { s.constant_offset = 64; }},
      {"constant's bytes", [](Spec& s) { s.constant_bytes = 18; }},
      {"dtype", [](Spec& s) { s.input_dtype = 99; }},
      {"string input", [](Spec& s) { s.input_dtype = TIFFIN_DTYPE_STRING; }},
      {"extent", [](Spec& s) { s.input_shape = {-2}; }},
      {"rank", [](Spec& s) { s.input_shape.assign(17, 1); }},
      {"shape overflows",
       [](Spec& s) {
         s.input_shape = {INT64_MAX, INT64_MAX};
       }},
      {"code section", [](Spec& s) { s.code_section = "code.1"; }},
  };
  for (const auto& [name, spoil] : cases) {
    Spec spec;
    spoil(spec);
    EXPECT_EQ(verdict(testing::build(spec)).find("NotAnArtifact: 'memory' is damaged"), 0u) << name << ": " << verdict(testing::build(spec));
  }
}

TEST(Artifact, LoadsAfterItsSegmentsMoved) {
  Spec spec;
  spec.code_shift = 3 * testing::kPage;
  EXPECT_EQ(verdict(testing::build(spec)), "Ok");
  spec.missing_tail = 500;  // strip took the symbols
  const auto artifact = open(testing::build(spec));
  ASSERT_TRUE(artifact.has_value()) << artifact.error().message();
  EXPECT_TRUE(artifact->container().is_rewritten());
}

TEST(Artifact, SaysWhatAnotherFileIs) {
  EXPECT_VERDICT(std::vector<uint8_t>(), "NotAnArtifact: 'memory' is not a Tiffin artifact: it is empty");
  EXPECT_VERDICT(std::vector<uint8_t>(600, 'a'), "NotAnArtifact: 'memory' is not a Tiffin artifact: it is text");
  EXPECT_VERDICT(std::vector<uint8_t>({'P', 'K', 3, 4, 0}), "NotAnArtifact: 'memory' is not a Tiffin artifact: it is a zip archive");
  const auto open_path = [](const char* path) -> Status {
    auto source = Source::open(path);
    if (!source.has_value()) return source.take_error();
    auto artifact = Artifact::open(std::move(source).value(), VerifyLevel::Code);
    return artifact.has_value() ? Status() : artifact.take_error();
  };
  EXPECT_EQ(open_path("/proc/self/exe").code(), Code::NotAnArtifact);
  EXPECT_EQ(open_path("/").code(), Code::Io);
  const Status absent = open_path("/absent.so");
  EXPECT_EQ(absent.code(), Code::Io);
  EXPECT_NE(std::string(absent.message()).find("/absent.so"), std::string::npos);
}

TEST(Container, HashesSectionsAndFile) {
  const std::vector<uint8_t> file = testing::build({});
  const auto artifact = open(file);
  ASSERT_TRUE(artifact.has_value());
  for (const Section& section : artifact->container().sections()) EXPECT_TRUE(artifact->container().check_section(section).is_ok());
  EXPECT_TRUE(artifact->container().hash_file().has_value());
}

TEST(Container, EveryByteIsCoveredByTheFileOrByTheWeights) {
  const auto open_container = [](const std::vector<uint8_t>& file) {
    return Container::open(Source::from_memory(file).value(), VerifyLevel::None).value();
  };
  const std::vector<uint8_t> file = testing::build({});
  const Container whole = open_container(file);
  const Section* weights = whole.find(TIFFIN_SECTION_WEIGHTS);
  ASSERT_NE(weights, nullptr);
  const uint64_t begin = weights->offset, end = begin + weights->length;
  const Digest expected = whole.hash_file().value();
  for (const uint64_t at : {begin - 1, begin, end - 1, end}) {
    if (at >= file.size()) continue;
    std::vector<uint8_t> damaged = file;
    damaged[at] ^= 1;
    const Container container = open_container(damaged);
    const bool is_of_weights = at >= begin && at < end;
    EXPECT_EQ(container.hash_file().value() == expected, is_of_weights) << at;
    EXPECT_EQ(container.check_section(*container.find(TIFFIN_SECTION_WEIGHTS)).is_ok(), !is_of_weights) << at;
  }
}

}  // namespace
}  // namespace tiffin::runtime
