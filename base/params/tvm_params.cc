// SPDX-License-Identifier: Apache-2.0
#include "base/params/tvm_params.h"

#include "abi/artifact.h"
#include "abi/tensor.h"
#include "base/byte_reader.h"

namespace tiffin::params {
namespace {

constexpr uint64_t kListMagic = 0xF7E58D4F05049CB7u;
constexpr uint64_t kArrayMagic = 0xDD5E40F096B4A13Fu;
constexpr int32_t kCpu = 1;

// How a DLDataType of one lane is spelt. Where a dtype occurs twice, the first row is the one that is written.
struct TypeRow {
  uint8_t code, bits;
  DType dtype;
};
constexpr TypeRow kTypes[] = {
    {0, 8, DType::Int8},          {0, 16, DType::Int16},
    {0, 32, DType::Int32},        {0, 64, DType::Int64},
    {1, 8, DType::UInt8},         {1, 16, DType::UInt16},
    {1, 32, DType::UInt32},       {1, 64, DType::UInt64},
    {2, 16, DType::Float16},      {2, 32, DType::Float32},
    {2, 64, DType::Float64},      {4, 16, DType::BFloat16},
    {1, 1, DType::Bool},          {6, 8, DType::Bool},
    {5, 64, DType::Complex64},    {5, 128, DType::Complex128},
    {10, 8, DType::Float8E4M3FN}, {11, 8, DType::Float8E4M3FNUZ},
    {12, 8, DType::Float8E5M2},   {13, 8, DType::Float8E5M2FNUZ},
    {14, 8, DType::Float8E8M0},   {0, 4, DType::Int4},
    {1, 4, DType::UInt4},         {17, 4, DType::Float4E2M1},
    {0, 2, DType::Int2},          {1, 2, DType::UInt2},
};

const TypeRow* find_type(uint8_t code, uint8_t bits) {
  for (const TypeRow& row : kTypes) {
    if (row.code == code && row.bits == bits) return &row;
  }
  return nullptr;
}

const TypeRow* find_type(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

Status truncated(const ByteReader& reader, const char* what) {
  return error(Code::Truncated, "the parameter file ends after %llu bytes, within %s",
               static_cast<unsigned long long>(reader.position() + reader.remaining()), what);
}

int name_length(const ParamEntry& entry) { return static_cast<int>(entry.name.size() < 200 ? entry.name.size() : 200); }

Status read_names(ByteReader& reader, ParamList& list) {
  const auto count = reader.read<uint64_t>();
  for (uint64_t i = 0; i < count && !reader.has_failed(); ++i) {
    ParamEntry entry;
    entry.name = reader.read_text(reader.read<uint64_t>());
    if (!reader.has_failed() && !list.entries.append(entry))
      return error(Code::OutOfMemory, "no memory for %llu names", static_cast<unsigned long long>(i));
  }
  return reader.has_failed() ? truncated(reader, "the names of its arrays") : Status();
}

// Dimensions and their product; the entry's shape is set when all arrays are known, because `shapes` may move.
Status read_shape(ByteReader& reader, const ParamEntry& entry, int32_t rank, ParamList& list, uint64_t* out_count) {
  if (rank < 0 || rank > static_cast<int32_t>(TIFFIN_MAX_RANK)) {
    return error(Code::InvalidParams, "array '%.*s' has %d dimensions, at most %u are supported", name_length(entry), entry.name.data(), rank,
                 TIFFIN_MAX_RANK);
  }
  uint64_t count = 1;
  bool is_empty = false;
  bool fits = true;
  for (int32_t axis = 0; axis < rank; ++axis) {
    const auto extent = reader.read<int64_t>();
    if (extent < 0)
      return error(Code::InvalidParams, "array '%.*s' has a dimension of %lld", name_length(entry), entry.name.data(),
                   static_cast<long long>(extent));
    is_empty = is_empty || extent == 0;
    if (extent > 0) fits = fits && !__builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count) && count <= INT64_MAX;
    if (!list.shapes.append(extent)) return error(Code::OutOfMemory, "no memory for the shapes of a parameter file");
  }
  if (!fits) return error(Code::InvalidParams, "the dimensions of array '%.*s' overflow", name_length(entry), entry.name.data());
  *out_count = is_empty ? 0 : count;
  return {};
}

Status check_bool(const ParamEntry& entry) {
  for (uint64_t i = 0; i < entry.bytes; ++i) {
    if (entry.data[i] <= 1) continue;
    return error(Code::InvalidParams, "array '%.*s' is of bool and holds a %d; versions 0.13 to 0.20 of TVM wrote float8 under bool's code",
                 name_length(entry), entry.name.data(), entry.data[i]);
  }
  return {};
}

// 4- and 2-bit elements stand one to a byte in this format and are packed here.
Status pack_elements(ParamEntry& entry, std::span<const uint8_t> elements, int bits, ParamList& list) {
  const size_t at = list.unpacked.size();
  if (!storage_bytes(entry.dtype, elements.size(), &entry.bytes) || !list.unpacked.resize(at + entry.bytes)) {
    return error(Code::OutOfMemory, "no memory for array '%.*s'", name_length(entry), entry.name.data());
  }
  const auto per_byte = static_cast<size_t>(8 / bits);
  const auto mask = static_cast<uint8_t>((1 << bits) - 1);
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t shift = i % per_byte * static_cast<size_t>(bits);
    list.unpacked[at + i / per_byte] = static_cast<uint8_t>(list.unpacked[at + i / per_byte] | (elements[i] & mask) << shift);
  }
  return {};
}

Status read_array(ByteReader& reader, ParamEntry& entry, ParamList& list) {
  const auto magic = reader.read<uint64_t>();
  reader.read<uint64_t>();  // reserved
  const auto device = reader.read<int32_t>();
  reader.read<int32_t>();  // device number
  const auto rank = reader.read<int32_t>();
  const auto code = reader.read<uint8_t>();
  const auto bits = reader.read<uint8_t>();
  const auto lanes = reader.read<uint16_t>();
  if (reader.has_failed()) return truncated(reader, "the head of an array");
  if (magic != kArrayMagic)
    return error(Code::InvalidParams, "array '%.*s' does not begin with an array's magic number", name_length(entry), entry.name.data());
  if (device != kCpu)
    return error(Code::InvalidParams, "array '%.*s' is of device type %d, expected %d (CPU)", name_length(entry), entry.name.data(), device, kCpu);
  const TypeRow* type = find_type(code, bits);
  if (type == nullptr || lanes != 1) {
    return error(Code::UnsupportedType, "array '%.*s' has the type code %d with %d bits and %d lanes", name_length(entry), entry.name.data(), code,
                 bits, lanes);
  }
  uint64_t count = 0;
  TIFFIN_TRY(read_shape(reader, entry, rank, list, &count));
  const auto said = reader.read<int64_t>();
  if (reader.has_failed()) return truncated(reader, "the head of an array");
  uint64_t wanted = 0;
  if (__builtin_mul_overflow(count, uint64_t{(bits + 7u) / 8}, &wanted)) {
    return error(Code::InvalidParams, "the dimensions of array '%.*s' overflow", name_length(entry), entry.name.data());
  }
  if (bits == 1 && said == 0 && wanted != 0) {
    return error(Code::InvalidParams, "array '%.*s' is of bool without values: TVM 0.6 and older saved none", name_length(entry), entry.name.data());
  }
  if (said < 0 || static_cast<uint64_t>(said) != wanted) {
    return error(Code::InvalidParams, "array '%.*s' has %lld bytes of data, its type and shape make %llu", name_length(entry), entry.name.data(),
                 static_cast<long long>(said), static_cast<unsigned long long>(wanted));
  }
  const auto bytes = reader.read_bytes(wanted);
  if (reader.has_failed()) return truncated(reader, "the values of an array");
  entry.dtype = type->dtype;
  entry.bytes = wanted;
  entry.data = bytes.data();
  entry.tvm_code = code;
  entry.tvm_bits = bits;
  entry.shape = {static_cast<const int64_t*>(nullptr), static_cast<size_t>(rank)};
  if (entry.dtype == DType::Bool) return check_bool(entry);
  if (bits < 8) return pack_elements(entry, bytes, bits, list);
  return {};
}

// Points shapes and packed values at their final places.
void settle(ParamList& list) {
  const int64_t* shape = list.shapes.data();
  const uint8_t* packed = list.unpacked.data();
  for (ParamEntry& entry : list.entries) {
    entry.shape = {shape, entry.shape.size()};
    shape += entry.shape.size();
    if (dtype_bits(entry.dtype) >= 8) continue;
    entry.data = packed;
    packed += entry.bytes;
  }
}

Status write_u64(const ByteSink& sink, uint64_t value) { return sink.write({reinterpret_cast<const uint8_t*>(&value), sizeof(value)}); }

Status write_values(const ByteSink& sink, std::span<const uint8_t> bytes, int bits, uint64_t count) {
  if (bits >= 8) return sink.write(bytes);
  const auto per_byte = static_cast<uint64_t>(8 / bits);
  const auto mask = static_cast<uint8_t>((1 << bits) - 1);
  uint8_t block[1024];
  for (uint64_t begin = 0; begin < count; begin += sizeof(block)) {
    const uint64_t now = count - begin < sizeof(block) ? count - begin : sizeof(block);
    for (uint64_t i = 0; i < now; ++i) {
      const uint64_t at = begin + i;
      block[i] = static_cast<uint8_t>(bytes[at / per_byte] >> (at % per_byte * static_cast<uint64_t>(bits)) & mask);
    }
    TIFFIN_TRY(sink.write({block, static_cast<size_t>(now)}));
  }
  return {};
}

Status write_array(const ParamSource& source, size_t index, const ByteSink& sink, Array<uint8_t>& scratch) {
  const ParamEntry& entry = source.entries[index];
  const TypeRow* type = entry.tvm_bits != 0 ? find_type(entry.tvm_code, entry.tvm_bits) : find_type(entry.dtype);
  if (type == nullptr) {
    return error(Code::UnsupportedType, "parameter '%.*s' has a type that .params files cannot hold: %.*s", name_length(entry), entry.name.data(),
                 static_cast<int>(dtype_name(entry.dtype).size()), dtype_name(entry.dtype).data());
  }
  struct {
    uint64_t magic, reserved;
    int32_t device, device_number, rank;
    uint8_t code, bits;
    uint16_t lanes;
  } const head = {kArrayMagic, 0, kCpu, 0, static_cast<int32_t>(entry.shape.size()), type->code, type->bits, 1};
  static_assert(sizeof(head) == 32);
  TIFFIN_TRY(sink.write({reinterpret_cast<const uint8_t*>(&head), sizeof(head)}));
  uint64_t count = 1;
  for (const int64_t extent : entry.shape) {
    TIFFIN_TRY(write_u64(sink, static_cast<uint64_t>(extent)));
    count *= static_cast<uint64_t>(extent);
  }
  TIFFIN_TRY(write_u64(sink, count * ((type->bits + 7u) / 8)));
  TIFFIN_ASSIGN_OR_RETURN(const auto bytes, bytes_of(source, index, scratch));
  return write_values(sink, bytes, dtype_bits(entry.dtype), count);
}

}  // namespace

