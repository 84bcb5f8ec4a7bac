//! Why a search ranked a tool where it did.

use serde_json::{Value, json};

use crate::cli::layout::{counted, harmless, one_line};
use crate::cli::style::{FAINT, NAME, WARNING, paint};
use crate::search::Verdict;
use crate::search::explain::{Contribution, ExplainedHit, Explanation, QueryWord, Rule};
use crate::search::fields::Field;

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

/// Two lines: the tool with its score, and the reasons.
pub fn hit_text(hit: &ExplainedHit, indent: &str) -> String {
    let name = paint(NAME, &harmless(hit.tool.exposed.as_str()));
    let weak = match hit.weak {
        true => format!(" {}", paint(WARNING, "weak")),
        false => String::new(),
    };
    let reasons: Vec<String> = hit.contributions.iter().map(reason).collect();
    format!(
        "{indent}{:.3} {name}{weak}\n{indent}      {}\n",
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
        "weak": hit.weak,
        "reasons": reasons.collect::<Vec<_>>(),
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
