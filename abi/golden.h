/* SPDX-License-Identifier: Apache-2.0
 * The section of golden cases: inputs and outputs as the reference evaluator computes them, and sketches of what each step writes on the way.
 * docs/architecture/golden_cases.md describes every byte. All numbers little-endian; every part begins at a multiple of 8 bytes. C11. */
#ifndef TIFFIN_ABI_GOLDEN_H
#define TIFFIN_ABI_GOLDEN_H

#include <stdint.h>

#define TIFFIN_GOLDEN_SAMPLES 16u

/* The section, version 1, in this order, without gaps:
 *   tiffin_golden_header
 *   tiffin_golden_tensor     [input_count + output_count]
 *   tiffin_golden_tolerance  [case_count][output_count]
 *   tiffin_golden_variant    [variant_count]
 *   tiffin_golden_sketch     for each of the variants: [case_count][sketch_count]
 *   elements                 for each case: each input, then each output, zero padded to a multiple of 8 bytes */

/* 32 bytes. */
typedef struct tiffin_golden_header {
  uint32_t entry; /* index in the entries of each variant */
  uint32_t case_count;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t variant_count; /* that have sketches */
  uint32_t reserved;
  uint64_t total_length; /* of the section */
} tiffin_golden_header;

/* 16 bytes. */
typedef struct tiffin_golden_tensor {
  uint32_t dtype; /* tiffin_dtype */
  uint32_t reserved;
  uint64_t bytes; /* of its compact elements */
} tiffin_golden_tensor;

/* 24 bytes. An element a of an output is accepted for the expected e when |a - e| <= ulp * (distance of e to its neighbour),
 * |a - e| <= relative * |e|, or |a - e| <= absolute; NaN for NaN, infinity for the same infinity. All three are finite and not negative. */
typedef struct tiffin_golden_tolerance {
  double ulp;
  double relative;
  double absolute;
} tiffin_golden_tolerance;

/* 8 bytes. */
typedef struct tiffin_golden_variant {
  uint32_t variant;      /* index in the program's variants; ascending */
  uint32_t sketch_count; /* of each case; ordered by step */
} tiffin_golden_variant;

/* 192 bytes: what one buffer holds after a step has written it. */
typedef struct tiffin_golden_sketch {
  uint32_t step;
  uint32_t buffer; /* position in the step's buffers */
  uint32_t dtype;  /* tiffin_dtype of the elements */
  uint32_t reserved;
  uint64_t elements;
  uint64_t not_finite; /* NaN and infinities; sums and samples leave them out */
  double sum;
  double sum_squares;
  double relative; /* an element may differ by relative * |expected| + absolute */
  double absolute;
  double samples[TIFFIN_GOLDEN_SAMPLES]; /* a sample that is not finite stands as it is */
} tiffin_golden_sketch;

#endif
