"""What functions under a tool read: classes, objects, modules, odd ways to get there."""

from .sources import Source


CLASSES = {
    "an attribute of a class": Source("class C<n>:\n    k = <v>", "C<n>.k", (
        "C<n>.k = <v>", "C<n>.k = <any>", "class C<n>:\n    k = <v>",
        'setattr(C<n>, "k", <v>)', "C<n>.k += 1", "del C<n>.k\nC<n>.k = <v>",
    )),
    "an inherited attribute": Source(
        "class B<n>:\n    k = <v>\nclass C<n>(B<n>):\n    pass", "C<n>.k", (
        "B<n>.k = <v>", "C<n>.k = <v>", "if 'k' in vars(C<n>):\n    del C<n>.k",
        "C<n>.__bases__ = (type('D', (), {'k': <v>}),)",
    )),
    "a list of a class": Source("class C<n>:\n    k = [<v>, <v>]", "sum(C<n>.k)", (
        "C<n>.k[0] = <v>", "C<n>.k.append(<v>)", "C<n>.k = [<v>]", "C<n>.k = (<v>,)",
    )),
    "a dict of a class": Source("class C<n>:\n    k = {'a': <v>}", "C<n>.k['a']", (
        "C<n>.k['a'] = <v>", "C<n>.k = {'a': <v>}", "C<n>.k['b'] = <v>",
    )),
    "an array of a class": Source("class C<n>:\n    k = np.ones(2)", "C<n>.k.sum()", (
        "C<n>.k[0] = <v>", "C<n>.k = np.full(2, <v>)", "C<n>.k = np.ones(3)",
    )),
    "a static method": Source(
        "A<n> = <v>\nclass C<n>:\n    @staticmethod\n    def f():\n        return A<n>",
        "C<n>.f()", (
        "A<n> = <v>", "C<n>.f = staticmethod(lambda: <v>)",
        "class C<n>:\n    @staticmethod\n    def f():\n        return <v>",
        "C<n>.f.__code__ = (lambda: <v>).__code__",
    )),
    "a class method": Source(
        "class C<n>:\n    k = <v>\n    @classmethod\n    def f(cls):\n"
        "        return cls.k", "C<n>.f()", (
        "C<n>.k = <v>", "C<n>.f = classmethod(lambda cls: 2 * cls.k)", "C<n>.k = <any>",
    )),
    "a class method of a subclass": Source(
        "class B<n>:\n    k = <v>\n    @classmethod\n    def f(cls):\n"
        "        return cls.k\nclass C<n>(B<n>):\n    pass", "C<n>.f()", (
        "B<n>.k = <v>", "C<n>.k = <v>", "if 'k' in vars(C<n>):\n    del C<n>.k",
        "B<n>.f = classmethod(lambda cls: 2 * cls.k)",
    )),
    "super": Source(
        "class B<n>:\n    k = <v>\n    def f(self):\n        return self.k\n"
        "class C<n>(B<n>):\n    def f(self):\n        return 2 * super().f()\n"
        "c<n> = C<n>()", "c<n>.f()", (
        "B<n>.k = <v>", "c<n>.k = <v>", "B<n>.f = lambda self: <v>", "C<n>.k = <i>",
    )),
    "a property of a metaclass": Source(
        "class M<n>(type):\n    @property\n    def k(cls):\n        return cls.hidden\n"
        "class C<n>(metaclass=M<n>):\n    hidden = <v>", "C<n>.k", (
        "C<n>.hidden = <v>", "M<n>.k = property(lambda cls: 2 * cls.hidden)",
        "M<n>.k = <v>",
    )),
    "an attribute of a metaclass": Source(
        "class M<n>(type):\n    k = <v>\nclass C<n>(metaclass=M<n>):\n    pass", "C<n>.k",
        ("M<n>.k = <v>", "C<n>.k = <v>", "if 'k' in vars(C<n>):\n    del C<n>.k"),
    ),
    "an instance made inside": Source(
        "A<n> = <v>\nclass C<n>:\n    j = <v>\n    def __init__(self):\n"
        "        self.k = A<n> + self.j", "C<n>().k", (
        "A<n> = <v>", "C<n>.j = <v>",
        "def init(self):\n    self.k = <v>\nC<n>.__init__ = init",
        "class C<n>:\n    k = <v>",
    )),
    "a dataclass made inside": Source(
        "@dataclasses.dataclass\nclass C<n>:\n    k: float = <v>\n"
        "    j: list = dataclasses.field(default_factory=lambda: [A<n>])\nA<n> = <v>",
        "(C<n>().k + C<n>().j[0])", (
        "A<n> = <v>", "C<n>.__init__.__defaults__ = (<v>,)", "C<n>.k = <v>",
        "@dataclasses.dataclass\nclass C<n>:\n    k: float = <v>\n    j: tuple = (<v>,)",
    )),
    "a class method of a singleton": Source(
        "class C<n>:\n    one = None\n    start = <v>\n    @classmethod\n"
        "    def get(cls):\n        if cls.one is None:\n            cls.one = cls()\n"
        "            cls.one.k = cls.start\n        return cls.one\nC<n>.get()",
        "C<n>.get().k", (
        "C<n>.get().k = <v>", "C<n>.start = <v>", "C<n>.one.k = <any>",
        "C<n>.one = None\nC<n>.get()", "C<n>.start = <v>\nC<n>.one = None\nC<n>.get()",
    )),
    "an enum": Source(
        "class E<n>(enum.Enum):\n    A = <v>\n    B = <i>\ne<n> = E<n>.A", "e<n>.value", (
        "e<n> = E<n>.B", "e<n> = E<n>.A",
        "class E<n>(enum.Enum):\n    A = <v>\n    B = <i>\ne<n> = E<n>.A",
    )),
    "an enum as a key": Source(
        "class E<n>(enum.Enum):\n    A = 1\n    B = 2\nD<n> = {E<n>.A: <v>, E<n>.B: <v>}",
        "D<n>[E<n>.A]", ("D<n>[E<n>.A] = <v>", "D<n>[E<n>.B] = <v>"),
    ),
    "the class of an object": Source(
        "class B<n>: pass\nclass C<n>(B<n>): pass\nc<n> = C<n>()",
        "(1.5 if isinstance(c<n>, C<n>) else 2.5)", (
        "c<n> = B<n>()", "c<n> = C<n>()", "c<n>.__class__ = <B|C><n>", "c<n> = 1",
        "class C<n>(B<n>): pass",
    )),
}  # fmt: skip

