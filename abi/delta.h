/* SPDX-License-Identifier: Apache-2.0
 * The bytes of a parameter delta: what differs between two sets of parameters, bound to the first. docs/architecture/parameters.md describes it. */
#ifndef TIFFIN_ABI_DELTA_H
#define TIFFIN_ABI_DELTA_H

#include <stdint.h>

#define TIFFIN_DELTA_MAGIC_BYTES {0x89, 'T', 'F', 'D', 0x0D, 0x0A, 0x1A, 0x0A}

enum { TIFFIN_DELTA_CHANGED = 0, TIFFIN_DELTA_ADDED = 1, TIFFIN_DELTA_REMOVED = 2 };

/* At offset 0. Little-endian; records follow, one behind the other. */
typedef struct tiffin_delta_header {
  uint8_t magic[8];
  uint32_t format_major;
  uint32_t format_minor;
  uint64_t total_length;
  uint64_t record_count;
  uint8_t base_digest[32];   /* of the set it applies to */
  uint8_t result_digest[32]; /* of the set it leads to */
  uint8_t delta_digest[32];  /* BLAKE3 of the whole file, this field read as zeros */
} tiffin_delta_header;

/* At a multiple of 8; extents (int64 each), the name and the value follow, the latter two with zeros to a multiple of 8. */
typedef struct tiffin_delta_record {
  uint32_t name_length;
  uint8_t change;
  uint8_t dtype;    /* as abi/dtype.h numbers them; 0 for a removed tensor */
  uint8_t tvm_code; /* how a .params file spelt the type, or zeros */
  uint8_t tvm_bits;
  uint32_t rank;
  uint32_t reserved;
  uint64_t value_length; /* of the compact value; 0 for a removed tensor */
} tiffin_delta_record;

#endif
