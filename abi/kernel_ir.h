/* SPDX-License-Identifier: Apache-2.0
 * The byte code of kernels that travel as data (TIFFIN_SECTION_KERNEL_IR); docs/architecture/portable_ir.md describes every byte. C11. */
#ifndef TIFFIN_ABI_KERNEL_IR_H
#define TIFFIN_ABI_KERNEL_IR_H

#define TIFFIN_IR_VERSION 1u
#define TIFFIN_IR_MAX_BUFFERS 4096u
#define TIFFIN_IR_MAX_DEPTH 64u          /* of nested loops and conditions */
#define TIFFIN_IR_MAX_TERMS 64u          /* of one sum */
#define TIFFIN_IR_MAX_LANES 64u          /* of one register */
#define TIFFIN_IR_PIECE_BYTES 16u        /* registers fill whole pieces of the frame */
#define TIFFIN_IR_MAX_PIECES 65536u      /* of the frame: 1 MiB */
#define TIFFIN_IR_MAX_LOCAL_BYTES 32768u /* of all local buffers, each rounded up to 64 */

enum { TIFFIN_IR_FUSED = 1u }; /* flag: Fma rounds once */

enum { TIFFIN_IR_INPUT = 0, TIFFIN_IR_OUTPUT = 1, TIFFIN_IR_SCRATCH = 2, TIFFIN_IR_LOCAL = 3 }; /* buffers */

/* Instructions and their operands. r: register read, w: register written, n: number, s: signed number, b: buffer,
 * sum: s (constant), n (count), count times: r (int64), s (coefficient). */
enum {
  TIFFIN_IR_END = 0,             /* ends a block; the last one ends the kernel */
  TIFFIN_IR_FOR = 1,             /* w r r n: variable, begin, end, step */
  TIFFIN_IR_IF = 2,              /* r */
  TIFFIN_IR_ELSE = 3,            /* */
  TIFFIN_IR_FAIL = 4,            /* n: status */
  TIFFIN_IR_COPY = 5,            /* w r: of the same width, also between types */
  TIFFIN_IR_SPLAT = 6,           /* w r */
  TIFFIN_IR_LANES = 7,           /* w r s: first, step */
  TIFFIN_IR_LINEAR = 8,          /* w sum */
  TIFFIN_IR_LOAD = 9,            /* w b s sum: stride, index */
  TIFFIN_IR_LOAD_ACTIVE = 10,    /* w b r s sum: active lanes, stride, index */
  TIFFIN_IR_STORE = 11,          /* r b s sum */
  TIFFIN_IR_STORE_ACTIVE = 12,   /* r b r s sum */
  TIFFIN_IR_GATHER = 13,         /* w b r: indices */
  TIFFIN_IR_GATHER_ACTIVE = 14,  /* w b r r: active lanes, indices */
  TIFFIN_IR_SCATTER = 15,        /* r b r */
  TIFFIN_IR_SCATTER_ACTIVE = 16, /* r b r r */
  TIFFIN_IR_SELECT = 17,         /* w r r r: condition, then, else */
  TIFFIN_IR_FMA = 18,            /* w r r r */
  TIFFIN_IR_CAST = 19,           /* w r */
  TIFFIN_IR_UNARY = 32,          /* w r: plus neg, abs, not, sqrt, floor, ceil, trunc, round_even, (none), reduce_add, reduce_max, reduce_min */
  TIFFIN_IR_BINARY = 48          /* w r r: plus add, sub, mul, div, mod, min, max, and, or, xor, shl, shr, equal, less, less_equal */
};

#endif
