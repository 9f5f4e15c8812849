// SPDX-License-Identifier: Apache-2.0
// A loaded artifact as Python holds it, with the memory that it was loaded from.
#pragma once

#include <nanobind/nanobind.h>

#include "runtime/executor/module.h"

namespace tiffin::python {

namespace nb = nanobind;

struct LoadedModule {
  runtime::Ref<runtime::Module> module;
  nb::object memory;  // the bytes behind a load from memory, or none
};

// A load report under the names of the commands' JSON.
nb::dict to_dict(const runtime::Module& module, const runtime::LoadReport& report);

// tiffin._runtime.LoadedModule and the three ways to load one.
void define_module(nb::module_& module);

}  // namespace tiffin::python
