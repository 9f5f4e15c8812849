/* SPDX-License-Identifier: Apache-2.0
 * Tiffin's C API: load an artifact, run it, look into it. C11, stable ABI.
 *
 *   tiffin_module* module;
 *   tiffin_executor* executor;
 *   DLTensor y;
 *   tiffin_status* status = tiffin_module_load_file(TIFFIN_ABI_VERSION, "mlp.so", NULL, &module);
 *   if (status == NULL) status = tiffin_executor_create(module, "default", NULL, &executor);
 *   if (status == NULL) status = tiffin_executor_set_input_by_name(executor, "data", &x);
 *   if (status == NULL) status = tiffin_executor_run(executor);
 *   if (status == NULL) status = tiffin_executor_get_output(executor, 0, &y);
 *
 * A function that can fail returns NULL on success, else a status that the caller frees; its out parameters are then unchanged. Nothing throws,
 * prints, aborts or reads environment variables. Strings are NUL-terminated UTF-8, borrowed from the object that gave them. Modules may be
 * used from many threads; every other object from one at a time. A structure that crosses has its size in its first field: the caller writes
 * sizeof there, and fields behind that size are neither read nor written. */
#ifndef TIFFIN_TIFFIN_H
#define TIFFIN_TIFFIN_H

#include <stddef.h>
#include <stdint.h>

#include "abi/system_lib.h"
#include "abi/tensor.h"
#include "abi/version.h"

