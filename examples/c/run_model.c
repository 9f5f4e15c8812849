/* SPDX-License-Identifier: Apache-2.0
 * Runs an artifact on inputs of zeros and prints what comes out: run_model MODEL.so. Links the runtime only. */
#include <stdio.h>
#include <stdlib.h>
#include <tiffin/tiffin.h>

/* Prints a failure, frees it, and says whether there was one. */
static int failed(tiffin_status* status) {
  if (status == NULL) return 0;
  fprintf(stderr, "%s: %s\n  remedy: %s\n", tiffin_status_code(status), tiffin_status_message(status), tiffin_status_remedy(status));
  tiffin_status_free(status);
  return 1;
}

static int set_zeros(tiffin_executor* executor, size_t index) {
  tiffin_tensor_spec spec = {.struct_bytes = sizeof(spec)};
  if (failed(tiffin_executor_get_input_spec(executor, index, &spec))) return 1;
  void* zeros = calloc(1, spec.bytes > 0 ? spec.bytes : 1);
  if (zeros == NULL) return 1;
  DLTensor tensor = {.data = zeros, .device = {kDLCPU, 0}, .ndim = spec.ndim, .dtype = spec.dtype, .shape = (int64_t*)spec.shape};
  const int is_failed = failed(tiffin_executor_set_input(executor, index, &tensor)); /* copies */
  free(zeros);
  return is_failed;
}

static int print_output(tiffin_executor* executor, size_t index) {
  tiffin_tensor_spec spec = {.struct_bytes = sizeof(spec)};
  DLTensor tensor;
  if (failed(tiffin_executor_get_output_spec(executor, index, &spec))) return 1;
  if (failed(tiffin_executor_get_output(executor, index, &tensor))) return 1;
  printf("%s: %s", spec.name, spec.dtype_name);
  for (int32_t axis = 0; axis < spec.ndim; ++axis) printf("%c%lld", axis == 0 ? '[' : ',', (long long)spec.shape[axis]);
  printf("%s", spec.ndim > 0 ? "]" : "");
  if (spec.dtype.code == kDLFloat && spec.dtype.bits == 32 && spec.bytes > 0) printf(", the first element is %g", (double)*(const float*)tensor.data);
  printf("\n");
  return 0;
}

int main(int count, char** words) {
  if (count != 2) return fprintf(stderr, "usage: run_model MODEL.so\n"), 2;
  tiffin_module* module = NULL;
  tiffin_executor* executor = NULL;
  int is_failed = failed(tiffin_module_load_file(TIFFIN_ABI_VERSION, words[1], NULL, &module)) ||
                  failed(tiffin_executor_create(module, "default", NULL, &executor));
  for (size_t i = 0; !is_failed && i < tiffin_executor_input_count(executor); ++i) is_failed = set_zeros(executor, i);
  if (!is_failed) is_failed = failed(tiffin_executor_run(executor));
  for (size_t i = 0; !is_failed && i < tiffin_executor_output_count(executor); ++i) is_failed = print_output(executor, i);
  tiffin_executor_free(executor);
  tiffin_module_free(module);
  return is_failed;
}
