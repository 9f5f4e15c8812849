// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM. A unit is one batch element in one direction: it walks the steps with its state in scratch. The inputs' part of the gates' sums
// is computed for a block of steps at a time, because weights come from far away and several steps can use what was fetched; then each step adds
// the state's part, row by row (lanes along the row), and computes the new state (lanes along the hidden units).
#include <algorithm>

#include "abi/kernel.h"
#include "compiler/kernel/fold_loop.h"
#include "compiler/kernel/math.h"
#include "compiler/kernel/rules.h"
#include "compiler/ops/recurrent_rule.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::Op;
using graph::ValueId;

namespace {

Expr activate(Builder& b, const ops::GateActivation& f, Expr x) {
  x = b.let("x", x);
  const auto real = [&](double value) { return b.real(x->type, value); };
  if (f.name == "Sigmoid") return math::sigmoid(b, x);
  if (f.name == "Tanh") return math::tanh(b, x);
  if (f.name == "Relu") return b.max(x, real(0));
  if (f.name == "Affine") return b.add(b.mul(x, real(f.alpha)), real(f.beta));
  if (f.name == "LeakyRelu") return b.select(b.lt(x, real(0)), b.mul(x, real(f.alpha)), x);
  if (f.name == "ThresholdedRelu") return b.select(b.lt(real(f.alpha), x), x, real(0));
  if (f.name == "ScaledTanh") return b.mul(math::tanh(b, b.mul(x, real(f.beta))), real(f.alpha));
  if (f.name == "HardSigmoid") return b.min(b.max(b.add(b.mul(x, real(f.alpha)), real(f.beta)), real(0)), real(1));
  if (f.name == "Elu") return b.select(b.lt(x, real(0)), b.mul(math::expm1(b, x), real(f.alpha)), x);
  if (f.name == "Softsign") return b.div(x, b.add(b.abs(x), real(1)));
  return math::softplus(b, x);
}

constexpr int64_t kTileSteps = 4, kTileRows = 2;  // sums in registers at a time
constexpr int64_t kBlockSteps = 8;

class Recurrent {
 public:
  Recurrent(Lowering& lowering, const Node& node, ops::Recurrence recurrence)
      : l_(lowering), b_(lowering.b()), node_(node), r_(std::move(recurrence)), dtype_(compute_dtype(lowering.dtype(node.inputs[0]))) {
    resets_after_ = node.int_attribute("linear_before_reset", 0) != 0;
    couples_gates_ = node.int_attribute("input_forget", 0) != 0;
  }

  void emit() {
    Kernel& kernel = l_.kernel();
    kernel.units = r_.directions * r_.batch;
    kernel.grain = 1;
    const int64_t rows = r_.gates * r_.hidden;
    tile_steps_ = std::clamp<int64_t>(r_.steps, 1, kTileSteps);
    block_steps_ = r_.steps > kTileSteps ? kBlockSteps : tile_steps_;
    from_input_ = kernel.add_scratch("from_input", dtype_, rows * block_steps_);
    from_hidden_ = kernel.add_scratch("from_hidden", dtype_, rows);
    hidden_ = kernel.add_scratch("hidden", dtype_, r_.hidden);
    cell_ = kernel.add_scratch("cell", dtype_, r_.hidden);
    reset_ = kernel.add_scratch("reset", dtype_, r_.hidden);
    b_.unit_loop([&](Expr unit) {
      batch_ = b_.mod(unit, r_.batch);
      Expr direction = b_.div(unit, r_.batch);
      // Directions may differ in activations, so each has code of its own.
      for (int64_t d = 0; d < r_.directions; ++d) {
        b_.if_then(b_.eq(direction, b_.i64(d)), [&] { emit_direction(d); });
      }
    });
  }

 private:
  const ops::GateActivation& function(size_t i) const {
    return r_.activations[static_cast<size_t>(direction_) * (r_.activations.size() / static_cast<size_t>(r_.directions)) + i];
  }
  Expr place(int64_t gate, Expr i) { return b_.add(i, gate * r_.hidden); }

