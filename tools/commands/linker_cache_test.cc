// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/linker_cache.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace tiffin::tools {
namespace {

// A cache of three entries, two of them for one name.
std::string cache_bytes(uint32_t count) {
  const std::string texts("libf.so\0/a/libf.so\0/b/libf.so\0libg.so\0/c/libg.so\0", 48);
  const uint32_t start = 48 + 3 * 24;
  std::string bytes = "glibc-ld.so.cache1.1";
  bytes.append(reinterpret_cast<const char*>(&count), 4);
  bytes.resize(48);
  const uint32_t entries[3][6] = {{3, start, start + 8}, {3, start, start + 19}, {3, start + 30, start + 38}};
  bytes.append(reinterpret_cast<const char*>(entries), sizeof entries);
  return bytes + texts;
}

std::vector<std::string> found_in(const std::string& bytes, const char* name) {
  const std::string path = ::testing::TempDir() + "linker_cache_test";
  FILE* file = fopen(path.c_str(), "wb");
  fwrite(bytes.data(), 1, bytes.size(), file);
  fclose(file);
  LinkerCache cache;
  cache.read(path.c_str());
  remove(path.c_str());
  std::vector<std::string> found;
  for (size_t at = 0; const char* text = cache.find(name, &at);) found.emplace_back(text);
  return found;
}

TEST(LinkerCache, FindsAllPathsOfAName) {
  EXPECT_EQ(found_in(cache_bytes(3), "libf.so"), (std::vector<std::string>{"/a/libf.so", "/b/libf.so"}));
  EXPECT_EQ(found_in(cache_bytes(3), "libg.so"), (std::vector<std::string>{"/c/libg.so"}));
  EXPECT_TRUE(found_in(cache_bytes(3), "libh.so").empty());
}

TEST(LinkerCache, IsEmptyForAnythingElse) {
  EXPECT_TRUE(found_in("", "libf.so").empty());
  EXPECT_TRUE(found_in(std::string(100, 'x'), "libf.so").empty());
  EXPECT_TRUE(found_in(cache_bytes(UINT32_MAX), "libf.so").empty());
  LinkerCache absent;
  absent.read("/absent");
  size_t at = 0;
  EXPECT_EQ(absent.find("libf.so", &at), nullptr);
}

TEST(LinkerCache, SurvivesAnyChangedByte) {
  const std::string whole = cache_bytes(3);
  for (size_t at = 20; at < whole.size(); ++at) {
    for (const char value : {'\0', '\x7F', '\xFF'}) {
      std::string bytes = whole;
      bytes[at] = value;
      found_in(bytes, "libf.so");
    }
  }
}

}  // namespace
}  // namespace tiffin::tools
