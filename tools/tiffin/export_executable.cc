// SPDX-License-Identifier: Apache-2.0
// One file to copy and run: a static tiffin-run, zeros up to a large page, and the artifact as it is.
#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <vector>

#include "abi/enclosure.h"
#include "base/atomic_file.h"
#include "runtime/artifact/choose_variant.h"
#include "tools/tiffin/export.h"

namespace tiffin::tools {
namespace {

Result<std::string> find_program(uint16_t machine, const std::vector<std::string>& folders) {
  const std::string name = "tiffin-run-static-" + machine_name(machine);
  std::string looked;
  for (const std::string& folder : folders) {
    std::error_code failed;
    const std::filesystem::path candidate = std::filesystem::path(folder) / name;
    if (std::filesystem::is_regular_file(candidate, failed)) return candidate.string();
    looked += (looked.empty() ? "'" : ", '") + folder + "'";
  }
  if (machine == runtime::this_machine().elf_machine) {
    return error(Code::MissingLibrary, "there is no '%s' in %s", name.c_str(), looked.c_str())
        .with_remedy("install Tiffin whole; it is built where the static C library (libc.a) is installed");
  }
  return error(Code::UnsupportedTarget, "the artifact is for %s, and there is no '%s' in %s", machine_name(machine).c_str(), name.c_str(),
               looked.c_str())
      .with_remedy("build tiffin-run-static for %s (cmake -DTIFFIN_COMPILER=OFF with a cross compiler) and put it there",
                   machine_name(machine).c_str());
}

struct Program {
  std::vector<uint8_t> bytes;
  size_t note_position = 0;
};

Result<Program> read_program(const std::string& path, uint16_t machine) {
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Source source, runtime::Source::open(path.c_str()));
  runtime::ElfImage image;
  TIFFIN_TRY(image.read_program(source));
  if (image.enclosure_position() == 0 || image.enclosure().length != 0 || image.machine() != machine) {
    return error(Code::MissingLibrary, "'%s' is not the static tiffin-run for %s that it should be", path.c_str(), machine_name(machine).c_str())
        .with_remedy("install Tiffin whole");
  }
  Program program{std::vector<uint8_t>(static_cast<size_t>(source.size())), static_cast<size_t>(image.enclosure_position())};
  TIFFIN_TRY(source.read(0, program.bytes));
  return program;
}

// Pads the program and writes into its note what will follow.
void describe(Program& program, uint64_t artifact_bytes) {
  const size_t end = (program.bytes.size() + TIFFIN_LARGE_PAGE_BYTES - 1) / TIFFIN_LARGE_PAGE_BYTES * TIFFIN_LARGE_PAGE_BYTES;
  program.bytes.resize(end);
  tiffin_enclosure enclosure{.offset = end, .length = artifact_bytes, .program_digest = {}};
  memcpy(program.bytes.data() + program.note_position, &enclosure, sizeof(enclosure));
  const Digest digest = digest_of(program.bytes);
  memcpy(program.bytes.data() + program.note_position + offsetof(tiffin_enclosure, program_digest), digest.bytes.data(), digest.bytes.size());
}

}  // namespace

Status export_executable(const runtime::Artifact& artifact, const std::string& out, const std::vector<std::string>& folders) {
  const runtime::Source& source = artifact.container().source();
  if (source.is_folder()) {
    return error(Code::InvalidArgument, "'%s' is a folder, one file is expected", source.name())
        .with_remedy("make one of it: tiffin bundle -o OUT.tar %s", source.name());
  }
  const uint16_t machine = export_machine(artifact);
  TIFFIN_ASSIGN_OR_RETURN(const std::string path, find_program(machine, folders));
  TIFFIN_ASSIGN_OR_RETURN(Program program, read_program(path, machine));
  describe(program, source.size());
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(out.c_str(), true));
  TIFFIN_TRY(file.write(program.bytes));
  std::vector<uint8_t> piece(size_t{1} << 20);
  for (uint64_t at = 0; at < source.size(); at += piece.size()) {
    piece.resize(static_cast<size_t>(std::min<uint64_t>(piece.size(), source.size() - at)));
    TIFFIN_TRY(source.read(at, piece));
    TIFFIN_TRY(file.write(piece));
  }
  return file.commit();
}

}  // namespace tiffin::tools
