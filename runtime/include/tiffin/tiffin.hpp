// SPDX-License-Identifier: Apache-2.0
// Tiffin for C++20: owning classes over tiffin.h, header only. Nothing throws; a fallible call returns Result<T>, spelled like std::expected.
//
//   auto module = tiffin::Module::load("mlp.so");
//   if (!module) return complain(module.error().message());
//   auto executor = module->create_executor("default");
//   ...
//   if (auto done = executor->set_input("data", tiffin::view<float>(values, shape)); !done) return complain(done.error().message());
//   if (auto done = executor->run(); !done) return complain(done.error().message());
//   std::span<const float> y = executor->output<float>(0).value();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tiffin/tiffin.h"

namespace tiffin {
inline namespace cpp_api {

// Why a call failed. Owns the status.
class Error {
 public:
  explicit Error(tiffin_status* status) : status_(status) {}
  std::string_view code() const { return tiffin_status_code(status_.get()); }
  std::string_view message() const { return tiffin_status_message(status_.get()); }
  std::string_view remedy() const { return tiffin_status_remedy(status_.get()); }
  // Keys and values for programs; the values of a list follow each other under the same key.
  std::vector<std::pair<std::string_view, std::string_view>> details() const {
    std::vector<std::pair<std::string_view, std::string_view>> entries(tiffin_status_detail_count(status_.get()));
    for (size_t i = 0; i < entries.size(); ++i) {
      const char *key = nullptr, *value = nullptr;
      tiffin_status_detail(status_.get(), i, &key, &value, nullptr);
      entries[i] = {key, value};
    }
    return entries;
  }

 private:
  struct Free {
    void operator()(tiffin_status* status) const { tiffin_status_free(status); }
  };
  std::unique_ptr<tiffin_status, Free> status_;
};

// A value or an Error. Reading the one that is not there is undefined.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Error failure) : content_(std::in_place_index<1>, std::move(failure)) {}
  bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return *std::get_if<0>(&content_); }
  const T& value() const& { return *std::get_if<0>(&content_); }
  T&& value() && { return std::move(*std::get_if<0>(&content_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return std::get_if<0>(&content_); }
  const T* operator->() const { return std::get_if<0>(&content_); }
  const Error& error() const { return *std::get_if<1>(&content_); }
  Error take_error() && { return std::move(*std::get_if<1>(&content_)); }

 private:
  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error failure) : failure_(std::move(failure)) {}
  bool has_value() const { return !failure_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const { return *failure_; }

 private:
  std::optional<Error> failure_;
};

namespace detail {

inline Result<void> done(tiffin_status* status) { return status == nullptr ? Result<void>() : Result<void>(Error(status)); }

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr DLDataType kType{kDLFloat, 32, 1};
};
template <>
struct TypeOf<double> {
  static constexpr DLDataType kType{kDLFloat, 64, 1};
};
template <>
struct TypeOf<bool> {
  static constexpr DLDataType kType{kDLBool, 8, 1};
};
template <>
struct TypeOf<int8_t> {
  static constexpr DLDataType kType{kDLInt, 8, 1};
};
template <>
struct TypeOf<int16_t> {
  static constexpr DLDataType kType{kDLInt, 16, 1};
};
template <>
struct TypeOf<int32_t> {
  static constexpr DLDataType kType{kDLInt, 32, 1};
};
template <>
struct TypeOf<int64_t> {
  static constexpr DLDataType kType{kDLInt, 64, 1};
};
template <>
struct TypeOf<uint8_t> {
  static constexpr DLDataType kType{kDLUInt, 8, 1};
};
template <>
struct TypeOf<uint16_t> {
  static constexpr DLDataType kType{kDLUInt, 16, 1};
};
template <>
struct TypeOf<uint32_t> {
  static constexpr DLDataType kType{kDLUInt, 32, 1};
};
template <>
struct TypeOf<uint64_t> {
  static constexpr DLDataType kType{kDLUInt, 64, 1};
};

inline std::size_t element_count(std::span<const int64_t> shape) {
  std::size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

}  // namespace detail

// A borrowed compact tensor over the caller's elements and shape. Where the shape has another number of elements the tensor has no memory, and every
// call refuses it (InvalidArgument: no data).
template <class T>
DLTensor view(std::span<T> elements, std::span<const int64_t> shape) {
  using Element = std::remove_const_t<T>;
  return {detail::element_count(shape) == elements.size() ? const_cast<Element*>(elements.data()) : nullptr,
          {kDLCPU, 0},
          static_cast<int32_t>(shape.size()),
          detail::TypeOf<Element>::kType,
          const_cast<int64_t*>(shape.data()),
          nullptr,
          0};
}

// What an input or output must be.
struct TensorSpec {
  std::string name;
  std::string dtype;  // as numpy spells it
  DLDataType type;
  std::vector<int64_t> shape;
  std::size_t bytes;
};

// Public keys whose signatures are believed.
class Keys {
 public:
  explicit Keys(tiffin_keys* handle) : handle_(handle) {}
  static Result<Keys> load(const std::vector<std::string>& paths) {
    std::vector<const char*> texts;
    for (const std::string& path : paths) texts.push_back(path.c_str());
    const char* const none = nullptr;
    tiffin_keys* handle = nullptr;
    if (tiffin_status* status = tiffin_keys_load(TIFFIN_ABI_VERSION, texts.empty() ? &none : texts.data(), texts.size(), &handle))
      return Error(status);
    return Keys(handle);
  }
  const tiffin_keys* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(tiffin_keys* keys) const { tiffin_keys_free(keys); }
  };
  std::unique_ptr<tiffin_keys, Free> handle_;
};

struct LoadOptions {
  int verify = TIFFIN_VERIFY_CODE;
  bool copy = false;    // code and weights into private memory
  bool strict = false;  // a fallback is an error
  int trust = TIFFIN_TRUST_NATIVE;
  const Keys* keys = nullptr;  // of TIFFIN_TRUST_SIGNED; borrowed for the call
  uint64_t min_release = 0;
};

// Named tensors: a model's own, or those of a parameter file.
class Params {
 public:
  struct Entry {
    std::string_view name;
    DLTensor tensor;  // borrowed, compact, read-only
  };
  explicit Params(tiffin_params* handle) : handle_(handle) {}
  static Result<Params> load(const std::string& path) {
    tiffin_params* handle = nullptr;
    if (tiffin_status* status = tiffin_params_load_file(TIFFIN_ABI_VERSION, path.c_str(), &handle)) return Error(status);
    return Params(handle);
  }
  // The memory outlives the result.
  static Result<Params> load(std::span<const std::byte> bytes) {
    tiffin_params* handle = nullptr;
    if (tiffin_status* status = tiffin_params_load_memory(TIFFIN_ABI_VERSION, bytes.data(), bytes.size(), &handle)) return Error(status);
    return Params(handle);
  }
  std::size_t size() const { return tiffin_params_count(handle_.get()); }
  Result<Entry> get(std::size_t index) const {
    const char* name = nullptr;
    DLTensor tensor{};
    if (tiffin_status* status = tiffin_params_get(handle_.get(), index, &name, &tensor)) return Error(status);
    return Entry{name, tensor};
  }
  tiffin_params* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(tiffin_params* params) const { tiffin_params_free(params); }
  };
  std::unique_ptr<tiffin_params, Free> handle_;
};

