// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/elf_needs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tiffin::tools {
namespace {

// The front of this program, which is a shared object to the linker.
std::vector<uint8_t> own_bytes() {
  auto source = runtime::Source::open("/proc/self/exe");
  if (!source.has_value()) return {};
  std::vector<uint8_t> bytes(source->size());
  EXPECT_TRUE(source->read(0, bytes).is_ok());
  return bytes;
}

Result<ElfNeeds> needs_of(const std::vector<uint8_t>& bytes, runtime::Arena& arena) {
  auto source = runtime::Source::from_memory(bytes);
  return read_elf_needs(*source, 0, bytes.size(), arena);
}

TEST(ElfNeeds, ListsWhatALibraryNeeds) {
  runtime::Arena arena;
  const auto needs = needs_of(own_bytes(), arena);
  ASSERT_TRUE(needs.has_value()) << needs.error().message();
  EXPECT_NE(needs->machine, 0);
  const auto is_libc = [](const char* name) { return strcmp(name, "libc.so.6") == 0; };
  EXPECT_TRUE(std::any_of(needs->needed.begin(), needs->needed.end(), is_libc));
}

TEST(ElfNeeds, RefusesWhatIsNoLibrary) {
  runtime::Arena arena;
  for (const size_t size : {0, 4, 63, 4096}) {
    const auto needs = needs_of(std::vector<uint8_t>(size, 'x'), arena);
    ASSERT_FALSE(needs.has_value());
    EXPECT_EQ(needs.error().code(), Code::MissingLibrary);
  }
}

TEST(ElfNeeds, SurvivesChangedHeadersAndTables) {
  std::vector<uint8_t> bytes = own_bytes();
  ASSERT_GT(bytes.size(), 4096u);
  for (size_t at = 0; at < 1024; ++at) {
    const uint8_t old = bytes[at];
    for (const uint8_t value : {0x00, 0x7F, 0xFF}) {
      bytes[at] = value;
      runtime::Arena arena;
      static_cast<void>(needs_of(bytes, arena).has_value());
    }
    bytes[at] = old;
  }
}

}  // namespace
}  // namespace tiffin::tools
