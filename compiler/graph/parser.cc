// SPDX-License-Identifier: Apache-2.0
// A recursive-descent parser with one token of lookahead. Names are resolved as they are read: a value stands before its readers.
#include "compiler/graph/parser.h"

#include <charconv>
#include <optional>

#include "compiler/graph/lexer.h"
#include "compiler/graph/text_form.h"

namespace tiffin::graph {
namespace {

constexpr int kMaxDepth = 32;  // of bodies within bodies

class Parser {
 public:
  Parser(std::string_view text, uint64_t max_tensor_bytes) : lexer_(text), max_tensor_bytes_(max_tensor_bytes) {}

  Result<std::shared_ptr<Graph>> parse_whole() {
    TIFFIN_TRY(advance());
    TIFFIN_ASSIGN_OR_RETURN(std::shared_ptr<Graph> graph, parse_body(0));
    if (token_.kind != TokenKind::End) return unexpected("the end of the text");
    return graph;
  }

 private:
  // Words.
  Status advance() {
    TIFFIN_ASSIGN_OR_RETURN(token_, lexer_.next());
    return {};
  }
  bool is_mark(char c) const { return token_.kind == TokenKind::Mark && token_.text[0] == c; }
  bool is_word(std::string_view word) const { return token_.kind == TokenKind::Word && token_.text == word; }
  Status unexpected(const char* expected) const;
  Status expect_mark(char c);
  Status expect_word(std::string_view word);
  Status take(TokenKind kind, const char* expected, std::string* out);
  Result<int64_t> take_integer(const char* expected);

  // Grammar.
  Result<std::shared_ptr<Graph>> parse_body(int depth);
  Status parse_statement(Graph& graph, int depth);
  Status parse_source(Graph& graph, bool is_frozen);
  Status parse_output(Graph& graph);
  Status parse_node(Graph& graph, int depth);
  Status parse_results(Graph& graph, std::vector<std::string>* names);
  Status parse_operands(Graph& graph, std::vector<ValueId>* inputs);
  Status parse_attributes(Node* node, int depth);
  Result<Attribute> parse_attribute(int depth);
  Result<Attribute> parse_list();
  Result<Attribute> parse_empty_list();
  Result<Attribute> parse_number();
  Status parse_result_types(Graph& graph, const Node& node);
  Status parse_type(Type* out);
  Status parse_shape(Shape* out);
  Result<Tensor> parse_data(const Type& type);
  Status parse_elements(const Type& type, uint64_t size, std::vector<uint8_t>* out);
  Status parse_raw(std::vector<uint8_t>* out);
  Status define(const Graph& graph, const Token& token) const;

