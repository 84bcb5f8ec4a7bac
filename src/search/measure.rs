//! How good a ranking is, given which tools are right.

/// The measures of one query, or their means over several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measures {
    /// Which share of the right tools is among the first 1, 3, 5 and 10.
    pub recall: [f64; 4],
    /// Whether any right tool is first, and whether one is among the first five.
    pub hit_at_1: f64,
    pub hit_at_5: f64,
    /// One over the rank of the first right tool, if it is among the first ten.
    pub mrr: f64,
    /// Discounted gain of the first ten over that of the best order.
    pub ndcg: f64,
}

/// The depths of [`Measures::recall`].
pub const CUTS: [usize; 4] = [1, 3, 5, 10];

const DEPTH: usize = 10;

/// Measures a ranking, best first. `right` gives each right tool a grade, 1 where all are equally right.
///
/// A tool counts once, where it stands first, however often it is in either.
pub fn measure<T: PartialEq>(ranked: &[T], right: &[(T, f64)]) -> Measures {
    let right: Vec<&(T, f64)> = right
        .iter()
        .enumerate()
        .filter(|(at, (tool, _))| !right[..*at].iter().any(|(it, _)| it == tool))
        .map(|(_, it)| it)
        .collect();
    let deepest = CUTS.into_iter().fold(DEPTH, usize::max);
    let ranked = &ranked[..ranked.len().min(deepest)];
    // The grade of each tool of the ranking, of right ones that have not stood before.
    let grades: Vec<Option<f64>> = ranked
        .iter()
        .enumerate()
        .map(|(rank, tool)| {
            let (_, grade) = right.iter().find(|(it, _)| it == tool)?;
            (!ranked[..rank].contains(tool)).then_some(*grade)
        })
        .collect();
    let found = |depth: usize| grades.iter().take(depth).flatten().count();
    let first = grades.iter().take(DEPTH).position(Option::is_some);
    let gain = |(rank, grade): (usize, f64)| (grade.exp2() - 1.0) / (rank as f64 + 2.0).log2();
    let gained = grades.iter().take(DEPTH).map(|grade| grade.unwrap_or(0.0));
    let gained: f64 = gained.enumerate().map(gain).sum();
    let mut ideal: Vec<f64> = right.iter().map(|(_, grade)| *grade).collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    ideal.truncate(DEPTH);
    let most: f64 = ideal.into_iter().enumerate().map(gain).sum();
    Measures {
        recall: CUTS.map(|depth| found(depth) as f64 / right.len().max(1) as f64),
        hit_at_1: f64::from(found(1) > 0),
        hit_at_5: f64::from(found(5) > 0),
        mrr: first.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
        ndcg: if most > 0.0 { gained / most } else { 0.0 },
    }
}

/// The mean of each measure; zero over nothing.
pub fn mean(all: &[Measures]) -> Measures {
    let of = |measure: fn(&Measures) -> f64| {
        all.iter().map(measure).sum::<f64>() / all.len().max(1) as f64
    };
    Measures {
        recall: [
            of(|it| it.recall[0]),
            of(|it| it.recall[1]),
            of(|it| it.recall[2]),
            of(|it| it.recall[3]),
        ],
        hit_at_1: of(|it| it.hit_at_1),
        hit_at_5: of(|it| it.hit_at_5),
        mrr: of(|it| it.mrr),
        ndcg: of(|it| it.ndcg),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ranked: &str, right: &str, expected: Measures) {
        let ranked: Vec<&str> = ranked.split_whitespace().collect();
        let right: Vec<(&str, f64)> = right.split_whitespace().map(|tool| (tool, 1.0)).collect();
        let measures = measure(&ranked, &right);
        let numbers = |it: &Measures| {
            [
                it.recall.as_slice(),
                &[it.hit_at_1, it.hit_at_5, it.mrr, it.ndcg],
            ]
            .concat()
        };
        for (got, expected) in numbers(&measures).iter().zip(numbers(&expected)) {
            assert!(
                (got - expected).abs() < 1e-4,
                "{measures:?} is not {expected:?}"
            );
        }
    }

    #[test]
    fn a_perfect_ranking_is_1_in_all() {
        check(
            "a b",
            "a",
            Measures {
                recall: [1.0; 4],
                hit_at_1: 1.0,
                hit_at_5: 1.0,
                mrr: 1.0,
                ndcg: 1.0,
            },
        );
    }

    #[test]
    fn later_tools_count_less() {
        check(
            "x a y z b",
            "a b",
            Measures {
                recall: [0.0, 0.5, 1.0, 1.0],
                hit_at_1: 0.0,
                hit_at_5: 1.0,
                mrr: 0.5,
                ndcg: 0.6241,
            },
        );
    }

    #[test]
    fn a_tool_that_comes_or_is_right_more_than_once_counts_once() {
        let once = Measures {
            recall: [1.0; 4],
            hit_at_1: 1.0,
            hit_at_5: 1.0,
            mrr: 1.0,
            ndcg: 1.0,
        };
        check("a a b", "a", once);
        check("a b", "a a", once);
        check("a a b", "a a", once);
        let half = Measures {
            recall: [0.5; 4],
            ndcg: 0.6131,
            ..once
        };
        check("a a a", "a b", half);
    }

    #[test]
    fn nothing_found_and_nothing_right_is_0() {
        check("", "a", Measures::default());
        check("a", "", Measures::default());
    }

    #[test]
    fn a_better_grade_should_come_first() {
        let right = [("a", 1.0), ("b", 3.0)];
        assert_eq!(measure(&["b", "a"], &right).ndcg, 1.0);
        let worse = measure(&["a", "b"], &right).ndcg;
        assert!(worse > 0.6 && worse < 0.8, "{worse}");
    }

    #[test]
    fn means_are_over_queries() {
        let all = [
            measure(&["a"], &[("a", 1.0)]),
            measure(&["b"], &[("a", 1.0)]),
        ];
        assert_eq!(mean(&all).mrr, 0.5);
        assert_eq!(mean(&[]), Measures::default());
    }
}
