//! Words that say nothing about what is looked for. They are left out of queries only, never out of the index.

/// Sorted, folded, and as the stemmer leaves them (`this` becomes `this`, `does` becomes `doe`).
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "ani", "any", "are", "as", "at", "be",
    "been", "befor", "being", "but", "by", "can", "could", "d", "de", "did", "do", "doe", "does", "don",
    "for", "from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into",
    "is", "it", "its", "just", "ll", "m", "me", "my", "no", "nor", "not", "of", "on", "or", "our", "out",
    "pleas", "re", "s", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "too", "up", "us", "ve", "veri", "was", "we",
    "were", "what", "when", "where", "which", "who", "whi", "why", "will", "with", "would", "you", "your",
    "が", "の", "は", "を", "に", "了", "在", "是", "的",
];

/// Words that only ask for a number behind `how`.
const AMOUNTS: &[&str] = &["far", "long", "mani", "much", "often", "old"];

/// Whether a stemmed term only asks, behind another.
pub(super) fn asks(before: &str, term: &str) -> bool {
    before == "how" && AMOUNTS.contains(&term)
}

/// Whether a stemmed term is too common to look for.
pub(super) fn is_stop_word(term: &str) -> bool {
    // The list is short enough to walk; a query has at most a few dozen terms.
    STOP_WORDS.contains(&term)
}
