// SPDX-License-Identifier: Apache-2.0
// tiffin._compiler: the compiler's driver for tiffin/compiler.py, which is its only caller.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/driver/check_outputs.h"
#include "python/bindings/compile_request.h"
#include "python/bindings/raise.h"
#include "tools/tiffin/export.h"

namespace tiffin::python {
namespace {

using driver::CompiledModule;
using Bytes = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>;

// A read-only view of a tensor's bytes; the capsule shares them.
Bytes bytes_of(const graph::Tensor& tensor) {
  auto* shared = new graph::Tensor(tensor);
  const nb::capsule owner(shared, [](void* pointer) noexcept { delete static_cast<graph::Tensor*>(pointer); });
  return Bytes(shared->bytes().data(), {shared->bytes().size()}, owner);
}

nb::list params_of(const CompiledModule& self) {
  nb::list params;
  for (const auto& [name, tensor] : take(self.params())) {
    params.append(nb::make_tuple(to_parameter_name(name), dtype_name(tensor.dtype()).data(), tensor.shape(), bytes_of(tensor)));
  }
  return params;
}

// What `work` returns, which runs without the interpreter's lock.
template <class Work>
Status unlocked(Work work) {
  const nb::gil_scoped_release release;
  return work();
}

// The library in page-aligned memory, where the runtime uses weights without another copy.
Bytes library_bytes(const CompiledModule& self) {
  auto made = [&] {
    const nb::gil_scoped_release unlocked;
    return self.to_bytes();
  }();
  const std::vector<uint8_t> library = take(std::move(made));
  constexpr size_t kPage = 4096;
  void* memory = std::aligned_alloc(kPage, (library.size() + kPage - 1) / kPage * kPage);
  if (memory == nullptr) raise(error(Code::OutOfMemory, "no memory for a library of %zu bytes", library.size()));
  const nb::capsule owner(memory, [](void* pointer) noexcept { std::free(pointer); });
  std::memcpy(memory, library.data(), library.size());
  return Bytes(memory, {library.size()}, owner);
}

// Works in a thread of its own while this one, which holds the interpreter's lock, looks for signals: an exception of a handler, such as
// KeyboardInterrupt, stops the work and is raised once it has ended.
Result<CompiledModule> compile_interruptibly(CompileRequest& request) {
  constexpr auto kInterval = std::chrono::milliseconds(50);
  std::stop_source stop;
  request.options.stop = stop.get_token();
  std::future<Result<CompiledModule>> work = std::async(std::launch::async, [&] { return compile_request(request); });
  const auto is_done = [&] {
    const nb::gil_scoped_release unlocked;
    return work.wait_for(kInterval) == std::future_status::ready;
  };
  while (!is_done()) {
    if (PyErr_CheckSignals() == 0) continue;
    const nb::python_error interruption;
    stop.request_stop();
    {
      const nb::gil_scoped_release unlocked;
      work.wait();
    }
    throw interruption;
  }
  return work.get();
}

std::vector<std::string> to_paths(const std::vector<nb::bytes>& paths) {
  std::vector<std::string> out;
  for (const nb::bytes& path : paths) out.emplace_back(to_path(path));
  return out;
}

// Tensors as (name, dtype, shape, bytes).
using GivenCase = std::vector<std::tuple<std::string, std::string, std::vector<int64_t>, nb::bytes>>;

std::vector<std::vector<NamedTensor>> to_cases(const std::vector<GivenCase>& given) {
  std::vector<std::vector<NamedTensor>> cases(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    for (const auto& [name, dtype, shape, content] : given[i]) {
      const auto* first = static_cast<const uint8_t*>(content.data());
      cases[i].push_back({name, parse_dtype(dtype), shape, {first, first + content.size()}});
    }
  }
  return cases;
}

CompiledModule compile(const nb::bytes& path, std::vector<std::string> targets, const std::string& name, const std::string& entry, int opt_level,
                       int threads, bool embed_params, std::map<std::string, int64_t> dims, std::map<std::string, std::vector<int64_t>> input_shapes,
                       std::vector<std::string> skip, const nb::bytes& dump, bool with_sources, const std::vector<nb::bytes>& libraries,
                       const std::vector<nb::bytes>& files, uint32_t golden, const nb::bytes& golden_folder,
                       const std::vector<GivenCase>& golden_cases, const nb::bytes& cache, uint64_t cache_bytes) {
  CompileRequest request;
  driver::CompileOptions& options = request.options;
  options.targets = std::move(targets);
  options.net_name = name;
  options.entry = entry;
  options.opt_level = opt_level;
  options.threads = threads;
  options.embed_params = embed_params;
  options.dims = std::move(dims);
  options.input_shapes = std::move(input_shapes);
  options.skip = std::move(skip);
  options.dump_folder = to_path(dump);
  options.with_sources = with_sources;
  options.libraries = to_paths(libraries);
  options.files = to_paths(files);
  options.golden_count = golden;
  request.model = to_path(path);
  request.golden_folder = to_path(golden_folder);
  request.golden_cases = to_cases(golden_cases);
  request.cache = to_path(cache);
  request.cache_bytes = cache_bytes;
  return take(compile_interruptibly(request));
}

// What the outputs of a compiled module may not replace, wherever the process works when they are written.
nb::list files_of_request(const nb::bytes& model, const std::vector<nb::bytes>& others) {
  const std::string model_path = to_path(model);
  std::vector<std::string> files;
  {
    const nb::gil_scoped_release unlocked;  // the model is read
    files = driver::files_of_model(model_path);
  }
  for (const std::string& path : to_paths(others)) {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
    files.push_back(failed ? path : absolute.string());
  }
  nb::list out;
  for (const std::string& path : files) out.append(nb::bytes(path.data(), path.size()));
  return out;
}

void check_outputs(const std::vector<nb::bytes>& outputs, const std::vector<nb::bytes>& inputs) {
  check(driver::check_outputs(to_paths(outputs), to_paths(inputs)));
}

void export_executable(const nb::bytes& library, const nb::bytes& out, const std::vector<nb::bytes>& folders) {
  const std::string from = to_path(library), to = to_path(out);
  const std::vector<std::string> looked_in = to_paths(folders);
  check(unlocked([&] {
    return export_artifact(from, {to}, [&](const runtime::Artifact& artifact) { return tools::export_executable(artifact, to, looked_in); });
  }));
}

void export_system_lib(const nb::bytes& library, const nb::bytes& out, const nb::bytes& header, const std::string& name) {
  const std::string from = to_path(library);
  const tools::SystemLibPaths paths{to_path(out), to_path(header), name};
  check(unlocked([&] {
    return export_artifact(from, {paths.library, paths.header},
                           [&](const runtime::Artifact& artifact) { return tools::export_system_lib(artifact, paths); });
  }));
}

template <Status (CompiledModule::*Export)(const std::string&) const>
void export_to(const CompiledModule& self, const nb::bytes& path) {
  const std::string file = to_path(path);
  check(unlocked([&] { return (self.*Export)(file); }));
}

void export_files(const CompiledModule& self, const nb::bytes& library, const nb::bytes& params) {
  const std::string library_path = to_path(library), params_path = to_path(params);
  check(unlocked([&] { return self.export_files(library_path, params_path); }));
}

}  // namespace
}  // namespace tiffin::python

