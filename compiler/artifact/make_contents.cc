// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "abi/version.h"
#include "base/artifact_layout.h"
#include "compiler/artifact/contents.h"

namespace tiffin::artifact {
namespace {

uint8_t code_of(DType dtype) { return static_cast<uint8_t>(dtype); }

template <class To, class From, class Convert>
std::vector<std::unique_ptr<To>> convert_all(const std::vector<From>& items, Convert convert) {
  std::vector<std::unique_ptr<To>> out;
  out.reserve(items.size());
  for (const From& item : items) out.push_back(std::make_unique<To>(convert(item)));
  return out;
}

abi::ParameterT to_table(const plan::Parameter& parameter) {
  abi::ParameterT out;
  out.name = parameter.name;
  out.dtype = code_of(parameter.tensor.dtype());
  out.shape = parameter.tensor.shape();
  out.bytes = parameter.tensor.bytes().size();
  out.frozen = parameter.is_frozen;
  return out;
}

abi::PieceT to_table(const plan::Piece& piece) {
  abi::PieceT out;
  out.parameter = piece.parameter;
  out.extents = piece.extents;
  out.source_strides = piece.source_strides;
  out.target_strides = piece.target_strides;
  out.source_offset = piece.source_offset;
  out.target_offset = piece.target_offset;
  return out;
}

abi::VectorStepT to_table(const plan::VectorStep& step) {
  abi::VectorStepT out;
  out.op = static_cast<abi::VectorOp>(step.op);
  out.dtype = code_of(step.dtype);
  out.operand = step.operand;
  out.strides = step.strides;
  out.offset = step.offset;
  out.extent = step.extent;
  out.axis_stride = step.axis_stride;
  return out;
}

abi::StoredT to_table(const plan::Stored& stored) {
  abi::StoredT out;
  out.name = stored.name;
  out.dtype = code_of(stored.dtype);
  out.shape = stored.shape;
  out.bytes = stored.bytes;
  out.offset = stored.offset;
  out.pieces = convert_all<abi::PieceT>(stored.pieces, [](const plan::Piece& piece) { return to_table(piece); });
  out.steps = convert_all<abi::VectorStepT>(stored.steps, [](const plan::VectorStep& step) { return to_table(step); });
  out.constants = stored.constants;
  return out;
}

abi::ValueT to_table(const plan::Value& value) {
  abi::ValueT out;
  out.name = value.name;
  out.dtype = code_of(value.type.dtype);
  for (const graph::Dim& dim : *value.type.shape) {
    out.shape.push_back(dim.value());
    out.symbols.push_back(dim.symbol_name());
  }
  if (value.type.has_static_shape()) out.symbols.clear();
  return out;
}

abi::BufferT to_table(const plan::Buffer& buffer) {
  abi::BufferT out;
  out.space = static_cast<abi::Space>(buffer.space);
  out.index = buffer.index;
  out.offset = buffer.offset;
  out.bytes = buffer.bytes;
  return out;
}

abi::StepT to_table(const plan::Step& step, const kernel::Kernel& kernel) {
  abi::StepT out;
  out.kernel = step.kernel;
  out.buffers = step.buffers;
  out.units = kernel.units;
  out.scratch_bytes = static_cast<uint64_t>(kernel.scratch_bytes);
  out.grain = kernel.grain;
  out.label = step.label;
  return out;
}

abi::EntryT to_table(const plan::Plan& plan) {
  const plan::Entry& entry = plan.entry;
  abi::EntryT out;
  out.name = entry.name;
  out.executor = "graph";
  const auto convert_value = [](const plan::Value& value) { return to_table(value); };
  out.inputs = convert_all<abi::ValueT>(entry.inputs, convert_value);
  out.outputs = convert_all<abi::ValueT>(entry.outputs, convert_value);
  out.buffers = convert_all<abi::BufferT>(entry.buffers, [](const plan::Buffer& buffer) { return to_table(buffer); });
  out.steps = convert_all<abi::StepT>(entry.steps, [&](const plan::Step& step) { return to_table(step, *plan.kernels[step.kernel]); });
  out.arena_bytes = entry.arena_bytes;
  out.arena_lower_bound = entry.arena_lower_bound;
  for (const auto& step : out.steps) out.scratch_bytes = std::max(out.scratch_bytes, step->scratch_bytes);
  return out;
}

abi::VariantT to_table(const plan::Plan& plan, const codegen::Target& target, const codegen::CodeBlob& code) {
  abi::VariantT out;
  out.target = target.text;
  out.triple = target.triple;
  out.machine = target.elf_machine;
  out.cpu = target.cpu;
  out.features = target.features;
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    auto kernel = std::make_unique<abi::KernelT>();
    kernel->name = plan.kernels[i]->name;
    kernel->code_offset = code.functions[i].offset;
    kernel->code_bytes = code.functions[i].size;
    kernel->buffer_count = static_cast<uint32_t>(plan.kernels[i]->parameters().size());
    out.kernels.push_back(std::move(kernel));
  }
  out.entries.push_back(std::make_unique<abi::EntryT>(to_table(plan)));
  return out;
}

// Tensors at multiples of 64, of a uniform one a single element.
void add_constants(const std::vector<plan::Constant>& constants, Contents& contents) {
  std::vector<uint8_t>& section = contents.constants;
  for (const plan::Constant& constant : constants) {
    section.resize(align_up(section.size(), 64));
    auto row = std::make_unique<abi::ConstantT>();
    row->dtype = code_of(constant.tensor.dtype());
    row->bytes = constant.tensor.bytes().size();
    row->offset = section.size();
    row->uniform = constant.is_uniform;
    std::span<const uint8_t> bytes = constant.tensor.bytes();
    if (constant.is_uniform) bytes = bytes.first(static_cast<size_t>(dtype_bits(constant.tensor.dtype())) / 8);
    section.insert(section.end(), bytes.begin(), bytes.end());
    contents.program.constants.push_back(std::move(row));
  }
}

void describe(const graph::ModelFacts& facts, const std::vector<std::pair<std::string, std::string>>& options, abi::ManifestT& manifest) {
  manifest.producer = "tiffin";
  manifest.producer_version = TIFFIN_VERSION;
  manifest.model_name = facts.name;
  manifest.model_sha256 = facts.sha256;
  manifest.model_opset = facts.opset;
  manifest.model_ir_version = facts.ir_version;
  manifest.model_producer = facts.producer;
  for (const auto& [key, value] : options) {
    auto option = std::make_unique<abi::KeyValueT>();
    option->key = key;
    option->value = value;
    manifest.options.push_back(std::move(option));
  }
}

template <class Table>
std::vector<uint8_t> pack(abi::Root kind, const Table& table) {
  flatbuffers::FlatBufferBuilder builder;
  const auto root = Table::TableType::Pack(builder, &table);
  builder.Finish(abi::CreateEnvelope(builder, kind, root.Union()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace

abi::StoragePlanT to_table(const plan::StoragePlan& storage) {
  abi::StoragePlanT out;
  out.parameters = convert_all<abi::ParameterT>(storage.parameters, [](const plan::Parameter& parameter) { return to_table(parameter); });
  out.stored = convert_all<abi::StoredT>(storage.stored, [](const plan::Stored& stored) { return to_table(stored); });
  out.data_bytes = storage.data_bytes;
  return out;
}

Contents make_contents(const plan::Plan& plan, const codegen::Target& target, const codegen::CodeBlob& code, const graph::ModelFacts& facts,
                       const std::vector<std::pair<std::string, std::string>>& options) {
  Contents contents;
  contents.storage = to_table(plan.storage);
  add_constants(plan.constants, contents);
  contents.program.variants.push_back(std::make_unique<abi::VariantT>(to_table(plan, target, code)));
  const uint32_t kind = target.elf_machine == 0 ? TIFFIN_SECTION_KERNEL_IR : TIFFIN_SECTION_CODE;
  contents.code.push_back({kind, code.bytes, code.text_offset, code.query_offset});
  describe(facts, options, contents.manifest);
  std::vector<graph::Tensor> tensors;
  for (const plan::Parameter& parameter : plan.storage.parameters) tensors.push_back(parameter.tensor);
  contents.read_parameter = [tensors = std::move(tensors)](size_t index, Array<uint8_t>&) -> Result<std::span<const uint8_t>> {
    return tensors[index].bytes();
  };
  return contents;
}

std::vector<uint8_t> serialize(const abi::StoragePlanT& storage) { return pack(abi::Root::StoragePlan, storage); }
std::vector<uint8_t> serialize(const abi::ProgramT& program) { return pack(abi::Root::Program, program); }
std::vector<uint8_t> serialize(const abi::ManifestT& manifest) { return pack(abi::Root::Manifest, manifest); }

}  // namespace tiffin::artifact
