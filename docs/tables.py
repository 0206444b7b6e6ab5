"""Commands, settings, presets, tasks and formats as Markdown that is made from the code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import docstring_parser

from dgltrees.cli import COMMANDS
from dgltrees.commands.arguments import help_text
from dgltrees.errors import ConfigError
from dgltrees.formats import FORMATS, RecordLayout
from dgltrees.settings import Option, Options, options_of
from dgltrees.settings.catalog import PRESETS, describe, load_preset, paper_of, preset_names
from dgltrees.settings.layers import SECTIONS, section_sources
from dgltrees.settings.options import GOOGLE
from dgltrees.settings.tasks import TASKS
from dgltrees.tasks import CustomTreesTask

PAPERS = {
    "core": "Custom trees",
    "nti": "Neural Tree Indexers",
    "rrnet": "RRNet",
    "tensor_tree_lstm": "Tensor Tree-LSTMs",
    "top_down": "Top-down Tree-LSTMs",
}
"""The titles of groups of presets."""


def inline(text: str) -> str:
    """Return one line of Markdown that begins with a capital letter and ends with a full stop."""
    text = " ".join(re.sub(r"``([^`]+)``", r"`\1`", text).split())
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([<>*_\[\]{}|])", r"\\\1", part) for part in parts[::2]]
    parts[::2] = [re.sub(r"(?<!\S)(--[\w.\\-]*\w)", flag, part) for part in parts[::2]]
    text = "".join(parts)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def flag(match: re.Match[str]) -> str:
    """Return a flag as code: two dashes in a sentence would become one."""
    return "`" + match.group(1).replace("\\", "") + "`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def code(names: Iterable[object]) -> str:
    """Return names as code, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def value(default: object) -> str:
    """Return the default of an option."""
    if default is None:
        return "default: none"
    return f"default: `{str(default).lower() if isinstance(default, bool) else default}`"


# Commands


def commands() -> Iterator[str]:
    """Yield the usage and the arguments of each command."""
    for name, command in COMMANDS.items():
        rows = command.items() if isinstance(command, Mapping) else [("", command)]
        yield f"## {name}"
        yield ""
        if isinstance(command, Mapping):
            yield f"{inline(COMMANDS.summary(name))}"
            yield ""
        for word, function in rows:
            if word:
                yield f"### {name} {word}"
                yield ""
            yield from command_help(function, f"{name} {word}".strip())


def command_help(command: object, name: str) -> Iterator[str]:
    """Yield the usage, the description and the arguments of a command."""
    docstring = docstring_parser.parse(inspect.getdoc(command) or "", GOOGLE)
    about, example = docstring.short_description or "", ""
    if f": {name} " in about:
        about, example = about.split(": ", 1)
    yield "```text"
    yield help_text(command, name).partition("\n")[0]
    if example:
        yield f"example: dgltrees {example.rstrip('.')}"
    yield "```"
    yield ""
    yield inline(about)
    yield ""
    for paragraph in (docstring.long_description or "").split("\n\n"):
        yield inline(paragraph) if paragraph else ""
        yield ""
    parameters = inspect.signature(command).parameters
    options = {each: option for each, option in options_of(command).items() if each != "layer"}
    if options.pop("layout", None) is not None:
        options.update(options_of(RecordLayout))
    rows = []
    for each, option in options.items():
        parameter = parameters.get(each)
        positional = parameter and parameter.kind is not parameter.KEYWORD_ONLY
        required = parameter and parameter.default is parameter.empty
        flag = each.upper() if positional else f"--{each}"
        kind = f"{option.words}; {'required' if required else value(option.default)}"
        rows.append((f"`{flag}`", inline(option.sentence), kind))
    if rows:
        yield from table(("argument", "description", "value"), rows)


# Settings and presets


def settings() -> Iterator[str]:
    """Yield the settings of all tasks, with the tasks and choices for which they have an effect."""
    found = variants()
    for section in SECTIONS:
        yield f"## Settings: {section}"
        yield ""
        for name, rows in found[section].items():
            for (sentence, words, default), (names, where) in rows.items():
                yield f"`--{section}.{name}` ({words}; {value(default)})"
                about = [inline(sentence)]
                if where:
                    given = (f"`{each}` is {either(sorted(where[each]))}" for each in where)
                    about.append(f"*If {', or if '.join(given)}.*")
                if len(names) < len(TASKS):
                    about.append(f"*Tasks: {some(names)}.*")
                yield f": {' '.join(about)}"
                yield ""