  // `body` for all hidden units, in vectors and then one by one.
  void for_hidden(const std::function<void(Expr i, int lanes)>& body) {
    const int lanes = l_.vectorises() ? l_.lanes_for(dtype_) : 1;
    const int64_t whole = r_.hidden / lanes * lanes;
    b_.for_loop("i", b_.i64(0), b_.i64(whole), [&](Expr i) { body(i, lanes); }, {.step = lanes});
    b_.for_loop("i", b_.i64(whole), b_.i64(r_.hidden), [&](Expr i) { body(i, 1); });
  }

  Index state_index(Expr i) {
    Expr direction = b_.i64(direction_);
    return r_.is_batch_first ? Index{batch_, direction, i} : Index{direction, batch_, i};
  }

  void emit_direction(int64_t direction) {
    direction_ = direction;
    const auto start = [&](const Buffer* state, ValueId initial) {
      for_hidden([&](Expr i, int lanes) {
        Expr value = initial == graph::kNone ? b_.zero({dtype_, 1}) : l_.value(initial, state_index(b_.lanes(i, 1, lanes)));
        b_.store(state, i, b_.splat(value, lanes));
      });
    };
    start(hidden_, node_.input(5));
    if (node_.op == Op::LSTM) start(cell_, node_.input(6));
    Expr length = b_.i64(r_.steps);
    if (node_.input(4) != graph::kNone) {
      length = b_.let("length", b_.cast(l_.value(node_.inputs[4], {batch_}), DType::Int64));
      b_.check(b_.bit_and(b_.le(b_.i64(0), length), b_.le(length, b_.i64(r_.steps))), TIFFIN_KERNEL_INDEX_OUT_OF_RANGE);
      length = b_.let_index("length", b_.add(length, b_.i64(0)), {0, r_.steps});
    }
    b_.for_loop("block", b_.i64(0), length,
                [&](Expr block) {
                  Expr count = b_.let_index("count", b_.min(b_.sub(length, block), b_.i64(block_steps_)), {0, block_steps_});
                  multiply_input(block, count, length);
                  b_.for_loop("step", b_.i64(0), count, [&](Expr step) {
                    held_at_ = b_.mul(step, r_.gates * r_.hidden);
                    emit_step();
                    store_y(place_in_time(l_.within(b_.add(block, step), r_.steps), length), false);
                  });
                },
                {.step = block_steps_});
    if (node_.input(4) != graph::kNone) {
      b_.for_loop("step", length, b_.i64(r_.steps), [&](Expr step) { store_y(l_.within(step, r_.steps), true); });
    }
    store_state(node_.output(1), hidden_);
    if (node_.op == Op::LSTM) store_state(node_.output(2), cell_);
  }

  // The step that is walked as the one of that number.
  Expr place_in_time(Expr number, Expr length) {
    const bool is_backwards = direction_ == 1 || r_.is_reverse;
    return is_backwards ? l_.within(b_.sub(b_.sub(length, 1), number), r_.steps) : number;
  }

  void store_y(Expr step, bool is_zero) {
    const ValueId y = node_.output(0);
    if (y == graph::kNone || l_.buffer_of(y) == nullptr) return;
    for_hidden([&](Expr i, int lanes) {
      Expr value = is_zero ? b_.zero({dtype_, static_cast<uint16_t>(lanes)}) : b_.load(hidden_, i, lanes);
      Expr at = b_.lanes(i, 1, lanes), direction = b_.i64(direction_);
      l_.store(y, r_.is_batch_first ? Index{batch_, step, direction, at} : Index{step, direction, batch_, at}, value);
    });
  }

  void store_state(ValueId result, const Buffer* state) {
    if (result == graph::kNone || l_.buffer_of(result) == nullptr) return;
    for_hidden([&](Expr i, int lanes) { l_.store(result, state_index(b_.lanes(i, 1, lanes)), b_.load(state, i, lanes)); });
  }

  Expr with_bias(Expr sum, Expr row, int64_t bias_at) {
    const ValueId bias = node_.input(3);
    return bias == graph::kNone ? sum : b_.add(sum, l_.value(bias, {b_.i64(direction_), b_.add(row, bias_at)}));
  }

  bool has_lanes_along(ValueId weights) {
    return l_.vectorises() && l_.is_contiguous_along(weights, {2}) && l_.is_contiguous_along(node_.inputs[0], {2});
  }

