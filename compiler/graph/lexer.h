// SPDX-License-Identifier: Apache-2.0
// The words of a graph's text form. Comments run from "//" or "#" to the end of the line.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tiffin::graph {

enum class TokenKind : uint8_t {
  End,
  Word,    // float32, MatMul, input
  Value,   // %name or %"odd name"; text is the name
  String,  // "text"; text is what it stands for
  Number,  // 1, -2.5e3, -inf
  Mark,    // one of { } ( ) [ ] , = : * _
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;
  int line = 1, column = 1;
};

// Not thread-safe. `text` must live as long as the lexer.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  // InvalidModel with line and column for characters that begin no word. After the last word: End, again and again.
  Result<Token> next();

 private:
  void skip_blank();
  void advance() {
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 0;
    }
    ++at_;
    ++column_;
  }
  Status read_string(std::string* out);
  Status read_word(Token* token);

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

// "line L, column C: …"
Status text_error(int line, int column, const char* format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace tiffin::graph
