// SPDX-License-Identifier: Apache-2.0
// Kernel IR as text, for people, dumps and tests, and as the key that finds equal kernels. docs/architecture/kernel_ir.md shows the form.
#pragma once

#include <string>

#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

// The whole kernel, one statement a line. Equal kernels give equal texts: variables are numbered in the order of their declaration.
std::string print(const Kernel& kernel);

// One expression, as it stands in the text.
std::string print(Expr expr);

// The text without the kernel's, the buffers' and the variables' names: equal keys mean kernels that compute the same in the same way.
std::string structural_key(const Kernel& kernel);

const char* name_of(UnaryOp op);
const char* name_of(BinaryOp op);

}  // namespace tiffin::kernel
