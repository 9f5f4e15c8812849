// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/staged.h"

#include <utility>

#include "python/bindings/params.h"
#include "python/bindings/raise.h"
#include "runtime/executor/parameter_sharing.h"

namespace tiffin::python {
namespace {

using runtime::StagedParameters;

nb::object own(const LoadedModule& module, Result<StagedParameters*> staged) {
  return nb::cast(new Staged(take(std::move(staged)), module.memory), nb::rv_policy::take_ownership);
}

nb::object stage_file(const LoadedModule& module, const nb::bytes& path) {
  const char* name = to_path(path);
  auto staged = [&]() -> Result<StagedParameters*> {
    const nb::gil_scoped_release unlocked;
    TIFFIN_ASSIGN_OR_RETURN(params::ParamFile file, params::ParamFile::open(name));
    return StagedParameters::from_file(module.module, std::move(file));
  }();
  return own(module, std::move(staged));
}

nb::object stage_dict(const LoadedModule& module, const nb::dict& tensors) {
  const DictSource source(tensors);
  auto staged = [&] {
    const nb::gil_scoped_release unlocked;
    return StagedParameters::from_source(module.module, source.source());
  }();
  return own(module, std::move(staged));
}

nb::dict report_memory() {
  const runtime::MemoryUse use = runtime::measure_parameters();
  nb::dict out;
  out["sets"] = use.set_count;
  out["unique_bytes"] = use.unique_bytes;
  out["shared_bytes"] = use.shared_bytes;
  out["private_bytes"] = use.private_bytes;
  return out;
}

}  // namespace

nb::list Staged::fault_names(StagedParameters::Fault kind) const {
  nb::list names;
  const size_t count = staged_->fault_count(kind);
  for (size_t i = 0; i < count; ++i) names.append(to_parameter_name(staged_->fault_name(kind, i)));
  return names;
}

nb::dict Staged::report() const { return to_dict(staged_->module(), staged_->report()); }

void Staged::verify() {
  Status status;
  {
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock turn(mutex_);
    status = staged_->verify();
  }
  check(status);
}

void Staged::commit() {
  Status status;
  {
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock turn(mutex_);
    status = staged_->commit();
  }
  check(status);
}

void Staged::abort() {
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock turn(mutex_);
  staged_->abort();
}

void define_staged(nb::module_& module) {
  nb::class_<Staged>(module, "Staged")
      .def_prop_ro("generation", &Staged::generation)
      .def("missing", [](const Staged& self) { return self.fault_names(StagedParameters::Fault::Missing); })
      .def("unexpected", [](const Staged& self) { return self.fault_names(StagedParameters::Fault::Unexpected); })
      .def("mismatched", [](const Staged& self) { return self.fault_names(StagedParameters::Fault::Mismatched); })
      .def("report", &Staged::report)
      .def("verify", &Staged::verify)
      .def("commit", &Staged::commit)
      .def("abort", &Staged::abort);
  module.def("stage_file", &stage_file, nb::arg("module"), nb::arg("path"));
  module.def("stage_dict", &stage_dict, nb::arg("module"), nb::arg("tensors"));
  module.def("generation", [](const LoadedModule& self) { return self.module->parameter_sets().current_number(); });
  module.def("rollback", [](const LoadedModule& self, uint64_t number) { check(self.module->parameter_sets().rollback(number)); });
  module.def("report_memory", &report_memory);
}

}  // namespace tiffin::python
