// SPDX-License-Identifier: Apache-2.0
// The reader and verifier of records. A record is read twice: first to check it and to count its instructions, then to write them.
#include "runtime/device/interpreter/instruction.h"
#include "runtime/device/interpreter/kernel_ir.h"

namespace tiffin::runtime {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 47;  // of a buffer or of the scratch

uint64_t align64(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

bool is_kernel_dtype(DType d) { return d == DType::Bool || is_standard_float(d) || is_standard_int(d); }
bool is_compute_float(DType d) { return d == DType::Float32 || d == DType::Float64; }

bool has_unary(uint8_t op, DType d) {
  if (op == kNeg || op == kAbs || op >= kReduceAdd) return is_compute_float(d) || is_standard_int(d);
  if (op == kNot) return !is_compute_float(d);
  return op != kBitCast && is_compute_float(d);
}

bool has_binary(uint8_t op, DType d) {
  if (is_standard_int(d)) return true;
  const bool is_bitwise = op >= kAnd && op <= kXor;
  if (is_compute_float(d)) return !is_bitwise && op != kShl && op != kShr;
  if (d == DType::Bool) return is_bitwise || op >= kEqual || op == kMin || op == kMax;
  return is_bitwise;
}

struct Register {
  DType dtype;
  uint8_t lanes;
  uint16_t place;
  bool is(DType d, uint8_t l) const { return dtype == d && lanes == l; }
  bool is_index() const { return is(DType::Int64, 1); }
  bool is_like(const Register& other) const { return is(other.dtype, other.lanes); }
  uint32_t bytes() const { return static_cast<uint32_t>(lanes) << element_shift_of(dtype); }
  uint32_t pieces() const { return (bytes() + kPieceBytes - 1) / kPieceBytes; }
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  Result<const KernelIr*> read(Arena& arena);

 private:
  struct Block {
    uint32_t at;  // where its For, If or Jump stands
    Instruction opened;
  };

  // Remembers the first fault; what is read after it is zero.
  bool fail(const char* fault) {
    if (fault_ == nullptr) fault_ = fault;
    return false;
  }
  bool require(bool condition, const char* fault) { return condition || fail(fault); }
  uint8_t byte();
  uint64_t number();
  int64_t signed_number();
  uint64_t number_below(uint64_t limit, const char* fault);
  const Register& any_register();
  const Register& target_register();

  bool read_header();
  bool read_buffer(KernelBuffer& buffer, uint32_t index);
  bool read_registers();
  bool read_constants();
  void read_code();
  void read_instruction(uint8_t op);
  void read_block(uint8_t op);
  void read_else();
  void read_end();
  void read_lanes(uint8_t op);
  void read_memory(uint8_t op);
  void read_ternary(uint8_t op);
  void read_operation(uint8_t op);
  void read_sum(Instruction i);
  void lay_out();
  Status status() const;
  void emit(const Instruction& i) {
    if (code_ != nullptr && count_ < capacity_) code_[count_] = i;
    ++count_;
  }
  void patch(uint32_t at) {
    if (code_ != nullptr && at < capacity_) code_[at].target = count_;
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  const char* fault_ = nullptr;
  KernelIr* kernel_ = nullptr;
  Arena tables_;
  Arena* arena_ = nullptr;
  bool is_out_of_memory_ = false;
  std::span<KernelBuffer> buffers_;
  std::span<Register> registers_;
  std::span<KernelIr::Constant> constants_;
  uint64_t own_scratch_ = 0, local_bytes_ = 0;
  uint32_t register_pieces_ = 0, depth_ = 0, deepest_ = 0;
  Block blocks_[TIFFIN_IR_MAX_DEPTH];
  Instruction* code_ = nullptr;
  uint32_t count_ = 0, capacity_ = 0;
  Register none_{DType::Undefined, 0, 0};
};

uint8_t Reader::byte() {
  if (fault_ != nullptr || at_ >= bytes_.size()) {
    fail("it ends too early");
    return 0;
  }
  return bytes_[at_++];
}

// LEB128.
uint64_t Reader::number() {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const uint8_t part = byte();
    if (shift == 63 && part > 1) fail("a number is too large");
    value |= static_cast<uint64_t>(part & 0x7F) << shift;
    if ((part & 0x80) == 0 || fault_ != nullptr) break;
  }
  return fault_ == nullptr ? value : 0;
}

int64_t Reader::signed_number() {
  const uint64_t folded = number();
  return static_cast<int64_t>(folded >> 1 ^ (0 - (folded & 1)));
}

uint64_t Reader::number_below(uint64_t limit, const char* fault) {
  const uint64_t value = number();
  return require(value < limit, fault) ? value : 0;
}

const Register& Reader::any_register() {
  const uint64_t index = number();
  if (require(index < registers_.size(), "a register is not declared")) return registers_[index];
  return none_;
}

// Constants and the range of units stay what they are.
const Register& Reader::target_register() {
  const Register& target = any_register();
  require(&target >= registers_.data() + constants_.size() + 2 || fault_ != nullptr, "a constant is written");
  return target;
}

bool Reader::read_buffer(KernelBuffer& buffer, uint32_t index) {
  const uint8_t head = byte();
  buffer.kind = static_cast<KernelBuffer::Kind>(head >> 5);
  buffer.dtype = static_cast<DType>(head & 31);
  const bool is_parameter = buffer.kind <= KernelBuffer::Kind::Output;
  if (!require(buffer.kind <= KernelBuffer::Kind::Local && is_kernel_dtype(buffer.dtype), "a buffer is of no known kind")) return false;
  buffer.element_shift = element_shift_of(buffer.dtype);
  buffer.size = number_below((kMaxBytes >> buffer.element_shift) + 1, "a buffer is too large");
  if (is_parameter) {
    ++kernel_->parameter_count;
    return require(index + 1 == kernel_->parameter_count, "a parameter stands behind other buffers");
  }
  const uint64_t bytes = buffer.size << buffer.element_shift;
  if (buffer.kind == KernelBuffer::Kind::Scratch) {
    buffer.offset = number_below(kMaxBytes / 64, "a scratch buffer lies outside the scratch") * 64;
    return require(buffer.offset + bytes <= own_scratch_, "a scratch buffer lies outside the scratch");
  }
  buffer.offset = own_scratch_ + local_bytes_;
  local_bytes_ += align64(bytes);
  return require(local_bytes_ <= TIFFIN_IR_MAX_LOCAL_BYTES, "local buffers are too large");
}

bool Reader::read_header() {
  require(byte() == TIFFIN_IR_VERSION, "its version is not known");
  const uint8_t flags = byte();
  require(flags <= TIFFIN_IR_FUSED, "a flag is not known");
  kernel_->is_fused = flags != 0;
  kernel_->units = static_cast<int64_t>(number_below(uint64_t{1} << 62, "it has too many units"));
  own_scratch_ = number_below(kMaxBytes / 64, "its scratch is too large") * 64;
  const auto count = static_cast<uint32_t>(number_below(TIFFIN_IR_MAX_BUFFERS + 1, "it has too many buffers"));
  buffers_ = {arena_->allocate<KernelBuffer>(count), count};
  is_out_of_memory_ |= buffers_.data() == nullptr;
  for (uint32_t i = 0; i < count && fault_ == nullptr && !is_out_of_memory_; ++i) read_buffer(buffers_[i], i);
  kernel_->buffers = buffers_;
  return fault_ == nullptr && !is_out_of_memory_;
}

bool Reader::read_registers() {
  const auto count = static_cast<uint32_t>(number_below(TIFFIN_IR_MAX_PIECES, "it has too many registers"));
  const auto constant_count = static_cast<uint32_t>(number_below(TIFFIN_IR_MAX_PIECES, "it has too many constants"));
  if (!require(fault_ == nullptr && count >= constant_count + 2, "it has too few registers")) return false;
  registers_ = {tables_.allocate<Register>(count), count};
  constants_ = {arena_->allocate<KernelIr::Constant>(constant_count), constant_count};
  is_out_of_memory_ |= registers_.data() == nullptr || constants_.data() == nullptr;
  if (is_out_of_memory_) return false;
  for (Register& r : registers_) {
    const uint8_t type = byte();
    r.dtype = static_cast<DType>(type & 31);
    r.lanes = static_cast<uint8_t>(1u << (type >> 5));
    if (!require(is_kernel_dtype(r.dtype) && r.lanes <= TIFFIN_IR_MAX_LANES, "a register is of no known type")) return false;
    r.place = static_cast<uint16_t>(register_pieces_);
    register_pieces_ += r.pieces();
    if (!require(register_pieces_ + TIFFIN_IR_MAX_DEPTH <= TIFFIN_IR_MAX_PIECES, "its registers are too large")) return false;
  }
  const Register* units = &registers_[constant_count];
  kernel_->unit_begin = units[0].place;
  kernel_->unit_end = units[1].place;
  return require(units[0].is_index() && units[1].is_index(), "the range of units is no index");
}

bool Reader::read_constants() {
  for (size_t i = 0; i < constants_.size(); ++i) {
    const Register& r = registers_[i];
    const uint8_t shift = element_shift_of(r.dtype);
    constants_[i] = {number(), r.place, r.lanes, shift};
    const uint64_t largest = r.dtype == DType::Bool ? 1 : ~uint64_t{0} >> (64 - (8 << shift));
    if (!require(constants_[i].bits <= largest, "a constant is too large for its type")) return false;
  }
  kernel_->constants = constants_;
  return fault_ == nullptr;
}

// A sum: constant, count, count times register and coefficient. Completes and emits the instruction, then its terms.
void Reader::read_sum(Instruction i) {
  i.immediate = signed_number();
  const auto count = static_cast<uint32_t>(number_below(TIFFIN_IR_MAX_TERMS + 1, "a sum has too many terms"));
  i.c = static_cast<uint16_t>((count + 1) / 2);
  emit(i);
  for (uint32_t t = 0; t < count; t += 2) {
    Instruction pair{};
    const Register& first = any_register();
    pair.a = first.place;
    pair.immediate = signed_number();
    const Register& second = t + 1 < count ? any_register() : first;
    pair.b = second.place;
    if (t + 1 < count) pair.stride = signed_number();
    require(first.is_index() && second.is_index(), "an index is no int64");
    emit(pair);
  }
}

void Reader::read_memory(uint8_t op) {
  const bool is_store = op == kStore || op == kStoreActive || op >= kScatter;
  const Register& value = is_store ? any_register() : target_register();
  const auto buffer = static_cast<uint32_t>(number_below(buffers_.size(), "a buffer is not declared"));
  if (fault_ != nullptr) return;
  require(buffers_[buffer].dtype == value.dtype, "an access differs from its buffer in type");
  require(!is_store || buffers_[buffer].kind != KernelBuffer::Kind::Input, "an input is written");
  Instruction i{op, value.dtype, DType::Undefined, value.lanes, value.place, 0, 0, 0, buffer, 0, 0};
  if (op == kLoadActive || op == kStoreActive || op == kGatherActive || op == kScatterActive) {
    const Register& active = any_register();
    require(active.is_index(), "a number of lanes is no int64");
    i.b = active.place;
  }
  if (op < kGather) {
    i.stride = signed_number();
    return read_sum(i);
  }
  const Register& index = any_register();
  require(is_standard_int(index.dtype) && index.lanes == value.lanes, "an index has other lanes than its value");
  i.a = index.place;
  i.to = index.dtype;
  emit(i);
}

void Reader::read_lanes(uint8_t op) {
  const Register& d = target_register();
  if (op == kLinear) {
    require(d.is_index(), "a sum is no int64");
    return read_sum({op, d.dtype, d.dtype, 1, d.place, 0, 0, 0, 0, 0, 0});
  }
  const Register& a = any_register();
  Instruction i{op, a.dtype, d.dtype, d.lanes, d.place, a.place, 0, 0, d.pieces(), 0, 0};
  switch (op) {
    case kCopy:
      require(a.lanes == d.lanes && element_shift_of(a.dtype) == element_shift_of(d.dtype) && (a.dtype == DType::Bool) == (d.dtype == DType::Bool),
              "a copy changes the width");
      break;
    case kCast:
      require(a.lanes == d.lanes, "a cast changes the lanes");
      break;
    default:
      require(a.is(d.dtype, 1) && (op == kSplat || is_standard_int(d.dtype)), "lanes are made of another type");
      if (op == kLanes) i.immediate = signed_number();
  }
  emit(i);
}

void Reader::read_ternary(uint8_t op) {
  const Register& d = target_register();
  const Register& a = any_register();
  const Register& b = any_register();
  const Register& c = any_register();
  const bool is_right = op == kSelect ? a.is(DType::Bool, d.lanes) : a.is_like(d) && is_compute_float(d.dtype);
  require(is_right && b.is_like(d) && c.is_like(d), "operands differ in type");
  emit({op, d.dtype, d.dtype, d.lanes, d.place, a.place, b.place, c.place, d.pieces(), 0, 0});
}

void Reader::read_operation(uint8_t op) {
  const bool is_binary = op >= kBinary;
  const auto code = static_cast<uint8_t>(op - (is_binary ? kBinary : kUnary));
  const Register& d = target_register();
  const Register& a = any_register();
  const Register& b = is_binary ? any_register() : a;
  if (code >= (is_binary ? static_cast<uint8_t>(kBinaryEnd) : static_cast<uint8_t>(kUnaryEnd)) || fault_ != nullptr) {
    fail("an operation is not known");
    return;
  }
  const DType to = is_binary && code >= kEqual ? DType::Bool : a.dtype;
  require(d.is(to, !is_binary && code >= kReduceAdd ? 1 : a.lanes) && b.is_like(a), "operands differ in type");
  require(is_binary ? has_binary(code, a.dtype) : has_unary(code, a.dtype), "an operation does not exist for its type");
  emit({op, a.dtype, to, a.lanes, d.place, a.place, b.place, 0, a.pieces(), 0, 0});
}

void Reader::read_block(uint8_t op) {
  if (!require(depth_ < TIFFIN_IR_MAX_DEPTH, "it is nested too deeply")) return;
  Instruction i{op, DType::Int64, DType::Int64, 1, 0, 0, 0, 0, 0, 0, 0};
  if (op == kIf) {
    const Register& condition = any_register();
    require(condition.is(DType::Bool, 1), "a condition is not one bool");
    i.a = condition.place;
  } else {
    const Register& variable = target_register();
    const Register& begin = any_register();
    const Register& end = any_register();
    require(variable.is_index() && begin.is_index() && end.is_index(), "the range of a loop is no int64");
    i.immediate = static_cast<int64_t>(number_below(uint64_t{1} << 63, "a step is too large"));
    require(i.immediate > 0, "a step is not positive");
    i.d = variable.place;
    i.a = begin.place;
    i.b = end.place;
    i.c = static_cast<uint16_t>(register_pieces_ + depth_);
  }
  blocks_[depth_++] = {count_, i};
  deepest_ = depth_ > deepest_ ? depth_ : deepest_;
  emit(i);
}

void Reader::read_else() {
  if (!require(depth_ > 0 && blocks_[depth_ - 1].opened.op == kIf, "an else has no if")) return;
  Block& block = blocks_[depth_ - 1];
  const uint32_t jump = count_;
  emit({kJump, DType::Int64, DType::Int64, 1, 0, 0, 0, 0, 0, 0, 0});
  patch(block.at);
  block.at = jump;
  block.opened.op = kJump;
}

void Reader::read_end() {
  const Block& block = blocks_[--depth_];
  if (block.opened.op == kFor) {
    Instruction next = block.opened;
    next.op = kNext;
    next.target = block.at + 1;
    emit(next);
  }
  patch(block.at);
}

void Reader::read_instruction(uint8_t op) {
  if (op >= kUnary) return read_operation(op);
  switch (op) {
    case kEnd:
      return read_end();
    case kFor:
    case kIf:
      return read_block(op);
    case kElse:
      return read_else();
    case kFail: {
      const auto status = static_cast<int64_t>(number_below(INT32_MAX, "a failure is too large"));
      require(status > 0, "a failure is not positive");
      return emit({op, DType::Int64, DType::Int64, 1, 0, 0, 0, 0, 0, status, 0});
    }
    case kCopy:
    case kSplat:
    case kLanes:
    case kLinear:
    case kCast:
      return read_lanes(op);
    case kSelect:
    case kFma:
      return read_ternary(op);
    default:
      if (op >= kLoad && op <= kScatterActive) return read_memory(op);
      fail("an instruction is not known");
  }
}

// The statements up to the end of the record.
void Reader::read_code() {
  while (fault_ == nullptr) {
    const uint8_t op = byte();
    if (op == kEnd && depth_ == 0) break;
    read_instruction(op);
  }
  require(at_ == bytes_.size(), "it goes on behind its end");
  emit({kEnd, DType::Int64, DType::Int64, 1, 0, 0, 0, 0, 0, 0, 0});
}

// The memory of one call: the kernel's scratch, local buffers, the buffers' addresses, the frame with the states of open loops at its end.
void Reader::lay_out() {
  kernel_->local_bytes = local_bytes_;
  kernel_->bases_offset = own_scratch_ + local_bytes_;
  kernel_->frame_offset = kernel_->bases_offset + align64(buffers_.size() * sizeof(uint8_t*));
  kernel_->frame_bytes = uint64_t{register_pieces_ + deepest_} * kPieceBytes;
  kernel_->scratch_bytes = align64(kernel_->frame_offset + kernel_->frame_bytes);
}

Status Reader::status() const {
  if (fault_ == nullptr) return {};
  return error(Code::NotAnArtifact, "the record of a kernel is damaged: %s, at byte %zu of %zu", fault_, at_, bytes_.size());
}

Result<const KernelIr*> Reader::read(Arena& arena) {
  arena_ = &arena;
  void* memory = arena.allocate_bytes(sizeof(KernelIr));
  if (memory == nullptr) return error(Code::OutOfMemory, "no memory for a kernel");
  kernel_ = new (memory) KernelIr;
  const bool has_tables = read_header() && read_registers() && read_constants();
  if (is_out_of_memory_) return error(Code::OutOfMemory, "no memory for a kernel");
  if (!has_tables) return status();
  const size_t start = at_;
  read_code();
  TIFFIN_TRY(status());
  capacity_ = count_;
  code_ = arena.allocate<Instruction>(capacity_);
  if (code_ == nullptr) return error(Code::OutOfMemory, "no memory for a kernel");
  at_ = start;
  count_ = 0;
  read_code();
  TIFFIN_TRY(status());
  kernel_->code = {code_, capacity_};
  lay_out();
  return const_cast<const KernelIr*>(kernel_);
}

}  // namespace

Result<const KernelIr*> read_kernel_ir(std::span<const uint8_t> record, Arena& arena) {
  if (record.size() > INT32_MAX) return error(Code::NotAnArtifact, "the record of a kernel has %zu bytes", record.size());
  return Reader(record).read(arena);
}

}  // namespace tiffin::runtime
