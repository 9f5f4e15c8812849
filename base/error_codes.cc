// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"

namespace tiffin {
namespace {

// In the order of Code.
constexpr CodeRow kRows[] = {
    {"Ok", "nothing failed", ""},
    {"InvalidModel", "the model breaks a rule of ONNX or of the text graph", "repair the model at the place named, or export it again"},
    {"UnsupportedOperator", "the model uses operators that cannot be compiled yet", "replace the operators listed, or fix the shapes or conditions they depend on"},
    {"UnsupportedType", "an operator is used with an element type that is not supported", "cast the tensor to a supported type"},
    {"UnsupportedTarget", "the target or CPU is not known", "choose one that 'tiffin targets' lists"},
    {"ShapeMismatch", "a tensor has another shape than expected", "give a tensor of the expected shape"},
    {"TypeMismatch", "a tensor has another element type than expected", "convert the tensor to the expected type"},
    {"UnknownInput", "the model has no input of that name", "use one of the input names that 'tiffin inspect' lists"},
    {"UnsetInput", "an input has no value yet", "set every input before running"},
    {"InvalidParams", "a parameter file contradicts itself", "write the parameter file again with the tool that made it"},
    {"UnknownParam", "a parameter is not one of the model's", "export the parameters from the same model"},
    {"MissingParam", "a parameter of the model has no value", "pass the model's parameter file with --params"},
    {"ParamTypeMismatch", "a parameter has another element type than the model's", "export the parameters from the same model"},
    {"ParamShapeMismatch", "a parameter has another shape than the model's", "export the parameters from the same model"},
    {"ParamDigestMismatch", "a parameter has other values than the model was compiled with", "pass the model's own parameters, or --new-weights if other values are wanted"},
    {"NotAnArtifact", "the file is not a Tiffin artifact", "pass a file that 'tiffin compile' wrote"},
    {"Truncated", "the file ends too early", "copy or download the file again"},
    {"DigestMismatch", "bytes differ from their recorded digest", "copy or download the file again"},
    {"FormatTooNew", "the file was written for a newer format than this runtime reads", "use a newer runtime, or compile the model again with this version"},
    {"FormatTooOld", "the file was written in a format that this runtime no longer reads", "compile the model again with this version"},
    {"AbiMismatch", "the file and the runtime have different binary interfaces", "use the runtime of the version that compiled the file, or compile the model again"},
    {"MissingCpuFeature", "the code needs CPU features that this machine lacks", "compile the model for this machine, for example with --target \"llvm -mcpu=x86-64-v2\""},
    {"NoVariant", "the file holds no code for this kind of machine", "compile the model for this machine"},
    {"MissingFunction", "the module has no function of that name", "use one of the names that 'tiffin inspect --functions' lists"},
    {"MissingLibrary", "a library that the artifact needs was not found", "install the library, or put it beside the artifact"},
    {"DeviceUnavailable", "the device is not there", "use a device that 'tiffin devices' lists"},
    {"OutOfMemory", "the system gave no more memory", "free memory, or use a smaller model"},
    {"Io", "the system could not read or write a file", "check the path, permissions and free space"},
    {"GoldenMismatch", "a golden case gives other outputs than recorded", "compile the model again, and report the kernel named"},
    {"SignatureInvalid", "the signature does not fit the artifact and key", "get the artifact again from its publisher"},
    {"NotTrusted", "the artifact does not meet the trust asked for", "sign the artifact, or lower --trust"},
    {"SizeBudget", "the artifact is larger than its budget", "see the largest parts that 'tiffin inspect --sizes' lists"},
    {"StaleGeneration", "the parameters in use are not the ones the change was made for", "make the change again from the current parameters"},
    {"Strict", "a fallback was taken while --strict forbids it", "remove the cause of the fallback named, or run without --strict"},
    {"Cancelled", "the work was interrupted", "start it again"},
    {"InvalidInput", "an input file cannot be read as a tensor", "write the tensor again as .npy, little-endian"},
    {"OpenShape", "dimensions of the model's inputs are still open", "fix them with --dim NAME=N or --input-shape NAME=AxBxC"},
    {"IndexOutOfRange", "an element of an index tensor lies outside the indexed axis", "check the index inputs of the node named"},
    {"InvalidArgument", "a call or option has a value that is not allowed", "see the allowed values in the message"},
    {"Internal", "a defect in Tiffin", "please report it with the message and the model"},
};

static_assert(sizeof(kRows) / sizeof(kRows[0]) == kCodeCount);

}  // namespace

const CodeRow& code_row(Code code) {
  const auto index = static_cast<size_t>(code);
  return kRows[index < kCodeCount ? index : kCodeCount - 1];
}

}  // namespace tiffin
