/* SPDX-License-Identifier: Apache-2.0
 * How the executor calls compiled code. C11; changing it raises TIFFIN_ABI_VERSION. */
#ifndef TIFFIN_ABI_KERNEL_H
#define TIFFIN_ABI_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Status of a kernel. Anything but TIFFIN_KERNEL_OK stops the run with a named error. */
enum {
  TIFFIN_KERNEL_OK = 0,
  TIFFIN_KERNEL_INDEX_OUT_OF_RANGE = 1 /* an index tensor's element lies outside the indexed axis */
};

/* Alignment in bytes of every buffer and of scratch. */
#define TIFFIN_BUFFER_ALIGNMENT 64

/* Computes the partition units [unit_begin, unit_end) of one step. `buffers` are the step's buffers in the order of the
 * kernel's parameters, each aligned to TIFFIN_BUFFER_ALIGNMENT; input buffers never alias output buffers unless the plan
 * says "in place". `scratch` is private to the calling thread, at least the step's scratch_bytes long. Units may be computed
 * in any order, by any threads, in one call or many: the bits of the result are the same. Thread-safe for disjoint units. */
typedef int32_t (*tiffin_kernel_function)(void* const* buffers, void* scratch, int64_t unit_begin, int64_t unit_end);

#ifdef __cplusplus
}
#endif
#endif
