"""Writes the table in the form that `src/search/vectors.rs` reads, and reads it back."""

import struct

import numpy

MAGIC = b"tcvec\0\0\x01"


def quantise(rows):
    """Signed bytes on one common scale, so that rows can be added as they are.

    The few largest numbers are cut: leaving them whole would cost all the others precision.
    """
    scale = numpy.quantile(numpy.abs(rows), 0.9998) / 127
    return numpy.clip(numpy.round(rows / scale), -127, 127).astype(numpy.int8)


def write(path, stems, rows):
    """`stems` and their int8 `rows`, in any order; a row of zeros says nothing and is left out."""
    table = {stem.encode(): row for stem, row in zip(stems, rows, strict=True) if row.any()}
    ordered = sorted(table)
    ends = numpy.cumsum([len(stem) for stem in ordered])
    with open(path, "wb") as file:
        file.write(MAGIC)
        file.write(struct.pack("<II", rows.shape[1], len(ordered)))
        file.write(ends.astype("<u4").tobytes())
        file.write(b"".join(ordered))
        file.write(numpy.array([table[stem] for stem in ordered], numpy.int8).tobytes())


def read(path):
    data = open(path, "rb").read()
    dims, count = struct.unpack_from("<II", data, len(MAGIC))
    at = len(MAGIC) + 8
    ends = numpy.frombuffer(data, "<u4", count, at)
    at += 4 * count
    text = data[at : at + ends[-1]]
    starts = numpy.concatenate([[0], ends[:-1]])
    stems = [text[a:b].decode() for a, b in zip(starts, ends, strict=True)]
    rows = numpy.frombuffer(data, numpy.int8, count * dims, at + len(text)).reshape(count, dims)
    return stems, rows
