// SPDX-License-Identifier: Apache-2.0
// When an artifact says it was made.
#pragma once

#include <cstdint>
#include <optional>

namespace tiffin::driver {

// SOURCE_DATE_EPOCH (reproducible-builds.org) in seconds since 1970 when it is set; no time otherwise, so that equal inputs always give equal bytes.
std::optional<int64_t> creation_time();

}  // namespace tiffin::driver