OBJECTS = {
    "an attribute of an object": Source(
        "class C<n>: pass\nc<n> = C<n>()\nc<n>.k = <v>", "c<n>.k", (
        "c<n>.k = <v>", "c<n>.k = <any>", "c<n>.__dict__['k'] = <v>",
        "c<n> = C<n>()\nc<n>.k = <v>", "del c<n>.k\nc<n>.k = <v>", "c<n>.j = <v>",
        "vars(c<n>).update(k=<v>)",
    )),
    "a namespace": Source("c<n> = types.SimpleNamespace(k=<v>)", "c<n>.k", (
        "c<n>.k = <v>", "c<n> = types.SimpleNamespace(k=<any>, j=1)", "c<n>.j = 1",
    )),
    "a dataclass": Source(
        "@dataclasses.dataclass\nclass C<n>:\n    k: float = <v>\nc<n> = C<n>()",
        "c<n>.k", (
        "c<n>.k = <v>", "c<n> = dataclasses.replace(c<n>, k=<v>)", "c<n>.k = <any>",
        "c<n> = C<n>()",
    )),
    "a frozen dataclass": Source(
        "@dataclasses.dataclass(frozen=True)\nclass C<n>:\n    k: float = <v>\n"
        "c<n> = C<n>()", "c<n>.k", (
        "c<n> = C<n>(<v>)", "object.__setattr__(c<n>, 'k', <v>)", "c<n> = C<n>(<any>)",
    )),
    "slots": Source(
        "class C<n>:\n    __slots__ = ('k',)\nc<n> = C<n>()\nc<n>.k = <v>", "c<n>.k", (
        "c<n>.k = <v>", "c<n>.k = <any>", "c<n> = C<n>()\nc<n>.k = <v>",
    )),
    "an object in an object": Source(
        "class C<n>: pass\nc<n> = C<n>()\nc<n>.a = C<n>()\nc<n>.a.k = <v>", "c<n>.a.k", (
        "c<n>.a.k = <v>", "b<n> = C<n>()\nb<n>.k = <v>\nc<n>.a = b<n>",
        "c<n>.a.k = <any>", "c<n>.a.a = c<n>",
    )),
    "a shadowed attribute": Source(
        "class C<n>:\n    k = <v>\nc<n> = C<n>()", "c<n>.k", (
        "C<n>.k = <v>", "c<n>.k = <v>", "vars(c<n>).pop('k', None)",
    )),
    "a method of an object": Source(
        "class C<n>:\n    def __init__(self):\n        self.k = <v>\n"
        "    def f(self):\n        return self.k\nc<n> = C<n>()", "c<n>.f()", (
        "c<n>.k = <v>", "C<n>.f = lambda self: 2 * self.k", "c<n>.f = lambda: <v>",
        "vars(c<n>).pop('f', None)", "C<n>.f.__code__ = (lambda self: <v>).__code__",
        "c<n> = C<n>()",
    )),
    "a method that reads a global": Source(
        "A<n> = <v>\nclass C<n>:\n    def f(self):\n        return A<n>\nc<n> = C<n>()",
        "c<n>.f()", (
        "A<n> = <v>", "A<n> = <any>", "C<n>.f = lambda self: 2 * A<n>",
    )),
    "a property": Source(
        "A<n> = <v>\nclass C<n>:\n    k = <v>\n    @property\n    def f(self):\n"
        "        return self.k + A<n>\nc<n> = C<n>()", "c<n>.f", (
        "A<n> = <v>", "c<n>.k = <v>", "C<n>.f = property(lambda self: <v>)",
        "C<n>.k = <v>", "C<n>.f = <v>",
    )),
    "a cached property": Source(
        "A<n> = <v>\nclass C<n>:\n    @functools.cached_property\n    def f(self):\n"
        "        return A<n>\nc<n> = C<n>()\nc<n>.f", "c<n>.f", (
        "A<n> = <v>", "vars(c<n>).pop('f', None)\nc<n>.f", "c<n>.f = <v>",
        "c<n> = C<n>()\nc<n>.f",
    )),
    "a descriptor": Source(
        "class D<n>:\n    k = <v>\n    def __get__(self, one, cls):\n"
        "        return self.k\nclass C<n>:\n    f = D<n>()\nc<n> = C<n>()", "c<n>.f", (
        "vars(C<n>)['f'].k = <v>", "D<n>.k = <v>", "c<n>.f = <v>",
    )),
    "__getattr__": Source(
        "class C<n>:\n    table = {'k': <v>}\n    def __getattr__(self, name):\n"
        "        return C<n>.table[name]\nc<n> = C<n>()", "c<n>.k", (
        "C<n>.table['k'] = <v>", "c<n>.k = <v>", "vars(c<n>).pop('k', None)",
        "C<n>.__getattr__ = lambda self, name: <v>",
    )),
    "__call__": Source(
        "class C<n>:\n    k = <v>\n    def __call__(self):\n        return self.k\n"
        "c<n> = C<n>()", "c<n>()", (
        "c<n>.k = <v>", "C<n>.k = <v>", "C<n>.__call__ = lambda self: 2 * self.k",
        "c<n> = lambda: <v>",
    )),
    "__getitem__": Source(
        "class C<n>:\n    def __init__(self):\n        self.k = [<v>]\n"
        "    def __getitem__(self, n):\n        return self.k[n]\nc<n> = C<n>()",
        "c<n>[0]", (
        "c<n>.k[0] = <v>", "c<n>.k = [<v>]", "c<n> = [<v>]",
        "C<n>.__getitem__ = lambda self, n: <v>",
    )),
    "a subclass of dict": Source(
        "class C<n>(dict):\n    __getattr__ = dict.__getitem__\nc<n> = C<n>(k=<v>)",
        "c<n>.k", ("c<n>['k'] = <v>", "c<n> = C<n>(k=<any>)", "c<n>['j'] = 1"),
    ),
    "an iterable object": Source(
        "class C<n>:\n    k = [<v>, <v>]\n    def __iter__(self):\n"
        "        return iter(self.k)\nc<n> = C<n>()", "sum(c<n>)", (
        "C<n>.k.append(<v>)", "c<n>.k = [<v>]", "C<n>.k[0] = <v>",
    )),
    "a comparison": Source(
        "class C<n>:\n    k = <i>\n    def __eq__(self, other):\n"
        "        return self.k == other\n    __hash__ = None\nc<n> = C<n>()",
        "(1.5 if c<n> == 2 else 2.5)", ("c<n>.k = <i>", "C<n>.k = <i>", "c<n> = <i>"),
    ),
    "a context manager": Source(
        "class C<n>:\n    k = <v>\n    def __enter__(self):\n        return self\n"
        "    def __exit__(self, *error):\n        pass\nc<n> = C<n>()\n"
        "def f<n>():\n    with c<n> as c:\n        return c.k", "f<n>()", (
        "c<n>.k = <v>", "C<n>.k = <v>", "C<n>.__enter__ = lambda self: B<n>\n"
        "class B<n>:\n    k = <v>",
    )),
}  # fmt: skip

