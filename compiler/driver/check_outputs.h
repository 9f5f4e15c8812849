// SPDX-License-Identifier: Apache-2.0
// Keeps the compiler from writing over what it reads: the model, the files that hold its tensors, those that travel with it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace tiffin::driver {

// The model and the external data that it names, as absolute paths: the same files whatever becomes of the working directory. A model that cannot be
// read names none.
std::vector<std::string> files_of_model(const std::string& model);

// InvalidArgument for an output that is one of `inputs`, or another output, under whatever name or link. Empty outputs stand for none.
Status check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

// InvalidArgument when a dump into the folder could replace one of `inputs`: it lies there under a name such as dumps write.
Status check_dump_folder(const std::string& folder, const std::vector<std::string>& inputs);

}  // namespace tiffin::driver
