#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Build guest initramfs images out of the host's own Debian binaries.

The big part (binaries and their libraries) is an uncompressed cpio archive
that is cached under build/initramfs/ by a hash of its inputs.  What differs
from run to run (script, arguments, files) is a second, small archive that the
caller appends: the kernel unpacks concatenated archives one after the other.
"""

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[2] / "build"
CACHE = BUILD / "initramfs"
DAY = 24 * 3600

# program -> Debian package that ships it
SMALL = {
    "busybox": "busybox-static",
    "mkfs.xfs": "xfsprogs",
    "mkfs.ext4": "e2fsprogs",
    "mdadm": "mdadm",
    "dmsetup": "dmsetup",
}
FULL = {**SMALL, "fio": "fio", "xfs_io": "xfsprogs", "xfs_repair": "xfsprogs",
        "chrt": "util-linux", "cyclictest": "rt-tests"}
USERLANDS = {"small": SMALL, "full": FULL}

DIRS = ("proc", "sys", "dev", "tmp", "run", "mnt", "vm", "results", "var",
        "root", "etc", "usr", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64")
# Debian 12 has a merged /usr; the guest keeps that shape.
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib",
         "lib64": "usr/lib64", "etc/mtab": "/proc/mounts", "var/run": "/run"}
NODES = {"dev/console": (5, 1), "dev/null": (1, 3), "dev/kmsg": (1, 11)}
TEXTS = {"etc/passwd": b"root::0:0:root:/:/bin/sh\n",
         "etc/group": b"root:x:0:\n"}
# read at run time by mkfs.ext4; not a library, so ldd does not name it
HOST_FILES = ("/etc/mke2fs.conf",)


class MissingPackage(Exception):
    """A program is absent; the text names the Debian package to install."""


class Cpio:
    """Writer of the "newc" archive format that the kernel unpacks."""

    def __init__(self, out):
        self.out = out
        self.inode = 1
        self.start = out.tell()
        self.seen = set()

    def _pad(self):
        self.out.write(b"\0" * (-self.out.tell() % 4))

    def add(self, name, mode, data=b"", rdev=(0, 0)):
        """Add one entry; @name is relative to the guest's root."""
        path = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0,
                  rdev[0], rdev[1], len(path), 0)
        self.out.write(b"070701" + b"".join(b"%08X" % f for f in fields))
        self.out.write(path)
        self._pad()
        self.out.write(data)
        self._pad()
        self.inode += 1

    def directory(self, name):
        """Add a directory and its parents, once each."""
        parts = Path(name).parts
        for depth in range(1, len(parts) + 1):
            step = "/".join(parts[:depth])
            if step not in self.seen:
                self.seen.add(step)
                self.add(step, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o644):
        """Add a regular file, with the directories that lead to it."""
        if os.path.dirname(name):
            self.directory(os.path.dirname(name))
        self.add(name, stat.S_IFREG | mode, data)

    def symlink(self, name, target):
        """Add a symbolic link."""
        self.add(name, stat.S_IFLNK | 0o777, target.encode())

    def node(self, name, rdev):
        """Add a character device."""
        self.add(name, stat.S_IFCHR | 0o600, rdev=rdev)

    def finish(self):
        """Write the trailer; padded so that another archive may follow."""
        self.add("TRAILER!!!", 0)
        self.out.write(b"\0" * (-self.out.tell() % 512))


def find_program(name, package):
    """Return the host path of @name or say which package has it."""
    search = os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin:/sbin:/bin"
    path = shutil.which(name, path=search)
    if not path:
        raise MissingPackage(
            f"{name} is not installed: apt-get install {package}")
    return path


def libraries(program):
    """Return the shared libraries of @program as paths, the loader included."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}, check=False)
    text = done.stdout
    if "not found" in text:
        raise MissingPackage(f"{program} lacks a library: "
                             + re.search(r"(\S+) => not found", text)[1])
    return re.findall(r"(?:=> |^\s*)(/\S+) \(0x", text, re.M)


def guest_name(path):
    """Map a host path to the merged-/usr name it has in the guest."""
    name = str(path).lstrip("/")
    if name.split("/")[0] in ("bin", "sbin", "lib", "lib64"):
        name = "usr/" + name
    return name


def inputs(userland):
    """Return {guest name: host path} of everything copied from the host."""
    files = {}
    for name, package in USERLANDS[userland].items():
        program = find_program(name, package)
        files["usr/sbin/" + name] = program
        for lib in libraries(program):
            files[guest_name(lib)] = lib
    for path in HOST_FILES:
        if os.path.exists(path):
            files[guest_name(path)] = path
    return files


def digest(files):
    """Hash what the image depends on; size and mtime stand for contents."""
    sha = hashlib.sha256()
    sha.update(Path(__file__).resolve().read_bytes())
    for name, path in sorted(files.items()):
        info = os.stat(path)
        sha.update(f"{name} {path} {info.st_size} {info.st_mtime_ns}\n".encode())
    return sha.hexdigest()[:16]


def applets(busybox):
    """Return the names of the applets of @busybox."""
    done = subprocess.run([busybox, "--list"], capture_output=True, text=True,
                          check=True)
    return [name for name in done.stdout.split() if "/" not in name]


def write_image(out, files):
    """Write the base archive to the open file @out."""
    cpio = Cpio(out)
    for name in DIRS:
        cpio.directory(name)
    for name, target in LINKS.items():
        cpio.symlink(name, target)
    for name, rdev in NODES.items():
        cpio.node(name, rdev)
    for name, text in TEXTS.items():
        cpio.file(name, text)
    for name, path in sorted(files.items()):
        cpio.file(name, Path(path).read_bytes(), 0o755)
    for name in applets(files["usr/sbin/busybox"]):
        if "usr/sbin/" + name not in files:
            cpio.symlink("usr/bin/" + name, "/usr/sbin/busybox")
    cpio.finish()


def run_archive(out, files):
    """Append init and the files of one run, {guest name: (data, mode)}."""
    cpio = Cpio(out)
    cpio.file("init", (HERE / "init").read_bytes(), 0o755)
    for name, (data, mode) in files.items():
        cpio.file(name, data, mode)
    cpio.finish()


def prune(keep):
    """Remove images that no run has used for a day."""
    for path in CACHE.glob("*"):
        if path != keep and time.time() - path.stat().st_mtime > DAY:
            path.unlink(missing_ok=True)


def base_image(userland):
    """Return the path of the cached base archive, building it if needed."""
    files = inputs(userland)
    image = CACHE / f"{userland}-{digest(files)}.cpio"
    CACHE.mkdir(parents=True, exist_ok=True)
    if image.exists():
        os.utime(image)
        return image
    # Concurrent builders each write a file of their own; the last rename wins.
    with tempfile.NamedTemporaryFile(dir=CACHE, delete=False) as out:
        try:
            write_image(out, files)
            out.flush()
            os.rename(out.name, image)
        except BaseException:
            os.unlink(out.name)
            raise
    prune(image)
    return image


def main():
    """Build one image and print its path."""
    userland = sys.argv[1] if len(sys.argv) > 1 else "small"
    if userland not in USERLANDS or len(sys.argv) > 2:
        print("usage: mkinitramfs.py [small|full]", file=sys.stderr)
        return 2
    try:
        print(base_image(userland))
    except (MissingPackage, OSError) as err:
        print(f"mkinitramfs: {err}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