// Runs one function of a module; for one thread at a time. Keeps the module alive.
class Executor {
 public:
  explicit Executor(tiffin_executor* handle) : handle_(handle) {}

  std::size_t input_count() const { return tiffin_executor_input_count(handle_.get()); }
  std::size_t output_count() const { return tiffin_executor_output_count(handle_.get()); }
  Result<TensorSpec> input_spec(std::size_t index) const { return spec(tiffin_executor_get_input_spec, index); }
  Result<TensorSpec> output_spec(std::size_t index) const { return spec(tiffin_executor_get_output_spec, index); }

  // Copies the tensor, whatever its strides.
  Result<void> set_input(std::size_t index, const DLTensor& tensor) { return detail::done(tiffin_executor_set_input(handle_.get(), index, &tensor)); }
  Result<void> set_input(const std::string& name, const DLTensor& tensor) {
    return detail::done(tiffin_executor_set_input_by_name(handle_.get(), name.c_str(), &tensor));
  }
  // Use the caller's memory, compact and aligned to 64 bytes, without a copy; no output may overlap an input or another output.
  Result<void> bind_input(std::size_t index, const DLTensor& tensor) {
    return detail::done(tiffin_executor_bind_input(handle_.get(), index, &tensor));
  }
  Result<void> bind_output(std::size_t index, const DLTensor& tensor) {
    return detail::done(tiffin_executor_bind_output(handle_.get(), index, &tensor));
  }

  Result<void> load_params(const std::string& path, bool new_weights = false) {
    return detail::done(tiffin_executor_load_params_file(handle_.get(), path.c_str(), new_weights ? 1 : 0));
  }
  // The memory outlives the executor.
  Result<void> load_params(std::span<const std::byte> bytes, bool new_weights = false) {
    return detail::done(tiffin_executor_load_params_memory(handle_.get(), bytes.data(), bytes.size(), new_weights ? 1 : 0));
  }
  Result<void> set_params(const std::vector<std::pair<std::string, DLTensor>>& tensors, bool new_weights = false) {
    std::vector<const char*> names;
    std::vector<DLTensor> values;
    for (const auto& [name, value] : tensors) {
      names.push_back(name.c_str());
      values.push_back(value);
    }
    return detail::done(tiffin_executor_set_params(handle_.get(), names.data(), values.data(), names.size(), new_weights ? 1 : 0));
  }
  Result<Params> params() const {
    tiffin_params* params = nullptr;
    if (tiffin_status* status = tiffin_executor_get_params(handle_.get(), &params)) return Error(status);
    return Params(params);
  }

