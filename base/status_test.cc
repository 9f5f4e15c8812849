// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <gtest/gtest.h>

#include <string>

namespace tiffin {
namespace {

std::string described(const Status& status) {
  std::string text = std::string(status.message()) + "|" + status.remedy();
  for (size_t i = 0; i < status.detail_count(); ++i) {
    const Status::Detail detail = status.detail(i);
    text += std::string("|") + detail.key + (detail.is_listed ? "+" : "=") + detail.value;
  }
  return text;
}

TEST(Status, CarriesDetailsThroughRemedyContextAndClone) {
  Status status = error(Code::UnknownInput, "no input '%s'", "dat").with_detail("nearest", "data").with_details("inputs", {"data\0mask\0", 10});
  status = std::move(status).with_remedy("did you mean '%s'?", "data").with_context("entry '%s'", "default").with_detail("empty", "");
  const std::string expected = "entry 'default': no input 'dat'|did you mean 'data'?|nearest=data|inputs+data|inputs+mask|empty=";
  EXPECT_EQ(described(status), expected);
  EXPECT_EQ(described(status.clone()), expected);
  EXPECT_EQ(status.code(), Code::UnknownInput);
}

TEST(Status, SuccessTakesNoDetails) {
  Status status = Status().with_detail("key", "value").with_details("keys", {"a\0", 2});
  EXPECT_TRUE(status.is_ok());
  EXPECT_EQ(status.detail_count(), 0u);
}

TEST(Status, AnEmptyListAddsNothing) { EXPECT_EQ(error(Code::Io, "x").with_details("keys", {}).detail_count(), 0u); }

TEST(Result, GivesNoErrorWhereThereIsAValue) {
  Result<int> result = 3;
  EXPECT_TRUE(result.take_error().is_ok());
  EXPECT_EQ(result.value(), 3);
  Result<int> failed = error(Code::Io, "x");
  EXPECT_EQ(failed.take_error().code(), Code::Io);
}

}  // namespace
}  // namespace tiffin
