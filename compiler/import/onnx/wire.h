// SPDX-License-Identifier: Apache-2.0
// A cursor over the fields of one protobuf message: protozero's varints and tags, but lengths of 64 bits, so that a graph of more than 4 GiB
// is read, and errors that carry their place. Throws WireError; read_messages() is the border that turns it into a Status.
#pragma once

#include <cstdint>
#include <new>
#include <protozero/types.hpp>
#include <span>
#include <stdexcept>
#include <string>

#include "base/status.h"

namespace tiffin::import {

// What is wrong, where: a byte of the input, and the kind of message that holds it.
struct WireError {
  const char* what;
  const char* message;
  const uint8_t* at;
};

class Fields {
 public:
  // `message` is the protobuf name of the message, for errors.
  Fields(std::span<const uint8_t> bytes, const char* message) : at_(bytes.data()), end_(bytes.data() + bytes.size()), message_(message) {}

  // Steps to the next field; what the caller did not read of the current one is skipped. False at the end.
  bool next();
  uint32_t tag() const { return tag_; }

  // The value of the current field; a value of another wire type is an error.
  int64_t integer();
  float float32();
  double float64();
  std::span<const uint8_t> bytes();
  std::string text();
  Fields message(const char* name) { return Fields(bytes(), name); }

  // Calls `take` for the field's elements, which may be packed or stand alone.
  template <class Take>
  void integers(Take take) {
    if (type_ != protozero::pbf_wire_type::length_delimited) return take(integer());
    Fields packed(bytes(), message_);
    while (packed.at_ != packed.end_) take(static_cast<int64_t>(packed.varint()));
  }
  template <class Element, class Take>
  void fixed(Take take) {
    if (type_ != protozero::pbf_wire_type::length_delimited) return take(single<Element>());
    Fields packed(bytes(), message_);
    if ((packed.end_ - packed.at_) % static_cast<ptrdiff_t>(sizeof(Element)) != 0) fail("packed values do not fill their field");
    while (packed.at_ != packed.end_) take(packed.raw<Element>());
  }

  [[noreturn]] void fail(const char* what) const { throw WireError{what, message_, field_}; }

 private:
  uint64_t varint();
  template <class Element>
  Element raw();
  template <class Element>
  Element single();
  void expect(protozero::pbf_wire_type type);
  void skip();

  const uint8_t* at_;
  const uint8_t* end_;
  const uint8_t* field_ = at_;  // first byte of the current field
  const char* message_;
  uint32_t tag_ = 0;
  protozero::pbf_wire_type type_ = protozero::pbf_wire_type::unknown;
  bool is_read_ = true;
};

// Runs `read`, which parses `bytes`, and turns what it throws into InvalidModel with the byte offset, or OutOfMemory.
template <class Read>
Status read_messages(std::span<const uint8_t> bytes, Read read) {
  try {
    return read();
  } catch (const WireError& failure) {
    return error(Code::InvalidModel, "%s, at byte %lld of %zu, in a %s", failure.what, static_cast<long long>(failure.at - bytes.data()),
                 bytes.size(), failure.message);
  } catch (const std::bad_alloc&) {
    return error(Code::OutOfMemory, "no memory to read a message of %zu bytes", bytes.size());
  } catch (const std::exception& failure) {
    return error(Code::Internal, "reading a message of %zu bytes: %s", bytes.size(), failure.what());
  }
}

}  // namespace tiffin::import
