// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/interpreter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "abi/kernel.h"
#include "compiler/kernel/scalar.h"

namespace tiffin::kernel {
namespace {

constexpr int kMaxLanes = 64;
using Value = std::array<uint64_t, kMaxLanes>;  // the bits of each lane

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, std::span<void* const> buffers) : kernel_(kernel), parameters_(buffers), scratch_(kernel.scratch_bytes, 0xFF) {
    count_uses(kernel.body);
  }

  Status run(int64_t unit_begin, int64_t unit_end) {
    variables_[kernel_.unit_begin->id][0] = static_cast<uint64_t>(unit_begin);
    variables_[kernel_.unit_end->id][0] = static_cast<uint64_t>(unit_end);
    (void)run_block(kernel_.body);
    return std::move(failure_);
  }

 private:
  struct Shared {
    Value value;
    uint64_t epoch = 0;
  };

  // A node with several users is evaluated once per statement; the memo holds those nodes only.
  void count_uses(const std::vector<Stmt>& body) {
    for (const Stmt stmt : body) {
      count_uses(stmt->a);
      count_uses(stmt->b);
      count_uses(stmt->c);
      count_uses(stmt->body);
      count_uses(stmt->otherwise);
    }
  }

  void count_uses(Expr expr) {
    if (expr == nullptr) return;
    if (!seen_.try_emplace(expr, true).second) {
      shared_.try_emplace(expr);
      return;
    }
    count_uses(expr->a);
    count_uses(expr->b);
    count_uses(expr->c);
  }

  // False when the kernel stops: failure_ then says why.
  bool run_block(const std::vector<Stmt>& body) {
    for (const Stmt stmt : body) {
      if (!run_statement(*stmt)) return false;
    }
    return true;
  }

  bool run_statement(const StmtNode& stmt) {
    ++epoch_;
    switch (stmt.kind) {
      case StmtKind::Block:
        return run_block(stmt.body);
      case StmtKind::For:
        return run_loop(stmt);
      case StmtKind::If: {
        const bool condition = scalar(stmt.a) != 0;
        return failure_.is_ok() && run_block(condition ? stmt.body : stmt.otherwise);
      }
      case StmtKind::Let:
      case StmtKind::Register:
      case StmtKind::Set: {
        Value value;
        evaluate(stmt.a, value);
        variables_[stmt.variable->id] = value;
        return failure_.is_ok();
      }
      case StmtKind::Store:
        return store(stmt);
      case StmtKind::Fail:
        failure_ = stmt.failure == TIFFIN_KERNEL_INDEX_OUT_OF_RANGE
                       ? error(Code::IndexOutOfRange, "kernel '%s': an index lies outside its axis", kernel_.name.c_str())
                       : error(Code::Internal, "kernel '%s' failed with status %d", kernel_.name.c_str(), stmt.failure);
        return false;
    }
    return false;
  }

  bool run_loop(const StmtNode& stmt) {
    const int64_t begin = static_cast<int64_t>(scalar(stmt.a)), end = static_cast<int64_t>(scalar(stmt.b));
    if (!failure_.is_ok()) return false;
    for (int64_t i = begin; i < end; i += stmt.step) {
      variables_[stmt.variable->id][0] = static_cast<uint64_t>(i);
      if (!run_block(stmt.body)) return false;
    }
    return true;
  }

  uint64_t scalar(Expr expr) {
    Value value;
    evaluate(expr, value);
    return value[0];
  }

  void evaluate(Expr expr, Value& out) {
    const auto found = shared_.find(expr);
    if (found == shared_.end()) return compute(*expr, out);
    Shared& memo = found->second;
    if (memo.epoch != epoch_) {
      compute(*expr, memo.value);
      memo.epoch = epoch_;
    }
    std::memcpy(out.data(), memo.value.data(), expr->type.lanes * sizeof(uint64_t));
  }

  void compute(const ExprNode& e, Value& out) {
    const int lanes = e.type.lanes;
    switch (e.kind) {
      case ExprKind::Const: {
        const uint64_t bits = is_standard_float(e.type.dtype) ? float_bits(e.type.dtype, e.float_value) : integer_bits(e.type.dtype, e.int_value);
        return fill(out, lanes, bits);
      }
      case ExprKind::Var:
        std::memcpy(out.data(), variables_[e.variable->id].data(), lanes * sizeof(uint64_t));
        return;
      case ExprKind::Load:
        return load(e, out);
      case ExprKind::Unary:
        return compute_unary(e, out);
      case ExprKind::Binary: {
        Value b;
        evaluate(e.a, out);
        evaluate(e.b, b);
        for (int i = 0; i < lanes; ++i) out[i] = apply_binary(e.binary, e.a->type.dtype, out[i], b[i]);
        return;
      }
      case ExprKind::Fma:
      case ExprKind::Select:
        return compute_ternary(e, out);
      case ExprKind::Cast:
        evaluate(e.a, out);
        for (int i = 0; i < lanes; ++i) out[i] = apply_cast(e.a->type.dtype, e.type.dtype, out[i]);
        return;
      case ExprKind::Splat:
        return fill(out, lanes, scalar(e.a));
      case ExprKind::Lanes: {
        const uint64_t first = scalar(e.a);
        for (int i = 0; i < lanes; ++i) {
          out[i] = integer_bits(e.type.dtype, static_cast<int64_t>(first + static_cast<uint64_t>(i) * static_cast<uint64_t>(e.int_value)));
        }
        return;
      }
    }
  }

