// SPDX-License-Identifier: Apache-2.0
// 1. The JSON header is copied and parsed in place, event by event: names are decoded where they stand and nothing is built.
// 2. Each tensor's byte count is compared with its type and shape.
// 3. Sorted by offset, the ranges follow one another without gap or overlap up to the end of the file.
#include <charconv>

#include "abi/artifact.h"
#include "base/params/safetensors.h"
#include "base/params/safetensors_types.h"
#include "base/rapidjson.h"
#include "base/sort.h"

namespace tiffin::params {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

unsigned long long printable(uint64_t value) { return value; }
int name_length(std::string_view name) { return static_cast<int>(name.size() < 200 ? name.size() : 200); }

// A "tiffin.dtype." line of the metadata.
struct Description {
  std::string_view name, type;
};

// What the header says of one tensor besides what becomes its ParamEntry.
struct Range {
  uint64_t begin, end;
  uint32_t entry;
  size_t first_dimension;  // of its shape, in the list's shapes
};

// Receives the parser's events. A false answer stops the parser; `failure` then says why.
class HeaderReader : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, HeaderReader> {
 public:
  explicit HeaderReader(ParamList& list) : list_(list) {}
  Array<Range> ranges;
  Array<Description> descriptions;
  Status failure;

  bool Default() { return unexpected(); }
  bool StartObject() {
    if (place_ == Place::Outside) return enter(Place::Top);
    if (place_ == Place::Top && has_key_) {
      if (key_ != kMetadataKey) return start_tensor();
      if (has_metadata_) return fail("has two keys '__metadata__'");
      has_metadata_ = true;
      return enter(Place::Metadata);
    }
    return unexpected();
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    key_ = {text, length};
    has_key_ = true;
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    if (place_ == Place::Tensor) return end_tensor();
    return enter(place_ == Place::Metadata ? Place::Top : Place::Outside);
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    const std::string_view value(text, length);
    if (place_ == Place::Metadata) {
      if (!key_.starts_with(kDescriptionPrefix)) return true;
      return descriptions.append(Description{{key_.data() + kDescriptionPrefix.size(), key_.size() - kDescriptionPrefix.size()}, value}) ||
             no_memory();
    }
    if (place_ != Place::Tensor || key_ != "dtype") return unexpected();
    if (entry_.dtype != DType::Undefined) return fail("gives a dtype twice");
    for (const SafetensorsType& row : kSafetensorsTypes) {
      if (row.name == value) entry_.dtype = row.dtype;
    }
    if (entry_.dtype != DType::Undefined) return true;
    failure = error(Code::UnsupportedType, "tensor '%.*s' has the type '%.*s'", name_length(entry_.name), entry_.name.data(), name_length(value),
                    value.data());
    return false;
  }
  bool StartArray() {
    if (place_ != Place::Tensor) return unexpected();
    if (key_ == "shape" && !has_shape_) {
      has_shape_ = true;
      return enter(Place::Shape);
    }
    if (key_ == "data_offsets" && offset_count_ == 0) return enter(Place::Offsets);
    return unexpected();
  }
  bool EndArray(rapidjson::SizeType) { return enter(Place::Tensor); }
  bool Int(int) { return unexpected(); }  // a negative number
  bool Int64(int64_t) { return unexpected(); }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Uint64(uint64_t value) {
    if (place_ == Place::Shape) {
      if (rank_++ == TIFFIN_MAX_RANK) return fail("has more than 16 dimensions");
      if (value > INT64_MAX) return fail("has a dimension that is too large");
      return list_.shapes.append(static_cast<int64_t>(value)) || no_memory();
    }
    if (place_ != Place::Offsets || offset_count_ == 2) return unexpected();
    (offset_count_++ == 0 ? range_.begin : range_.end) = value;
    return true;
  }

 private:
  enum class Place { Outside, Top, Metadata, Tensor, Shape, Offsets };

