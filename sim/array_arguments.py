"""Converts the arrays that users pass as arguments: lists, numpy arrays with or without masks, arrays of other
libraries.

Every error names the argument, the rule and what the user can do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidType, InvalidValue, TwixtError

Values = NDArray[Any]


def array_refusal(array: Values, kinds: str) -> type[InvalidValue] | type[InvalidType]:
    """The class of the error for a refused array. kinds: numpy's letters of the dtypes that are accepted. For an array of
    another dtype the error is an InvalidType, otherwise the shape or the values are wrong."""
    return InvalidValue if array.dtype.kind in kinds else InvalidType


def array_of(field: str, value: ArrayLike) -> Values:
    """`value` as an array in main memory, with NaN for masked entries. Raises TwixtError for a value that cannot be
    converted, such as an array on a GPU."""
    # The fast path. This function is called several times per publish, usually with such an array.
    if type(value) is np.ndarray:
        return value
    try:
        return np.asarray(without_mask(field, _host_array(value)))
    except TwixtError:
        raise
    except Exception as error:  # The conversion of another library's array may raise any exception.
        if isinstance(value, list | tuple):
            raise InvalidValue(f"{field} must be lists of numbers, each as long as the others ({error})") from error
        raise InvalidType(
            f"{field} must be a numpy array or lists of numbers, got {type(value).__name__} ({error}); "
            "copy it to a numpy array in main memory first"
        ) from error


def without_mask(field: str, value: Any) -> Any:
    """Replaces the masked entries of a float array by NaN. Returns other values unchanged. Raises TwixtError for
    masked entries of other types, because these types have no NaN."""
    array: Any = value if isinstance(value, np.ndarray) and type(value) is not np.ndarray else None
    # The code does not test for the class `numpy.ma.MaskedArray`: to import it would take 10 ms and open files during
    # a loop.
    if not hasattr(array, "filled"):
        return value
    masked = int(np.count_nonzero(array.mask))
    if masked and array.dtype.kind != "f":
        raise InvalidValue(
            f"{field} must have a value in each entry, got {masked} masked entries of {array.dtype}; fill them, "
            "array.filled(value), or leave these bodies out"
        )
    return array.filled(np.nan) if masked else array.data


def _host_array(value: Any) -> ArrayLike:
    """Converts an object that supports only DLPack to a numpy array. Returns other objects unchanged."""
    if isinstance(value, np.ndarray) or hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        return value
    return np.from_dlpack(value)


def kind_of(array: Values) -> str:
    """Type and shape of an array, for error texts."""
    return f"{array.dtype} of shape {array.shape}"