  Lexer lexer_;
  uint64_t max_tensor_bytes_;
  Token token_;
  std::vector<ValueId> outputs_;
  std::vector<std::string> output_names_;
};

Status Parser::unexpected(const char* expected) const {
  if (token_.kind == TokenKind::End) return text_error(token_.line, token_.column, "the text ends, expected %s", expected);
  return text_error(token_.line, token_.column, "'%s', expected %s", token_.text.c_str(), expected);
}

Status Parser::expect_mark(char c) {
  const char expected[] = {'\'', c, '\'', '\0'};
  return is_mark(c) ? advance() : unexpected(expected);
}

Status Parser::expect_word(std::string_view word) {
  const std::string expected = "'" + std::string(word) + "'";
  return is_word(word) ? advance() : unexpected(expected.c_str());
}

Status Parser::take(TokenKind kind, const char* expected, std::string* out) {
  if (token_.kind != kind) return unexpected(expected);
  *out = token_.text;
  return advance();
}

Result<int64_t> Parser::take_integer(const char* expected) {
  int64_t value = 0;
  const std::string& text = token_.text;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (token_.kind != TokenKind::Number || failure != std::errc() || end != text.data() + text.size()) return unexpected(expected);
  TIFFIN_TRY(advance());
  return value;
}

// graph "name" { statements }
Result<std::shared_ptr<Graph>> Parser::parse_body(int depth) {
  if (depth > kMaxDepth) return text_error(token_.line, token_.column, "bodies are nested more than %d deep", kMaxDepth);
  TIFFIN_TRY(expect_word("graph"));
  std::string name;
  TIFFIN_TRY(take(TokenKind::String, "the graph's name in quotes", &name));
  auto graph = std::make_shared<Graph>(name);
  TIFFIN_TRY(expect_mark('{'));
  const std::vector<ValueId> outer_outputs = std::exchange(outputs_, {});
  const std::vector<std::string> outer_names = std::exchange(output_names_, {});
  while (!is_mark('}')) {
    if (token_.kind == TokenKind::End) return unexpected("'}'");
    TIFFIN_TRY(parse_statement(*graph, depth));
  }
  graph->set_outputs(std::exchange(outputs_, outer_outputs));
  graph->set_output_names(std::exchange(output_names_, outer_names));
  TIFFIN_TRY(advance());
  return graph;
}

Status Parser::parse_statement(Graph& graph, int depth) {
  const bool is_result = token_.kind == TokenKind::Value || is_mark('_');
  if (is_result) return parse_node(graph, depth);
  if (is_word("output")) return parse_output(graph);
  const bool is_frozen = is_word("frozen");
  if (is_frozen) TIFFIN_TRY(advance());
  return parse_source(graph, is_frozen);
}

// Fails when the name is taken: the graph would rename the value.
Status Parser::define(const Graph& graph, const Token& token) const {
  if (graph.find_value(token.text) == kNone) return {};
  return text_error(token.line, token.column, "the name '%s' stands for another value already", token.text.c_str());
}

// input %x: T    outer %x: T    parameter %w: T = data    constant %c: T = data
Status Parser::parse_source(Graph& graph, bool is_frozen) {
  std::string kind;
  TIFFIN_TRY(take(TokenKind::Word, "'input', 'parameter', 'constant', 'outer', 'output' or a result", &kind));
  const bool has_data = kind == "parameter" || kind == "constant";
  if (!has_data && (is_frozen || (kind != "input" && kind != "outer"))) {
    return text_error(token_.line, token_.column, "'%s' begins no statement, expected input, parameter, constant, outer, output or a result",
                      kind.c_str());
  }
  const Token name = token_;
  if (name.kind != TokenKind::Value) return unexpected("a value's name");
  TIFFIN_TRY(define(graph, name));
  TIFFIN_TRY(advance());
  TIFFIN_TRY(expect_mark(':'));
  Type type;
  TIFFIN_TRY(parse_type(&type));
  if (kind == "input") {
    graph.add_input(name.text, std::move(type));
  } else if (kind == "outer") {
    graph.add_outer(name.text, std::move(type));
  } else {
    TIFFIN_TRY(expect_mark('='));
    TIFFIN_ASSIGN_OR_RETURN(Tensor tensor, parse_data(type));
    const ValueId id = kind == "parameter" ? graph.add_parameter(name.text, std::move(tensor)) : graph.add_constant(name.text, std::move(tensor));
    graph.value(id).is_frozen = is_frozen;
  }
  return {};
}

// output %y    output %y as "name"
Status Parser::parse_output(Graph& graph) {
  TIFFIN_TRY(advance());
  if (token_.kind != TokenKind::Value) return unexpected("a value's name");
  const ValueId id = graph.find_value(token_.text);
  if (id == kNone) return text_error(token_.line, token_.column, "no value '%s' stands before this", token_.text.c_str());
  std::string name = token_.text;
  TIFFIN_TRY(advance());
  if (is_word("as")) {
    TIFFIN_TRY(advance());
    TIFFIN_TRY(take(TokenKind::String, "the output's name in quotes", &name));
  }
  outputs_.push_back(id);
  output_names_.push_back(std::move(name));
  return {};
}

Status Parser::parse_results(Graph& graph, std::vector<std::string>* names) {
  while (true) {
    if (token_.kind == TokenKind::Value) {
      TIFFIN_TRY(define(graph, token_));
      for (const std::string& other : *names) {
        if (other == token_.text) return text_error(token_.line, token_.column, "the node has two results '%s'", other.c_str());
      }
      names->push_back(token_.text);
    } else if (is_mark('_')) {
      names->emplace_back();
    } else {
      return unexpected("a result's name or '_'");
    }
    TIFFIN_TRY(advance());
    if (!is_mark(',')) return expect_mark('=');
    TIFFIN_TRY(advance());
  }
}

Status Parser::parse_operands(Graph& graph, std::vector<ValueId>* inputs) {
  TIFFIN_TRY(expect_mark('('));
  while (!is_mark(')')) {
    ValueId id = kNone;
    if (token_.kind == TokenKind::Value) {
      id = graph.find_value(token_.text);
      if (id == kNone) return text_error(token_.line, token_.column, "no value '%s' stands before this", token_.text.c_str());
    } else if (!is_mark('_')) {
      return unexpected("an operand's name or '_'");
    }
    inputs->push_back(id);
    TIFFIN_TRY(advance());
    if (is_mark(')')) break;
    TIFFIN_TRY(expect_mark(','));
  }
  return advance();
}

// %y, _ = Op(%a, _, %b) {name="n", key=value} : (T, _)
Status Parser::parse_node(Graph& graph, int depth) {
  std::vector<std::string> names;
  TIFFIN_TRY(parse_results(graph, &names));
  Op op{};
  if (token_.kind != TokenKind::Word || !parse_op(token_.text, &op)) return unexpected("an operator");
  TIFFIN_TRY(advance());
  Node draft;
  TIFFIN_TRY(parse_operands(graph, &draft.inputs));
  if (is_mark('{')) TIFFIN_TRY(parse_attributes(&draft, depth));
  const NodeId id = graph.add_node_with_results(op, draft.name, std::move(draft.inputs), names, std::move(draft.attributes));
  Node& node = graph.node(id);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) continue;
    graph.erase_value(node.outputs[i]);
    node.outputs[i] = kNone;
  }
  return is_mark(':') ? parse_result_types(graph, node) : Status();
}

