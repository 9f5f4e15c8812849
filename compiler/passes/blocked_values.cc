// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/blocked_values.h"

namespace tiffin::passes {

using graph::kNone;

namespace {

// Zeros behind the elements of `axis`, up to `extent`.
ValueId pad_end(Rewriter& rewriter, ValueId value, const std::string& part, size_t axis, int64_t extent) {
  const Extents shape = rewriter.shape(value);
  if (shape[axis] == extent) return value;
  Extents pads(2 * shape.size(), 0);
  pads[shape.size() + axis] = extent - shape[axis];
  return rewriter.add(Op::Pad, part, {value, rewriter.ints(part + "_by", pads)}, {{"mode", std::string("constant")}});
}

}  // namespace

ValueId BlockedValues::blocked(Rewriter& rewriter, ValueId plain) {
  const auto known = blocked_.find(plain);
  if (known != blocked_.end()) return known->second;
  const auto made = converted_.find(plain);
  if (made != converted_.end()) return made->second;
  const Extents shape = rewriter.shape(plain);
  const int64_t blocks = (shape[1] + block_ - 1) / block_;
  const ValueId padded = pad_end(rewriter, plain, "to_blocks/pad", 1, blocks * block_);
  const ValueId split = rewriter.reshape(padded, "to_blocks/split", {shape[0], blocks, block_, shape[2], shape[3]});
  const ValueId blocked = rewriter.transpose(split, "to_blocks", {0, 1, 3, 4, 2});
  converted_[plain] = blocked;
  return blocked;
}

ValueId BlockedValues::plain(Rewriter& rewriter, ValueId value) {
  const auto known = blocked_.find(value);
  if (known == blocked_.end()) return value;
  const auto made = plain_.find(value);
  if (made != plain_.end()) return made->second;
  const Extents shape = rewriter.shape(value);
  const int64_t blocks = (shape[1] + block_ - 1) / block_;
  ValueId plain = known->second;
  // One pixel: the order of the elements is the same.
  if (shape[2] * shape[3] != 1) plain = rewriter.transpose(plain, "from_blocks", {0, 1, 4, 2, 3});
  plain = rewriter.reshape(plain, "from_blocks/merge", {shape[0], blocks * block_, shape[2], shape[3]});
  if (blocks * block_ != shape[1]) plain = rewriter.slice(plain, "from_blocks/cut", 1, 0, shape[1]);
  plain_[value] = plain;
  return plain;
}

ValueId BlockedValues::blocked_channels(Rewriter& rewriter, ValueId value, int64_t channels) {
  const int64_t blocks = (channels + block_ - 1) / block_;
  const ValueId flat = rewriter.reshape(plain(rewriter, value), "channels", {channels});
  return rewriter.reshape(pad_end(rewriter, flat, "channels/pad", 0, blocks * block_), "channels/blocks", {1, blocks, 1, 1, block_});
}

Status BlockedValues::replace_outputs() {
  std::vector<ValueId> outputs = graph_.outputs();
  for (ValueId& output : outputs) {
    if (!is_blocked(output)) continue;
    Rewriter rewriter(graph_, graph_.value(output).producer);
    output = plain(rewriter, output);
    TIFFIN_TRY(rewriter.take_status());
  }
  graph_.set_outputs(std::move(outputs));
  return {};
}

}  // namespace tiffin::passes
