// SPDX-License-Identifier: Apache-2.0
// Runs checked kernels. Registers lie in a frame in the thread's scratch; every access to a buffer is compared with its declared size.
#include "runtime/device/interpreter/instruction.h"
#include "runtime/device/interpreter/kernel_ir.h"
#include "runtime/device/interpreter/lanes.h"

namespace tiffin::runtime {
namespace {

typedef float Floats __attribute__((vector_size(kPieceBytes)));

struct Machine {
  const KernelIr& kernel;
  Frame frame;
  uint8_t* const* bases;
};

// The constant and the terms behind the instruction.
int64_t sum_of(const Instruction* i, Frame frame) {
  auto sum = static_cast<uint64_t>(i->immediate);
  for (const Instruction *pair = i + 1, *end = pair + i->c; pair != end; ++pair) {
    sum += static_cast<uint64_t>(index_in(frame, pair->a)) * static_cast<uint64_t>(pair->immediate) +
           static_cast<uint64_t>(index_in(frame, pair->b)) * static_cast<uint64_t>(pair->stride);
  }
  return static_cast<int64_t>(sum);
}

bool has_active(uint8_t op) { return op == kLoadActive || op == kStoreActive || op == kGatherActive || op == kScatterActive; }

uint32_t active_lanes(const Instruction& i, Frame frame) {
  if (!has_active(i.op)) return i.lanes;
  const int64_t count = index_in(frame, i.b);
  return count <= 0 ? 0 : count < i.lanes ? static_cast<uint32_t>(count) : i.lanes;
}

void copy_element(uint8_t* to, const uint8_t* from, uint8_t element_shift) {
  switch (element_shift) {
    case 0:
      *to = *from;
      return;
    case 1:
      return write(to, read<uint16_t>(from));
    case 2:
      return write(to, read<uint32_t>(from));
    default:
      return write(to, read<uint64_t>(from));
  }
}

// Bytes of a bool that are neither 0 nor 1 count as 1.
void make_bools(uint8_t* lanes, uint32_t count) {
  for (uint32_t lane = 0; lane < count; ++lane) lanes[lane] = lanes[lane] != 0;
}

// Elements that lie side by side. False when they leave the buffer.
template <bool kIsStore>
bool move_row(uint8_t* lanes, uint8_t* base, const KernelBuffer& buffer, uint64_t first, uint32_t count) {
  if (count == 0) return true;
  if (first >= buffer.size || count > buffer.size - first) return false;
  uint8_t* memory = base + (first << buffer.element_shift);
  const size_t bytes = size_t{count} << buffer.element_shift;
  if (bytes == 64) {
    memcpy(kIsStore ? memory : lanes, kIsStore ? lanes : memory, 64);
  } else if (count == 1) {
    copy_element(kIsStore ? memory : lanes, kIsStore ? lanes : memory, buffer.element_shift);
  } else {
    memcpy(kIsStore ? memory : lanes, kIsStore ? lanes : memory, bytes);
  }
  return true;
}

// Elements anywhere: lane k at indices[k].
template <bool kIsStore>
bool move_scattered(uint8_t* lanes, uint8_t* base, const KernelBuffer& buffer, const int64_t* indices, uint32_t count) {
  for (uint32_t lane = 0; lane < count; ++lane) {
    const auto index = static_cast<uint64_t>(indices[lane]);
    if (index >= buffer.size) return false;
    uint8_t* memory = base + (index << buffer.element_shift);
    uint8_t* place = lanes + (lane << buffer.element_shift);
    copy_element(kIsStore ? memory : place, kIsStore ? place : memory, buffer.element_shift);
  }
  return true;
}

template <bool kIsStore>
bool move(const Machine& m, const Instruction* i) {
  const KernelBuffer& buffer = m.kernel.buffers[i->target];
  uint8_t* const base = m.bases[i->target];
  uint8_t* const lanes = place(m.frame, i->d);
  const uint32_t count = active_lanes(*i, m.frame);
  bool is_inside;
  if (i->op < kGather && i->stride == 1) {
    is_inside = move_row<kIsStore>(lanes, base, buffer, static_cast<uint64_t>(sum_of(i, m.frame)), count);
  } else {
    int64_t indices[64];
    if (i->op >= kGather) {
      widen(i->to, place(m.frame, i->a), i->lanes, indices);
    } else {
      auto index = static_cast<uint64_t>(sum_of(i, m.frame));
      for (uint32_t lane = 0; lane < count; ++lane, index += static_cast<uint64_t>(i->stride)) indices[lane] = static_cast<int64_t>(index);
    }
    is_inside = move_scattered<kIsStore>(lanes, base, buffer, indices, count);
  }
  if (kIsStore || !is_inside) return is_inside;
  if (count < i->lanes) memset(lanes + (size_t{count} << buffer.element_shift), 0, size_t{i->lanes - count} << buffer.element_shift);
  if (buffer.dtype == DType::Bool) make_bools(lanes, count);
  return true;
}

void make_lanes(const Instruction& i, Frame frame) {
  int64_t lanes[64];
  widen(i.dtype, place(frame, i.a), 1, lanes);
  for (int lane = 1; lane < i.lanes; ++lane) {
    lanes[lane] = static_cast<int64_t>(static_cast<uint64_t>(lanes[lane - 1]) + static_cast<uint64_t>(i.immediate));
  }
  narrow(element_shift_of(i.dtype), lanes, i.lanes, place(frame, i.d));
}

void splat(const Instruction& i, Frame frame) {
  const uint8_t* a = place(frame, i.a);
  uint8_t* d = place(frame, i.d);
  // Most often, by far.
  if (i.dtype == DType::Float32) {
    const auto element = read<float>(a);
    const Floats piece = {element, element, element, element};
    for (uint32_t p = 0; p < i.target; ++p) write(d + p * kPieceBytes, piece);
    return;
  }
  int64_t bits = 0;
  widen(i.dtype, a, 1, &bits);
  fill(element_shift_of(i.dtype), static_cast<uint64_t>(bits), i.lanes, d);
}

// The instruction that the time of products and convolutions goes into.
void multiply_add(const Instruction& i, Frame frame) {
  for (uint32_t at = 0; at < i.target * kPieceBytes; at += kPieceBytes) {
    const auto a = read<Floats>(place(frame, i.a) + at), b = read<Floats>(place(frame, i.b) + at), c = read<Floats>(place(frame, i.c) + at);
    write(place(frame, i.d) + at, a * b + c);
  }
}

void compute(const Machine& m, const Instruction& i) {
  if (i.op >= kBinary) return compute_binary(i, m.frame);
  if (i.op >= kUnary) return compute_unary(i, m.frame);
  switch (i.op) {
    case kCopy:
      memmove(place(m.frame, i.d), place(m.frame, i.a), size_t{i.target} * kPieceBytes);
      return;
    case kLanes:
      return make_lanes(i, m.frame);
    case kSelect:
      return compute_select(i, m.frame);
    case kCast:
      return compute_cast(i, m.frame);
    default:
      return compute_fma(i, m.frame, m.kernel.is_fused);
  }
}

// A loop's state: its counter and its end, where no register reaches.
struct LoopState {
  int64_t counter, end;
};

int32_t execute(const Machine& m, int64_t max_iterations) {
  const Instruction* const code = m.kernel.code.data();
  Frame const frame = m.frame;
  for (const Instruction* i = code;;) {
    switch (i->op) {
      case kEnd:
        return 0;
      case kFor: {
        const LoopState state{index_in(frame, i->a), index_in(frame, i->b)};
        if (state.counter >= state.end) {
          i = code + i->target;
          continue;
        }
        write(place(frame, i->c), state);
        write(place(frame, i->d), state.counter);
        break;
      }
      case kNext: {
        auto state = read<LoopState>(place(frame, i->c));
        if (--max_iterations <= 0) return kTooManyIterations;
        if (!__builtin_add_overflow(state.counter, i->immediate, &state.counter) && state.counter < state.end) {
          write(place(frame, i->c), state.counter);
          write(place(frame, i->d), state.counter);
          i = code + i->target;
          continue;
        }
        break;
      }
      case kIf:
        if (*place(frame, i->a) != 0) break;
        i = code + i->target;
        continue;
      case kJump:
        i = code + i->target;
        continue;
      case kFail:
        return static_cast<int32_t>(i->immediate);
      case kFma:
        if (i->dtype == DType::Float32 && !m.kernel.is_fused) {
          multiply_add(*i, frame);
        } else {
          compute(m, *i);
        }
        break;
      case kSplat:
        splat(*i, frame);
        break;
      case kLinear:
        write(place(frame, i->d), sum_of(i, frame));
        i += i->c;
        break;
      case kLoad:
      case kLoadActive:
      case kGather:
      case kGatherActive:
        if (!move<false>(m, i)) return kAccessOutsideBuffer;
        i += i->c;
        break;
      case kStore:
      case kStoreActive:
      case kScatter:
      case kScatterActive:
        if (!move<true>(m, i)) return kAccessOutsideBuffer;
        i += i->c;
        break;
      default:
        compute(m, *i);
    }
    ++i;
  }
}

}  // namespace

int32_t run_kernel(const KernelIr& kernel, void* const* buffers, void* scratch, int64_t unit_begin, int64_t unit_end, int64_t max_iterations) {
  auto* const memory = static_cast<uint8_t*>(scratch);
  auto** const bases = reinterpret_cast<uint8_t**>(memory + kernel.bases_offset);
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const bool is_parameter = i < kernel.parameter_count;
    bases[i] = is_parameter ? static_cast<uint8_t*>(buffers[i]) : memory + kernel.buffers[i].offset;
  }
  // Nothing of earlier kernels can be read from registers and local buffers.
  const uint64_t locals_end = kernel.bases_offset, locals = locals_end - kernel.local_bytes;
  memset(memory + locals, 0, static_cast<size_t>(kernel.local_bytes));
  Frame const frame = memory + kernel.frame_offset;
  memset(frame, 0, static_cast<size_t>(kernel.frame_bytes));
  for (const KernelIr::Constant& constant : kernel.constants)
    fill(constant.element_shift, constant.bits, constant.lanes, place(frame, constant.target));
  write(place(frame, kernel.unit_begin), unit_begin);
  write(place(frame, kernel.unit_end), unit_end);
  return execute({kernel, frame, bases}, max_iterations);
}

}  // namespace tiffin::runtime
