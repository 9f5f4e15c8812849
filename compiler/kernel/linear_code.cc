// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/linear_code.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "abi/kernel_ir.h"
#include "compiler/kernel/scalar.h"

namespace tiffin::kernel {
namespace {

constexpr Type kIndex{DType::Int64, 1};
constexpr size_t kMaxTerms = 16;  // of a sum; longer ones are taken apart

using Register = int64_t;
constexpr Register kNone = -1;

// constant + sum of register * coefficient, wrapping.
struct Sum {
  uint64_t constant = 0;
  std::map<Register, uint64_t> terms;
};

Operand read(Register r) { return {Operand::Kind::Read, r}; }
Operand number(int64_t value) { return {Operand::Kind::Number, value}; }
Operand signed_number(int64_t value) { return {Operand::Kind::Signed, value}; }

class Linearizer {
 public:
  explicit Linearizer(const Kernel& kernel) : kernel_(kernel) {}

  LinearCode run() {
    for (const Buffer* buffer : kernel_.parameters()) number_buffer(buffer);
    out_.unit_begin = variables_[kernel_.unit_begin] = add_register(kIndex, true);
    out_.unit_end = variables_[kernel_.unit_end] = add_register(kIndex, true);
    open_block();
    add_block(kernel_.body);
    close_block();
    for (const auto& [reg, loop] : extended_) {
      VirtualRegister& extended = out_.registers[static_cast<size_t>(reg)];
      extended.last = std::max(extended.last, loop_ends_[loop]);
    }
    return std::move(out_);
  }

 private:
  struct State {
    bool is_stable;     // its value does not change while it is in scope
    size_t loop_depth;  // of its definition
  };
  using Key = std::vector<int64_t>;

  int64_t position() const { return static_cast<int64_t>(out_.code.size()); }

  Register add_register(Type type, bool is_stable) {
    out_.registers.push_back({.type = type, .first = position(), .last = position()});
    states_.push_back({is_stable, loops_.size()});
    return static_cast<Register>(out_.registers.size()) - 1;
  }

  int64_t number_buffer(const Buffer* buffer) {
    const auto [found, is_new] = buffers_.try_emplace(buffer, static_cast<int64_t>(out_.buffers.size()));
    if (is_new) out_.buffers.push_back(buffer);
    return found->second;
  }

  Register constant(Type type, uint64_t bits) {
    const auto [found, is_new] = constants_.try_emplace({static_cast<int64_t>(type.dtype), type.lanes, static_cast<int64_t>(bits)}, kNone);
    if (!is_new) return found->second;
    found->second = add_register(type, true);
    out_.registers.back().is_constant = true;
    out_.registers.back().bits = bits;
    return found->second;
  }

  // A register that a loop reads or writes keeps its value until the loop ends.
  void note_use(Register reg) {
    VirtualRegister& used = out_.registers[static_cast<size_t>(reg)];
    used.last = std::max(used.last, position());
    const size_t depth = states_[static_cast<size_t>(reg)].loop_depth;
    if (loops_.size() > depth) extended_.emplace_back(reg, loops_[depth]);
  }

  void emit(uint8_t op, std::vector<Operand> operands) {
    for (const Operand& operand : operands) {
      if (operand.kind == Operand::Kind::Read || operand.kind == Operand::Kind::Write) note_use(operand.value);
    }
    out_.code.push_back({op, std::move(operands)});
  }

  // The instruction's result in `into`, or in a register of its own. What depends on nothing that changes is computed once.
  Register emit_value(int op, Type type, std::vector<Operand> operands, Register into) {
    bool is_pure = op < TIFFIN_IR_LOAD || op > TIFFIN_IR_SCATTER_ACTIVE;
    for (const Operand& operand : operands) is_pure &= operand.kind != Operand::Kind::Read || states_[static_cast<size_t>(operand.value)].is_stable;
    Key key = {op, static_cast<int64_t>(type.dtype), type.lanes};
    if (is_pure) {
      for (const Operand& operand : operands) key.push_back(operand.value);
      const auto found = known_.find(key);
      if (found != known_.end()) return into == kNone ? found->second : copy(found->second, into);
    }
    // Temporaries are written once.
    const Register result = into == kNone ? add_register(type, true) : into;
    operands.insert(operands.begin(), Operand{Operand::Kind::Write, result});
    emit(static_cast<uint8_t>(op), std::move(operands));
    if (is_pure && into == kNone) remember(std::move(key), result);
    return result;
  }

  void remember(Key key, Register result) {
    scopes_.back().push_back(key);
    known_.emplace(std::move(key), result);
  }

  Register copy(Register from, Register into) {
    emit(TIFFIN_IR_COPY, {{Operand::Kind::Write, into}, read(from)});
    return into;
  }

  void open_block() { scopes_.emplace_back(); }
  void close_block() {
    for (const Key& key : scopes_.back()) known_.erase(key);
    scopes_.pop_back();
  }

  void add_block(const std::vector<Stmt>& body) {
    for (const Stmt stmt : body) add_statement(*stmt);
  }

