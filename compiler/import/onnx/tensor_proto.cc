// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of onnx.proto.
#include "compiler/import/onnx/tensor_proto.h"

#include <algorithm>
#include <optional>
#include <protozero/pbf_writer.hpp>

#include "compiler/import/onnx/tensor_decoder.h"
#include "compiler/import/onnx/wire.h"

namespace tiffin::import {
namespace {

constexpr int64_t kOnnxFloat6E2M3 = 27;
constexpr int64_t kOnnxFloat6E3M2 = 28;

enum Field : uint32_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};

// What a first look at the message finds; the typed fields are read once the element type is known.
struct Header {
  std::string name;
  int64_t data_type = 0;
  std::vector<int64_t> dims;
  std::optional<std::span<const uint8_t>> raw;
  bool is_external = false, has_segment = false, has_typed_field = false;
  ExternalLocation location;
};

void read_external_entry(Fields fields, ExternalLocation* out) {
  std::string key, value;
  while (fields.next()) {
    if (fields.tag() == 1) key = fields.text();
    if (fields.tag() == 2) value = fields.text();
  }
  if (key == "location") out->location = value;
  if (key == "offset") out->offset = value;
  if (key == "length") out->length = value;
}

Header read_header(std::span<const uint8_t> bytes) {
  Header out;
  Fields fields(bytes, "TensorProto");
  while (fields.next()) {
    switch (fields.tag()) {
      case kDims:
        fields.integers([&](int64_t extent) { out.dims.push_back(extent); });
        break;
      case kDataType:
        out.data_type = fields.integer();
        break;
      case kSegment:
        out.has_segment = true;
        break;
      case kName:
        out.name = fields.text();
        break;
      case kRawData:
        out.raw = fields.bytes();
        break;
      case kExternalData:
        read_external_entry(fields.message("StringStringEntryProto"), &out.location);
        break;
      case kDataLocation:
        out.is_external = fields.integer() == 1;
        break;
      case kFloatData:
      case kInt32Data:
      case kInt64Data:
      case kDoubleData:
      case kUint64Data:
        out.has_typed_field = true;
        break;
      default:
        break;
    }
  }
  return out;
}

// Which typed field holds the elements of a dtype, and how many bytes of the tensor one entry of it stands for.
struct TypedField {
  uint32_t tag;
  size_t entry_bytes;
};

TypedField typed_field(DType dtype) {
  switch (dtype) {
    case DType::Float32:
    case DType::Complex64:
      return {kFloatData, 4};
    case DType::Float64:
    case DType::Complex128:
      return {kDoubleData, 8};
    case DType::Int64:
      return {kInt64Data, 8};
    case DType::UInt64:
      return {kUint64Data, 8};
    case DType::UInt32:
      return {kUint64Data, 4};
    default:
      return {kInt32Data, static_cast<size_t>(std::max(dtype_bits(dtype), 8)) / 8};
  }
}

class TypedReader {
 public:
  TypedReader(DType dtype, uint64_t size) : dtype_(dtype), field_(typed_field(dtype)), size_(size) {}

  // The elements as compact bytes, at most one entry more than `size` of them.
  std::vector<uint8_t> read(std::span<const uint8_t> bytes) {
    Fields fields(bytes, "TensorProto");
    while (fields.next()) {
      if (fields.tag() != field_.tag) continue;
      if (field_.tag == kFloatData) {
        fields.fixed<float>([&](float value) { append(&value); });
      } else if (field_.tag == kDoubleData) {
        fields.fixed<double>([&](double value) { append(&value); });
      } else {
        fields.integers([&](int64_t value) { append_integer(fields, value); });
      }
    }
    return std::move(out_);
  }

 private:
  void append(const void* entry) {
    if (out_.size() > size_) return;
    const auto* from = static_cast<const uint8_t*>(entry);
    out_.insert(out_.end(), from, from + field_.entry_bytes);
  }

  void append_integer(const Fields& fields, int64_t value) {
    if (dtype_ == DType::Bool) value = value != 0 ? 1 : 0;
    const auto bits = static_cast<int>(field_.entry_bytes * 8);
    const bool fits = bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << bits);
    if (!fits) fields.fail("an element does not fit its type");
    append(&value);
  }

  DType dtype_;
  TypedField field_;
  uint64_t size_;
  std::vector<uint8_t> out_;
};

Result<uint64_t> checked_size(const Header& header, DType dtype) {
  const std::string shape = graph::to_string(header.dims);
  for (const int64_t extent : header.dims) {
    if (extent < 0) return error(Code::InvalidModel, "tensor '%s' has a negative extent in its shape %s", header.name.c_str(), shape.c_str());
  }
  const int64_t count = graph::num_elements(header.dims);
  uint64_t size = 0;
  if (count < 0 || !storage_bytes(dtype, static_cast<uint64_t>(count), &size) || size > INT64_MAX) {
    return error(Code::InvalidModel, "tensor '%s' has a shape %s whose size overflows", header.name.c_str(), shape.c_str());
  }
  return size;
}

