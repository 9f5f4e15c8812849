/* SPDX-License-Identifier: Apache-2.0
 * The binary header, section table and weights header of an artifact; docs/architecture/artifact_format.md describes every
 * byte. All integers little-endian. Structured sections are FlatBuffers (artifact.fbs). C11. */
#ifndef TIFFIN_ABI_ARTIFACT_H
#define TIFFIN_ABI_ARTIFACT_H

#include <stdint.h>

#define TIFFIN_MAGIC_BYTES \
  { 0x89, 0x54, 0x49, 0x46, 0x46, 0x0D, 0x0A, 0x1A }
#define TIFFIN_WEIGHTS_MAGIC_BYTES \
  { 0x89, 0x54, 0x46, 0x57, 0x0D, 0x0A, 0x1A, 0x0A }
#define TIFFIN_DIGEST_BYTES 32
#define TIFFIN_PAGE_BYTES 4096u        /* alignment of mapped sections for x86-64 code */
#define TIFFIN_LARGE_PAGE_BYTES 65536u /* the same for aarch64 code */
#define TIFFIN_NOTE_OWNER "Tiffin"     /* PT_NOTE owner in a .so; type 1, see tiffin_note */
#define TIFFIN_NOTE_TYPE 1u
/* In a .so: the header (with its table) and the first code section stand at fixed virtual addresses, so that the one exported function,
 *   const void* tiffin_artifact_query(uint32_t abi);   (header's address, or NULL when abi is not TIFFIN_ABI_VERSION)
 * which is part of the code section, finds the header without a relocation. */
#define TIFFIN_SO_HEADER_ADDRESS 0x1000u
#define TIFFIN_SO_CODE_ADDRESS 0x10000u
#define TIFFIN_QUERY_SYMBOL "tiffin_artifact_query"
#define TIFFIN_MAX_SECTIONS 256u
#define TIFFIN_MAX_RANK 16u

typedef enum tiffin_section_kind {
  TIFFIN_SECTION_MANIFEST = 1,     /* FlatBuffer Manifest */
  TIFFIN_SECTION_PROGRAM = 2,      /* FlatBuffer Program */
  TIFFIN_SECTION_STORAGE_PLAN = 3, /* FlatBuffer StoragePlan */
  TIFFIN_SECTION_CODE = 4,         /* raw: constants, then instructions from `detail` on; position independent */
  TIFFIN_SECTION_CONSTANTS = 5,    /* raw: tensors computed from no parameter */
  TIFFIN_SECTION_WEIGHTS = 6,      /* the bytes of a .tfw file */
  TIFFIN_SECTION_GOLDEN = 7,
  TIFFIN_SECTION_CREATED = 8,    /* not part of the content digest */
  TIFFIN_SECTION_SIGNATURE = 9,  /* not part of the content digest */
  TIFFIN_SECTION_KERNEL_IR = 10, /* kernels as data, in place of code: docs/architecture/portable_ir.md */
  TIFFIN_SECTION_LIBRARY = 11,   /* a shared library that travels with the model; its file name stands in the manifest */
  TIFFIN_SECTION_FILE = 12,      /* any other file */
  TIFFIN_SECTION_SOURCE = 13     /* text: kernel IR or LLVM IR of a variant, for people */
} tiffin_section_kind;

enum { TIFFIN_SECTION_REQUIRED = 1u }; /* flag: a reader that does not know the kind refuses the file */

/* 160 bytes. */
typedef struct tiffin_artifact_header {
  uint8_t magic[8];
  uint32_t format_major;
  uint32_t format_minor;
  uint32_t abi;
  uint32_t section_count;                      /* entries of tiffin_section directly after this header */
  uint64_t total_length;                       /* bytes of the whole container */
  uint8_t content_digest[TIFFIN_DIGEST_BYTES]; /* BLAKE3 over kind, name, length, digest of each content section */
  uint8_t header_digest[TIFFIN_DIGEST_BYTES];  /* BLAKE3 over header and table, this field and file_digest read as zeros */
  uint8_t file_digest[TIFFIN_DIGEST_BYTES]; /* BLAKE3 over every byte of the container but those of the weights section, this field read as zeros */
  uint8_t reserved[32];                     /* zeros */
} tiffin_artifact_header;

/* 112 bytes. */
typedef struct tiffin_section {
  uint32_t kind;
  uint32_t version;
  uint32_t flags;
  uint32_t reserved;
  char name[32];   /* NUL padded; unique within a kind */
  uint64_t offset; /* .so: virtual address; elsewhere: byte offset in the container */
  uint64_t length;
  uint64_t alignment; /* power of two */
  uint64_t detail;    /* code: offset of the first instruction within the section; else 0 */
  uint8_t digest[TIFFIN_DIGEST_BYTES];
} tiffin_section;

/* Description of the PT_NOTE in a .so, followed by the producer's version as text. */
typedef struct tiffin_note {
  uint64_t header_address; /* virtual address of the tiffin_artifact_header */
  uint64_t header_length;  /* header and table */
} tiffin_note;

/* 128 bytes, at offset 0 of a weights section or .tfw file; then the plan, the digests (count x 32 bytes, in the plan's order of
 * parameters), zero padding to data_offset (a multiple of 4096), and the stored tensors at the plan's offsets from data_offset. */
typedef struct tiffin_weights_header {
  uint8_t magic[8];
  uint32_t format_major;
  uint32_t format_minor;
  uint64_t plan_offset;
  uint64_t plan_length;
  uint8_t plan_digest[TIFFIN_DIGEST_BYTES]; /* BLAKE3 of the plan's bytes */
  uint64_t digests_offset;
  uint64_t parameter_count;
  uint64_t data_offset;
  uint64_t data_length;
  uint64_t total_length;
  uint8_t reserved[24];
} tiffin_weights_header;

/* The signature section, 192 bytes, reserved with zeros when an artifact is written and filled in by signing. The signature is Ed25519 (RFC 8032)
 * over TIFFIN_SIGNATURE_CONTEXT with its NUL, content_digest, created and release, in this order, integers little-endian. */
#define TIFFIN_SIGNATURE_CONTEXT "tiffin signature 1"
#define TIFFIN_SIGNATURE_ED25519 1u
typedef struct tiffin_signature {
  uint32_t algorithm; /* 0: not signed */
  uint32_t reserved;
  int64_t created; /* seconds since 1970 when it was signed */
  uint64_t release;
  uint8_t content_digest[TIFFIN_DIGEST_BYTES];
  uint8_t public_key[32];
  uint8_t signature[64];
  uint8_t unused[40]; /* zeros */
} tiffin_signature;

#endif
