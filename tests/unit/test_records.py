# SPDX-License-Identifier: MIT
"""Dataclasses whose methods are compiled late are dataclasses in all else."""

from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import inspect
import pickle
import sys
import typing
from pathlib import Path
from typing import Any, ClassVar

import pytest

import zarrcore
from zarrcore import _records
from zarrcore._records import dataclass
from zarrcore._typed import Annotated, NamedTuple, TypedDict

PACKAGE = Path(zarrcore.__file__).parent


def classes_of_the_package() -> list[type]:
    """All classes that the decorator has made."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "import dataclass" not in text and ", dataclass" not in text:
            continue
        name = "zarrcore." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        decorated = [
            node.name
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.ClassDef)
            and any("dataclass" in ast.unparse(item) for item in node.decorator_list)
        ]
        if decorated:
            try:
                module = importlib.import_module(name)
            except ModuleNotFoundError:  # of a package that is not here
                continue
            found += [cls for name in decorated if "__slots__" not in vars(cls := getattr(module, name))]
    return found


CLASSES = classes_of_the_package()


MADE = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__"}


def is_own(cls: Any, name: str) -> bool:
    """Whether the body of a class has something, which neither the decorator nor Python has added."""
    code = getattr(vars(cls)[name], "__code__", None)
    if name in MADE:
        return code is not None and code.co_filename == sys.modules[cls.__module__].__file__
    return not name.startswith(
        ("__dataclass_", "__match_args__", "__dict__", "__weakref__", "__firstlineno__")
    )


def plain(cls: Any) -> Any:
    """The same class by the decorator of the standard library."""
    params = cls.__dataclass_params__
    options = {name: getattr(params, name) for name in ("frozen", "eq", "repr")}
    namespace = {name: vars(cls)[name] for name in vars(cls) if is_own(cls, name)}
    options_of_a_field = ("default", "default_factory", "kw_only", "init", "repr", "compare", "metadata")
    for field in dataclasses.fields(cls):
        if field.name in cls.__annotations__:
            keywords = {name: getattr(field, name) for name in options_of_a_field}
            namespace[field.name] = dataclasses.field(**keywords)
    return dataclasses.dataclass(**options)(type(cls)(cls.__name__, cls.__bases__, namespace))


def test_the_package_has_many() -> None:
    assert len(CLASSES) > 70


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_a_class_is_what_the_standard_library_makes(cls: Any) -> None:
    other = plain(cls)
    assert [(field.name, field.type) for field in dataclasses.fields(cls)] == [
        (field.name, field.type) for field in dataclasses.fields(other)
    ]
    assert str(inspect.signature(cls.__init__)) == str(inspect.signature(other.__init__))
    assert cls.__match_args__ == other.__match_args__
    for name in ("__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__", "__replace__"):
        assert (name in vars(cls)) == (name in vars(other)), name
        assert (vars(cls).get(name, "") is None) == (vars(other).get(name, "") is None), name
    assert inspect.isabstract(cls) == inspect.isabstract(other)


@dataclass(frozen=True)
class Point:
    """With a default, one that is made, a class variable, and one that is not compared."""

    dimensions: ClassVar[int] = 2

    x: int
    y: int = 0
    names: list[str] = dataclasses.field(default_factory=list, compare=False)


@dataclass(frozen=True, kw_only=True)
class Marked(Point):
    """Derived, with an argument by name only."""

    mark: str = dataclasses.field(default="?", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mark", self.mark.upper())


@dataclass
class Counter:
    """May change."""

    count: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Bare:
    """Compared by identity."""

    value: int


def test_repr_equality_and_hash() -> None:
    assert repr(Point(1, names=["a"])) == "Point(x=1, y=0, names=['a'])"
    assert repr(Marked(1, mark="b")) == "Marked(x=1, y=0, names=[])"
    assert Point(1) == Point(1, 0, ["b"]) and Point(1) != Point(2)
    assert hash(Point(1)) == hash((1, 0)) == hash(Point(1, 0, ["b"]))
    assert Point(1) != Marked(1) and Point(1).__eq__(1) is NotImplemented
    assert Bare(1) != Bare(1) and repr(Bare(1)).startswith("<")
    assert Counter() == Counter(0)
    with pytest.raises(TypeError, match="unhashable type: 'Counter'"):
        hash(Counter())


def test_a_repr_that_contains_itself() -> None:
    point = Point(1)
    point.names.append(point)  # type: ignore[arg-type]
    assert repr(point) == "Point(x=1, y=0, names=[...])"


def test_defaults_are_made_for_each() -> None:
    assert Point(1).names == [] and Point(1).names is not Point(1).names
    assert (
        not hasattr(Point, "names")
        and Point.y == 0
        and Marked(0).mark == "?"
        and Marked(0, mark="a").mark == "A"
    )


@dataclass(frozen=True)
class Slim:
    """Without a dictionary."""

    __slots__ = ("start", "stop")

    start: int
    stop: int


def test_a_class_with_slots() -> None:
    slim, other = Slim(1, 2), dataclasses.dataclass(frozen=True, slots=True)(_plain_slim())
    assert not hasattr(slim, "__dict__") and repr(slim) == "Slim(start=1, stop=2)"
    assert slim == Slim(1, stop=2) != Slim(1, 3) and hash(slim) == hash((1, 2))
    assert pickle.loads(pickle.dumps(slim)) == copy.copy(slim) == dataclasses.replace(slim) == slim
    assert slim.__reduce_ex__(2)[2] == other(1, 2).__reduce_ex__(2)[2] == [1, 2]  # the same in pickles
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'start'"):
        slim.start = 3  # type: ignore[misc]


def _plain_slim() -> type:
    return type("Slim", (), {"__annotations__": {"start": "int", "stop": "int"}, "__module__": __name__})


def test_fields_are_found_when_they_are_first_asked_for() -> None:
    @dataclass(frozen=True)
    class Late:
        names: list[str] = dataclasses.field(default_factory=list)
        number: int = dataclasses.field(default=2, repr=False)

    @dataclass(frozen=True)
    class Later(Late):
        last: str = ""

    assert not isinstance(vars(Late)["__dataclass_fields__"], dict)
    assert not hasattr(Late, "names") and Late.number == 2  # no descriptions of fields
    assert Later([], last="a").last == "a" and Later.__match_args__ == ("names", "number", "last")
    assert list(vars(Late)["__dataclass_fields__"]) == ["names", "number"]
    assert Late.__dataclass_params__.frozen and Late.__dataclass_params__.init  # type: ignore[attr-defined]


def test_arguments_are_refused_as_those_of_any_function() -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Point.__init__\(\) got an unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Marked.__init__\(\) takes from 2 to 4 positional arguments but 5"):
        Marked(1, 2, [], "a")  # type: ignore[misc]


def test_a_frozen_one_stays() -> None:
    point = Marked(1)
    for name in ("x", "mark", "new"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(point, name, 1)
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(point, name)
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)

    class Open(Point):
        pass

    free: Any = Open(1)
    free.new = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        free.x = 2


def test_functions_of_the_standard_library() -> None:
    point = Marked(1, mark="b")
    assert dataclasses.is_dataclass(Marked)
    assert [field.name for field in dataclasses.fields(Marked)] == ["x", "y", "names", "mark"]
    assert dataclasses.asdict(point) == {"x": 1, "y": 0, "names": [], "mark": "B"}
    assert dataclasses.replace(point, x=5) == Marked(5, mark="b")
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == copy.copy(point) == point
    match point:
        case Marked(x, y):
            assert (x, y) == (1, 0)
    if sys.version_info >= (3, 13):
        assert copy.replace(point, x=5) == Marked(5, mark="b")


def test_classes_that_users_derive_are_dataclasses() -> None:
    @dataclasses.dataclass(frozen=True)
    class Derived(Point):
        z: int = 3

    assert repr(Derived(1, 2)).endswith("Derived(x=1, y=2, names=[], z=3)")
    assert Derived(1) == Derived(1, z=3) != Derived(1, z=4) and hash(Derived(1)) == hash((1, 0, 3))
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclasses.dataclass(type("Thawed", (Point,), {"__annotations__": {}}))


def test_methods_that_a_class_has_stay() -> None:
    @dataclass(frozen=True)
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    assert Own(1) == Own(2) and repr(Own(1)) == "own" and hash(Own(3)) == hash((3,))


def test_signatures_are_known_before_the_first_call() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Fresh:
        value: int
        names: list[str] = dataclasses.field(default_factory=list)

    assert str(inspect.signature(Fresh)) == "(*, value: 'int', names: 'list[str]' = <factory>) -> None"
    assert Fresh.__init__ is Fresh.__init__ and Fresh.__init__.__qualname__.endswith("Fresh.__init__")


class Range(NamedTuple):
    """A tuple with names."""

    start: int
    stop: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has no end."""
        return self.stop is None


