# SPDX-License-Identifier: Apache-2.0
# tiffin_library(NAME [RUNTIME] [EXCEPTIONS] DEPENDS ...): the folder's *.cc as a static library, and its *_test.cc as one test program.
# RUNTIME: the language subset of abi/, base/ and runtime/ (no exceptions, no RTTI, no libstdc++ symbol).
# EXCEPTIONS: for folders that wrap libraries which throw.

# -Wrestrict misfires on std::string in GCC 12 (GCC bug 105651).
set(TIFFIN_WARNINGS -Wall -Wextra -Wshadow=local -Wno-missing-field-initializers -Wno-restrict)
if(TIFFIN_WERROR)
  list(APPEND TIFFIN_WARNINGS -Werror)
endif()
set(TIFFIN_SANITIZE_FLAGS)
if(TIFFIN_SANITIZE)
  set(TIFFIN_SANITIZE_FLAGS -fsanitize=${TIFFIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TIFFIN_SANITIZE})
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND TIFFIN_WARNINGS -Wno-unknown-warning-option)
endif()
if(TIFFIN_FUZZ)
  list(APPEND TIFFIN_SANITIZE_FLAGS -fsanitize=fuzzer-no-link)
endif()

# What every target of ours compiles with.
add_library(tiffin_flags INTERFACE)
target_include_directories(tiffin_flags INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
target_compile_options(tiffin_flags INTERFACE ${TIFFIN_WARNINGS} ${TIFFIN_SANITIZE_FLAGS} -ffp-contract=off -ffunction-sections -fdata-sections)

function(tiffin_library name)
  cmake_parse_arguments(ARG "RUNTIME;EXCEPTIONS" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  list(REMOVE_ITEM sources "" ${tests})
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE tiffin_flags ${ARG_DEPENDS})
  else()
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE tiffin_flags)
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
    if(ARG_RUNTIME)
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables -fno-math-errno>)
      # Size counts more than speed: the time of a run goes into compiled kernels.
      if(NOT TIFFIN_FUZZ)
        target_compile_options(${name} PRIVATE $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-Oz>)
      endif()
    elseif(NOT ARG_EXCEPTIONS)
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
    endif()
  endif()
  if(TIFFIN_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${name} tiffin_flags GTest::gtest GTest::gtest_main)
    set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
endfunction()
