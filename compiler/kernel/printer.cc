// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/printer.h"

#include <cstdio>
#include <unordered_map>

namespace tiffin::kernel {
namespace {

std::string type_text(Type type) {
  std::string text(dtype_name(type.dtype));
  return type.lanes == 1 ? text : text + "x" + std::to_string(type.lanes);
}

// Hexadecimal floats are exact; NaN is printed without its payload.
std::string number_text(double value) {
  char text[64];
  std::snprintf(text, sizeof text, value != value ? "nan" : "%a", value);
  return text;
}

class Printer {
 public:
  explicit Printer(bool with_names) : with_names_(with_names) {}

  std::string kernel_text(const Kernel& kernel) {
    text_ = with_names_ ? "kernel " + kernel.name : std::string("kernel");
    text_ += " units " + std::to_string(kernel.units) + " scratch " + std::to_string(kernel.scratch_bytes) + " grain " +
             std::to_string(kernel.grain) + (kernel.has_fma ? " fma\n" : " no-fma\n");
    name_of_variable(*kernel.unit_begin);
    name_of_variable(*kernel.unit_end);
    for (const Buffer* buffer : kernel.parameters()) text_ += "  " + declaration(*buffer) + "\n";
    for (const Buffer* buffer : kernel.scratch_buffers()) text_ += "  " + declaration(*buffer) + "\n";
    block(kernel.body, 1);
    return std::move(text_);
  }

  std::string expression(Expr e) {
    const auto found = shared_.find(e);
    return found == shared_.end() ? node(e) : "$" + std::to_string(found->second);
  }

 private:
  std::string node(Expr e) {
    if (e == nullptr) return "<missing>";
    switch (e->kind) {
      case ExprKind::Const:
        return (is_standard_float(e->type.dtype) ? number_text(e->float_value) : std::to_string(e->int_value)) + ":" + type_text(e->type);
      case ExprKind::Var:
        return e->variable == nullptr ? "<missing>" : name_of_variable(*e->variable);
      case ExprKind::Load:
        return "load " + type_text(e->type) + access(e->buffer, e->a, e->stride, e->b);
      case ExprKind::Unary:
        return std::string(name_of(e->unary)) + (e->unary == UnaryOp::BitCast ? " " + type_text(e->type) : "") + "(" + expression(e->a) + ")";
      case ExprKind::Binary:
        return std::string(name_of(e->binary)) + "(" + expression(e->a) + ", " + expression(e->b) + ")";
      case ExprKind::Fma:
        return "fma(" + expression(e->a) + ", " + expression(e->b) + ", " + expression(e->c) + ")";
      case ExprKind::Select:
        return "select(" + expression(e->a) + ", " + expression(e->b) + ", " + expression(e->c) + ")";
      case ExprKind::Cast:
        return "cast " + type_text(e->type) + "(" + expression(e->a) + ")";
      case ExprKind::Splat:
        return "splat " + std::to_string(e->type.lanes) + "(" + expression(e->a) + ")";
      case ExprKind::Lanes:
        return "lanes " + std::to_string(e->type.lanes) + "(" + expression(e->a) + " step " + std::to_string(e->int_value) + ")";
    }
    return "<unknown>";
  }

  std::string name_of_variable(const Variable& variable) {
    const auto [found, is_new] = variables_.try_emplace(&variable, variables_.size());
    const std::string number = std::to_string(found->second);
    return with_names_ ? "%" + variable.name + "." + number : "%" + number;
  }

  std::string name_of_buffer(const Buffer& buffer) {
    if (with_names_) return "@" + buffer.name;
    const auto [found, is_new] = buffers_.try_emplace(&buffer, buffers_.size());
    return "@" + std::to_string(found->second);
  }

  std::string declaration(const Buffer& buffer) {
    const std::string shape = name_of_buffer(buffer) + " " + std::string(dtype_name(buffer.dtype)) + "[" + std::to_string(buffer.size) + "]";
    switch (buffer.kind) {
      case BufferKind::Parameter:
        return (buffer.is_output ? "output " : "input ") + shape;
      case BufferKind::Scratch:
        return "scratch " + shape + " at " + std::to_string(buffer.offset);
      case BufferKind::Local:
        break;
    }
    return "local " + shape;
  }

