// SPDX-License-Identifier: Apache-2.0
// tiffin_keys and the load options that go with them, in C and C++.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/ed25519/ed25519.h"
#include "runtime/capi/testing_file.h"
#include "runtime/include/tiffin/tiffin.hpp"

namespace tiffin::runtime {
namespace {

constexpr const char* kPublic =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
    "-----END PUBLIC KEY-----\n";

std::string code_of(tiffin_status* status) {
  std::string code = tiffin_status_code(status);
  tiffin_status_free(status);
  return code;
}

class KeysApi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!require_signatures().is_ok()) GTEST_SKIP() << "a build without signatures";
    const int descriptor = mkstemp(path_);
    ASSERT_EQ(write(descriptor, kPublic, strlen(kPublic)), static_cast<ssize_t>(strlen(kPublic)));
    close(descriptor);
  }
  void TearDown() override { unlink(path_); }

  std::string load(const tiffin_load_options& options) {
    tiffin_module* module = nullptr;
    const std::string code = code_of(tiffin_module_load_memory(TIFFIN_ABI_VERSION, file_.data(), file_.size(), &options, &module));
    tiffin_module_free(module);
    return code;
  }

  char path_[32] = "/tmp/tiffin-key-XXXXXX";
  std::vector<uint8_t> file_ = testing::scaling_file();
};

TEST_F(KeysApi, RefusesWhatIsNotSigned) {
  const char* paths[] = {path_};
  tiffin_keys* keys = nullptr;
  ASSERT_EQ(code_of(tiffin_keys_load(TIFFIN_ABI_VERSION, paths, 1, &keys)), "Ok");
  tiffin_load_options options{};
  options.struct_bytes = sizeof(options);
  options.keys = keys;
  EXPECT_EQ(load(options), "InvalidArgument");  // keys that nobody would look at
  options.trust = TIFFIN_TRUST_SIGNED;
  EXPECT_EQ(load(options), "NotTrusted");
  options.keys = nullptr;
  EXPECT_EQ(load(options), "NotTrusted");
  options.trust = 3;
  EXPECT_EQ(load(options), "InvalidArgument");
  tiffin_keys_free(keys);
  tiffin_keys_free(nullptr);
}

// A caller that was compiled before keys were options passes a shorter structure: what lies behind it is not read.
TEST_F(KeysApi, ReadsNoFieldThatTheCallerLacks) {
  tiffin_load_options options{};
  options.struct_bytes = offsetof(tiffin_load_options, keys);
  options.min_release = 5;
  EXPECT_EQ(load(options), "Ok");
}

TEST_F(KeysApi, TellsWhatIsNoKey) {
  tiffin_keys* keys = nullptr;
  const char* nowhere[] = {"/nowhere"};
  const char* program[] = {"/proc/self/exe"};
  const char* nothing[] = {nullptr};
  EXPECT_EQ(code_of(tiffin_keys_load(TIFFIN_ABI_VERSION, nowhere, 1, &keys)), "Io");
  EXPECT_EQ(code_of(tiffin_keys_load(TIFFIN_ABI_VERSION, program, 1, &keys)), "InvalidArgument");
  EXPECT_EQ(code_of(tiffin_keys_load(TIFFIN_ABI_VERSION, nothing, 1, &keys)), "InvalidArgument");
  EXPECT_EQ(code_of(tiffin_keys_load(TIFFIN_ABI_VERSION + 1, nowhere, 1, &keys)), "AbiMismatch");
  EXPECT_EQ(keys, nullptr);
}

TEST_F(KeysApi, AreAClassInCpp) {
  const auto keys = tiffin::Keys::load({path_});
  ASSERT_TRUE(keys.has_value()) << keys.error().message();
  const auto bytes = std::as_bytes(std::span<const uint8_t>(file_));
  const auto module = tiffin::Module::load(bytes, {.trust = TIFFIN_TRUST_SIGNED, .keys = &keys.value(), .min_release = 3});
  ASSERT_FALSE(module.has_value());
  EXPECT_EQ(module.error().code(), "NotTrusted");
  EXPECT_EQ(tiffin::Keys::load({"/nowhere"}).error().code(), "Io");
}

}  // namespace
}  // namespace tiffin::runtime
