// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM, step by step.
#include <cmath>

#include "compiler/ops/recurrent_rule.h"
#include "compiler/reference/evaluation.h"

namespace tiffin::reference {
namespace {

double activate(const ops::GateActivation& f, double x) {
  if (f.name == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (f.name == "Tanh") return std::tanh(x);
  if (f.name == "Relu") return x > 0 || std::isnan(x) ? x : 0;
  if (f.name == "Affine") return f.alpha * x + f.beta;
  if (f.name == "LeakyRelu") return x < 0 ? f.alpha * x : x;
  if (f.name == "ThresholdedRelu") return x > f.alpha ? x : 0;
  if (f.name == "ScaledTanh") return f.alpha * std::tanh(f.beta * x);
  if (f.name == "HardSigmoid") return std::fmin(std::fmax(f.alpha * x + f.beta, 0), 1);
  if (f.name == "Elu") return x < 0 ? f.alpha * std::expm1(x) : x;
  if (f.name == "Softsign") return x / (1 + std::fabs(x));
  return std::log1p(std::exp(x));  // Softplus
}

using Values = std::vector<double>;

// One direction's weights: W [gates*hidden, input], R [gates*hidden, hidden], B [2*gates*hidden], P [3*hidden]; and how cells compute.
struct Cell {
  ops::Recurrence r;
  Op op{};
  std::span<const double> w, recurrent, bias, peephole;
  std::span<const ops::GateActivation> functions;
  bool resets_after = false, couples_gates = false;

  double clipped(double x) const { return r.has_clip ? std::fmin(std::fmax(x, -r.clip), r.clip) : x; }
  double peeped(int64_t which, int64_t h, double c) const { return peephole.empty() ? 0 : peephole[static_cast<size_t>(which * r.hidden + h)] * c; }
  double input_bias(int64_t row) const { return bias.empty() ? 0 : bias[static_cast<size_t>(row)]; }
  double hidden_bias(int64_t row) const { return bias.empty() ? 0 : bias[static_cast<size_t>(r.gates * r.hidden + row)]; }

  double from_input(std::span<const double> x, int64_t gate, int64_t h) const {
    const int64_t row = gate * r.hidden + h;
    double sum = input_bias(row);
    for (int64_t i = 0; i < r.input; ++i) sum += w[static_cast<size_t>(row * r.input + i)] * x[static_cast<size_t>(i)];
    return sum;
  }
  double from_hidden(std::span<const double> state, int64_t gate, int64_t h) const {
    const int64_t row = gate * r.hidden + h;
    double sum = hidden_bias(row);
    for (int64_t i = 0; i < r.hidden; ++i) sum += recurrent[static_cast<size_t>(row * r.hidden + i)] * state[static_cast<size_t>(i)];
    return sum;
  }
  double gate(std::span<const double> x, std::span<const double> state, int64_t g, int64_t h) const {
    return from_input(x, g, h) + from_hidden(state, g, h);
  }

  void step(std::span<const double> x, Values& h, Values& c) const {
    if (op == Op::RNN)
      step_rnn(x, h);
    else if (op == Op::GRU)
      step_gru(x, h);
    else
      step_lstm(x, h, c);
  }

  void step_rnn(std::span<const double> x, Values& h) const {
    const Values before = h;
    for (int64_t i = 0; i < r.hidden; ++i) h[static_cast<size_t>(i)] = activate(functions[0], clipped(gate(x, before, 0, i)));
  }

  // Gates in the order update z, reset r, hidden h.
  void step_gru(std::span<const double> x, Values& h) const {
    const Values before = h;
    Values reset(before.size()), reset_state(before.size());
    for (size_t i = 0; i < reset.size(); ++i) {
      reset[i] = activate(functions[0], clipped(gate(x, before, 1, static_cast<int64_t>(i))));
      reset_state[i] = reset[i] * before[i];
    }
    for (size_t i = 0; i < reset.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      const double update = activate(functions[0], clipped(gate(x, before, 0, row)));
      const double past = resets_after ? reset[i] * from_hidden(before, 2, row) : from_hidden(reset_state, 2, row);
      const double hidden = activate(functions[1], clipped(from_input(x, 2, row) + past));
      h[i] = (1 - update) * hidden + update * before[i];
    }
  }

  // Gates in the order input i, output o, forget f, cell c; peepholes in the order i, o, f.
  void step_lstm(std::span<const double> x, Values& h, Values& c) const {
    const Values before = h;
    for (size_t i = 0; i < before.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      const double input = activate(functions[0], clipped(gate(x, before, 0, row) + peeped(0, row, c[i])));
      const double forget = couples_gates ? 1 - input : activate(functions[0], clipped(gate(x, before, 2, row) + peeped(2, row, c[i])));
      const double candidate = activate(functions[1], clipped(gate(x, before, 3, row)));
      c[i] = forget * c[i] + input * candidate;
      const double output = activate(functions[0], clipped(gate(x, before, 1, row) + peeped(1, row, c[i])));
      h[i] = output * activate(functions[2], c[i]);
    }
  }
};

// All steps of one batch element in one direction. Y as [steps, directions, batch, hidden], states as [directions, batch, hidden].
struct Outputs {
  Values y, last_h, last_c;
};

std::span<const double> part(const Values& values, int64_t index, int64_t count) {
  if (values.empty()) return {};
  const size_t size = values.size() / static_cast<size_t>(count);
  return std::span(values).subspan(static_cast<size_t>(index) * size, size);
}

Values input_or_empty(const Evaluation& e, size_t i) { return e.has_input(i) ? e.inputs[i].to_doubles() : Values(); }

struct Operands {
  Values x, w, r, b, initial_h, initial_c, p;
  std::vector<int64_t> lengths;
};

// Element offsets that depend on the layout.
int64_t x_offset(const ops::Recurrence& r, int64_t step, int64_t batch) {
  return (r.is_batch_first ? batch * r.steps + step : step * r.batch + batch) * r.input;
}
int64_t state_offset(const ops::Recurrence& r, int64_t direction, int64_t batch) {
  return (r.is_batch_first ? batch * r.directions + direction : direction * r.batch + batch) * r.hidden;
}
int64_t y_offset(const ops::Recurrence& r, int64_t step, int64_t direction, int64_t batch) {
  if (r.is_batch_first) return ((batch * r.steps + step) * r.directions + direction) * r.hidden;
  return ((step * r.directions + direction) * r.batch + batch) * r.hidden;
}

void run_sequence(const Cell& cell, const Operands& operands, int64_t direction, int64_t batch, Outputs& out) {
  const ops::Recurrence& r = cell.r;
  const auto hidden = static_cast<size_t>(r.hidden);
  const auto state_at = static_cast<size_t>(state_offset(r, direction, batch));
  const auto initial = [&](const Values& states) {
    if (states.empty()) return Values(hidden, 0.0);
    return Values(states.begin() + static_cast<std::ptrdiff_t>(state_at), states.begin() + static_cast<std::ptrdiff_t>(state_at + hidden));
  };
  Values h = initial(operands.initial_h), c = initial(operands.initial_c);
  const int64_t length = operands.lengths.empty() ? r.steps : operands.lengths[static_cast<size_t>(batch)];
  const bool is_backwards = direction == 1 || r.is_reverse;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t step = is_backwards ? length - 1 - i : i;
    cell.step(std::span(operands.x).subspan(static_cast<size_t>(x_offset(r, step, batch)), static_cast<size_t>(r.input)), h, c);
    std::copy(h.begin(), h.end(), out.y.begin() + y_offset(r, step, direction, batch));
  }
  std::copy(h.begin(), h.end(), out.last_h.begin() + static_cast<std::ptrdiff_t>(state_at));
  std::copy(c.begin(), c.end(), out.last_c.begin() + static_cast<std::ptrdiff_t>(state_at));
}

Cell cell_of(const Evaluation& e, const ops::Recurrence& r, const Operands& operands, int64_t direction) {
  const size_t functions = r.activations.size() / static_cast<size_t>(r.directions);
  Cell cell;
  cell.r = r;
  cell.op = e.op();
  cell.w = part(operands.w, direction, r.directions);
  cell.recurrent = part(operands.r, direction, r.directions);
  cell.bias = part(operands.b, direction, r.directions);
  cell.peephole = part(operands.p, direction, r.directions);
  cell.functions = std::span(r.activations).subspan(static_cast<size_t>(direction) * functions, functions);
  cell.resets_after = e.node.int_attribute("linear_before_reset", 0) != 0;
  cell.couples_gates = e.node.int_attribute("input_forget", 0) != 0;
  return cell;
}

}  // namespace

Result<Tensors> evaluate_recurrence(const Evaluation& e) {
  TIFFIN_ASSIGN_OR_RETURN(const ops::Recurrence r, ops::recurrence_of(e.graph, e.node));
  if (!is_standard_float(e.inputs[0].dtype())) return e.unsupported_type(e.inputs[0].dtype());
  Operands operands{e.inputs[0].to_doubles(), e.inputs[1].to_doubles(), e.inputs[2].to_doubles(), input_or_empty(e, 3),
                    input_or_empty(e, 5),     input_or_empty(e, 6),     input_or_empty(e, 7),     {}};
  if (e.has_input(4)) operands.lengths = e.inputs[4].to_int64s();
  for (const int64_t length : operands.lengths) {
    if (length >= 0 && length <= r.steps) continue;
    return error(Code::IndexOutOfRange, "sequence length %lld of '%s' is out of range, expected a value in [0, %lld]", static_cast<long long>(length),
                 e.node.name.c_str(), static_cast<long long>(r.steps));
  }
  const auto states = static_cast<size_t>(r.directions * r.batch * r.hidden);
  Outputs results{Values(states * static_cast<size_t>(r.steps), 0.0), Values(states, 0.0), Values(states, 0.0)};
  for (int64_t direction = 0; direction < r.directions; ++direction) {
    const Cell cell = cell_of(e, r, operands, direction);
    for (int64_t batch = 0; batch < r.batch; ++batch) run_sequence(cell, operands, direction, batch, results);
  }
  Tensors out;
  for (size_t i = 0; i < e.node.outputs.size(); ++i) {
    out.emplace_back();
    if (!e.has_output(i)) continue;
    const Values& values = i == 0 ? results.y : i == 1 ? results.last_h : results.last_c;
    visit_float(e.result_dtype(i),
                [&]<class T>(TypeTag<T>) { out.back() = store(e.result_dtype(i), e.result_shape(i), std::vector<T>(values.begin(), values.end())); });
  }
  return out;
}

}  // namespace tiffin::reference