Status wrong_length(const Header& header, DType dtype, const char* where, size_t actual, uint64_t expected) {
  return error(Code::InvalidModel, "tensor '%s' has %zu bytes of %s, %s%s needs %llu", header.name.c_str(), actual, where,
               std::string(dtype_name(dtype)).c_str(), graph::to_string(header.dims).c_str(), static_cast<unsigned long long>(expected));
}

// Every byte but 0 is true, as in typed fields; what computes with bool relies on 1.
graph::Tensor with_truths(graph::Tensor tensor) {
  const auto is_other = [](uint8_t byte) { return byte > 1; };
  if (tensor.dtype() != DType::Bool || std::none_of(tensor.bytes().begin(), tensor.bytes().end(), is_other)) return tensor;
  std::vector<uint8_t> truths(tensor.bytes().begin(), tensor.bytes().end());
  for (uint8_t& byte : truths) byte = byte != 0 ? 1 : 0;
  return graph::Tensor(DType::Bool, tensor.shape(), std::move(truths));
}

}  // namespace

Result<DType> dtype_from_onnx(int64_t code) {
  if (code == kOnnxFloat6E2M3 || code == kOnnxFloat6E3M2) {
    return error(Code::UnsupportedType, "element type %s is not supported", code == kOnnxFloat6E2M3 ? "float6_e2m3fn" : "float6_e3m2fn");
  }
  if (code <= 0 || code >= kDTypeCount) return error(Code::InvalidModel, "element type %lld is unknown", static_cast<long long>(code));
  const auto dtype = static_cast<DType>(code);
  if (dtype == DType::String) return error(Code::UnsupportedType, "element type string is not supported");
  return dtype;
}

Result<NamedTensor> decode_tensor(std::span<const uint8_t> bytes, const std::shared_ptr<const void>& owner, ExternalFiles* external) {
  Header header = read_header(bytes);
  auto dtype = dtype_from_onnx(header.data_type);
  if (!dtype) return dtype.take_error().with_context("tensor '%s'", header.name.c_str());
  TIFFIN_ASSIGN_OR_RETURN(const uint64_t size, checked_size(header, *dtype));
  if (header.has_segment) return error(Code::InvalidModel, "tensor '%s' is split into segments", header.name.c_str());
  if ((header.raw || header.is_external) && header.has_typed_field) {
    return error(Code::InvalidModel, "tensor '%s' has its elements twice, in raw or external data and in a typed field", header.name.c_str());
  }
  if (header.is_external) {
    if (external == nullptr) return error(Code::InvalidModel, "tensor '%s' keeps its data in another file", header.name.c_str());
    auto found = external->find(header.location, size);
    if (!found) return found.take_error().with_context("tensor '%s'", header.name.c_str());
    return NamedTensor{std::move(header.name), with_truths(graph::Tensor(*dtype, std::move(header.dims), found->bytes, found->owner))};
  }
  if (header.raw) {
    if (header.raw->size() != size) return wrong_length(header, *dtype, "raw_data", header.raw->size(), size);
    return NamedTensor{std::move(header.name), with_truths(graph::Tensor(*dtype, std::move(header.dims), *header.raw, owner))};
  }
  std::vector<uint8_t> elements = TypedReader(*dtype, size).read(bytes);
  if (elements.size() != size) return wrong_length(header, *dtype, "elements", elements.size(), size);
  return NamedTensor{std::move(header.name), graph::Tensor(*dtype, std::move(header.dims), std::move(elements))};
}

Result<NamedTensor> read_tensor_proto(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner) {
  NamedTensor out;
  TIFFIN_TRY(read_messages(bytes, [&]() -> Status {
    TIFFIN_ASSIGN_OR_RETURN(out, decode_tensor(bytes, owner, nullptr));
    return {};
  }));
  return out;
}

Result<NamedTensor> read_tensor_file(const std::string& path) {
  TIFFIN_ASSIGN_OR_RETURN(const MappedFile file, map_file(path));
  auto read = read_tensor_proto(file.bytes, file.owner);
  if (read) return read;
  const Status failure = read.take_error();
  const Code code = failure.code() == Code::InvalidModel ? Code::InvalidInput : failure.code();
  return error(code, "'%s': %s", path.c_str(), failure.message());
}

std::vector<uint8_t> write_tensor_proto(const std::string& name, const graph::Tensor& tensor) {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const int64_t extent : tensor.shape()) writer.add_int64(kDims, extent);
  writer.add_int32(kDataType, static_cast<int32_t>(tensor.dtype()));
  if (!name.empty()) writer.add_string(kName, name);
  // The length is written by hand, because protozero keeps it in 32 bits.
  const auto bytes = tensor.bytes();
  protozero::add_varint_to_buffer(&out, kRawData << 3 | static_cast<uint32_t>(protozero::pbf_wire_type::length_delimited));
  protozero::add_varint_to_buffer(&out, bytes.size());
  std::vector<uint8_t> message(out.begin(), out.end());
  message.insert(message.end(), bytes.begin(), bytes.end());
  return message;
}

}  // namespace tiffin::import
