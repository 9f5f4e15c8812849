// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/verifier.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/kernel/printer.h"
#include "compiler/kernel/scalar.h"

namespace tiffin::kernel {
namespace {

constexpr Type kIndex{DType::Int64, 1};
constexpr int64_t kMaxUnrolled = 1 << 16;  // iterations of one unrolled loop

bool is_compute_float(DType d) { return d == DType::Float32 || d == DType::Float64; }
bool is_storage_float(DType d) { return d == DType::Float16 || d == DType::BFloat16; }
bool is_reduction(UnaryOp op) { return op == UnaryOp::ReduceAdd || op == UnaryOp::ReduceMax || op == UnaryOp::ReduceMin; }

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  Status run() {
    TIFFIN_TRY(check_kernel());
    declared_.insert(kernel_.unit_begin);
    declared_.insert(kernel_.unit_end);
    TIFFIN_TRY(check_block(kernel_.body));
    if (local_bytes_ > kMaxLocalBytes) {
      return error(Code::Internal, "kernel '%s': local buffers take %lld bytes, at most %lld are allowed (rule 4)", kernel_.name.c_str(),
                   static_cast<long long>(local_bytes_), static_cast<long long>(kMaxLocalBytes));
    }
    return {};
  }

 private:
  Status broken(int rule, const char* what, Expr expr) const {
    std::string text = expr == nullptr ? std::string("a statement") : print(expr);
    if (text.size() > 200) text = text.substr(0, 200) + "...";
    return error(Code::Internal, "kernel '%s': %s (rule %d) in '%s'", kernel_.name.c_str(), what, rule, text.c_str());
  }

  Status check_kernel() {
    if (kernel_.units < 0 || kernel_.scratch_bytes < 0 || kernel_.grain < 1) return broken(1, "units, scratch or grain out of range", nullptr);
    for (const Buffer* buffer : kernel_.parameters()) {
      TIFFIN_TRY(check_buffer(*buffer));
      if (kernel_.parameters()[static_cast<size_t>(buffer->index)] != buffer) return broken(2, "a parameter's index is not its position", nullptr);
    }
    for (const Buffer* buffer : kernel_.scratch_buffers()) {
      TIFFIN_TRY(check_buffer(*buffer));
      const int64_t bytes = buffer->size * element_bytes(buffer->dtype);
      if (buffer->offset < 0 || buffer->offset % 64 != 0 || buffer->offset > kernel_.scratch_bytes - bytes) {
        return broken(3, "a scratch buffer is unaligned or leaves the scratch", nullptr);
      }
    }
    return {};
  }

  Status check_buffer(const Buffer& buffer) const {
    if (!is_kernel_dtype(buffer.dtype)) {
      return error(Code::UnsupportedType, "kernel '%s': buffer '%s' has elements of type '%s', which kernels do not know", kernel_.name.c_str(),
                   buffer.name.c_str(), std::string(dtype_name(buffer.dtype)).c_str());
    }
    if (buffer.size < 0 || buffer.size > (int64_t{1} << 56)) return broken(2, "a buffer's size is out of range", nullptr);
    return {};
  }

  // A name declared inside is not known afterwards.
  Status check_block(const std::vector<Stmt>& body) {
    const std::unordered_set<const Variable*> outer = declared_;
    for (const Stmt stmt : body) {
      if (stmt == nullptr) return broken(5, "a statement is missing", nullptr);
      TIFFIN_TRY(check_statement(*stmt));
    }
    declared_ = outer;
    return {};
  }

  // The body of a Block statement shares the scope around it.
  Status check_flat(const std::vector<Stmt>& body) {
    for (const Stmt stmt : body) {
      if (stmt == nullptr) return broken(5, "a statement is missing", nullptr);
      TIFFIN_TRY(check_statement(*stmt));
    }
    return {};
  }

  Status check_statement(const StmtNode& s) {
    checked_.clear();
    for (const Expr expr : {s.a, s.b, s.c}) {
      if (expr != nullptr) TIFFIN_TRY(check(expr));
    }
    switch (s.kind) {
      case StmtKind::Block:
        return check_flat(s.body);
      case StmtKind::For:
        return check_loop(s);
      case StmtKind::If:
        if (s.a == nullptr || s.a->type != Type{DType::Bool, 1}) return broken(7, "a condition must be one bool", s.a);
        TIFFIN_TRY(check_block(s.body));
        return check_block(s.otherwise);
      case StmtKind::Let:
      case StmtKind::Register:
      case StmtKind::Set:
        return check_assignment(s);
      case StmtKind::Store:
        return check_store(s);
      case StmtKind::Fail:
        return s.failure > 0 ? Status() : broken(9, "a failure must be positive", nullptr);
    }
    return broken(5, "a statement of unknown kind", nullptr);
  }

