// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace tiffin {
namespace {

class AtomicFileTest : public ::testing::Test {
 protected:
  AtomicFileTest() {
    char name[] = "/tmp/tiffin-file-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/out.bin";
  }
  ~AtomicFileTest() override { EXPECT_EQ(system(("rm -r " + folder_).c_str()), 0); }

  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  void put(const char* text) const { std::ofstream(path_) << text; }
  int files() const {
    int count = 0;
    DIR* folder = opendir(folder_.c_str());
    while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(folder);
    return count;
  }

  std::string folder_, path_;
};

std::span<const uint8_t> bytes_of(const std::string& text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

TEST_F(AtomicFileTest, ShowsTheNewContentOnlyAfterCommit) {
  put("old");
  const std::string large(300000, 'x');
  auto file = AtomicFile::create(path_.c_str());
  ASSERT_TRUE(file.has_value()) << file.error().message();
  ASSERT_TRUE(file->write(bytes_of("head")).is_ok());
  ASSERT_TRUE(file->write(bytes_of(large)).is_ok());
  ASSERT_TRUE(file->write_at(1, bytes_of("EA")).is_ok());
  uint8_t back[4];
  ASSERT_TRUE(file->read_at(0, back).is_ok());
  EXPECT_EQ(memcmp(back, "hEAd", 4), 0);
  EXPECT_EQ(content(path_), "old");
  ASSERT_TRUE(file->commit().is_ok());
  EXPECT_EQ(content(path_), "hEAd" + large);
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, LeavesTheOldFileWhenAbandoned) {
  put("old");
  {
    auto file = AtomicFile::create(path_.c_str());
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->write(bytes_of("new")).is_ok());
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(content(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, AFailedWriteIsNamedAndLeavesNothing) {
  put("old");
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  {
    auto file = AtomicFile::create(path_.c_str());
    ASSERT_TRUE(file.has_value());
    const Status status = file->write(bytes_of(std::string(200000, 'x')));
    EXPECT_EQ(status.code(), Code::Io);
    EXPECT_NE(strstr(status.message(), path_.c_str()), nullptr) << status.message();
    EXPECT_NE(strstr(status.message(), strerror(EFBIG)), nullptr) << status.message();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(content(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, RefusesFoldersDevicesAndAbsentFolders) {
  for (const std::string& path : {folder_, std::string("/dev/null"), folder_ + "/absent/out.bin"}) {
    const auto file = AtomicFile::create(path.c_str());
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().code(), Code::Io);
    EXPECT_NE(strstr(file.error().message(), path.c_str()), nullptr);
  }
}

TEST_F(AtomicFileTest, KeepsPermissionsAndLinks) {
  put("old");
  chmod(path_.c_str(), 0640);
  const std::string link = folder_ + "/link";
  ASSERT_EQ(symlink("out.bin", link.c_str()), 0);
  auto file = AtomicFile::create(link.c_str());
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->write(bytes_of("new")).is_ok());
  ASSERT_TRUE(file->commit().is_ok());
  struct stat status;
  ASSERT_EQ(lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(content(path_), "new");
}

}  // namespace
}  // namespace tiffin