  bool enter(Place place) {
    place_ = place;
    has_key_ = false;
    return true;
  }
  bool start_tensor() {
    entry_ = ParamEntry{};
    entry_.name = key_;
    range_ = {0, 0, static_cast<uint32_t>(list_.entries.size()), list_.shapes.size()};
    has_shape_ = false;
    rank_ = 0;
    offset_count_ = 0;
    return enter(Place::Tensor);
  }
  bool end_tensor() {
    if (entry_.dtype == DType::Undefined) return fail("has no dtype");
    if (!has_shape_) return fail("has no shape");
    if (offset_count_ != 2) return fail("has no two data_offsets");
    entry_.shape = {static_cast<const int64_t*>(nullptr), rank_};
    if (!list_.entries.append(entry_) || !ranges.append(range_)) return no_memory();
    return enter(Place::Top);
  }
  bool unexpected() { return fail("is described in a way that the format does not know"); }
  bool no_memory() {
    failure = error(Code::OutOfMemory, "no memory for the header of a parameter file");
    return false;
  }
  bool fail(const char* why) {
    const bool in_tensor = place_ == Place::Tensor || place_ == Place::Shape || place_ == Place::Offsets;
    const std::string_view name = in_tensor ? entry_.name : key_;
    failure = in_tensor || has_key_ ? error(Code::InvalidParams, "tensor '%.*s' %s", name_length(name), name.data(), why)
                                    : error(Code::InvalidParams, "the header of the parameter file %s", why);
    return false;
  }

  ParamList& list_;
  Place place_ = Place::Outside;
  std::string_view key_;
  bool has_key_ = false;
  bool has_metadata_ = false;
  ParamEntry entry_;
  Range range_{};
  bool has_shape_ = false;
  size_t rank_ = 0;
  int offset_count_ = 0;
};

// Memory of the parser's own stack, because RapidJSON does not look whether memory ran out. It takes eight bytes for each open object or array,
// and HeaderReader stops the parser at the fourth that is open at once.
class ParserStack {
 public:
  static const bool kNeedFree = false;
  void* Malloc(size_t bytes) { return bytes <= sizeof(bytes_) ? bytes_ : nullptr; }
  void* Realloc(void*, size_t, size_t bytes) { return Malloc(bytes); }
  static void Free(void*) {}

 private:
  alignas(16) char bytes_[512];
};

// Step 1. `list.header` holds the header and NULs.
Status parse_header(ParamList& list, HeaderReader& events) {
  ParserStack stack;
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, ParserStack> reader(&stack, sizeof(stack));
  rapidjson::InsituStringStream stream(list.header.data());
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, events);
  if (!events.failure.is_ok()) return std::move(events.failure);
  if (!result.IsError()) return {};
  return error(Code::InvalidParams, "the header of the parameter file is not JSON, at its byte %zu: %s", result.Offset(),
               rapidjson::GetParseError_En(result.Code()));
}

bool count_bytes(DType dtype, std::span<const int64_t> shape, uint64_t* out_bytes) {
  uint64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent == 0) return storage_bytes(dtype, 0, out_bytes);
  }
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count)) return false;
  }
  return storage_bytes(dtype, count, out_bytes);
}

// Step 2.
Status check_size(const ParamEntry& entry, const Range& range) {
  uint64_t wanted = 0;
  if (!count_bytes(entry.dtype, entry.shape, &wanted)) {
    return error(Code::InvalidParams, "the dimensions of tensor '%.*s' overflow", name_length(entry.name), entry.name.data());
  }
  if (range.end >= range.begin && range.end - range.begin == wanted) return {};
  return error(Code::InvalidParams, "tensor '%.*s' has the bytes [%llu, %llu), its type and shape make %llu bytes", name_length(entry.name),
               entry.name.data(), printable(range.begin), printable(range.end), printable(wanted));
}