  Status check_loop(const StmtNode& s) {
    if (s.variable == nullptr || s.variable->is_register || s.variable->type != kIndex) return broken(6, "a loop variable must be one int64", s.a);
    if (s.a == nullptr || s.b == nullptr || s.a->type != kIndex || s.b->type != kIndex) return broken(6, "loop bounds must be int64", s.a);
    if (s.step <= 0) return broken(6, "a loop's step must be positive", s.a);
    if (s.loop == LoopKind::Unrolled) {
      int64_t begin = 0, end = 0;
      if (!constant_value(s.a, begin) || !constant_value(s.b, end)) return broken(6, "bounds of an unrolled loop must be constant", s.a);
      if (end > begin && (end - begin) / s.step > kMaxUnrolled) return broken(6, "too many iterations to unroll", s.b);
      constants_[s.variable] = begin;
    }
    declared_.insert(s.variable);
    TIFFIN_TRY(check_block(s.body));
    declared_.erase(s.variable);
    constants_.erase(s.variable);
    return {};
  }

  // Known when the back end emits it: made of constants and variables of unrolled loops.
  bool constant_value(Expr e, int64_t& value) const {
    if (e->kind == ExprKind::Const) {
      value = e->int_value;
      return true;
    }
    if (e->kind == ExprKind::Var) {
      const auto found = constants_.find(e->variable);
      if (found != constants_.end()) value = found->second;
      return found != constants_.end();
    }
    int64_t a = 0, b = 0;
    if (e->kind != ExprKind::Binary || !constant_value(e->a, a) || !constant_value(e->b, b)) return false;
    value = integer_value(e->type.dtype, apply_binary(e->binary, e->a->type.dtype, integer_bits(DType::Int64, a), integer_bits(DType::Int64, b)));
    return true;
  }

  Status check_assignment(const StmtNode& s) {
    if (s.variable == nullptr || s.a == nullptr || s.variable->type != s.a->type) return broken(8, "a variable and its value differ in type", s.a);
    if (s.variable->is_register != (s.kind != StmtKind::Let)) return broken(8, "Register and Set take registers, Let does not", s.a);
    if (s.kind == StmtKind::Set) return declared_.count(s.variable) != 0 ? Status() : broken(8, "a register is set before it is declared", s.a);
    declared_.insert(s.variable);
    return {};
  }

  Status check_store(const StmtNode& s) {
    if (s.b == nullptr) return broken(10, "a store without a value", s.a);
    TIFFIN_TRY(check_access(s.buffer, s.a, s.c, s.b->type, s.b));
    if (s.buffer->kind == BufferKind::Parameter && !s.buffer->is_output) return broken(10, "a store into an input", s.a);
    return {};
  }

  Status check_access(const Buffer* buffer, Expr index, Expr active, Type type, Expr where) {
    if (buffer == nullptr || index == nullptr) return broken(10, "an access without buffer or index", where);
    TIFFIN_TRY(check_buffer(*buffer));
    if (buffer->dtype != type.dtype) return broken(10, "an access differs from its buffer in type", where);
    const bool is_scalar = index->type == kIndex;
    const bool is_gather = is_standard_int(index->type.dtype) && index->type.lanes == type.lanes && type.lanes > 1;
    if (!is_scalar && !is_gather) return broken(10, "an index must be one int64, or integers in as many lanes as the value", where);
    if (active != nullptr && active->type != kIndex) return broken(10, "the number of active lanes must be one int64", where);
    if (buffer->kind == BufferKind::Local && locals_.insert(buffer).second) local_bytes_ += buffer->size * element_bytes(buffer->dtype);
    return {};
  }

  // Shared nodes are checked once per statement: within one, nothing goes out of scope.
  Status check(Expr e) {
    if (!checked_.insert(e).second) return {};
    if (e->kind == ExprKind::Var) {
      if (e->variable == nullptr || declared_.count(e->variable) == 0) return broken(8, "a variable is used where it is not declared", e);
    }
    for (const Expr operand : {e->a, e->b, e->c}) {
      if (operand != nullptr) TIFFIN_TRY(check(operand));
    }
    const int lanes = e->type.lanes;
    if (!is_kernel_dtype(e->type.dtype))
      return error(Code::UnsupportedType, "kernel '%s': '%s' is no type of kernels", kernel_.name.c_str(), print(e).c_str());
    if (lanes < 1 || lanes > kMaxLanes || (lanes & (lanes - 1)) != 0) return broken(11, "lanes must be a power of two up to 64", e);
    return check_node(e);
  }

