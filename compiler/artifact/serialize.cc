// SPDX-License-Identifier: Apache-2.0
#include "compiler/artifact/serialize.h"

#include <algorithm>
#include <cstring>

#include "abi/artifact_generated.h"
#include "abi/version.h"

namespace tiffin::artifact {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <class T>
std::vector<uint8_t> finish(FlatBufferBuilder& builder, abi::Root kind, Offset<T> root) {
  builder.Finish(abi::CreateEnvelope(builder, kind, root.Union()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

uint8_t code_of(DType dtype) { return static_cast<uint8_t>(dtype); }

Offset<abi::Parameter> write_parameter(FlatBufferBuilder& builder, const plan::Parameter& parameter) {
  const auto& tensor = parameter.tensor;
  return abi::CreateParameter(builder, builder.CreateString(parameter.name), code_of(tensor.dtype()), builder.CreateVector(tensor.shape()),
                              tensor.bytes().size(), parameter.is_frozen);
}

Offset<abi::Piece> write_piece(FlatBufferBuilder& builder, const plan::Piece& piece) {
  return abi::CreatePiece(builder, piece.parameter, builder.CreateVector(piece.extents), builder.CreateVector(piece.source_strides),
                          builder.CreateVector(piece.target_strides), piece.source_offset, piece.target_offset);
}

Offset<abi::VectorStep> write_vector_step(FlatBufferBuilder& builder, const plan::VectorStep& step) {
  return abi::CreateVectorStep(builder, static_cast<abi::VectorOp>(step.op), code_of(step.dtype), step.operand, builder.CreateVector(step.strides),
                               step.offset, step.extent, step.axis_stride);
}

template <class T, class Write>
auto write_all(FlatBufferBuilder& builder, const std::vector<T>& items, Write write) {
  std::vector<decltype(write(builder, items.front()))> offsets;
  offsets.reserve(items.size());
  for (const T& item : items) offsets.push_back(write(builder, item));
  return builder.CreateVector(offsets);
}

Offset<abi::Stored> write_stored(FlatBufferBuilder& builder, const plan::Stored& stored) {
  return abi::CreateStored(builder, builder.CreateString(stored.name), code_of(stored.dtype), builder.CreateVector(stored.shape), stored.bytes,
                           stored.offset, write_all(builder, stored.pieces, write_piece), write_all(builder, stored.steps, write_vector_step),
                           builder.CreateVector(stored.constants));
}

Offset<abi::Value> write_value(FlatBufferBuilder& builder, const plan::Value& value) {
  std::vector<int64_t> shape;
  std::vector<std::string> symbols;
  for (const graph::Dim& dim : *value.type.shape) {
    shape.push_back(dim.value());
    symbols.push_back(dim.symbol_name());
  }
  const bool is_static = value.type.has_static_shape();
  return abi::CreateValue(builder, builder.CreateString(value.name), code_of(value.type.dtype), builder.CreateVector(shape),
                          is_static ? 0 : builder.CreateVectorOfStrings(symbols));
}

Offset<abi::Buffer> write_buffer(FlatBufferBuilder& builder, const plan::Buffer& buffer) {
  return abi::CreateBuffer(builder, static_cast<abi::Space>(buffer.space), buffer.index, buffer.offset, buffer.bytes);
}

Offset<abi::Entry> write_entry(FlatBufferBuilder& builder, const plan::Plan& plan) {
  const plan::Entry& entry = plan.entry;
  uint64_t scratch_bytes = 0;
  for (const plan::Step& step : entry.steps) {
    scratch_bytes = std::max(scratch_bytes, static_cast<uint64_t>(plan.kernels[step.kernel]->scratch_bytes));
  }
  const auto write_step = [&](FlatBufferBuilder& to, const plan::Step& step) {
    const kernel::Kernel& kernel = *plan.kernels[step.kernel];
    return abi::CreateStep(to, step.kernel, to.CreateVector(step.buffers), kernel.units, static_cast<uint64_t>(kernel.scratch_bytes), kernel.grain,
                           to.CreateString(step.label));
  };
  return abi::CreateEntry(builder, builder.CreateString(entry.name), builder.CreateString("graph"), write_all(builder, entry.inputs, write_value),
                          write_all(builder, entry.outputs, write_value), write_all(builder, entry.buffers, write_buffer),
                          write_all(builder, entry.steps, write_step), entry.arena_bytes, entry.arena_lower_bound, scratch_bytes);
}

Offset<abi::Variant> write_variant(FlatBufferBuilder& builder, const Contents& contents) {
  std::vector<Offset<abi::Kernel>> kernels;
  for (size_t i = 0; i < contents.plan.kernels.size(); ++i) {
    const kernel::Kernel& kernel = *contents.plan.kernels[i];
    const auto& function = contents.code.functions[i];
    kernels.push_back(abi::CreateKernel(builder, builder.CreateString(kernel.name), function.offset, function.size,
                                        static_cast<uint32_t>(kernel.parameters().size())));
  }
  const codegen::Target& target = contents.target;
  const std::vector<Offset<abi::Entry>> entries = {write_entry(builder, contents.plan)};
  return abi::CreateVariant(builder, builder.CreateString(target.text), builder.CreateString(target.triple), target.elf_machine,
                            builder.CreateString(target.cpu), builder.CreateVectorOfStrings(target.features), builder.CreateString(kCodeSectionName),
                            builder.CreateVector(kernels), builder.CreateVector(entries));
}

}  // namespace

ConstantsSection lay_out_constants(const std::vector<plan::Constant>& constants) {
  ConstantsSection section;
  for (const plan::Constant& constant : constants) {
    section.bytes.resize((section.bytes.size() + 63) / 64 * 64);
    section.offsets.push_back(section.bytes.size());
    std::span<const uint8_t> bytes = constant.tensor.bytes();
    if (constant.is_uniform) bytes = bytes.first(static_cast<size_t>(dtype_bits(constant.tensor.dtype())) / 8);
    section.bytes.insert(section.bytes.end(), bytes.begin(), bytes.end());
  }
  return section;
}

std::vector<uint8_t> serialize_storage_plan(const plan::StoragePlan& storage) {
  FlatBufferBuilder builder;
  const auto parameters = write_all(builder, storage.parameters, write_parameter);
  const auto stored = write_all(builder, storage.stored, write_stored);
  return finish(builder, abi::Root::StoragePlan, abi::CreateStoragePlan(builder, parameters, stored, storage.data_bytes));
}

std::vector<uint8_t> serialize_program(const Contents& contents, const ConstantsSection& constants) {
  FlatBufferBuilder builder;
  std::vector<Offset<abi::Constant>> written;
  for (size_t i = 0; i < contents.plan.constants.size(); ++i) {
    const plan::Constant& constant = contents.plan.constants[i];
    written.push_back(
        abi::CreateConstant(builder, code_of(constant.tensor.dtype()), constant.tensor.bytes().size(), constants.offsets[i], constant.is_uniform));
  }
  const auto constant_vector = builder.CreateVector(written);
  const std::vector<Offset<abi::Variant>> variants = {write_variant(builder, contents)};
  return finish(builder, abi::Root::Program, abi::CreateProgram(builder, constant_vector, builder.CreateVector(variants)));
}

std::vector<uint8_t> serialize_manifest(const Contents& contents, const std::vector<Digest>& parameter_digests, const Digest& storage_plan_digest) {
  FlatBufferBuilder builder;
  std::vector<uint8_t> digest_bytes;
  for (const Digest& digest : parameter_digests) digest_bytes.insert(digest_bytes.end(), digest.bytes.begin(), digest.bytes.end());
  const Digest params_digest = digest_of(digest_bytes);
  const auto write_option = [](FlatBufferBuilder& to, const std::pair<std::string, std::string>& option) {
    return abi::CreateKeyValue(to, to.CreateString(option.first), to.CreateString(option.second));
  };
  const graph::ModelFacts& facts = contents.facts;
  const auto digest_vector = [&](const Digest& digest) { return builder.CreateVector(digest.bytes.data(), digest.bytes.size()); };
  const auto manifest = abi::CreateManifest(
      builder, builder.CreateString("tiffin"), builder.CreateString(TIFFIN_VERSION), builder.CreateString(facts.name),
      builder.CreateString(facts.sha256), facts.opset, facts.ir_version, builder.CreateString(facts.producer),
      builder.CreateString(contents.embed_params ? "embedded" : "external"), builder.CreateVector(digest_bytes), digest_vector(params_digest),
      digest_vector(storage_plan_digest), write_all(builder, contents.options, write_option), contents.plan.storage.data_bytes);
  return finish(builder, abi::Root::Manifest, manifest);
}

}  // namespace tiffin::artifact
