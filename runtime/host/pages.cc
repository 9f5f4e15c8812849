// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>

namespace tiffin::runtime {
namespace {

constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;
constexpr uint64_t kHugeThresholdBytes = uint64_t{4} << 20;
constexpr uint64_t kMaxBytes = uint64_t{1} << 47;

Result<Pages> map_aligned(uint64_t bytes, uint64_t alignment, int protection, int extra_flags) {
  const uint64_t page = page_bytes();
  const uint64_t slack = alignment > page ? alignment - page : 0;
  if (bytes > kMaxBytes || slack > kMaxBytes) return error(Code::OutOfMemory, "%" PRIu64 " bytes of memory were asked for", bytes);
  const uint64_t total = ((bytes == 0 ? 1 : bytes) + slack + page - 1) / page * page;
  void* base = mmap(nullptr, total, protection, MAP_PRIVATE | MAP_ANONYMOUS | extra_flags, -1, 0);
  if (base == MAP_FAILED) return error(Code::OutOfMemory, "the system gives no %" PRIu64 " bytes of memory", total);
  const auto start = reinterpret_cast<uintptr_t>(base);
  const uintptr_t data = slack == 0 ? start : (start + alignment - 1) & ~(alignment - 1);
  return Pages(base, total, reinterpret_cast<uint8_t*>(data));
}

}  // namespace

uint64_t page_bytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

Pages::~Pages() {
  if (base_ != nullptr) munmap(base_, mapped_bytes_);
}

Result<Pages> allocate_pages(uint64_t bytes) {
  const bool is_huge = bytes >= kHugeThresholdBytes;
  TIFFIN_ASSIGN_OR_RETURN(Pages pages, map_aligned(bytes, is_huge ? kHugePageBytes : 0, PROT_READ | PROT_WRITE, 0));
  // Only whole huge pages are advised: a rounded-up tail would cost memory that nobody asked for. Refusal costs speed only.
  if (is_huge) madvise(pages.data(), bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
  return pages;
}

Result<Pages> reserve_pages(uint64_t bytes, uint64_t alignment) { return map_aligned(bytes, alignment, PROT_NONE, MAP_NORESERVE); }

Status populate_pages(std::span<const uint8_t> bytes) {
  constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, since Linux 5.14
  if (bytes.empty()) return {};
  const uintptr_t first = reinterpret_cast<uintptr_t>(bytes.data()) & ~(page_bytes() - 1);
  auto* const start = reinterpret_cast<uint8_t*>(first);
  const size_t length = static_cast<size_t>(bytes.data() + bytes.size() - start);
  int result = 0;
  do {
    result = madvise(start, length, kPopulateRead);
  } while (result != 0 && (errno == EINTR || errno == EAGAIN));
  // What it answers for pages beyond the end of a file that was cut, and for a disk that fails.
  if (result != 0 && (errno == EFAULT || errno == EHWPOISON)) return error(Code::Io, "cannot read the mapped weights: %s", strerror(errno));
  if (result != 0) madvise(start, length, MADV_WILLNEED);
  return {};
}

}  // namespace tiffin::runtime