  static void fill(Value& out, int lanes, uint64_t bits) {
    for (int i = 0; i < lanes; ++i) out[i] = bits;
  }

  void compute_ternary(const ExprNode& e, Value& out) {
    Value b, c;
    evaluate(e.a, out);
    evaluate(e.b, b);
    evaluate(e.c, c);
    for (int i = 0; i < e.type.lanes; ++i) {
      out[i] = e.kind == ExprKind::Select ? (out[i] != 0 ? b[i] : c[i]) : apply_fma(e.type.dtype, out[i], b[i], c[i], kernel_.has_fma);
    }
  }

  void compute_unary(const ExprNode& e, Value& out) {
    const DType dtype = e.a->type.dtype;
    if (e.unary != UnaryOp::ReduceAdd && e.unary != UnaryOp::ReduceMax && e.unary != UnaryOp::ReduceMin) {
      evaluate(e.a, out);
      for (int i = 0; i < e.type.lanes; ++i) out[i] = apply_unary(e.unary, dtype, out[i]);
      return;
    }
    Value lanes;
    evaluate(e.a, lanes);
    const BinaryOp op = e.unary == UnaryOp::ReduceAdd ? BinaryOp::Add : e.unary == UnaryOp::ReduceMax ? BinaryOp::Max : BinaryOp::Min;
    for (int half = e.a->type.lanes / 2; half >= 1; half /= 2) {
      for (int i = 0; i < half; ++i) lanes[i] = apply_binary(op, dtype, lanes[i], lanes[i + half]);
    }
    out[0] = lanes[0];
  }

  // The lanes' element indices of an access, and how many lanes are active.
  int active_lanes(Expr index, int64_t stride, Expr active, int lanes, Value& indices) {
    evaluate(index, indices);
    if (index->type.lanes == 1) {
      const uint64_t first = indices[0];
      for (int i = 1; i < lanes; ++i) indices[i] = first + static_cast<uint64_t>(i) * static_cast<uint64_t>(stride);
    } else {
      for (int i = 0; i < lanes; ++i) indices[i] = static_cast<uint64_t>(integer_value(index->type.dtype, indices[i]));
    }
    if (active == nullptr) return lanes;
    const int64_t count = static_cast<int64_t>(scalar(active));
    return count <= 0 ? 0 : static_cast<int>(std::min<int64_t>(count, lanes));
  }

  // The address of an element; null (and failure_ set) when it lies outside the buffer.
  uint8_t* element(const Buffer& buffer, uint64_t index, const char* access) {
    if (index >= static_cast<uint64_t>(buffer.size)) {
      if (failure_.is_ok()) {
        failure_ = error(Code::Internal, "kernel '%s' %s element %lld of buffer '%s', which has %lld", kernel_.name.c_str(), access,
                         static_cast<long long>(index), buffer.name.c_str(), static_cast<long long>(buffer.size));
      }
      return nullptr;
    }
    return base(buffer) + index * static_cast<uint64_t>(element_bytes(buffer.dtype));
  }

  uint8_t* base(const Buffer& buffer) {
    switch (buffer.kind) {
      case BufferKind::Parameter:
        return static_cast<uint8_t*>(parameters_[buffer.index]);
      case BufferKind::Scratch:
        return scratch_.data() + buffer.offset;
      case BufferKind::Local:
        break;
    }
    std::vector<uint8_t>& bytes = locals_[&buffer];
    if (bytes.empty()) bytes.resize(static_cast<size_t>(buffer.size * element_bytes(buffer.dtype)), 0xFF);
    return bytes.data();
  }

  void load(const ExprNode& e, Value& out) {
    Value indices;
    fill(out, e.type.lanes, 0);
    const int active = active_lanes(e.a, e.stride, e.b, e.type.lanes, indices);
    for (int i = 0; i < active; ++i) {
      const uint8_t* address = element(*e.buffer, indices[i], "loads");
      if (address == nullptr) return;
      std::memcpy(&out[i], address, static_cast<size_t>(element_bytes(e.buffer->dtype)));
      if (e.buffer->dtype == DType::Bool) out[i] = out[i] != 0;
    }
  }

  bool store(const StmtNode& stmt) {
    Value indices, value;
    const int active = active_lanes(stmt.a, stmt.stride, stmt.c, stmt.b->type.lanes, indices);
    evaluate(stmt.b, value);
    for (int i = 0; i < active && failure_.is_ok(); ++i) {
      uint8_t* address = element(*stmt.buffer, indices[i], "stores");
      if (address != nullptr) std::memcpy(address, &value[i], static_cast<size_t>(element_bytes(stmt.buffer->dtype)));
    }
    return failure_.is_ok();
  }

  const Kernel& kernel_;
  std::span<void* const> parameters_;
  std::vector<uint8_t> scratch_;
  std::unordered_map<const Buffer*, std::vector<uint8_t>> locals_;
  std::unordered_map<int32_t, Value> variables_;
  std::unordered_map<Expr, bool> seen_;
  std::unordered_map<Expr, Shared> shared_;
  uint64_t epoch_ = 0;
  Status failure_;
};

}  // namespace

Status interpret(const Kernel& kernel, std::span<void* const> buffers, int64_t unit_begin, int64_t unit_end) {
  if (buffers.size() != kernel.parameters().size()) {
    return error(Code::Internal, "kernel '%s' has %zu parameters, %zu buffers were given", kernel.name.c_str(), kernel.parameters().size(),
                 buffers.size());
  }
  return Interpreter(kernel, buffers).run(unit_begin, unit_end);
}

}  // namespace tiffin::kernel
