// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/interpreter/lanes.h"

#include "base/float16.h"
#include "runtime/device/interpreter/lane_math.h"

namespace tiffin::runtime {
namespace {

constexpr int kMaxLanes = 64;

// 16 bytes of lanes; may lie on anything.
template <class T>
struct Piece {
  typedef T Type __attribute__((vector_size(kPieceBytes), may_alias));
};
template <class T>
using PieceOf = typename Piece<T>::Type;

// Calls f(a, b) for each 16 bytes of two operands and stores what it returns.
template <class T, class F>
void map_pieces(const Instruction& i, Frame frame, F f) {
  auto* d = reinterpret_cast<PieceOf<T>*>(place(frame, i.d));
  const auto* a = reinterpret_cast<const PieceOf<T>*>(place(frame, i.a));
  const auto* b = reinterpret_cast<const PieceOf<T>*>(place(frame, i.b));
  for (uint32_t p = 0; p < i.target; ++p) d[p] = f(a[p], b[p]);
}

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using Type = uint32_t;
};
template <>
struct BitsOf<double> {
  using Type = uint64_t;
};

// Of equal operands, zeros of both signs are joined: `or` gives -0, `and` gives +0. A NaN on either side is the result.
template <class T, bool kIsMin>
PieceOf<T> extreme(PieceOf<T> a, PieceOf<T> b) {
  using Bits = PieceOf<typename BitsOf<T>::Type>;
  const auto is_first = kIsMin ? a < b : b < a;
  const Bits x = reinterpret_cast<Bits>(a), y = reinterpret_cast<Bits>(b);
  const Bits joined = kIsMin ? x | y : x & y;
  const auto equal = a == b;
  const Bits chosen = reinterpret_cast<Bits>(is_first ? a : b);
  const PieceOf<T> result = reinterpret_cast<PieceOf<T>>(equal ? joined : chosen);
  return a != a ? a : b != b ? b : result;
}

// The operations that integers of one width share with floats.
template <class T>
bool compute_arithmetic(const Instruction& i, Frame frame) {
  switch (i.op - kBinary) {
    case kAdd:
      map_pieces<T>(i, frame, [](auto a, auto b) { return a + b; });
      return true;
    case kSub:
      map_pieces<T>(i, frame, [](auto a, auto b) { return a - b; });
      return true;
    case kMul:
      map_pieces<T>(i, frame, [](auto a, auto b) { return a * b; });
      return true;
    default:
      return false;
  }
}

// What float32 shares with float64: exact in the wider one.
double float_lane(uint8_t op, double a, double b) {
  switch (op) {
    case kMod:
      return remainder_of(a, b);
    case kEqual:
      return a == b;
    case kLess:
      return a < b;
    default:
      return a <= b;
  }
}

template <class T>
void compute_float(const Instruction& i, Frame frame) {
  if (compute_arithmetic<T>(i, frame)) return;
  const auto op = static_cast<uint8_t>(i.op - kBinary);
  switch (op) {
    case kDiv:
      return map_pieces<T>(i, frame, [](auto a, auto b) { return a / b; });
    case kMin:
      return map_pieces<T>(i, frame, extreme<T, true>);
    case kMax:
      return map_pieces<T>(i, frame, extreme<T, false>);
    default:
      break;
  }
  const uint8_t* a = place(frame, i.a);
  const uint8_t* b = place(frame, i.b);
  uint8_t* d = place(frame, i.d);
  for (int lane = 0; lane < i.lanes; ++lane, a += sizeof(T), b += sizeof(T)) {
    const double result = float_lane(op, read<T>(a), read<T>(b));
    if (op == kMod) {
      write(d + lane * sizeof(T), static_cast<T>(result));
    } else {
      d[lane] = result != 0;
    }
  }
}

bool is_unsigned(DType dtype) { return dtype == DType::Bool || is_unsigned_int(dtype); }

// Of widened integers. Quotients by zero are zero; the least value by -1 wraps.
int64_t quotient(int64_t a, int64_t b, bool is_unsigned, bool is_remainder) {
  if (b == 0) return 0;
  if (is_unsigned) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(is_remainder ? x % y : x / y);
  }
  if (b == -1) return is_remainder ? 0 : static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return is_remainder ? a % b : a / b;
}

