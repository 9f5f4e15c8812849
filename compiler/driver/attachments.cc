// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/attachments.h"

#include <cstring>
#include <filesystem>

#include "base/mapping.h"
#include "compiler/kernel/printer.h"

namespace tiffin::driver {
namespace {

Status attach(const std::string& path, uint32_t kind, artifact::Contents& contents) {
  TIFFIN_ASSIGN_OR_RETURN(const Mapping file, Mapping::open_file(path.c_str()));
  const std::span<const uint8_t> bytes = file.bytes();
  if (kind == TIFFIN_SECTION_LIBRARY && (bytes.size() < 4 || memcmp(bytes.data(), "\177ELF", 4) != 0)) {
    return error(Code::InvalidArgument, "'%s' is to travel as a library, but is no ELF shared object", path.c_str())
        .with_remedy("add it with --with-file if it is another kind of file");
  }
  contents.attachments.push_back({kind, std::filesystem::path(path).filename().string(), {bytes.begin(), bytes.end()}});
  return {};
}

}  // namespace

Status attach_files(const std::vector<std::string>& libraries, const std::vector<std::string>& files, artifact::Contents& contents) {
  for (const std::string& path : libraries) TIFFIN_TRY(attach(path, TIFFIN_SECTION_LIBRARY, contents));
  for (const std::string& path : files) TIFFIN_TRY(attach(path, TIFFIN_SECTION_FILE, contents));
  return {};
}

artifact::Attachment kernel_sources(const plan::Plan& plan, size_t index) {
  std::string text;
  for (const auto& kernel : plan.kernels) text += kernel::print(*kernel) + "\n";
  return {TIFFIN_SECTION_SOURCE, "kernels." + std::to_string(index) + ".txt", {text.begin(), text.end()}};
}

}  // namespace tiffin::driver
