"""A program that is kept: found where another process left it, or compiled and left.

It stands in the place of `jax.jit` for one program of autojit, so that all else is as
without it: how calls are taken apart, what is traced again, what is written back.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from .._autojit._keeping import ChangedOnlyError, NumbersError, ProgramOrigin
from .._autojit._programs import UnforeseenError, UnreadError
from .._autojit.kinds._base import UnportableError
from .._dispatch._retracing import active_settings, version_of_rules
from .._errors import FingerprintError
from .._jax_internals import (
    Slots,
    at_top_level,
    callback_slots,
    calls_back,
    compilation_context,
    compiled_anew,
    digest_of,
    serialized,
    slots_of,
)
from .._jit._compiled import TracedBody
from .._jit._executables import Jitted
from .._optional._packages import without_collections
from .._random._streams import current
from .._random.traced import FoundDraws, source_of
from .._values import watching
from ._asked_for import AskedFor, asked_for, form_of, kind_of_key
from ._called_back import Fill, FilledLate, called_back, waiting
from ._custom_rules import fingerprint_of_rules
from ._description import Describing, ProgramDescription
from ._environment import debugging, surroundings
from ._places import LEDGER, ProgramPlaces, Run
from ._records import CalledBack, Record, Result
from ._served import GoneError
from ._structures import UnwritableError, dump_tree, load_tree
from .fingerprint import LibraryReads, LibraryState


class KeptProgram:
    """One program of autojit, for every kind of arrays.

    Args:
        place: What autojit says of it.
        places: Where programs are kept.

    Raises:
        UnportableError: It can't be kept, and why.
    """

    def __init__(self, place: ProgramOrigin, places: ProgramPlaces) -> None:
        self.name, self._source = place.name, place.source
        self._describing, self.places = Describing(place), places
        self._description: ProgramDescription | None = self._describing()
        self._effect = self._description.effect
        self._failed = threading.local()
        self.ignores_counts = False

    @classmethod
    @without_collections()
    def of(cls, place: ProgramOrigin, places: Any) -> "KeptProgram | None":
        """The program of a place; None if it can't be kept, and the report why."""
        try:
            return cls(place, places)
        except UnportableError as error:
            places.not_kept(place.name, str(error))
            return None

    def description(self) -> ProgramDescription:
        """What the program is made of by now.

        Raises:
            UnportableError: It can't be kept any longer, and why.
        """
        first, self._description = self._description, None
        return first or self._describing()

    def jit(self, fun: Callable[..., Any], options: Mapping[str, Any]) -> "KeptJitted":
        """Stands for `jax.jit`, for calls that draw no random numbers."""
        return KeptJitted(self, fun, options, TracedBody(fun))

    def jit_drawing(
        self, fun: Callable[..., Any], options: Mapping[str, Any], body: TracedBody
    ) -> "KeptJitted":
        """The same for calls that draw, with the states of streams as arguments."""
        return KeptJitted(self, fun, options, body)

    def fail(self, key: str | None) -> None:
        """A trace has failed in this thread, and why is not known here."""
        self._failed.key = key

    def note_numbers(self, nodes: Collection[int]) -> None:
        """The last trace in this thread has failed: it needs values of numbers."""
        key: str | None = getattr(self._failed, "key", None)
        if key is not None:
            self.fail(None)
            self.note(key, "numbers", tuple(sorted(nodes)))

    def note(self, key: str, why: str, details: tuple[Any, ...] = ()) -> None:
        """Let other processes know why tracing fails, so that they need not try.

        Unless they are to see what the trace does besides.
        """
        if not self._effect:
            self.places.note(key, self.record(0.0, made=why, details=details))

    def record(self, seconds: float, **rest: Any) -> Record:
        """What the store gets to know of a program."""
        return Record(self.name, self._source, seconds, **rest)

    def raise_noted(self, record: Record, description: ProgramDescription) -> None:
        """Raise what the trace has raised in the process that tried it."""
        if record.made == "unread":
            raise UnreadError
        if record.made == "unforeseen":
            raise UnforeseenError(record.details)
        if record.made == "numbers":
            raise NumbersError(record.details)
        if record.made == "counts" and not self.ignores_counts:
            raise ChangedOnlyError(record.details)
        if record.made == "draws":
            numbers = record.details
            streams = [
                current() if k is None else description.streams[k]() for k in numbers
            ]
            raise FoundDraws([source_of(s) for s in streams if s is not None])


class Program(NamedTuple):
    """What a call needs: by its key in the store, its arrays, what it is made of.

    Attributes:
        codes: Digests of all code that the key stands for.
    """

    key: str
    asked: AskedFor
    description: ProgramDescription
    codes: frozenset[bytes]


