// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cinttypes>
#include <cstring>

#include "base/description/describe.h"
#include "base/dtype.h"

namespace tiffin {
namespace {

struct Identifier {
  char text[64];
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Letters and digits of `name`, other bytes as '_'; an 'n' goes before what does not begin with a letter.
Identifier to_identifier(const char* name) {
  Identifier out{};
  size_t at = 0;
  if (!is_letter(name[0])) out.text[at++] = 'n';
  for (; *name != 0 && at + 1 < sizeof(out.text); ++name) out.text[at++] = is_letter(*name) || is_digit(*name) ? *name : '_';
  return out;
}

Identifier to_upper(Identifier identifier) {
  for (char& c : identifier.text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return identifier;
}

// The name as a C string literal: what is not plain ASCII, and '"', '\\' and '?', as octal escapes.
void write_literal(FILE* stream, const char* name) {
  fputc('"', stream);
  for (; *name != 0; ++name) {
    const auto byte = static_cast<unsigned char>(*name);
    const bool is_plain = byte >= ' ' && byte < 0x7F && byte != '"' && byte != '\\' && byte != '?';
    if (is_plain) {
      fputc(byte, stream);
    } else {
      fprintf(stream, "\\%03o", byte);
    }
  }
  fputc('"', stream);
}

// #define NET_INPUT_0_NAME "data", …_DTYPE "float32", …_RANK 2, …_SHAPE {1, 64}
void write_value(FILE* stream, const char* net, const char* kind, uint32_t index, const abi::Value& value) {
  const std::string_view dtype = dtype_name(static_cast<DType>(value.dtype()));
  fprintf(stream, "#define %s_%s_%u_NAME ", net, kind, index);
  write_literal(stream, value.name()->c_str());
  fprintf(stream, "\n#define %s_%s_%u_DTYPE \"%.*s\"\n", net, kind, index, static_cast<int>(dtype.size()), dtype.data());
  fprintf(stream, "#define %s_%s_%u_RANK %u\n#define %s_%s_%u_SHAPE {", net, kind, index, value.shape()->size(), net, kind, index);
  for (uint32_t axis = 0; axis < value.shape()->size(); ++axis) fprintf(stream, "%s%" PRId64, axis == 0 ? "" : ", ", value.shape()->Get(axis));
  fprintf(stream, "}\n");
}

}  // namespace

void header_file_name(const abi::Manifest& manifest, char (&out)[80]) {
  snprintf(out, sizeof(out), "%s.h", to_identifier(manifest.model_name()->c_str()).text);
}

Status write_c_header(FILE* stream, const ArtifactTables& tables) {
  const Identifier net = to_upper(to_identifier(tables.manifest->model_name()->c_str()));
  fprintf(
      stream,
      "/* The inputs and outputs of a compiled network, written by tiffin %s. A shape of -1 is open. */\n#ifndef %s_TIFFIN_H\n#define %s_TIFFIN_H\n",
      tables.manifest->producer_version()->c_str(), net.text, net.text);
  for (const abi::Entry* entry : *tables.program->variants()->Get(0)->entries()) {
    fprintf(stream, "#define %s_FUNCTION ", net.text);
    write_literal(stream, entry->name()->c_str());
    fprintf(stream, "\n#define %s_INPUT_COUNT %u\n#define %s_OUTPUT_COUNT %u\n", net.text, entry->inputs()->size(), net.text,
            entry->outputs()->size());
    for (uint32_t i = 0; i < entry->inputs()->size(); ++i) write_value(stream, net.text, "INPUT", i, *entry->inputs()->Get(i));
    for (uint32_t i = 0; i < entry->outputs()->size(); ++i) write_value(stream, net.text, "OUTPUT", i, *entry->outputs()->Get(i));
    break;  // an artifact has one function so far
  }
  fprintf(stream, "#endif\n");
  if (fflush(stream) != 0 || ferror(stream) != 0) return error(Code::Io, "cannot write a header: %s", strerror(errno));
  return {};
}

}  // namespace tiffin
