// SPDX-License-Identifier: Apache-2.0
// Arithmetic on index expressions (Int64). A form is a sum of coefficient * atom, a constant and a step per lane; atoms are variables, quotients,
// remainders and any other expression. Equal forms are one Expr. Ranges of variables decide quotients, remainders and comparisons: with
// 0 <= j < 8, (i * 8 + j) / 8 is i and (i * 8 + j) % 8 is j; (x / c) * c + x % c is x.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

struct Range {
  int64_t low = INT64_MIN / 4;
  int64_t high = INT64_MAX / 4;  // inclusive
  bool is_bounded() const { return low > INT64_MIN / 4 && high < INT64_MAX / 4; }
};

struct LinearTerm {
  Expr atom = nullptr;
  int64_t coefficient = 0;
  bool operator==(const LinearTerm&) const = default;
};

struct Linear {
  std::vector<LinearTerm> terms;  // by creation of the atom; no zero coefficients
  int64_t constant = 0;
  int64_t lane_step = 0;  // lane l adds l * lane_step
  int lanes = 1;
  bool is_constant() const { return terms.empty() && lane_step == 0; }
  int64_t coefficient_of(Expr atom) const;
};

class IndexMath {
 public:
  explicit IndexMath(Kernel& kernel) : kernel_(kernel) {}

  // The form of an Int64 expression.
  Linear form_of(Expr value);
  // The one Expr of a form.
  Expr expr_of(const Linear& form);

  Linear add(const Linear& a, const Linear& b);
  Linear scale(const Linear& a, int64_t factor);
  // Truncating division as in Kernel IR; divisor > 0.
  Linear divide(const Linear& a, int64_t divisor);
  Linear remainder(const Linear& a, int64_t divisor);

  void set_range(Expr atom, Range range) { ranges_[atom] = range; }
  // The values that any active lane can have.
  Range range_of(const Linear& form);
  Range range_of(Expr value) { return range_of(form_of(value)); }

  // Says that only lanes below `count` matter; 0: all.
  void set_active_lanes(int count) { active_lanes_ = count; }
  int active_lanes() const { return active_lanes_; }

  // True, false, or nothing where ranges do not decide a < b.
  std::optional<bool> is_less(Expr a, Expr b);

  // True when `form` or the operands of its quotients and other atoms contain `variable` other than as a term of its own.
  bool hides(const Linear& form, Expr variable);
  // True when the expression reads the variable at all.
  bool mentions(Expr value, Expr variable);

 private:
  using Key = std::vector<int64_t>;
  Key key_of(const Linear& form);
  int64_t order_of(Expr atom);
  Linear atom_form(Expr atom);
  Linear normalise(Linear form);
  bool recombine(Linear& form);
  Linear quotient_atom(BinaryOp op, const Linear& operand, int64_t divisor);
  Range atom_range(Expr atom);

  Kernel& kernel_;
  std::map<Expr, Linear> forms_;  // of composed expressions and of quotients
  std::map<Key, Expr> exprs_;
  std::map<std::pair<Key, std::pair<int, int64_t>>, Expr> quotients_;
  std::map<Expr, int64_t> order_;
  std::map<Expr, Range> ranges_;
  int active_lanes_ = 0;
};

}  // namespace tiffin::kernel
