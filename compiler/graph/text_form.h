// SPDX-License-Identifier: Apache-2.0
// What the printer and the parser of graphs agree on: names, quoting, numbers, and the data of tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/graph/tensor.h"

namespace tiffin::graph {

// Values' and symbols' names of these characters stand unquoted.
bool is_plain_value_name(std::string_view name);   // letters, digits and _ . / - after the %
bool is_plain_symbol_name(std::string_view name);  // a letter or _ , then letters, digits and _ .

// "text" with \" \\ \n and \xHH for other control characters.
std::string quoted(std::string_view text);

// The shortest decimal that reads back as the same double; has a point, an exponent, "inf" or "nan", so that it is no integer.
std::string float_text(double value);

// The elements of a tensor as data forms of the text: fill(v) of a uniform tensor, [v, v] of up to 64 elements, raw("…") otherwise or where
// numbers would not give the same bits.
std::string tensor_text(const Tensor& tensor);

// Whether every element has the same bits and there is more than one.
bool is_uniform(const Tensor& tensor);

// One element from a number; false when the dtype has no number form or an integer does not fit. `out` gets the element's bytes appended.
bool append_number(DType dtype, std::string_view number, std::vector<uint8_t>* out);

// `count` elements that depend on the seed and nothing else: floats in [-1, 1), integers in [-8, 8) or [0, 16), bools. False for other dtypes.
bool append_random(DType dtype, uint64_t seed, int64_t count, std::vector<uint8_t>* out);

}  // namespace tiffin::graph
