// SPDX-License-Identifier: Apache-2.0
// What targets do with parameters once a reader has taken a file of them.
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_sink.h"
#include "base/params/param_file.h"
#include "base/params/param_source.h"
#include "base/status.h"

namespace tiffin::fuzz {

// Asks for every value and hashes the set.
void walk_source(const params::ParamSource& source);

// Every value lies where it may, and what `write` makes of the list reads back as the same tensors.
void check_list(const params::ParamList& list, std::span<const uint8_t> file, Status (*write)(const params::ParamSource&, const ByteSink&),
                Result<params::ParamList> (*read)(std::span<const uint8_t>));

}  // namespace tiffin::fuzz
