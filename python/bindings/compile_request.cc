// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/compile_request.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "compiler/driver/cache_key.h"
#include "compiler/driver/check_outputs.h"
#include "compiler/driver/compile_cache.h"
#include "tools/commands/byte_file.h"
#include "tools/tiffin/golden_inputs.h"
#include "tools/tiffin/read_contents.h"

namespace tiffin::python {
namespace {

using driver::CompiledModule;

Result<tools::GivenFile> as_given(const NamedTensor& named) {
  tools::GivenFile given;
  TIFFIN_ASSIGN_OR_RETURN(given.tensor, tools::HostTensor::create(named.dtype, named.shape));
  if (!given.name.append(std::span<const char>(named.name.c_str(), named.name.size() + 1)) || !given.path.append('\0')) return tools::out_of_memory();
  if (named.bytes.size() != given.tensor.size_bytes()) {
    return error(Code::InvalidInput, "'%s' has %zu bytes of elements, its type takes %llu", named.name.c_str(), named.bytes.size(),
                 static_cast<unsigned long long>(given.tensor.size_bytes()));
  }
  if (!named.bytes.empty()) memcpy(given.tensor.bytes(), named.bytes.data(), named.bytes.size());
  return given;
}

Result<std::vector<std::vector<graph::Tensor>>> match_cases(const std::vector<std::vector<NamedTensor>>& cases, const graph::Graph& graph) {
  std::vector<std::vector<graph::Tensor>> matched;
  for (const std::vector<NamedTensor>& tensors : cases) {
    tools::FixedList<tools::GivenFile> given;
    TIFFIN_TRY(given.create(tensors.size()));
    for (size_t i = 0; i < tensors.size(); ++i) {
      TIFFIN_ASSIGN_OR_RETURN(given[i], as_given(tensors[i]));
    }
    TIFFIN_ASSIGN_OR_RETURN(std::vector<graph::Tensor> inputs, tools::golden_case(std::move(given), graph));
    matched.push_back(std::move(inputs));
  }
  return matched;
}

void set_golden_inputs(CompileRequest& request) {
  if (!request.golden_folder.empty()) {
    request.options.golden_inputs = [&](const graph::Graph& graph) { return tools::read_golden_inputs(request.golden_folder, graph); };
  } else if (!request.golden_cases.empty()) {
    request.options.golden_inputs = [&](const graph::Graph& graph) { return match_cases(request.golden_cases, graph); };
  }
}

// Values and their lengths, so that no two lists of cases give the same bytes.
std::vector<uint8_t> bytes_of(const std::vector<std::vector<NamedTensor>>& cases) {
  std::vector<uint8_t> bytes;
  const auto add = [&bytes](const void* from, size_t count) {
    const auto* first = static_cast<const uint8_t*>(from);
    bytes.insert(bytes.end(), reinterpret_cast<const uint8_t*>(&count), reinterpret_cast<const uint8_t*>(&count + 1));
    bytes.insert(bytes.end(), first, first + count);
  };
  for (const std::vector<NamedTensor>& tensors : cases) {
    const size_t count = tensors.size();
    add(&count, sizeof(count));
    for (const NamedTensor& tensor : tensors) {
      add(tensor.name.data(), tensor.name.size());
      add(&tensor.dtype, sizeof(tensor.dtype));
      add(tensor.shape.data(), tensor.shape.size() * sizeof(int64_t));
      add(tensor.bytes.data(), tensor.bytes.size());
    }
  }
  return bytes;
}

driver::CacheRequest cache_request(const CompileRequest& request) {
  driver::CacheRequest out;
  out.model = request.model;
  out.options = &request.options;
  out.is_bundle = request.options.targets.size() > 1;
  out.params_suffix = request.options.embed_params ? "" : ".tfw";
  out.input_files = request.options.libraries;
  out.input_files.insert(out.input_files.end(), request.options.files.begin(), request.options.files.end());
  if (!request.golden_folder.empty()) out.input_folders.push_back(request.golden_folder);
  out.input_bytes = bytes_of(request.golden_cases);
  return out;
}

// Nothing when it is not there, or went away while it was read.
std::optional<CompiledModule> find_module(const driver::CompileCache& cache, const Digest& key, const driver::OutputPaths& forms,
                                          const std::string& model) {
  const std::optional<driver::OutputPaths> found = cache.find(key, forms);
  if (!found.has_value()) return std::nullopt;
  Result<artifact::Contents> contents = tools::read_contents(found->library, found->params);
  if (!contents.has_value()) return std::nullopt;
  Result<CompiledModule> module = CompiledModule::reopen(std::move(*contents), found->library, model);
  if (!module.has_value()) return std::nullopt;
  return std::move(*module);
}

Result<CompiledModule> compile_cached(const CompileRequest& request) {
  TIFFIN_ASSIGN_OR_RETURN(const driver::CompileCache cache, driver::CompileCache::open(request.cache, request.cache_bytes));
  const driver::CacheRequest wanted = cache_request(request);
  const driver::OutputPaths forms{wanted.is_bundle ? "m.tar" : "m.so", wanted.params_suffix.empty() ? "" : "m" + wanted.params_suffix};
  const Result<Digest> key = driver::cache_key(wanted);
  if (key.has_value()) {
    if (std::optional<CompiledModule> found = find_module(cache, *key, forms, request.model)) return std::move(*found);
  }
  // What is wrong with a model that has no key is told by compiling it.
  TIFFIN_ASSIGN_OR_RETURN(CompiledModule module, driver::compile_onnx(request.model, request.options));
  const Result<Digest> key_now = driver::cache_key(wanted);  // the model may have changed meanwhile
  if (key.has_value() && key_now.has_value() && *key == *key_now) (void)cache.keep(*key, module, forms);
  return module;
}

}  // namespace

Result<CompiledModule> compile_request(CompileRequest& request) {
  set_golden_inputs(request);
  const bool can_use_cache = !request.cache.empty() && request.options.dump_folder.empty();
  return can_use_cache ? compile_cached(request) : driver::compile_onnx(request.model, request.options);
}

Status export_artifact(const std::string& path, const std::vector<std::string>& outputs,
                       const std::function<Status(const runtime::Artifact&)>& write) {
  TIFFIN_TRY(driver::check_outputs(outputs, {path}));
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::open(path.c_str()));
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact artifact, runtime::Artifact::open(std::move(source), runtime::VerifyLevel::All));
  return write(artifact);
}

}  // namespace tiffin::python
