// SPDX-License-Identifier: Apache-2.0
// Operators that move elements without looking at them.
#include <algorithm>

#include "compiler/ops/axes.h"
#include "compiler/ops/slice_rule.h"
#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

// The tensor of `shape` whose element at each coordinate is x's element at source(coordinate).
template <class Source>
Result<Tensors> rearranged(const Evaluation& e, const Tensor& x, const std::vector<int64_t>& shape, Source&& source) {
  Tensors out;
  visit_bits(x.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements;
    for (Coordinates at(shape); !at.is_done(); at.next()) elements.push_back(x.at<T>(source(at.all())));
    out.push_back(Tensor::from<T>(x.dtype(), shape, elements));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

std::vector<int64_t> permuted(const std::vector<int64_t>& values, const std::vector<int64_t>& permutation) {
  std::vector<int64_t> out;
  for (const int64_t axis : permutation) out.push_back(values[static_cast<size_t>(axis)]);
  return out;
}

Result<Tensor> transposed(const Evaluation& e, const Tensor& x, const std::vector<int64_t>& permutation) {
  const std::vector<int64_t> strides = permuted(graph::row_major_strides(x.shape()), permutation);
  TIFFIN_ASSIGN_OR_RETURN(Tensors out, rearranged(e, x, permuted(x.shape(), permutation), [&](const auto& at) { return dot(at, strides); }));
  return out[0];
}

// [N, b*b*C, H, W] <-> [N, C, H*b, W*b], as a reshape, a transposition and a reshape.
Result<Tensors> block_moved(const Evaluation& e, const std::vector<int64_t>& split, const std::vector<int64_t>& permutation) {
  TIFFIN_ASSIGN_OR_RETURN(const Tensor moved, transposed(e, e.inputs[0].reshaped(split), permutation));
  return one(moved.reshaped(e.result_shape()));
}

Result<Tensors> depth_to_space(const Evaluation& e) {
  const std::vector<int64_t>& x = e.inputs[0].shape();
  const int64_t b = e.node.int_attribute("blocksize", 1), c = x[1] / (b * b);
  if (e.node.string_attribute("mode", "DCR") == "CRD") return block_moved(e, {x[0], c, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
  return block_moved(e, {x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
}

Result<Tensors> space_to_depth(const Evaluation& e) {
  const std::vector<int64_t>& x = e.inputs[0].shape();
  const int64_t b = e.node.int_attribute("blocksize", 1);
  const std::vector<int64_t> split{x[0], x[1], x[2] / b, b, x[3] / b, b};
  if (e.node.string_attribute("mode", "DCR") == "CRD") return block_moved(e, split, {0, 1, 3, 5, 2, 4});
  return block_moved(e, split, {0, 3, 5, 1, 2, 4});
}

// Where padding reads along an axis; -1 for the constant.
int64_t padded_source(int64_t position, int64_t extent, const std::string& mode) {
  if (position >= 0 && position < extent) return position;
  if (mode == "edge") return std::clamp<int64_t>(position, 0, extent - 1);
  if (mode == "wrap") return ((position % extent) + extent) % extent;
  if (mode != "reflect") return -1;
  const int64_t period = std::max<int64_t>(2 * (extent - 1), 1);
  const int64_t folded = ((position % period) + period) % period;
  return folded < extent ? folded : period - folded;
}

}  // namespace

Result<Tensors> evaluate_same_elements(const Evaluation& e) {
  const bool is_training = e.op() == Op::Dropout && e.has_input(2) && e.inputs[2].to_int64s()[0] != 0;
  const bool drops_nothing = e.has_input(1) && e.op() == Op::Dropout && e.inputs[1].to_doubles()[0] == 0;
  if (is_training && !drops_nothing) {
    return error(Code::UnsupportedOperator, "'%s' (Dropout) is in training mode, expected inference", e.node.name.c_str());
  }
  Tensors out = one(e.inputs[0].reshaped(e.result_shape()));
  if (e.has_output(1)) {  // the mask of Dropout
    const std::vector<uint8_t> kept(static_cast<size_t>(e.inputs[0].num_elements()), 1);
    out.push_back(store(DType::Bool, e.inputs[0].shape(), kept));
  }
  return out;
}

Result<Tensors> evaluate_transpose(const Evaluation& e) {
  if (e.op() == Op::DepthToSpace) return depth_to_space(e);
  if (e.op() == Op::SpaceToDepth) return space_to_depth(e);
  std::vector<int64_t> reversed;
  for (auto axis = static_cast<int64_t>(e.inputs[0].rank()); axis-- > 0;) reversed.push_back(axis);
  TIFFIN_ASSIGN_OR_RETURN(Tensor out, transposed(e, e.inputs[0], e.node.ints_attribute("perm", reversed)));
  return one(out);
}

Result<Tensors> evaluate_expand(const Evaluation& e) {
  const std::vector<int64_t> shape = e.result_shape(), from = broadcast_indices(e.inputs[0].shape(), shape);
  const std::vector<int64_t> strides = graph::row_major_strides(shape);
  return rearranged(e, e.inputs[0], shape, [&](const auto& at) { return from[static_cast<size_t>(dot(at, strides))]; });
}

Result<Tensors> evaluate_tile(const Evaluation& e) {
  const std::vector<int64_t>& extents = e.inputs[0].shape();
  const std::vector<int64_t> strides = graph::row_major_strides(extents);
  return rearranged(e, e.inputs[0], e.result_shape(), [&](const auto& at) {
    int64_t from = 0;
    for (size_t i = 0; i < at.size(); ++i) from += at[i] % extents[i] * strides[i];
    return from;
  });
}

Result<Tensors> evaluate_slice(const Evaluation& e) {
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<ops::SliceAxis> axes, ops::slice_of(e.graph, e.node));
  const std::vector<int64_t> strides = graph::row_major_strides(e.inputs[0].shape());
  return rearranged(e, e.inputs[0], e.result_shape(), [&](const auto& at) {
    int64_t from = 0;
    for (size_t i = 0; i < at.size(); ++i) from += (axes[i].start + at[i] * axes[i].step) * strides[i];
    return from;
  });
}

Result<Tensors> evaluate_split(const Evaluation& e) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(e.graph, e.node, "axis", 0));
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ops::split_sizes(e.graph, e.node));
  const Tensor& x = e.inputs[0];
  const std::vector<int64_t> strides = graph::row_major_strides(x.shape());
  Tensors out;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    std::vector<int64_t> shape = x.shape();
    shape[static_cast<size_t>(axis)] = size;
    const int64_t offset = begin * strides[static_cast<size_t>(axis)];
    TIFFIN_ASSIGN_OR_RETURN(Tensors part, rearranged(e, x, shape, [&](const auto& at) { return offset + dot(at, strides); }));
    out.push_back(part[0]);
    begin += size;
  }
  return out;
}

