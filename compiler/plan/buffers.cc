// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/buffers.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "compiler/ops/op_class.h"
#include "compiler/plan/memory.h"

namespace tiffin::plan {
namespace {

using graph::Graph;
using graph::kNone;
using graph::ValueId;
using graph::ValueKind;

// True when all elements have the same bytes and there are enough of them for that to matter.
bool is_uniform(const graph::Tensor& tensor) {
  const size_t element = static_cast<size_t>(dtype_bits(tensor.dtype())) / 8;
  const auto bytes = tensor.bytes();
  if (element == 0 || bytes.size() < 16 * element) return false;
  return memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) == 0;
}

class Assigner {
 public:
  Assigner(const Graph& graph, const StorageDecision& storage, const std::vector<LoweredStep>& steps, bool alias_views, Plan& plan)
      : graph_(graph), storage_(storage), steps_(steps), alias_views_(alias_views), plan_(plan) {
    buffer_of_.assign(graph.value_capacity(), -1);
  }

  Status run() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) output_index_[graph_.outputs()[i]] = static_cast<uint32_t>(i);
    find_last_uses();
    for (size_t i = 0; i < steps_.size(); ++i) TIFFIN_TRY(add_step(i));
    place_arena();
    return {};
  }

 private:
  // The value whose buffer this one shares: through views to their operand.
  ValueId root_of(ValueId value) const {
    while (alias_views_ && storage_.stored_of.count(value) == 0 && graph_.value(value).producer != kNone) {
      const graph::Node& producer = graph_.node(graph_.value(value).producer);
      if (ops::op_class(producer.op) != ops::OpClass::View) break;
      value = producer.inputs[0];
    }
    return value;
  }

  static uint64_t bytes_of(const graph::Type& type) {
    uint64_t bytes = 0;
    const int64_t elements = type.num_elements();
    if (elements < 0 || !storage_bytes(type.dtype, static_cast<uint64_t>(elements), &bytes)) return 0;
    return bytes;
  }

  void find_last_uses();
  Status add_step(size_t index);
  Result<uint32_t> buffer_for(ValueId value, size_t step, bool is_result);
  Result<Buffer> fixed_buffer(ValueId root);
  void share_in_place(const LoweredStep& step, size_t index);
  void place_arena();

  const Graph& graph_;
  const StorageDecision& storage_;
  const std::vector<LoweredStep>& steps_;
  const bool alias_views_;
  Plan& plan_;
  std::vector<int64_t> buffer_of_;  // by root value
  std::map<ValueId, uint32_t> output_index_;
  std::map<ValueId, int64_t> last_use_;
  std::map<ValueId, uint32_t> constant_of_;
  std::vector<Block> blocks_;
  std::map<uint32_t, size_t> block_of_buffer_;
};

void Assigner::find_last_uses() {
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const ValueId value : steps_[i].buffers) last_use_[root_of(value)] = static_cast<int64_t>(i);
  }
}

// Buffers whose place does not depend on the schedule; an Arena buffer means "none of these".
Result<Buffer> Assigner::fixed_buffer(ValueId root) {
  const graph::Value& value = graph_.value(root);
  Buffer buffer;
  buffer.bytes = bytes_of(value.type);
  buffer.space = Space::Arena;
  const auto stored = storage_.stored_of.find(root);
  if (stored != storage_.stored_of.end()) {
    buffer.space = Space::Stored;
    buffer.index = stored->second;
    buffer.bytes = storage_.storage.stored[stored->second].bytes;
  } else if (value.kind == ValueKind::Input) {
    const auto& inputs = graph_.inputs();
    buffer.space = Space::Input;
    buffer.index = static_cast<uint32_t>(std::find(inputs.begin(), inputs.end(), root) - inputs.begin());
  } else if (value.kind == ValueKind::Constant) {
    buffer.space = Space::Constant;
    buffer.index = static_cast<uint32_t>(plan_.constants.size());
    plan_.constants.push_back({value.tensor, is_uniform(value.tensor)});
  } else if (output_index_.count(root) != 0) {
    buffer.space = Space::Output;
    buffer.index = output_index_[root];
  } else if (value.kind != ValueKind::Result) {
    return error(Code::Internal, "value '%s' has no buffer", value.name.c_str());
  }
  return buffer;
}

