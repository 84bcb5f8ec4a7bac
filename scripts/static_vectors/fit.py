"""Fits one vector a stem so that the sum over a text's stems points where the sentence encoder points."""

import collections

import numpy
import scipy.sparse

# What the tools of real servers say counts three times: it is few texts of the very kind that will be searched.
WEIGHTS = {"catalog": 3.0, "sense": 2.0, "request": 2.0}
# The encoder's directions that tools do not differ in are left out before the fit: half the work, nothing lost.
DIRECTIONS = 192
RIDGE = 3.0
ROUNDS = 20
# Rarer words weigh more than plain idf has it; measured.
IDF_POWER = 1.5
TOOL_SOURCES = ("catalog", "operation", "request")


def vocabulary(groups, fewest, most):
    """The stems that at least `fewest` groups have, the commonest first."""
    counts = collections.Counter()
    for texts in groups:
        counts.update({stem for stems in texts for stem in stems})

    def is_word(stem):
        digits = sum(character.isdigit() for character in stem)
        return stem.isascii() and len(stem) <= 24 and digits <= 2 and digits < len(stem)

    return [stem for stem, count in counts.most_common() if count >= fewest and is_word(stem)][:most]


def fit(texts, sources, targets, vocabulary, dims):
    """`texts` as sets of stems, their `sources` and the encoder's vectors; returns a row a stem of the vocabulary."""
    place = {stem: i for i, stem in enumerate(vocabulary)}
    sources = numpy.array(sources)
    columns = [[place[stem] for stem in stems if stem in place] for stems in texts]
    ends = numpy.cumsum([0, *map(len, columns)])
    flat = numpy.array([column for part in columns for column in part])
    frequency = numpy.bincount(flat, minlength=len(vocabulary))
    idf = numpy.log(1 + len(texts) / frequency) ** IDF_POWER
    matrix = scipy.sparse.csr_matrix((idf[flat].astype(numpy.float32), flat, ends), shape=(len(texts), len(vocabulary)))
    lengths = numpy.sqrt(numpy.asarray(matrix.multiply(matrix).sum(1)).ravel())
    matrix = scipy.sparse.diags((1 / numpy.maximum(lengths, 1e-9)).astype(numpy.float32)) @ matrix

    rng = numpy.random.default_rng(0)
    of_tools = rng.permutation(numpy.flatnonzero(numpy.isin(sources, TOOL_SOURCES)))[:30_000]
    mean = targets.mean(0, dtype=numpy.float32)
    directions = principal(targets[of_tools].astype(numpy.float32) - mean, DIRECTIONS)
    wanted = (targets.astype(numpy.float32) - mean) @ directions

    weights = numpy.sqrt([WEIGHTS.get(source, 1.0) for source in sources]).astype(numpy.float32)
    rows = ridge(scipy.sparse.diags(weights) @ matrix, wanted * weights[:, None])
    # The directions in which the *fitted* vectors of tools differ most: better than the encoder's own, of which a sum
    # of words can follow only some.
    rows = rows @ principal(matrix[of_tools] @ rows, dims)
    return rows * idf[:, None]


def principal(vectors, dims):
    return numpy.linalg.svd(vectors, full_matrices=False)[2][:dims].T


def ridge(matrix, wanted):
    """Least squares with a penalty, by conjugate gradients on the normal equations, all columns at once."""
    transposed = matrix.T.tocsr()
    rows = numpy.zeros((matrix.shape[1], wanted.shape[1]), numpy.float32)
    rest = transposed @ wanted
    step, size = rest.copy(), (rest * rest).sum(0)
    for _ in range(ROUNDS):
        image = transposed @ (matrix @ step) + RIDGE * step
        rate = size / numpy.maximum((step * image).sum(0), 1e-12)
        rows += rate * step
        rest -= rate * image
        new_size = (rest * rest).sum(0)
        step = rest + new_size / numpy.maximum(size, 1e-12) * step
        size = new_size
    return rows
