# SPDX-License-Identifier: Apache-2.0
# BLAKE3's own C and assembly sources, from the Debian package librust-blake3-dev.
file(GLOB blake3_folders /usr/share/cargo/registry/blake3-*/c)
set(BLAKE3_SOURCES "${blake3_folders}" CACHE PATH "folder of BLAKE3's C sources")
if(NOT EXISTS ${BLAKE3_SOURCES}/blake3.c)
  message(FATAL_ERROR "BLAKE3's C sources were not found: install librust-blake3-dev, or set BLAKE3_SOURCES")
endif()
add_library(blake3 STATIC ${BLAKE3_SOURCES}/blake3.c ${BLAKE3_SOURCES}/blake3_dispatch.c ${BLAKE3_SOURCES}/blake3_portable.c)
target_include_directories(blake3 SYSTEM PUBLIC $<BUILD_INTERFACE:${BLAKE3_SOURCES}>)
target_compile_options(blake3 PRIVATE -ffunction-sections -fdata-sections $<$<COMPILE_LANGUAGE:C>:-Os>)  # its speed lies in the assembly
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # One vector kernel is a good trade of speed for size: the AVX-512 one would add 15 KB to a runtime of 100.
  target_sources(blake3 PRIVATE ${BLAKE3_SOURCES}/blake3_avx2_x86-64_unix.S)
  target_compile_definitions(blake3 PRIVATE BLAKE3_NO_SSE2 BLAKE3_NO_SSE41 BLAKE3_NO_AVX512)
else()
  target_compile_definitions(blake3 PRIVATE BLAKE3_USE_NEON=0)
endif()
