// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/llvm/compile.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "abi/artifact.h"
#include "abi/version.h"
#include "compiler/codegen/llvm/link.h"
#include "compiler/codegen/llvm/object.h"
#include "compiler/kernel/printer.h"
#include "compiler/kernel/serialize.h"
#include "compiler/kernel/verifier.h"

namespace tiffin::codegen {
namespace {

std::string symbol_of(size_t index) { return "tiffin_kernel_" + std::to_string(index); }

Status write_file(const std::string& path, const char* bytes, size_t size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return error(Code::Io, "'%s' could not be created", path.c_str());
  const bool is_written = std::fwrite(bytes, 1, size, file) == size;
  if (std::fclose(file) != 0 || !is_written) return error(Code::Io, "'%s' could not be written", path.c_str());
  return {};
}

// "FOLDER/007_conv2d" for dumps; characters that a file name should not have become '_'.
std::string dump_stem(const std::string& folder, size_t index, const std::string& name) {
  char number[24];
  std::snprintf(number, sizeof number, "%03zu_", index);
  std::string stem;
  for (const char c : name.substr(0, 100)) stem += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ? c : '_';
  return folder + "/" + number + stem;
}

Result<ObjectBytes> compile_one(const kernel::Kernel& kernel, size_t index, const Target& target, const CodegenOptions& options) {
  TIFFIN_TRY(kernel::verify(kernel));
  if (kernel.has_fma != target.machine.has_fma && kernel.has_fma) {
    return error(Code::Internal, "kernel '%s' is built for a target with FMA, '%s' has none", kernel.name.c_str(), target.text.c_str());
  }
  if (options.dump_folder.empty()) return compile_object(kernel, symbol_of(index), target, options.optimise, nullptr);
  const std::string stem = dump_stem(options.dump_folder, index, kernel.name), text = kernel::print(kernel);
  TIFFIN_TRY(write_file(stem + ".kernel", text.data(), text.size()));
  std::string ir;
  TIFFIN_ASSIGN_OR_RETURN(ObjectBytes object, compile_object(kernel, symbol_of(index), target, options.optimise, &ir));
  TIFFIN_TRY(write_file(stem + ".ll", ir.data(), ir.size()));
  TIFFIN_TRY(write_file(stem + ".o", object.data(), object.size()));
  return object;
}

// One module and context per kernel, so that neither the number of threads nor their speed shows in the bytes.
Status compile_all(std::span<const kernel::Kernel* const> kernels, const Target& target, const CodegenOptions& options,
                   std::vector<ObjectBytes>& objects) {
  std::vector<Status> failures(kernels.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < kernels.size() && !options.stop.stop_requested(); i = next++) {
      Result<ObjectBytes> object = compile_one(*kernels[i], i, target, options);
      if (object.has_value()) {
        objects[i] = std::move(object).value();
      } else {
        failures[i] = object.take_error();
      }
    }
  };
  std::vector<std::thread> threads;
  const size_t count = std::min<size_t>(static_cast<size_t>(std::max(options.threads, 1)), kernels.size());
  for (size_t i = 1; i < count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (Status& failure : failures) TIFFIN_TRY(std::move(failure));
  if (options.stop.stop_requested()) return error(Code::Cancelled, "the compilation was interrupted");
  return {};
}

// The records of kernels that stay data.
Result<CodeBlob> serialize_kernels(std::span<const kernel::Kernel* const> kernels) {
  CodeBlob blob;
  for (const kernel::Kernel* kernel : kernels) {
    TIFFIN_TRY(kernel::verify(*kernel));
    TIFFIN_ASSIGN_OR_RETURN(const std::vector<uint8_t> record, kernel::serialize_kernel(*kernel));
    blob.functions.push_back({blob.bytes.size(), record.size()});
    blob.bytes.insert(blob.bytes.end(), record.begin(), record.end());
  }
  return blob;
}

}  // namespace

Result<CodeBlob> compile_kernels(std::span<const kernel::Kernel* const> kernels, const Target& target, const CodegenOptions& options) {
  if (target.is_portable()) return serialize_kernels(kernels);
  static std::mutex one_at_a_time;  // LLVM's options and LLD's state are process-wide
  const std::lock_guard lock(one_at_a_time);
  TIFFIN_TRY(prepare_llvm());
  std::vector<ObjectBytes> objects(kernels.size());
  TIFFIN_TRY(compile_all(kernels, target, options, objects));
  std::vector<std::string> symbols;
  for (size_t i = 0; i < kernels.size(); ++i) symbols.push_back(symbol_of(i));
  TIFFIN_ASSIGN_OR_RETURN(ObjectBytes query, compile_query(target));
  objects.push_back(std::move(query));
  return link_objects(objects, symbols, target);
}

}  // namespace tiffin::codegen
