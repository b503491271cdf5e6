#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boot a kernel under QEMU, run one script in it and give a verdict.

The guest lives in an initramfs.  Its console is ttyS0; results come back as a
compressed tar archive over ttyS1.  Exit codes: 0 pass, 1 fail, 2 could not
run, 4 skipped, 5 guest panic, 6 kernel warning or report, 7 timeout, 8 did not
boot.  vm.py --scan FILE only looks for kernel reports in a log (0 or 6).
"""

import argparse
import collections
import ctypes
import fcntl
import io
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib
from pathlib import Path

sys.dont_write_bytecode = True      # the source tree stays clean
import kernel_log                   # noqa: E402
import mkinitramfs                  # noqa: E402

HERE = mkinitramfs.HERE
BUILD = mkinitramfs.BUILD
PASS, FAIL, CANNOT, SKIP, PANIC, REPORT, TIMEOUT, NOBOOT = 0, 1, 2, 4, 5, 6, 7, 8
WORDS = {PASS: "pass", FAIL: "fail", CANNOT: "could not run", SKIP: "skipped",
         PANIC: "guest panic", REPORT: "kernel report", TIMEOUT: "timeout",
         NOBOOT: "did not boot"}
INIT_RAN = "vm-init: start"
# null_blk and brd devices are made by the scripts that need them; devkmsg=on
# lets a script write to the log without being rate limited.
PARAMS = ("console=ttyS0 panic=-1 printk.time=1 printk.devkmsg=on "
          "kunit.enable=0 null_blk.nr_devices=0 brd.rd_nr=0")
KVM_NODE = os.environ.get("VM_KVM_NODE", "/dev/kvm")
QEMU = os.environ.get("VM_QEMU", "qemu-system-x86_64")
PROBE_SECONDS = int(os.environ.get("VM_KVM_SECONDS", "10"))
TAIL = 15                           # console lines shown on trouble
MIB = 1 << 20

Verdict = collections.namedtuple("Verdict", "code reason", defaults=("",))


class CannotRun(Exception):
    """The run could not take place; the text says why in one line."""


class Interrupted(Exception):
    """A signal asked for the end of the run."""


# ---- arguments ---------------------------------------------------------------

class Parser(argparse.ArgumentParser):
    """Argument parser that answers bad input with one line."""

    def error(self, message):
        raise CannotRun(message)


def positive(text):
    """Parse an integer above zero."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"not a positive number: '{text}'")
    return int(text)


