"""What the search has to reach."""

import dataclasses

from kinds import LONG, SHORT, measure_of

# How much further than words and the reference vectors, over both means.
AHEAD = 0.01
# How far below the reference's own words on any kind of queries; nDCG@10, of sessions recall@5.
BEHIND = 0.02
# hit@5 among the tools of real servers, by kind.
REAL = {"keyword": 0.98, "phrase": 0.96, "paraphrase": 0.30, "non-english": 0.80}
REAL_WITH_ENCODER = {"paraphrase": 0.50}


@dataclasses.dataclass
class Target:
    what: str
    # None where there is no such ranking to compare.
    got: float | None
    least: float | None

    @property
    def is_met(self):
        return None in (self.got, self.least) or self.got >= self.least - 1e-9

    def __str__(self):
        if None in (self.got, self.least):
            return f"skipped {self.what}: one of the two was not ranked"
        return f"{'ok    ' if self.is_met else 'MISSED'} {self.what}: {self.got:.4f}, at least {self.least:.4f}"


def targets(scores):
    found = []
    for name, kinds in (("short", SHORT), ("long", LONG)):
        for ours, other, ahead in (("toolcrib", "lex+static64", AHEAD), ("toolcrib+encoder", "lex+minilm", 0)):
            got, reference = (scores.macro(it, kinds) if it in scores else None for it in (ours, other))
            least = None if reference is None else reference + ahead
            found.append(Target(f"{ours}, {name} nDCG@10, {ahead} above {other}", got, least))
    for pair in scores.pairs():
        ours, other = scores.of("toolcrib", pair), scores.of("lex", pair)
        if ours and other:
            name, measure = measure_of(pair[1])
            what = f"toolcrib, {' '.join(pair)} {name}, at most {BEHIND} below lex"
            found.append(Target(what, ours[measure], other[measure] - BEHIND))
    for ours, least_by_kind in (("toolcrib", REAL), ("toolcrib+encoder", REAL_WITH_ENCODER)):
        for kind, least in least_by_kind.items():
            if ours in scores:
                found.append(Target(f"{ours}, real {kind} hit@5", scores.of(ours, ("real", kind))["hit@5"], least))
    return found
