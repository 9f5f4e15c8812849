# SPDX-License-Identifier: Apache-2.0
# BLAKE3's own C and assembly sources, from the Debian package librust-blake3-dev.
file(GLOB blake3_folders /usr/share/cargo/registry/blake3-*/c)
set(BLAKE3_SOURCES "${blake3_folders}" CACHE PATH "folder of BLAKE3's C sources")
if(NOT EXISTS ${BLAKE3_SOURCES}/blake3.c)
  message(FATAL_ERROR "BLAKE3's C sources were not found: install librust-blake3-dev, or set BLAKE3_SOURCES")
endif()
add_library(blake3 STATIC ${BLAKE3_SOURCES}/blake3.c ${BLAKE3_SOURCES}/blake3_dispatch.c ${BLAKE3_SOURCES}/blake3_portable.c)
target_include_directories(blake3 SYSTEM PUBLIC $<BUILD_INTERFACE:${BLAKE3_SOURCES}>)
# The speed lies in the assembly. Forced inlining would unroll the portable code to four times its size for twice its speed.
target_compile_options(blake3 PRIVATE -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
                       $<$<COMPILE_LANGUAGE:C>:-Os -Dalways_inline=unused>)
set_source_files_properties(${BLAKE3_SOURCES}/blake3_portable.c PROPERTIES COMPILE_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O2>)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # One vector kernel is a good trade of speed for size: the AVX-512 one would add 15 KB to a runtime of 100.
  target_sources(blake3 PRIVATE ${BLAKE3_SOURCES}/blake3_avx2_x86-64_unix.S)
  target_compile_definitions(blake3 PRIVATE BLAKE3_NO_SSE2 BLAKE3_NO_SSE41 BLAKE3_NO_AVX512)
else()
  target_compile_definitions(blake3 PRIVATE BLAKE3_USE_NEON=0)
endif()
