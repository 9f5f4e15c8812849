// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/read_model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "compiler/graph/parser.h"
#include "compiler/graph/verifier.h"
#include "compiler/ops/infer.h"

namespace tiffin::driver {
namespace {

// True when the first word, behind blanks and comments, is "graph". No ONNX file begins so: 'g' and '/' are no tags of protobuf.
bool is_text(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n", kWord = "graph";
  while (true) {
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return false;
    text.remove_prefix(begin);
    if (!text.starts_with("//")) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return text.starts_with(kWord) && text.size() > kWord.size() && kBlanks.find(text[kWord.size()]) != std::string_view::npos;
}

// "'n' of 'x', 'm' of 'x'"
std::string open_dims(const graph::Graph& graph) {
  std::string list;
  for (const graph::ValueId id : graph.inputs()) {
    const graph::Value& input = graph.value(id);
    for (const graph::Dim& dim : input.type.shape.value_or(graph::Shape{})) {
      if (!dim.is_static()) list += (list.empty() ? "'" : ", '") + dim.symbol_name() + "' of '" + input.name + "'";
    }
    if (!input.type.has_rank()) list += (list.empty() ? "" : ", ") + std::string("the rank of '") + input.name + "'";
  }
  return list;
}

Result<import::ImportedModel> parse_model(const std::string& path, const std::string& text, const import::ImportOptions& options) {
  if (!options.dims.empty() || !options.input_shapes.empty()) {
    return error(Code::InvalidArgument,
                 "'%s' is a graph as text, which says its shapes itself; sizes of dimensions and shapes of inputs are for ONNX", path.c_str())
        .with_remedy("write the sizes into the text");
  }
  Result<graph::Graph> graph = graph::parse_graph(text);
  if (!graph.has_value()) return graph.take_error().with_context("'%s'", path.c_str());
  TIFFIN_TRY(graph::verify_graph(*graph));
  TIFFIN_TRY(ops::infer_declared_types(*graph));
  const Status closed = import::check_open_dims(*graph);
  if (closed.code() == Code::OpenShape) {
    return error(Code::OpenShape, "'%s' leaves dimensions of its inputs open, which have to be numbers in a graph as text: %s", path.c_str(),
                 open_dims(*graph).c_str())
        .with_remedy("write the sizes into the text");
  }
  if (!closed.is_ok()) return closed.clone();
  return import::ImportedModel{std::move(*graph), {}};
}

}  // namespace

Result<import::ImportedModel> read_model(const std::string& path, const import::ImportOptions& options) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return import::import_onnx(path, options);  // which says what is wrong
  // Comments at the beginning of a text may be long, a model's first bytes are enough.
  constexpr size_t kLookedAt = 4096;
  std::ifstream file(path, std::ios::binary);
  std::string text(kLookedAt, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (is_text(text)) {
    file.clear();
    std::ostringstream rest;
    if (file.peek() != std::ifstream::traits_type::eof()) rest << file.rdbuf();
    return parse_model(path, text + rest.str(), options);
  }
  TIFFIN_ASSIGN_OR_RETURN(import::ImportedModel model, import::import_onnx(path, options));
  TIFFIN_TRY(import::check_open_dims(model.graph));
  return model;
}

}  // namespace tiffin::driver
