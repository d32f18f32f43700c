"""Writes a zip archive with one member, 2 GB of zeros that `zstd` has compressed, to standard output.

The layout is that of APPNOTE.TXT of PKWARE, sections 4.3.7, 4.3.12 and 4.3.16; method 93 is Zstandard.
"""

import struct
import subprocess
import sys
import zlib

SIZE = 2 << 30
PIECE = bytes(1 << 20)
NAME = b"zeros.log"
METHOD = 93

packed = subprocess.run(
    f"head -c {SIZE} /dev/zero | zstd -q", shell=True, check=True, stdout=subprocess.PIPE).stdout
crc = 0
for _ in range(SIZE // len(PIECE)):
    crc = zlib.crc32(PIECE, crc)
sizes = (crc, len(packed), SIZE)

local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 63, 0, METHOD, 0, 0x21, *sizes, len(NAME), 0) + NAME
central = struct.pack(
    "<IHHHHHHIIIHHHHHII", 0x02014B50, 63, 63, 0, METHOD, 0, 0x21, *sizes, len(NAME), *[0] * 6) + NAME
start = len(local) + len(packed)
end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(central), start, 0)
sys.stdout.buffer.write(local + packed + central + end)
