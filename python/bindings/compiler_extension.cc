// SPDX-License-Identifier: Apache-2.0
// tiffin._compiler: the compiler's driver for tiffin/compiler.py, which is its only caller.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/compile.h"
#include "python/bindings/raise.h"

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
  for (const auto& [name, tensor] : self.params()) {
    params.append(nb::make_tuple(to_text(name), dtype_name(tensor.dtype()).data(), tensor.shape(), bytes_of(tensor)));
  }
  return params;
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

// Compiles in a thread of its own while this one, which holds the interpreter's lock, looks for signals: an exception of a handler, such as
// KeyboardInterrupt, stops the work and is raised once it has ended.
Result<CompiledModule> compile_interruptibly(const std::string& model, driver::CompileOptions& options) {
  constexpr auto kInterval = std::chrono::milliseconds(50);
  std::stop_source stop;
  options.stop = stop.get_token();
  std::future<Result<CompiledModule>> work = std::async(std::launch::async, [&] { return driver::compile_onnx(model, options); });
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

CompiledModule compile(const nb::bytes& path, std::vector<std::string> targets, const std::string& name, const std::string& entry, int opt_level,
                       int threads, bool embed_params, std::map<std::string, int64_t> dims,
                       std::map<std::string, std::vector<int64_t>> input_shapes) {
  driver::CompileOptions options;
  options.targets = std::move(targets);
  options.net_name = name;
  options.entry = entry;
  options.opt_level = opt_level;
  options.threads = threads;
  options.embed_params = embed_params;
  options.dims = std::move(dims);
  options.input_shapes = std::move(input_shapes);
  const std::string model = to_path(path);
  return take(compile_interruptibly(model, options));
}

template <Status (CompiledModule::*Export)(const std::string&) const>
void export_to(const CompiledModule& self, const nb::bytes& path) {
  const std::string file = to_path(path);
  Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = (self.*Export)(file);
  }
  check(status);
}

}  // namespace
}  // namespace tiffin::python

NB_MODULE(_compiler, module) {
  using namespace tiffin::python;
  nb::set_leak_warnings(false);
  nb::class_<CompiledModule>(module, "CompiledModule")
      .def("export_library", &export_to<&CompiledModule::export_library>)
      .def("export_params", &export_to<&CompiledModule::export_params>)
      .def("library_bytes", &library_bytes)
      .def("params", &params_of)
      .def("targets", &CompiledModule::targets)
      .def("code_bytes", &CompiledModule::code_bytes)
      .def("weights_bytes", &CompiledModule::weights_bytes)
      .def("arena_bytes", &CompiledModule::arena_bytes);
  module.def("compile", &compile, nb::arg("path"), nb::arg("targets"), nb::arg("name"), nb::arg("entry"), nb::arg("opt_level"), nb::arg("threads"),
             nb::arg("embed_params"), nb::arg("dims"), nb::arg("input_shapes"));
}
