/* SPDX-License-Identifier: Apache-2.0
 * The numbers that decide whether a file and a runtime fit together. Shared by compiler and runtime; C11. */
#ifndef TIFFIN_ABI_VERSION_H
#define TIFFIN_ABI_VERSION_H

#define TIFFIN_VERSION "0.1.0"

/* Version of the C API structures and of the kernel calling convention (abi/kernel.h). */
#define TIFFIN_ABI_VERSION 1u

/* Version of the artifact's layout: a reader refuses another major and accepts any minor of its own major. */
#define TIFFIN_FORMAT_MAJOR 1u
#define TIFFIN_FORMAT_MINOR 0u

#endif