  void add_statement(const StmtNode& s) {
    values_.clear();
    sums_.clear();
    switch (s.kind) {
      case StmtKind::Block:
        return add_block(s.body);
      case StmtKind::For:
        return add_loop(s);
      case StmtKind::If:
        return add_condition(s);
      case StmtKind::Let:
        return add_let(s);
      case StmtKind::Register:
        variables_[s.variable] = add_register(s.variable->type, false);
        evaluate(s.a, variables_[s.variable]);
        return;
      case StmtKind::Set:
        evaluate(s.a, variables_[s.variable]);
        return;
      case StmtKind::Store:
        return add_store(s);
      case StmtKind::Fail:
        return emit(TIFFIN_IR_FAIL, {number(s.failure)});
    }
  }

  void add_let(const StmtNode& s) {
    Register value = evaluate(s.a, kNone);
    // A name for a register's present value.
    if (!states_[static_cast<size_t>(value)].is_stable) value = copy(value, add_register(s.variable->type, true));
    variables_[s.variable] = value;
  }

  void add_loop(const StmtNode& s) {
    const Register begin = evaluate(s.a, kNone), end = evaluate(s.b, kNone);
    const Register variable = variables_[s.variable] = add_register(kIndex, true);
    emit(TIFFIN_IR_FOR, {{Operand::Kind::Write, variable}, read(begin), read(end), number(s.step)});
    const size_t loop = loop_ends_.size();
    loop_ends_.push_back(0);
    loops_.push_back(loop);
    extended_.emplace_back(variable, loop);
    open_block();
    add_block(s.body);
    close_block();
    loops_.pop_back();
    loop_ends_[loop] = position();
    emit(TIFFIN_IR_END, {});
  }

  void add_condition(const StmtNode& s) {
    emit(TIFFIN_IR_IF, {read(evaluate(s.a, kNone))});
    open_block();
    add_block(s.body);
    close_block();
    if (!s.otherwise.empty()) {
      emit(TIFFIN_IR_ELSE, {});
      open_block();
      add_block(s.otherwise);
      close_block();
    }
    emit(TIFFIN_IR_END, {});
  }

  void add_store(const StmtNode& s) {
    const Register value = evaluate(s.b, kNone);
    const bool is_scatter = s.a->type.lanes > 1;
    std::vector<Operand> operands = access(s.buffer, s.a, s.c, s.stride);
    operands.insert(operands.begin(), read(value));
    const int op = is_scatter ? TIFFIN_IR_SCATTER : TIFFIN_IR_STORE;
    emit(static_cast<uint8_t>(op + (s.c != nullptr ? 1 : 0)), std::move(operands));
  }

  // What follows the value in a load or a store.
  std::vector<Operand> access(const Buffer* buffer, Expr index, Expr active, int64_t stride) {
    std::vector<Operand> operands = {number(number_buffer(buffer))};
    if (active != nullptr) operands.push_back(read(evaluate(active, kNone)));
    if (index->type.lanes > 1) {
      operands.push_back(read(evaluate(index, kNone)));
      return operands;
    }
    operands.push_back(signed_number(stride));
    append(sum_of(index), operands);
    return operands;
  }

  static void append(const Sum& sum, std::vector<Operand>& operands) {
    operands.push_back(signed_number(static_cast<int64_t>(sum.constant)));
    operands.push_back(number(static_cast<int64_t>(sum.terms.size())));
    for (const auto& [reg, coefficient] : sum.terms) {
      operands.push_back(read(reg));
      operands.push_back(signed_number(static_cast<int64_t>(coefficient)));
    }
  }

  static bool is_index_sum(Expr e) {
    if (e->type != kIndex) return false;
    if (e->kind == ExprKind::Unary) return e->unary == UnaryOp::Neg;
    return e->kind == ExprKind::Binary && (e->binary == BinaryOp::Add || e->binary == BinaryOp::Sub || e->binary == BinaryOp::Mul);
  }

  Sum sum_of(Expr e) {
    const auto found = sums_.find(e);
    if (found != sums_.end()) return found->second;
    Sum sum;
    if (e->kind == ExprKind::Const) {
      sum.constant = static_cast<uint64_t>(e->int_value);
    } else if (!is_index_sum(e) || !combine(e, sum)) {
      sum.terms[is_index_sum(e) ? product(e) : evaluate(e, kNone)] = 1;
    }
    if (sum.terms.size() > kMaxTerms) sum = Sum{.terms = {{materialize(sum, kNone), 1}}};
    sums_.emplace(e, sum);
    return sum;
  }

