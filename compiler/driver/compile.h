// SPDX-License-Identifier: Apache-2.0
// From a model to a module that can be exported: the one entry into the compiler for the command line and Python.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::artifact {
struct Contents;
}

namespace tiffin::driver {

struct CompileOptions {
  std::vector<std::string> targets = {"llvm -mcpu=native"};  // one variant each; several only fit into a bundle
  std::string net_name;                                      // "": the file's stem
  std::string entry = "default";                             // name of the module's function
  int opt_level = 3;                                         // 0: every node its own kernel, nothing rewritten that can be left; 1 to 3: everything
  int threads = 0;                                           // that the compiler uses; 0: the cores of the affinity mask. Bytes do not depend on it
  bool embed_params = true;                                  // false: params_mode external
  std::map<std::string, int64_t> dims;                       // symbol -> size
  std::map<std::string, std::vector<int64_t>> input_shapes;  // input -> shape
  std::string dump_folder;                    // "" or a folder that gets the graph after each pass that changed it, the plan, and the kernels
  std::vector<std::string> libraries, files;  // paths of what travels with the model
  bool with_sources = false;                  // the kernels as text travel, too
  std::string stop_after;                     // name of the pass to end with: compile returns Cancelled with what is written to dump_folder
  std::vector<std::string> skip;              // names of passes to leave out
  uint32_t golden_count = 0;                  // golden cases with random inputs, which need a model file
  // If not empty: the inputs of golden cases, each with a tensor for every input of the graph, of its type. Its failure ends the compilation.
  std::function<Result<std::vector<std::vector<graph::Tensor>>>(const graph::Graph& graph)> golden_inputs;
  std::function<void(const char* stage, double fraction)> progress;  // may be empty
  std::stop_token stop;                                              // a request from any thread ends the compilation soon, with Cancelled
};

// A compiled model: code, program and the model's parameters (which may be mapped from the model file). Immutable; thread-safe.
class CompiledModule {
 public:
  struct State;
  explicit CompiledModule(std::unique_ptr<State> state);
  CompiledModule(CompiledModule&&) noexcept;
  CompiledModule& operator=(CompiledModule&&) noexcept;
  ~CompiledModule();

  // A module that was compiled from `model` before: what was read back from its `library`, and from its parameter file if the weights lie there. The
  // library is opened here; exported in its own form, its very bytes are written. Io.
  static Result<CompiledModule> reopen(artifact::Contents contents, const std::string& library, const std::string& model);

  // Writes the artifact atomically, a bundle where the path ends in .tar and a shared object otherwise: a failure or a kill leaves what was there
  // before. InvalidArgument for several variants in a shared object, and for a path that is the model's own or one that its tensors lie in.
  Status export_library(const std::string& path) const;
  // Both, or export_library alone if `params` is "". The files are complete before one of them is replaced, so no failure of writing leaves a library
  // beside parameters of another one. A kill between the two renames can: that pair is ParamDigestMismatch.
  Status export_files(const std::string& library, const std::string& params) const;
  // The bytes that export_library writes: of a shared object if one variant was compiled, else of a bundle.
  Result<std::vector<uint8_t>> to_bytes() const;
  // Writes all parameters for external use; the suffix decides: .safetensors, .params (TVM's) or .tfw. Atomic. InvalidArgument as above.
  Status export_params(const std::string& path) const;
  // The model's own tensors, in the model's order. OutOfMemory.
  Result<std::vector<std::pair<std::string, graph::Tensor>>> params() const;
  // Normalised targets and sizes for a summary line.
  std::vector<std::string> targets() const;
  uint64_t code_bytes() const;
  uint64_t weights_bytes() const;
  uint64_t arena_bytes() const;

 private:
  std::unique_ptr<State> state_;
};

// Compiles an ONNX file, or a graph as text. InvalidModel, UnsupportedOperator, UnsupportedType, UnsupportedTarget, OpenShape, ShapeMismatch, Io, …
Result<CompiledModule> compile_onnx(const std::string& path, const CompileOptions& options);

// Compiles a network built by hand or parsed from text, for one target. As above.
Result<CompiledModule> compile_graph(graph::Graph graph, const graph::ModelFacts& facts, const CompileOptions& options);

}  // namespace tiffin::driver
