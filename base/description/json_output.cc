// SPDX-License-Identifier: Apache-2.0
#include "base/description/json_output.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>

#include "base/array.h"
#include "base/rapidjson.h"
#include "base/utf8.h"

namespace tiffin {
namespace {

// The text with U+FFFD for every byte that is not UTF-8.
Status repair(std::string_view text, Array<char>& out, size_t* out_length) {
  if (!out.resize(text.size() * 3 + 1)) return error(Code::OutOfMemory, "no memory for a text of %zu bytes", text.size());
  size_t at = 0;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    memcpy(out.data() + at, length == 0 ? "\xEF\xBF\xBD" : text.data(), length == 0 ? 3 : length);
    at += length == 0 ? 3 : length;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  *out_length = at;
  return {};
}

}  // namespace

using Stream = rapidjson::FileWriteStream;
using Writer = rapidjson::Writer<Stream, rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::CrtAllocator>;

struct JsonOutput::State {
  FILE* file;
  Stream stream;
  Writer writer;
  State(FILE* output, char* buffer, size_t bytes) : file(output), stream(output, buffer, bytes), writer(stream) {}
};

JsonOutput::State& JsonOutput::state() { return *std::launder(reinterpret_cast<State*>(storage_)); }

JsonOutput::JsonOutput(FILE* stream) {
  static_assert(sizeof(State) <= sizeof storage_);
  new (storage_) State(stream, buffer_, sizeof buffer_);
}

JsonOutput::~JsonOutput() { state().~State(); }

void JsonOutput::write_key(const char* key) {
  if (key != nullptr) state().writer.Key(key);
}

void JsonOutput::begin_object(const char* key) {
  write_key(key);
  state().writer.StartObject();
}

void JsonOutput::end_object() { state().writer.EndObject(); }

void JsonOutput::begin_array(const char* key) {
  write_key(key);
  state().writer.StartArray();
}

void JsonOutput::end_array() { state().writer.EndArray(); }

void JsonOutput::text(const char* key, std::string_view value) {
  write_key(key);
  if (is_utf8(value)) {
    state().writer.String(value.data() == nullptr ? "" : value.data(), static_cast<rapidjson::SizeType>(value.size()));
    return;
  }
  Array<char> repaired;
  size_t length = 0;
  if (repair(value, repaired, &length).is_ok()) {
    state().writer.String(repaired.data(), static_cast<rapidjson::SizeType>(length));
  } else {
    state().writer.Null();
  }
}

void JsonOutput::number(const char* key, uint64_t value) {
  write_key(key);
  state().writer.Uint64(value);
}

void JsonOutput::integer(const char* key, int64_t value) {
  write_key(key);
  state().writer.Int64(value);
}

void JsonOutput::real(const char* key, double value) {
  write_key(key);
  if (std::isfinite(value)) {
    state().writer.Double(value);
  } else {
    state().writer.Null();
  }
}

void JsonOutput::boolean(const char* key, bool value) {
  write_key(key);
  state().writer.Bool(value);
}

void JsonOutput::null(const char* key) {
  write_key(key);
  state().writer.Null();
}

void JsonOutput::digest(const char* key, const Digest& value) { text(key, to_text(value).text); }

void JsonOutput::shape(const char* key, std::span<const int64_t> extents) {
  begin_array(key);
  for (const int64_t extent : extents) integer(nullptr, extent);
  end_array();
}

Status JsonOutput::finish() {
  state().stream.Put('\n');
  state().stream.Flush();
  if (fflush(state().file) != 0 || ferror(state().file) != 0) return error(Code::Io, "cannot write the output: %s", strerror(errno));
  return {};
}

}  // namespace tiffin
