# SPDX-License-Identifier: Apache-2.0
# Ed25519 of libsodium, compiled from its own C sources: the few files that signatures need, because the packaged library brings 210 KB along.
# The sources lie in the cache folder, where scripts/install_dependencies puts them; docs/architecture/signatures.md says why this library.
option(TIFFIN_SIGNATURES "sign artifacts and check signatures (Ed25519 of libsodium); off declines --key and --trust signed" ON)
if(NOT TIFFIN_SIGNATURES)
  add_library(sodium INTERFACE)
  return()
endif()

set(cache_folder "$ENV{XDG_CACHE_HOME}")
if(cache_folder STREQUAL "")
  set(cache_folder "$ENV{HOME}/.cache")
endif()
set(SODIUM_SOURCES ${cache_folder}/tiffin/libsodium-1.0.20 CACHE PATH "folder of libsodium's C sources: crypto_sign, crypto_core, include, …")
if(NOT EXISTS ${SODIUM_SOURCES}/crypto_sign/ed25519/ref10/open.c)
  message(FATAL_ERROR "libsodium's C sources were not found in ${SODIUM_SOURCES}: run scripts/install_dependencies, set SODIUM_SOURCES, "
                      "or leave signatures out with -DTIFFIN_SIGNATURES=OFF")
endif()
set(sources crypto_sign/ed25519/ref10/keypair.c crypto_sign/ed25519/ref10/open.c crypto_sign/ed25519/ref10/sign.c
            crypto_core/ed25519/ref10/ed25519_ref10.c crypto_hash/sha512/cp/hash_sha512_cp.c
            crypto_verify/verify.c sodium/utils.c)
list(TRANSFORM sources PREPEND ${SODIUM_SOURCES}/)
add_library(sodium STATIC ${sources})
target_include_directories(sodium SYSTEM PUBLIC $<BUILD_INTERFACE:${SODIUM_SOURCES}/include>
                           PRIVATE $<BUILD_INTERFACE:${SODIUM_SOURCES}/include/sodium>)
# What libsodium's own configure script finds out on the machines we build for, all of them 64-bit and little-endian.
target_compile_definitions(sodium PRIVATE CONFIGURED=1 _GNU_SOURCE HAVE_TI_MODE=1 NATIVE_LITTLE_ENDIAN=1 HAVE_EXPLICIT_BZERO=1 HAVE_WEAK_SYMBOLS=1
                           HAVE_GCC_MEMORY_FENCES=1 HAVE_INLINE_ASM=1
                           PUBLIC $<BUILD_INTERFACE:SODIUM_STATIC=1> $<BUILD_INTERFACE:TIFFIN_SIGNATURES=1>)
# Its own source of random bytes would bring its ciphers along; what asks for some gets the system's, from base/ed25519/ed25519.cc.
target_compile_definitions(sodium PRIVATE randombytes_buf=tiffin_random_bytes sodium_misuse=abort)
target_compile_options(sodium PRIVATE -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -w -Os)
