// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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
  // As RLIMIT_FSIZE makes it.
  void expect_too_large(const Status& status) const {
    EXPECT_EQ(status.code(), Code::Io);
    EXPECT_NE(strstr(status.message(), path_.c_str()), nullptr) << status.message();
    EXPECT_NE(strstr(status.message(), strerror(EFBIG)), nullptr) << status.message();
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

TEST_F(AtomicFileTest, CommitsTwoFilesTogether) {
  const std::string other = folder_ + "/other";
  put("old");
  for (const bool is_disturbed : {false, true}) {
    auto first = AtomicFile::create(path_.c_str()), second = AtomicFile::create(other.c_str());
    ASSERT_TRUE(first.has_value() && second.has_value());
    ASSERT_TRUE(first->write(bytes_of("one")).is_ok() && second->write(bytes_of("two")).is_ok());
    if (is_disturbed) {  // nothing can take the place of a folder
      ASSERT_EQ(unlink(other.c_str()), 0);
      ASSERT_EQ(mkdir(other.c_str(), 0700), 0);
    }
    const Status status = AtomicFile::commit(*first, *second);
    EXPECT_EQ(status.is_ok(), !is_disturbed);
    EXPECT_EQ(content(path_), "one");
    if (is_disturbed) {
      EXPECT_NE(strstr(status.message(), "is replaced already"), nullptr) << status.message();
    } else {
      EXPECT_EQ(content(other), "two");
    }
  }
  EXPECT_EQ(files(), 2);
  ASSERT_EQ(rmdir(other.c_str()), 0);
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
    expect_too_large(status);
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

std::string pattern(size_t bytes) {
  std::string text(bytes, 0);
  uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

constexpr uint64_t kGigabyte = uint64_t{1} << 30;

TEST_F(AtomicFileTest, WritesLargeFilesInPiecesOfAnySize) {
  std::string expected = pattern(13'000'011);
  auto file = AtomicFile::create(path_.c_str());
  ASSERT_TRUE(file.has_value());
  file->announce(kGigabyte);
  const auto write = [&](size_t from, size_t to, size_t piece) {
    for (; from < to; from += piece) {
      ASSERT_TRUE(file->write(bytes_of(expected.substr(from, std::min(piece, to - from)))).is_ok());
      EXPECT_EQ(file->written_bytes(), std::min(from + piece, to));
    }
  };
  write(0, 5'000'000, 777'777);
  expected.replace(4'096 - 2, 4, "EAST");
  ASSERT_TRUE(file->write_at(4'096 - 2, bytes_of("EAST")).is_ok());
  uint8_t back[8];
  ASSERT_TRUE(file->read_at(4'096 - 4, back).is_ok());
  EXPECT_EQ(memcmp(back, expected.data() + 4'096 - 4, sizeof(back)), 0);
  // Goes on at an offset that is no multiple of a block.
  write(5'000'000, 5'000'100, 3);
  write(5'000'100, expected.size(), 5'000'003);
  ASSERT_TRUE(file->commit().is_ok());
  EXPECT_EQ(content(path_), expected);
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, NoticesThatAFileTurnsOutLarge) {
  const std::string expected = pattern((64 << 20) + 5'000);
  auto file = AtomicFile::create(path_.c_str());
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->write(bytes_of(expected.substr(0, 4'999))).is_ok());
  auto moved = std::move(*file);
  ASSERT_TRUE(moved.write(bytes_of(expected.substr(4'999))).is_ok());
  auto again = std::move(moved);
  ASSERT_TRUE(again.commit().is_ok());
  EXPECT_TRUE(content(path_) == expected);
}

TEST_F(AtomicFileTest, ALargeFileThatIsAbandonedLeavesTheOldOne) {
  put("old");
  {
    auto file = AtomicFile::create(path_.c_str());
    ASSERT_TRUE(file.has_value());
    file->announce(kGigabyte);
    ASSERT_TRUE(file->write(bytes_of(pattern(9'000'000))).is_ok());
  }
  EXPECT_EQ(content(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, AFailedWriteOfALargeFileIsNamedAndLeavesNothing) {
  put("old");
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{9'000'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  for (const size_t bytes : {10'000'000, 40'000'000}) {
    auto file = AtomicFile::create(path_.c_str());
    ASSERT_TRUE(file.has_value());
    file->announce(kGigabyte);
    Status status = file->write(bytes_of(pattern(bytes)));
    if (status.is_ok()) status = file->commit();
    expect_too_large(status);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(content(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, WritesLargeFilesWhereNothingPassesThePageCache) {
  if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no file system in memory";
  const std::string path = "/dev/shm/tiffin-file-" + std::to_string(getpid()), expected = pattern(9'000'001);
  auto file = AtomicFile::create(path.c_str());
  ASSERT_TRUE(file.has_value());
  file->announce(kGigabyte);
  ASSERT_TRUE(file->write(bytes_of(expected)).is_ok());
  ASSERT_TRUE(file->commit().is_ok());
  EXPECT_EQ(content(path), expected);
  unlink(path.c_str());
}

TEST_F(AtomicFileTest, GoesThroughThePageCacheWhereADirectWriteIsRefused) {
  const int descriptor = open(path_.c_str(), O_RDWR | O_CREAT | O_DIRECT, 0666);
  if (descriptor < 0) GTEST_SKIP() << "the file system knows no direct writes";
  const std::string expected = pattern(10'001);
  EXPECT_EQ(write_fully(descriptor, bytes_of(expected), 0), 0);
  EXPECT_EQ(fcntl(descriptor, F_GETFL) & O_DIRECT, 0);
  close(descriptor);
  EXPECT_EQ(content(path_), expected);
}

}  // namespace
}  // namespace tiffin
