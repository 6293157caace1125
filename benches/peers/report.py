"""The table."""

import datetime
import os
import pathlib
import platform

import score


def machine():
    """Cores, memory and kernel; nothing that names the machine."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    memory = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) / 1024**2
    release = ".".join(platform.release().split("-")[0].split(".")[:2])
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, Linux {release}"


def beside(value, ours, form):
    """A value with its ratio to doze's."""
    if not ours or ours == value:
        return f"{value:{form}}"
    ratio = value / ours
    return f"{value:{form}} ({ratio:.0f}×)" if ratio >= 10 else f"{value:{form}} ({ratio:.2g}×)"


def measured(result, ours):
    """The cells of one row; `ours` is doze's result, if it was measured."""
    if "start" not in result:
        return ["–"] * 10

    def cell(value, form):
        mine = ours and value(ours)
        return beside(value(result), mine, form)

    return [
        cell(lambda one: one["start"], ".2f"),
        cell(lambda one: one["whole"], ".2f"),
        cell(lambda one: one["idle"][0], ".0f"),
        cell(lambda one: one["idle"][1], ".0f"),
        cell(lambda one: one["busy"][0], ".0f"),
        f"{cell(lambda one: one['add'][0], '.1f')} / {result['add'][1]:.0f}",
        f"{result['settled']:.0f}",
        f"{cell(lambda one: one['search'][0], '.1f')} / {result['search'][1]:.0f}",
        str(result["refused"]),
        f"{result.get('load', float('nan')):.1f}",
    ]


def table(results, notes, questions):
    ours = results.get("doze")
    ours = ours if ours and "start" in ours else None
    halves = [(name, [one for one in questions if one.dev == dev]) for name, dev in (("development", True), ("test", False))]
    halves = [(name, some) for name, some in halves if some]
    lines = [
        f"{machine()}, {datetime.date.today()}, {len(notes)} notes, "
        + " and ".join(f"{len(some)} questions of the {name} half" for name, some in halves)
        + ".",
        "",
        "| | start s | with meaning s | idle MiB | of it PSS | after work MiB | add ms p50 / p99 | settled s "
        "| search ms p50 / p99 | refused | load |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, result in results.items():
        lines.append(f"| {titled(name, result)} | " + " | ".join(measured(result, ours)) + " |")
    heads = [f"{measure}, {half}" for half, _ in halves for measure in ("any@5", "recall@10")]
    lines += ["", "| | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(heads)]
    for name, result in results.items():
        if "rankings" in result:
            cells = [f"{value:.1f}" for _, some in halves for value in score.quality(result["rankings"], some)]
            lines.append(f"| {titled(name, result)} | " + " | ".join(cells) + " |")
    lines += ["", "| | …port 5433 beside …port 5432 | Never beside Always push to main | a pasted AWS key |", "|---|---|---|---|"]
    for name, result in results.items():
        if "ports" in result:
            lines.append(f"| {titled(name, result)} | {result['ports']} | {result['push']} | {result['key']} |")
    for name, result in results.items():
        if "failed" in result:
            lines += ["", f"{name} could not be run: {result['failed']}"]
    return "\n".join(lines) + "\n"


def titled(name, result):
    return f"{name} {result['version']}" if "version" in result else name
