//! Tells which share of the answers would be called weak, by the threshold from which a hit is not.

use toolcrib::search::verdict::WEAK;

use crate::data::Dataset;
use crate::ranker::Ranker;

const THRESHOLDS: [f32; 5] = [0.40, 0.45, 0.50, 0.55, 0.60];

/// As many hits as an answer has where nobody asks for more or fewer.
const LIMIT: usize = 5;

/// The answer to one query.
struct Answer<'a> {
    kind: &'a str,
    /// The confidence in its surest hit; none where it has no hits.
    confidence: Option<f32>,
    /// Whether a tool that serves is among its hits; none where no tool serves.
    is_right: Option<bool>,
}

impl Answer<'_> {
    fn is_weak(&self, threshold: f32) -> bool {
        self.confidence
            .is_none_or(|confidence| confidence < threshold)
    }
}

/// A table in Markdown, a threshold a row: the share of weak answers of each kind of queries, and what would be lost by
/// keeping weak answers back.
pub async fn table(ranker: &Ranker, dataset: &Dataset) -> anyhow::Result<String> {
    ranker.prepare(&dataset.index).await?;
    let mut answers = Vec::new();
    for query in &dataset.queries {
        let explanation = ranker.explain(dataset, query, LIMIT).await?;
        let hits = &explanation.hits;
        // A tool that was found by its name is what was meant.
        let confidences = hits
            .iter()
            .map(|hit| hit.confidence.map_or(f32::INFINITY, |it| it.total()));
        let mut is_right = false;
        for hit in hits {
            let id = dataset.id(&hit.tool)?;
            is_right |= query.relevant.iter().any(|right| right == id);
        }
        answers.push(Answer {
            kind: &query.kind,
            confidence: confidences.reduce(f32::max),
            is_right: (!query.relevant.is_empty()).then_some(is_right),
        });
    }
    Ok(table_of(&answers))
}

fn table_of(answers: &[Answer]) -> String {
    let mut kinds: Vec<&str> = answers.iter().map(|answer| answer.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut thresholds = THRESHOLDS.to_vec();
    if !thresholds.contains(&WEAK) {
        thresholds.push(WEAK);
        thresholds.sort_by(f32::total_cmp);
    }
    let of_kind = |kind: &str| -> Vec<&Answer> {
        let answers = answers.iter();
        answers.filter(|answer| answer.kind == kind).collect()
    };
    let heads = kinds
        .iter()
        .map(|kind| format!(" {kind} ({}) |", of_kind(kind).len()));
    let heads: String = heads.collect();
    let lines = " ---: |".repeat(kinds.len() + 2);
    let mut text = format!("| threshold |{heads} lost |\n|{lines}\n");
    for threshold in thresholds {
        let mark = if threshold == WEAK { "**" } else { "" };
        text.push_str(&format!("| {mark}{threshold:.2}{mark} |"));
        for kind in &kinds {
            let weak = share(&of_kind(kind), |answer| answer.is_weak(threshold));
            text.push_str(&format!(" {} |", shown(weak)));
        }
        let served: Vec<&Answer> = answers.iter().filter(|it| it.is_right.is_some()).collect();
        let lost = share(&served, |answer| {
            answer.is_right == Some(true) && answer.is_weak(threshold)
        });
        text.push_str(&format!(" {} |\n", shown(lost)));
    }
    text
}

fn shown(share: f64) -> String {
    let text = format!("{share:.2}");
    text.strip_prefix('0').unwrap_or(&text).to_owned()
}

fn share(answers: &[&Answer], is_so: impl Fn(&Answer) -> bool) -> f64 {
    let so = answers.iter().filter(|answer| is_so(answer)).count();
    so as f64 / answers.len().max(1) as f64
}
