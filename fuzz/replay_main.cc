// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target once on every file of the folders given: the corpus as a test, and a found input again. A file whose name begins with "valid"
// must be taken, so that a corpus that no longer fits its format is noticed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

bool tiffin::fuzz::is_replay() { return true; }

int main(int count, char** words) {
  size_t runs = 0, faults = 0;
  for (int i = 1; i < count; ++i) {
    for (const auto& path : files_of(words[i])) {
      std::ifstream file(path, std::ios::binary);
      const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
      const bool is_taken = tiffin::fuzz::accepts({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
      ++runs;
      if (is_taken || path.filename().string().rfind("valid", 0) != 0) continue;
      fprintf(stderr, "%s: is refused, though its name says that it is valid\n", path.c_str());
      ++faults;
    }
  }
  fprintf(stderr, "%zu files, %zu faults\n", runs, faults);
  return runs == 0 || faults != 0 ? 1 : 0;
}