Status Parser::parse_result_types(Graph& graph, const Node& node) {
  TIFFIN_TRY(advance());
  const bool is_list = is_mark('(');
  if (is_list) TIFFIN_TRY(advance());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (i > 0) TIFFIN_TRY(expect_mark(','));
    if (is_mark('_')) {
      TIFFIN_TRY(advance());
      continue;
    }
    Type type;
    TIFFIN_TRY(parse_type(&type));
    if (node.outputs[i] != kNone) graph.value(node.outputs[i]).type = std::move(type);
  }
  return is_list ? expect_mark(')') : Status();
}

Status Parser::parse_attributes(Node* node, int depth) {
  TIFFIN_TRY(advance());
  while (!is_mark('}')) {
    const Token key = token_;
    if (key.kind != TokenKind::Word && key.kind != TokenKind::String) return unexpected("an attribute's name");
    TIFFIN_TRY(advance());
    TIFFIN_TRY(expect_mark('='));
    if (key.kind == TokenKind::Word && key.text == "name") {
      TIFFIN_TRY(take(TokenKind::String, "the node's name in quotes", &node->name));
    } else {
      TIFFIN_ASSIGN_OR_RETURN(Attribute attribute, parse_attribute(depth));
      if (!node->attributes.emplace(key.text, std::move(attribute)).second) {
        return text_error(key.line, key.column, "attribute '%s' stands twice", key.text.c_str());
      }
    }
    if (is_mark('}')) break;
    TIFFIN_TRY(expect_mark(','));
  }
  return advance();
}

