// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/einsum_rule.h"

#include <algorithm>
#include <map>

#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Graph;
using graph::Node;

// Letters stand for themselves; axis k of the ellipsis, counted from its right end, is kEllipsis + k.
using Term = std::vector<int>;
constexpr int kEllipsis = 256;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Status equation_error(const Graph& graph, const Node& node, const char* why) {
  return node_error(Code::InvalidModel, graph, node, "equation '%s' %s (einsum.c1)", node.string_attribute("equation", "").c_str(), why);
}

// One term as letters, with `ellipsis_rank` axes in place of "..."; `out_has_ellipsis` tells whether there was one.
Result<Term> parse_term(const Graph& graph, const Node& node, std::string_view text, int ellipsis_rank, bool* out_has_ellipsis) {
  Term term;
  *out_has_ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      term.push_back(text[i]);
    } else if (text.substr(i, 3) == "..." && !*out_has_ellipsis) {
      *out_has_ellipsis = true;
      for (int axis = ellipsis_rank; axis-- > 0;) term.push_back(kEllipsis + axis);
      i += 2;
    } else {
      return equation_error(graph, node, "has a term that is not letters with at most one '...'");
    }
  }
  return term;
}

struct Equation {
  std::vector<std::string> operands;
  std::string result;
  bool has_result = false;
};

Equation split_equation(const Node& node) {
  std::string text = node.string_attribute("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation equation;
  const size_t arrow = text.find("->");
  equation.has_result = arrow != std::string::npos;
  if (equation.has_result) equation.result = text.substr(arrow + 2);
  std::string left = text.substr(0, arrow);
  for (size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',')) {
    equation.operands.push_back(left.substr(0, comma));
    left.erase(0, comma + 1);
  }
  equation.operands.push_back(left);
  return equation;
}

// Terms of all operands; the ellipsis has as many axes as the longest one needs.
Result<std::vector<Term>> parse_operands(const Graph& graph, const Node& node, const Equation& equation, int* out_ellipsis_rank) {
  std::vector<Term> terms;
  *out_ellipsis_rank = 0;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    const graph::Type& type = graph.value(node.inputs[i]).type;
    const auto rank = static_cast<int>(type.rank());
    bool has_ellipsis = false;
    TIFFIN_ASSIGN_OR_RETURN(Term letters, parse_term(graph, node, equation.operands[i], 0, &has_ellipsis));
    const int rest = rank - static_cast<int>(letters.size());
    if (rest < 0 || (rest > 0 && !has_ellipsis)) {
      return node_error(Code::ShapeMismatch, graph, node, "term '%s' does not fit input %zu, %s (einsum.c2)", equation.operands[i].c_str(), i,
                        graph::to_string(type).c_str());
    }
    if (has_ellipsis) {
      TIFFIN_ASSIGN_OR_RETURN(letters, parse_term(graph, node, equation.operands[i], rest, &has_ellipsis));
      *out_ellipsis_rank = std::max(*out_ellipsis_rank, rest);
    }
    terms.push_back(std::move(letters));
  }
  return terms;
}

// Implicit form: the ellipsis, then the letters that occur once, in the order of their codes.
Term implicit_result(const std::vector<Term>& operands, int ellipsis_rank) {
  std::map<int, int> counts;
  for (const Term& term : operands) {
    for (const int label : term) ++counts[label];
  }
  Term result;
  for (int axis = ellipsis_rank; axis-- > 0;) result.push_back(kEllipsis + axis);
  for (const auto& [label, count] : counts) {
    if (label < kEllipsis && count == 1) result.push_back(label);
  }
  return result;
}

Status check_result(const Graph& graph, const Node& node, const Term& result, const std::vector<Term>& operands) {
  for (size_t i = 0; i < result.size(); ++i) {
    const bool is_repeated =
        std::find(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(i), result[i]) != result.begin() + static_cast<std::ptrdiff_t>(i);
    const bool is_known =
        std::any_of(operands.begin(), operands.end(), [&](const Term& t) { return std::find(t.begin(), t.end(), result[i]) != t.end(); });
    if (is_repeated) return equation_error(graph, node, "repeats a letter in its result");
    if (!is_known && result[i] < kEllipsis) return equation_error(graph, node, "has a letter in its result that no operand has");
  }
  return {};
}

Status merge_extent(const Graph& graph, const Node& node, const graph::Dim& dim, bool broadcasts, int64_t* extent) {
  if (!dim.is_static()) return {};
  if (*extent == -1 || *extent == dim.value()) return *extent = dim.value(), Status();
  if (broadcasts && *extent == 1) return *extent = dim.value(), Status();
  if (broadcasts && dim.value() == 1) return {};
  return node_error(Code::ShapeMismatch, graph, node, "equation '%s' pairs extents %lld and %lld (einsum.c3)",
                    node.string_attribute("equation", "").c_str(), static_cast<long long>(*extent), static_cast<long long>(dim.value()));
}

// True when a dimension of the label is open: a known 1 then says nothing of the broadcast extent.
void find_extents(const Graph& graph, const Node& node, const Einsum& einsum, std::vector<char>* has_open) {
  has_open->assign(static_cast<size_t>(einsum.label_count), 0);
  for (size_t i = 0; i < einsum.operands.size(); ++i) {
    const graph::Shape& shape = *graph.value(node.inputs[i]).type.shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (!shape[axis].is_static()) (*has_open)[static_cast<size_t>(einsum.operands[i][axis])] = 1;
    }
  }
}

}  // namespace

Result<Einsum> einsum_of(const Graph& graph, const Node& node) {
  const Equation equation = split_equation(node);
  if (equation.operands.size() != node.inputs.size()) return equation_error(graph, node, "does not have one term for each input");
  int ellipsis_rank = 0;
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<Term> terms, parse_operands(graph, node, equation, &ellipsis_rank));
  Term result = implicit_result(terms, ellipsis_rank);
  if (equation.has_result) {
    bool has_ellipsis = false;
    TIFFIN_ASSIGN_OR_RETURN(result, parse_term(graph, node, equation.result, ellipsis_rank, &has_ellipsis));
  }
  TIFFIN_TRY(check_result(graph, node, result, terms));
  Einsum einsum;
  einsum.result_rank = static_cast<int>(result.size());
  std::map<int, int> numbers;
  for (const int label : result) numbers.emplace(label, static_cast<int>(numbers.size()));
  std::vector<char> broadcasts;
  for (const Term& term : terms) {
    for (const int label : term) numbers.emplace(label, static_cast<int>(numbers.size()));
  }
  einsum.label_count = static_cast<int>(numbers.size());
  einsum.extents.assign(numbers.size(), -1);
  for (size_t i = 0; i < terms.size(); ++i) {
    std::vector<int>& labels = einsum.operands.emplace_back();
    const graph::Shape& shape = *graph.value(node.inputs[i]).type.shape;
    for (size_t axis = 0; axis < terms[i].size(); ++axis) {
      labels.push_back(numbers[terms[i][axis]]);
      TIFFIN_TRY(merge_extent(graph, node, shape[axis], true, &einsum.extents[static_cast<size_t>(labels.back())]));
    }
  }
  find_extents(graph, node, einsum, &broadcasts);
  for (size_t label = 0; label < einsum.extents.size(); ++label) {
    if (broadcasts[label] != 0 && einsum.extents[label] == 1) einsum.extents[label] = -1;
  }
  return einsum;
}

}  // namespace tiffin::ops
