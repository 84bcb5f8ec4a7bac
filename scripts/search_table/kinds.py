"""Which kinds of queries of which data sets are measured together."""

# Queries for one capability: what a model searches for, a step of a plan, keywords.
SHORT = {
    "livemcp": ("model-query", "step-query"),
    "livemcp-big": ("model-query", "step-query"),
    "apibank": ("keyword-query",),
    "peer-k8s": ("short-query",),
    "peer-cli": ("short-query",),
    "peer-mcpproxy": ("paraphrase-query",),
}
# Whole requests of a user.
LONG = {
    "bfcl": ("live", "synthetic"),
    "sealtools": ("single-call", "multi-call"),
    "metatool": ("user-query", "user-query-multi"),
    "toolbench": ("full-task",),
    "restbench": ("full-task",),
    "livemcp": ("full-task",),
    "apibank": ("full-task",),
}
# Queries among the tools of real servers.
REAL = {"real": ("keyword", "phrase", "paraphrase", "non-english")}


def pairs(kinds):
    """(data set, kind) one by one."""
    return [(dataset, kind) for dataset, of_dataset in kinds.items() for kind in of_dataset]


def measure_of(kind):
    """By what a kind of queries is compared, as it is shown and as eval.py calls it. A session has no order of its tools."""
    return ("R@5", "recall@5") if kind == "session" else ("nDCG@10", "ndcg@10")
