// SPDX-License-Identifier: Apache-2.0
// Parameters between Python's dictionaries and the runtime's sources.
#pragma once

#include <nanobind/nanobind.h>

#include <deque>
#include <string>
#include <vector>

#include "base/params/param_source.h"
#include "runtime/executor/parameter_view.h"

namespace tiffin::python {

namespace nb = nanobind;

// The parameters of a dictionary of names and Tensors, which outlives this.
class DictSource {
 public:
  explicit DictSource(const nb::dict& tensors);
  params::ParamSource source() const { return {entries_}; }
  size_t size() const { return entries_.size(); }

 private:
  std::deque<std::string> names_;
  std::deque<std::vector<uint8_t>> copies_;
  std::vector<params::ParamEntry> entries_;
};

// All tensors of a view, which is taken over; they and `memory` live as long as any of the tensors.
nb::dict to_dict(runtime::ParameterView* view, nb::object memory);

// load_param_dict and save_param_dict.
void define_params(nb::module_& module);

}  // namespace tiffin::python
