// SPDX-License-Identifier: Apache-2.0
// Artifacts that are no files of their own: inside a program's file, and linked into the program.
#include "abi/enclosure.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <string>

#include "base/artifact_layout.h"
#include "runtime/artifact/artifact.h"
#include "runtime/artifact/testing_artifact.h"

namespace tiffin::runtime {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kNoteAt = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
constexpr size_t kDescriptionAt = kNoteAt + sizeof(Elf64_Nhdr) + 8;

template <class T>
void put(Bytes& bytes, size_t at, const T& value) {
  memcpy(bytes.data() + at, &value, sizeof(value));
}

// A program of nothing but the note, and `artifact` behind it.
Bytes enclose(const Bytes& artifact) {
  Bytes file(TIFFIN_LARGE_PAGE_BYTES);
  Elf64_Ehdr elf{};
  memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_type = ET_DYN;
  elf.e_machine = EM_X86_64;
  elf.e_phoff = sizeof(Elf64_Ehdr);
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = 1;
  put(file, 0, elf);
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = segment.p_vaddr = kNoteAt;
  segment.p_filesz = segment.p_memsz = sizeof(Elf64_Nhdr) + 8 + sizeof(tiffin_enclosure);
  put(file, sizeof(elf), segment);
  put(file, kNoteAt, Elf64_Nhdr{sizeof(TIFFIN_NOTE_OWNER), sizeof(tiffin_enclosure), TIFFIN_ENCLOSURE_NOTE_TYPE});
  memcpy(file.data() + kNoteAt + sizeof(Elf64_Nhdr), TIFFIN_NOTE_OWNER, sizeof(TIFFIN_NOTE_OWNER));
  put(file, kDescriptionAt, tiffin_enclosure{file.size(), artifact.size(), {}});
  put(file, kDescriptionAt + offsetof(tiffin_enclosure, program_digest), digest_of(file));
  file.insert(file.end(), artifact.begin(), artifact.end());
  return file;
}

Result<Artifact> open(const Bytes& file) { return Artifact::open(std::move(Source::from_memory(file)).value(), VerifyLevel::All); }

Code code_of(const Bytes& file) {
  const auto artifact = open(file);
  return artifact.has_value() ? Code::Ok : artifact.error().code();
}

TEST(Enclosure, IsReadWhereTheNoteSays) {
  const Bytes inner = testing::build({}), file = enclose(inner);
  const auto artifact = open(file);
  ASSERT_TRUE(artifact.has_value()) << artifact.error().message();
  const Container& container = artifact->container();
  EXPECT_TRUE(container.is_enclosed());
  EXPECT_EQ(container.size(), inner.size());
  EXPECT_EQ(container.hash_file()->bytes, open(inner)->container().hash_file()->bytes);
  EXPECT_TRUE(container.check_program().is_ok()) << container.check_program().message();
  EXPECT_FALSE(open(inner)->container().is_enclosed());
}

TEST(Enclosure, KnowsWhatWasCutOff) {
  const Bytes file = enclose(testing::build({}));
  for (const size_t length : {file.size() - 1, size_t{TIFFIN_LARGE_PAGE_BYTES}, kDescriptionAt + sizeof(tiffin_enclosure)}) {
    EXPECT_EQ(code_of({file.begin(), file.begin() + static_cast<ptrdiff_t>(length)}), Code::Truncated) << length;
  }
}

TEST(Enclosure, HashesTheProgramAroundIt) {
  const Bytes whole = enclose(testing::build({}));
  for (const size_t at : {size_t{7}, kDescriptionAt + offsetof(tiffin_enclosure, program_digest), size_t{5000}}) {
    Bytes file = whole;
    file[at] ^= 1;
    const auto artifact = open(file);
    ASSERT_TRUE(artifact.has_value()) << artifact.error().message();
    EXPECT_EQ(artifact->container().check_program().code(), Code::DigestMismatch) << at;
  }
}

TEST(Enclosure, IsRefusedWhereItCannotBe) {
  const Bytes inner = testing::build({});
  EXPECT_EQ(code_of(enclose(enclose(inner))), Code::NotAnArtifact);
  EXPECT_EQ(code_of(enclose({'t', 'e', 'x', 't'})), Code::NotAnArtifact);
  EXPECT_EQ(code_of(enclose({})), Code::NotAnArtifact) << "a program that encloses nothing";
  Bytes file = enclose(inner);
  put(file, kDescriptionAt, tiffin_enclosure{UINT64_MAX - 4, 8, {}});
  EXPECT_EQ(code_of(file), Code::Truncated);
  put(file, kDescriptionAt, tiffin_enclosure{0, file.size(), {}});
  EXPECT_EQ(code_of(file), Code::NotAnArtifact) << "itself";
}

// The sections of an artifact as a program would have them linked.
struct Linked {
  explicit Linked(const Bytes& file) {
    auto opened = Container::open(std::move(Source::from_memory(file)).value(), VerifyLevel::None);
    const Container container = std::move(opened).value();
    const auto header = container.read_header_bytes(arena).value();
    add(kHeaderMember, {header.begin(), header.end()});
    for (const Section& section : container.sections()) {
      char path[kMemberPathBytes];
      EXPECT_TRUE(member_path(section.kind, section.name, path));
      add(path, {file.begin() + static_cast<ptrdiff_t>(section.offset), file.begin() + static_cast<ptrdiff_t>(section.offset + section.length)});
    }
    table = {TIFFIN_SYSTEM_LIB_VERSION, static_cast<uint32_t>(members.size()), "net", members.data()};
  }

  void add(const char* path, Bytes content) {
    paths.emplace_back(path);
    contents.push_back(std::move(content));
    members.push_back({paths.back().c_str(), contents.back().data(), contents.back().size(), 0});
  }
  Result<Artifact> open() const {
    TIFFIN_ASSIGN_OR_RETURN(Source source, Source::from_system_lib(table));
    return Artifact::open(std::move(source), VerifyLevel::All);
  }

  Arena arena;
  std::deque<std::string> paths;
  std::deque<Bytes> contents;
  std::vector<tiffin_system_lib_member> members;
  tiffin_system_lib table{};
};

TEST(LinkedModel, HasTheDigestsOfTheFile) {
  const Bytes file = testing::build({});
  const Linked linked(file);
  const auto artifact = linked.open();
  ASSERT_TRUE(artifact.has_value()) << artifact.error().message();
  EXPECT_EQ(artifact->container().content_digest(), open(file)->container().content_digest());
  EXPECT_STREQ(artifact->container().source().name(), "net");
}

TEST(LinkedModel, NamesWhatIsWrong) {
  Linked linked(testing::build({}));
  linked.table.version = 9;
  EXPECT_EQ(linked.open().error().code(), Code::AbiMismatch);
  linked.table.version = TIFFIN_SYSTEM_LIB_VERSION;
  linked.contents.back()[0] ^= 1;
  EXPECT_EQ(linked.open().error().code(), Code::DigestMismatch);
  linked.contents.back()[0] ^= 1;
  --linked.table.member_count;
  EXPECT_EQ(linked.open().error().code(), Code::Io);
  linked.table.member_count = 0;
  EXPECT_EQ(linked.open().error().code(), Code::Io);
}

}  // namespace
}  // namespace tiffin::runtime
