// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/params/safetensors.h"
#include "base/params/safetensors_types.h"
#include "base/rapidjson.h"
#include "base/text.h"

namespace tiffin::params {
namespace {

constexpr size_t kHeaderAlignment = 8;

int name_length(std::string_view name) { return static_cast<int>(name.size() < 200 ? name.size() : 200); }

// The output stream of RapidJSON's writer.
struct HeaderText {
  using Ch = char;
  Array<char> bytes;
  bool has_failed = false;
  void Put(char character) { has_failed = has_failed || !bytes.append(character); }
  void Flush() {}
};
using HeaderWriter =
    rapidjson::Writer<HeaderText, rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::CrtAllocator, rapidjson::kWriteValidateEncodingFlag>;

// False if the text is not UTF-8 or memory ran out.
[[nodiscard]] bool write_text(HeaderWriter& json, std::string_view text) {
  // Its check of a cut sequence reads up to three bytes behind the text.
  Text padded;
  padded.add(text);
  padded.add({"\0\0\0", 3});
  return !padded.has_failed() && json.String(padded.view().data(), static_cast<rapidjson::SizeType>(text.size()));
}

// The name that the type is written under; empty where it needs a description.
std::string_view type_name(DType dtype) {
  for (const SafetensorsType& row : kSafetensorsTypes) {
    if (row.dtype == dtype && row.is_written) return row.name;
  }
  return {};
}

Status check_entry(const ParamEntry& entry) {
  if (entry.name == kMetadataKey)
    return error(Code::InvalidParams, "a safetensors file cannot hold a parameter with the reserved name '__metadata__'");
  if (dtype_bits(entry.dtype) != 0) return {};
  return error(Code::UnsupportedType, "parameter '%.*s' has a type that safetensors files cannot hold", name_length(entry.name), entry.name.data());
}

Status not_text(const ParamEntry& entry) {
  return error(Code::InvalidParams, "a safetensors file cannot hold the name '%.*s', which is not UTF-8", name_length(entry.name), entry.name.data());
}

Status write_descriptions(HeaderWriter& json, const ParamSource& source) {
  const auto is_described = [](const ParamEntry& entry) { return type_name(entry.dtype).empty(); };
  if (!std::any_of(source.entries.begin(), source.entries.end(), is_described)) return {};
  (void)write_text(json, kMetadataKey);
  json.StartObject();
  for (const ParamEntry& entry : source.entries) {
    if (!is_described(entry)) continue;
    Text key;
    key.add(kDescriptionPrefix);
    key.add(entry.name);
    Text type;
    type.add_type(entry.dtype, entry.shape);
    if (key.has_failed() || type.has_failed()) return error(Code::OutOfMemory, "no memory for the header of a parameter file");
    if (!write_text(json, key.view()) || !write_text(json, type.view())) return not_text(entry);
  }
  json.EndObject();
  return {};
}

bool write_tensor(HeaderWriter& json, const ParamEntry& entry, uint64_t begin) {
  const std::string_view type = type_name(entry.dtype);
  if (!write_text(json, entry.name)) return false;
  json.StartObject();
  (void)write_text(json, "dtype");
  (void)write_text(json, type.empty() ? "U8" : type);
  (void)write_text(json, "shape");
  json.StartArray();
  if (type.empty()) {
    json.Uint64(entry.bytes);
  } else {
    for (const int64_t extent : entry.shape) json.Int64(extent);
  }
  json.EndArray();
  (void)write_text(json, "data_offsets");
  json.StartArray();
  json.Uint64(begin);
  json.Uint64(begin + entry.bytes);
  json.EndArray();
  json.EndObject();
  return true;
}

// Entries in the order of their values in the file.
Status order_values(const ParamSource& source, Array<uint32_t>& out_order, Array<uint64_t>& out_begins) {
  if (!out_order.resize(source.entries.size()) || !out_begins.resize(source.entries.size()))
    return error(Code::OutOfMemory, "no memory to order parameters");
  for (uint32_t i = 0; i < out_order.size(); ++i) out_order[i] = i;
  std::sort(out_order.begin(), out_order.end(), [&source](uint32_t a, uint32_t b) {
    const int first = type_name(source.entries[a].dtype).empty() ? 8 : dtype_bits(source.entries[a].dtype);
    const int second = type_name(source.entries[b].dtype).empty() ? 8 : dtype_bits(source.entries[b].dtype);
    return first != second ? first > second : a < b;
  });
  uint64_t done = 0;
  for (const uint32_t entry : out_order) {
    out_begins[entry] = done;
    done += source.entries[entry].bytes;
  }
  return {};
}

}  // namespace

Status write_safetensors(const ParamSource& source, const ByteSink& sink) {
  Array<uint32_t> order;
  Array<uint64_t> begins;
  TIFFIN_TRY(order_values(source, order, begins));
  HeaderText header;
  HeaderWriter json(header);
  json.StartObject();
  TIFFIN_TRY(write_descriptions(json, source));
  for (size_t i = 0; i < source.entries.size(); ++i) {
    TIFFIN_TRY(check_entry(source.entries[i]));
    if (!write_tensor(json, source.entries[i], begins[i])) return not_text(source.entries[i]);
  }
  json.EndObject();
  while (header.bytes.size() % kHeaderAlignment != 0 && !header.has_failed) header.Put(' ');
  if (header.has_failed) return error(Code::OutOfMemory, "no memory for the header of a parameter file");
  const uint64_t header_bytes = header.bytes.size();
  TIFFIN_TRY(sink.write({reinterpret_cast<const uint8_t*>(&header_bytes), sizeof(header_bytes)}));
  TIFFIN_TRY(sink.write({reinterpret_cast<const uint8_t*>(header.bytes.data()), header.bytes.size()}));
  Array<uint8_t> scratch;
  for (const uint32_t entry : order) {
    TIFFIN_ASSIGN_OR_RETURN(const auto bytes, bytes_of(source, entry, scratch));
    TIFFIN_TRY(sink.write(bytes));
  }
  return {};
}

}  // namespace tiffin::params