def presets() -> Iterator[str]:
    """Yield tables of the presets: one of custom trees, and one per paper."""
    for group in PRESETS:
        yield f"### {PAPERS.get(group, group)}"
        yield ""
        names = [name for name in preset_names() if name in PRESETS[group]]
        about = ((code([load_preset(name).task.name]), about_preset(name)) for name in names)
        equal: dict[tuple[str, str], list[str]] = {}
        for name, row in zip(names, about):
            equal.setdefault(row, []).append(name)
        rows = ((code(names), *row) for row, names in equal.items())
        yield from table(("preset", "task", "description"), rows)


def either(names: Sequence[str]) -> str:
    """Return names as alternatives."""
    return " or ".join(filter(None, [code(names[:-1]), code(names[-1:])]))


def some(tasks: Sequence[str]) -> str:
    """Return some of the tasks, in a short form if they are nearly all or those of custom trees."""
    others = [task for task in TASKS if task not in tasks]
    if len(others) < 4:
        return f"all except {code(others)}"
    custom = [name for name, task in TASKS.items() if isinstance(task, CustomTreesTask)]
    if {*custom} <= {*tasks}:
        rest = code(task for task in tasks if task not in custom)
        return "those on custom trees" + (f", {rest}" if rest else "")
    return code(tasks)


def about_preset(name: str) -> str:
    """Return the description of a preset, with the table of the paper that has it."""
    paper = paper_of(name)
    return inline(describe(name)) + (f" ({paper})" if paper else "")


Variant = tuple[str, str, object]
"""The sentence, type and default of a setting."""


def variants() -> dict[str, dict[str, dict[Variant, tuple[list[str], dict[str, set[str]]]]]]:
    """Return the tasks and the conditions of the variants of each setting, by section."""
    found: dict[str, dict[str, dict[Variant, tuple[list[str], dict[str, set[str]]]]]] = {}
    for task in TASKS:
        for section, source in section_sources(TASKS[task]).items():
            for name, (option, where) in readable(Options(source, {}, section)).items():
                default = str(option.default) if option.default is not None else None
                key = (option.sentence, option.words, default)
                rows = found.setdefault(section, {}).setdefault(name, {})
                tasks, conditions = rows.setdefault(key, ([], {}))
                tasks.append(task)
                for other, values in where.items():
                    conditions.setdefault(other, set()).update(values)
    return found


def readable(options: Options) -> dict[str, tuple[Option, dict[str, set[str]]]]:
    """Return the options that some choice of the others makes readable, and these choices."""
    found = {name: (option, {}) for name, option in options.options.items()}
    queue = [(options, [*options])]
    while queue:
        before, names = queue.pop()
        for name in names:
            for choice in choices(before.options[name], before[name]):
                try:
                    after = before.replace(**{name: choice})
                except ConfigError:  # this choice needs others
                    continue
                new = [each for each in after if each not in before]
                queue += [(after, new)] if set(new) - {*found} else []
                for each in new:
                    _, where = found.setdefault(each, (after.options[each], {}))
                    if each not in options:
                        where.setdefault(name, set()).add(str(choice).lower())
    return found


def choices(option: Option, now: object) -> list[object]:
    """Return the other values of an option that may add options."""
    if option.choices is not None:
        return [name for name in option.choices if name != now]
    return [not now] if isinstance(now, bool) else []


# Tasks and formats


def tasks() -> Iterator[str]:
    """Yield the metrics, formats and presets of each task."""
    named: dict[str, list[str]] = {}
    for name in preset_names():
        named.setdefault(load_preset(name).task.name, []).append(name)
    for name, task in TASKS.items():
        yield f"### {name}"
        yield ""
        if name in named.get(name, []) and not paper_of(name):
            yield inline(describe(name))
            yield ""
        yield f"- Metrics: {code(metric.name for metric in task.metrics)}"
        yield f"- Formats: {code(task.formats) or 'those of custom trees, such as `jsonl`'}"
        if task.reads:
            yield f"- Files: {inline(task.reads)}"
        yield f"- Presets: {code(named.get(name, [])) or 'none'}"
        yield ""


def formats() -> Iterator[str]:
    """Yield a table of the formats."""
    rows = (
        (
            f"`{name}`",
            inline(each.description),
            code(each.suffixes),
            code(each.layout),
            "read, write" if each.write else "read",
        )
        for name, each in FORMATS.items()
    )
    yield from table(("format", "content", "endings", "layout", "use"), rows)


PARTS = {
    "commands.txt": commands,
    "settings.txt": settings,
    "presets.txt": presets,
    "tasks.txt": tasks,
    "formats.txt": formats,
}
"""The parts of pages in ``docs/reference``, which include them."""