Result<Attribute> Parser::parse_attribute(int depth) {
  if (token_.kind == TokenKind::Number) return parse_number();
  if (is_mark('[')) return parse_list();
  if (is_word("ints") || is_word("floats") || is_word("strings")) return parse_empty_list();
  if (token_.kind == TokenKind::String) {
    std::string text;
    TIFFIN_TRY(take(TokenKind::String, "text", &text));
    return Attribute(std::move(text));
  }
  if (is_word("graph")) {
    TIFFIN_ASSIGN_OR_RETURN(std::shared_ptr<Graph> body, parse_body(depth + 1));
    return Attribute(std::move(body));
  }
  Type type;
  TIFFIN_TRY(parse_type(&type));
  TIFFIN_TRY(expect_mark('='));
  TIFFIN_ASSIGN_OR_RETURN(Tensor tensor, parse_data(type));
  return Attribute(std::move(tensor));
}

// A number with a point, an exponent or a name is a float.
Result<Attribute> Parser::parse_number() {
  const std::string& text = token_.text;
  if (text.find_first_of(".eEn") == std::string::npos) {
    TIFFIN_ASSIGN_OR_RETURN(const int64_t value, take_integer("a number that an int64 holds"));
    return Attribute(value);
  }
  std::vector<uint8_t> bytes;
  if (!append_number(DType::Float64, text, &bytes)) return unexpected("a number");
  double value = 0;
  memcpy(&value, bytes.data(), sizeof(value));
  TIFFIN_TRY(advance());
  return Attribute(value);
}

Result<Attribute> Parser::parse_empty_list() {
  const std::string kind = token_.text;
  TIFFIN_TRY(advance());
  TIFFIN_TRY(expect_mark('['));
  TIFFIN_TRY(expect_mark(']'));
  if (kind == "ints") return Attribute(std::vector<int64_t>{});
  return kind == "floats" ? Attribute(std::vector<double>{}) : Attribute(std::vector<std::string>{});
}

Result<Attribute> Parser::parse_list() {
  const Token begin = token_;
  TIFFIN_TRY(advance());
  std::vector<int64_t> integers;
  std::vector<double> floats;
  std::vector<std::string> strings;
  size_t count = 0;
  for (bool is_first = true; !is_mark(']'); is_first = false, ++count) {
    if (!is_first) TIFFIN_TRY(expect_mark(','));
    if (token_.kind == TokenKind::String) {
      strings.push_back(token_.text);
      TIFFIN_TRY(advance());
    } else if (token_.kind == TokenKind::Number) {
      TIFFIN_ASSIGN_OR_RETURN(const Attribute number, parse_number());
      if (const auto* value = std::get_if<int64_t>(&number)) integers.push_back(*value);
      if (const auto* value = std::get_if<double>(&number)) floats.push_back(*value);
    } else {
      return unexpected("a number or text");
    }
  }
  TIFFIN_TRY(advance());
  if (count > 0 && integers.size() == count) return Attribute(std::move(integers));
  if (count > 0 && floats.size() == count) return Attribute(std::move(floats));
  if (count > 0 && strings.size() == count) return Attribute(std::move(strings));
  if (count == 0) return text_error(begin.line, begin.column, "an empty list has no kind, expected ints[], floats[] or strings[]");
  return text_error(begin.line, begin.column, "the list mixes integers, floats and texts, expected one of them");
}

// float32[1,batch,"?odd"]    float32[*]
Status Parser::parse_type(Type* out) {
  if (token_.kind != TokenKind::Word) return unexpected("a type");
  out->dtype = parse_dtype(token_.text);
  if (out->dtype == DType::Undefined && token_.text != "undefined") return unexpected("a type");
  TIFFIN_TRY(advance());
  TIFFIN_TRY(expect_mark('['));
  if (is_mark('*')) {
    TIFFIN_TRY(advance());
    return expect_mark(']');
  }
  Shape shape;
  TIFFIN_TRY(parse_shape(&shape));
  out->shape = std::move(shape);
  return {};
}

Status Parser::parse_shape(Shape* out) {
  while (!is_mark(']')) {
    if (!out->empty()) TIFFIN_TRY(expect_mark(','));
    if (token_.kind == TokenKind::Word || (token_.kind == TokenKind::String && !token_.text.empty())) {
      out->push_back(Dim::symbol(token_.text));
      TIFFIN_TRY(advance());
      continue;
    }
    const Token number = token_;
    TIFFIN_ASSIGN_OR_RETURN(const int64_t extent, take_integer("a dimension"));
    if (extent < 0) return text_error(number.line, number.column, "dimension %s, expected 0 or more", number.text.c_str());
    out->emplace_back(extent);
  }
  return advance();
}

