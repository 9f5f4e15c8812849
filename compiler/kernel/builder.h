// SPDX-License-Identifier: Apache-2.0
// Builds Kernel IR: expressions with constant folding and simplified index arithmetic, statements collected in the current block.
//
//   Builder b(kernel);
//   b.for_loop("i", b.i64(0), b.i64(n / 8), [&](Expr i) {
//     Expr x = b.load(input, b.mul(i, 8), 8);
//     b.store(output, b.mul(i, 8), b.max(x, b.zero(x->type)));
//   });
//   b.finish();
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/index_math.h"
#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

struct LoopOptions {
  int64_t step = 1;
  LoopKind kind = LoopKind::Serial;
  bool keeps_variable = false;  // even where there is one iteration
};

// Operands of two-operand functions must have one dtype; a scalar beside a vector is splatted. Scalar and vector Int64 expressions are
// kept as linear forms (index_math.h): equal forms are one Expr, so that pointers can be compared. An Expr that is used more than once should be
// named by let(): back ends may compute a node anew at every use. Not thread-safe.
class Builder {
 public:
  explicit Builder(Kernel& kernel);

  Kernel& kernel() { return kernel_; }
  IndexMath& index_math() { return index_math_; }

  // ---- constants ----
  Expr i64(int64_t value);
  Expr integer(Type type, int64_t value);
  Expr real(Type type, double value);
  // The number in whatever class `type` has: integers get it truncated, Bool "not zero".
  Expr number(Type type, double value);
  Expr zero(Type type) { return number(type, 0); }
  Expr boolean(bool value, int lanes = 1) { return integer({DType::Bool, static_cast<uint16_t>(lanes)}, value); }

  // ---- arithmetic ----
  Expr binary(BinaryOp op, Expr a, Expr b);
  Expr unary(UnaryOp op, Expr a);
  Expr add(Expr a, Expr b) { return binary(BinaryOp::Add, a, b); }
  Expr sub(Expr a, Expr b) { return binary(BinaryOp::Sub, a, b); }
  Expr mul(Expr a, Expr b) { return binary(BinaryOp::Mul, a, b); }
  Expr div(Expr a, Expr b) { return binary(BinaryOp::Div, a, b); }
  Expr mod(Expr a, Expr b) { return binary(BinaryOp::Mod, a, b); }
  Expr min(Expr a, Expr b) { return binary(BinaryOp::Min, a, b); }
  Expr max(Expr a, Expr b) { return binary(BinaryOp::Max, a, b); }
  // Int64 with a constant.
  Expr add(Expr a, int64_t b) { return add(a, integer(a->type, b)); }
  Expr sub(Expr a, int64_t b) { return sub(a, integer(a->type, b)); }
  Expr mul(Expr a, int64_t b) { return mul(a, integer(a->type, b)); }
  Expr div(Expr a, int64_t b) { return div(a, integer(a->type, b)); }
  Expr mod(Expr a, int64_t b) { return mod(a, integer(a->type, b)); }
  // a * b + c, rounded once where the target has FMA.
  Expr fma(Expr a, Expr b, Expr c);
  Expr neg(Expr a) { return unary(UnaryOp::Neg, a); }
  Expr abs(Expr a) { return unary(UnaryOp::Abs, a); }
  Expr sqrt(Expr a) { return unary(UnaryOp::Sqrt, a); }
  Expr floor(Expr a) { return unary(UnaryOp::Floor, a); }
  Expr ceil(Expr a) { return unary(UnaryOp::Ceil, a); }
  Expr trunc(Expr a) { return unary(UnaryOp::Trunc, a); }
  Expr round_even(Expr a) { return unary(UnaryOp::RoundEven, a); }
  Expr reduce_add(Expr a) { return unary(UnaryOp::ReduceAdd, a); }
  Expr reduce_max(Expr a) { return unary(UnaryOp::ReduceMax, a); }
  Expr reduce_min(Expr a) { return unary(UnaryOp::ReduceMin, a); }
  Expr bit_cast(Expr a, DType dtype);
  Expr cast(Expr a, DType dtype);

  // ---- bits, logic, comparison ----
  Expr bit_and(Expr a, Expr b) { return binary(BinaryOp::And, a, b); }
  Expr bit_or(Expr a, Expr b) { return binary(BinaryOp::Or, a, b); }
  Expr bit_xor(Expr a, Expr b) { return binary(BinaryOp::Xor, a, b); }
  Expr shl(Expr a, Expr b) { return binary(BinaryOp::Shl, a, b); }
  Expr shr(Expr a, Expr b) { return binary(BinaryOp::Shr, a, b); }
  Expr logical_not(Expr a) { return unary(UnaryOp::Not, a); }
  Expr eq(Expr a, Expr b) { return binary(BinaryOp::Equal, a, b); }
  Expr ne(Expr a, Expr b) { return logical_not(eq(a, b)); }
  Expr lt(Expr a, Expr b) { return binary(BinaryOp::Less, a, b); }
  Expr le(Expr a, Expr b) { return binary(BinaryOp::LessEqual, a, b); }
  Expr gt(Expr a, Expr b) { return lt(b, a); }
  Expr ge(Expr a, Expr b) { return le(b, a); }
  Expr select(Expr condition, Expr a, Expr b);
  // One Bool: true when any lane is.
  Expr any(Expr condition);

