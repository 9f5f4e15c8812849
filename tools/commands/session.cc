// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/session.h"

#include <cstring>
#include <optional>

#include "base/params/param_file.h"
#include "runtime/artifact/signature.h"
#include "runtime/host/clock.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/open_artifact.h"

namespace tiffin::tools {
namespace {

double milliseconds_since(uint64_t start) { return static_cast<double>(runtime::now_ns() - start) * 1e-6; }

// Contents decide; only what is no artifact is a model by its suffix.
bool is_model(const char* path) {
  const std::string_view text = path;
  return text.ends_with(".onnx") && !is_artifact_file(path);
}

Status check_device(const char* device) {
  if (device == nullptr || strcmp(device, "cpu") == 0 || strcmp(device, "cpu:0") == 0) return {};
  return error(Code::DeviceUnavailable, "device '%s' is not available, 'cpu' is", device);
}

// The entry asked for; without --entry "default", or the only one.
std::string_view entry_name(const runtime::Module& module, const char* asked) {
  if (asked != nullptr) return asked;
  const auto& entries = *module.variant().entries();
  return entries.size() == 1 ? runtime::view(entries.Get(0)->name()) : "default";
}

}  // namespace

Session::~Session() { runtime::GraphExecutor::destroy(executor_); }

Status Session::load(const Arguments& arguments, const Extensions* extensions) {
  std::optional<runtime::TrustedKeys> keys;
  if (!arguments.keys.empty()) {
    TIFFIN_ASSIGN_OR_RETURN(keys, runtime::TrustedKeys::load(arguments.keys.span()));
  }
  const runtime::SignatureDemand signature{keys.has_value() ? &*keys : nullptr, arguments.values.min_release};
  const runtime::LoadOptions options{arguments.values.verify, arguments.copy, arguments.strict, arguments.values.trust, signature};
  if (extensions != nullptr && is_model(arguments.file)) {
    TIFFIN_TRY(extensions->compile_model(arguments, {given_.begin(), given_.size()}, &compiled_));
  }
  const bool shapes_compilation = arguments.opt_level != nullptr || arguments.dims.size() + arguments.input_shapes.size() > 0;
  if (shapes_compilation && compiled_.size_bytes() == 0) {
    return error(Code::InvalidArgument, "-O, --dim and --input-shape are for models, '%s' is none", arguments.file)
        .with_remedy("give them to 'tiffin compile', which makes artifacts");
  }
  const uint64_t start = runtime::now_ns();
  if (compiled_.size_bytes() == 0) {
    TIFFIN_ASSIGN_OR_RETURN(module_, runtime::Module::load(arguments.file, options));
  } else {
    // A module in memory is copied to executable pages always: no fallback of the user's making.
    const runtime::LoadOptions in_memory{options.verify, options.copy, false, options.trust, signature};
    TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::from_memory({compiled_.bytes(), compiled_.size_bytes()}));
    TIFFIN_ASSIGN_OR_RETURN(module_, runtime::Module::load(std::move(source), in_memory));
  }
  load_ms_ = milliseconds_since(start);
  return {};
}

Status Session::bind(const Arguments& arguments) {
  const uint64_t start = runtime::now_ns();
  TIFFIN_ASSIGN_OR_RETURN(executor_,
                          runtime::GraphExecutor::create(module_, entry_name(*module_, arguments.entry), {.threads = arguments.values.threads}));
  if (arguments.params != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(params::ParamFile file, params::ParamFile::open(arguments.params));
    TIFFIN_TRY(executor_->load_parameters(std::move(file), {.new_weights = arguments.new_weights}));
  } else if (!executor_->parameters()) {
    TIFFIN_TRY(executor_->set_parameters(params::ParamSource{}, {}));  // MissingParam with all names
  }
  bind_ms_ = milliseconds_since(start);
  return {};
}

// The parameters, keys and tensors that are read, and no other file of the folders that they lie in.
Status Session::check_files(const Arguments& arguments, const Extensions* extensions, std::span<const WantedInput> wanted) const {
  TIFFIN_ASSIGN_OR_RETURN(const Array<size_t> files, assign_files({given_.begin(), given_.size()}, wanted));
  Array<const char*> read;
  bool has_memory = read.append(arguments.keys.span()) && (arguments.params == nullptr || read.append(arguments.params));
  for (const size_t file : files) has_memory = has_memory && (file == kNoFile || read.append(given_[file].path.data()));
  return has_memory ? check_outputs(*executor_, arguments, extensions, read.span()) : out_of_memory();
}

Status Session::set_inputs(const Arguments& arguments, const Extensions* extensions) {
  FixedList<WantedInput> wanted;
  TIFFIN_TRY(wanted.create(executor_->input_count()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const runtime::TensorSpec spec = executor_->input_spec(i);
    wanted[i] = {spec.name, spec.dtype, spec.shape};
  }
  TIFFIN_TRY(check_files(arguments, extensions, {wanted.begin(), wanted.size()}));
  TIFFIN_ASSIGN_OR_RETURN(const FixedList<HostTensor> tensors,
                          match_inputs({given_.begin(), given_.size()}, {wanted.begin(), wanted.size()}, arguments, extensions));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto buffer = executor_->fill_input(i);
    if (buffer.size() != tensors[i].size_bytes()) return error(Code::Internal, "input %zu has another size than its type", i);
    memcpy(buffer.data(), tensors[i].bytes(), buffer.size());
  }
  return {};
}

Status Session::open(const Arguments& arguments, const Extensions* extensions) {
  if (arguments.values.as_pb && extensions == nullptr) {
    return error(Code::InvalidArgument, "--format pb is not known to this program, npy is").with_remedy("use 'tiffin', which writes .pb too");
  }
  TIFFIN_TRY(check_device(arguments.device));
  TIFFIN_ASSIGN_OR_RETURN(given_, find_given_files(arguments));
  TIFFIN_TRY(load(arguments, extensions));
  TIFFIN_TRY(bind(arguments));
  return set_inputs(arguments, extensions);
}

}  // namespace tiffin::tools