// fill(v)    random(seed)    [v, v]    raw("hex")
Result<Tensor> Parser::parse_data(const Type& type) {
  const Token begin = token_;
  if (!type.has_static_shape())
    return text_error(begin.line, begin.column, "a tensor of type %s, expected numbers for all dimensions", to_string(type).c_str());
  const int64_t count = type.num_elements();
  uint64_t size = 0;
  if (count < 0 || !storage_bytes(type.dtype, static_cast<uint64_t>(count), &size) || size > max_tensor_bytes_) {
    return text_error(begin.line, begin.column, "a tensor of type %s, which text cannot hold", to_string(type).c_str());
  }
  std::vector<uint8_t> bytes;
  TIFFIN_TRY(parse_elements(type, size, &bytes));
  if (bytes.size() == size) return Tensor(type.dtype, type.static_shape(), std::move(bytes));
  return text_error(begin.line, begin.column, "the data has %zu bytes, expected %llu for %s", bytes.size(), static_cast<unsigned long long>(size),
                    to_string(type).c_str());
}

Status Parser::parse_elements(const Type& type, uint64_t size, std::vector<uint8_t>* out) {
  const auto append = [&]() -> Status {
    if (token_.kind != TokenKind::Number || !append_number(type.dtype, token_.text, out)) {
      return unexpected(("a number that is a " + std::string(dtype_name(type.dtype))).c_str());
    }
    return advance();
  };
  if (is_mark('[')) {
    TIFFIN_TRY(advance());
    for (bool is_first = true; !is_mark(']'); is_first = false) {
      if (!is_first) TIFFIN_TRY(expect_mark(','));
      TIFFIN_TRY(append());
    }
    return advance();
  }
  const std::string form = token_.kind == TokenKind::Word ? token_.text : "";
  if (form != "fill" && form != "random" && form != "raw") return unexpected("fill(…), random(…), raw(…) or a list of elements");
  TIFFIN_TRY(advance());
  TIFFIN_TRY(expect_mark('('));
  if (form == "raw") TIFFIN_TRY(parse_raw(out));
  if (form == "fill") {
    TIFFIN_TRY(append());
    const std::vector<uint8_t> element = *out;
    out->resize(size);
    for (size_t i = 0; i < out->size(); ++i) (*out)[i] = element[i % element.size()];
  }
  if (form == "random") {
    const Token seed_token = token_;
    TIFFIN_ASSIGN_OR_RETURN(const int64_t seed, take_integer("a seed"));
    if (!append_random(type.dtype, static_cast<uint64_t>(seed), type.num_elements(), out)) {
      return text_error(seed_token.line, seed_token.column, "random elements of type %s are not defined",
                        std::string(dtype_name(type.dtype)).c_str());
    }
  }
  return expect_mark(')');
}

Status Parser::parse_raw(std::vector<uint8_t>* out) {
  const Token digits = token_;
  std::string text;
  TIFFIN_TRY(take(TokenKind::String, "hexadecimal digits in quotes", &text));
  out->reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t byte = 0;
    const char* first = text.data() + i;
    const char* last = i + 1 < text.size() ? first + 2 : first;
    const auto [end, failure] = std::from_chars(first, last, byte, 16);
    if (failure != std::errc() || end != first + 2) {
      return text_error(digits.line, digits.column, "byte %zu of the raw data is no pair of hexadecimal digits", i / 2);
    }
    out->push_back(byte);
  }
  return {};
}

}  // namespace

Result<Graph> parse_graph(std::string_view text, uint64_t max_tensor_bytes) {
  TIFFIN_ASSIGN_OR_RETURN(std::shared_ptr<Graph> graph, Parser(text, max_tensor_bytes).parse_whole());
  return std::move(*graph);
}

}  // namespace tiffin::graph