// Amounts are unsigned numbers of the element's width.
int64_t shift(int64_t a, int64_t amount, DType dtype, bool is_left) {
  const unsigned bits = 8u << element_shift_of(dtype);
  const uint64_t by = static_cast<uint64_t>(amount) & (~uint64_t{0} >> (64 - bits));
  const bool is_negative = !is_unsigned(dtype) && a < 0;
  if (by >= bits) return is_negative && !is_left ? -1 : 0;
  if (is_left) return static_cast<int64_t>(static_cast<uint64_t>(a) << by);
  return is_negative ? a >> by : static_cast<int64_t>(static_cast<uint64_t>(a) >> by);
}

int64_t integer_lane(uint8_t op, DType dtype, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const bool is_less = is_unsigned(dtype) ? x < y : a < b;
  switch (op) {
    case kAdd:
      return static_cast<int64_t>(x + y);
    case kSub:
      return static_cast<int64_t>(x - y);
    case kMul:
      return static_cast<int64_t>(x * y);
    case kDiv:
    case kMod:
      return quotient(a, b, is_unsigned(dtype), op == kMod);
    case kMin:
      return is_less ? a : b;
    case kMax:
      return is_less ? b : a;
    case kShl:
    case kShr:
      return shift(a, b, dtype, op == kShl);
    case kEqual:
      return a == b;
    case kLess:
      return is_less;
    default:
      return is_less || a == b;
  }
}

void compute_integer(const Instruction& i, Frame frame) {
  const auto op = static_cast<uint8_t>(i.op - kBinary);
  switch (op) {
    case kAnd:
      return map_pieces<uint64_t>(i, frame, [](auto a, auto b) { return a & b; });
    case kOr:
      return map_pieces<uint64_t>(i, frame, [](auto a, auto b) { return a | b; });
    case kXor:
      return map_pieces<uint64_t>(i, frame, [](auto a, auto b) { return a ^ b; });
    default:
      break;
  }
  const uint8_t element_shift = element_shift_of(i.dtype);
  if (element_shift == 2 && compute_arithmetic<uint32_t>(i, frame)) return;
  if (i.lanes > 1 && element_shift == 3 && compute_arithmetic<uint64_t>(i, frame)) return;
  int64_t a[kMaxLanes], b[kMaxLanes];
  widen(i.dtype, place(frame, i.a), i.lanes, a);
  widen(i.dtype, place(frame, i.b), i.lanes, b);
  for (int lane = 0; lane < i.lanes; ++lane) a[lane] = integer_lane(op, i.dtype, a[lane], b[lane]);
  narrow(op >= kEqual ? 0 : element_shift, a, i.lanes, place(frame, i.d));
}

// Low half with high half, until one lane is left; halves narrower than a piece lie within one, so they are moved out first.
void reduce(const Instruction& i, Frame frame) {
  const uint8_t op = i.op - kUnary == kReduceAdd ? kAdd : i.op - kUnary == kReduceMax ? kMax : kMin;
  alignas(kPieceBytes) uint8_t halves[3][kMaxLanes * 8];
  const uint32_t element = 1u << element_shift_of(i.dtype);
  memcpy(halves[0], place(frame, i.a), i.lanes * element);
  for (uint32_t half = i.lanes / 2; half >= 1; half /= 2) {
    memcpy(halves[1], halves[0] + half * element, half * element);
    constexpr uint16_t kStep = sizeof(halves[0]) / kPieceBytes;
    Instruction step = i;
    step.op = static_cast<uint8_t>(kBinary + op);
    step.lanes = static_cast<uint8_t>(half);
    step.target = (half * element + kPieceBytes - 1) / kPieceBytes;
    step.d = step.a = 0;
    step.b = kStep;
    compute_binary(step, halves[0]);
  }
  memcpy(place(frame, i.d), halves[0], element);
}

