/* SPDX-License-Identifier: Apache-2.0
 * An artifact inside an executable: a static tiffin-run, zeros up to a multiple of TIFFIN_LARGE_PAGE_BYTES, then the artifact as it stands in its own
 * file. A PT_NOTE of the program (owner TIFFIN_NOTE_OWNER) says where; docs/architecture/artifact_format.md describes it. C11. */
#ifndef TIFFIN_ABI_ENCLOSURE_H
#define TIFFIN_ABI_ENCLOSURE_H

#include "abi/artifact.h"

#define TIFFIN_ENCLOSURE_NOTE_TYPE 2u

/* Description of the note, 48 bytes. */
typedef struct tiffin_enclosure {
  uint64_t offset; /* of the artifact in the file */
  uint64_t length; /* of the artifact, which ends the file; 0: nothing is enclosed */
  uint8_t program_digest[TIFFIN_DIGEST_BYTES]; /* BLAKE3 over the bytes before the artifact, this field read as zeros */
} tiffin_enclosure;

#endif