  Result<void> run() { return detail::done(tiffin_executor_run(handle_.get())); }

  // Valid until the next run.
  Result<DLTensor> output(std::size_t index) const {
    DLTensor tensor{};
    if (tiffin_status* status = tiffin_executor_get_output(handle_.get(), index, &tensor)) return Error(status);
    return tensor;
  }
  // The elements; empty when T is not their type.
  template <class T>
  Result<std::span<const T>> output(std::size_t index) const {
    auto tensor = output(index);
    if (!tensor) return Result<std::span<const T>>(std::move(tensor).take_error());
    constexpr DLDataType kType = detail::TypeOf<T>::kType;
    if (tensor->dtype.code != kType.code || tensor->dtype.bits != kType.bits) return std::span<const T>{};
    const std::span<const int64_t> shape(tensor->shape, static_cast<std::size_t>(tensor->ndim));
    return std::span<const T>(static_cast<const T*>(tensor->data), detail::element_count(shape));
  }

  // Measures every step from now on, or no longer.
  Result<void> set_profiling(bool is_on) { return detail::done(tiffin_executor_set_profiling(handle_.get(), is_on ? 1 : 0)); }
  // A step of the network in the order of execution, and its time since profiling was switched on; texts are borrowed from the executor.
  std::vector<tiffin_step_profile> profile() const {
    std::vector<tiffin_step_profile> steps(tiffin_executor_step_count(handle_.get()));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].struct_bytes = sizeof(tiffin_step_profile);
      static_cast<void>(detail::done(tiffin_executor_get_step_profile(handle_.get(), i, &steps[i])));
    }
    return steps;
  }
  // The module's report with what this executor's parameters added; borrowed from the executor.
  tiffin_report report() const {
    tiffin_report report{};
    report.struct_bytes = sizeof(report);
    static_cast<void>(detail::done(tiffin_executor_get_report(handle_.get(), &report)));
    return report;
  }
  tiffin_executor* handle() const { return handle_.get(); }

 private:
  using SpecFunction = tiffin_status* (*)(const tiffin_executor*, size_t, tiffin_tensor_spec*) noexcept;
  Result<TensorSpec> spec(SpecFunction function, std::size_t index) const {
    tiffin_tensor_spec found{};
    found.struct_bytes = sizeof(found);
    if (tiffin_status* status = function(handle_.get(), index, &found)) return Error(status);
    return TensorSpec{found.name, found.dtype_name, found.dtype, {found.shape, found.shape + found.ndim}, found.bytes};
  }
  struct Free {
    void operator()(tiffin_executor* executor) const { tiffin_executor_free(executor); }
  };
  std::unique_ptr<tiffin_executor, Free> handle_;
};

// A complete set of other values for a module; nothing runs on it before commit. Not committed, it is let go by the destructor.
class StagedParams {
 public:
  explicit StagedParams(tiffin_staged* handle) : handle_(handle) {}
  // The number that the set has, or will have, as the module's current one.
  uint64_t generation() const { return tiffin_staged_generation(handle_.get()); }
  // Names of parameters at fault; a set that has any refuses verify and commit.
  std::vector<std::string> missing() const { return names(TIFFIN_PARAMS_MISSING); }
  std::vector<std::string> unexpected() const { return names(TIFFIN_PARAMS_UNEXPECTED); }
  std::vector<std::string> mismatched() const { return names(TIFFIN_PARAMS_MISMATCHED); }
  Result<void> verify() { return detail::done(tiffin_staged_verify(handle_.get())); }
  Result<void> commit() { return detail::done(tiffin_staged_commit(handle_.get())); }
  void abort() { tiffin_staged_abort(handle_.get()); }
  tiffin_staged* handle() const { return handle_.get(); }

 private:
  std::vector<std::string> names(int kind) const {
    std::vector<std::string> found(tiffin_staged_fault_count(handle_.get(), kind));
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = tiffin_staged_fault_name(handle_.get(), kind, i);
    return found;
  }
  struct Free {
    void operator()(tiffin_staged* staged) const { tiffin_staged_free(staged); }
  };
  std::unique_ptr<tiffin_staged, Free> handle_;
};

// Where the weights of all models of this process lie.
inline tiffin_memory_report report_memory() {
  tiffin_memory_report report{};
  report.struct_bytes = sizeof(report);
  static_cast<void>(detail::done(tiffin_report_memory(&report)));
  return report;
}

