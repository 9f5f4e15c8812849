// SPDX-License-Identifier: Apache-2.0
// How one loop nest runs: which axes are one dimension, which has lanes, which are tiled, what a partition unit is. Pure numbers, decided from a
// trial run of the elements (Trace).
#pragma once

#include "compiler/kernel/lowering.h"

namespace tiffin::kernel {

// Neighbouring axes of the result along which all accesses step evenly, as one.
struct Dimension {
  int64_t extent = 1;
  std::vector<size_t> axes;
  bool is_row = false;  // a row operator runs along it: what it computes for each row lies outside this loop
};

struct Schedule {
  std::vector<int64_t> shape;
  std::vector<Dimension> dimensions;
  std::vector<size_t> order;    // of the loops, by dimension, outermost first
  size_t unit_loops = 0;        // the first so many loops of `order` are the units'
  size_t vector_dimension = 0;  // the last one in memory
  int lanes = 1;                // along vector_dimension
  int vectors = 1;              // of `lanes` each, side by side
  bool has_tile = false;
  size_t tile_dimension = 0;
  int64_t tile = 1;             // indices of tile_dimension computed together
  int64_t chunk = 0;            // elements of vector_dimension in a unit; 0: all
  std::vector<int64_t> splits;  // where conditions along vector_dimension change, ascending, inside (0, extent)
  double element_work = 1;

  int64_t units() const;
  // Iterations of a loop: blocks of the tiled dimension.
  int64_t iterations(size_t dimension) const;
  int64_t unit_elements() const;
};

// The schedule for results of one shape. Precondition: the shape is not empty of elements.
Schedule make_schedule(Lowering& lowering, const std::vector<graph::ValueId>& results);

}  // namespace tiffin::kernel