def nvme_spec(text):
    """Parse COUNT[:MIB]."""
    match = re.fullmatch(r"([1-8])(?::([1-9][0-9]{0,6}))?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"not COUNT[:MIB], COUNT 1 to 8: '{text}'")
    return int(match[1]), int(match[2] or 1024)


def env_spec(text):
    """Parse NAME=VALUE."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", text, re.S):
        raise argparse.ArgumentTypeError(f"not NAME=VALUE: '{text}'")
    return text.split("=", 1)


def build_parser():
    """Describe the command line."""
    parser = Parser(prog="vm.py", description=__doc__, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--kernel", metavar="BZIMAGE")
    add("--script", metavar="GUEST_SCRIPT")
    add("--arg", action="append", default=[], metavar="WORD")
    add("--env", action="append", default=[], type=env_spec, metavar="K=V")
    add("--file", action="append", default=[], metavar="PATH[:GUESTPATH]",
        help="copied to /vm/ under its own name unless GUESTPATH is given")
    add("--smp", type=positive, default=1, metavar="N")
    add("--mem", type=positive, default=2048, metavar="MIB")
    add("--icount", action="store_true",
        help="guest time counts instructions; repeatable, but for --nvme")
    add("--nvme", type=nvme_spec, metavar="COUNT[:MIB]")
    add("--timeout", type=positive, default=120, metavar="SEC")
    add("--append", action="append", default=[], metavar="PARAMS")
    add("--userland", choices=tuple(mkinitramfs.USERLANDS), default="small")
    add("--accel", choices=("auto", "tcg", "kvm"), default="tcg")
    add("--out", type=Path, metavar="DIR")
    add("--verbose", action="store_true", help="show the console")
    add("--scan", type=Path, metavar="FILE", help="only scan a log")
    return parser


def readable(path, what):
    """Complain unless @path is a file that can be read."""
    if not os.path.isfile(path):
        raise CannotRun(f"no such {what}: {path}")
    if not os.access(path, os.R_OK):
        raise CannotRun(f"cannot read {what}: {path}")


def parse(argv):
    """Return checked options."""
    opts = build_parser().parse_args(argv)
    if opts.scan:
        readable(opts.scan, "log")
        return opts
    for name in ("kernel", "script"):
        if not getattr(opts, name):
            raise CannotRun(f"--{name} is missing")
        readable(getattr(opts, name), name)
    if opts.icount and opts.accel == "kvm":
        raise CannotRun("--icount needs TCG")
    for spec in opts.file:
        split_file(spec)
    check_memory(opts)
    return opts


def check_memory(opts):
    """Refuse a guest that the host could only run until the OOM killer comes."""
    count, size = opts.nvme or (0, 0)
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        have = int(re.search(r"MemTotal: +(\d+)", meminfo.read())[1]) // 1024
    if opts.mem + count * size > have:
        raise CannotRun(f"guest memory and drives need {opts.mem + count * size}"
                        f" MiB, this machine has {have}")


# ---- what the guest is given -------------------------------------------------

def run_text(opts):
    """Return the shell text that starts the script inside the guest."""
    lines = [f"export {key}={shlex.quote(value)}" for key, value in opts.env]
    words = ["exec", "setsid", "/bin/sh", "/vm/script", *opts.arg]
    return "\n".join([*lines, shlex.join(words)]) + "\n"


def split_file(spec):
    """Split PATH[:GUESTPATH] into a host path and a guest name."""
    path, colon, guest = spec.rpartition(":")
    if not colon or os.path.isfile(spec):
        path, guest = spec, "/vm/" + os.path.basename(spec)
    readable(path, "file")
    guest = os.path.normpath(guest).lstrip("/")
    if guest in ("", ".", "init", "vm/script", "vm/run") or guest.startswith(".."):
        raise CannotRun(f"bad guest path in --file {spec}")
    return path, guest


def guest_files(opts):
    """Return {guest name: (data, mode)} of this run."""
    files = {}
    tools = BUILD / "tools"
    for tool in sorted(tools.iterdir()) if tools.is_dir() else ():
        if tool.is_file() and os.access(tool, os.X_OK):
            files["usr/bin/" + tool.name] = (tool.read_bytes(), 0o755)
    for spec in opts.file:
        path, guest = split_file(spec)
        files[guest] = (Path(path).read_bytes(), os.stat(path).st_mode & 0o777)
    library = HERE / "guest-lib.sh"
    files["vm/guest-lib.sh"] = (library.read_bytes(), 0o644)
    files["vm/script"] = (Path(opts.script).read_bytes(), 0o755)
    files["vm/run"] = (run_text(opts).encode(), 0o644)
    return files


def make_initrd(opts):
    """Return a memory file with the whole initramfs; nothing to clean up."""
    try:
        base = mkinitramfs.base_image(opts.userland)
    except mkinitramfs.MissingPackage as err:
        raise CannotRun(str(err)) from err
    memfd = os.fdopen(os.memfd_create("initramfs"), "wb")
    with open(base, "rb") as image:
        shutil.copyfileobj(image, memfd, MIB)
    mkinitramfs.run_archive(memfd, guest_files(opts))
    memfd.flush()
    return memfd


def make_drives(opts):
    """Return memory files for the NVMe drives."""
    count, size = opts.nvme or (0, 0)
    drives = []
    for number in range(count):
        drive = os.fdopen(os.memfd_create(f"nvme{number}"), "r+b")
        os.posix_fallocate(drive.fileno(), 0, size * MIB)
        drives.append(drive)
    return drives


# ---- QEMU --------------------------------------------------------------------

def by_fd(file):
    """Return the path under which QEMU finds an inherited file."""
    return f"/proc/self/fd/{file.fileno()}"


def accel_args(opts, accel):
    """Return the options that choose how guest code is executed."""
    if accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    if opts.icount:
        # rep movsb would count as one instruction per byte copied.  Emulated NVMe
        # completes in host time, which a guest that waits for it has to spend.
        sleep = "on" if opts.nvme else "off"
        return ["-accel", "tcg", "-icount", f"shift=0,sleep={sleep}",
                "-cpu", "max,-erms,-fsrm", "-rtc", "base=2024-01-01,clock=vm"]
    return ["-accel", "tcg,thread=multi", "-cpu", "max"]


def drive_args(drives):
    """Return the options for the emulated NVMe drives."""
    args = []
    for number, drive in enumerate(drives):
        args += ["-drive", f"file={by_fd(drive)},if=none,id=nvme{number},"
                 "format=raw,cache=unsafe,discard=unmap",
                 "-device", f"nvme,drive=nvme{number},serial=vm{number}"]
    return args


def memory_args(opts):
    """Return the options for the guest's memory.

    Guests with drives run in host time.  The host's memory behind such a guest
    is there from the start: otherwise the first touch of each page, which can
    be slower than all that the guest does with it, falls into some measurement.
    """
    args = ["-m", str(opts.mem)]
    if opts.nvme:
        args += ["-machine", "memory-backend=ram", "-object", "memory-backend-ram,"
                 f"id=ram,size={opts.mem}M,prealloc=on"]
    return args


def serial_args(pipes):
    """Return the options that connect the serial ports to our pipes."""
    args = []
    for number, pipe in enumerate(pipes):
        args += ["-chardev", f"file,id=tty{number},path={by_fd(pipe)}",
                 "-serial", f"chardev:tty{number}"]
    return args


def kernel_params(opts):
    """Return the kernel command line; the caller's words come last and win."""
    return " ".join(filter(None, (PARAMS, *opts.append)))


def find_qemu():
    """Return the emulator's path."""
    path = shutil.which(QEMU)
    if not path:
        raise CannotRun(f"{QEMU} is not installed: apt-get install qemu-system-x86")
    return path


def die_with(parent):
    """Return a function that ties a child's life to @parent, however it ends."""
    libc = ctypes.CDLL(None, use_errno=True)

    def tie():
        libc.prctl(1, signal.SIGKILL)       # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(CANNOT)
    return tie


class Machine:
    """One running QEMU, with the read ends of its two serial ports."""

    def __init__(self, opts, accel):
        self.process = None
        self.ports = []
        self.stderr = tempfile.TemporaryFile()
        initrd, drives = make_initrd(opts), make_drives(opts)
        writers = [self._port(), self._port()]
        self.command = [
            find_qemu(), "-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none", "-smp", str(opts.smp), *memory_args(opts),
            *accel_args(opts, accel), *serial_args(writers),
            *drive_args(drives), "-kernel", str(opts.kernel),
            "-initrd", by_fd(initrd),
            "-append", kernel_params(opts)]
        self.inherit = [initrd, *drives, *writers]

    def _port(self):
        """Make one pipe, roomy so that the guest never waits for us."""
        reader, writer = (os.fdopen(fd, mode, buffering=0) for fd, mode
                          in zip(os.pipe(), ("rb", "wb")))
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, MIB)
        self.ports.append(reader)
        return writer

    def start(self):
        """Start QEMU in a session of its own: Ctrl-C reaches only us."""
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=self.stderr,
            stderr=self.stderr, start_new_session=True,
            pass_fds=[file.fileno() for file in self.inherit],
            preexec_fn=die_with(os.getpid()))
        for file in self.inherit:
            file.close()

    def stop(self):
        """Make sure that no QEMU is left."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def complaint(self):
        """Return what QEMU itself printed."""
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace").strip()


# ---- the run -----------------------------------------------------------------

class Log:
    """An append-only file whose writes fail loudly."""

    def __init__(self, path):
        self.file = open(path, "wb", buffering=0)

    def write(self, data):
        """Write all of @data; a full disk raises OSError."""
        view = memoryview(data)
        while view:
            view = view[self.file.write(view):]


def pump(machine, sinks, seconds):
    """Move serial output to @sinks until QEMU ends; False means timeout."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for port, sink in zip(machine.ports, sinks):
            selector.register(port, selectors.EVENT_READ, sink)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(left):
                data = key.fileobj.read(MIB)
                if data:
                    key.data(data)
                else:
                    selector.unregister(key.fileobj)
    # both ports closed: QEMU is gone or about to go
    try:
        machine.process.wait(max(1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


class Outcome:
    """What a run left behind."""

    def __init__(self):
        self.console = bytearray()
        self.archive = bytearray()
        self.in_time = True
        self.exit_code = 0
        self.complaint = ""

    @property
    def text(self):
        """The console as text."""
        return self.console.decode(errors="replace")


def boot(opts, accel, console_sink, command_sink=None):
    """Run the guest once and return its Outcome."""
    outcome = Outcome()
    machine = Machine(opts, accel)

    def console(data):
        data = data.replace(b"\r", b"")
        outcome.console.extend(data)
        console_sink(data)

    try:
        if command_sink:
            command_sink(machine.command)
        machine.start()
        outcome.in_time = pump(machine, (console, outcome.archive.extend),
                               opts.timeout)
    finally:
        machine.stop()
    outcome.exit_code = machine.process.returncode
    outcome.complaint = machine.complaint()
    return outcome


def unpack(archive):
    """Return {name: data or None for a directory}, or None when incomplete."""
    try:
        raw = zlib.decompressobj(wbits=31)
        data = raw.decompress(bytes(archive)) + raw.flush()
        if not raw.eof:
            return None
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            found = {m.name: tar.extractfile(m).read() if m.isfile() else None
                     for m in tar.getmembers() if m.isfile() or m.isdir()}
    except (zlib.error, tarfile.TarError, EOFError):
        return None
    return found if "vm/status" in found else None


def store(found, out):
    """Write what came back to the directory @out."""
    for name, data in found.items():
        inner = Path(name.removeprefix("vm/"))
        if ".." in inner.parts or inner.is_absolute() or name == "vm/status":
            continue
        path = out / inner
        if data is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def rescued_script_log(text):
    """Return the console from init's start on, when no archive came back."""
    return text[text.find(INIT_RAN) + len(INIT_RAN):].lstrip("\n")


def script_verdict(found):
    """Turn the script's exit status into a verdict."""
    status = int(found["vm/status"])
    if status == PASS:
        return Verdict(PASS)
    if status == SKIP:
        lines = found["vm/script.log"].decode(errors="replace").split("\n")
        return Verdict(SKIP, next((x for x in reversed(lines) if x), ""))
    return Verdict(FAIL, f"the script's exit status is {status}")


def judge(outcome, found):
    """Decide the verdict; the worst thing that happened wins."""
    text = outcome.text
    panic = kernel_log.panicked(text)
    if outcome.in_time and outcome.exit_code:
        # a guest that resets or powers off makes QEMU exit with 0
        raise CannotRun(outcome.complaint.split("\n")[-1]
                        or f"QEMU's exit status is {outcome.exit_code}")
    if INIT_RAN not in text:
        return Verdict(NOBOOT, panic or "init never ran")
    if panic:
        return Verdict(PANIC, panic)
    if not outcome.in_time:
        return Verdict(TIMEOUT, "the guest was killed")
    if found is None and "vm-init: script ended" not in text:
        return Verdict(PANIC, "the guest stopped before its script ended")
    reports = kernel_log.scan(text)
    if reports:
        return Verdict(REPORT, f"{len(reports)} lines, first: {reports[0][1]}")
    if found is None:
        return Verdict(FAIL, "the results did not come back whole")
    return script_verdict(found)


# ---- acceleration ------------------------------------------------------------

def kvm_works(opts):
    """Boot the same kernel under KVM: the device may exist and yet hang."""
    if not os.access(KVM_NODE, os.R_OK | os.W_OK):
        return False
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
        probe = build_parser().parse_args(
            ["--kernel", str(opts.kernel), "--script", script.name,
             "--timeout", str(PROBE_SECONDS), "--mem", "512"])
        outcome = boot(probe, "kvm", lambda data: None)
    found = unpack(outcome.archive)
    return found is not None and script_verdict(found).code == PASS


def choose_accel(opts):
    """Return "tcg" or "kvm"."""
    if opts.accel == "tcg" or opts.icount:
        return "tcg"
    if kvm_works(opts):
        return "kvm"
    if opts.accel == "kvm":
        raise CannotRun(f"{KVM_NODE} is absent or no kernel boots with it in "
                        f"{PROBE_SECONDS} s")
    return "tcg"


# ---- output ------------------------------------------------------------------

def prepare_out(opts):
    """Return an output directory without leftovers of an earlier run."""
    out = opts.out
    if out is None:
        top = BUILD / "results" / "vm"
        top.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=Path(opts.script).stem + "-", dir=top))
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / "results", ignore_errors=True)
    for name in ("console.log", "script.log", "dmesg.log", "command", "verdict"):
        (out / name).unlink(missing_ok=True)
    return out