// A loaded artifact. Safe to use from many threads.
class Module {
 public:
  explicit Module(tiffin_module* handle) : handle_(handle) {}

  static Result<Module> load(const std::string& path, const LoadOptions& options = {}) {
    const tiffin_load_options given = to_c(options);
    tiffin_module* handle = nullptr;
    if (tiffin_status* status = tiffin_module_load_file(TIFFIN_ABI_VERSION, path.c_str(), &given, &handle)) return Error(status);
    return Module(handle);
  }
  // [offset, offset + length) of an open file; length 0 means to its end.
  static Result<Module> load(int descriptor, uint64_t offset, uint64_t length, const LoadOptions& options = {}) {
    const tiffin_load_options given = to_c(options);
    tiffin_module* handle = nullptr;
    if (tiffin_status* status = tiffin_module_load_descriptor(TIFFIN_ABI_VERSION, descriptor, offset, length, &given, &handle)) return Error(status);
    return Module(handle);
  }
  // A model that is linked into the program, as the header of `tiffin export --system-lib` declares it.
  static Result<Module> load(const tiffin_system_lib& library, const LoadOptions& options = {}) {
    const tiffin_load_options given = to_c(options);
    tiffin_module* handle = nullptr;
    if (tiffin_status* status = tiffin_module_load_system_lib(TIFFIN_ABI_VERSION, &library, &given, &handle)) return Error(status);
    return Module(handle);
  }
  // The memory outlives the module and its executors.
  static Result<Module> load(std::span<const std::byte> bytes, const LoadOptions& options = {}) {
    const tiffin_load_options given = to_c(options);
    tiffin_module* handle = nullptr;
    if (tiffin_status* status = tiffin_module_load_memory(TIFFIN_ABI_VERSION, bytes.data(), bytes.size(), &given, &handle)) return Error(status);
    return Module(handle);
  }

  std::vector<std::string> function_names() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < tiffin_module_function_count(handle_.get()); ++i) names.emplace_back(tiffin_module_function_name(handle_.get(), i));
    return names;
  }
  // `threads` compute, the caller included; 0 means as many as cores may be used.
  Result<Executor> create_executor(const std::string& function_name = "default", int threads = 1) const {
    const tiffin_executor_options options{sizeof(tiffin_executor_options), threads};
    tiffin_executor* executor = nullptr;
    if (tiffin_status* status = tiffin_executor_create(handle_.get(), function_name.c_str(), &options, &executor)) return Error(status);
    return Executor(executor);
  }
  // The model's own tensors.
  Result<Params> params() const {
    tiffin_params* params = nullptr;
    if (tiffin_status* status = tiffin_module_get_params(handle_.get(), &params)) return Error(status);
    return Params(params);
  }

  // Other values for all parameters, while executors run: a file, or tensors that are read during the call only.
  Result<StagedParams> stage(const std::string& path) {
    tiffin_staged* staged = nullptr;
    if (tiffin_status* status = tiffin_params_stage_file(handle_.get(), path.c_str(), &staged)) return Error(status);
    return StagedParams(staged);
  }
  Result<StagedParams> stage(const std::vector<std::pair<std::string, DLTensor>>& tensors) {
    std::vector<const char*> names;
    std::vector<DLTensor> values;
    for (const auto& [name, value] : tensors) {
      names.push_back(name.c_str());
      values.push_back(value);
    }
    tiffin_staged* staged = nullptr;
    tiffin_status* status = tiffin_params_stage_tensors(handle_.get(), names.data(), values.data(), names.size(), &staged);
    if (status != nullptr) return Error(status);
    return StagedParams(staged);
  }
  // The current generation of parameters: 1 for embedded weights, 0 for none yet.
  uint64_t generation() const { return tiffin_params_generation(handle_.get()); }
  // Back to the previous generation, which is kept.
  Result<void> rollback(uint64_t generation) { return detail::done(tiffin_params_rollback(handle_.get(), generation)); }
  // Borrowed from the module.
  tiffin_report report() const {
    tiffin_report report{};
    report.struct_bytes = sizeof(report);
    static_cast<void>(detail::done(tiffin_module_get_report(handle_.get(), &report)));
    return report;
  }
  tiffin_module* handle() const { return handle_.get(); }

 private:
  static tiffin_load_options to_c(const LoadOptions& options) {
    return {sizeof(tiffin_load_options), options.verify, options.copy ? 1 : 0,
            options.strict ? 1 : 0,      options.trust,  options.keys == nullptr ? nullptr : options.keys->handle(),
            options.min_release};
  }
  struct Free {
    void operator()(tiffin_module* module) const { tiffin_module_free(module); }
  };
  std::unique_ptr<tiffin_module, Free> handle_;
};

}  // namespace cpp_api
}  // namespace tiffin