  // from_input[step][row] = bias + weights[row] . input[step] for all rows and `count` steps from `block` on. Tiles reach beyond the count, where
  // they compute the last step once more: sums in front and at the end are made in the same order.
  void multiply_input(Expr block, Expr count, Expr length) {
    const int64_t rows = r_.gates * r_.hidden, tile_rows = rows % kTileRows == 0 ? kTileRows : 1;
    const bool is_whole = node_.input(4) == graph::kNone && r_.steps % tile_steps_ == 0;
    const auto multiply_tile = [&](Expr row, Expr tile) {
      Values steps;
      for (int64_t i = 0; i < tile_steps_; ++i) {
        Expr number = b_.add(b_.add(block, tile), i);
        if (!is_whole) number = b_.min(number, b_.sub(length, 1));
        steps.push_back(place_in_time(l_.within(number, r_.steps), length));
      }
      const Monoid sum{b_.zero({dtype_, 1}), BinaryOp::Add};
      const std::vector<Monoid> all(static_cast<size_t>(tile_rows * tile_steps_), sum);
      const Values products = fold_range(l_, r_.input, all, 1, has_lanes_along(node_.inputs[1]), [&](Expr k, const Values& sums) {
        Values next, weights;
        for (int64_t i = 0; i < tile_rows; ++i) weights.push_back(b_.let("w", l_.value(node_.inputs[1], {b_.i64(direction_), b_.add(row, i), k})));
        for (Expr step : steps) {
          Expr x = b_.let("x", l_.value(node_.inputs[0], r_.is_batch_first ? Index{batch_, step, k} : Index{step, batch_, k}));
          for (Expr weight : weights) next.push_back(b_.fma(weight, x, sums[next.size()]));
        }
        return next;
      });
      for (size_t i = 0; i < products.size(); ++i) {
        const auto step = static_cast<int64_t>(i) / tile_rows, place = static_cast<int64_t>(i) % tile_rows;
        Expr at_row = b_.add(row, place);
        b_.store(from_input_, b_.add(b_.mul(b_.add(tile, step), rows), at_row), with_bias(products[i], at_row, 0));
      }
    };
    b_.for_loop("row", b_.i64(0), b_.i64(rows),
                [&](Expr row) { b_.for_loop("tile", b_.i64(0), count, [&](Expr tile) { multiply_tile(row, tile); }, {.step = tile_steps_}); },
                {.step = tile_rows});
  }

  // from_hidden[row] = bias + weights[row] . state for the rows of gates [first, last). The gates' rows of one hidden unit are read side by side:
  // as many streams from memory are faster than one.
  void multiply_hidden(const Buffer* state, int64_t first, int64_t last) {
    const std::vector<Monoid> sums(static_cast<size_t>(last - first), {b_.zero({dtype_, 1}), BinaryOp::Add});
    b_.for_loop("i", b_.i64(0), b_.i64(r_.hidden), [&](Expr i) {
      const Values products = fold_range(l_, r_.hidden, sums, 1, has_lanes_along(node_.inputs[2]), [&](Expr k, const Values& before) {
        Expr held = b_.let("held", b_.load_at(state, k));
        Values next;
        for (int64_t gate = first; gate < last; ++gate) {
          next.push_back(b_.fma(l_.value(node_.inputs[2], {b_.i64(direction_), place(gate, i), k}), held, before[next.size()]));
        }
        return next;
      });
      for (int64_t gate = first; gate < last; ++gate) {
        Expr row = place(gate, i);
        b_.store(from_hidden_, row, with_bias(products[static_cast<size_t>(gate - first)], row, r_.gates * r_.hidden));
      }
    });
  }

  Expr clipped(Expr x) {
    if (!r_.has_clip) return x;
    return b_.max(b_.min(x, b_.real({dtype_, 1}, r_.clip)), b_.real({dtype_, 1}, -r_.clip));
  }

  Expr input_sum(int64_t which, Expr i, int lanes) { return b_.load(from_input_, b_.add(held_at_, place(which, i)), lanes); }

  // Both sums of a gate.
  Expr gate(int64_t which, Expr i, int lanes) { return b_.add(input_sum(which, i, lanes), b_.load(from_hidden_, place(which, i), lanes)); }

