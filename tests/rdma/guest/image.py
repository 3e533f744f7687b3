#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes what QEMU boots from an unpacked kernel package: image.py ROOT BUSYBOX INIT OUT

ROOT holds boot/vmlinuz-* and lib/modules/*; BUSYBOX is a static one; INIT becomes /init. Writes OUT/vmlinux, the kernel
without its decompressor (emulating that takes longer than the rest of the boot), and OUT/initrd, with the modules that
mounting a root over 9p needs. Neither needs root: device nodes come from devtmpfs.
"""

import glob
import lzma
import os
import stat
import struct
import subprocess
import sys

MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
FOLDERS = ("bin", "dev", "proc", "sys", "modules", "lower", "upper", "root")


def uncompressed(image):
    """The ELF kernel inside a bzImage; Documentation/arch/x86/boot.rst says where its payload lies."""
    protected = (image[0x1F1] + 1) * 512
    offset, length = struct.unpack_from("<II", image, 0x248)
    payload = image[protected + offset:protected + offset + length]
    if payload[:6] == b"\xfd7zXZ\0":
        return lzma.LZMADecompressor().decompress(payload)
    if payload[:4] == b"\x28\xb5\x2f\xfd":
        # Four bytes of length follow the stream.
        return subprocess.run(["zstd", "-dc"], input=payload[:-4], stdout=subprocess.PIPE, check=True).stdout
    sys.exit(f"this kernel is compressed in a way image.py does not know: {payload[:4].hex()}")


def is_static(program):
    """Whether an ELF program has no interpreter, so that it runs where there are no libraries."""
    with open(program, "rb") as file:
        data = file.read()
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return all(struct.unpack_from("<I", data, start + i * size)[0] != 3 for i in range(count))


def module_files(root, version):
    """The modules to load, each after those it needs."""
    files = []
    for module in MODULES:
        shown = subprocess.run(["modprobe", "-d", root, "-S", version, "--show-depends", module], text=True,
                               stdout=subprocess.PIPE, check=True).stdout
        for line in shown.splitlines():
            word, _, path = line.strip().partition(" ")
            if word == "insmod" and path.split()[0] not in files:
                files.append(path.split()[0])
    return files


def module_data(path):
    with open(path, "rb") as file:
        data = file.read()
    return lzma.decompress(data) if path.endswith(".xz") else data


class Archive:
    """A cpio archive of the "newc" kind, the kernel's own (Documentation/driver-api/early-userspace)."""

    def __init__(self):
        self.parts, self.number = [], 0

    def add(self, name, mode, data=b""):
        self.number += 1
        name_bytes = name.encode() + b"\0"
        fields = (self.number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name_bytes), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name_bytes
        self.parts += [header, b"\0" * (-len(header) % 4), data, b"\0" * (-len(data) % 4)]

    def write(self, path):
        self.add("TRAILER!!!", 0)
        with open(path, "wb") as file:
            file.write(b"".join(self.parts))


def main():
    root, busybox, init, out = sys.argv[1:]
    if not is_static(busybox):
        sys.exit(f"{busybox} is not static (apt-get install busybox-static)")
    kernel, = glob.glob(os.path.join(root, "boot", "vmlinuz-*"))
    version = os.path.basename(kernel).removeprefix("vmlinuz-")
    with open(kernel, "rb") as file:
        plain = uncompressed(file.read())
    with open(os.path.join(out, "vmlinux"), "wb") as file:
        file.write(plain)
    archive = Archive()
    for folder in FOLDERS:
        archive.add(folder, stat.S_IFDIR | 0o755)
    with open(busybox, "rb") as file:
        archive.add("bin/busybox", stat.S_IFREG | 0o755, file.read())
    archive.add("bin/sh", stat.S_IFLNK | 0o777, b"busybox")
    with open(init, "rb") as file:
        archive.add("init", stat.S_IFREG | 0o755, file.read())
    for number, path in enumerate(module_files(root, version)):
        archive.add(f"modules/{number:02}.ko", stat.S_IFREG | 0o644, module_data(path))
    archive.write(os.path.join(out, "initrd"))


if __name__ == "__main__":
    main()
