// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/module.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/executor.h"
#include "python/bindings/params.h"
#include "python/bindings/raise.h"
#include "runtime/artifact/signature.h"

namespace tiffin::python {
namespace {

using runtime::Module;
using runtime::Source;

// What load_module in tiffin/module.py passes on, its texts checked there for type alone.
struct Wanted {
  std::string verify;
  bool copy, strict;
  std::string trust;
  std::vector<nb::bytes> key_files;
  uint64_t min_release;
};

runtime::Trust trust_named(const std::string& name) {
  if (name == "native") return runtime::Trust::Native;
  if (name == "data") return runtime::Trust::Data;
  if (name == "signed") return runtime::Trust::Signed;
  raise(error(Code::InvalidArgument, "trust is '%s', expected is 'native', 'data' or 'signed'", name.c_str()));
}

std::optional<runtime::TrustedKeys> read_keys(const std::vector<nb::bytes>& files) {
  if (files.empty()) return std::nullopt;
  std::vector<const char*> paths;
  for (const nb::bytes& file : files) paths.push_back(to_path(file));
  return take(runtime::TrustedKeys::load(paths));
}

runtime::LoadOptions load_options(const Wanted& wanted) {
  runtime::LoadOptions options;
  const std::string& verify = wanted.verify;
  options.copy = wanted.copy;
  options.strict = wanted.strict;
  options.trust = trust_named(wanted.trust);
  options.signature.min_release = wanted.min_release;
  if (verify == "none") {
    options.verify = runtime::VerifyLevel::None;
  } else if (verify == "all") {
    options.verify = runtime::VerifyLevel::All;
  } else if (verify != "code") {
    raise(error(Code::InvalidArgument, "verify is '%s', expected is 'none', 'code' or 'all'", verify.c_str()));
  }
  return options;
}

LoadedModule load(Result<Source> source, const Wanted& wanted, nb::object memory) {
  Source opened = take(std::move(source));
  runtime::LoadOptions options = load_options(wanted);
  const std::optional<runtime::TrustedKeys> keys = read_keys(wanted.key_files);
  if (keys.has_value()) options.signature.keys = &*keys;
  auto loaded = [&] {
    const nb::gil_scoped_release unlocked;
    return Module::load(std::move(opened), options);
  }();
  return {take(std::move(loaded)), std::move(memory)};
}

LoadedModule load_file(const nb::bytes& path, const Wanted& wanted) { return load(Source::open(to_path(path)), wanted, nb::none()); }

LoadedModule load_descriptor(int descriptor, uint64_t offset, uint64_t length, const Wanted& wanted) {
  return load(Source::from_descriptor(descriptor, offset, length), wanted, nb::none());
}

LoadedModule load_memory(const nb::object& bytes, const Wanted& wanted) {
  nb::object memory = nb::steal(PyMemoryView_FromObject(bytes.ptr()));
  if (!memory.is_valid()) throw nb::python_error();
  const Py_buffer& view = *PyMemoryView_GET_BUFFER(memory.ptr());
  const std::span<const uint8_t> content(static_cast<const uint8_t*>(view.buf), static_cast<size_t>(view.len));
  return load(Source::from_memory(content), wanted, std::move(memory));
}

nb::list function_names(const LoadedModule& self) {
  nb::list names;
  for (const abi::Entry* entry : *self.module->variant().entries())
    names.append(to_name(runtime::view(entry->name()), "function", Code::InvalidModel));
  return names;
}

nb::list parameter_names(const LoadedModule& self) {
  nb::list names;
  for (const params::ParamEntry& entry : self.module->artifact().storage_plan().parameters()) names.append(to_parameter_name(entry.name));
  return names;
}

nb::dict get_params(const LoadedModule& self) {
  runtime::Ref<runtime::ParameterSet> set = self.module->parameters();
  if (!set) raise(error(Code::MissingParam, "the artifact holds no weights"));
  return to_dict(take(runtime::ParameterView::of_set(self.module, std::move(set))), self.memory);
}

}  // namespace

nb::dict to_dict(const Module& module, const runtime::LoadReport& report) {
  nb::list fallbacks;
  for (const char* text : report.fallbacks()) fallbacks.append(to_text(text));
  nb::list variants;
  for (const runtime::VariantChoice& choice : module.report().variants) {
    nb::list reasons;
    if (choice.reason[0] != 0) reasons.append(to_text(choice.reason));
    nb::dict row;
    row["target"] = to_text(choice.target);
    row["chosen"] = choice.reason[0] == 0;
    row["reasons"] = reasons;
    variants.append(row);
  }
  nb::dict phases;
  for (const runtime::LoadPhase& phase : report.phases()) phases[phase.name] = static_cast<double>(phase.ns) * 1e-6;
  nb::dict out;
  out["variant"] = to_text(runtime::view(module.variant().target()));
  out["variants"] = variants;
  out["fallbacks"] = fallbacks;
  out["mapped_bytes"] = report.mapped_bytes;
  out["copied_bytes"] = report.copied_bytes;
  out["repacked_bytes"] = report.repacked_bytes;
  out["phases_ms"] = phases;
  return out;
}

void define_module(nb::module_& module) {
  nb::class_<LoadedModule>(module, "LoadedModule")
      .def("function_names", &function_names)
      .def("parameter_names", &parameter_names)
      .def("find_function", [](const LoadedModule& self, const std::string& name) { (void)take(self.module->find_entry(name)); })
      .def("get_params", &get_params)
      .def("report", [](const LoadedModule& self) { return to_dict(*self.module, self.module->report()); })
      .def("create_executor", &create_executor, nb::arg("name"), nb::arg("threads"));
  nb::class_<Wanted>(module, "LoadOptions")
      .def(nb::init<std::string, bool, bool, std::string, std::vector<nb::bytes>, uint64_t>(), nb::arg("verify"), nb::arg("copy"), nb::arg("strict"),
           nb::arg("trust"), nb::arg("key_files"), nb::arg("min_release"));
  module.def("load_file", &load_file, nb::arg("path"), nb::arg("options"));
  module.def("load_descriptor", &load_descriptor, nb::arg("descriptor"), nb::arg("offset"), nb::arg("length"), nb::arg("options"));
  module.def("load_memory", &load_memory, nb::arg("bytes"), nb::arg("options"));
}

}  // namespace tiffin::python
