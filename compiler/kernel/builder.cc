// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/builder.h"

#include <algorithm>

#include "compiler/kernel/fold.h"

namespace tiffin::kernel {

namespace {

// First parts of the builder's own cache keys.
enum : int64_t { kSettledKey, kLoadKey };

bool is_const(Expr e) { return e->kind == ExprKind::Const; }
bool is_integer_const(Expr e, int64_t value) { return is_const(e) && !is_standard_float(e->type.dtype) && e->int_value == value; }
bool is_real_const(Expr e, double value) { return is_const(e) && is_standard_float(e->type.dtype) && e->float_value == value; }
bool is_comparison(BinaryOp op) { return op == BinaryOp::Equal || op == BinaryOp::Less || op == BinaryOp::LessEqual; }

bool is_constant_quotient(Expr e) {
  return e->kind == ExprKind::Binary && (e->binary == BinaryOp::Div || e->binary == BinaryOp::Mod) && is_const(e->b) && e->b->int_value > 0;
}

}  // namespace

Builder::Builder(Kernel& kernel) : kernel_(kernel), index_math_(kernel) {
  blocks_.push_back({BlockKind::Root, {}, {}});
  variable_depth_[kernel.unit_begin] = variable_depth_[kernel.unit_end] = 0;
}

Expr Builder::make(ExprNode node) {
  Expr made = kernel_.add(node);
  if (observer) observer(made);
  return made;
}

// ---- constants ----

Expr Builder::i64(int64_t value) { return integer({DType::Int64, 1}, value); }

Expr Builder::integer(Type type, int64_t value) {
  ExprNode node;
  node.kind = ExprKind::Const;
  node.type = type;
  node.int_value = wrap_integer(type.dtype, value);
  if (type.dtype != DType::Int64) return kernel_.add(node);
  Linear form;
  form.constant = value;
  form.lanes = type.lanes;
  return index_math_.expr_of(form);
}

Expr Builder::real(Type type, double value) {
  ExprNode node;
  node.kind = ExprKind::Const;
  node.type = type;
  node.float_value = type.dtype == DType::Float32 ? static_cast<float>(value) : value;
  return kernel_.add(node);
}

Expr Builder::number(Type type, double value) {
  if (is_standard_float(type.dtype)) return real(type, value);
  if (type.dtype == DType::Bool) return integer(type, value != 0);
  return integer(type, type.dtype == DType::UInt64 && value >= 9223372036854775808.0 ? static_cast<int64_t>(static_cast<uint64_t>(value))
                                                                                     : static_cast<int64_t>(value));
}

// ---- arithmetic ----

Expr Builder::binary(BinaryOp op, Expr a, Expr b) {
  if (a->type.lanes < b->type.lanes) a = splat(a, b->type.lanes);
  if (b->type.lanes < a->type.lanes) b = splat(b, a->type.lanes);
  if (is_const(a) && is_const(b)) {
    if (std::optional<ExprNode> folded = fold_binary(op, *a, *b)) {
      return folded->type.dtype == DType::Int64 ? integer(folded->type, folded->int_value) : kernel_.add(*folded);
    }
  }
  Expr simple = a->type.dtype == DType::Int64 ? integer_binary(op, a, b) : simplify_binary(op, a, b);
  if (simple != nullptr) return simple;
  ExprNode node;
  node.kind = ExprKind::Binary;
  node.binary = op;
  node.type = is_comparison(op) ? Type{DType::Bool, a->type.lanes} : a->type;
  node.a = a;
  node.b = b;
  return make(node);
}

// Int64 in linear form; null where `op` has no simpler form.
Expr Builder::integer_binary(BinaryOp op, Expr a, Expr b) {
  IndexMath& math = index_math_;
  const int lanes = a->type.lanes;
  switch (op) {
    case BinaryOp::Add:
      return math.expr_of(math.add(math.form_of(a), math.form_of(b)));
    case BinaryOp::Sub:
      return math.expr_of(math.add(math.form_of(a), math.scale(math.form_of(b), -1)));
    case BinaryOp::Mul:
      if (is_const(b)) return math.expr_of(math.scale(math.form_of(a), b->int_value));
      if (is_const(a)) return math.expr_of(math.scale(math.form_of(b), a->int_value));
      return nullptr;
    case BinaryOp::Div:
      return is_const(b) && b->int_value > 0 ? math.expr_of(math.divide(math.form_of(a), b->int_value)) : nullptr;
    case BinaryOp::Mod:
      return is_const(b) && b->int_value > 0 ? math.expr_of(math.remainder(math.form_of(a), b->int_value)) : nullptr;
    case BinaryOp::Less:
    case BinaryOp::LessEqual: {
      // a <= b is not (b < a); integers have no NaN.
      const std::optional<bool> less = op == BinaryOp::Less ? math.is_less(a, b) : math.is_less(b, a);
      if (less) return boolean(op == BinaryOp::Less ? *less : !*less, lanes);
      return nullptr;
    }
    case BinaryOp::Equal: {
      if (a == b) return boolean(true, lanes);
      const std::optional<bool> less = math.is_less(a, b), greater = math.is_less(b, a);
      if ((less && *less) || (greater && *greater)) return boolean(false, lanes);
      return nullptr;
    }
    case BinaryOp::Min:
    case BinaryOp::Max: {
      const std::optional<bool> less = math.is_less(a, b), greater = math.is_less(b, a);
      const bool a_is_low = (less && *less) || (greater && !*greater), b_is_low = (greater && *greater) || (less && !*less);
      if (a_is_low) return op == BinaryOp::Min ? a : b;
      if (b_is_low) return op == BinaryOp::Min ? b : a;
      return nullptr;
    }
    default:
      return nullptr;
  }
}

// Identities that hold for every value of the type, NaN and -0 included.
Expr Builder::simplify_binary(BinaryOp op, Expr a, Expr b) {
  const bool is_float = is_standard_float(a->type.dtype);
  const bool is_bool = a->type.dtype == DType::Bool;
  const auto one = [&](Expr e) { return is_float ? is_real_const(e, 1) : is_integer_const(e, 1); };
  switch (op) {
    case BinaryOp::Add:
      if (is_integer_const(b, 0)) return a;
      if (is_integer_const(a, 0)) return b;
      return nullptr;
    case BinaryOp::Sub:
      return is_integer_const(b, 0) ? a : nullptr;
    case BinaryOp::Mul:
      if (one(b)) return a;
      if (one(a)) return b;
      if (is_integer_const(b, 0)) return b;
      if (is_integer_const(a, 0)) return a;
      return nullptr;
    case BinaryOp::Div:
      return one(b) ? a : nullptr;
    case BinaryOp::And:
      if (is_bool && is_integer_const(a, 1)) return b;
      if (is_bool && is_integer_const(b, 1)) return a;
      if (is_integer_const(a, 0)) return a;
      return is_integer_const(b, 0) ? b : nullptr;
    case BinaryOp::Or:
      if (is_bool && is_integer_const(a, 1)) return a;
      if (is_bool && is_integer_const(b, 1)) return b;
      if (is_integer_const(a, 0)) return b;
      return is_integer_const(b, 0) ? a : nullptr;
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return is_integer_const(b, 0) ? a : nullptr;
    default:
      return nullptr;
  }
}

Expr Builder::unary(UnaryOp op, Expr a) {
  const bool is_reduction = op == UnaryOp::ReduceAdd || op == UnaryOp::ReduceMax || op == UnaryOp::ReduceMin;
  if (is_reduction && a->type.lanes == 1) return a;
  if (op == UnaryOp::Not && a->type.dtype == DType::Bool) {
    if (is_const(a)) return boolean(a->int_value == 0, a->type.lanes);
    if (a->kind == ExprKind::Unary && a->unary == UnaryOp::Not) return a->a;
  }
  if (op == UnaryOp::Neg && a->type.dtype == DType::Int64) return mul(a, -1);
  ExprNode node;
  node.kind = ExprKind::Unary;
  node.unary = op;
  node.type = is_reduction ? Type{a->type.dtype, 1} : a->type;
  node.a = a;
  return make(node);
}

Expr Builder::fma(Expr a, Expr b, Expr c) {
  const int lanes = std::max({a->type.lanes, b->type.lanes, c->type.lanes});
  ExprNode node;
  node.kind = ExprKind::Fma;
  node.type = {a->type.dtype, static_cast<uint16_t>(lanes)};
  node.a = splat(a, lanes);
  node.b = splat(b, lanes);
  node.c = splat(c, lanes);
  return make(node);
}

Expr Builder::bit_cast(Expr a, DType dtype) {
  if (a->type.dtype == dtype) return a;
  ExprNode node;
  node.kind = ExprKind::Unary;
  node.unary = UnaryOp::BitCast;
  node.type = {dtype, a->type.lanes};
  node.a = a;
  return make(node);
}

Expr Builder::cast(Expr a, DType dtype) {
  if (a->type.dtype == dtype) return a;
  if (is_const(a)) {
    if (std::optional<ExprNode> folded = fold_cast(*a, dtype)) {
      return dtype == DType::Int64 ? integer(folded->type, folded->int_value) : kernel_.add(*folded);
    }
  }
  if (a->kind == ExprKind::Splat) return splat(cast(a->a, dtype), a->type.lanes);
  ExprNode node;
  node.kind = ExprKind::Cast;
  node.type = {dtype, a->type.lanes};
  node.a = a;
  return make(node);
}

Expr Builder::select(Expr condition, Expr a, Expr b) {
  const int lanes = std::max({condition->type.lanes, a->type.lanes, b->type.lanes});
  if (is_const(condition)) return splat(condition->int_value != 0 ? a : b, lanes);
  if (a == b) return splat(a, lanes);
  ExprNode node;
  node.kind = ExprKind::Select;
  node.type = {a->type.dtype, static_cast<uint16_t>(lanes)};
  node.a = splat(condition, lanes);
  node.b = splat(a, lanes);
  node.c = splat(b, lanes);
  return make(node);
}

Expr Builder::any(Expr condition) {
  if (condition->type.lanes == 1) return condition;
  if (is_const(condition)) return boolean(condition->int_value != 0);
  if (condition->kind == ExprKind::Splat) return condition->a;
  return ne(reduce_max(cast(condition, DType::Int32)), integer({DType::Int32, 1}, 0));
}

// ---- lanes ----

Expr Builder::splat(Expr a, int lanes) {
  if (a->type.lanes == lanes) return a;
  if (a->type.dtype == DType::Int64) {
    Linear form = index_math_.form_of(a);
    form.lanes = lanes;
    return index_math_.expr_of(form);
  }
  ExprNode node = *a;
  if (!is_const(a)) {
    node = ExprNode{};
    node.kind = ExprKind::Splat;
    node.a = a;
  }
  node.type = {a->type.dtype, static_cast<uint16_t>(lanes)};
  return make(node);
}

Expr Builder::lanes(Expr first, int64_t step, int count) {
  if (count == 1) return first;
  Linear form = index_math_.form_of(first);
  form.lane_step = step;
  form.lanes = count;
  return index_math_.expr_of(form);
}

// ---- memory ----

Expr Builder::settle(Expr index) {
  Linear form = index_math_.form_of(index);
  bool has_changed = false;
  for (LinearTerm& term : form.terms) {
    if (term.atom->kind == ExprKind::Var) continue;
    const CacheKey key{kSettledKey, {term.atom}};
    Expr named = find_cached(key);
    if (named == nullptr) {
      Expr value = term.atom;
      if (is_constant_quotient(value)) {
        ExprNode node = *value;
        node.a = settle(value->a);
        value = kernel_.add(node);
      }
      named = name_value("at", value);
      if (!needs_of(term.atom).is_fixed) remember(key, named);
    }
    term.atom = named;
    has_changed = true;
  }
  if (!has_changed) return index;
  // Through add, which sorts the new terms.
  return index_math_.expr_of(index_math_.add(form, Linear{}));
}

Expr Builder::load(const Buffer* buffer, Expr index, int lanes, int64_t stride, Expr active) {
  if (load_observer) load_observer(buffer, index);
  ExprNode node;
  node.kind = ExprKind::Load;
  node.type = {buffer->dtype, static_cast<uint16_t>(lanes)};
  node.buffer = buffer;
  node.a = settle(index);
  node.b = active;
  node.stride = stride;
  if (is_written(buffer)) return make(node);
  const CacheKey key{kLoadKey, {node.a, active, i64(buffer->index), i64(lanes), i64(stride)}};
  if (Expr known = find_cached(key)) return known;
  Expr named = let(buffer->name, make(node));
  remember(key, named);
  return named;
}

Expr Builder::load_at(const Buffer* buffer, Expr index, Expr active) {
  const int count = index->type.lanes;
  if (count == 1) return load(buffer, index);
  Linear form = index_math_.form_of(index);
  const bool is_strided = std::all_of(form.terms.begin(), form.terms.end(), [](const LinearTerm& term) { return term.atom->type.lanes == 1; });
  if (!is_strided) return load(buffer, index, count, 1, active);
  const int64_t stride = form.lane_step;
  form.lanes = 1;
  form.lane_step = 0;
  Expr first = index_math_.expr_of(form);
  if (stride == 0) return splat(load(buffer, first), count);
  return load(buffer, first, count, stride, active);
}

void Builder::store(const Buffer* buffer, Expr index, Expr value, int64_t stride, Expr active) {
  StmtNode node;
  node.kind = StmtKind::Store;
  node.buffer = buffer;
  node.a = settle(index);
  node.b = value;
  node.c = active;
  node.stride = stride;
  append(std::move(node));
}

// ---- statements ----

Expr Builder::variable_expr(const Variable* variable, int variable_depth) {
  variable_depth_[variable] = variable_depth;
  ExprNode node;
  node.kind = ExprKind::Var;
  node.type = variable->type;
  node.variable = variable;
  return kernel_.add(node);
}

Builder::Needs Builder::needs_of(Expr value) {
  if (auto found = needs_.find(value); found != needs_.end()) return found->second;
  Needs needs;
  if (value->kind == ExprKind::Var) {
    needs.depth = variable_depth_[value->variable];
    needs.is_fixed = value->variable->is_register;
  }
  if (value->kind == ExprKind::Load) {
    needs.has_load = true;
    needs.is_fixed = is_written(value->buffer);
  }
  for (Expr part : {value->a, value->b, value->c}) {
    if (part == nullptr) continue;
    const Needs inner = needs_of(part);
    needs.depth = std::max(needs.depth, inner.depth);
    needs.is_fixed |= inner.is_fixed;
    needs.has_load |= inner.has_load;
  }
  needs_[value] = needs;
  return needs;
}

int Builder::home_of(Expr value, bool with_loads) {
  const Needs needs = needs_of(value);
  int home = depth();
  if (needs.is_fixed) return home;
  while (home > needs.depth) {
    const BlockKind kind = blocks_[static_cast<size_t>(home)].kind;
    if (kind == BlockKind::Conditional || (kind == BlockKind::MayBeEmptyLoop && (needs.has_load || with_loads))) break;
    --home;
  }
  return home;
}

Expr Builder::name_value(const std::string& name, Expr value) {
  const int home = home_of(value);
  const Variable* variable = kernel_.add_variable(name, value->type, false);
  StmtNode node;
  node.kind = StmtKind::Let;
  node.variable = variable;
  node.a = value;
  append_at(std::move(node), home);
  Expr named = variable_expr(variable, home);
  if (value->type.dtype == DType::Int64) index_math_.set_range(named, index_math_.range_of(value));
  return named;
}

Expr Builder::let_index(const std::string& name, Expr value, Range range) {
  if (is_const(value)) return value;
  Expr named = name_value(name, settle(value));
  index_math_.set_range(named, range);
  return named;
}

Expr Builder::let(const std::string& name, Expr value) {
  if (is_const(value)) return value;
  const bool is_fixed = needs_of(value).is_fixed;
  if (value->kind == ExprKind::Var && !is_fixed) return value;
  if (value->kind == ExprKind::Splat && !is_fixed) return splat(let(name, value->a), value->type.lanes);
  if (value->type.dtype != DType::Int64 || is_fixed) return name_value(name, value);
  // Sums and quotients stay visible to index arithmetic; only what it can't see into is named.
  Linear form = index_math_.form_of(value);
  bool has_changed = false;
  for (LinearTerm& term : form.terms) {
    if (term.atom->kind == ExprKind::Var || is_constant_quotient(term.atom)) continue;
    term.atom = name_value(name, term.atom);
    has_changed = true;
  }
  return has_changed ? index_math_.expr_of(index_math_.add(form, Linear{})) : value;
}

Expr Builder::add_register(const std::string& name, Expr initial) {
  const Variable* variable = kernel_.add_variable(name, initial->type, true);
  StmtNode node;
  node.kind = StmtKind::Register;
  node.variable = variable;
  node.a = initial;
  append(std::move(node));
  return variable_expr(variable, depth());
}

void Builder::set(Expr reg, Expr value) {
  StmtNode node;
  node.kind = StmtKind::Set;
  node.variable = reg->variable;
  node.a = splat(value, reg->type.lanes);
  append(std::move(node));
}

void Builder::for_loop(const std::string& name, Expr begin, Expr end, const LoopBody& body, LoopOptions options) {
  begin = settle(begin);
  end = settle(end);
  const Range first = index_math_.range_of(begin), last = index_math_.range_of(end);
  const Linear length = index_math_.form_of(sub(end, begin));
  if (length.is_constant() && length.constant <= 0) return;
  if (length.is_constant() && length.constant <= options.step && !options.keeps_variable) return body(begin);
  StmtNode node;
  node.kind = StmtKind::For;
  node.variable = kernel_.add_variable(name, {DType::Int64, 1}, false);
  node.a = begin;
  node.b = end;
  node.step = options.step;
  node.loop = options.kind;
  const std::optional<bool> runs = index_math_.is_less(begin, end);
  open_block(runs && *runs ? BlockKind::Loop : BlockKind::MayBeEmptyLoop);
  Expr variable = variable_expr(node.variable, depth());
  Range range{first.low, first.is_bounded() && last.is_bounded() ? std::max(last.high - 1, first.low) : INT64_MAX / 4};
  if (first.is_bounded() && length.is_constant()) range.high = first.high + (length.constant - 1) / options.step * options.step;
  index_math_.set_range(variable, range);
  body(variable);
  node.body = close_block();
  append(std::move(node));
}

void Builder::if_then(Expr condition, const Body& then, const Body& otherwise) {
  if (is_const(condition)) {
    if (condition->int_value != 0) return then();
    if (otherwise) otherwise();
    return;
  }
  StmtNode node;
  node.kind = StmtKind::If;
  node.a = condition;
  open_block(BlockKind::Conditional);
  then();
  node.body = close_block();
  if (otherwise) {
    open_block(BlockKind::Conditional);
    otherwise();
    node.otherwise = close_block();
  }
  append(std::move(node));
}

Expr Builder::choose(Expr condition, const std::function<Expr()>& yes, const std::function<Expr()>& no) {
  return choose_all(
      condition, [&] { return Values{yes()}; }, [&] { return Values{no()}; })[0];
}

Builder::Values Builder::choose_all(Expr condition, const std::function<Values()>& yes, const std::function<Values()>& no) {
  if (is_const(condition)) return condition->int_value != 0 ? yes() : no();
  // Both sides are built before the registers that take their values, whose lanes depend on them.
  StmtNode branch;
  branch.kind = StmtKind::If;
  branch.a = condition;
  open_block(BlockKind::Conditional);
  const Values on_yes = yes();
  branch.body = close_block();
  open_block(BlockKind::Conditional);
  const Values on_no = no();
  branch.otherwise = close_block();
  Values registers;
  const auto setting = [&](Expr reg, Expr value) {
    StmtNode node;
    node.kind = StmtKind::Set;
    node.variable = reg->variable;
    node.a = splat(value, reg->type.lanes);
    return kernel_.add(std::move(node));
  };
  for (size_t i = 0; i < on_yes.size(); ++i) {
    const uint16_t lanes = std::max(on_yes[i]->type.lanes, on_no[i]->type.lanes);
    registers.push_back(add_register("chosen", zero({on_yes[i]->type.dtype, lanes})));
    branch.body.push_back(setting(registers[i], on_yes[i]));
    branch.otherwise.push_back(setting(registers[i], on_no[i]));
  }
  append(std::move(branch));
  for (Expr& value : registers) value = let("chosen", value);
  return registers;
}

void Builder::check(Expr condition, int32_t failure) {
  Expr violated = any(logical_not(condition));
  if (is_const(violated) && violated->int_value == 0) return;
  StmtNode fail;
  fail.kind = StmtKind::Fail;
  fail.failure = failure;
  StmtNode node;
  node.kind = StmtKind::If;
  node.a = violated;
  node.body = {kernel_.add(std::move(fail))};
  append_at(std::move(node), home_of(violated));
}

void Builder::at_home(std::span<const Expr> values, const Body& body) {
  int home = 0;
  for (Expr value : values) home = std::max(home, home_of(value, true));
  if (values.empty()) home = home_of(i64(0), true);
  std::vector<Block> aside(std::make_move_iterator(blocks_.begin() + home + 1), std::make_move_iterator(blocks_.end()));
  blocks_.resize(static_cast<size_t>(home) + 1);
  body();
  blocks_.insert(blocks_.end(), std::make_move_iterator(aside.begin()), std::make_move_iterator(aside.end()));
}

void Builder::unit_loop(const LoopBody& body) {
  if (kernel_.units <= 0) return;
  StmtNode node;
  node.kind = StmtKind::For;
  node.variable = kernel_.add_variable("unit", {DType::Int64, 1}, false);
  node.a = variable_expr(kernel_.unit_begin, 0);
  node.b = variable_expr(kernel_.unit_end, 0);
  open_block(BlockKind::Loop);
  Expr unit = variable_expr(node.variable, depth());
  index_math_.set_range(unit, {0, kernel_.units - 1});
  body(unit);
  node.body = close_block();
  append(std::move(node));
}

Expr Builder::free_variable(const std::string& name, Range range) {
  Expr variable = variable_expr(kernel_.add_variable(name, {DType::Int64, 1}, false), depth());
  index_math_.set_range(variable, range);
  return variable;
}

void Builder::finish() {
  kernel_.body = std::move(blocks_.back().statements);
  blocks_.back().statements.clear();
}

// ---- blocks and the cache ----

void Builder::open_block(BlockKind kind) { blocks_.push_back({kind, {}, {}}); }

std::vector<Stmt> Builder::close_block() {
  Block block = std::move(blocks_.back());
  blocks_.pop_back();
  for (const CacheKey& key : block.cached) cache_.erase(key);
  return std::move(block.statements);
}

void Builder::append(StmtNode node) { append_at(std::move(node), depth()); }

void Builder::append_at(StmtNode node, int where) { blocks_[static_cast<size_t>(where)].statements.push_back(kernel_.add(std::move(node))); }

Expr Builder::find_cached(const CacheKey& key) const {
  auto found = cache_.find(key);
  return found == cache_.end() ? nullptr : found->second.first;
}

void Builder::remember(const CacheKey& key, Expr value) {
  const Needs needs = needs_of(value);
  const int where = needs.is_fixed ? depth() : needs.depth;
  cache_[key] = {value, where};
  blocks_[static_cast<size_t>(where)].cached.push_back(key);
}

}  // namespace tiffin::kernel
