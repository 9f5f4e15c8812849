// SPDX-License-Identifier: Apache-2.0
// The messages of ONNX that the importer reads, as plain structs. Names are copied; tensors stay bytes of the file until they are needed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tiffin::import {

using Bytes = std::span<const uint8_t>;

struct GraphProto;

// Values are AttributeProto.AttributeType's.
enum class AttributeKind : uint8_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Other = 9,  // lists of tensors and graphs, sparse tensors, types
};

struct AttributeProto {
  std::string name;
  std::string reference;  // ref_attr_name: the attribute of the enclosing function to take
  AttributeKind kind = AttributeKind::Undefined;
  float f = 0;
  int64_t i = 0;
  std::string s;
  Bytes tensor;  // a TensorProto
  std::shared_ptr<const GraphProto> graph;
  std::vector<std::string> captured;  // what `graph` reads from the graphs around it; set when functions are inlined
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
};

struct NodeProto {
  std::string name, op_type, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<AttributeProto> attributes;
  int64_t opset = 0;     // version of the standard operators that holds for this node; set when functions are inlined
  int64_t position = 0;  // place in the list it stands in, for errors

  const AttributeProto* find(const std::string& attribute) const;
};

struct DimProto {
  std::optional<int64_t> value;
  std::string symbol;
};

struct ValueInfoProto {
  std::string name;
  bool is_tensor = true;  // false: sequence, map, optional, sparse or opaque
  int64_t elem_type = 0;
  std::optional<std::vector<DimProto>> shape;
};

struct InitializerProto {
  std::string name;
  Bytes tensor;  // a TensorProto
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> nodes;
  std::vector<InitializerProto> initializers;
  std::vector<ValueInfoProto> inputs, outputs;
  bool has_sparse_initializer = false;
};

using Opsets = std::map<std::string, int64_t>;  // domain -> version; "ai.onnx" is spelled ""

struct FunctionProto {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<AttributeProto> defaults;
  std::vector<NodeProto> nodes;
  Opsets opsets;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string producer_name, producer_version;
  Opsets opsets;
  std::optional<GraphProto> graph;
  std::vector<FunctionProto> functions;
};

// "" for "ai.onnx".
std::string normal_domain(const std::string& domain);

// "node 'conv1' (Conv)", or "node 17 (Conv)" when it has no name.
std::string describe(const NodeProto& node);

// The inputs that have no initializer. The others are parameters with a declared type; in files of IR 3 and older every parameter is.
std::vector<const ValueInfoProto*> fed_inputs(const GraphProto& graph);

// Throws WireError on damage, and on graphs nested deeper than protobuf itself allows.
ModelProto read_model(Bytes bytes);

}  // namespace tiffin::import
