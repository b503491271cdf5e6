# SPDX-License-Identifier: GPL-2.0
"""Guests of the measuring drivers: what to boot, run through vm.py."""

import concurrent.futures
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.path.join(TOP, "build")
VM = os.path.join(TOP, "tools", "testing", "qemu", "vm.py")


class CannotRun(Exception):
    """Nothing could be measured; the message says why in one line."""


@dataclass
class Boot:
    """One guest: kernel, script and the options of vm.py."""
    label: str
    kernel: str
    script: str
    out: str
    args: list = field(default_factory=list)
    options: list = field(default_factory=list)
    timeout: int = 300

    def command(self):
        words = [sys.executable, VM, "--kernel", self.kernel,
                 "--script", os.path.join(HERE, self.script),
                 "--out", self.out, "--timeout", str(self.timeout)]
        for arg in self.args:
            words += ["--arg", arg]
        return words + self.options

    def read(self, name):
        """Text of a file the guest left, or of one of its logs."""
        try:
            with open(os.path.join(self.out, name), encoding="utf-8",
                      errors="replace") as source:
                return source.read()
        except FileNotFoundError as err:
            raise CannotRun(f"{self.label}: no {name} came back") from err


def icount_options(mem, shift, params="", files=()):
    """Options of vm.py for a guest whose time is counted in instructions.

    Without the random numbers of the CPU two boots are alike to the last
    instruction.  So that repeats still show how much a figure depends on chance,
    such as the timer tick that falls into it, shift moves the start.
    """
    options = ["--icount", "--smp", "1", "--mem", str(mem),
               "--env", f"SHIFT={shift}",
               "--append", f"clearcpuid=rdrand,rdseed quiet {params}".strip()]
    for name in files:
        options += ["--file", os.path.join(HERE, name)]
    return options


def check_kernel(path):
    if not os.path.isfile(path):
        raise CannotRun(f"no kernel image {path}: build it first")


def config_of(kernel):
    """Path of the configuration of a kernel that lies in its built tree."""
    tree = os.path.join(os.path.dirname(os.path.abspath(kernel)), "../../..")
    return os.path.normpath(os.path.join(tree, ".config"))


def _settings(kernel):
    """The lines of a configuration that can change what a kernel does."""
    with open(config_of(kernel), encoding="utf-8") as source:
        return {line for line in source.read().splitlines()
                if "CONFIG_" in line and not re.search(
                    r"CONFIG_(LOCALVERSION|KERNEL_[A-Z0-9]+)\b", line)}


def check_same_config(base, patched):
    """Kernels of different configurations cannot be compared."""
    if not all(os.path.isfile(config_of(each)) for each in (base, patched)):
        return                      # images from elsewhere
    differ = _settings(base) ^ _settings(patched)
    if differ:
        raise CannotRun("the kernels are configured differently: "
                        + sorted(differ)[0])


def build_writer():
    """Compile the guest program if needed; returns its path."""
    source = os.path.join(HERE, "writer.c")
    program = os.path.join(BUILD, "tools", "writer")
    if (os.path.exists(program)
            and os.path.getmtime(program) >= os.path.getmtime(source)):
        return program
    os.makedirs(os.path.dirname(program), exist_ok=True)
    new = f"{program}.{os.getpid()}"
    done = subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-Wall",
                           "-static", "-o", new, source], check=False,
                          capture_output=True, text=True)
    if done.returncode:
        raise CannotRun("writer.c does not build: "
                        + (done.stderr.strip().splitlines() or ["?"])[-1])
    os.replace(new, program)
    return program


_running = set()                    # vm.py processes, to be ended on a signal


def catch_signals():
    """Let SIGTERM and SIGHUP end a driver the way Ctrl-C does."""
    def interrupt(_number, _frame):
        raise KeyboardInterrupt
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def run(boot):
    """Run one guest to its end; anything but a pass is CannotRun."""
    with subprocess.Popen(boot.command(), stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT) as child:
        _running.add(child)
        try:
            text, _ = child.communicate()
        except BaseException:
            child.terminate()       # vm.py ends its guest
            raise
        finally:
            _running.discard(child)
    if child.returncode == 0:
        return boot
    lines = text.strip().splitlines()
    for line in lines[:-1]:
        print("    " + line, file=sys.stderr)
    raise CannotRun(f"{boot.label}: {lines[-1] if lines else 'vm.py failed'}"
                    f" (logs: {boot.out})")


def run_all(boots, workers=2):
    """Run guests, workers at a time; yields each as it ends."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(run, boot) for boot in boots]
        try:
            for done in concurrent.futures.as_completed(running):
                yield done.result()
        except BaseException:
            for each in running:
                each.cancel()
            for child in list(_running):
                child.terminate()
            raise


def main(name, work):
    """Run a driver: work() gives its exit status, trouble gets one line."""
    catch_signals()
    try:
        return work()
    except (CannotRun, OSError) as err:
        print(f"{name}: could not run: {err}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130


def parse_figures(text, tag):
    """The "tag: key=value ..." lines of a guest, as dictionaries."""
    found = []
    for line in re.findall(rf"^{tag}: (.*)$", text, re.MULTILINE):
        fields = dict(word.split("=", 1) for word in line.split()
                      if "=" in word)
        found.append({key: int(value) if value.isdigit() else value
                      for key, value in fields.items()})
    return found


def one_figure(boot, tag):
    """The only line of a tag that a guest has printed, as a dictionary."""
    found = parse_figures(boot.read("script.log"), tag)
    if len(found) != 1:
        raise CannotRun(f"{boot.label}: the guest did not report {tag}")
    return found[0]