  // ---- lanes ----
  Expr splat(Expr a, int lanes);
  // The lanes first, first + step, first + 2 * step, ...
  Expr lanes(Expr first, int64_t step, int count);

  // ---- memory ----
  // `lanes` elements from `index` on, `stride` apart; with `active`, lanes at or above it read as zero and touch no memory.
  Expr load(const Buffer* buffer, Expr index, int lanes = 1, int64_t stride = 1, Expr active = nullptr);
  // As many elements as `index` has lanes: a plain, strided or splatted load where the form of the index allows, a gather otherwise.
  Expr load_at(const Buffer* buffer, Expr index, Expr active = nullptr);
  // The value's lanes to `index`, `stride` apart.
  void store(const Buffer* buffer, Expr index, Expr value, int64_t stride = 1, Expr active = nullptr);

  // ---- statements ----
  // A name for the value, computed once. A constant or variable is its own name. Pure values (no register, no buffer that the kernel writes) are
  // computed in the outermost loop body where all they need is known.
  Expr let(const std::string& name, Expr value);
  // A name for an index whose range is known better than its form tells.
  Expr let_index(const std::string& name, Expr value, Range range);
  // A variable that set() changes; usable as an Expr, which reads its value at that time.
  Expr add_register(const std::string& name, Expr initial);
  void set(Expr reg, Expr value);
  using Body = std::function<void()>;
  using LoopBody = std::function<void(Expr)>;
  // begin <= i < end. An empty constant range emits nothing; one iteration emits the body alone (Serial loops only).
  void for_loop(const std::string& name, Expr begin, Expr end, const LoopBody& body, LoopOptions options = {});
  void for_loop(const std::string& name, int64_t end, const LoopBody& body, LoopOptions options = {}) {
    for_loop(name, i64(0), i64(end), body, options);
  }
  // A constant condition emits one branch alone.
  void if_then(Expr condition, const Body& then, const Body& otherwise = nullptr);
  // The value of one of two expressions, each computed only when it is wanted. The condition is a scalar.
  Expr choose(Expr condition, const std::function<Expr()>& yes, const std::function<Expr()>& no);
  // The same for several values at once.
  using Values = std::vector<Expr>;
  Values choose_all(Expr condition, const std::function<Values()>& yes, const std::function<Values()>& no);
  // Leaves the kernel with `failure` where the (Bool, any lanes) condition does not hold.
  void check(Expr condition, int32_t failure);
  // Runs `body` with the outermost block as the current one in which all of `values` can be computed; blocks inside it are set aside meanwhile.
  void at_home(std::span<const Expr> values, const Body& body);
  // The loop over [unit_begin, unit_end) of the kernel; the variable lies in [0, units).
  void unit_loop(const LoopBody& body);
  // A variable that nothing declares, for analyses of element functions; not for kernels that run.
  Expr free_variable(const std::string& name, Range range);
  // Moves the statements into the kernel. Call once, last.
  void finish();

  // Loads from a buffer that is written in this kernel are neither cached nor moved. Parameters that are outputs, scratch and local buffers count
  // as written.
  static bool is_written(const Buffer* buffer) { return buffer->kind != BufferKind::Parameter || buffer->is_output; }

  // Variables that hold values computed earlier in the open blocks, for sharing of equal values: valid until the block they lie in ends.
  using CacheKey = std::pair<int64_t, std::vector<Expr>>;
  Expr find_cached(const CacheKey& key) const;
  void remember(const CacheKey& key, Expr value);

  // Called with each new expression; null for none. For analyses of element functions.
  std::function<void(Expr)> observer;
  // Called with the index of each load before its parts are named.
  std::function<void(const Buffer*, Expr)> load_observer;

  // Keys with a first part at or above this are free for users of find_cached.
  static constexpr int64_t kFirstUserKey = 16;

 private:
  enum class BlockKind : uint8_t { Root, Loop, MayBeEmptyLoop, Conditional };
  struct Block {
    BlockKind kind{};
    std::vector<Stmt> statements;
    std::vector<CacheKey> cached;
  };
  Expr make(ExprNode node);
  // What decides where a value can be computed.
  struct Needs {
    int depth = 0;          // of the innermost variable
    bool is_fixed = false;  // reads a register or a written buffer
    bool has_load = false;
  };
  Expr integer_binary(BinaryOp op, Expr a, Expr b);
  Expr simplify_binary(BinaryOp op, Expr a, Expr b);
  Expr variable_expr(const Variable* variable, int depth);
  Expr name_value(const std::string& name, Expr value);
  // An index with its quotients and other atoms named.
  Expr settle(Expr index);
  Needs needs_of(Expr value);
  // The depth of the block in which a let of `value` can lie.
  int home_of(Expr value, bool with_loads = false);
  int depth() const { return static_cast<int>(blocks_.size()) - 1; }
  void open_block(BlockKind kind);
  std::vector<Stmt> close_block();
  void append(StmtNode node);
  void append_at(StmtNode node, int depth);

  Kernel& kernel_;
  IndexMath index_math_;
  std::vector<Block> blocks_;
  std::map<CacheKey, std::pair<Expr, int>> cache_;
  std::map<const Variable*, int> variable_depth_;
  std::map<Expr, Needs> needs_;
  std::map<std::pair<int64_t, int>, Expr> indices_;  // Int64 constants by value and lanes
};

}  // namespace tiffin::kernel
