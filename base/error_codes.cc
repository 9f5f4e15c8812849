// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"

#include <algorithm>
#include <cstring>

namespace tiffin {
namespace {

// Name and remedy of each code, in the order of Code. One text, because a table of pointers takes a relocation for each.
constexpr char kTexts[] =
    "Ok\0"
    "\0"
    "InvalidModel\0"
    "repair the model at the place named, or export it again\0"
    "UnsupportedOperator\0"
    "replace the operators listed, or fix the shapes or conditions they depend on\0"
    "UnsupportedType\0"
    "cast the tensor to a supported type\0"
    "UnsupportedTarget\0"
    "choose one that 'tiffin targets' lists\0"
    "ShapeMismatch\0"
    "give a tensor of the expected shape\0"
    "TypeMismatch\0"
    "convert the tensor to the expected type\0"
    "UnknownInput\0"
    "use one of the input names that 'tiffin inspect' lists\0"
    "UnsetInput\0"
    "set every input before running\0"
    "InvalidParams\0"
    "write the parameter file again with the tool that made it\0"
    "UnknownParam\0"
    "export the parameters from the same model\0"
    "MissingParam\0"
    "pass the model's parameter file with --params\0"
    "ParamTypeMismatch\0"
    "export the parameters from the same model\0"
    "ParamShapeMismatch\0"
    "export the parameters from the same model\0"
    "ParamDigestMismatch\0"
    "pass the model's own parameters, or --new-weights if other values are wanted\0"
    "NotAnArtifact\0"
    "pass a file that 'tiffin compile' wrote\0"
    "Truncated\0"
    "copy or download the file again\0"
    "DigestMismatch\0"
    "copy or download the file again\0"
    "FormatTooNew\0"
    "use a newer runtime, or compile the model again with this version\0"
    "FormatTooOld\0"
    "compile the model again with this version\0"
    "AbiMismatch\0"
    "use the runtime of the version that compiled the file, or compile the model again\0"
    "MissingCpuFeature\0"
    "compile the model for this machine, for example with --target \"llvm -mcpu=x86-64-v2\"\0"
    "NoVariant\0"
    "compile the model for this machine\0"
    "MissingFunction\0"
    "use one of the names that 'tiffin inspect --functions' lists\0"
    "MissingLibrary\0"
    "install the library, or put it beside the artifact\0"
    "DeviceUnavailable\0"
    "use a device that 'tiffin devices' lists\0"
    "OutOfMemory\0"
    "free memory, or use a smaller model\0"
    "Io\0"
    "check the path, permissions and free space\0"
    "GoldenMismatch\0"
    "compile the model again, and report the kernel named\0"
    "SignatureInvalid\0"
    "get the artifact again from its publisher\0"
    "NotTrusted\0"
    "sign the artifact, or lower --trust\0"
    "SizeBudget\0"
    "see the largest parts that 'tiffin inspect --sizes' lists\0"
    "StaleGeneration\0"
    "make the change again from the current parameters\0"
    "Strict\0"
    "remove the cause of the fallback named, or run without --strict\0"
    "Cancelled\0"
    "start it again\0"
    "InvalidInput\0"
    "write the tensor again as .npy, little-endian\0"
    "OpenShape\0"
    "fix them with --dim NAME=N or --input-shape NAME=AxBxC\0"
    "IndexOutOfRange\0"
    "check the index inputs of the node named\0"
    "InvalidArgument\0"
    "correct the option or argument that the message names\0"
    "Internal\0"
    "please report it with the message and the model\0";

constexpr size_t kTextsPerCode = 2;
static_assert(std::count(kTexts, kTexts + sizeof(kTexts) - 1, '\0') == kTextsPerCode * kCodeCount);

const char* next_text(const char* text) { return text + strlen(text) + 1; }

}  // namespace

CodeRow code_row(Code code) {
  const auto wanted = static_cast<size_t>(code);
  const char* name = kTexts;
  for (size_t i = kTextsPerCode * (wanted < kCodeCount ? wanted : kCodeCount - 1); i > 0; --i) name = next_text(name);
  return {name, next_text(name)};
}

}  // namespace tiffin
