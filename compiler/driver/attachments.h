// SPDX-License-Identifier: Apache-2.0
// Files that travel with a model: libraries and any others that the user names, and the kernels as text.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/artifact/contents.h"
#include "compiler/plan/plan.h"

namespace tiffin::driver {

// Reads the files, each under its own name. Io; InvalidArgument for a library that is no ELF shared object.
Status attach_files(const std::vector<std::string>& libraries, const std::vector<std::string>& files, artifact::Contents& contents);

// The kernel IR of variant `index` as text.
artifact::Attachment kernel_sources(const plan::Plan& plan, size_t index);

}  // namespace tiffin::driver