  Status check_node(Expr e) {
    const Type type = e->type;
    switch (e->kind) {
      case ExprKind::Const:
        return {};
      case ExprKind::Var:
        return e->variable->type == type ? Status() : broken(12, "a variable differs from its use in type", e);
      case ExprKind::Load:
        return check_access(e->buffer, e->a, e->b, type, e);
      case ExprKind::Unary:
        return check_unary(e);
      case ExprKind::Binary:
        return check_binary(e);
      case ExprKind::Fma:
        if (!has(e, 3) || e->a->type != type || e->b->type != type || e->c->type != type || !is_compute_float(type.dtype)) {
          return broken(14, "fma takes three float32 or float64 of one type", e);
        }
        return {};
      case ExprKind::Select:
        if (!has(e, 3) || e->b->type != type || e->c->type != type || e->a->type != Type{DType::Bool, type.lanes}) {
          return broken(15, "select takes bool lanes and two values of one type", e);
        }
        return {};
      case ExprKind::Cast:
        return has(e, 1) && e->a->type.lanes == type.lanes ? Status() : broken(16, "a cast keeps the lanes", e);
      case ExprKind::Splat:
        return has(e, 1) && e->a->type == Type{type.dtype, 1} ? Status() : broken(17, "splat takes one value of its type", e);
      case ExprKind::Lanes:
        return has(e, 1) && e->a->type == Type{type.dtype, 1} && is_standard_int(type.dtype) ? Status()
                                                                                             : broken(17, "lanes takes one integer of its type", e);
    }
    return broken(11, "an expression of unknown kind", e);
  }

  static bool has(Expr e, int operands) { return e->a != nullptr && (operands < 2 || e->b != nullptr) && (operands < 3 || e->c != nullptr); }

  Status check_unary(Expr e) {
    if (!has(e, 1)) return broken(13, "an operand is missing", e);
    const Type from = e->a->type, to = e->type;
    if (is_reduction(e->unary)) {
      const bool is_right = to == Type{from.dtype, 1} && (is_compute_float(from.dtype) || is_standard_int(from.dtype));
      return is_right ? Status() : broken(13, "a reduction takes numbers and gives one of their type", e);
    }
    if (e->unary == UnaryOp::BitCast) {
      const bool is_right =
          from.lanes == to.lanes && dtype_bits(from.dtype) == dtype_bits(to.dtype) && (from.dtype == DType::Bool) == (to.dtype == DType::Bool);
      return is_right ? Status() : broken(13, "a bitcast keeps lanes and width", e);
    }
    if (from != to) return broken(13, "a unary operation keeps its type", e);
    const bool is_integer = is_standard_int(to.dtype);
    bool is_right = is_compute_float(to.dtype);
    if (e->unary == UnaryOp::Neg || e->unary == UnaryOp::Abs) is_right = is_right || is_integer;
    if (e->unary == UnaryOp::Not) is_right = is_integer || to.dtype == DType::Bool || is_storage_float(to.dtype);
    return is_right ? Status() : broken(13, "the operation does not exist for this type", e);
  }

  Status check_binary(Expr e) {
    if (!has(e, 2) || e->a->type != e->b->type) return broken(13, "a binary operation takes two values of one type", e);
    const Type from = e->a->type;
    const bool is_comparison = e->binary == BinaryOp::Equal || e->binary == BinaryOp::Less || e->binary == BinaryOp::LessEqual;
    if (e->type != (is_comparison ? Type{DType::Bool, from.lanes} : from)) return broken(13, "the result's type is wrong", e);
    return exists(e->binary, from.dtype, is_comparison) ? Status() : broken(13, "the operation does not exist for this type", e);
  }

  static bool exists(BinaryOp op, DType dtype, bool is_comparison) {
    const bool is_bitwise = op == BinaryOp::And || op == BinaryOp::Or || op == BinaryOp::Xor;
    const bool is_shift = op == BinaryOp::Shl || op == BinaryOp::Shr;
    if (is_standard_int(dtype)) return true;
    if (is_compute_float(dtype)) return !is_bitwise && !is_shift;
    if (is_storage_float(dtype)) return is_bitwise;
    return is_bitwise || is_comparison || op == BinaryOp::Min || op == BinaryOp::Max;  // Bool
  }

  const Kernel& kernel_;
  std::unordered_set<const Variable*> declared_;
  std::unordered_map<const Variable*, int64_t> constants_;  // variables of unrolled loops, at their first value
  std::unordered_set<Expr> checked_;                        // of the current statement
  std::unordered_set<const Buffer*> locals_;
  int64_t local_bytes_ = 0;
};

}  // namespace

Status verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace tiffin::kernel
