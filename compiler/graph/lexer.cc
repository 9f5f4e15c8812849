// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/lexer.h"

#include <cstdarg>

namespace tiffin::graph {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_part(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

// -1 for a character that is no hexadecimal digit.
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 32);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

Status text_error(int line, int column, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Status failure = error_v(Code::InvalidModel, format, arguments);
  va_end(arguments);
  return std::move(failure).with_context("line %d, column %d", line, column);
}

void Lexer::skip_blank() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      advance();
    } else if (c == '#' || text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') advance();
    } else {
      return;
    }
  }
}

// Precondition: a quote stands at at_.
Status Lexer::read_string(std::string* out) {
  const int line = line_, column = column_;
  advance();
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    char c = text_[at_];
    advance();
    if (c == '\\' && at_ < text_.size()) {
      const char escape = text_[at_];
      const int high = at_ + 2 < text_.size() ? hex_digit(text_[at_ + 1]) : -1;
      const int low = high >= 0 ? hex_digit(text_[at_ + 2]) : -1;
      if (escape == 'x' && low >= 0) {
        c = static_cast<char>(high * 16 + low);
        advance();
        advance();
      } else if (escape == 'n') {
        c = '\n';
      } else if (escape == '"' || escape == '\\') {
        c = escape;
      } else {
        return text_error(line_, column_, "unknown escape '\\%c', expected \\\", \\\\, \\n or \\xHH", escape);
      }
      advance();
    }
    *out += c;
  }
  if (at_ == text_.size() || text_[at_] != '"') return text_error(line, column, "text that begins here has no closing quote");
  advance();
  return {};
}

Status Lexer::read_word(Token* token) {
  const char first = text_[at_];
  const bool is_negative = first == '-';
  const bool is_number = is_digit(first) || is_negative;
  token->kind = is_number ? TokenKind::Number : TokenKind::Word;
  token->text += first;
  advance();
  while (at_ < text_.size()) {
    const char c = text_[at_];
    // The sign of an exponent belongs to its number.
    const bool is_exponent_sign = is_number && (c == '-' || c == '+') && (token->text.back() | 32) == 'e';
    if (!is_word_part(c) && !is_exponent_sign) break;
    token->text += c;
    advance();
  }
  if (token->text == "_") token->kind = TokenKind::Mark;
  if (token->text == "inf" || token->text == "nan") token->kind = TokenKind::Number;
  return {};
}

Result<Token> Lexer::next() {
  skip_blank();
  Token token;
  token.line = line_;
  token.column = column_;
  if (at_ == text_.size()) return token;
  const char c = text_[at_];
  if (c == '"') {
    token.kind = TokenKind::String;
    TIFFIN_TRY(read_string(&token.text));
    return token;
  }
  if (c == '%') {
    token.kind = TokenKind::Value;
    advance();
    if (at_ < text_.size() && text_[at_] == '"') {
      TIFFIN_TRY(read_string(&token.text));
    } else {
      while (at_ < text_.size() && (is_word_part(text_[at_]) || text_[at_] == '-' || text_[at_] == '/') && text_.substr(at_, 2) != "//") {
        token.text += text_[at_];
        advance();
      }
    }
    if (token.text.empty()) return text_error(token.line, token.column, "a value without a name");
    return token;
  }
  if (is_letter(c) || is_digit(c) || c == '-') {
    TIFFIN_TRY(read_word(&token));
    return token;
  }
  if (std::string_view("{}()[],=:*").find(c) == std::string_view::npos) {
    return text_error(line_, column_, "unexpected character '%c'", static_cast<unsigned char>(c) >= 32 ? c : '?');
  }
  token.kind = TokenKind::Mark;
  token.text = c;
  advance();
  return token;
}

}  // namespace tiffin::graph
