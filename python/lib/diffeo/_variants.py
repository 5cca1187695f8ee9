"""Classes for the constructors of variant types: for ``match``, and to build values."""


class _Constructor(type):
    """A constructor without fields is equal to its value, so that both can be compared with."""

    def __eq__(cls, other):
        return cls is other or (isinstance(other, Variant) and other == cls)

    def __hash__(cls):
        return hash((cls._diffeo_constructor, ()))


class Variant(metaclass=_Constructor):
    """A constructor with its fields ``_0``, ``_1``, … Its ``name`` is that of the constructor."""

    __slots__ = ("_fields",)
    __match_args__ = ()
    _diffeo_constructor = None

    def __init__(self, *fields):
        count = len(self.__match_args__)
        if len(fields) != count:
            raise TypeError(f"{self._diffeo_constructor} takes {count} fields, {len(fields)} were given")
        self._fields = fields

    @property
    def name(self):
        """The name of the constructor."""
        return self._diffeo_constructor

    def __repr__(self):
        fields = ", ".join(map(repr, self._fields))
        return f"{self._diffeo_constructor}({fields})" if self._fields else self._diffeo_constructor

    def __eq__(self, other):
        if isinstance(other, _Constructor):
            return not self._fields and not other.__match_args__ and self._diffeo_constructor == other._diffeo_constructor
        return (
            isinstance(other, Variant)
            and self._diffeo_constructor == other._diffeo_constructor
            and len(self._fields) == len(other._fields)
            and all(_same(a, b) for a, b in zip(self._fields, other._fields))
        )

    def __hash__(self):
        return hash((self._diffeo_constructor, self._fields))

    def __iter__(self):
        return iter(self._fields)

    def __getitem__(self, index):
        return self._fields[index]

    def __len__(self):
        return len(self._fields)

    def __reduce__(self):
        return (_again, (self._diffeo_constructor, self._fields))


def _same(a, b):
    same = a == b
    return same if isinstance(same, bool) else bool(getattr(same, "all", lambda: same)())


def constructor(name, count):
    """The class of a constructor with so many fields."""
    names = tuple(f"_{i}" for i in range(count))
    fields = {field: property(lambda self, i=i: self._fields[i]) for i, field in enumerate(names)}
    return type(name, (Variant,), {"__slots__": (), "__match_args__": names, "_diffeo_constructor": name, **fields})


def unknown(name, fields):
    """A value of a constructor that the program itself does not declare."""
    return constructor(name, len(fields))(*fields)


def _again(name, fields):
    return unknown(name, fields)


class Type:
    """A variant type: its constructors are attributes."""

    def __init__(self, name, constructors):
        self.__name__ = name
        self._constructors = constructors
        for key, value in constructors.items():
            setattr(self, key, value)

    def __repr__(self):
        return f"<diffeo type {self.__name__} = {' | '.join(self._constructors)}>"


class Types:
    """The variant types of a program, as attributes."""

    def __init__(self, variants):
        self._classes = {}
        for name, constructors in variants:
            classes = {key: constructor(key, count) for key, count in constructors}
            # Own types come first, before imported ones of the same name.
            for key, value in classes.items():
                self._classes.setdefault(key, value)
            if not hasattr(self, name):
                setattr(self, name, Type(name, classes))

    def __repr__(self):
        names = [name for name in vars(self) if not name.startswith("_")]
        return f"<diffeo types {', '.join(names)}>"
