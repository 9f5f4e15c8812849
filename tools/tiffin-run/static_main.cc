// SPDX-License-Identifier: Apache-2.0
// tiffin-run as one static program, which may enclose an artifact: its commands then work on that one where no FILE is named.
#include <sys/auxv.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>

#include "abi/enclosure.h"
#include "tools/commands/dispatch.h"

extern "C" const unsigned char tiffin_enclosure_description[sizeof(tiffin_enclosure)];

namespace {

constexpr const char* kSelf = "/proc/self/exe";

// The path that this program was started by; the link in /proc where that is another file by now, or none.
const char* own_path() {
  const auto* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  struct stat self {
  }, named{};
  if (started_as == nullptr) return kSelf;
  if (stat(kSelf, &self) != 0) return started_as;
  const bool is_same = stat(started_as, &named) == 0 && named.st_dev == self.st_dev && named.st_ino == self.st_ino;
  return is_same ? started_as : kSelf;
}

}  // namespace

int main(int count, char** words) {
  signal(SIGXFSZ, SIG_IGN);  // a file that grows over the limit is a failed write, with a message
  tiffin_enclosure enclosure;
  memcpy(&enclosure, tiffin_enclosure_description, sizeof(enclosure));
  if (enclosure.length == 0) return tiffin::tools::run_program(count, words, "tiffin-run", nullptr);
  const char* path = own_path();
  const char* slash = count > 0 ? strrchr(words[0], '/') : nullptr;
  const char* name = count == 0 ? path : slash == nullptr ? words[0] : slash + 1;
  return tiffin::tools::run_program(count, words, name, nullptr, path);
}