Result<uint32_t> Assigner::buffer_for(ValueId value, size_t step, bool is_result) {
  const ValueId root = root_of(value);
  int64_t& known = buffer_of_[static_cast<size_t>(root)];
  if (known >= 0) return static_cast<uint32_t>(known);
  TIFFIN_ASSIGN_OR_RETURN(const Buffer buffer, fixed_buffer(root));
  if (buffer.space == Space::Arena && !is_result)
    return error(Code::Internal, "value '%s' is read before it is computed", graph_.value(root).name.c_str());
  known = static_cast<int64_t>(plan_.entry.buffers.size());
  plan_.entry.buffers.push_back(buffer);
  if (buffer.space == Space::Arena) {
    Block block;
    block.bytes = buffer.bytes;
    block.first_step = static_cast<int64_t>(step);
    block.last_step = last_use_[root];
    block_of_buffer_[static_cast<uint32_t>(known)] = blocks_.size();
    blocks_.push_back(block);
  }
  return static_cast<uint32_t>(known);
}

// A result takes over the memory of an operand of the same size that nobody reads later.
void Assigner::share_in_place(const LoweredStep& step, size_t index) {
  for (const auto& [input, result] : step.in_place) {
    const ValueId from = root_of(step.buffers[static_cast<size_t>(input)]);
    const ValueId to = root_of(step.buffers[static_cast<size_t>(result)]);
    const int64_t buffer = buffer_of_[static_cast<size_t>(from)];
    if (buffer < 0 || buffer_of_[static_cast<size_t>(to)] >= 0 || output_index_.count(to) != 0) continue;
    const auto block = block_of_buffer_.find(static_cast<uint32_t>(buffer));
    const bool dies_here = last_use_[from] == static_cast<int64_t>(index);
    if (block == block_of_buffer_.end() || !dies_here || plan_.entry.buffers[static_cast<size_t>(buffer)].bytes != bytes_of(graph_.value(to).type))
      continue;
    const auto readers = std::count_if(step.buffers.begin(), step.buffers.end(), [&](ValueId value) { return root_of(value) == from; });
    if (readers != 1 || blocks_[block->second].last_step != static_cast<int64_t>(index)) continue;
    buffer_of_[static_cast<size_t>(to)] = buffer;
    blocks_[block->second].last_step = std::max(last_use_[to], static_cast<int64_t>(index));
  }
}

Status Assigner::add_step(size_t index) {
  const LoweredStep& lowered = steps_[index];
  Step step;
  step.kernel = lowered.kernel;
  step.label = lowered.label;
  step.results.assign(lowered.buffers.begin() + static_cast<ptrdiff_t>(lowered.outputs_begin), lowered.buffers.end());
  share_in_place(lowered, index);
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    TIFFIN_ASSIGN_OR_RETURN(const uint32_t buffer, buffer_for(lowered.buffers[i], index, i >= lowered.outputs_begin));
    step.buffers.push_back(buffer);
  }
  plan_.entry.steps.push_back(std::move(step));
  return {};
}

void Assigner::place_arena() {
  const ArenaSize size = plan_memory(blocks_);
  for (const auto& [buffer, block] : block_of_buffer_) plan_.entry.buffers[buffer].offset = blocks_[block].offset;
  plan_.entry.arena_bytes = size.bytes;
  plan_.entry.arena_lower_bound = size.lower_bound;
}

}  // namespace

Status assign_buffers(const Graph& graph, const StorageDecision& storage, const std::vector<LoweredStep>& steps, bool alias_views, Plan& plan) {
  return Assigner(graph, storage, steps, alias_views, plan).run();
}

}  // namespace tiffin::plan
