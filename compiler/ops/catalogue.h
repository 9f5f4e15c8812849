// SPDX-License-Identifier: Apache-2.0
// The operator catalogue: one row for every graph::Op with its arity, attributes, element types and inference rule. Everything that asks
// "what may stand here" reads this table.
#pragma once

#include <span>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

enum class AttributeKind : uint8_t { Int, Float, String, Ints, Floats, Strings, Tensor, Graph };

struct AttributeRow {
  const char* name = nullptr;
  AttributeKind kind = AttributeKind::Int;
  bool is_required = false;
};

// Bit 1 << dtype of each member.
using DTypeSet = uint32_t;
constexpr DTypeSet set_of(DType dtype) { return DTypeSet{1} << static_cast<uint8_t>(dtype); }
constexpr bool contains(DTypeSet set, DType dtype) { return (set & set_of(dtype)) != 0; }

// What an input may be. Inputs whose binding is the same letter have the same dtype; 0 binds nothing.
struct InputRow {
  DTypeSet allowed = 0;
  char binding = 0;
};

class Inference;

struct OperatorRow {
  static constexpr size_t kMaxAttributes = 10;
  static constexpr size_t kMaxInputRows = 9;

  graph::Op op;
  int16_t min_inputs, max_inputs;      // max -1: any number
  int16_t min_outputs, max_outputs;    // likewise
  Status (*infer)(Inference&);         // sets the types of the results
  InputRow input_rows[kMaxInputRows];  // the last one with a set serves all further inputs
  AttributeRow attribute_rows[kMaxAttributes];
  bool is_composite = false;  // no kernel and no reference of its own: a pass rewrites it into other operators

  std::span<const AttributeRow> attributes() const;
  const AttributeRow* find_attribute(std::string_view name) const;  // null when the operator has none of that name
  InputRow input_row(size_t index) const;
};

const OperatorRow& operator_row(graph::Op op);

// "float32", "int64", … of a set, comma-separated, for messages.
std::string to_string(DTypeSet set);

}  // namespace tiffin::ops
