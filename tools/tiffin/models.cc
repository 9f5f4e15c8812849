// SPDX-License-Identifier: Apache-2.0
// What `tiffin` adds to `run` and `bench`: a model compiled in memory, and ONNX's own tensor files.
#include <cstring>

#include "base/atomic_file.h"
#include "compiler/driver/check_outputs.h"
#include "compiler/driver/compile.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "tools/commands/arguments.h"
#include "tools/commands/inputs.h"
#include "tools/tiffin/compile_options.h"
#include "tools/tiffin/subcommands.h"

namespace tiffin::tools {
namespace {

// The shapes of the tensors given, for inputs that the model leaves open. A file that is for none of its inputs is told here: that the model's
// shapes are open comes of it.
Status take_shapes(const std::string& path, std::span<GivenFile> given, driver::CompileOptions* options) {
  TIFFIN_ASSIGN_OR_RETURN(const import::ImportedModel model, import::import_onnx(path, {}));
  const std::vector<graph::ValueId>& ids = model.graph.inputs();
  std::vector<WantedInput> wanted;
  for (const graph::ValueId id : ids) wanted.push_back({.name = model.graph.value(id).name});
  TIFFIN_ASSIGN_OR_RETURN(const Array<size_t> files, assign_files(given, wanted));
  for (size_t position = 0; position < ids.size(); ++position) {
    const graph::Value& value = model.graph.value(ids[position]);
    if (value.type.has_static_shape() || files[position] == kNoFile || options->input_shapes.contains(value.name)) continue;
    GivenFile& file = given[files[position]];
    TIFFIN_TRY(read_given(file, value.name, &compiler_extensions()));
    options->input_shapes[value.name] = {file.tensor.shape().begin(), file.tensor.shape().end()};
  }
  return {};
}

Status compile_in_memory(const Arguments& arguments, std::span<GivenFile> given, HostTensor* out_artifact) {
  driver::CompileOptions options;
  options.opt_level = arguments.values.opt_level;
  for (const char* word : arguments.dims) TIFFIN_TRY(add_dim(word, &options));
  for (const char* word : arguments.input_shapes) TIFFIN_TRY(add_input_shape(word, &options));
  if (arguments.entry != nullptr) options.entry = arguments.entry;
  Result<driver::CompiledModule> module = driver::compile_onnx(arguments.file, options);
  if (!module.has_value() && module.error().code() == Code::OpenShape && !given.empty()) {
    TIFFIN_TRY(take_shapes(arguments.file, given, &options));
    module = driver::compile_onnx(arguments.file, options);
  }
  if (!module.has_value()) return module.take_error();
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, module->to_bytes());
  const int64_t shape[] = {static_cast<int64_t>(bytes.size())};
  TIFFIN_ASSIGN_OR_RETURN(*out_artifact, HostTensor::create(DType::UInt8, shape));
  memcpy(out_artifact->bytes(), bytes.data(), bytes.size());
  return {};
}

Status check_model_output(const char* model, const char* output) {
  if (!std::string_view(model).ends_with(".onnx")) return {};
  return driver::check_outputs({output}, driver::files_of_model(model));
}

Result<HostTensor> read_pb(const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(const import::NamedTensor named, import::read_tensor_file(path));
  const graph::Tensor& tensor = named.tensor;
  TIFFIN_ASSIGN_OR_RETURN(HostTensor out, HostTensor::create(tensor.dtype(), tensor.shape()));
  if (tensor.bytes().size() != out.size_bytes()) {
    return error(Code::InvalidInput, "'%s' has %zu bytes of elements, its type takes %llu", path, tensor.bytes().size(),
                 static_cast<unsigned long long>(out.size_bytes()));
  }
  if (!tensor.bytes().empty()) memcpy(out.bytes(), tensor.bytes().data(), tensor.bytes().size());
  return out;
}

Status write_pb(const char* path, std::string_view name, DType dtype, std::span<const int64_t> shape, const uint8_t* bytes) {
  const int64_t count = graph::num_elements(shape);
  uint64_t size = 0;
  if (count < 0 || !storage_bytes(dtype, static_cast<uint64_t>(count), &size)) {
    return error(Code::UnsupportedType, "'%s': %s cannot be written as .pb", path, type_text(dtype, shape).text);
  }
  const graph::Tensor tensor(dtype, {shape.begin(), shape.end()}, std::vector<uint8_t>(bytes, bytes + size));
  const std::vector<uint8_t> message = import::write_tensor_proto(std::string(name), tensor);
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  TIFFIN_TRY(file.write(message));
  return file.commit();
}

}  // namespace

const Extensions& compiler_extensions() {
  static constexpr Extensions kExtensions{compile_in_memory, check_model_output, read_pb, write_pb};
  return kExtensions;
}

}  // namespace tiffin::tools