ODD = {
    "an attribute of a module": Source(
        "m<n> = sys.modules['fuzz_<n>'] = types.ModuleType('fuzz_<n>')\nm<n>.k = <v>",
        "m<n>.k", ("m<n>.k = <v>", "m<n>.k = <any>", "vars(m<n>)['k'] = <v>"),
    ),
    "a list of a module": Source(
        "m<n> = sys.modules['fuzz_<n>'] = types.ModuleType('fuzz_<n>')\nm<n>.k = [<v>]",
        "m<n>.k[0]", ("m<n>.k[0] = <v>", "m<n>.k = [<v>]", "m<n>.k.insert(0, <v>)"),
    ),
    "an object of a module": Source(
        "m<n> = sys.modules['fuzz_<n>'] = types.ModuleType('fuzz_<n>')\n"
        "m<n>.c = types.SimpleNamespace(k=<v>)", "m<n>.c.k", (
        "m<n>.c.k = <v>", "m<n>.c = types.SimpleNamespace(k=<v>)", "m<n>.c.k = <any>",
    )),
    "a class of a module": Source(
        "m<n> = sys.modules['fuzz_<n>'] = types.ModuleType('fuzz_<n>')\n"
        "exec('class C:\\n    k = <v>', vars(m<n>))", "m<n>.C.k", (
        "m<n>.C.k = <v>", "exec('class C:\\n    k = <v>', vars(m<n>))",
    )),
    "a module imported inside": Source(
        "m<n> = sys.modules['fuzz_<n>'] = types.ModuleType('fuzz_<n>')\nm<n>.k = <v>\n"
        "def f<n>():\n    import fuzz_<n>\n    return fuzz_<n>.k", "f<n>()", (
        "m<n>.k = <v>", "m<n> = sys.modules['fuzz_<n>'] = types.SimpleNamespace(k=<v>)",
    )),
    "a name imported inside": Source(
        "m<n> = sys.modules['fuzz_<n>'] = types.ModuleType('fuzz_<n>')\nm<n>.k = <v>\n"
        "def f<n>():\n    from fuzz_<n> import k\n    return k", "f<n>()", (
        "m<n>.k = <v>", "m<n>.k = <any>",
    )),
    "sys.modules": Source("A<n> = <v>", "sys.modules[__name__].A<n>", (
        "A<n> = <v>", "A<n> = <any>",
    )),
    "getattr with a constant": Source(
        "class C<n>:\n    k = <v>", "getattr(C<n>, 'k')", ("C<n>.k = <v>",
        "C<n>.k = <any>",
    )),
    "getattr with a computed name": Source(
        "class C<n>:\n    k1 = <v>\n    k2 = <v>\nI<n> = 1",
        "getattr(C<n>, 'k' + str(I<n>))", (
        "C<n>.k1 = <v>", "C<n>.k2 = <v>", "I<n> = 2", "I<n> = 1",
    )),
    "getattr of an object with a computed name": Source(
        "c<n> = types.SimpleNamespace(k1=<v>, k2=<v>)\nI<n> = 1",
        "getattr(c<n>, f'k{I<n>}')", ("c<n>.k1 = <v>", "c<n>.k2 = <v>", "I<n> = 2"),
    ),
    "getattr of a module with a computed name": Source(
        "m<n> = sys.modules['fuzz_<n>'] = types.ModuleType('fuzz_<n>')\nm<n>.k1 = <v>",
        "getattr(m<n>, 'k' + '1')", ("m<n>.k1 = <v>", "m<n>.k1 = <any>"),
    ),
    "getattr with a default": Source(
        "c<n> = types.SimpleNamespace()", "getattr(c<n>, 'k', 0.5)", (
        "c<n>.k = <v>", "vars(c<n>).pop('k', None)",
    )),
    "hasattr": Source(
        "c<n> = types.SimpleNamespace()", "(1.5 if hasattr(c<n>, 'k') else 0.5)", (
        "c<n>.k = 1", "vars(c<n>).pop('k', None)",
    )),
    "attrgetter": Source(
        "c<n> = types.SimpleNamespace(k=<v>)\nget<n> = operator.attrgetter('k')",
        "get<n>(c<n>)", ("c<n>.k = <v>", "c<n> = types.SimpleNamespace(k=<v>)"),
    ),
    "itemgetter": Source(
        "D<n> = {'a': <v>}\nget<n> = operator.itemgetter('a')", "get<n>(D<n>)", (
        "D<n>['a'] = <v>", "get<n> = lambda d: <v>",
    )),
    "vars of an object": Source(
        "c<n> = types.SimpleNamespace(k=<v>)", "vars(c<n>)['k']", (
        "c<n>.k = <v>", "c<n> = types.SimpleNamespace(k=<v>)",
    )),
    "globals()": Source("A<n> = <v>", "globals()['A<n>']", ("A<n> = <v>",
        "A<n> = <any>", "globals()['A<n>'] = <v>",
    )),
    "globals() with a computed name": Source(
        "A<n> = <v>", "globals()['A' + '<n>']", ("A<n> = <v>", "A<n> = <any>"),
    ),
    "globals().get": Source("A<n> = <v>", "globals().get('A<n>', 9.0)", (
        "A<n> = <v>", "del A<n>\nA<n> = <v>",
    )),
    "a name that is there or not": Source(
        "def f<n>():\n    try:\n        return A<n>\n    except NameError:\n"
        "        return 0.5", "f<n>()", ("A<n> = <v>", "globals().pop('A<n>', None)"),
    ),
    "eval": Source("A<n> = <v>", "eval('A<n>')", ("A<n> = <v>", "A<n> = <any>")),
    "an environment variable": Source(
        "os.environ['FUZZ_<n>'] = '<v>'", "float(os.environ['FUZZ_<n>'])", (
        "os.environ['FUZZ_<n>'] = '<v>'",
    )),
    "getenv": Source("", "float(os.getenv('FUZZ_<n>', '0.5'))", (
        "os.environ['FUZZ_<n>'] = '<v>'", "os.environ.pop('FUZZ_<n>', None)",
    )),
    "max of a list": Source("A<n> = [<v>, <v>]", "max(A<n>)", (
        "A<n>[0] = <v>", "A<n>.append(<v>)", "A<n> = (<v>,)",
    )),
    "functools.reduce": Source(
        "A<n> = [<v>, <v>]", "functools.reduce(operator.mul, A<n>)", (
        "A<n>[0] = <v>", "A<n> = [<v>]", "A<n>.append(<v>)",
    )),
    "a comprehension": Source("A<n> = <v>", "sum([A<n> for _ in range(2)])", (
        "A<n> = <v>", "A<n> = <any>",
    )),
    "an attribute that was built in": Source(
        "from math import sqrt as f<n>", "f<n>(4.0)", (
        "f<n> = lambda x: <v>", "from math import sqrt as f<n>",
        "from math import exp as f<n>",
    )),
    "a builtin with another meaning": Source("", "abs(-1.5)", (
        "abs = lambda x: <v>", "globals().pop('abs', None)",
    )),
    "a module by another name": Source("import math as m<n>", "m<n>.sqrt(4.0)", (
        "import cmath\nm<n> = types.SimpleNamespace(sqrt=lambda x: <v>)",
        "import math as m<n>",
    )),
    "a weak reference": Source(
        "class C<n>: pass\nc<n> = C<n>()\nc<n>.k = <v>\nr<n> = weakref.ref(c<n>)",
        "r<n>().k", ("c<n>.k = <v>", "c<n> = C<n>()\nc<n>.k = <v>\nr<n> = weakref.ref(c<n>)"),
    ),
    "a variable of a thread": Source(
        "c<n> = threading.local()\nc<n>.k = <v>", "c<n>.k", ("c<n>.k = <v>",
        "c<n>.k = <any>",
    )),
    "a bound method in a global": Source(
        "class C<n>:\n    k = <v>\n    def f(self):\n        return self.k\n"
        "c<n> = C<n>()\ng<n> = c<n>.f", "g<n>()", (
        "c<n>.k = <v>", "C<n>.k = <v>", "C<n>.f = lambda self: <v>", "c<n> = C<n>()",
    )),
    "a mapping proxy": Source(
        "D<n> = {'a': <v>}\nA<n> = types.MappingProxyType(D<n>)", "A<n>['a']", (
        "D<n>['a'] = <v>", "A<n> = {'a': <v>}",
    )),
    "a chain map": Source(
        "D<n> = {'a': <v>}\nA<n> = collections.ChainMap({}, D<n>)", "A<n>['a']", (
        "D<n>['a'] = <v>", "A<n>['a'] = <v>",
    )),
}  # fmt: skip

