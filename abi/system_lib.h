/* SPDX-License-Identifier: Apache-2.0
 * A model linked into a program: the files of an unpacked bundle as objects in memory. `tiffin export --system-lib` writes an archive that defines one
 * such table, and a header that declares it. C11. */
#ifndef TIFFIN_ABI_SYSTEM_LIB_H
#define TIFFIN_ABI_SYSTEM_LIB_H

#include <stdint.h>

#define TIFFIN_SYSTEM_LIB_VERSION 1u

enum { TIFFIN_MEMBER_EXECUTABLE = 1u }; /* the bytes lie in executable memory, at a multiple of their section's alignment */

typedef struct tiffin_system_lib_member {
  const char* path; /* in the bundle: "tiffin.header", "program.bin", "code/code.0.bin", ... */
  const void* bytes;
  uint64_t length;
  uint64_t flags;
} tiffin_system_lib_member;

typedef struct tiffin_system_lib {
  uint32_t version; /* TIFFIN_SYSTEM_LIB_VERSION */
  uint32_t member_count;
  const char* name; /* of the network, for messages */
  const tiffin_system_lib_member* members;
} tiffin_system_lib;

#endif
