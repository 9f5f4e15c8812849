// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace tiffin {

// Bytes of the UTF-8 sequence at the front (RFC 3629), 0 when there is none. Precondition: the text is not empty.
size_t utf8_length(std::string_view text);

// True for well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace tiffin