OF_SELF = {
    "a float of self": Source("", "self.a<n>", (
        "model.a<n> = <v>", "model.a<n> = <any>", "vars(model)['a<n>'] = <v>",
        "model.a<n> += 1", "del model.a<n>\nmodel.a<n> = <v>",
    ), init="self.a<n> = <v>"),
    "a str of self": Source("", "(1.5 if self.a<n> == 'a' else 2.5)", (
        "model.a<n> = '<a|b>'", "model.a<n> = None",
    ), init="self.a<n> = 'a'"),
    "a list of self": Source("", "sum(self.a<n>)", (
        "model.a<n>[0] = <v>", "model.a<n>.append(<v>)", "model.a<n> = [<v>]",
        "model.a<n> = (<v>, <v>)",
    ), init="self.a<n> = [<v>, <v>]"),
    "a dict of self": Source("", "self.a<n>['k']", (
        "model.a<n>['k'] = <v>", "model.a<n> = {'k': <any>}", "model.a<n>['j'] = 1",
    ), init="self.a<n> = {'k': <v>}"),
    "an array of self": Source("", "self.a<n>.sum()", (
        "model.a<n> = jnp.asarray([<v>])", "model.a<n> = np.asarray([<v>, <v>])",
        "model.a<n> = model.a<n> * 2",
    ), init="self.a<n> = jnp.asarray([<v>, <v>])"),
    "a NumPy array of self": Source("", "self.a<n>[0]", (
        "model.a<n>[0] = <v>", "model.a<n> = np.ones(3)", "model.a<n>[:] = <v>",
    ), init="self.a<n> = np.asarray([<v>, <v>])"),
    "a global held by self": Source("A<n> = [<v>]", "self.a<n>[0]", (
        "A<n>[0] = <v>", "model.a<n> = [<v>]", "A<n> = [<v>]",
    ), init="self.a<n> = A<n>"),
    "a global held by self and read": Source("A<n> = [<v>]", "(self.a<n>[0] + A<n>[0])", (
        "A<n>[0] = <v>", "model.a<n> = [<v>]", "A<n> = [<v>]", "A<n> = model.a<n>",
    ), init="self.a<n> = A<n>"),
    "an attribute of the class of self": Source("", "self.k<n>", (
        "Model.k<n> = <v>", "model.k<n> = <v>", "vars(model).pop('k<n>', None)",
    ), methods="k<n> = <v>"),
    "a list of the class of self": Source("", "sum(self.k<n>)", (
        "Model.k<n>[0] = <v>", "Model.k<n> = [<v>]", "model.k<n> = [<v>]",
    ), methods="k<n> = [<v>, <v>]"),
    "an object of self": Source("class C<n>:\n    j = <v>", "self.a<n>.k + self.a<n>.j", (
        "model.a<n>.k = <v>", "model.a<n> = C<n>()\nmodel.a<n>.k = <v>", "C<n>.j = <v>",
        "model.a<n>.j = <v>",
    ), init="self.a<n> = C<n>()\nself.a<n>.k = <v>"),
    "a function of self": Source("A<n> = <v>", "self.f<n>()", (
        "A<n> = <v>", "model.f<n> = lambda: <v>", "model.f<n> = lambda: 2 * A<n>",
    ), init="self.f<n> = lambda: A<n>"),
    "a closure of self": Source("", "self.f<n>()", (
        "model.put<n>(<v>)", "model.f<n> = lambda: <v>",
    ), init="k = <v>\ndef put<n>(new):\n    nonlocal k\n    k = new\n"
            "self.put<n> = put<n>\nself.f<n> = lambda: k"),
    "a partial of self": Source("", "self.f<n>()", (
        "model.f<n> = functools.partial(lambda k: 2 * k, k=<v>)", "model.f<n>.keywords.update(k=<v>)",
    ), init="self.f<n> = functools.partial(lambda k: k, k=<v>)"),
    "a table of functions of self": Source("A<n> = <v>", "self.f<n>['a']()", (
        "A<n> = <v>", "model.f<n>['a'] = lambda: <v>",
    ), init="self.f<n> = {'a': lambda: A<n>}"),
    "a property of self": Source("A<n> = <v>", "self.p<n>", (
        "A<n> = <v>", "Model.p<n> = property(lambda self: <v>)",
    ), methods="@property\ndef p<n>(self):\n    return A<n>"),
    "getattr of self": Source("I<n> = 1", "getattr(self, f'a<n>_{I<n>}')", (
        "model.a<n>_1 = <v>", "model.a<n>_2 = <v>", "I<n> = 2", "I<n> = 1",
    ), init="self.a<n>_1, self.a<n>_2 = <v>, <v>"),
}  # fmt: skip
