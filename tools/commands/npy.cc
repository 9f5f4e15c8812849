// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/npy.h"

#include <cstdio>
#include <cstring>

#include "base/atomic_file.h"
#include "tools/commands/byte_file.h"

namespace tiffin::tools {
namespace {

constexpr uint8_t kMagic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr size_t kMaxHeaderBytes = 1 << 20;  // numpy itself refuses headers over 10,000 bytes

Result<NpyHeader> read_header(InputFile& file) {
  uint8_t start[12];
  TIFFIN_TRY(file.read(start, 10));
  if (memcmp(start, kMagic, sizeof kMagic) != 0) return error(Code::InvalidInput, "'%s' is not a .npy file: its first bytes are others", file.path());
  const int major = start[6];
  if (major < 1 || major > 3) return error(Code::InvalidInput, "'%s' has .npy version %d, versions 1 to 3 are known", file.path(), major);
  size_t length = start[8] | static_cast<size_t>(start[9]) << 8;
  if (major > 1) {
    TIFFIN_TRY(file.read(start + 10, 2));
    length |= static_cast<size_t>(start[10]) << 16 | static_cast<size_t>(start[11]) << 24;
  }
  if (length > kMaxHeaderBytes)
    return error(Code::InvalidInput, "'%s' has a header of %zu bytes, the limit is %zu", file.path(), length, kMaxHeaderBytes);
  Array<char> text;
  if (!text.resize(length)) return out_of_memory();
  TIFFIN_TRY(file.read(text.data(), length));
  Result<NpyHeader> header = parse_npy_header(text.data(), length);
  if (!header.has_value()) return header.take_error().with_context("'%s'", file.path());
  return header;
}

void swap_bytes(uint8_t* bytes, uint64_t count, int width) {
  for (uint64_t i = 0; i < count; ++i, bytes += width) {
    for (int low = 0, high = width - 1; low < high; ++low, --high) std::swap(bytes[low], bytes[high]);
  }
}

// Row-major elements from column-major ones: walks the target in order and steps through the source by its strides.
Result<HostTensor> from_fortran_order(const HostTensor& source, int width) {
  TIFFIN_ASSIGN_OR_RETURN(HostTensor out, HostTensor::create(source.dtype(), source.shape(), source.item_bytes()));
  const auto shape = source.shape();
  uint64_t strides[kMaxRank] = {};
  int64_t position[kMaxRank] = {};
  uint64_t stride = static_cast<uint64_t>(width);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = stride;
    stride *= static_cast<uint64_t>(shape[axis]);
  }
  uint64_t offset = 0;
  for (uint64_t i = 0; i < source.num_elements(); ++i) {
    memcpy(out.bytes() + i * static_cast<uint64_t>(width), source.bytes() + offset, static_cast<size_t>(width));
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++position[axis] < shape[axis]) break;
      offset -= strides[axis] * static_cast<uint64_t>(shape[axis]);
      position[axis] = 0;
    }
  }
  return out;
}

Result<HostTensor> read_elements(InputFile& file, const NpyHeader& header) {
  const std::span<const int64_t> shape{header.shape, static_cast<size_t>(header.rank)};
  uint64_t bytes = static_cast<uint64_t>(header.item_bytes);
  bool overflows = false;
  for (const int64_t extent : shape) overflows |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes);
  // A header may promise any size: a regular file is believed only as far as it goes.
  if (!overflows && file.is_regular() && bytes > file.remaining()) {
    return error(Code::InvalidInput, "the file ends too early: the array has %llu bytes, %llu are left", static_cast<unsigned long long>(bytes),
                 static_cast<unsigned long long>(file.remaining()));
  }
  TIFFIN_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::create(header.dtype, shape, header.item_bytes));
  TIFFIN_TRY(file.read(tensor.bytes(), tensor.size_bytes()));
  TIFFIN_TRY(file.expect_end());
  const bool is_complex = header.dtype == DType::Complex64 || header.dtype == DType::Complex128;
  if (header.is_big_endian) swap_bytes(tensor.bytes(), tensor.num_elements() * (is_complex ? 2 : 1), header.item_bytes / (is_complex ? 2 : 1));
  if (header.dtype == DType::Bool) {
    for (uint64_t i = 0; i < tensor.num_elements(); ++i) tensor.bytes()[i] = tensor.bytes()[i] != 0;
  }
  if (header.is_fortran_order && header.rank > 1) return from_fortran_order(tensor, header.item_bytes);
  return tensor;
}

const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return "<f2";
    case DType::Float32:
      return "<f4";
    case DType::Float64:
      return "<f8";
    case DType::Int8:
      return "|i1";
    case DType::Int16:
      return "<i2";
    case DType::Int32:
      return "<i4";
    case DType::Int64:
      return "<i8";
    case DType::UInt8:
      return "|u1";
    case DType::UInt16:
      return "<u2";
    case DType::UInt32:
      return "<u4";
    case DType::UInt64:
      return "<u8";
    case DType::Bool:
      return "|b1";
    case DType::Complex64:
      return "<c8";
    case DType::Complex128:
      return "<c16";
    case DType::BFloat16:
      return "|V2";
    default:
      return "|V1";
  }
}

Status write_header(AtomicFile& file, DType dtype, std::span<const int64_t> shape) {
  char text[64 + 24 * kMaxRank + 128] = {};
  size_t at = static_cast<size_t>(snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(dtype)));
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    at += static_cast<size_t>(snprintf(text + at, sizeof text - at, axis == 0 ? "%lld" : ", %lld", static_cast<long long>(shape[axis])));
  }
  at += static_cast<size_t>(snprintf(text + at, sizeof text - at, shape.size() == 1 ? ",), }" : "), }"));
  while ((10 + at + 1) % 64 != 0) text[at++] = ' ';
  text[at++] = '\n';
  const uint8_t start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<uint8_t>(at), static_cast<uint8_t>(at >> 8)};
  TIFFIN_TRY(file.write(start));
  return file.write({reinterpret_cast<const uint8_t*>(text), at});
}

Status write_unpacked(AtomicFile& file, uint64_t count, int bits, const uint8_t* bytes) {
  uint8_t chunk[4096];
  for (uint64_t done = 0; done < count;) {
    size_t filled = 0;
    for (; filled < sizeof chunk && done < count; ++done) chunk[filled++] = packed_element(bytes, done, bits);
    TIFFIN_TRY(file.write({chunk, filled}));
  }
  return {};
}

}  // namespace

Result<HostTensor> read_npy(const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(InputFile file, InputFile::open(path));
  TIFFIN_ASSIGN_OR_RETURN(const NpyHeader header, read_header(file));
  Result<HostTensor> tensor = read_elements(file, header);
  if (!tensor.has_value() && tensor.error().code() != Code::Io) return tensor.take_error().with_context("'%s'", path);
  return tensor;
}

Status write_npy(const char* path, DType dtype, std::span<const int64_t> shape, const uint8_t* bytes) {
  uint64_t count = 1, size = 0;
  for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
  if (!storage_bytes(dtype, count, &size))
    return error(Code::UnsupportedType, "'%s': %s cannot be written as .npy", path, type_text(dtype, shape).text);
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  TIFFIN_TRY(write_header(file, dtype, shape));
  const int bits = dtype_bits(dtype);
  TIFFIN_TRY(bits < 8 ? write_unpacked(file, count, bits, bytes) : file.write({bytes, size}));
  return file.commit();
}

}  // namespace tiffin::tools
