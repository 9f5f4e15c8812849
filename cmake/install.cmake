# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down: the programs, the runtime with its headers, the compiler as a library if it is built, a CMake package, a
# pkg-config file.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tiffin)

# ---- the runtime: tiffin::runtime, tiffin::runtime_core, tiffin::runtime_static ----
set_target_properties(tiffin_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(tiffin_runtime_core PROPERTIES EXPORT_NAME runtime_core)
set_target_properties(tiffin_runtime_static PROPERTIES EXPORT_NAME runtime_static OUTPUT_NAME tiffin_runtime)
add_library(tiffin::runtime ALIAS tiffin_runtime)
add_library(tiffin::runtime_core ALIAS tiffin_runtime_core)
add_library(tiffin::runtime_static ALIAS tiffin_runtime_static)
install(TARGETS tiffin_runtime tiffin_runtime_core tiffin_runtime_static EXPORT tiffin_runtime)
install(EXPORT tiffin_runtime NAMESPACE tiffin:: DESTINATION ${package_folder} FILE tiffin-runtime.cmake)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/include/tiffin DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# tiffin.h includes these as "abi/…", which is found beside it first.
install(FILES ${CMAKE_SOURCE_DIR}/abi/system_lib.h ${CMAKE_SOURCE_DIR}/abi/tensor.h ${CMAKE_SOURCE_DIR}/abi/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tiffin/abi)

# ---- the compiler: tiffin::compiler; its headers keep their paths in the source tree ----
if(TIFFIN_COMPILER)
  set(compiler_headers ${CMAKE_INSTALL_INCLUDEDIR}/tiffin/source)
  set(compiler_parts tiffin_compiler_graph tiffin_compiler_ops tiffin_compiler_reference tiffin_compiler_import_onnx tiffin_compiler_passes
                     tiffin_compiler_kernel tiffin_compiler_plan tiffin_compiler_codegen_llvm tiffin_compiler_artifact tiffin_compiler_golden
                     tiffin_compiler_driver)
  target_include_directories(tiffin_compiler_driver INTERFACE $<INSTALL_INTERFACE:${compiler_headers}>)
  set_target_properties(tiffin_compiler_driver PROPERTIES EXPORT_NAME compiler)
  add_library(tiffin::compiler ALIAS tiffin_compiler_driver)
  install(TARGETS ${compiler_parts} tiffin_base tiffin_params tiffin_description tiffin_golden tiffin_abi tiffin_flags blake3 EXPORT tiffin_compiler)
  install(EXPORT tiffin_compiler NAMESPACE tiffin:: DESTINATION ${package_folder} FILE tiffin-compiler.cmake)
  foreach(folder abi base compiler)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder} DESTINATION ${compiler_headers} FILES_MATCHING PATTERN "*.h")
  endforeach()
endif()

# ---- how others find them ----
# Not in the build folder itself, where find_package would find it by way of bin/ in PATH, without what is installed beside it.
set(generated ${CMAKE_BINARY_DIR}/installed)
file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tiffin.pc.in ${generated}/tiffin.pc @ONLY)
install(FILES ${generated}/tiffin.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tiffin-config.cmake.in ${generated}/tiffin-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${generated}/tiffin-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/tiffin-config.cmake ${generated}/tiffin-config-version.cmake DESTINATION ${package_folder})
