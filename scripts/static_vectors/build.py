#!/usr/bin/env python3
"""Makes `src/search/vectors.bin`. See README.md.

    build.py WORK [--catalogs FOLDER] [--out FILE]

WORK keeps what was fetched and what the encoder said of each text, so that a second run is quick.
"""

import argparse
import collections
import json
import pathlib

import numpy

import fit
import gather
import pack
import words

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DIMS = 96
# A stem of one or two things only cannot be learnt; most are identifiers that nobody splits.
FEWEST = 3
MOST_BYTES = 2_000_000
CHUNK = 8192


def encode(texts, work):
    """The encoder's vectors of `texts`, those of earlier runs from `work`."""
    texts_file, vectors_file = work / "encoded.json", work / "encoded.npy"
    known = {}
    if vectors_file.exists():
        known = dict(zip(json.loads(texts_file.read_text()), numpy.load(vectors_file), strict=True))
    missing = [text for text in texts if text not in known]
    if missing:
        from teacher import Teacher  # needs torch, which takes seconds to load

        teacher = Teacher()
        for start in range(0, len(missing), CHUNK):
            part = missing[start : start + CHUNK]
            known.update(zip(part, teacher.encode(part), strict=True))
            print(f"encoded {start + len(part)} of {len(missing)}", flush=True)
        texts_file.write_text(json.dumps(list(known)))
        numpy.save(vectors_file, numpy.array(list(known.values())))
    return numpy.array([known[text] for text in texts])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--catalogs", type=pathlib.Path, default=REPOSITORY.parent / "shared" / "catalogs")
    parser.add_argument("--out", type=pathlib.Path, default=REPOSITORY / "src" / "search" / "vectors.bin")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)

    catalogs = args.catalogs if args.catalogs.is_dir() else None
    if not catalogs:
        print(f"no folder {args.catalogs}: the catalogues of real servers are left out")
    groups = gather.gather(args.work, catalogs)
    source_of = {}
    for source, texts in groups:
        for text in texts:
            source_of.setdefault(text, source)
    stems_of = {text: list(dict.fromkeys(words.stems(text))) for text in source_of}
    texts = [text for text, stems in stems_of.items() if stems]
    print(len(texts), "texts:", dict(collections.Counter(source_of[text] for text in texts)))

    row_bytes = DIMS + 4 + 7
    vocabulary = fit.vocabulary(([stems_of[text] for text in group] for _, group in groups), FEWEST, MOST_BYTES // row_bytes)
    targets = encode(texts, args.work)
    rows = fit.fit([stems_of[text] for text in texts], [source_of[text] for text in texts], targets, vocabulary, DIMS)
    pack.write(args.out, vocabulary, pack.quantise(rows))
    size = args.out.stat().st_size
    print(f"{args.out}: {len(pack.read(args.out)[0])} stems x {DIMS}, {size:,} bytes")
    if size > MOST_BYTES:
        raise SystemExit("too large")


if __name__ == "__main__":
    main()
