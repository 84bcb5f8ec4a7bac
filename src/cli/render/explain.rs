//! Why a search ranked a tool where it did.

use serde_json::{Value, json};

use crate::cli::layout::{counted, harmless, one_line};
use crate::cli::style::{FAINT, NAME, WARNING, paint};
use crate::search::Verdict;
use crate::search::explain::{Contribution, ExplainedHit, Explanation, QueryWord, Rule};
use crate::search::fields::Field;
use crate::search::verdict::Confidence;

/// The hits, best first, each with what it owes to which rule.
pub fn text(explanation: &Explanation) -> String {
    let mut text = format!("{}\n\n", words(&explanation.words));
    for hit in &explanation.hits {
        text.push_str(&hit_text(hit, ""));
    }
    let hits = counted(explanation.hits.len() as u64, "hit");
    let verdict = match explanation.verdict {
        Verdict::Good => "probably what was meant",
        Verdict::Weak => "probably not what was meant",
        Verdict::Nothing => "no tool has anything to do with it",
    };
    text.push_str(&format!(
        "{}\n",
        paint(FAINT, &format!("{hits}: {verdict}"))
    ));
    text
}

/// What the search made of the query.
pub fn words(words: &[QueryWord]) -> String {
    let shown = words.iter().map(|word| {
        let mark = if word.is_known {
            ""
        } else {
            ", no tool has it"
        };
        format!("{} ({:.2}{mark})", one_line(&word.stem), word.worth)
    });
    let shown: Vec<String> = shown.collect();
    let shown = match shown.is_empty() {
        true => "none that count".to_owned(),
        false => shown.join(", "),
    };
    format!("{} {shown}", paint(FAINT, "words:"))
}

/// Two lines: the tool with its score and the confidence in it, and the reasons.
pub fn hit_text(hit: &ExplainedHit, indent: &str) -> String {
    let name = paint(NAME, &harmless(hit.tool.exposed.as_str()));
    let weak = match hit.is_weak() {
        true => format!(" {}", paint(WARNING, "weak")),
        false => String::new(),
    };
    let confidence = match &hit.confidence {
        Some(confidence) => format!(" {}", paint(FAINT, &confidence_text(confidence))),
        None => String::new(),
    };
    let reasons: Vec<String> = hit.contributions.iter().map(reason).collect();
    format!(
        "{indent}{:.3} {name}{weak}{confidence}\n{indent}      {}\n",
        hit.score,
        reasons.join(", ")
    )
}

pub fn json(explanation: &Explanation) -> Value {
    let words = explanation
        .words
        .iter()
        .map(|word| json!({"stem": word.stem, "worth": word.worth, "isKnown": word.is_known}));
    let verdict = match explanation.verdict {
        Verdict::Good => "good",
        Verdict::Weak => "weak",
        Verdict::Nothing => "nothing",
    };
    json!({
        "words": words.collect::<Vec<_>>(),
        "verdict": verdict,
        "hits": explanation.hits.iter().map(hit_json).collect::<Vec<_>>(),
    })
}

pub fn hit_json(hit: &ExplainedHit) -> Value {
    let reasons = hit.contributions.iter().map(
        |contribution| json!({"rule": rule(&contribution.rule), "amount": contribution.amount}),
    );
    json!({
        "name": hit.tool.exposed.as_str(),
        "score": hit.score,
        "weak": hit.is_weak(),
        "confidence": hit.confidence.as_ref().map(confidence_json),
        "reasons": reasons.collect::<Vec<_>>(),
    })
}

fn confidence_text(confidence: &Confidence) -> String {
    let Confidence { words, meaning } = confidence;
    let total = confidence.total();
    format!("confidence {total:.2} (words {words:.2}, meaning {meaning:.2})")
}

fn confidence_json(confidence: &Confidence) -> Value {
    json!({
        "total": confidence.total(),
        "words": confidence.words,
        "meaning": confidence.meaning,
    })
}

fn reason(contribution: &Contribution) -> String {
    format!("{} {:+.3}", rule(&contribution.rule), contribution.amount)
}

fn rule(rule: &Rule) -> String {
    match rule {
        Rule::Named(_) => "the query is its name".to_owned(),
        Rule::Alias => "alias".to_owned(),
        Rule::Word { stem, field } => format!("`{}` in {}", one_line(stem), place(*field)),
        Rule::NearWord { stem } => format!("a word like `{}`", one_line(stem)),
        Rule::Meaning => "meaning".to_owned(),
        Rule::Wanted => "your keywords or alias".to_owned(),
        Rule::Part => "fits a part".to_owned(),
        Rule::NameCoverage => "words of its name".to_owned(),
        Rule::QueryCoverage => "words of the query".to_owned(),
        Rule::Server => "server".to_owned(),
    }
}

fn place(field: Field) -> &'static str {
    match field {
        Field::Name => "name",
        Field::Server => "server",
        Field::Description => "description",
        Field::ParameterNames => "parameters",
        Field::ParameterTexts => "parameter descriptions",
        Field::Keywords => "keywords",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use anstream::adapter::strip_str;
    use expect_test::expect;

    use crate::catalog::Tool;
    use crate::search::naming::Naming;

    use super::*;

    fn hit(
        name: &str,
        score: f32,
        confidence: Option<Confidence>,
        rules: Vec<(Rule, f32)>,
    ) -> ExplainedHit {
        let contributions = rules
            .into_iter()
            .map(|(rule, amount)| Contribution { rule, amount });
        ExplainedHit {
            tool: Arc::new(Tool::host(name, None, None, true)),
            score,
            confidence,
            contributions: contributions.collect(),
        }
    }

    #[test]
    fn tells_what_each_hit_owes_to_which_rule_and_the_confidence_in_it() {
        let stem = || "issu".to_owned();
        let word = Rule::Word {
            stem: stem(),
            field: Field::Description,
        };
        let confidence = |words, meaning| Some(Confidence { words, meaning });
        let explanation = Explanation {
            words: vec![QueryWord {
                stem: stem(),
                worth: 1.5,
                is_known: true,
            }],
            hits: vec![
                hit("issue", 1.7, None, vec![(Rule::Named(Naming::Exact), 1.7)]),
                hit(
                    "report",
                    0.5,
                    confidence(1.0, 0.5),
                    vec![(word, 0.25), (Rule::Meaning, 0.25)],
                ),
                hit(
                    "fix",
                    0.125,
                    confidence(0.0, 0.25),
                    vec![(Rule::Meaning, 0.125)],
                ),
            ],
            verdict: Verdict::Good,
        };
        expect![[r#"
            words: issu (1.50)

            1.700 issue
                  the query is its name +1.700
            0.500 report confidence 0.75 (words 1.00, meaning 0.50)
                  `issu` in description +0.250, meaning +0.250
            0.125 fix weak confidence 0.12 (words 0.00, meaning 0.25)
                  meaning +0.125
            3 hits: probably what was meant
        "#]]
        .assert_eq(&strip_str(&text(&explanation)).to_string());
        expect![[r#"{"name":"fix","score":0.125,"weak":true,"confidence":{"total":0.125,"words":0.0,"meaning":0.25},"reasons":[{"rule":"meaning","amount":0.125}]}"#]].assert_eq(&hit_json(&explanation.hits[2]).to_string());
    }
}