NB_MODULE(_compiler, module) {
  using namespace tiffin::python;
  nb::set_leak_warnings(false);
  nb::class_<CompiledModule>(module, "CompiledModule")
      .def("export_library", &export_to<&CompiledModule::export_library>)
      .def("export_params", &export_to<&CompiledModule::export_params>)
      .def("export_files", &export_files)
      .def("library_bytes", &library_bytes)
      .def("params", &params_of)
      .def("targets", &CompiledModule::targets)
      .def("code_bytes", &CompiledModule::code_bytes)
      .def("weights_bytes", &CompiledModule::weights_bytes)
      .def("arena_bytes", &CompiledModule::arena_bytes);
  module.def("compile", &compile, nb::arg("path"), nb::arg("targets"), nb::arg("name"), nb::arg("entry"), nb::arg("opt_level"), nb::arg("threads"),
             nb::arg("embed_params"), nb::arg("dims"), nb::arg("input_shapes"), nb::arg("skip"), nb::arg("dump"), nb::arg("with_sources"),
             nb::arg("libraries"), nb::arg("files"), nb::arg("golden"), nb::arg("golden_folder"), nb::arg("golden_cases"), nb::arg("cache"),
             nb::arg("cache_bytes"));
  module.def("files_of_request", &files_of_request, nb::arg("model"), nb::arg("others"));
  module.def("check_outputs", &check_outputs, nb::arg("outputs"), nb::arg("inputs"));
  module.def("export_executable", &export_executable, nb::arg("library"), nb::arg("out"), nb::arg("folders"));
  module.def("export_system_lib", &export_system_lib, nb::arg("library"), nb::arg("out"), nb::arg("header"), nb::arg("name"));
}
