"""What a collection says to a question about its code: callers, importers, members, declarations; by symbols, without a model.

    load_links      all names of the collection, and what they mean (links.py); kept for as long as nothing changes
    ask_code        which definitions are meant (select.py), and for each what is asked: what is known, with every line that
                    could not be told apart

Nothing is said to be complete that a limit cut or a name left open: that is what `unresolved` and `complete` are for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from cairn.domain.code import (
    BUILTIN,
    SEPARATOR,
    SPOKEN,
    CodeFact,
    CodeFinding,
    CodeSubject,
    DeclarationText,
    SymbolPlace,
    SymbolQuery,
)
from cairn.domain.document import NO_SOURCE_TYPES, Collection
from cairn.domain.graph import EntityKey, entity_id, relation_id
from cairn.domain.principal import Principal
from cairn.graph.code.callers import CONSTRUCTORS, called_name, lines_that_call, lines_that_name, split_calls
from cairn.graph.code.declaration import (
    first_lines,
    hide,
    read_declaration,
    read_documentation,
    whole_lines,
    whole_statement,
)
from cairn.graph.code.languages import family_of
from cairn.graph.code.links import CodeLinks, NamedDefinition, Tie
from cairn.graph.code.rows import DEFINED, REFERRED
from cairn.graph.code.select import assignments, lines_with, module_forms, near_names, select_definitions
from cairn.store import code_calls, graph_code
from cairn.store.code_calls import PlacedCall
from cairn.store.graph_code import SymbolSpan

MOST_SUBJECTS: Final = 5
"""Definitions by one name that are answered on."""
MOST_CALLS: Final = 5000
"""Calls by one name."""
MOST_FILES: Final = 200
"""Files whose text is looked through for a name."""
MOST_SEEN: Final = 5
"""Lines that are shown of a name that nothing defines."""
MOST_SOURCE: Final = 900  # bound: tests/unit/test_code_documentation.py
"""Characters of source code that an answer shows, of all definitions together."""
MOST_TOLD: Final = 600  # bound: tests/unit/test_code_documentation.py
"""And of documentation."""
MOST_BEGUN: Final = 300  # bound: tests/unit/test_code_documentation.py
"""And of what has none the first lines."""
_KEPT: Final = 4
"""Collections whose names are kept at hand."""

Spot = tuple[UUID, str, int, int]
"""Document, path, and a span of its text."""

_LINKS: OrderedDict[tuple[int, UUID, int], CodeLinks] = OrderedDict()


async def load_links(connection: Any, principal: Principal, collection: Collection) -> CodeLinks:
    """What the names of a collection mean, as it is now."""
    key = (principal.tenant_id, collection.id, collection.epoch)
    if key not in _LINKS:
        definitions, ties = await graph_code.load_names(connection, principal, collection.id)
        named = (NamedDefinition(row["normal"], row["kind"]) for row in definitions)
        _LINKS[key] = CodeLinks(named, [Tie(*row.values()) for row in ties])
        while len(_LINKS) > _KEPT:
            _LINKS.popitem(last=False)
    _LINKS.move_to_end(key)
    return _LINKS[key]


async def ask_code(
    connection: Any, principal: Principal, collection: Collection, query: SymbolQuery
) -> CodeFinding | None:
    """None where the collection holds no code, or where a plain word is the name of nothing: then it was not meant as one."""
    links = await load_links(connection, principal, collection)
    if not links.names:
        return None
    asker = _Asker(connection, principal, collection.id, links, query)
    chosen = select_definitions(query, links)
    if query.aspect in SPOKEN:
        chosen = [one for one in chosen if _is_spoken_of(one, query, links)]
    finding = await asker.answer(chosen[:MOST_SUBJECTS], tuple(chosen[MOST_SUBJECTS:]))
    if query.aspect in SPOKEN and not finding.subjects:
        return None
    if query.marked or (finding.subjects and _says_something(finding)):
        return finding
    return None


def _is_spoken_of(normal: str, query: SymbolQuery, links: CodeLinks) -> bool:
    """Whether a definition is meant by a name that may be any word: spelled as it is, and of a plain word one that people know by
    its name alone, which a method has not."""
    kind, spelled = links.kind(normal), called_name(normal) == query.name.rpartition(".")[2]
    if query.marked:
        return spelled or query.aspect != "value"
    return spelled and kind in ("class", "function")


def _says_something(finding: CodeFinding) -> bool:
    """Whether anything was found: that nothing calls a method that is called like a plain word may not be what was asked."""
    if finding.query.relation is None:
        return True
    return any(one.known or one.unresolved or one.kind != "method" for one in finding.subjects)


@dataclass(frozen=True, slots=True)
class _Asker:
    connection: Any
    principal: Principal
    collection_id: UUID
    links: CodeLinks
    query: SymbolQuery

    async def answer(self, chosen: Sequence[str], left_out: tuple[str, ...]) -> CodeFinding:
        query = self.query
        answers: Mapping[tuple[str | None, bool], Callable[[Sequence[str]], Awaitable[Iterable[CodeSubject]]]] = {
            ("calls", True): self._callers,
            ("calls", False): self._called,
            ("inherits", True): self._subclasses,
            ("inherits", False): self._bases,
            ("imports", True): self._importers,
            ("imports", False): self._imported,
            ("contains", True): self._holders,
            ("contains", False): self._members,
        }
        how = answers.get((query.relation, query.incoming), self._declarations)
        subjects = tuple(await how(chosen))
        if not subjects and (query.relation, query.incoming) == ("calls", True):  # a package is used by importing it
            query = replace(query, relation="imports")
            subjects = tuple(one for one in await replace(self, query=query)._importers(()) if one.known)
        if subjects:
            whole = sum(len(one.known) + len(one.unresolved) for one in subjects) < MOST_CALLS
            return CodeFinding(query, subjects, left_out, complete=whole)
        near = tuple(near_names(query.name, self.links))
        return CodeFinding(self.query, (), near=near, seen=tuple(await self._seen()))

    # --- calls ---

    async def _callers(self, chosen: Sequence[str]) -> list[CodeSubject]:
        if not chosen:
            return await self._callers_of_others()
        made = []
        for normal in chosen:
            name = called_name(normal)
            calls = await self._calls_by(name)
            split = split_calls(normal, calls, self.links)
            unread = await self._unread(name)
            near = sorted(split.unresolved, key=lambda one: _is_far(one.path, normal))
            made.append(
                CodeSubject(
                    normal, self.links.kind(normal), None,
                    await self._facts((_caller(one), _spot_of(one)) for one in split.known),
                    await self._facts([*((_caller(one), _spot_of(one)) for one in near), *unread]),
                    await self._facts(("", spot) for spot in await self._named(normal, name)),
                    len(split.others),
                )
            )  # fmt: skip
        return await self._placed(made)

    async def _named(self, normal: str, name: str) -> list[Spot]:
        """Where a function is passed on, in files that define or import it; where a method is read, in any of its language."""
        kind, home = self.links.kind(normal), normal.partition(SEPARATOR)[0]
        if kind not in ("function", "method"):
            return []
        importing = {
            tie.source
            for tie in self.links.ties
            if tie.relation == "imports" and normal in self.links.meaning(tie.target, tie.source).definitions
        }
        files = await graph_code.find_texts_with(
            self.connection, self.principal, self.collection_id, name, NO_SOURCE_TYPES, MOST_FILES
        )
        return [
            (document_id, path, *span)
            for document_id, path, text in files
            if family_of(path) == family_of(home) and (kind == "method" or path == home or path in importing)
            for span in lines_that_name(name, hide(text, family_of(path)), member=kind == "method", most=MOST_FILES)
        ]

    async def _callers_of_others(self) -> list[CodeSubject]:
        """Of something that files import from elsewhere."""
        name = self.query.name
        calls = await self._calls_by(name.rpartition(".")[2])
        known = [one for one in calls if f".{one.call.target}".endswith(f".{name}") and one.call.target[:1] != "."]
        known = [one for one in known if not one.call.target.startswith(SEPARATOR)]
        if not known or "." not in known[0].call.target:
            return []
        open_ = [one for one in calls if self.links.meaning(one.call.target, one.path).certainty == "unknown"]
        unread = await self._unread(name.rpartition(".")[2])
        return [
            CodeSubject(
                known[0].call.target.removeprefix(BUILTIN), "", None,
                await self._facts((_caller(one), _spot_of(one)) for one in known),
                await self._facts([*((_caller(one), _spot_of(one)) for one in open_ if one not in known), *unread]),
                (),
                len(calls) - len(known) - len([one for one in open_ if one not in known]),
            )
        ]  # fmt: skip

    async def _called(self, chosen: Sequence[str]) -> list[CodeSubject]:
        made = []
        for normal, document_id in (await self._documents(chosen)).items():
            path, _, name = normal.partition(SEPARATOR)
            calls = await code_calls.find_calls_inside(self.connection, self.principal, document_id, name, MOST_CALLS)
            known, unresolved = dict[str, Spot](), list[tuple[str, Spot]]()
            for one in calls:
                meaning = self.links.meaning(one.call.target, path)
                if meaning.certainty == "sure":
                    known.setdefault(meaning.definitions[0], _spot_of(one))
                elif meaning.certainty == "outside":
                    if not one.call.target.startswith(BUILTIN):
                        known.setdefault(one.call.target, _spot_of(one))
                else:
                    unresolved.append((one.call.target or one.call.name, _spot_of(one)))
            made.append(
                CodeSubject(
                    normal,
                    self.links.kind(normal),
                    None,
                    await self._facts(known.items()),
                    await self._facts(unresolved),
                )
            )
        return await self._placed(made)

    async def _calls_by(self, name: str) -> list[PlacedCall]:
        return await code_calls.find_calls(self.connection, self.principal, [self.collection_id], name, MOST_CALLS)

    async def _unread(
        self, name: str, pick: Callable[[str, str, int], Iterator[tuple[int, int]]] = lines_that_call
    ) -> list[tuple[str, Spot]]:
        """Lines of files that no parser read."""
        files = await code_calls.find_unread(
            self.connection, self.principal, [self.collection_id], NO_SOURCE_TYPES, name, MOST_FILES
        )
        return [
            ("", (file.document_id, file.path, *span)) for file in files for span in pick(name, file.text, MOST_FILES)
        ]

    # --- imports and bases ---

    async def _importers(self, chosen: Sequence[str]) -> list[CodeSubject]:
        forms = module_forms(self.query.name)
        known: dict[str, list[Tie]] = {normal: [] for normal in chosen}
        unsure: dict[str, list[Tie]] = {normal: [] for normal in chosen}
        outside: list[Tie] = []
        for tie in self.links.ties:
            if tie.relation != "imports":
                continue
            meaning = self.links.meaning(tie.target, tie.source)
            into = known if meaning.certainty == "sure" else unsure
            meant = [one for one in meaning.definitions if one in known]
            for one in meant:
                into[one].append(tie)
            if not meaning.definitions and any(
                tie.target == form or tie.target.startswith(f"{form}.") for form in forms
            ):
                outside.append(tie)
        unread = await self._unread(forms[0].rpartition(".")[2], _lines_that_import) if forms else []
        subjects = [
            CodeSubject(
                normal, self.links.kind(normal), None,
                await self._proved(known[normal]), await self._proved(unsure[normal]) + await self._facts(unread),
            )
            for normal in chosen
        ]  # fmt: skip
        placed = [one for one in await self._placed(subjects) if one.known or one.unresolved or not outside]
        if outside or (not chosen and (unread or self.query.marked)):
            named = CodeSubject(self.query.name, "module", None, await self._proved(outside), await self._facts(unread))
            placed.append(named)
        return placed

    async def _imported(self, chosen: Sequence[str]) -> list[CodeSubject]:
        made = []
        for normal in chosen:
            ties = [tie for tie in self.links.ties if tie.relation == "imports" and tie.source == normal]
            # `from a import b` says a and a.b: the longer one says it all
            ties = [one for one in ties if not any(other.target.startswith(f"{one.target}.") for other in ties)]
            made.append(CodeSubject(normal, self.links.kind(normal), None, await self._proved(ties, by_target=True)))
        return await self._placed(made)

    async def _subclasses(self, chosen: Sequence[str]) -> list[CodeSubject]:
        ties = [tie for tie in self.links.ties if tie.relation == "inherits"]
        made = []
        for normal in chosen:
            known, unsure = list[Tie](), list[Tie]()
            for tie in ties:
                if tie.defined:
                    known += [tie] if tie.target == normal else []
                    continue
                meaning = self.links.meaning(tie.target, tie.source.partition(SEPARATOR)[0])
                if normal in meaning.definitions:
                    (known if meaning.certainty == "sure" else unsure).append(tie)
                elif meaning.certainty == "unknown" and tie.target.rpartition(".")[2] == called_name(normal):
                    unsure.append(tie)
            proved = await self._proved(known), await self._proved(unsure)
            made.append(CodeSubject(normal, self.links.kind(normal), None, *proved))
        if chosen:
            return await self._placed(made)
        wanted = self.query.name
        outside = [tie for tie in ties if not tie.defined and f".{tie.target}".endswith(f".{wanted}")]
        return [CodeSubject(outside[0].target, "class", None, await self._proved(outside))] if outside else []

    async def _bases(self, chosen: Sequence[str]) -> list[CodeSubject]:
        made = []
        for normal in chosen:
            ties = [tie for tie in self.links.ties if tie.relation == "inherits" and tie.source == normal]
            made.append(CodeSubject(normal, self.links.kind(normal), None, await self._proved(ties, by_target=True)))
        return await self._placed(made)

    # --- members ---

    async def _members(self, chosen: Sequence[str]) -> list[CodeSubject]:
        made = []
        for normal in chosen:
            inside = self.links.inside(normal)
            made.append(CodeSubject(normal, self.links.kind(normal), None, await self._definitions(inside)))
        return await self._placed(made)

    async def _holders(self, chosen: Sequence[str]) -> list[CodeSubject]:
        made = []
        for normal in chosen:
            path, _, name = normal.partition(SEPARATOR)
            owner = f"{path}{SEPARATOR}{name.rpartition('.')[0]}" if "." in name else path
            made.append(CodeSubject(normal, self.links.kind(normal), None, await self._definitions([owner])))
        return await self._placed(made)

    # --- declarations ---

    async def _declarations(self, chosen: Sequence[str]) -> list[CodeSubject]:
        """Each place of each definition; of a class what its constructor takes. Else where a constant or a field is set."""
        wanted = {normal: self._declared_by(normal) for normal in chosen}
        spots = await self._spots(wanted.values())
        texts = await graph_code.load_texts(
            self.connection, self.principal, list({spot[0] for found in spots.values() for spot in found})
        )
        made = []
        for normal, source in wanted.items():
            for spot in spots.get(source, ()):
                declared = await self._declared(normal, source, spot, texts[spot[0]])
                made.append(await self._told(declared, spot, texts[spot[0]], sum(map(len, spots.values()))))
        if made or not self.query.marked:
            return made
        loud = self.query.aspect in SPOKEN and self.query.name.rpartition(".")[2].isupper()
        return await self._assigned() if loud or self.query.aspect == "defined" else []

    async def _told(self, subject: CodeSubject, spot: Spot, text: str, several: int) -> CodeSubject:
        """With its documentation, or its source; of `several` definitions each has its share of what an answer shows."""
        document_id, path, *span = spot
        declared, aspect = subject.declaration, self.query.aspect
        if declared is None or aspect not in SPOKEN:
            return subject
        start, end = whole_lines(text, (span[0], span[1]))
        if aspect == "shown":
            whole = await self._facts([(subject.name, (document_id, path, start, end))])
            place = whole[0].place if whole else subject.place
            source, missing = first_lines(text, (start, end), MOST_SOURCE // several)
            return replace(subject, place=place, declaration=replace(declared, source=source, missing=missing))
        found = read_documentation(text, (span[0], span[1]), path, MOST_TOLD // several)
        if found is None:
            source, missing = first_lines(text, (start, end), MOST_BEGUN // several)
            return replace(subject, declaration=replace(declared, source=source, missing=missing))
        where = await self._facts([(subject.name, (document_id, path, *found.span))])
        return replace(subject, known=where, declaration=replace(declared, told=found.told, commented=found.commented))

    def _declared_by(self, normal: str) -> str:
        if self.links.kind(normal) == "class" and self.query.aspect in ("takes", "raises", "returns"):
            bare = normal.rpartition(SEPARATOR)[2].rpartition(".")[2]
            for name in (*sorted(CONSTRUCTORS), bare):
                if self.links.kind(f"{normal}.{name}"):
                    return f"{normal}.{name}"
        return normal

    async def _declared(self, normal: str, source: str, spot: Spot, text: str) -> CodeSubject:
        kind = self.links.kind(source)
        document_id, path, start, end = spot
        if kind == "module":
            [fact] = await self._facts([(normal, (document_id, path, start, start + 1))])
            return CodeSubject(normal, kind, fact.place)
        read = read_declaration(text, (start, end), source.rpartition(SEPARATOR)[2].rpartition(".")[2], path)
        head = (document_id, path, *read.signature)
        [first] = await self._facts([(source, head)])
        gives = await self._facts(("", (document_id, path, *span)) for span in read.gives)
        raises = await self._facts(("", (document_id, path, *span)) for span in read.raises)
        signature = " ".join(text[slice(*read.signature)].split())
        declared = DeclarationText(signature, read.parameters, read.returns, read.documented, gives, raises)
        return CodeSubject(normal, kind, first.place, declaration=declared)

    async def _assigned(self) -> list[CodeSubject]:
        name = self.query.name.rpartition(".")[2]
        found = [
            (document_id, path, *span)
            for document_id, path, text in await self._texts_with(name)
            for start, end in assignments(name, text, MOST_SEEN)
            for span in [(start, max(end, whole_statement(text, start, path)))]
        ]
        facts = await self._facts([(name, spot) for spot in found])
        return [CodeSubject(f"{one.place.path}{SEPARATOR}{name}", "", one.place) for one in facts[:MOST_SUBJECTS]]

    async def _seen(self) -> tuple[CodeFact, ...]:
        name = self.query.name.rpartition(".")[2]
        spots = [
            (document_id, path, *span)
            for document_id, path, text in await self._texts_with(name)
            for span in lines_with(name, text, 1)
        ]
        return await self._facts([("", spot) for spot in spots[:MOST_SEEN]])

    async def _texts_with(self, name: str) -> list[tuple[UUID, str, str]]:
        if not self.query.marked:
            return []
        return await graph_code.find_texts_with(
            self.connection, self.principal, self.collection_id, name, NO_SOURCE_TYPES, MOST_FILES
        )

    # --- where things stand ---

    def _id(self, normal: str, family: str = DEFINED) -> UUID:
        return entity_id(self.collection_id, EntityKey(family, normal))

    async def _spots(self, normals: Iterable[str]) -> dict[str, list[Spot]]:
        """Where definitions stand."""
        names = {self._id(normal): normal for normal in normals}
        found: dict[str, list[Spot]] = {}
        for key, span in await graph_code.find_definitions(self.connection, self.principal, list(names), MOST_SUBJECTS):
            found.setdefault(names[key], []).append(_spot(span))
        return found

    async def _documents(self, normals: Sequence[str]) -> dict[str, UUID]:
        spots = await self._spots(normals)
        return {normal: spots[normal][0][0] for normal in normals if normal in spots}

    async def _definitions(self, normals: Sequence[str]) -> tuple[CodeFact, ...]:
        spots = await self._spots(normals)
        firsts = [(normal, spots[normal][0]) for normal in normals if normal in spots]
        facts = await self._facts([(normal, (*spot[:2], spot[2], spot[2] + 1)) for normal, spot in firsts])
        return tuple(sorted(facts, key=lambda one: (one.place.path, one.place.start)))

    async def _placed(self, subjects: Sequence[CodeSubject]) -> list[CodeSubject]:
        """With where they are defined."""
        facts = {one.name: one.place for one in await self._definitions([one.name for one in subjects])}
        return [replace(one, place=facts.get(one.name)) for one in subjects]

    async def _proved(self, ties: Sequence[Tie], *, by_target: bool = False) -> tuple[CodeFact, ...]:
        """The first place of each tie; of several of one file, or class, the first one. `by_target`: what each leads to."""
        ids = {}
        for tie in ties:
            target = self._id(tie.target, DEFINED if tie.defined else REFERRED)
            ids[relation_id(self._id(tie.source), tie.relation, target)] = tie
        found: dict[str, Spot] = {}
        for key, span in await graph_code.find_proofs(self.connection, self.principal, list(ids)):
            tie = ids[key]
            found.setdefault(self._meant(tie) if by_target else tie.source, _spot(span))
        return await self._facts(found.items())

    def _meant(self, tie: Tie) -> str:
        if tie.defined:
            return tie.target
        meaning = self.links.meaning(tie.target, tie.source.partition(SEPARATOR)[0])
        return meaning.definitions[0] if meaning.certainty == "sure" else tie.target

    async def _facts(self, found: Iterable[tuple[str, Spot]]) -> tuple[CodeFact, ...]:
        """With passages and lines, in the order given, each line of a name once; without what no passage holds."""
        listed = list(found)
        points = [(spot[0], at) for _, spot in listed for at in (spot[2], max(spot[3] - 1, spot[2]))]
        if not points:
            return ()
        lines = await graph_code.line_numbers(self.connection, self.principal, points)
        passages = await graph_code.find_passages_at(
            self.connection, self.principal, [(spot[0], spot[2]) for _, spot in listed]
        )
        made: dict[tuple[str, str, int], CodeFact] = {}
        for name, (document_id, path, start, end) in listed:
            if (document_id, start) not in passages:
                continue
            first, last = lines[document_id, start], lines[document_id, max(end - 1, start)]
            place = SymbolPlace(passages[document_id, start], document_id, path, first, last, start, end)
            made.setdefault((name, path, first), CodeFact(name, place))
        return tuple(made.values())


def _is_far(path: str, normal: str) -> tuple[bool, bool]:
    """Lines of its own file come first, then those of its package."""
    home = normal.partition(SEPARATOR)[0]
    return path.partition("/")[0] != home.partition("/")[0], path != home


def _caller(one: PlacedCall) -> str:
    return f"{one.path}{SEPARATOR}{one.call.source}" if one.call.source else one.path


def _spot_of(one: PlacedCall) -> Spot:
    """Where the name stands: a call may begin lines before."""
    return one.document_id, one.path, max(one.call.end - len(one.call.name), one.call.start), one.call.end


def _spot(span: SymbolSpan) -> Spot:
    return span.document_id, span.path, span.start, span.end


def _lines_that_import(name: str, text: str, most: int) -> Iterator[tuple[int, int]]:
    """Spans of a name on lines that import something, in code that no parser read."""
    for start, end in lines_with(name, text, most):
        begin = text.rfind("\n", 0, start) + 1
        if any(word in text[begin:start].lower() for word in ("import", "require", "include", "use", "using", "load")):
            yield start, end
