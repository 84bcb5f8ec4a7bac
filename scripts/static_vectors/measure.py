#!/usr/bin/env python3
"""Measures `vectors.bin` beside the reference lexical ranker of ../shared/retrieval, on its dev halves.

    measure.py [VECTORS] [--retrieval FOLDER] [--runs FOLDER:NAME ...]

Prints nDCG@10 as means over the short and the long kinds of queries, and hit@1/hit@5 on the real catalogues; `--runs`
adds rankings that something else wrote (`<data set>.<NAME>.jsonl`).
"""

import argparse
import collections
import pathlib
import re
import statistics
import sys

import numpy

import pack
import words

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SHORT = {
    "livemcp": ("model-query", "step-query"),
    "livemcp-big": ("model-query", "step-query"),
    "apibank": ("keyword-query",),
    "peer-k8s": ("short-query",),
    "peer-cli": ("short-query",),
    "peer-mcpproxy": ("paraphrase-query",),
}
LONG = {
    "bfcl": ("live", "synthetic"),
    "sealtools": ("single-call", "multi-call"),
    "metatool": ("user-query", "user-query-multi"),
    "toolbench": ("full-task",),
    "restbench": ("full-task",),
    "livemcp": ("full-task",),
    "apibank": ("full-task",),
}
REAL = {"real": ("keyword", "phrase", "paraphrase")}


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


def ranked(scores, tools, depth=100):
    order = numpy.argsort(-scores, kind="stable")[:depth]
    return [tools[i]["id"] for i in order if scores[i] > 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", type=pathlib.Path, nargs="?", default=REPOSITORY / "src" / "search" / "vectors.bin")
    parser.add_argument("--retrieval", type=pathlib.Path, default=REPOSITORY.parent / "shared" / "retrieval")
    parser.add_argument("--runs", nargs="*", default=[])
    args = parser.parse_args()
    if not (args.retrieval / "eval.py").exists():
        raise SystemExit(f"skipped: no data in {args.retrieval}")
    sys.path.insert(0, str(args.retrieval))
    sys.dont_write_bytecode = True
    import eval as reference

    vectors = Vectors(args.vectors)
    results = collections.defaultdict(lambda: collections.defaultdict(list))
    for dataset in sorted({*SHORT, *LONG, *REAL}):
        kinds = {kind for group in (SHORT, LONG, REAL) for kind in group.get(dataset, ())}
        tools, queries = reference.load(dataset)
        lexical = reference.Lex(tools)
        table = numpy.array([vectors.tool(tool, list(reference.walk(tool.get("inputSchema")))) for tool in tools])
        others = {}
        for folder, name in (run.split(":") for run in args.runs):
            others[name] = reference.read_run(pathlib.Path(folder) / f"{dataset}.{name}.jsonl")
        for query in queries:
            if query["kind"] not in kinds or (query["split"] != "dev" and dataset not in REAL):
                continue
            terms = dict.fromkeys(lexical.terms(query["query"]))
            scores = numpy.zeros(len(tools))
            for place, score in lexical.scores(terms).items():
                scores[place] = score
            cosines = (vectors.query(query["query"]) @ table.T).max(0)
            rankings = {
                "lex": ranked(scores, tools),
                "vectors": ranked(cosines + 2, tools),
                "lex + vectors": ranked(mix(scores, cosines, len(terms)), tools),
                **{name: run.get(query["id"], []) for name, run in others.items()},
            }
            for name, ranking in rankings.items():
                results[name][dataset, query["kind"]].append(reference.measure(query, ranking))

    def mean(name, dataset, kind, measure):
        return statistics.fmean(measures[measure] for measures in results[name][dataset, kind])

    for name in results:
        macros = [
            statistics.fmean(mean(name, dataset, kind, "ndcg@10") for dataset, kinds in group.items() for kind in kinds)
            for group in (SHORT, LONG)
        ]
        real = (f"{kind} {mean(name, 'real', kind, 'hit@1'):.3f}/{mean(name, 'real', kind, 'hit@5'):.3f}" for kind in REAL["real"])
        print(f"{name:16} short {macros[0]:.4f} long {macros[1]:.4f}  {'  '.join(real)}")


if __name__ == "__main__":
    main()