class KeptJitted:
    """Stands for what `jax.jit` returns.

    A call looks up what was compiled for such arrays. Inside a transformation, and for
    what can't be kept, it is what `jax.jit` makes of the function.
    """

    _programs: dict[Any, Callable[..., Any]]
    _last: tuple[Any, Callable[..., Any]]

    def __init__(
        self,
        kept: KeptProgram,
        fun: Callable[..., Any],
        options: Mapping[str, Any],
        body: TracedBody,
    ) -> None:
        self._kept, self._options, self._body = kept, options, body
        self._local = Jitted(fun, options)
        self._programs: dict[Any, Callable[..., Any]] = {}
        self._last: tuple[Any, Callable[..., Any]] = (None, self._local)

    @property
    def run(self) -> "KeptJitted":
        """What runs it."""
        return self

    def __call__(self, *args: Any) -> Any:
        """Call it."""
        context = compilation_context()
        if context is None or active_settings() or not at_top_level() or debugging():
            return self._local(*args)
        leaves = jax.tree.leaves(args)
        context = context, version_of_rules()
        needed = context, [*map(form_of, leaves)]
        last, run = self._last
        if last != needed:
            form = context, tuple(needed[1])
            known = self._programs.get(form)
            run = known or self._find(args, leaves)
            if known is None:
                if len(self._programs) >= MAX_FORMS:
                    self._programs.clear()
                self._programs[form] = run
            self._last = needed, run
        try:
            return run(*args)
        except GoneError:
            self.forget()
        return self._find(args, leaves)(*args)

    def trace(self, *args: Any) -> Any:
        """What `jax.jit` makes of it for these arrays, to look at."""
        return self._local.trace(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._local, name)

    def clear_cache(self) -> None:
        """Forget what was compiled here."""
        self.forget()
        self._local.clear_cache()

    def forget(self) -> None:
        """Forget what was found."""
        self._programs, self._last = {}, (None, self._local)

    def _find(self, args: tuple[Any, ...], leaves: Sequence[Any]) -> Any:
        with without_collections():
            program = self._asked(leaves, lambda asked: surroundings(asked.device))
            if isinstance(program, str):
                self._kept.places.not_kept(self._kept.name, program)
                return self._local
            found = self._look_up(program, args)
        if found is None:
            with self._kept.places.store.claim(program.key):
                found = self._look_up(program, args) or self._compile(program, args)
        return found

    def _asked(
        self, leaves: Sequence[Any], around: Callable[[AskedFor], bytes]
    ) -> Program | str:
        """The program for such arrays; or why it can't be kept.

        Args:
            leaves: The arrays.
            around: What else decides what is compiled.
        """
        kept, asked = self._kept, asked_for(leaves)
        try:
            if isinstance(asked, str):
                raise UnportableError(asked)
            description = kept.description()
            streams = _numbers_of(self._body.streams, description)
            if streams is None:
                raise UnportableError(_STREAM)
            rules, codes = fingerprint_of_rules()
        except (UnportableError, FingerprintError) as error:
            return str(error)
        digest = description.digest + rules
        key = asked.key(digest, streams, self._options, around(asked))
        return Program(key, asked, description, description.codes | codes)

    def _look_up(
        self, program: Program, args: tuple[Any, ...]
    ) -> Callable[..., Any] | None:
        found = self._kept.places.find(program.key, program.asked)
        if found is None:
            return None
        record, run, fill = found
        if fill is not None:
            run = self._filled(program, record, fill, args)
        if run is None and record.called_back:
            return None
        return self._call_of(program, record, run)

    def _filled(
        self, program: Program, record: Record, fill: Fill, args: tuple[Any, ...]
    ) -> Run | None:
        """What runs a program that calls back; None: it must be compiled."""
        calls, structure = record.called_back, jax.tree.structure(args)
        assert calls is not None

        def full(*arrays: Any) -> Run:
            args = jax.tree.unflatten(structure, arrays)
            slots = self._slots(program, calls, args)
            run = fill(slots) if slots else None
            if run is None:
                self._kept.places.not_kept(self._kept.name, _OTHER)
            local = lambda *arrays: jax.tree.leaves(
                self._local(*jax.tree.unflatten(structure, arrays))
            )
            return waiting(run, calls) if run else local

        start = time.perf_counter()
        if calls.in_branches:
            run: Run | None = FilledLate(fill, calls.size, full)
        else:
            slots = self._slots(program, calls, args)
            run = fill(slots) if slots else None
        if run is None:
            return None
        LEDGER.found(record.seconds - (time.perf_counter() - start))
        return waiting(run, calls)

    def _slots(
        self, program: Program, calls: CalledBack, args: tuple[Any, ...]
    ) -> Slots | None:
        """The callbacks of this process for a program; None if it is another one."""
        found = self._traced(program, args)
        if isinstance(found, str):
            return None
        lowered = found[0].lower()
        return slots_of(lowered) if digest_of(lowered) == calls.digest else None

    def _call_of(
        self, program: Program, record: Record, run: Run | None, imports: bool = True
    ) -> Callable[..., Any]:
        """What calls a program that was found.

        Args:
            program: What was asked for.
            record: What was found.
            run: Runs it.
            imports: Whether modules may be imported that the record names.
        """
        _, asked, description, _ = program
        self._kept.raise_noted(record, description)
        if run is None:
            return self._local
        structure = load_tree(record.tree, description.shared, imports=imports)
        if structure.num_leaves != len(record.results):
            raise UnwritableError("its record has another number of results")

        def call(*args: Any) -> Any:
            out = run(*asked.converted(jax.tree.leaves(args)))
            return jax.tree.unflatten(structure, out)

        return call

    def _traced(
        self, program: Program, args: tuple[Any, ...]
    ) -> tuple[Any, LibraryReads] | str:
        """What is to be compiled, and what that has read; or why not, in words.

        "" where running it says so.
        """
        kept, (key, _, description, _) = self._kept, program
        kept.fail(None)
        reads = LibraryReads()
        try:
            with watching(reads):
                traced = self._local.trace(*args)
        except FoundDraws as found:
            sources = [source.bound for source in found.sources]
            streams = _numbers_of(sources, description)
            if streams is not None:
                kept.note(key, "draws", streams)
            raise
        except UnreadError:
            kept.note(key, "unread")
            raise
        except UnforeseenError as error:
            kept.note(key, "unforeseen", tuple(sorted(error.names)))
            raise
        except ChangedOnlyError as error:
            kept.note(key, "counts", tuple(error.nodes))
            raise
        except Exception:
            kept.fail(key)
            raise
        if len(traced.jaxpr.in_avals) > len(jax.tree.leaves(args)):
            # JAX adds tracers of ended traces as arguments. Running it is its error.
            return ""
        return traced, reads

    def _compile(self, program: Program, args: tuple[Any, ...]) -> Any:
        kept, asked = self._kept, program.asked
        start = time.perf_counter()
        found = self._traced(program, args)
        if isinstance(found, str):
            return self._local
        traced, reads = found
        calls, effect = None, program.description.effect
        is_called_back = calls_back(traced.jaxpr.jaxpr)
        why = effect if not is_called_back else _SLOTS if not callback_slots() else ""
        if why:
            kept.places.not_kept(kept.name, why)
            return self._local
        lowered = traced.lower()
        if is_called_back:
            once = bool(effect) or bool(self._options.get("donate_argnums"))
            calls = called_back(traced, lowered, once=once)
        compiled = compiled_anew(lowered)
        seconds = time.perf_counter() - start
        LEDGER.compiled(seconds)
        why = reads.refusal(program.codes)
        if not why:
            record = self._record(program, traced, reads.state(), seconds, calls)
            why = self._write(program, compiled, record)
        if why:
            kept.places.not_kept(kept.name, why)
        if calls:
            compiled = waiting(compiled, calls)
        if not asked.converts:
            return compiled
        structure = jax.tree.structure(args)
        return lambda *args: compiled(
            *jax.tree.unflatten(structure, asked.converted(jax.tree.leaves(args)))
        )

    def _write(self, program: Program, compiled: Any, record: Record | str) -> str:
        """Keep what was compiled; or why it can't be kept."""
        if isinstance(record, str):
            return record
        shardings = jax.tree.leaves(
            (compiled.input_shardings, compiled.output_shardings)
        )
        if any(s.device_set != {program.asked.device} for s in shardings):
            return "it runs on several devices"
        code = serialized(compiled, calls_back=record.called_back is not None)
        if code is None:
            return "XLA can't write its code to a file"
        self._kept.places.keep(program.key, record, code)
        return ""

    def _record(
        self,
        program: Program,
        traced: Any,
        libraries: LibraryState,
        seconds: float,
        calls: CalledBack | None = None,
    ) -> Record | str:
        """What is to be said of a program; or why it can't be kept."""
        kept, (_, asked, description, _) = self._kept, program
        if kept.description().digest != description.digest:
            return "it changes what it reads, when it is traced"
        try:
            tree = dump_tree(traced.out_tree, description.shared)
        except UnwritableError as error:
            return str(error)
        return kept.record(
            seconds,
            arguments=asked.keys,
            results=tuple(Result.of(x, kind_of_key(x)) for x in traced.jaxpr.out_avals),
            tree=tree,
            libraries=libraries,
            called_back=calls,
        )


MAX_FORMS = 1024  # kinds of arrays that are remembered
_SLOTS = "it calls back to Python"
_OTHER = "it calls back in another way than the program that was kept"
_STREAM = "it draws from a generator that another process can't find"


def _numbers_of(
    streams: Sequence[Any], description: ProgramDescription
) -> tuple[int | None, ...] | None:
    """Streams by number; None for that which is current at each call."""
    numbers = [s and description.number_of(s) for s in streams]
    known = all(s is None or k is not None for s, k in zip(streams, numbers))  # noqa: B905
    return tuple(numbers) if known else None
