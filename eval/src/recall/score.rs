//! How good a ranking is: any@5, recall@10, NDCG@10 and MRR@10 of its questions, and how sure the difference of two is.

use std::collections::BTreeSet;

/// The measures of one ranking, 0–1 each.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Score(pub(super) [f64; 4]);

/// What the measures are called.
pub(super) const NAMES: [&str; 4] = ["any@5", "recall@10", "NDCG@10", "MRR@10"];

/// Rounds of resampling behind an interval.
const ROUNDS: usize = 2_000;

impl Score {
    /// `ranked` is best first and names nothing twice.
    pub(super) fn of(ranked: &[String], gold: &BTreeSet<String>) -> Self {
        let hits: Vec<usize> = ranked
            .iter()
            .take(10)
            .enumerate()
            .filter(|(_, name)| gold.contains(*name))
            .map(|(at, _)| at)
            .collect();
        let gain = |at: usize| 1.0 / (at as f64 + 2.0).log2();
        let ideal: f64 = (0..gold.len().min(10)).map(gain).sum();
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Self([
            f64::from(hits.iter().any(|at| *at < 5)),
            share(hits.len() as f64, gold.len() as f64),
            share(hits.iter().copied().map(gain).sum(), ideal),
            hits.first().map_or(0.0, |at| 1.0 / (*at as f64 + 1.0)),
        ])
    }
}

/// The mean of each measure.
pub(super) fn mean(scores: &[Score]) -> Score {
    let mut sum = Score::default();
    for score in scores {
        sum.0.iter_mut().zip(score.0).for_each(|(sum, one)| *sum += one / scores.len() as f64);
    }
    sum
}

/// The middle 95 % of the mean difference of two rankings of the same questions, by resampling the questions.
pub(super) fn interval(ours: &[Score], theirs: &[Score], measure: usize) -> (f64, f64) {
    let differences: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a.0[measure] - b.0[measure]).collect();
    // The same in every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % differences.len().max(1)
    };
    let mut means: Vec<f64> = (0..ROUNDS)
        .map(|_| (0..differences.len()).map(|_| differences[next()]).sum::<f64>() / differences.len() as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    (means[ROUNDS / 40], means[ROUNDS - 1 - ROUNDS / 40])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranking_is_scored_as_the_textbook_says() {
        let gold = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        let of =
            |ranked: &[&str]| Score::of(&ranked.iter().map(ToString::to_string).collect::<Vec<_>>(), &gold).0;
        assert_eq!(of(&["a", "b"]), [1.0, 1.0, 1.0, 1.0]);
        assert_eq!(of(&["x", "y"]), [0.0; 4]);
        let [any, recall, ndcg, mrr] = of(&["x", "a"]);
        assert_eq!((any, recall, mrr), (1.0, 0.5, 0.5));
        assert!((ndcg - (1.0 / 3.0_f64.log2()) / (1.0 + 1.0 / 3.0_f64.log2())).abs() < 1e-9);
        assert_eq!(of(&["1", "2", "3", "4", "5", "a"])[0], 0.0);
    }

    #[test]
    fn an_interval_holds_the_difference() {
        let ours: Vec<Score> = (0..50).map(|at| Score([f64::from(at % 2); 4])).collect();
        let theirs = vec![Score::default(); 50];
        let (low, high) = interval(&ours, &theirs, 0);
        assert!(low < 0.5 && 0.5 < high && low > 0.3 && high < 0.7, "{low} {high}");
    }
}
