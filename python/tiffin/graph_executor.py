# SPDX-License-Identifier: Apache-2.0
"""Runs one function of a module: inputs, parameters, run, outputs, profile."""
import os
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Dict, FrozenSet, List, Mapping, Tuple, Union

from tiffin import _runtime
from tiffin.arguments import MOST, content, flag, integer, number, path, shown, text
from tiffin.arrays import Tensor, to_bound_tensor, to_tensor, to_tensor_dict
from tiffin.errors import UnknownNameError, from_status, invalid_argument, not_portable

Info = Tuple[Dict[str, Tuple[int, ...]], Dict[str, str]]


@dataclass(frozen=True)
class StepTime:
    """Time in one kernel call of the network: `label` names the graph nodes it computes, `share` is its part of all steps."""

    label: str
    kernel: str
    microseconds: float
    share: float


class Profile(List[StepTime]):
    """One StepTime per step in the order of execution, times averaged over `runs`; printed as a table, longest first."""

    def __init__(self, steps: List[StepTime], runs: int):
        super().__init__(steps)
        self.runs = runs
        self.microseconds = sum(step.microseconds for step in steps)

    def __str__(self) -> str:
        rows = [f"{step.microseconds:12.2f} us {100 * step.share:6.2f} %  {step.kernel}  {step.label}"
                for step in sorted(self, key=lambda step: -step.microseconds)]
        return "\n".join(rows + [f"{self.microseconds:12.2f} us 100.00 %  all {len(self)} steps, {self.runs} runs"])