  void emit_step() {
    switch (node_.op) {
      case Op::RNN:
        multiply_hidden(hidden_, 0, 1);
        return emit_rnn();
      case Op::GRU:
        return emit_gru();
      default:
        multiply_hidden(hidden_, 0, 4);
        return emit_lstm();
    }
  }

  void emit_rnn() {
    for_hidden([&](Expr i, int lanes) { b_.store(hidden_, i, activate(b_, function(0), clipped(gate(0, i, lanes)))); });
  }

  // Gates in the order update, reset, hidden.
  void emit_gru() {
    multiply_hidden(hidden_, 0, resets_after_ ? 3 : 2);
    for_hidden([&](Expr i, int lanes) {
      Expr reset = activate(b_, function(0), clipped(gate(1, i, lanes)));
      b_.store(reset_, i, resets_after_ ? reset : b_.mul(reset, b_.load(hidden_, i, lanes)));
    });
    if (!resets_after_) multiply_hidden(reset_, 2, 3);
    for_hidden([&](Expr i, int lanes) {
      Expr update = b_.let("update", activate(b_, function(0), clipped(gate(0, i, lanes))));
      Expr past = b_.load(from_hidden_, place(2, i), lanes);
      if (resets_after_) past = b_.mul(b_.load(reset_, i, lanes), past);
      Expr sum = b_.add(input_sum(2, i, lanes), past);
      Expr fresh = activate(b_, function(1), clipped(sum));
      Expr kept = b_.mul(update, b_.load(hidden_, i, lanes));
      b_.store(hidden_, i, b_.add(b_.mul(b_.sub(b_.real(update->type, 1), update), fresh), kept));
    });
  }

  // Gates in the order input, output, forget, cell; peepholes in the order input, output, forget.
  void emit_lstm() {
    const ValueId peephole = node_.input(7);
    for_hidden([&](Expr i, int lanes) {
      const auto peeped = [&](int64_t which, Expr sum, Expr state) {
        if (peephole == graph::kNone) return sum;
        return b_.add(sum, b_.mul(l_.value(peephole, {b_.i64(direction_), b_.lanes(place(which, i), 1, lanes)}), state));
      };
      Expr before = b_.let("before", b_.load(cell_, i, lanes));
      Expr input = b_.let("input", activate(b_, function(0), clipped(peeped(0, gate(0, i, lanes), before))));
      Expr forget =
          couples_gates_ ? b_.sub(b_.real(input->type, 1), input) : activate(b_, function(0), clipped(peeped(2, gate(2, i, lanes), before)));
      Expr candidate = activate(b_, function(1), clipped(gate(3, i, lanes)));
      Expr after = b_.let("after", b_.add(b_.mul(forget, before), b_.mul(input, candidate)));
      Expr output = activate(b_, function(0), clipped(peeped(1, gate(1, i, lanes), after)));
      b_.store(cell_, i, after);
      b_.store(hidden_, i, b_.mul(output, activate(b_, function(2), after)));
    });
  }

  Lowering& l_;
  Builder& b_;
  const Node& node_;
  ops::Recurrence r_;
  DType dtype_;
  bool resets_after_ = false, couples_gates_ = false;
  int64_t direction_ = 0;
  int64_t tile_steps_ = 1, block_steps_ = 1;
  Expr batch_ = nullptr, held_at_ = nullptr;  // the latter: of the step's sums in from_input
  const Buffer *from_input_ = nullptr, *from_hidden_ = nullptr, *hidden_ = nullptr, *cell_ = nullptr, *reset_ = nullptr;
};

}  // namespace

Status emit_recurrence(Lowering& lowering, const Node& node) {
  if (!is_standard_float(lowering.dtype(node.inputs[0]))) {
    return ops::node_error(Code::UnsupportedType, lowering.graph(), node, "the operator is lowered for floats alone");
  }
  TIFFIN_ASSIGN_OR_RETURN(ops::Recurrence recurrence, ops::recurrence_of(lowering.graph(), node));
  Recurrent(lowering, node, std::move(recurrence)).emit();
  return {};
}

}  // namespace tiffin::kernel