  // "@x[index step 4] active n"; a local buffer is described where it first occurs.
  std::string access(const Buffer* buffer, Expr index, int64_t stride, Expr active) {
    if (buffer == nullptr) return " <missing>";
    const bool is_new_local = buffer->kind == BufferKind::Local && locals_.try_emplace(buffer, true).second;
    std::string text = " " + (is_new_local ? "(" + declaration(*buffer) + ")" : name_of_buffer(*buffer)) + "[" + expression(index);
    if (stride != 1) text += " step " + std::to_string(stride);
    text += "]";
    return active == nullptr ? text : text + " active " + expression(active);
  }

  void line(int depth, const std::string& text) { text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n"; }

  void block(const std::vector<Stmt>& body, int depth) {
    for (const Stmt stmt : body) statement(*stmt, depth);
  }

  // An expression that a statement uses more than once gets a line of its own: a graph printed as a tree could grow without bound.
  void name_shared(const StmtNode& s, int depth) {
    shared_.clear();
    std::unordered_map<Expr, int> uses;
    std::vector<Expr> order;  // operands first
    for (const Expr root : {s.a, s.b, s.c}) count_uses(root, uses, order);
    for (const Expr e : order) {
      if (uses[e] < 2 || e->kind == ExprKind::Const || e->kind == ExprKind::Var) continue;
      const std::string text = node(e);
      const size_t number = shared_.size();
      line(depth, "$" + std::to_string(number) + " = " + text);
      shared_.emplace(e, number);
    }
  }

  static void count_uses(Expr e, std::unordered_map<Expr, int>& uses, std::vector<Expr>& order) {
    if (e == nullptr || ++uses[e] > 1) return;
    for (const Expr operand : {e->a, e->b, e->c}) count_uses(operand, uses, order);
    order.push_back(e);
  }

  void statement(const StmtNode& s, int depth) {
    name_shared(s, depth);
    const std::string variable = s.variable == nullptr ? "" : name_of_variable(*s.variable);
    switch (s.kind) {
      case StmtKind::Block:
        return block(s.body, depth);
      case StmtKind::For:
        line(depth, std::string(s.loop == LoopKind::Unrolled ? "unrolled " : "for ") + variable + " from " + expression(s.a) + " to " +
                        expression(s.b) + " by " + std::to_string(s.step) + " {");
        block(s.body, depth + 1);
        return line(depth, "}");
      case StmtKind::If:
        line(depth, "if " + expression(s.a) + " {");
        block(s.body, depth + 1);
        if (!s.otherwise.empty()) line(depth, "} else {");
        block(s.otherwise, depth + 1);
        return line(depth, "}");
      case StmtKind::Let:
        return line(depth, "let " + variable + " = " + expression(s.a));
      case StmtKind::Register:
        return line(depth, "register " + variable + " " + type_text(s.variable->type) + " = " + expression(s.a));
      case StmtKind::Set:
        return line(depth, "set " + variable + " = " + expression(s.a));
      case StmtKind::Store: {
        const std::string place = access(s.buffer, s.a, s.stride, s.c);
        return line(depth, "store" + place + " = " + expression(s.b));
      }
      case StmtKind::Fail:
        return line(depth, "fail " + std::to_string(s.failure));
    }
  }

  bool with_names_;
  std::string text_;
  std::unordered_map<const Variable*, size_t> variables_;
  std::unordered_map<const Buffer*, size_t> buffers_;
  std::unordered_map<const Buffer*, bool> locals_;
  std::unordered_map<Expr, size_t> shared_;  // of the current statement
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(true).kernel_text(kernel); }
std::string print(Expr expr) { return Printer(true).expression(expr); }
std::string structural_key(const Kernel& kernel) { return Printer(false).kernel_text(kernel); }

const char* name_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::Neg:
      return "neg";
    case UnaryOp::Abs:
      return "abs";
    case UnaryOp::Not:
      return "not";
    case UnaryOp::Sqrt:
      return "sqrt";
    case UnaryOp::Floor:
      return "floor";
    case UnaryOp::Ceil:
      return "ceil";
    case UnaryOp::Trunc:
      return "trunc";
    case UnaryOp::RoundEven:
      return "round_even";
    case UnaryOp::BitCast:
      return "bitcast";
    case UnaryOp::ReduceAdd:
      return "reduce_add";
    case UnaryOp::ReduceMax:
      return "reduce_max";
    case UnaryOp::ReduceMin:
      return "reduce_min";
  }
  return "?";
}

const char* name_of(BinaryOp op) {
  constexpr const char* kNames[] = {"add", "sub", "mul", "div", "mod", "min", "max", "and", "or", "xor", "shl", "shr", "equal", "less", "less_equal"};
  return kNames[static_cast<size_t>(op)];
}

}  // namespace tiffin::kernel
