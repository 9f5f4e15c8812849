// SPDX-License-Identifier: Apache-2.0
// One function to one object file with LLVM: module set-up, the few passes that pay, the back end.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/codegen/llvm/link.h"
#include "compiler/codegen/target.h"
#include "compiler/kernel/ir.h"

namespace tiffin::codegen {

// Registers LLVM's targets and sets its options. Needed before compiling and again after every link, which resets the options.
Status prepare_llvm();

// A verified kernel as the function `symbol`. `ir`, if not null, gets the LLVM IR that the back end sees.
Result<ObjectBytes> compile_object(const kernel::Kernel& kernel, const std::string& symbol, const Target& target, bool optimise, std::string* ir);

// The query function of abi/artifact.h, for the architecture's baseline CPU.
Result<ObjectBytes> compile_query(const Target& target);

}  // namespace tiffin::codegen