double float_of(DType dtype, int64_t bits) {
  switch (dtype) {
    case DType::Float32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case DType::Float64:
      return std::bit_cast<double>(bits);
    case DType::Float16:
      return float16_to_float(static_cast<uint16_t>(bits));
    default:
      return bfloat16_to_float(static_cast<uint16_t>(bits));
  }
}

int64_t float_bits(DType dtype, double value) {
  switch (dtype) {
    case DType::Float32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case DType::Float64:
      return std::bit_cast<int64_t>(value);
    case DType::Float16:
      return float_to_float16(double_to_odd_float(value));
    default:
      return float_to_bfloat16(double_to_odd_float(value));
  }
}

// In float64, which holds every float32: none of these rounds twice.
double float_unary(uint8_t op, double a) {
  switch (op) {
    case kNeg:
      return -a;
    case kAbs:
      return __builtin_fabs(a);
    case kSqrt:
      return __builtin_sqrt(a);
    case kFloor:
      return round_down(a);
    case kCeil:
      return round_up(a);
    case kTrunc:
      return round_to_zero(a);
    default:
      return round_to_even(a);
  }
}

int64_t integer_unary(uint8_t op, DType dtype, int64_t a) {
  if (op == kNot) return dtype == DType::Bool ? a ^ 1 : ~a;
  if (op == kNeg || (a < 0 && !is_unsigned(dtype))) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return a;
}

// Truncated and saturated to an integer type; 0 for NaN.
int64_t saturate(DType to, double value) {
  if (value != value) return 0;
  const int bits = 8 << element_shift_of(to);
  const bool has_sign = is_signed_int(to);
  const double above = static_cast<double>(uint64_t{1} << (bits - 1)) * (has_sign ? 1 : 2);
  if (value >= above) return has_sign ? static_cast<int64_t>(~uint64_t{0} >> (65 - bits)) : -1;
  if (!has_sign) return value <= 0 ? 0 : value >= 0x1p63 ? static_cast<int64_t>(static_cast<uint64_t>(value)) : static_cast<int64_t>(value);
  return value <= -above ? static_cast<int64_t>(~uint64_t{0} << (bits - 1)) : static_cast<int64_t>(value);
}

int64_t cast_lane(DType from, DType to, int64_t bits) {
  if (from == to) return bits;
  if (is_standard_float(from)) {
    const double value = float_of(from, bits);
    if (to == DType::Bool) return value != 0;
    return is_standard_float(to) ? float_bits(to, value) : saturate(to, value);
  }
  if (to == DType::Bool) return bits != 0;
  const bool is_large = from == DType::UInt64;
  if (to == DType::Float64) return float_bits(to, is_large ? static_cast<double>(static_cast<uint64_t>(bits)) : static_cast<double>(bits));
  return float_bits(to, is_large ? static_cast<float>(static_cast<uint64_t>(bits)) : static_cast<float>(bits));  // 16 bits by way of Float32
}

template <class T>
void fma_pieces(const Instruction& i, Frame frame) {
  const auto* c = reinterpret_cast<const PieceOf<T>*>(place(frame, i.c));
  map_pieces<T>(i, frame, [&](auto a, auto b) { return a * b + *c++; });
}

template <class T>
void fma_lanes(const Instruction& i, Frame frame) {
  for (size_t at = 0; at < i.lanes * sizeof(T); at += sizeof(T)) {
    const T result = fused_multiply_add(read<T>(place(frame, i.a) + at), read<T>(place(frame, i.b) + at), read<T>(place(frame, i.c) + at));
    write(place(frame, i.d) + at, result);
  }
}

}  // namespace