  // False for a product of two values that are not known.
  bool combine(Expr e, Sum& sum) {
    sum = sum_of(e->a);
    if (e->kind == ExprKind::Unary) {
      scale(sum, ~uint64_t{0});
      return true;
    }
    Sum other = sum_of(e->b);
    if (e->binary == BinaryOp::Mul) {
      if (!sum.terms.empty() && !other.terms.empty()) {
        sum = {};
        return false;
      }
      if (sum.terms.empty()) std::swap(sum, other);
      scale(sum, other.constant);
      return true;
    }
    const uint64_t sign = e->binary == BinaryOp::Sub ? ~uint64_t{0} : 1;
    sum.constant += sign * other.constant;
    for (const auto& [reg, coefficient] : other.terms) {
      if ((sum.terms[reg] += sign * coefficient) == 0) sum.terms.erase(reg);
    }
    return true;
  }

  static void scale(Sum& sum, uint64_t factor) {
    sum.constant *= factor;
    for (auto term = sum.terms.begin(); term != sum.terms.end();) {
      term->second *= factor;
      term = term->second == 0 ? sum.terms.erase(term) : std::next(term);
    }
  }

  Register materialize(const Sum& sum, Register into) {
    if (sum.terms.empty()) return into == kNone ? constant(kIndex, sum.constant) : copy(constant(kIndex, sum.constant), into);
    if (sum.constant == 0 && sum.terms.size() == 1 && sum.terms.begin()->second == 1) {
      const Register only = sum.terms.begin()->first;
      return into == kNone ? only : copy(only, into);
    }
    std::vector<Operand> operands;
    append(sum, operands);
    return emit_value(TIFFIN_IR_LINEAR, kIndex, std::move(operands), into);
  }

  Register product(Expr e) {
    return emit_value(TIFFIN_IR_BINARY + static_cast<int>(e->binary), e->type, {read(evaluate(e->a, kNone)), read(evaluate(e->b, kNone))}, kNone);
  }

  // The register that holds the value: `into`, or any.
  Register evaluate(Expr e, Register into) {
    if (into != kNone) return compute(*e, into);
    const auto found = values_.find(e);
    if (found != values_.end()) return found->second;
    const Register value = compute(*e, kNone);
    values_.emplace(e, value);
    return value;
  }

  Register compute(const ExprNode& e, Register into) {
    if (is_index_sum(&e)) return materialize(sum_of(&e), into);
    const auto operand = [&](Expr value) { return read(evaluate(value, kNone)); };
    switch (e.kind) {
      case ExprKind::Const: {
        const bool is_float = is_standard_float(e.type.dtype);
        const Register value = constant(e.type, is_float ? float_bits(e.type.dtype, e.float_value) : integer_bits(e.type.dtype, e.int_value));
        return into == kNone ? value : copy(value, into);
      }
      case ExprKind::Var: {
        const Register value = variables_[e.variable];
        return into == kNone ? value : copy(value, into);
      }
      case ExprKind::Load: {
        const int op = e.a->type.lanes > 1 ? TIFFIN_IR_GATHER : TIFFIN_IR_LOAD;
        return emit_value(op + (e.b != nullptr ? 1 : 0), e.type, access(e.buffer, e.a, e.b, e.stride), into);
      }
      case ExprKind::Unary: {
        const bool is_copy = e.unary == UnaryOp::BitCast;
        return emit_value(is_copy ? TIFFIN_IR_COPY : TIFFIN_IR_UNARY + static_cast<int>(e.unary), e.type, {operand(e.a)}, into);
      }
      case ExprKind::Binary: {
        const Operand a = operand(e.a), b = operand(e.b);
        return emit_value(TIFFIN_IR_BINARY + static_cast<int>(e.binary), e.type, {a, b}, into);
      }
      case ExprKind::Fma:
      case ExprKind::Select: {
        const Operand a = operand(e.a), b = operand(e.b), c = operand(e.c);
        return emit_value(e.kind == ExprKind::Fma ? TIFFIN_IR_FMA : TIFFIN_IR_SELECT, e.type, {a, b, c}, into);
      }
      case ExprKind::Cast:
        return emit_value(TIFFIN_IR_CAST, e.type, {operand(e.a)}, into);
      case ExprKind::Splat:
        return emit_value(TIFFIN_IR_SPLAT, e.type, {operand(e.a)}, into);
      case ExprKind::Lanes:
        return emit_value(TIFFIN_IR_LANES, e.type, {operand(e.a), signed_number(e.int_value)}, into);
    }
    return kNone;
  }

  const Kernel& kernel_;
  LinearCode out_;
  std::vector<State> states_;
  std::unordered_map<const Buffer*, int64_t> buffers_;
  std::unordered_map<const Variable*, Register> variables_;
  std::map<Key, Register> constants_, known_;  // known_: values in scope that stay as they are
  std::vector<std::vector<Key>> scopes_;       // keys of known_ by open block
  std::unordered_map<Expr, Register> values_;  // of the current statement
  std::unordered_map<Expr, Sum> sums_;         // likewise
  std::vector<size_t> loops_;                  // open ones
  std::vector<int64_t> loop_ends_;
  std::vector<std::pair<Register, size_t>> extended_;
};

}  // namespace

LinearCode linearize(const Kernel& kernel) { return Linearizer(kernel).run(); }

}  // namespace tiffin::kernel
