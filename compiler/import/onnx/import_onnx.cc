// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/import_onnx.h"

#include "compiler/import/onnx/graph_builder.h"
#include "compiler/import/onnx/inline_functions.h"
#include "compiler/import/onnx/input_dims.h"
#include "compiler/import/onnx/mapped_file.h"
#include "compiler/import/onnx/tensor_decoder.h"
#include "compiler/import/onnx/wire.h"

namespace tiffin::import {
namespace {

constexpr int64_t kNewestIrVersion = 14;

Status check_model(const ModelProto& model) {
  if (!model.graph) return error(Code::InvalidModel, "the file holds no graph; is it an ONNX model?");
  if (model.ir_version < 1 || model.ir_version > kNewestIrVersion) {
    return error(Code::InvalidModel, "IR version %lld is not known, 1 to %lld are", static_cast<long long>(model.ir_version),
                 static_cast<long long>(kNewestIrVersion));
  }
  if (model.opsets.empty()) return error(Code::InvalidModel, "the model imports no operator set (opset_import is empty)");
  return {};
}

graph::ModelFacts facts_of(const ModelProto& model) {
  graph::ModelFacts facts;
  facts.name = model.graph->name;
  facts.producer = model.producer_name;
  if (!model.producer_version.empty()) facts.producer += (facts.producer.empty() ? "" : " ") + model.producer_version;
  const auto standard = model.opsets.find("");
  facts.opset = standard == model.opsets.end() ? 0 : standard->second;
  facts.ir_version = model.ir_version;
  return facts;
}

std::vector<DType> declared_dtypes(const std::vector<ValueInfoProto>& outputs) {
  std::vector<DType> dtypes;
  for (const ValueInfoProto& output : outputs) {
    const Result<DType> dtype = output.is_tensor ? dtype_from_onnx(output.elem_type) : DType::Undefined;
    dtypes.push_back(dtype.has_value() ? *dtype : DType::Undefined);
  }
  return dtypes;
}

Status build_graph(const GraphProto& source, const ImportOptions& options, ModelContext* context, std::shared_ptr<graph::Graph>* out) {
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<graph::Type> types, resolve_input_types(fed_inputs(source), options, &context->bindings));
  GraphBuilder builder(*context, source, nullptr);
  TIFFIN_TRY(builder.build(types));
  *out = builder.graph();
  return {};
}

Status import_model(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner, const std::string& folder, const ImportOptions& options,
                    std::shared_ptr<graph::Graph>* out_graph, graph::ModelFacts* out_facts, std::vector<DType>* out_output_dtypes) {
  if (bytes.empty()) return error(Code::InvalidModel, "the file is empty");
  ModelProto model = read_model(bytes);
  TIFFIN_TRY(check_model(model));
  TIFFIN_TRY(inline_functions(&model));
  ExternalFiles external(folder);
  Unsupported unsupported;
  unsupported.add_unknown(*model.graph);
  ModelContext context{std::move(owner), &external, {}, &unsupported};
  Status built = build_graph(*model.graph, options, &context, out_graph);
  *out_facts = facts_of(model);
  *out_output_dtypes = declared_dtypes(model.graph->outputs);
  // Operators come first: a type that is not supported is often only what such an operator works on.
  return built.is_ok() || unsupported.is_empty() ? std::move(built) : unsupported.to_status();
}

}  // namespace

Result<ImportedModel> import_onnx(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner, const std::string& folder,
                                  const ImportOptions& options) {
  std::shared_ptr<graph::Graph> graph;
  graph::ModelFacts facts;
  std::vector<DType> output_dtypes;
  TIFFIN_TRY(read_messages(bytes, [&] { return import_model(bytes, owner, folder, options, &graph, &facts, &output_dtypes); }));
  return ImportedModel{std::move(*graph), std::move(facts), std::move(output_dtypes)};
}

Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options) {
  TIFFIN_ASSIGN_OR_RETURN(const MappedFile file, map_file(path));
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  auto imported = import_onnx(file.bytes, file.owner, folder, options);
  if (!imported) return imported.take_error().with_context("'%s'", path.c_str());
  return imported;
}

}  // namespace tiffin::import