class GraphExecutor:
    """For one thread at a time: make one for each thread. Called with an executor, as GraphModule is, it gives that executor.

    Made by `module["default"](tiffin.cpu(0))`. Weights are the module's until set_input(**params) or load_params give this executor its own.
    """

    _native: _runtime.Executor
    _parameter_names: FrozenSet[str]
    _inputs: List[Tuple[str, str, Tuple[int, ...]]]
    _outputs: List[Tuple[str, str, Tuple[int, ...]]]
    _index: Dict[str, int]

    def __new__(cls, executor: "GraphExecutor") -> "GraphExecutor":
        if not isinstance(executor, GraphExecutor):
            raise invalid_argument(f"an executor is made from what module['default'](device) gives, not from '{type(executor).__name__}'",
                                   "write tiffin.GraphModule(module['default'](tiffin.cpu(0)))")
        return executor

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise not_portable("an executor", "make one from the module in the other process")

    @classmethod
    def _create(cls, native: _runtime.Executor, parameter_names: FrozenSet[str]) -> "GraphExecutor":
        self = object.__new__(cls)
        self._native = native
        self._parameter_names = parameter_names
        self._inputs = native.input_specs()
        self._outputs = native.output_specs()
        self._index = {name: index for index, (name, _, _) in enumerate(self._inputs)}
        return self

    def set_input(self, key: Union[str, int, None] = None, value: Any = None, /, **values: Any) -> None:
        """Sets an input by name or index, or inputs and parameters by keyword. Values are copied.

        Parameters form this executor's private set: all are checked in one go, a subset starts from the set in use. Nothing takes effect when
        anything is wrong. UnknownInput, TypeMismatch, ShapeMismatch; MissingParam, UnknownParam, ParamTypeMismatch, ParamShapeMismatch,
        ParamDigestMismatch.
        """
        if key is None:
            if value is not None:
                raise invalid_argument("a value was given without the name or index of its input")
            self._set(values)
            return
        if isinstance(key, Mapping):
            raise invalid_argument("set_input was called with a dict as one argument, expected are a name and a value, or keywords",
                                   "unpack the dict: set_input(**values)")
        if value is None:
            raise invalid_argument(f"set_input was called with {shown(key)} and no value")
        if isinstance(key, str):
            self._check_once(key, values)
            self._set({key: value, **values})
        else:
            index = self._checked_index(key, "input", self._inputs)
            self._check_once(self._inputs[index][0], values)
            self._set(values, [(index, to_tensor(value, f"input '{self._inputs[index][0]}'"))])

    def _set(self, values: Mapping[str, Any], inputs: Any = ()) -> None:
        inputs, params = list(inputs), {}
        unknown = [text(name, "an input's name") for name in values if name not in self._index and name not in self._parameter_names]
        has_params = any(name in self._parameter_names and name not in self._index for name in values)
        # Several strange names and no input among them are another model's parameters; else somebody mistyped an input.
        if unknown and not (has_params or (len(unknown) > 1 and len(unknown) == len(values) and self._parameter_names)):
            self._refuse(unknown[0], values)
        for name, value in values.items():
            if name in self._index:
                inputs.append((self._index[name], to_tensor(value, f"input '{name}'")))
            else:
                params[name] = to_tensor(value, f"parameter '{name}'")
        try:
            self._native.set(inputs, params, False)
        except UnknownNameError as failure:
            nearest = self._nearest(unknown[0], values) if len(unknown) == 1 else ""
            if not nearest:
                raise
            raise from_status(failure.code, failure.message, f"did you mean '{nearest}'?", {**failure.details, "nearest": nearest}) from None

    def _nearest(self, name: str, given: Mapping[str, Any]) -> str:
        """The input or parameter that was meant by a name that is neither, "" where none resembles it."""
        known = sorted((set(self._index) | self._parameter_names) - set(given))
        return (get_close_matches(name, known, 1) or [""])[0]

    def _refuse(self, name: str, given: Mapping[str, Any]) -> None:
        nearest = self._nearest(name, given)
        if nearest and nearest not in self._index:
            raise from_status("UnknownParam", f"the model has no input and no parameter '{name}'", f"did you mean '{nearest}'?",
                              {"unexpected": [name], "nearest": nearest})
        self._native.find_input(name)

    @staticmethod
    def _check_once(name: str, values: Mapping[str, Any]) -> None:
        if name in values:
            raise invalid_argument(f"input '{name}' is given twice", "give it by position or by keyword")

    @staticmethod
    def _checked_index(index: Any, role: str, specs: List[Any]) -> int:
        found = integer(index)
        if found is None:
            raise invalid_argument(f"an {role} was named by a '{type(index).__name__}', expected is its name or index")
        if not 0 <= found < len(specs):
            raise invalid_argument(f"there is no {role} {shown(index)}, their count is {len(specs)}")
        return found

    def _input_index(self, key: Union[str, int]) -> int:
        if isinstance(key, str):
            return self._native.find_input(text(key, "an input's name"))
        return self._checked_index(key, "input", self._inputs)

    def _output_index(self, key: Union[str, int]) -> int:
        if isinstance(key, str):
            return self._native.find_output(text(key, "an output's name"))
        return self._checked_index(key, "output", self._outputs)

    def bind_input(self, key: Union[str, int], value: Any, /) -> None:
        """Uses the memory of an array without a copy from the next run on; it must be compact and aligned to 64 bytes."""
        index = self._input_index(key)
        self._native.bind_input(index, to_bound_tensor(value, f"input '{self._inputs[index][0]}'", False))

    def bind_output(self, key: Union[str, int], value: Any, /) -> None:
        """Lets runs write an output into the memory of a writable array, which must be compact and aligned to 64 bytes."""
        index = self._output_index(key)
        self._native.bind_output(index, to_bound_tensor(value, f"output '{self._outputs[index][0]}'", True))

    def load_params(self, params: Any, new_weights: bool = False) -> None:
        """All parameters, or of a dict a subset, for this executor: a path, the bytes of a parameter file (.params, .safetensors, .tfw), or a dict.

        `new_weights`: values that differ from those the model was compiled with are wanted.
        """
        are_new = flag(new_weights, "new_weights")
        if isinstance(params, (str, os.PathLike)):
            self._native.load_params_file(path(params, "the parameter file's name"), are_new)
        elif isinstance(params, (bytes, bytearray, memoryview)):
            self._native.load_params_memory(content(params, "a parameter file"), are_new)
        else:
            self._native.set([], to_tensor_dict(params), are_new)

    def get_params(self) -> Dict[str, Tensor]:
        """The model's own tensors as this executor uses them."""
        return self._native.get_params()

    @staticmethod
    def _check_keywords(call: str, values: Tuple[Any, ...]) -> None:
        if values:
            given = "a dict" if isinstance(values[0], Mapping) else f"a '{type(values[0]).__name__}'"
            raise invalid_argument(f"{call} was called with {given} as one argument, expected are inputs by keyword: {call}(NAME=value)",
                                   f"unpack a dict: {call}(**values)")

    def run(self, /, *values: Any, **inputs: Any) -> None:
        """Sets the inputs given by keyword, as set_input does, and computes all outputs. Other Python threads go on meanwhile.

        MissingParam, UnsetInput.
        """
        self._check_keywords("run", values)
        if inputs:
            self._set(inputs)
        self._native.run()

    def get_output(self, key: Union[str, int] = 0, /) -> Tensor:
        """An output by index or name: a view of the executor's memory, which the next run overwrites. `.numpy()` copies it."""
        return self._native.get_output(self._output_index(key))

    def get_num_inputs(self) -> int:
        """Inputs of the model; parameters do not count."""
        return len(self._inputs)

    def get_num_outputs(self) -> int:
        return len(self._outputs)

    def get_input_info(self) -> Info:
        """Shapes and element types of the inputs by name: ({"data": (1, 8)}, {"data": "float32"})."""
        return {name: shape for name, _, shape in self._inputs}, {name: dtype for name, dtype, _ in self._inputs}

    def get_output_info(self) -> Info:
        """The same of the outputs."""
        return {name: shape for name, _, shape in self._outputs}, {name: dtype for name, dtype, _ in self._outputs}

    def profile(self, runs: int = 10, /, *values: Any, **inputs: Any) -> Profile:
        """Runs once to warm up and then `runs` times, measuring every step. Inputs are given by keyword."""
        self._check_keywords("profile", (runs,) if isinstance(runs, Mapping) else values)
        count = number(runs, "the count of profiled runs", 1, MOST)
        self.run(**inputs)
        self._native.set_profiling(True)
        try:
            for _ in range(count):
                self._native.run()
            steps = self._native.profile_steps()
        finally:
            self._native.set_profiling(False)
        total = sum(ns for _, _, ns in steps) or 1
        return Profile([StepTime(label, kernel, ns / count / 1000, ns / total) for label, kernel, ns in steps], count)

    @property
    def report(self) -> Dict[str, Any]:
        """What loading and binding did: variant, fallbacks, mapped_bytes, copied_bytes, repacked_bytes, phases_ms."""
        return self._native.report()

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {dtype}{list(shape)}" for name, dtype, shape in self._inputs)
        return f"<tiffin.GraphExecutor({inputs})>"


