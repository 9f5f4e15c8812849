// SPDX-License-Identifier: Apache-2.0
// For tests: writes the messages of ONNX field by field, right ones and wrong ones.
#pragma once

#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <vector>

namespace tiffin::import {

struct TensorBytes {
  std::string name;
  int dtype = 1;
  std::vector<int64_t> dims;
  std::string raw;
  std::vector<std::pair<std::string, std::string>> external;

  std::string bytes() const {
    std::string out;
    protozero::pbf_writer writer(out);
    for (const int64_t extent : dims) writer.add_int64(1, extent);
    writer.add_int32(2, dtype);
    writer.add_string(8, name);
    if (external.empty()) writer.add_bytes(9, raw);
    for (const auto& [key, value] : external) {
      protozero::pbf_writer entry(writer, 13);
      entry.add_string(1, key);
      entry.add_string(2, value);
    }
    if (!external.empty()) writer.add_int32(14, 1);
    return out;
  }
  static TensorBytes floats(const std::string& name, std::vector<int64_t> dims, const std::vector<float>& elements) {
    return {name, 1, std::move(dims), std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * 4), {}};
  }
  static TensorBytes ints(const std::string& name, const std::vector<int64_t>& elements) {
    return {name, 7, {static_cast<int64_t>(elements.size())}, std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * 8), {}};
  }
};

class NodeBytes {
 public:
  NodeBytes(const std::string& op_type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, const std::string& name = "",
            const std::string& domain = "") {
    protozero::pbf_writer writer(bytes_);
    for (const auto& input : inputs) writer.add_string(1, input);
    for (const auto& output : outputs) writer.add_string(2, output);
    writer.add_string(3, name);
    writer.add_string(4, op_type);
    if (!domain.empty()) writer.add_string(7, domain);
  }
  NodeBytes&& with(const std::string& name, int64_t value) && {
    return attribute(name, 2, [&](auto& w) { w.add_int64(3, value); });
  }
  NodeBytes&& with(const std::string& name, float value) && {
    return attribute(name, 1, [&](auto& w) { w.add_float(2, value); });
  }
  NodeBytes&& with(const std::string& name, const char* value) && {
    return attribute(name, 3, [&](auto& w) { w.add_string(4, value); });
  }
  NodeBytes&& with(const std::string& name, const TensorBytes& value) && {
    return attribute(name, 4, [&](auto& w) { w.add_message(5, value.bytes()); });
  }
  NodeBytes&& with_graph(const std::string& name, const std::string& graph) && {
    return attribute(name, 5, [&](auto& w) { w.add_message(6, graph); });
  }
  NodeBytes&& with(const std::string& name, const std::vector<int64_t>& values) && {
    return attribute(name, 7, [&](auto& w) {
      for (const int64_t value : values) w.add_int64(8, value);
    });
  }
  NodeBytes&& with(const std::string& name, const std::vector<float>& values) && {
    return attribute(name, 6, [&](auto& w) { w.add_packed_float(7, values.begin(), values.end()); });
  }
  NodeBytes&& with_reference(const std::string& name, int type, const std::string& reference) && {
    return attribute(name, type, [&](auto& w) { w.add_string(21, reference); });
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class Write>
  NodeBytes&& attribute(const std::string& name, int type, Write write) {
    protozero::pbf_writer writer(bytes_);
    protozero::pbf_writer attribute_writer(writer, 5);
    attribute_writer.add_string(1, name);
    write(attribute_writer);
    attribute_writer.add_int32(20, type);
    return std::move(*this);
  }

  std::string bytes_;
};

// A dimension: a number, or a name.
struct DimBytes {
  DimBytes(int value) : number(value) {}
  DimBytes(int64_t value) : number(value) {}
  DimBytes(const char* symbol) : name(symbol) {}
  int64_t number = 0;
  std::string name;
};

struct ValueBytes {
  std::string name;
  std::vector<DimBytes> dims;
  int dtype = 1;

  std::string bytes() const {
    std::string out;
    protozero::pbf_writer writer(out);
    writer.add_string(1, name);
    protozero::pbf_writer type(writer, 2);
    protozero::pbf_writer tensor(type, 1);
    tensor.add_int32(1, dtype);
    protozero::pbf_writer shape(tensor, 2);
    for (const DimBytes& dim : dims) {
      protozero::pbf_writer dimension(shape, 1);
      if (dim.name.empty()) {
        dimension.add_int64(1, dim.number);
      } else {
        dimension.add_string(2, dim.name);
      }
    }
    return out;
  }
};

struct GraphBytes {
  std::vector<NodeBytes> nodes;
  std::vector<ValueBytes> inputs;
  std::vector<std::string> outputs;
  std::vector<TensorBytes> initializers = {};

  std::string bytes() const {
    std::string out;
    protozero::pbf_writer writer(out);
    for (const auto& node : nodes) writer.add_message(1, node.bytes());
    writer.add_string(2, "g");
    for (const auto& initializer : initializers) writer.add_message(5, initializer.bytes());
    for (const auto& input : inputs) writer.add_message(11, input.bytes());
    for (const auto& output : outputs) {
      protozero::pbf_writer value(writer, 12);
      value.add_string(1, output);
    }
    return out;
  }
};

inline std::string opset_bytes(int64_t version, const std::string& domain = "") {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_string(1, domain);
  writer.add_int64(2, version);
  return out;
}

struct FunctionBytes {
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::vector<NodeBytes> nodes;
  std::string domain = "local";

  std::string bytes() const {
    std::string out;
    protozero::pbf_writer writer(out);
    writer.add_string(1, name);
    for (const auto& input : inputs) writer.add_string(4, input);
    for (const auto& output : outputs) writer.add_string(5, output);
    for (const auto& node : nodes) writer.add_message(7, node.bytes());
    writer.add_message(9, opset_bytes(17));
    writer.add_string(10, domain);
    return out;
  }
};

struct ModelBytes {
  GraphBytes graph;
  int64_t opset = 17;
  std::vector<FunctionBytes> functions = {};
  int64_t ir_version = 8;

  std::string bytes() const {
    std::string out;
    protozero::pbf_writer writer(out);
    writer.add_int64(1, ir_version);
    writer.add_string(2, "test");
    writer.add_message(7, graph.bytes());
    if (opset != 0) writer.add_message(8, opset_bytes(opset));
    for (const auto& function : functions) writer.add_message(25, function.bytes());
    return out;
  }
};

inline std::span<const uint8_t> as_span(const std::string& bytes) { return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}; }

}  // namespace tiffin::import
