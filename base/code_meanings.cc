// SPDX-License-Identifier: Apache-2.0
// What each code means, for lists of them. In a file of its own, because the runtime needs names and remedies only.
#include "base/error_codes.h"

namespace tiffin {
namespace {

// In the order of Code.
constexpr const char* kMeanings[] = {
    "nothing failed",
    "the model breaks a rule of ONNX or of the text graph",
    "the model uses operators that cannot be compiled yet",
    "an operator is used with an element type that is not supported",
    "the target or CPU is not known",
    "a tensor has another shape than expected",
    "a tensor has another element type than expected",
    "the model has no input of that name",
    "an input has no value yet",
    "a parameter file contradicts itself",
    "a parameter is not one of the model's",
    "a parameter of the model has no value",
    "a parameter has another element type than the model's",
    "a parameter has another shape than the model's",
    "a parameter has other values than the model was compiled with",
    "the file is not a Tiffin artifact",
    "the file ends too early",
    "bytes differ from their recorded digest",
    "the file was written for a newer format than this runtime reads",
    "the file was written in a format that this runtime no longer reads",
    "the file and the runtime have different binary interfaces",
    "the code needs CPU features that this machine lacks",
    "the file holds no code for this kind of machine",
    "the module has no function of that name",
    "a library that the artifact needs was not found",
    "the device is not there",
    "the system gave no more memory",
    "the system could not read or write a file",
    "a golden case gives other outputs than recorded",
    "the signature does not fit the artifact and key",
    "the artifact does not meet the trust asked for",
    "the artifact is larger than its budget",
    "the parameters in use are not the ones the change was made for",
    "a fallback was taken while --strict forbids it",
    "the work was interrupted",
    "an input file cannot be read as a tensor",
    "dimensions of the model's inputs are still open",
    "an element of an index tensor lies outside the indexed axis",
    "a call or option has a value that is not allowed",
    "a defect in Tiffin",
};
static_assert(sizeof(kMeanings) / sizeof(kMeanings[0]) == kCodeCount);

}  // namespace

const char* code_meaning(Code code) {
  const auto wanted = static_cast<size_t>(code);
  return kMeanings[wanted < kCodeCount ? wanted : kCodeCount - 1];
}

}  // namespace tiffin
