// SPDX-License-Identifier: Apache-2.0
// Parameters of a whole module that change while it runs, as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>

#include "python/bindings/module.h"
#include "runtime/executor/staged_parameters.h"

namespace tiffin::python {

namespace nb = nanobind;

class Staged {
 public:
  // Takes `staged` over; `memory` is the module's.
  Staged(runtime::StagedParameters* staged, nb::object memory) : memory_(std::move(memory)), staged_(staged) {}
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  ~Staged() { runtime::StagedParameters::destroy(staged_); }

  uint64_t generation() const { return staged_->generation(); }
  nb::list fault_names(runtime::StagedParameters::Fault kind) const;
  nb::dict report() const;
  void verify();
  void commit();
  void abort();

 private:
  nb::object memory_;
  runtime::StagedParameters* staged_;
  std::mutex mutex_;  // verify works without the interpreter's lock
};

// tiffin._runtime.Staged, and the functions that stage.
void define_staged(nb::module_& module);

}  // namespace tiffin::python
