// SPDX-License-Identifier: Apache-2.0
// The parser of a .npy header's dictionary, a small subset of Python's literals.
#include <cctype>
#include <cstring>

#include "tools/commands/npy.h"

namespace tiffin::tools {
namespace {

struct Cursor {
  const char* at;
  const char* end;

  void skip_space() {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
  }
  bool take(char wanted) {
    skip_space();
    if (at == end || *at != wanted) return false;
    ++at;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (static_cast<size_t>(end - at) < word.size() || memcmp(at, word.data(), word.size()) != 0) return false;
    at += word.size();
    return true;
  }
  // A quoted text without escapes; false when there is none.
  bool take_text(std::string_view* out) {
    skip_space();
    if (at == end || (*at != '\'' && *at != '"')) return false;
    const char quote = *at++;
    const char* begin = at;
    while (at < end && *at != quote && *at != '\\') ++at;
    if (at == end || *at != quote) return false;
    *out = {begin, static_cast<size_t>(at - begin)};
    ++at;
    return true;
  }
};

Status malformed(const char* what) { return error(Code::InvalidInput, "the .npy header is malformed at %s", what); }

// Decimal digits of the whole text; -1 when it is something else or too large.
int64_t parse_number(std::string_view text) {
  if (text.empty()) return -1;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value)) return -1;
  }
  return value;
}

struct KindRow {
  char kind;
  int item_bytes;
  DType dtype;
};

constexpr KindRow kKinds[] = {
    {'f', 2, DType::Float16}, {'f', 4, DType::Float32}, {'f', 8, DType::Float64},   {'i', 1, DType::Int8},        {'i', 2, DType::Int16},
    {'i', 4, DType::Int32},   {'i', 8, DType::Int64},   {'u', 1, DType::UInt8},     {'u', 2, DType::UInt16},      {'u', 4, DType::UInt32},
    {'u', 8, DType::UInt64},  {'b', 1, DType::Bool},    {'c', 8, DType::Complex64}, {'c', 16, DType::Complex128},
};

Status parse_descr(std::string_view descr, NpyHeader* header) {
  const int shown = static_cast<int>(descr.size() < 40 ? descr.size() : 40);
  std::string_view rest = descr;
  char order = '=';
  if (!rest.empty() && strchr("<>|=", rest[0]) != nullptr) {
    order = rest[0];
    rest.remove_prefix(1);
  }
  const char kind = rest.empty() ? '?' : rest[0];
  if (kind == 'O') return error(Code::InvalidInput, "the array holds Python objects ('%.*s'), numbers are expected", shown, descr.data());
  if (!rest.empty()) rest.remove_prefix(1);
  const int64_t size = parse_number(rest);
  if (kind == 'V' && (size == 1 || size == 2)) {
    header->item_bytes = static_cast<int>(size);
    return {};
  }
  for (const KindRow& row : kKinds) {
    if (row.kind != kind || row.item_bytes != size) continue;
    header->dtype = row.dtype;
    header->item_bytes = row.item_bytes;
    header->is_big_endian = order == '>' && row.item_bytes > 1;
    return {};
  }
  return error(Code::InvalidInput, "element type '%.*s' is not supported; numbers, bool and raw |V1 or |V2 are", shown, descr.data());
}

Status parse_shape(Cursor& cursor, NpyHeader* header) {
  if (!cursor.take('(')) return malformed("'shape'");
  while (!cursor.take(')')) {
    const char* begin = cursor.at;
    while (cursor.at < cursor.end && isdigit(static_cast<unsigned char>(*cursor.at)) != 0) ++cursor.at;
    const std::string_view digits(begin, static_cast<size_t>(cursor.at - begin));
    const int64_t extent = parse_number(digits);
    if (extent < 0) return malformed(digits.empty() ? "'shape'" : "'shape': a dimension overflows 64 bits");
    if (header->rank == kMaxRank) return error(Code::InvalidInput, "the array has more than %d dimensions", kMaxRank);
    header->shape[header->rank++] = extent;
    cursor.take_word("L");  // Python 2 wrote long integers so
    if (cursor.take(',')) {
      cursor.skip_space();
      continue;
    }
    if (cursor.take(')')) break;
    return malformed("'shape'");
  }
  return {};
}

Status parse_field(Cursor& cursor, std::string_view key, NpyHeader* header, unsigned* seen) {
  if (key == "descr") {
    std::string_view descr;
    if (cursor.take('[')) return error(Code::InvalidInput, "the array has a structured element type, plain numbers are expected");
    if (!cursor.take_text(&descr)) return malformed("'descr'");
    *seen |= 1;
    return parse_descr(descr, header);
  }
  if (key == "fortran_order") {
    header->is_fortran_order = cursor.take_word("True");
    if (!header->is_fortran_order && !cursor.take_word("False")) return malformed("'fortran_order'");
    *seen |= 2;
    return {};
  }
  if (key == "shape") {
    *seen |= 4;
    header->rank = 0;
    cursor.skip_space();
    return parse_shape(cursor, header);
  }
  return error(Code::InvalidInput, "the .npy header has an unknown key '%.*s'", static_cast<int>(key.size()), key.data());
}

}  // namespace

Result<NpyHeader> parse_npy_header(const char* text, size_t length) {
  NpyHeader header;
  Cursor cursor{text, text + length};
  unsigned seen = 0;
  if (!cursor.take('{')) return malformed("its beginning");
  while (!cursor.take('}')) {
    std::string_view key;
    if (!cursor.take_text(&key) || !cursor.take(':')) return malformed("a key");
    const unsigned before = seen;
    TIFFIN_TRY(parse_field(cursor, key, &header, &seen));
    if (seen == before) return error(Code::InvalidInput, "the .npy header has the key '%.*s' twice", static_cast<int>(key.size()), key.data());
    if (cursor.take(',')) continue;
    if (cursor.take('}')) break;
    return malformed("its end");
  }
  cursor.skip_space();
  if (cursor.at != cursor.end) return malformed("its end");
  if (seen != 7) return error(Code::InvalidInput, "the .npy header lacks one of 'descr', 'fortran_order' and 'shape'");
  return header;
}

}  // namespace tiffin::tools
