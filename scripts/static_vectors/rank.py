#!/usr/bin/env python3
"""Ranks by `vectors.bin`, alone and beside the reference's own words, to be measured by scripts/search_table.

    rank.py OUT [VECTORS] [--retrieval FOLDER]

Writes the run files `<data set>.vectors.jsonl` and `<data set>.lex+vectors.jsonl`.
"""

import argparse
import pathlib
import re
import sys

import numpy

import pack
import words

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class Vectors:
    def __init__(self, path):
        stems, rows = pack.read(path)
        self.place = {stem: i for i, stem in enumerate(stems)}
        self.rows = rows.astype(numpy.float32)

    def embed(self, fields):
        total = numpy.zeros(self.rows.shape[1], numpy.float32)
        for weight, stems in fields:
            places = sorted({self.place[stem] for stem in stems if stem in self.place})
            field = self.rows[places].sum(0)
            total += weight / max(numpy.linalg.norm(field), 1e-9) * field
        return total / max(numpy.linalg.norm(total), 1e-9)

    def tool(self, tool, parameters):
        name = words.stems(tool["server"]) + words.stems(tool["name"])
        keys = [stem for key, _, _ in parameters for stem in words.stems(key)]
        texts = [stem for _, text, _ in parameters for stem in words.stems(text)]
        return self.embed([(1.0, name), (1.0, words.stems(tool["description"][:300])), (0.3, (keys + texts)[:80])])

    def query(self, query):
        """The directions of a query: one for each of its sentences, if it has several."""
        sentences = [set(words.stems(part)) for part in re.split(r"(?<=[.?!;])\s+|\n+", query)]
        sentences = [stems for stems in sentences if len(stems) >= 2]
        if len(sentences) < 2:
            sentences = [words.stems(query)]
        return numpy.array([self.embed([(1.0, stems)]) for stems in sentences])


def mix(lexical, cosines, n_terms):
    share = min(0.6, 0.3 + 0.02 * n_terms)
    best, nearest = lexical.max() or 1.0, max(1e-6, cosines.max())
    return share * lexical / best + (1 - share) * numpy.maximum(0, cosines) / nearest


def ranked(scores, tools, depth):
    order = numpy.argsort(-scores, kind="stable")[:depth]
    return [tools[i]["id"] for i in order if scores[i] > 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("vectors", type=pathlib.Path, nargs="?", default=REPOSITORY / "src" / "search" / "vectors.bin")
    parser.add_argument("--retrieval", type=pathlib.Path, default=REPOSITORY.parent / "shared" / "retrieval")
    args = parser.parse_args()
    if not (args.retrieval / "eval.py").exists():
        raise SystemExit(f"skipped: no data in {args.retrieval}")
    sys.path.insert(0, str(args.retrieval))
    sys.dont_write_bytecode = True
    import eval as reference

    vectors = Vectors(args.vectors)
    args.out.mkdir(parents=True, exist_ok=True)
    for dataset in reference.datasets():
        tools, queries = reference.load(dataset)
        lexical = reference.Lex(tools)
        table = numpy.array([vectors.tool(tool, list(reference.walk(tool.get("inputSchema")))) for tool in tools])
        alone, mixed = {}, {}
        for query in queries:
            terms = dict.fromkeys(lexical.terms(query["query"]))
            scores = numpy.zeros(len(tools))
            for place, score in lexical.scores(terms).items():
                scores[place] = score
            cosines = (vectors.query(query["query"]) @ table.T).max(0)
            alone[query["id"]] = ranked(cosines + 2, tools, reference.DEPTH)
            mixed[query["id"]] = ranked(mix(scores, cosines, len(terms)), tools, reference.DEPTH)
        reference.write_run(args.out / f"{dataset}.vectors.jsonl", alone)
        reference.write_run(args.out / f"{dataset}.lex+vectors.jsonl", mixed)


if __name__ == "__main__":
    main()