// Step 3.
Status check_ranges(const ParamList& list, Array<Range>& ranges, uint64_t data_bytes) {
  sort(ranges.span(), [](const Range& a, const Range& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  uint64_t done = 0;
  for (const Range& range : ranges) {
    const std::string_view name = list.entries[range.entry].name;
    if (range.begin != done) {
      return error(Code::InvalidParams, "tensor '%.*s' begins at %llu, which %s the tensor before it that ends at %llu", name_length(name),
                   name.data(), printable(range.begin), range.begin < done ? "overlaps" : "leaves a gap to", printable(done));
    }
    done = range.end;
  }
  if (done > data_bytes) return error(Code::Truncated, "the parameter file has %llu of %llu bytes of values", printable(data_bytes), printable(done));
  if (done < data_bytes) return error(Code::InvalidParams, "%llu trailing bytes after the last tensor", printable(data_bytes - done));
  return {};
}

// Gives a U8 tensor of packed bytes its own type, "int4[3,5]". A description that fits no tensor is someone else's.
Status apply_description(const Description& description, ParamEntry& entry, Range& range, ParamList& list) {
  const size_t bracket = description.type.find('[');
  const DType dtype = bracket == std::string_view::npos ? DType::Undefined : parse_dtype({description.type.data(), bracket});
  const Status unfit = error(Code::InvalidParams, "tensor '%.*s' is described as '%.*s', which does not fit its bytes", name_length(entry.name),
                             entry.name.data(), name_length(description.type), description.type.data());
  if (dtype == DType::Undefined || entry.dtype != DType::UInt8) return unfit.clone();
  int64_t shape[TIFFIN_MAX_RANK];
  size_t rank = 0;
  const char* at = description.type.data() + bracket + 1;
  const char* end = description.type.data() + description.type.size();
  while (at < end && *at != ']') {
    if (rank == TIFFIN_MAX_RANK || (rank > 0 && *at++ != ',')) return unfit.clone();
    const auto [next, problem] = std::from_chars(at, end, shape[rank]);
    if (problem != std::errc() || shape[rank++] < 0) return unfit.clone();
    at = next;
  }
  uint64_t bytes = 0;
  if (end - at != 1 || !count_bytes(dtype, {shape, rank}, &bytes) || bytes != entry.bytes) return unfit.clone();
  entry.dtype = dtype;
  entry.shape = {static_cast<const int64_t*>(nullptr), rank};
  range.first_dimension = list.shapes.size();
  return list.shapes.append(std::span<const int64_t>(shape, rank)) ? Status()
                                                                   : error(Code::OutOfMemory, "no memory for the shapes of a parameter file");
}

// The ranges are still in the order of the entries.
Status apply_descriptions(HeaderReader& events, ParamList& list) {
  if (events.descriptions.empty()) return {};
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex names, NameIndex::create(list.entries.span()));
  for (const Description& description : events.descriptions) {
    const size_t entry = names.find(description.name);
    if (entry == NameIndex::kAbsent) continue;
    TIFFIN_TRY(apply_description(description, list.entries[entry], events.ranges[entry], list));
  }
  return {};
}

}  // namespace

bool is_safetensors(std::span<const uint8_t> bytes) {
  uint64_t header_bytes = 0;
  if (bytes.size() <= sizeof(header_bytes) || bytes[sizeof(header_bytes)] != '{') return false;
  memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  return header_bytes >= 2 && header_bytes <= kMaxHeaderBytes;
}

Result<ParamList> read_safetensors(std::span<const uint8_t> bytes) {
  if (!is_safetensors(bytes)) return error(Code::InvalidParams, "the bytes do not begin with the header of a safetensors file");
  uint64_t header_bytes = 0;
  memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const auto rest = bytes.subspan(sizeof(header_bytes));
  if (header_bytes > rest.size())
    return error(Code::Truncated, "the parameter file has %zu of its header's %llu bytes", rest.size(), printable(header_bytes));
  ParamList list;
  // The parser takes a NUL for the end, and its check of a cut UTF-8 sequence reads up to three bytes behind that.
  if (!list.header.append(std::span<const char>(reinterpret_cast<const char*>(rest.data()), header_bytes)) ||
      !list.header.append(std::span<const char>("\0\0\0\0", 4))) {
    return error(Code::OutOfMemory, "no memory for the %llu bytes of a parameter file's header", printable(header_bytes));
  }
  if (memchr(list.header.data(), 0, header_bytes) != nullptr) return error(Code::InvalidParams, "the header of the parameter file has a NUL in it");
  HeaderReader events(list);
  TIFFIN_TRY(parse_header(list, events));
  const auto values = rest.subspan(header_bytes);
  for (Range& range : events.ranges) {
    ParamEntry& entry = list.entries[range.entry];
    const std::span<const int64_t> shape = list.shapes.span().subspan(range.first_dimension, entry.shape.size());
    TIFFIN_TRY(check_size(ParamEntry{entry.name, entry.dtype, shape}, range));
    entry.bytes = range.end - range.begin;
  }
  TIFFIN_TRY(apply_descriptions(events, list));
  for (const Range& range : events.ranges) {
    ParamEntry& entry = list.entries[range.entry];
    entry.shape = list.shapes.span().subspan(range.first_dimension, entry.shape.size());
  }
  TIFFIN_TRY(check_ranges(list, events.ranges, values.size()));
  for (const Range& range : events.ranges) list.entries[range.entry].data = values.data() + range.begin;
  return list;
}

}  // namespace tiffin::params
