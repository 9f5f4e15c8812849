// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/wire.h"

#include <cstring>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

namespace tiffin::import {

using protozero::pbf_wire_type;

uint64_t Fields::varint() {
  const auto* from = reinterpret_cast<const char*>(at_);
  try {
    const uint64_t value = protozero::decode_varint(&from, reinterpret_cast<const char*>(end_));
    at_ = reinterpret_cast<const uint8_t*>(from);
    return value;
  } catch (const protozero::end_of_buffer_exception&) {
    fail("a number ends beyond its message");
  } catch (const protozero::varint_too_long_exception&) {
    fail("a number is longer than 10 bytes");
  }
}

template <class Element>
Element Fields::raw() {
  if (end_ - at_ < static_cast<ptrdiff_t>(sizeof(Element))) fail("a number ends beyond its message");
  Element value;
  memcpy(&value, at_, sizeof(Element));
  at_ += sizeof(Element);
  return value;
}

template <class Element>
Element Fields::single() {
  expect(sizeof(Element) == 4 ? pbf_wire_type::fixed32 : pbf_wire_type::fixed64);
  return raw<Element>();
}

template float Fields::raw<float>();
template double Fields::raw<double>();
template float Fields::single<float>();
template double Fields::single<double>();

void Fields::expect(pbf_wire_type type) {
  if (type_ != type) fail("a field has another type than ONNX gives it");
  is_read_ = true;
}

void Fields::skip() {
  switch (type_) {
    case pbf_wire_type::varint:
      varint();
      break;
    case pbf_wire_type::fixed64:
      raw<double>();
      break;
    case pbf_wire_type::length_delimited:
      bytes();
      break;
    case pbf_wire_type::fixed32:
      raw<float>();
      break;
    default:
      fail("a field of unknown type");
  }
}

bool Fields::next() {
  if (!is_read_) skip();
  field_ = at_;
  if (at_ == end_) return false;
  const uint64_t key = varint();
  if (key >> 3 == 0 || key > UINT32_MAX) fail("a field number that protobuf does not allow");
  tag_ = static_cast<uint32_t>(key >> 3);
  type_ = static_cast<pbf_wire_type>(key & 7);
  is_read_ = false;
  return true;
}

int64_t Fields::integer() {
  expect(pbf_wire_type::varint);
  return static_cast<int64_t>(varint());
}

float Fields::float32() { return single<float>(); }

double Fields::float64() { return single<double>(); }

std::span<const uint8_t> Fields::bytes() {
  expect(pbf_wire_type::length_delimited);
  const uint64_t length = varint();
  if (length > static_cast<uint64_t>(end_ - at_)) fail("a field ends beyond its message (truncated?)");
  const std::span<const uint8_t> field{at_, static_cast<size_t>(length)};
  at_ += length;
  return field;
}

std::string Fields::text() {
  const auto field = bytes();
  return std::string(reinterpret_cast<const char*>(field.data()), field.size());
}

}  // namespace tiffin::import
