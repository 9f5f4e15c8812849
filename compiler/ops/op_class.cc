// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/op_class.h"

namespace tiffin::ops {

using graph::Op;

OpClass op_class(Op op) {
  switch (op) {
    case Op::Abs:
    case Op::Acos:
    case Op::Acosh:
    case Op::Add:
    case Op::And:
    case Op::Asin:
    case Op::Asinh:
    case Op::Atan:
    case Op::Atanh:
    case Op::BitShift:
    case Op::BitwiseAnd:
    case Op::BitwiseNot:
    case Op::BitwiseOr:
    case Op::BitwiseXor:
    case Op::Cast:
    case Op::Ceil:
    case Op::Clip:
    case Op::Cos:
    case Op::Cosh:
    case Op::Div:
    case Op::Elu:
    case Op::Equal:
    case Op::Erf:
    case Op::Exp:
    case Op::Floor:
    case Op::Gelu:
    case Op::HardSigmoid:
    case Op::IsInf:
    case Op::IsNaN:
    case Op::LeakyRelu:
    case Op::Less:
    case Op::LessOrEqual:
    case Op::Log:
    case Op::Max:
    case Op::Min:
    case Op::Mod:
    case Op::Mul:
    case Op::Neg:
    case Op::Not:
    case Op::Or:
    case Op::Pow:
    case Op::Relu:
    case Op::Round:
    case Op::Sigmoid:
    case Op::Sign:
    case Op::Sin:
    case Op::Sinh:
    case Op::Softplus:
    case Op::Sqrt:
    case Op::Sub:
    case Op::Swish:
    case Op::Tanh:
    case Op::Where:
    case Op::Xor:
      return OpClass::Elementwise;
    case Op::Reshape:
      return OpClass::View;
    case Op::Concat:
    case Op::Expand:
    case Op::Gather:
    case Op::GatherElements:
    case Op::GatherND:
    case Op::Identity:
    case Op::Pad:
    case Op::Slice:
    case Op::Transpose:
      return OpClass::Movement;
    default:
      return OpClass::Heavy;
  }
}

bool reads_only_the_shape(Op op) { return op == Op::Shape || op == Op::Size || op == Op::EyeLike; }

}  // namespace tiffin::ops
