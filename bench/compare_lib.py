# SPDX-License-Identifier: BSD-3-Clause
"""What the comparisons share: their options, runs of beeline-bench, and the file and last line they end with."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def parser(description):
    """A parser with the options that every comparison has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--build", default=os.path.join(TOP, "build"), help="build folder (default: build/)")
    made.add_argument("--rounds", type=int, default=5, help="rounds of all runs (default: 5)")
    made.add_argument("--quick", action="store_true", help="fewer iterations or sizes; ends within a minute")
    made.add_argument("--json", metavar="FILE", help="write the rows as docs/bench.md describes")
    made.add_argument("--plot", metavar="FILE.svg", help="draw them")
    return made


def parse(made, programs):
    """The arguments, once they make sense and the build folder holds all `programs`."""
    arguments = made.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    if arguments.rounds < 1:
        made.error("--rounds must be at least 1")
    for program in programs:
        if not os.access(os.path.join(arguments.build, program), os.X_OK):
            made.error(f"{arguments.build} holds no {program}; build first, or name the folder with --build")
    return arguments


class RunFailed(SystemExit):
    """A program of a comparison failed: the end of the comparison, unless a rival's runs may fail."""


class Runner:
    """Runs programs of the build folder and shows on a terminal how far it is."""

    def __init__(self, arguments, name, total):
        self.build, self.name, self.total, self.runs = arguments.build, name, total, 0
        self.deaths = {}  # of rivals: what ran -> times it failed

    def _show(self, what):
        self.runs += 1
        if sys.stderr.isatty():
            print(f"\r\033[K{self.name}: run {self.runs} of {self.total}: {what}", end="", file=sys.stderr, flush=True)

    def close(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)

    def output_of(self, command, what):
        """Standard output of a program that must succeed."""
        self._show(what)
        done = subprocess.run(command, env={**os.environ, "BEELINE_BUILD": self.build}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise RunFailed(f"{self.name}: {what} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def bench(self, launch, test, what, ranks=2, starter=(), limit=240):
        """One run of beeline-bench; returns its JSON document. `launch` are options for mpirun.sh, `test`
        the words for beeline-bench, `starter` what starts it in each rank."""
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "rows.json")
            mpirun = os.path.join(TOP, "tests", "support", "mpirun.sh")
            words = ["-n", str(ranks), *starter, os.path.join(self.build, "beeline-bench"), *test, "--json", output]
            self.output_of([mpirun, "--timeout", str(limit), *launch, *words], what)
            with open(output, encoding="utf-8") as file:
                return json.load(file)

    def bench_rival(self, launch, test, what, ranks=2):
        """As bench(), for a stack that isn't ours: where it fails or hangs (Open MPI 4.1.4's ob1 does both at times
        with two threads a rank) that is counted for print_deaths(), and None returned."""
        try:
            return self.bench(launch, test, what, ranks, limit=60)
        except RunFailed:
            self.deaths[what] = self.deaths.get(what, 0) + 1
            return None

    def print_deaths(self):
        for what, times in self.deaths.items():
            print(f"# {what}: {times} runs failed and are left out")

    def need_beeline(self, document):
        if all(row["path"] == "-" for row in document["rows"]):
            sys.exit(f"{self.name}: pml beeline was not selected; is it installed? (make check, or make install)")


def compare(values, rival_values, unit):
    """(median, median of the rival, ratio, spread). The ratio is of costs: time, or inverse bandwidth. It is the median
    of the rounds' own ratios where both have all rounds: what a machine does to all runs of a round alike, such as
    placing two processors in one core or in two, is then not taken for a difference."""
    mine, other = statistics.median(values), statistics.median(rival_values)
    pairs = list(zip(values, rival_values)) if len(values) == len(rival_values) else [(mine, other)]
    ratio = statistics.median(a / b if unit == "us" else b / a for a, b in pairs)
    return mine, other, ratio, (max(values) - min(values)) / mine


def finish(arguments, title, machine, rows):
    """Writes the JSON file if one is asked for, and the last line."""
    keys = ("name", "bytes", "value", "unit", "rival", "rival_value", "ratio", "spread")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"title": title, "machine": machine,
                       "rows": [{key: row[key] for key in keys} for row in rows]}, file, indent=2)
            file.write("\n")
    worst = max(rows, key=lambda row: row["ratio"])
    print(f"worst ratio {worst['ratio']:.2f} at {worst['name']} {worst['bytes']}")
