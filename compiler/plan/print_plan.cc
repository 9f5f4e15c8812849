// SPDX-License-Identifier: Apache-2.0
// The plan as text: what `--dump` writes and golden tests compare.
#include "compiler/plan/build_plan.h"

namespace tiffin::plan {
namespace {

const char* space_name(Space space) {
  switch (space) {
    case Space::Input:
      return "input";
    case Space::Output:
      return "output";
    case Space::Arena:
      return "arena";
    case Space::Stored:
      return "stored";
    case Space::Constant:
      return "constant";
  }
  return "?";
}

std::string number(uint64_t value) { return std::to_string(value); }

std::string print_buffer(const Buffer& buffer) {
  const std::string where = buffer.space == Space::Arena ? "+" + number(buffer.offset) : number(buffer.index);
  return std::string(space_name(buffer.space)) + " " + where + " (" + number(buffer.bytes) + " bytes)";
}

std::string print_stored(const StoragePlan& storage, const Stored& stored) {
  std::string out =
      "  " + stored.name + ": " + std::string(dtype_name(stored.dtype)) + graph::to_string(stored.shape) + " at " + number(stored.offset);
  for (const Piece& piece : stored.pieces) {
    out += "\n    copy " + storage.parameters[piece.parameter].name + "[+" + std::to_string(piece.source_offset) + "] -> [+" +
           std::to_string(piece.target_offset) + "] extents " + graph::to_string(piece.extents) + " source strides " +
           graph::to_string(piece.source_strides) + " target strides " + graph::to_string(piece.target_strides);
  }
  if (!stored.steps.empty()) out += "\n    vector expression of " + number(stored.steps.size()) + " steps";
  return out + "\n";
}

}  // namespace

std::string print(const Plan& plan) {
  std::string out = "parameters\n";
  for (const Parameter& parameter : plan.storage.parameters) {
    out += "  " + parameter.name + ": " + graph::to_string(parameter.tensor.type()) + (parameter.is_frozen ? " frozen" : "") + "\n";
  }
  out += "stored, " + number(plan.storage.data_bytes) + " bytes\n";
  for (const Stored& stored : plan.storage.stored) out += print_stored(plan.storage, stored);
  out += "constants\n";
  for (const Constant& constant : plan.constants)
    out += "  " + graph::to_string(constant.tensor.type()) + (constant.is_uniform ? " uniform" : "") + "\n";
  const Entry& entry = plan.entry;
  out += "entry " + entry.name + ", arena " + number(entry.arena_bytes) + " bytes, lower bound " + number(entry.arena_lower_bound) + "\n";
  for (size_t i = 0; i < entry.buffers.size(); ++i) out += "  buffer " + number(i) + ": " + print_buffer(entry.buffers[i]) + "\n";
  for (const Step& step : entry.steps) {
    const kernel::Kernel& kernel = *plan.kernels[step.kernel];
    out += "  " + kernel.name + "(";
    for (size_t i = 0; i < step.buffers.size(); ++i) out += (i > 0 ? ", " : "") + number(step.buffers[i]);
    out += ") units " + std::to_string(kernel.units) + " grain " + std::to_string(kernel.grain) + " scratch " + std::to_string(kernel.scratch_bytes) +
           "  # " + step.label + "\n";
  }
  return out;
}

}  // namespace tiffin::plan