#ifdef __cplusplus
#define TIFFIN_NOEXCEPT noexcept
extern "C" {
#else
#define TIFFIN_NOEXCEPT
#endif

#define TIFFIN_EXPORT __attribute__((visibility("default")))

typedef struct tiffin_status tiffin_status;
typedef struct tiffin_module tiffin_module;
typedef struct tiffin_executor tiffin_executor;
typedef struct tiffin_params tiffin_params;
typedef struct tiffin_staged tiffin_staged;
typedef struct tiffin_keys tiffin_keys;

/* ---- status ---- */

/* The code's name, for example "ShapeMismatch"; "Ok" for NULL. */
TIFFIN_EXPORT const char* tiffin_status_code(const tiffin_status* status) TIFFIN_NOEXCEPT;
/* What failed, the actual value, the expected one; "" for NULL. */
TIFFIN_EXPORT const char* tiffin_status_message(const tiffin_status* status) TIFFIN_NOEXCEPT;
/* What can be done about it; "" for NULL. */
TIFFIN_EXPORT const char* tiffin_status_remedy(const tiffin_status* status) TIFFIN_NOEXCEPT;
/* What programs read: keys with values. A key that comes several times holds a list, and so does one whose out_is_listed is 1. */
TIFFIN_EXPORT size_t tiffin_status_detail_count(const tiffin_status* status) TIFFIN_NOEXCEPT;
/* The entry at `index`, which is below that count; texts are owned by the status. Any out pointer may be NULL. */
TIFFIN_EXPORT void tiffin_status_detail(const tiffin_status* status, size_t index, const char** out_key, const char** out_value,
                                        int* out_is_listed) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT void tiffin_status_free(tiffin_status* status) TIFFIN_NOEXCEPT;

/* The library's version, for example "0.1.0", and the ABI it implements. */
TIFFIN_EXPORT const char* tiffin_runtime_version(void) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT uint32_t tiffin_runtime_abi_version(void) TIFFIN_NOEXCEPT;

/* ---- report ---- */

typedef struct tiffin_report_phase {
  const char* name;
  uint64_t ns;
} tiffin_report_phase;

/* A variant of the artifact, and why it is not the one that runs; reason is "" for the one that is. */
typedef struct tiffin_report_variant {
  const char* target;
  const char* reason;
} tiffin_report_variant;

/* What loading and binding did. Its texts live as long as the module. */
typedef struct tiffin_report {
  size_t struct_bytes;
  const char* variant;     /* the target whose code was chosen */
  uint64_t mapped_bytes;   /* used in the file's own pages */
  uint64_t copied_bytes;   /* copied into private memory */
  uint64_t repacked_bytes; /* made from parameters in private memory */
  size_t fallback_count;
  const char* const* fallbacks; /* every deviation from the fast way, in words */
  size_t phase_count;
  const tiffin_report_phase* phases;
  size_t variant_count;
  const tiffin_report_variant* variants; /* every one; none in libtiffin_runtime_core.so, whose files have one */
} tiffin_report;

/* Where the weights of all models of this process lie; each byte counts once, however many modules and executors use it. */
typedef struct tiffin_memory_report {
  size_t struct_bytes;
  size_t set_count;       /* parameter sets alive */
  uint64_t unique_bytes;  /* what they would take if no content were stored twice */
  uint64_t shared_bytes;  /* in pages of files, which all processes that map the file share; or in the caller's memory */
  uint64_t private_bytes; /* in memory of this process alone */
} tiffin_memory_report;

/* Safe at any time from any thread. Not in libtiffin_runtime_core.so. */
TIFFIN_EXPORT tiffin_status* tiffin_report_memory(tiffin_memory_report* out_report) TIFFIN_NOEXCEPT;

/* ---- module ---- */

enum {
  TIFFIN_VERIFY_CODE = 0, /* hash program, code and constants; the default */
  TIFFIN_VERIFY_NONE = 1, /* check structures only */
  TIFFIN_VERIFY_ALL = 2   /* hash the weights too */
};

/* What an artifact may bring along that this process will execute. */
enum {
  TIFFIN_TRUST_NATIVE = 0, /* its code */
  TIFFIN_TRUST_DATA = 1,   /* none: only a variant whose kernels are data, which is interpreted; NotTrusted or NoVariant without one */
  TIFFIN_TRUST_SIGNED = 2  /* its code, if one of `keys` signed it: checked before anything else is read, then as TIFFIN_VERIFY_ALL; code is copied
                              into  private memory and hashed there before it becomes executable. NotTrusted, SignatureInvalid */
};

/* Public keys whose signatures are believed, as 'tiffin keys new' and OpenSSL write them: Ed25519, PEM. The result may be used from many threads.
 * Io, InvalidArgument (no such key), NotTrusted (a build without signatures). Not in libtiffin_runtime_core.so, which trusts no key. */
TIFFIN_EXPORT tiffin_status* tiffin_keys_load(uint32_t abi_version, const char* const* paths, size_t count, tiffin_keys** out_keys) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT void tiffin_keys_free(tiffin_keys* keys) TIFFIN_NOEXCEPT;

typedef struct tiffin_load_options {
  size_t struct_bytes;
  int32_t verify;
  int32_t copy;   /* not 0: code and weights, those of a parameter file that is given later too, into private memory */
  int32_t strict; /* not 0: a fallback is an error, Strict, when the artifact is loaded and when parameters are given or staged */
  int32_t trust;
  const tiffin_keys* keys; /* of TIFFIN_TRUST_SIGNED; used during the call only */
  uint64_t min_release;    /* of TIFFIN_TRUST_SIGNED: a signature with a smaller release number is NotTrusted */
} tiffin_load_options;

/* Loads an artifact and prepares its code for this machine. `abi_version` is TIFFIN_ABI_VERSION as the caller was compiled with; `options` may
 * be NULL. Io, NotAnArtifact, Truncated, FormatTooNew, FormatTooOld, AbiMismatch, DigestMismatch, NoVariant, MissingCpuFeature, OutOfMemory, Strict.
 */
TIFFIN_EXPORT tiffin_status* tiffin_module_load_file(uint32_t abi_version, const char* path, const tiffin_load_options* options,
                                                     tiffin_module** out_module) TIFFIN_NOEXCEPT;
/* The same of [offset, offset + length) of an open regular file; length 0 means to its end. The caller may close the descriptor afterwards. */
TIFFIN_EXPORT tiffin_status* tiffin_module_load_descriptor(uint32_t abi_version, int descriptor, uint64_t offset, uint64_t length,
                                                           const tiffin_load_options* options, tiffin_module** out_module) TIFFIN_NOEXCEPT;
/* The same of memory, which must outlive the module and its executors; weights at a multiple of 64 bytes are used where they lie. */
TIFFIN_EXPORT tiffin_status* tiffin_module_load_memory(uint32_t abi_version, const void* bytes, size_t length, const tiffin_load_options* options,
                                                       tiffin_module** out_module) TIFFIN_NOEXCEPT;
/* The same of a model that is linked into the program: `tiffin export --system-lib OUT.a --header OUT.h` writes the library and the header that
 * declares the table, as NAME_tiffin. Code, constants and weights are used where they lie; no file is opened. AbiMismatch for a table of another
 * version. Not in libtiffin_runtime_core.so. */
TIFFIN_EXPORT tiffin_status* tiffin_module_load_system_lib(uint32_t abi_version, const tiffin_system_lib* library, const tiffin_load_options* options,
                                                           tiffin_module** out_module) TIFFIN_NOEXCEPT;
/* Drops the caller's reference; executors and parameters keep what they need. NULL is allowed, here and in every _free. */
TIFFIN_EXPORT void tiffin_module_free(tiffin_module* module) TIFFIN_NOEXCEPT;

/* The functions that can be called: the names of the model's entries. */
TIFFIN_EXPORT size_t tiffin_module_function_count(const tiffin_module* module) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT const char* tiffin_module_function_name(const tiffin_module* module, size_t index) TIFFIN_NOEXCEPT; /* NULL beyond the last */
/* MissingFunction, with the names there are. */
TIFFIN_EXPORT tiffin_status* tiffin_module_find_function(const tiffin_module* module, const char* name, size_t* out_index) TIFFIN_NOEXCEPT;

/* The model's own tensors, of the current generation. MissingParam for a weightless module before the first commit. */
TIFFIN_EXPORT tiffin_status* tiffin_module_get_params(const tiffin_module* module, tiffin_params** out_params) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT tiffin_status* tiffin_module_get_report(const tiffin_module* module, tiffin_report* out_report) TIFFIN_NOEXCEPT;

/* ---- params: named tensors. Not in libtiffin_runtime_core.so: these functions, tiffin_module_get_params, tiffin_executor_get_params and
 * tiffin_executor_set_params; parameter files other than .tfw are declined there. ---- */

/* Opens a parameter file: safetensors, TVM's .params or .tfw; the contents decide which. */
TIFFIN_EXPORT tiffin_status* tiffin_params_load_file(uint32_t abi_version, const char* path, tiffin_params** out_params) TIFFIN_NOEXCEPT;
/* The same of memory, which must outlive the result. */
TIFFIN_EXPORT tiffin_status* tiffin_params_load_memory(uint32_t abi_version, const void* bytes, size_t length,
                                                       tiffin_params** out_params) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT size_t tiffin_params_count(const tiffin_params* params) TIFFIN_NOEXCEPT;
/* Name and value of one tensor, borrowed, read-only and compact. InvalidArgument, UnsupportedType (a type that DLPack lacks), OutOfMemory. */
TIFFIN_EXPORT tiffin_status* tiffin_params_get(tiffin_params* params, size_t index, const char** out_name, DLTensor* out_tensor) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT void tiffin_params_free(tiffin_params* params) TIFFIN_NOEXCEPT;

/* ---- params of a whole module that change while it runs. Not in libtiffin_runtime_core.so.
 *
 *   tiffin_staged* staged;
 *   tiffin_status* status = tiffin_params_stage_file(module, "new.tfw", &staged);
 *   if (status == NULL) status = tiffin_staged_verify(staged);
 *   if (status == NULL) status = tiffin_staged_commit(staged);
 *   tiffin_staged_free(staged);
 *
 * Each set has a number, its generation: embedded weights have 1, and every call that stages takes the next one. Executors without parameters of
 * their own use the current generation: the one that was current when their run began, to that run's end. The current and the previous one are kept;
 * others are freed as soon as no run uses them. These functions may be called from any thread while others run; a tiffin_staged belongs to one. ----
 */

/* Opens, checks and prepares a complete set of other values; nothing runs on it yet. Faults of single parameters are no failure here: they are listed
 * by tiffin_staged_fault_name and refuse the commit. A .tfw of the same storage plan is mapped, read into the page cache and not copied.
 * Io, Truncated, InvalidParams, DigestMismatch, FormatTooNew, UnsupportedType, OutOfMemory. */
TIFFIN_EXPORT tiffin_status* tiffin_params_stage_file(tiffin_module* module, const char* path, tiffin_staged** out_staged) TIFFIN_NOEXCEPT;
/* The same of tensors, which are read during the call only. */
TIFFIN_EXPORT tiffin_status* tiffin_params_stage_tensors(tiffin_module* module, const char* const* names, const DLTensor* tensors, size_t count,
                                                         tiffin_staged** out_staged) TIFFIN_NOEXCEPT;
/* The current generation; 0 for a weightless module before the first commit. */
TIFFIN_EXPORT uint64_t tiffin_params_generation(const tiffin_module* module) TIFFIN_NOEXCEPT;
/* Makes a kept generation the current one; what was current is then the previous one. StaleGeneration for one that is not kept. */
TIFFIN_EXPORT tiffin_status* tiffin_params_rollback(tiffin_module* module, uint64_t generation) TIFFIN_NOEXCEPT;

enum {
  TIFFIN_PARAMS_MISSING = 0,    /* the model has it, the set does not */
  TIFFIN_PARAMS_UNEXPECTED = 1, /* the set has it, the model does not */
  TIFFIN_PARAMS_MISMATCHED = 2  /* other type or shape, or other values of a frozen parameter */
};

/* The number that the set has, or will have, as the current one. */
TIFFIN_EXPORT uint64_t tiffin_staged_generation(const tiffin_staged* staged) TIFFIN_NOEXCEPT;
/* How many parameters have a fault of that kind, and their names; NULL beyond the last. */
TIFFIN_EXPORT size_t tiffin_staged_fault_count(const tiffin_staged* staged, int kind) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT const char* tiffin_staged_fault_name(const tiffin_staged* staged, int kind, size_t index) TIFFIN_NOEXCEPT;
/* What staging did: bytes mapped, copied, repacked. */
TIFFIN_EXPORT tiffin_status* tiffin_staged_get_report(const tiffin_staged* staged, tiffin_report* out_report) TIFFIN_NOEXCEPT;
/* Hashes all values again and compares them with the digests taken or read when staging: DigestMismatch; for a set with faults as commit. Then runs
 * the artifact's golden cases, if it has any, on the set: GoldenMismatch, which does not keep it from being committed. */
TIFFIN_EXPORT tiffin_status* tiffin_staged_verify(tiffin_staged* staged) TIFFIN_NOEXCEPT;
/* Makes the set the current one by exchanging one pointer, and does not wait for runs. A set with faults is refused with the first present of
 * MissingParam, UnknownParam, ParamTypeMismatch, ParamShapeMismatch, ParamDigestMismatch; a second time, or after an abort, InvalidArgument. */
TIFFIN_EXPORT tiffin_status* tiffin_staged_commit(tiffin_staged* staged) TIFFIN_NOEXCEPT;
/* Lets the set go without a commit; no effect after one. */
TIFFIN_EXPORT void tiffin_staged_abort(tiffin_staged* staged) TIFFIN_NOEXCEPT;
/* Frees the handle; a set that was not committed is let go. */
TIFFIN_EXPORT void tiffin_staged_free(tiffin_staged* staged) TIFFIN_NOEXCEPT;

/* ---- executor ---- */

typedef struct tiffin_executor_options {
  size_t struct_bytes;
  int32_t threads; /* that compute, the caller included; 0 is as many as cores may be used. Default 1; the bits do not depend on it */
} tiffin_executor_options;

/* What an input or output must be; borrowed from the executor. */
typedef struct tiffin_tensor_spec {
  size_t struct_bytes;
  const char* name;
  const char* dtype_name; /* as numpy spells it */
  DLDataType dtype;
  int32_t ndim;
  const int64_t* shape;
  uint64_t bytes; /* of the compact tensor */
} tiffin_tensor_spec;

/* Time in one step of the network since profiling was switched on. */
typedef struct tiffin_step_profile {
  size_t struct_bytes;
  const char* label; /* the graph nodes it computes */
  const char* kernel;
  uint64_t ns; /* of all profiled runs together */
  uint64_t runs;
} tiffin_step_profile;

/* Allocates all memory that runs take. `options` may be NULL. MissingFunction, InvalidArgument, OutOfMemory. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_create(tiffin_module* module, const char* function_name, const tiffin_executor_options* options,
                                                    tiffin_executor** out_executor) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT void tiffin_executor_free(tiffin_executor* executor) TIFFIN_NOEXCEPT;

TIFFIN_EXPORT size_t tiffin_executor_input_count(const tiffin_executor* executor) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT size_t tiffin_executor_output_count(const tiffin_executor* executor) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT tiffin_status* tiffin_executor_get_input_spec(const tiffin_executor* executor, size_t index,
                                                            tiffin_tensor_spec* out_spec) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT tiffin_status* tiffin_executor_get_output_spec(const tiffin_executor* executor, size_t index,
                                                             tiffin_tensor_spec* out_spec) TIFFIN_NOEXCEPT;
/* UnknownInput, with the nearest name. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_find_input(const tiffin_executor* executor, const char* name, size_t* out_index) TIFFIN_NOEXCEPT;

/* Copies the tensor, whatever its strides. TypeMismatch, ShapeMismatch, DeviceUnavailable, InvalidArgument. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_set_input(tiffin_executor* executor, size_t index, const DLTensor* tensor) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT tiffin_status* tiffin_executor_set_input_by_name(tiffin_executor* executor, const char* name, const DLTensor* tensor) TIFFIN_NOEXCEPT;
/* Uses the caller's memory without a copy until another tensor is given; it must be compact and aligned to 64 bytes, and no output may overlap an
 * input or another output: a run writes outputs before it has read all inputs. InvalidArgument. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_bind_input(tiffin_executor* executor, size_t index, const DLTensor* tensor) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT tiffin_status* tiffin_executor_bind_output(tiffin_executor* executor, size_t index, const DLTensor* tensor) TIFFIN_NOEXCEPT;

/* Parameters for this executor alone. All are checked at once, by name, type, shape and digest; `new_weights` not 0 leaves the digests out.
 * MissingParam, UnknownParam, ParamTypeMismatch, ParamShapeMismatch, ParamDigestMismatch, InvalidParams. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_load_params_file(tiffin_executor* executor, const char* path, int new_weights) TIFFIN_NOEXCEPT;
/* The memory must outlive the executor. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_load_params_memory(tiffin_executor* executor, const void* bytes, size_t length,
                                                                int new_weights) TIFFIN_NOEXCEPT;
/* Some or all parameters; those not given stay as they are. The tensors are read during the call only. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_set_params(tiffin_executor* executor, const char* const* names, const DLTensor* tensors, size_t count,
                                                        int new_weights) TIFFIN_NOEXCEPT;
/* The model's own tensors, as this executor uses them. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_get_params(const tiffin_executor* executor, tiffin_params** out_params) TIFFIN_NOEXCEPT;

/* MissingParam, UnsetInput, IndexOutOfRange. Allocates nothing and takes no lock. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_run(tiffin_executor* executor) TIFFIN_NOEXCEPT;
/* A view of an output, valid until the next run. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_get_output(const tiffin_executor* executor, size_t index, DLTensor* out_tensor) TIFFIN_NOEXCEPT;

/* Measures every step from now on, or no longer. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_set_profiling(tiffin_executor* executor, int is_on) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT size_t tiffin_executor_step_count(const tiffin_executor* executor) TIFFIN_NOEXCEPT;
TIFFIN_EXPORT tiffin_status* tiffin_executor_get_step_profile(const tiffin_executor* executor, size_t index,
                                                              tiffin_step_profile* out_profile) TIFFIN_NOEXCEPT;
/* The module's report with what this executor's parameters added. */
TIFFIN_EXPORT tiffin_status* tiffin_executor_get_report(const tiffin_executor* executor, tiffin_report* out_report) TIFFIN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
