// SPDX-License-Identifier: Apache-2.0
// What every fuzz target defines and what all of them use. docs/how_to/fuzz.md tells how they are built and run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace tiffin::fuzz {

// Gives the bytes to the reader under test and, when it takes them, does what its users do next. True when it took them. Aborts where the reader
// breaks its word; memory errors are the sanitizers' to find. Deterministic.
bool accepts(std::span<const uint8_t> bytes);

// True when single inputs are replayed: then everything is done with each of them, while a campaign does what is slow with some.
bool is_replay();

// Aborts unless the condition holds.
inline void require(bool condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

// Keeps the compiler from dropping a computation whose result nobody uses.
template <class T>
void use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// One input in eight is left as it is where a target repairs digests: what a reader does before it believes them is tested too.
inline bool is_left_unrepaired(std::span<const uint8_t> bytes) { return !bytes.empty() && bytes.size() % 8 == 7; }

}  // namespace tiffin::fuzz
