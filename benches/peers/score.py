"""How good a ranking is, and plain BM25 to hold it against; both as `eval` has them."""

import collections
import math
import re

K1, B = 1.2, 0.75
STOP = set(
    "a an and are as at be by did do does for from had has have how i in is it me my of on or that the to was we were "
    "what when where which who with you your".split()
)


def words(text):
    return [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP]


class Bm25:
    """Lower-case words without a small list of stop words, nothing stemmed."""

    def __init__(self, notes):
        self.names = list(notes)
        self.postings = collections.defaultdict(list)
        self.lengths = []
        for at, text in enumerate(notes.values()):
            counts = collections.Counter(words(text))
            self.lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self.postings[word].append((at, count))
        self.average = sum(self.lengths) / max(1, len(self.lengths))

    def search(self, query, most):
        scores = collections.defaultdict(float)
        for word in words(query):
            found = self.postings.get(word, [])
            rarity = math.log(1 + (len(self.names) - len(found) + 0.5) / (len(found) + 0.5))
            for at, count in found:
                length = 1 - B + B * self.lengths[at] / self.average
                scores[at] += rarity * count * (K1 + 1) / (count + K1 * length)
        best = sorted(scores, key=lambda at: (-scores[at], at))
        return [self.names[at] for at in best[:most]]


def any_at_5(ranked, gold):
    return float(any(name in gold for name in ranked[:5]))


def recall_at_10(ranked, gold):
    return sum(name in gold for name in ranked[:10]) / len(gold)


def quality(rankings, questions):
    """any@5 and recall@10 in percent."""
    pairs = [(rankings[question.name], question.gold) for question in questions]
    mean = [sum(measure(*pair) for pair in pairs) / max(1, len(pairs)) for measure in (any_at_5, recall_at_10)]
    return [100 * one for one in mean]
