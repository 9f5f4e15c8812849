// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiffin::tools {
namespace {

struct Parsed {
  std::vector<std::string> texts;
  std::vector<char*> words;
  Arguments arguments;
  Status status;

  Parsed(Command command, std::vector<std::string> given) : texts(std::move(given)) {
    for (std::string& text : texts) words.push_back(text.data());
    status = parse_arguments(command, static_cast<int>(words.size()), words.data(), &arguments);
  }
};

bool is_wrong(Command command, std::vector<std::string> words) { return Parsed(command, std::move(words)).status.code() == Code::InvalidArgument; }

TEST(Arguments, ReadsOptionsOnBothSidesOfTheFile) {
  const Parsed parsed(Command::Run, {"--threads", "2", "m.so", "--fill=random:7", "--json", "--input", "a=b=c.npy"});
  ASSERT_TRUE(parsed.status.is_ok()) << parsed.status.message();
  EXPECT_STREQ(parsed.arguments.file, "m.so");
  EXPECT_EQ(parsed.arguments.values.threads, 2);
  EXPECT_EQ(parsed.arguments.values.fill.seed, 7u);
  EXPECT_TRUE(parsed.arguments.json);
  ASSERT_EQ(parsed.arguments.input_file_count, 1u);
  EXPECT_EQ(parsed.arguments.input_files[0].name, "a=b");
  EXPECT_STREQ(parsed.arguments.input_files[0].file, "c.npy");
}

TEST(Arguments, ReadsWhatModelsAreCompiledWith) {
  const Parsed parsed(Command::Run, {"m.onnx", "-O0", "--dim", "N=2", "--dim=M=3", "--input-shape", "a=b=1x3x8"});
  ASSERT_TRUE(parsed.status.is_ok()) << parsed.status.message();
  EXPECT_EQ(parsed.arguments.values.opt_level, 0);
  ASSERT_EQ(parsed.arguments.dims.size(), 2u);
  EXPECT_STREQ(parsed.arguments.dims[1], "M=3");
  const auto shape = parse_extents("input-shape", parsed.arguments.input_shapes[0]);
  EXPECT_EQ(shape->name, "a=b");
  EXPECT_EQ(std::vector<int64_t>(shape->extents.begin(), shape->extents.end()), (std::vector<int64_t>{1, 3, 8}));
  EXPECT_EQ(parse_extents("input-shape", "a=")->extents.size(), 0u);
  for (const char* text : {"a", "=1", "a=x", "a=1x", "a=1xx2", "a=-1", "a=+1", "a= 1", "a=1y2", "a=99999999999999999999"}) {
    EXPECT_TRUE(is_wrong(Command::Run, {"m.onnx", "--input-shape", text})) << text;
  }
  EXPECT_TRUE(is_wrong(Command::Run, {"m.onnx", "--dim", "N=1x2"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"m.onnx", "--dim", "N="}));
  EXPECT_TRUE(is_wrong(Command::Run, {"m.onnx", "-O", "4"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"m.onnx", "-O", "1", "-O", "1"}));
  EXPECT_TRUE(is_wrong(Command::Inspect, {"m.so", "-O", "1"}));
}

TEST(Arguments, RefusesWrongUsage) {
  EXPECT_TRUE(is_wrong(Command::Run, {}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "b"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--absent"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--fill"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--fill", "banana"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--fill", "random:-1"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--threads", "0"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--threads", "2x"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--input", "x"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--input", "=x"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--input", "x=1", "--input", "x=2"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--device", "tpu"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--verify", "some"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--trust", "all"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--entry", "x", "--entry", "y"}));
  EXPECT_TRUE(is_wrong(Command::Run, {"a", "--repeat", "3"}));
  EXPECT_TRUE(is_wrong(Command::Bench, {"a", "--repeat", "0"}));
  EXPECT_TRUE(is_wrong(Command::Bench, {"a", "--seconds", "nan"}));
  EXPECT_TRUE(is_wrong(Command::ParamsConvert, {"a"}));
  EXPECT_TRUE(is_wrong(Command::ParamsConvert, {"a", "-o", "b.zip"}));
  EXPECT_TRUE(is_wrong(Command::Errors, {"a"}));
}

TEST(Arguments, NamesTheUnknownOption) {
  const Parsed first(Command::Run, {"--absent", "m.so"});
  EXPECT_NE(std::string(first.status.message()).find("'--absent'"), std::string::npos) << first.status.message();
  const Parsed last(Command::Run, {"m.so", "--json", "--gone"});
  EXPECT_NE(std::string(last.status.message()).find("'--gone'"), std::string::npos) << last.status.message();
}

TEST(Arguments, ReadsSizes) {
  EXPECT_EQ(*parse_size("budget", "12MB"), 12000000u);
  EXPECT_EQ(*parse_size("budget", "1.5KiB"), 1536u);
  EXPECT_EQ(*parse_size("budget", "50kB"), 50000u);
  EXPECT_EQ(*parse_size("budget", "7"), 7u);
  for (const char* text : {"", "x", "-1", "1 parsec", "1e30GB", "inf"}) EXPECT_FALSE(parse_size("budget", text).has_value()) << text;
}

}  // namespace
}  // namespace tiffin::tools