void widen(DType dtype, const uint8_t* from, int lanes, int64_t* to) {
  const auto each = [&]<class T>(T) {
    for (int lane = 0; lane < lanes; ++lane) to[lane] = static_cast<int64_t>(read<T>(from + lane * sizeof(T)));
  };
  switch (dtype) {
    case DType::Int8:
      return each(int8_t{});
    case DType::UInt8:
    case DType::Bool:
      return each(uint8_t{});
    case DType::Int16:
      return each(int16_t{});
    case DType::UInt16:
    case DType::Float16:
    case DType::BFloat16:
      return each(uint16_t{});
    case DType::Int32:
      return each(int32_t{});
    case DType::UInt32:
    case DType::Float32:
      return each(uint32_t{});
    default:
      memcpy(to, from, static_cast<size_t>(lanes) * sizeof(int64_t));
  }
}

void narrow(uint8_t element_shift, const int64_t* from, int lanes, uint8_t* to) {
  const auto each = [&]<class T>(T) {
    for (int lane = 0; lane < lanes; ++lane) write<T>(to + lane * sizeof(T), static_cast<T>(from[lane]));
  };
  switch (element_shift) {
    case 0:
      return each(uint8_t{});
    case 1:
      return each(uint16_t{});
    case 2:
      return each(uint32_t{});
    default:
      memcpy(to, from, static_cast<size_t>(lanes) * sizeof(int64_t));
  }
}

void fill(uint8_t element_shift, uint64_t bits, int lanes, uint8_t* to) {
  // The element repeated over 8 bytes, then over all.
  for (unsigned width = 8u << element_shift; width < 64; width *= 2) bits = (bits & (~uint64_t{0} >> (64 - width))) | bits << width;
  const int bytes = lanes << element_shift;
  for (int at = 0; at < bytes; at += 8) write(to + at, bits);  // registers have room for whole pieces
}

void compute_unary(const Instruction& i, Frame frame) {
  const auto op = static_cast<uint8_t>(i.op - kUnary);
  if (op >= kReduceAdd) return reduce(i, frame);
  const bool is_float = i.dtype == DType::Float32 || i.dtype == DType::Float64;
  int64_t lanes[kMaxLanes];
  widen(i.dtype, place(frame, i.a), i.lanes, lanes);
  for (int lane = 0; lane < i.lanes; ++lane) {
    int64_t& value = lanes[lane];
    value = is_float ? float_bits(i.dtype, float_unary(op, float_of(i.dtype, value))) : integer_unary(op, i.dtype, value);
  }
  narrow(element_shift_of(i.dtype), lanes, i.lanes, place(frame, i.d));
}

void compute_binary(const Instruction& i, Frame frame) {
  if (i.dtype == DType::Float32) return compute_float<float>(i, frame);
  if (i.dtype == DType::Float64) return compute_float<double>(i, frame);
  compute_integer(i, frame);
}

void compute_cast(const Instruction& i, Frame frame) {
  int64_t lanes[kMaxLanes];
  widen(i.dtype, place(frame, i.a), i.lanes, lanes);
  // An integer only wraps, which narrowing does.
  if (is_standard_float(i.dtype) || is_standard_float(i.to) || i.to == DType::Bool) {
    for (int lane = 0; lane < i.lanes; ++lane) lanes[lane] = cast_lane(i.dtype, i.to, lanes[lane]);
  }
  narrow(element_shift_of(i.to), lanes, i.lanes, place(frame, i.d));
}

void compute_fma(const Instruction& i, Frame frame, bool is_fused) {
  if (i.dtype == DType::Float32) return is_fused ? fma_lanes<float>(i, frame) : fma_pieces<float>(i, frame);
  return is_fused ? fma_lanes<double>(i, frame) : fma_pieces<double>(i, frame);
}

void compute_select(const Instruction& i, Frame frame) {
  const uint8_t* condition = place(frame, i.a);
  int64_t b[kMaxLanes], c[kMaxLanes];
  widen(i.dtype, place(frame, i.b), i.lanes, b);
  widen(i.dtype, place(frame, i.c), i.lanes, c);
  for (int lane = 0; lane < i.lanes; ++lane) b[lane] = condition[lane] != 0 ? b[lane] : c[lane];
  narrow(element_shift_of(i.dtype), b, i.lanes, place(frame, i.d));
}

}  // namespace tiffin::runtime
