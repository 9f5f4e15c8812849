// SPDX-License-Identifier: Apache-2.0
// From a program's words to a shared command, and what a program may add to them.
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/status.h"
#include "tools/commands/host_tensor.h"

namespace tiffin::tools {

struct Arguments;
struct GivenFile;

// What a program that links the compiler adds: models are compiled in memory, ONNX's .pb tensors are read and written.
struct Extensions {
  // Compiles a model file into an artifact's bytes, aligned as those of tensors are; open dimensions come from the files given, which are read then.
  Status (*compile_model)(const Arguments& arguments, std::span<GivenFile> given, HostTensor* out_artifact);
  // InvalidArgument when the output is a file that the model names.
  Status (*check_output)(const char* model, const char* output);
  Result<HostTensor> (*read_pb)(const char* path);
  Status (*write_pb)(const char* path, std::string_view name, DType dtype, std::span<const int64_t> shape, const uint8_t* bytes);
};

// True for the words that run_command knows: run, bench, inspect, doctor, verify, params, errors, devices.
bool is_shared_command(const char* word);

// Runs words[1…] as a shared command and returns the exit status: 0 done, 1 the answer is no, 2 wrong usage, 3 failed. `program` is the name that
// usage texts show; `extensions` may be null. `enclosed` is the artifact that commands read where no FILE is named; null: one has to be.
int run_command(int count, char** words, const char* program, const Extensions* extensions, const char* enclosed = nullptr);

// The same for a program that has shared commands alone: --help and --version as well.
int run_program(int count, char** words, const char* program, const Extensions* extensions, const char* enclosed = nullptr);

}  // namespace tiffin::tools