bool is_tvm_spelling(DType dtype, uint8_t code, uint8_t bits) {
  const TypeRow* type = find_type(code, bits);
  return type != nullptr && type->dtype == dtype;
}

bool is_tvm_params(std::span<const uint8_t> bytes) {
  return bytes.size() >= sizeof(kListMagic) && memcmp(bytes.data(), &kListMagic, sizeof(kListMagic)) == 0;
}

Result<ParamList> read_tvm_params(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  ParamList list;
  const auto magic = reader.read<uint64_t>();
  reader.read<uint64_t>();  // reserved
  if (!reader.has_failed() && magic != kListMagic)
    return error(Code::InvalidParams, "the bytes do not begin with the magic number of a parameter list");
  TIFFIN_TRY(read_names(reader, list));
  const auto count = reader.read<uint64_t>();
  if (reader.has_failed()) return truncated(reader, "the number of its arrays");
  if (count != list.entries.size()) {
    return error(Code::InvalidParams, "the parameter file has %zu names and %llu arrays", list.entries.size(),
                 static_cast<unsigned long long>(count));
  }
  for (ParamEntry& entry : list.entries) TIFFIN_TRY(read_array(reader, entry, list));
  if (reader.remaining() != 0) {
    return error(Code::InvalidParams, "%llu trailing bytes after the last array", static_cast<unsigned long long>(reader.remaining()));
  }
  settle(list);
  return list;
}

Status write_tvm_params(const ParamSource& source, const ByteSink& sink) {
  TIFFIN_TRY(write_u64(sink, kListMagic));
  TIFFIN_TRY(write_u64(sink, 0));
  TIFFIN_TRY(write_u64(sink, source.entries.size()));
  for (const ParamEntry& entry : source.entries) {
    TIFFIN_TRY(write_u64(sink, entry.name.size()));
    TIFFIN_TRY(sink.write({reinterpret_cast<const uint8_t*>(entry.name.data()), entry.name.size()}));
  }
  TIFFIN_TRY(write_u64(sink, source.entries.size()));
  Array<uint8_t> scratch;
  for (size_t i = 0; i < source.entries.size(); ++i) TIFFIN_TRY(write_array(source, i, sink, scratch));
  return {};
}

}  // namespace tiffin::params
