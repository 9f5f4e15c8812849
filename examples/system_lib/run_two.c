/* SPDX-License-Identifier: Apache-2.0
 * Two models in one program, without a file system: run_two prints the first element of each model's first output, for inputs of ones.
 * The libraries and headers come from
 *   tiffin export A.so --system-lib libfirst.a --header first.h --name first
 *   tiffin export B.so --system-lib libsecond.a --header second.h --name second */
#include <stdio.h>
#include <stdlib.h>

#include "first.h"
#include "second.h"

/* Prints a failure, frees it, and says whether there was one. */
static int failed(tiffin_status* status) {
  if (status == NULL) return 0;
  fprintf(stderr, "%s: %s\n  remedy: %s\n", tiffin_status_code(status), tiffin_status_message(status), tiffin_status_remedy(status));
  tiffin_status_free(status);
  return 1;
}

/* Inputs are float32. */
static int set_ones(tiffin_executor* executor, size_t index) {
  tiffin_tensor_spec spec = {.struct_bytes = sizeof(spec)};
  if (failed(tiffin_executor_get_input_spec(executor, index, &spec))) return 1;
  float* ones = malloc(spec.bytes);
  if (ones == NULL) return 1;
  for (uint64_t i = 0; i < spec.bytes / sizeof(float); ++i) ones[i] = 1.0f;
  DLTensor tensor = {.data = ones, .device = {kDLCPU, 0}, .ndim = spec.ndim, .dtype = spec.dtype, .shape = (int64_t*)spec.shape};
  const int is_failed = failed(tiffin_executor_set_input(executor, index, &tensor)); /* copies */
  free(ones);
  return is_failed;
}

static int run(const tiffin_system_lib* library) {
  tiffin_load_options options = {.struct_bytes = sizeof(options), .strict = 1}; /* whatever is not used in place is an error */
  tiffin_module* module = NULL;
  tiffin_executor* executor = NULL;
  DLTensor output;
  int is_failed = failed(tiffin_module_load_system_lib(TIFFIN_ABI_VERSION, library, &options, &module)) ||
                  failed(tiffin_executor_create(module, "default", NULL, &executor));
  for (size_t i = 0; !is_failed && i < tiffin_executor_input_count(executor); ++i) is_failed = set_ones(executor, i);
  is_failed = is_failed || failed(tiffin_executor_run(executor)) || failed(tiffin_executor_get_output(executor, 0, &output));
  if (!is_failed) printf("%s %.9g\n", library->name, (double)*(const float*)output.data);
  tiffin_executor_free(executor);
  tiffin_module_free(module);
  return is_failed;
}

int main(void) { return run(&first_tiffin) || run(&second_tiffin); }