def test_tuples_with_names() -> None:
    assert issubclass(Range, tuple) and Range._fields == Range.__match_args__ == ("start", "stop")
    assert Range._field_defaults == {"stop": None}
    assert Range._make([1, 2])._asdict() == {"start": 1, "stop": 2}
    assert Range(1) == (1, None) and Range(1).is_open and not Range(1, 2).is_open
    assert repr(Range(1, 2)) == "Range(start=1, stop=2)" and Range(1, 2)._replace(stop=3) == (1, 3)
    assert (Range.__doc__, Range.__module__, Range.__qualname__) == ("A tuple with names.", __name__, "Range")
    assert pickle.loads(pickle.dumps(Range(1, 2))) == Range(1, 2)
    assert typing.get_type_hints(Range) == {"start": int, "stop": int | None}
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'start'"):
        Range()  # type: ignore[call-arg]


def test_dictionaries_know_the_annotations_of_their_bases() -> None:
    class Colour(TypedDict, total=False):
        red: Annotated[int, 0]

    class Shade(Colour, total=False):
        alpha: Annotated[float, 1]

    assert list(Shade.__annotations__) == ["red", "alpha"] and list(Colour.__annotations__) == ["red"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_interrupts_the_compiling_of_a_method_is_not_lost(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True)
    class Point:
        x: int

    def fails(cls: type) -> Any:
        raise error

    one, same = Point(1), Point(1)
    with monkeypatch.context() as patch:
        for name in ("__eq__", "__hash__"):
            patch.setitem(_records._TEXTS, name, fails)
        with pytest.raises(error):
            _ = one == same
        with pytest.raises(error):
            _ = {one: 1}
    assert one == same and {one: 1}[same] == 1
