from typing import Any, TypeAlias, TypeVar

Item = TypeVar("Item")
ArrayLike: TypeAlias = Any
DTypeLike: TypeAlias = Any
NDArray: TypeAlias = Any | Item
