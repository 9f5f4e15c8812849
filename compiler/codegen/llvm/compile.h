// SPDX-License-Identifier: Apache-2.0
// Kernels to machine code: kernel IR, LLVM IR, one object per kernel, linked in this process into one position-independent blob.
#pragma once

#include <span>
#include <stop_token>
#include <string>

#include "base/status.h"
#include "compiler/codegen/target.h"
#include "compiler/kernel/ir.h"

namespace tiffin::codegen {

struct CodegenOptions {
  int threads = 1;          // the bytes do not depend on it
  bool optimise = true;     // false: only what the back end needs; the same results, slower code
  std::string dump_folder;  // if not empty: NNN_name.kernel, .ll and .o of every kernel; the folder exists
  std::stop_token stop;     // a request ends the work after the kernels begun, with Cancelled
};

// Verifies and compiles the kernels, built for `target`. Internal for a kernel that the verifier refuses or code that needs a library or a
// relocation, naming it. May be called from several threads; calls run one after the other, because LLVM's and LLD's options are global.
Result<CodeBlob> compile_kernels(std::span<const kernel::Kernel* const> kernels, const Target& target, const CodegenOptions& options);

}  // namespace tiffin::codegen
