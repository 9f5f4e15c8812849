// SPDX-License-Identifier: Apache-2.0
// Seeded inputs for golden cases, the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::golden {

// One tensor for each input of the graph. Floats are nearly normal with deviation 1, integers uniform in [0, integer_limit), bools both. Numbers
// depend on seed, input and element alone, and on no mathematical library. UnsupportedType for other types. Precondition: static shapes.
Result<std::vector<graph::Tensor>> random_inputs(const graph::Graph& graph, uint64_t seed, uint64_t integer_limit);

}  // namespace tiffin::golden