def show_trouble(verdict, outcome):
    """Print what a reader needs first: reports, or the console's end."""
    reports = kernel_log.scan(outcome.text)
    for number, line in reports[:TAIL]:
        print(f"console.log:{number}: {line}")
    if verdict.code == REPORT:
        return
    if outcome.complaint:
        print(outcome.complaint)
    for line in outcome.text.splitlines()[-TAIL:]:
        print(f"| {line}")


def run(opts):
    """Do one run and return (verdict, output directory)."""
    accel = choose_accel(opts)
    out = prepare_out(opts)
    log = Log(out / "console.log")

    def console(data):
        log.write(data)
        if opts.verbose:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def command(words):
        (out / "command").write_text(shlex.join(words) + "\n")

    outcome = boot(opts, accel, console, command)
    found = unpack(outcome.archive)
    if found:
        store(found, out)
    else:
        (out / "script.log").write_text(rescued_script_log(outcome.text))
    verdict = judge(outcome, found)
    if verdict.code not in (PASS, SKIP) and not opts.verbose:
        show_trouble(verdict, outcome)
    (out / "verdict").write_text(f"{verdict.code} {verdict.reason}\n")
    return verdict, out


def scan_file(path):
    """Print the kernel's reports in a log; exit code 0 or 6."""
    reports = kernel_log.scan(path.read_text(errors="replace"))
    for number, line in reports:
        print(f"{path}:{number}: {line}")
    return REPORT if reports else PASS


def on_signal(number, _frame):
    """End the run in order: the finally clauses kill QEMU."""
    raise Interrupted(number)


def main(argv):
    """Run and return the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    began = time.monotonic()
    try:
        opts = parse(argv)
        if opts.scan:
            return scan_file(opts.scan)
        verdict, out = run(opts)
    except (CannotRun, OSError) as err:
        print(f"vm: could not run: {err}", file=sys.stderr)
        return CANNOT
    except Interrupted as err:
        print("vm: interrupted", file=sys.stderr)
        return 128 + err.args[0]
    reason = f": {verdict.reason}" if verdict.reason else ""
    where = f", see {out}" if verdict.code not in (PASS, SKIP) else ""
    print(f"vm: {WORDS[verdict.code]}{reason}{where} "
          f"({time.monotonic() - began:.1f} s)")
    return verdict.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
