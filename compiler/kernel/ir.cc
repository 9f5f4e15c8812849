// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

Kernel::Kernel(std::string kernel_name) : name(std::move(kernel_name)) {
  unit_begin = add_variable("unit_begin", {DType::Int64, 1}, false);
  unit_end = add_variable("unit_end", {DType::Int64, 1}, false);
}

const Buffer* Kernel::add_parameter(std::string buffer_name, DType dtype, int64_t size, bool is_output) {
  Buffer buffer;
  buffer.name = std::move(buffer_name);
  buffer.dtype = dtype;
  buffer.size = size;
  buffer.is_output = is_output;
  buffer.index = static_cast<int32_t>(parameters_.size());
  buffers_.push_back(std::move(buffer));
  parameters_.push_back(&buffers_.back());
  return parameters_.back();
}

const Buffer* Kernel::add_scratch(std::string buffer_name, DType dtype, int64_t size) {
  Buffer buffer;
  buffer.name = std::move(buffer_name);
  buffer.kind = BufferKind::Scratch;
  buffer.dtype = dtype;
  buffer.size = size;
  buffer.offset = scratch_bytes;
  scratch_bytes += (size * dtype_bits(dtype) / 8 + 63) / 64 * 64;
  buffers_.push_back(std::move(buffer));
  scratch_.push_back(&buffers_.back());
  return scratch_.back();
}

const Buffer* Kernel::add_local(std::string buffer_name, DType dtype, int64_t size) {
  Buffer buffer;
  buffer.name = std::move(buffer_name);
  buffer.kind = BufferKind::Local;
  buffer.dtype = dtype;
  buffer.size = size;
  buffers_.push_back(std::move(buffer));
  return &buffers_.back();
}

const Variable* Kernel::add_variable(std::string variable_name, Type type, bool is_register) {
  variables_.push_back({std::move(variable_name), type, static_cast<int32_t>(variables_.size()), is_register});
  return &variables_.back();
}

Expr Kernel::add(ExprNode node) {
  exprs_.push_back(node);
  return &exprs_.back();
}

Stmt Kernel::add(StmtNode node) {
  stmts_.push_back(std::move(node));
  return &stmts_.back();
}

}  // namespace tiffin::kernel
