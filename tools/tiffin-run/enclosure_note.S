/* SPDX-License-Identifier: Apache-2.0
 * The note that `tiffin export --executable` fills in (abi/enclosure.h): owner "Tiffin", type 2, a tiffin_enclosure of zeros. It is part of the
 * program's memory, so a program whose enclosed artifact was cut off knows that it had one. */
    .section .note.tiffin, "a", %note
    .balign 4
    .long 7, 48, 2
    .asciz "Tiffin"
    .balign 4
    .globl tiffin_enclosure_description
    .hidden tiffin_enclosure_description
tiffin_enclosure_description:
    .zero 48

    .section .note.GNU-stack, "", %progbits