Result<Tensors> evaluate_concat(const Evaluation& e) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(e.graph, e.node, "axis", 0));
  const std::vector<int64_t> shape = e.result_shape();
  const auto element_bytes = static_cast<size_t>(dtype_bits(e.result_dtype()) / 8);
  if (element_bytes == 0) return e.unsupported_type(e.result_dtype());
  std::vector<uint8_t> bytes;
  for (int64_t o = 0; o < view_at_axis(shape, axis).outer; ++o) {
    for (const Tensor& part : e.inputs) {
      const AxisView view = view_at_axis(part.shape(), axis);
      const size_t run = static_cast<size_t>(view.extent * view.inner) * element_bytes;
      const auto rows = part.bytes().subspan(static_cast<size_t>(o) * run, run);
      bytes.insert(bytes.end(), rows.begin(), rows.end());
    }
  }
  return one(Tensor(e.result_dtype(), shape, std::move(bytes)));
}

Result<Tensors> evaluate_pad(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<ops::PadAxis> pads, ops::pads_of(e.graph, e.node));
  const std::string mode = e.node.string_attribute("mode", "constant");
  const std::vector<int64_t> shape = e.result_shape(), strides = graph::row_major_strides(x.shape());
  if (x.num_elements() == 0 && mode != "constant" && graph::num_elements(shape) != 0) {
    return error(Code::InvalidModel, "cannot pad '%s' (Pad) with mode '%s': the data has no element to repeat", e.node.name.c_str(), mode.c_str());
  }
  Tensors out;
  visit_bits(x.dtype(), [&]<class T>(TypeTag<T>) {
    const T filling = e.has_input(2) ? e.inputs[2].at<T>(0) : T{0};
    std::vector<T> elements;
    for (Coordinates at(shape); !at.is_done(); at.next()) {
      int64_t from = 0;
      bool is_filling = false;
      for (size_t i = 0; i < shape.size(); ++i) {
        const int64_t position = padded_source(at[i] - pads[i].begin, x.shape()[i], mode);
        is_filling = is_filling || position < 0;
        from += position * strides[i];
      }
      elements.push_back(is_filling ? filling : x.at<T>(from));
    }
    out.push_back(Tensor::from<T>(x.dtype(), shape, elements));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

}  // namespace tiffin::reference
