# SPDX-License-Identifier: Apache-2.0
"""Between numpy's arrays, DLPack's producers and Tiffin's tensors. Layout and byte order are converted, element types never."""
from typing import Any, Dict, Mapping, Optional, Tuple

import numpy as np

from tiffin import _runtime
from tiffin.arguments import text
from tiffin.errors import from_status, invalid_argument

Tensor = _runtime.Tensor

# Element types below a byte, packed in a Tensor and one to a byte in numpy.
_PACKED_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}

# The types that numpy's buffers describe, in native byte order: the short way for most inputs.
_BUFFER_TYPES = {np.dtype(name): name for name in (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128")}


def _extension_type(name: str, element_bytes: int) -> np.dtype:
    """The type of that name in ml_dtypes, or raw bytes where ml_dtypes is not installed or lacks it."""
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        return np.dtype(f"V{element_bytes}")


def _pack(array: np.ndarray, bits: int) -> np.ndarray:
    """Elements of one byte each into packed ones, the first in the low bits."""
    per_byte = 8 // bits
    flat = array.reshape(-1).view(np.uint8) & np.uint8((1 << bits) - 1)
    flat = np.concatenate([flat, np.zeros(-len(flat) % per_byte, np.uint8)]).reshape(-1, per_byte)
    packed = np.zeros(len(flat), np.uint8)
    for position in range(per_byte):
        packed |= flat[:, position] << np.uint8(bits * position)
    return packed


def _unpack(packed: np.ndarray, bits: int, count: int, is_signed: bool) -> np.ndarray:
    per_byte = 8 // bits
    elements = np.stack([packed >> np.uint8(bits * position) for position in range(per_byte)], axis=1).reshape(-1)[:count]
    elements = elements & np.uint8((1 << bits) - 1)
    if is_signed:
        shift = np.int8(8 - bits)
        elements = ((elements << np.uint8(shift)).view(np.int8) >> shift).view(np.uint8)
    return np.ascontiguousarray(elements)


def to_numpy(tensor: Tensor) -> np.ndarray:
    """A copy of the elements. Types that numpy lacks become ml_dtypes' ones, or raw |V1 and |V2 elements without ml_dtypes."""
    try:
        return np.array(memoryview(tensor), copy=True)
    except BufferError:
        pass
    except ValueError as failure:  # more dimensions than numpy has
        raise invalid_argument(f"a tensor of shape {tensor.shape} cannot be an array of numpy: {failure}", "use tobytes()") from failure
    raw = np.frombuffer(tensor.tobytes(), np.uint8)
    bits = _PACKED_BITS.get(tensor.dtype)
    if bits is not None:
        raw = _unpack(raw, bits, int(np.prod(tensor.shape, dtype=np.int64)), tensor.dtype.startswith("int"))
        return raw.view(_extension_type(tensor.dtype, 1)).reshape(tensor.shape).copy()
    count = int(np.prod(tensor.shape, dtype=np.int64))
    element_bytes = tensor.nbytes // count if count else (2 if tensor.dtype == "bfloat16" else 1)
    return raw.view(_extension_type(tensor.dtype, element_bytes)).reshape(tensor.shape).copy()


def to_array(tensor: Tensor, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
    """numpy's __array__: reached only where the buffer protocol cannot describe the elements, so that a view is not possible."""
    if copy is False:
        raise ValueError(f"{tensor.dtype} elements cannot be shown to numpy without a copy")
    array = to_numpy(tensor)
    return array if dtype is None else array.astype(dtype)


def restore(content: bytes, dtype: str, shape: Tuple[int, ...]) -> Tensor:
    """The tensor that was pickled or copied."""
    return Tensor.from_buffer(content, dtype, shape)


def reduce(tensor: Tensor) -> Tuple[Any, Tuple[bytes, str, Tuple[int, ...]]]:
    """pickle's __reduce__: the values travel, the memory is another."""
    return restore, (tensor.tobytes(), tensor.dtype, tensor.shape)


def _check_not_masked(array: Any, label: str, has_masked_parts: bool = False) -> None:
    if has_masked_parts or isinstance(array, np.ma.MaskedArray):
        raise from_status("TypeMismatch", f"{label} is a masked array, expected is one with a value for every element",
                          "fill the masked elements first: array.filled(value)")


def _from_numpy(array: np.ndarray, label: str) -> Tensor:
    dtype = array.dtype
    name = _BUFFER_TYPES.get(dtype)
    if name is not None and array.flags.c_contiguous:
        return Tensor.from_buffer(array, name, array.shape)
    # Of numpy's own types only those that its buffers describe; a type that another package registered is one of Tiffin's or not by its name. Kind
    # and character say nothing of those: float8_e5m2 has the kind of float32, float8_e4m3fnuz the character of a complex long double.
    is_registered = dtype.isbuiltin == 2
    name = dtype.name if is_registered else _BUFFER_TYPES.get(dtype.newbyteorder("=")) if dtype.kind in "fiubc" else None
    if name is None:
        raise from_status("TypeMismatch", f"{label} has elements of numpy's type '{dtype}', expected are numbers", "convert the array to numbers")
    if not dtype.isnative or not array.flags.c_contiguous:
        array = np.array(array, dtype=dtype.newbyteorder("="), order="C", copy=True)
    bits = _PACKED_BITS.get(name)
    if bits is not None:
        return Tensor.from_buffer(_pack(array, bits), name, array.shape)
    if is_registered:
        return Tensor.from_buffer(array.reshape(-1).view(np.uint8), name, array.shape)
    return Tensor.from_buffer(array, name, array.shape)


def _from_producer(value: Any, label: str, is_writable: bool) -> Tensor:
    ask = getattr(value, "__dlpack_device__", None)
    if ask is not None:
        try:
            kind, index = map(int, ask())
        except Exception as failure:
            raise invalid_argument(f"{label} of type '{type(value).__name__}' does not say on which of DLPack's devices it lies: "
                                   f"{type(failure).__name__}: {failure}", "give a numpy array") from failure
        if kind not in (1, 3):  # kDLCPU, kDLCUDAHost
            raise from_status("DeviceUnavailable", f"{label} lies on DLPack's device {(kind, index)}, expected is memory of the CPU",
                              "copy it to the CPU first")
    return Tensor.from_dlpack(value, is_writable)


def _holds_masked(value: Any) -> bool:
    """Of what numpy made an array of, hence not nested without end."""
    return any(isinstance(one, np.ma.MaskedArray) or _holds_masked(one) for one in value) if isinstance(value, (list, tuple)) else False


def to_tensor(value: Any, label: str) -> Tensor:
    """A tensor over the memory of a Tensor, numpy array, DLPack producer or buffer; over a copy where the layout differs, or of a sequence."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        _check_not_masked(value, label)
        return _from_numpy(np.asarray(value), label)
    if isinstance(value, Mapping):
        raise invalid_argument(f"{label} is a dict, expected is one tensor", "unpack the dict: set_input(**values)")
    if hasattr(value, "__dlpack__"):
        return _from_producer(value, label, False)
    try:
        array = np.asanyarray(value)
    except MemoryError:
        raise
    except Exception as failure:  # whatever the object's own conversion raises
        raise from_status("InvalidInput", f"{label} of type '{type(value).__name__}' is no tensor: {failure}", "give a numpy array") from failure
    _check_not_masked(array, label, _holds_masked(value))
    return _from_numpy(np.asarray(array), label)


def to_bound_tensor(value: Any, label: str, is_writable: bool) -> Tensor:
    """A tensor over the very memory of `value`: nothing is converted."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        _check_not_masked(value, label)
        if not value.dtype.isnative or not value.flags.c_contiguous or value.dtype.name in _PACKED_BITS:
            raise invalid_argument(f"{label} is not a compact array in native byte order, which memory without a copy must be",
                                   "set the input, which copies it")
        if is_writable and not value.flags.writeable:
            raise invalid_argument(f"{label} is a read-only array", "give a writable array")
        return _from_numpy(value, label)
    if hasattr(value, "__dlpack__"):
        return _from_producer(value, label, is_writable)
    raise invalid_argument(f"{label} is of type '{type(value).__name__}', expected is a tensor with memory of its own", "give a numpy array")


def to_tensor_dict(tensors: Any, label: str = "parameter") -> Dict[str, Tensor]:
    """Names and tensors of a mapping; InvalidArgument for what is none, or has keys that are no names."""
    if not isinstance(tensors, Mapping):
        raise invalid_argument(f"parameters of type '{type(tensors).__name__}' were given, expected is a dict of names and tensors")
    named = [(text(name, f"a {label}'s name"), value) for name, value in tensors.items()]
    return {name: to_tensor(value, f"{label} '{name}'") for name, value in named}


