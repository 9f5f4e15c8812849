// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/json_output.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "base/memory_stream.h"

namespace tiffin::tools {
namespace {

std::string written(const std::function<void(JsonOutput&)>& write) {
  MemoryStream memory;
  {
    JsonOutput out(memory.stream);
    out.begin_object();
    write(out);
    out.end_object();
    EXPECT_TRUE(out.finish().is_ok());
  }
  return {memory.bytes, memory.size};
}

TEST(JsonOutput, WritesKeysInOrder) {
  EXPECT_EQ(written([](JsonOutput& out) {
              out.number("big", UINT64_MAX);
              out.integer("small", -1);
              out.real("half", 0.5);
              out.real("nan", std::nan(""));
              out.boolean("yes", true);
              out.begin_array("list");
              out.text(nullptr, "a\"b\n");
              out.end_array();
            }),
            "{\"big\":18446744073709551615,\"small\":-1,\"half\":0.5,\"nan\":null,\"yes\":true,\"list\":[\"a\\\"b\\n\"]}\n");
}

TEST(JsonOutput, ReplacesWhatIsNotUtf8) {
  const auto text = [](const char* value) { return written([&](JsonOutput& out) { out.text("x", value); }); };
  EXPECT_EQ(text("é→😀"), "{\"x\":\"é→😀\"}\n");
  EXPECT_EQ(text("a\xFF"
                 "b"),
            "{\"x\":\"a\xEF\xBF\xBD"
            "b\"}\n");
  EXPECT_EQ(text("\xC0\xAF"), "{\"x\":\"\xEF\xBF\xBD\xEF\xBF\xBD\"}\n");
  EXPECT_EQ(text("\xED\xA0\x80").find("\xED\xA0"), std::string::npos);
}

TEST(JsonOutput, TellsThatTheStreamIsFull) {
  FILE* full = fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  {
    JsonOutput out(full);
    out.begin_object();
    out.end_object();
    EXPECT_EQ(out.finish().code(), Code::Io);
  }
  fclose(full);
}

}  // namespace
}  // namespace tiffin::tools
