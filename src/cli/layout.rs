//! Text that fits a terminal: width, wrapping, tables.

use anstyle::Style;
use unicode_normalization::char::is_combining_mark;

use crate::cli::style::{HEADING, paint};

/// Narrower than this, a column of prose cannot be read; the line is left to the terminal to break.
const MIN_PROSE_WIDTH: usize = 16;

const GAP: &str = "  ";

/// Columns that a text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// East Asian letters and pictures take two columns, marks none.
fn char_width(c: char) -> usize {
    if c.is_control()
        || is_combining_mark(c)
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}')
    {
        return 0;
    }
    let is_wide = matches!(
        u32::from(c),
        0x1100..=0x115f
            | 0x2e80..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f
            | 0xff00..=0xff60
            | 0xffe0..=0xffe6
            | 0x1f300..=0x1faff
            | 0x20000..=0x3fffd
    );
    if is_wide { 2 } else { 1 }
}

/// What others wrote must not move the cursor, ring or colour: no control characters but line breaks and tabs.
pub fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// In one line, whatever it was before.
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    harmless(&words.join(" "))
}

/// Up to the first full stop behind which something new begins.
pub fn first_sentence(text: &str) -> String {
    let text = one_line(text);
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    let mut ends = ends.filter(|end| text[end + 1..].starts_with(char::is_uppercase));
    match ends.next() {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Cut with an ellipsis where it is too long.
pub fn shortened(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut short = String::new();
    for c in text.chars() {
        let Some(rest) = left.checked_sub(char_width(c)) else {
            break;
        };
        left = rest;
        short.push(c);
    }
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// Lines of at most so many columns; a longer word has a line of its own.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let word_width = width(word);
        if used > 0 && used + 1 + word_width > columns {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += word_width;
        }
    }
    lines
}

/// 1234567 → `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 tool`, `2 tools`.
pub fn counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// Columns that are as wide as what is in them; the last one takes what is left of the line.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    wraps: bool,
}

struct Column {
    title: &'static str,
    is_number: bool,
}

pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub fn styled(style: Style, text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            style,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::styled(Style::new(), text)
    }
}

impl Table {
    /// A title that ends in `#` is of a column of numbers.
    pub fn new(titles: &[&'static str]) -> Table {
        let columns = titles.iter().map(|title| Column {
            title: title.trim_end_matches('#'),
            is_number: title.ends_with('#'),
        });
        Table {
            columns: columns.collect(),
            rows: Vec::new(),
            wraps: false,
        }
    }

    /// Goes on below where the last column is too long, instead of cutting it.
    pub fn wrapping(mut self) -> Table {
        self.wraps = true;
        self
    }

    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// Each line begins with `indent`. The last column is kept whole where there is no terminal.
    pub fn text(&self, indent: &str, columns: Option<usize>) -> String {
        let widths = self.widths();
        let fixed: usize = widths.split_last().map_or(0, |(_, widths)| {
            widths.iter().map(|width| width + GAP.len()).sum()
        });
        let room = columns.map_or(usize::MAX, |columns| {
            let room = columns.saturating_sub(indent.len() + fixed);
            room.max(MIN_PROSE_WIDTH)
        });
        let titles: Vec<Cell> = self
            .columns
            .iter()
            .map(|column| Cell::styled(HEADING, column.title))
            .collect();
        let mut text = String::new();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let Some((prose, cells)) = row.split_last() else {
                continue;
            };
            let mut lines = match self.wraps {
                true => wrapped(&prose.text, room),
                false => vec![shortened(&prose.text, room)],
            }
            .into_iter();
            let line = self.cells(cells, &widths) + &styled(prose.style, lines.next());
            text.push_str(&format!("{indent}{}\n", line.trim_end()));
            for line in lines {
                let margin = " ".repeat(fixed);
                text.push_str(&format!(
                    "{indent}{margin}{}\n",
                    styled(prose.style, Some(line))
                ));
            }
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let widths = self.columns.iter().enumerate().map(|(nth, column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(nth));
            let widest = cells.map(|cell| width(&cell.text)).max();
            widest.unwrap_or_default().max(width(column.title))
        });
        widths.collect()
    }

    /// All but the last one, each followed by a gap.
    fn cells(&self, cells: &[Cell], widths: &[usize]) -> String {
        let mut text = String::new();
        for ((cell, column), columns) in cells.iter().zip(&self.columns).zip(widths) {
            let padding = " ".repeat(columns.saturating_sub(width(&cell.text)));
            let painted = paint(cell.style, &cell.text);
            let aligned = match column.is_number {
                true => padding + &painted,
                false => painted + &padding,
            };
            text.push_str(&aligned);
            text.push_str(GAP);
        }
        text
    }
}

fn styled(style: Style, line: Option<String>) -> String {
    paint(style, &line.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use expect_test::expect;

    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["NAME", "TOKENS#", "DESCRIPTION"]);
        table.row([
            Cell::styled(crate::cli::style::NAME, "a_long_name"),
            "7".into(),
            "Does something that takes a while to explain.".into(),
        ]);
        table.row(["日本".into(), "1,234".into(), "".into()]);
        table
    }

    #[test]
    fn tables_fit_the_terminal_and_are_whole_without_one() {
        let narrow = table().text("", Some(44));
        expect![[r#"
            NAME         TOKENS  DESCRIPTION
            a_long_name       7  Does something that ta…
            日本          1,234
        "#]]
        .assert_eq(&strip_str(&narrow).to_string());
        let whole = table().text("> ", None);
        expect![[r#"
            > NAME         TOKENS  DESCRIPTION
            > a_long_name       7  Does something that takes a while to explain.
            > 日本          1,234
        "#]]
        .assert_eq(&strip_str(&whole).to_string());
    }

    #[test]
    fn long_prose_goes_on_below_where_it_must_not_be_cut() {
        let narrow = table().wrapping().text("> ", Some(46));
        expect![[r#"
            > NAME         TOKENS  DESCRIPTION
            > a_long_name       7  Does something that
            >                      takes a while to
            >                      explain.
            > 日本          1,234
        "#]]
        .assert_eq(&strip_str(&narrow).to_string());
    }

    #[test]
    fn wraps_at_words_and_keeps_long_ones_whole() {
        let lines = wrapped("one two  three\nincomprehensibilities x", 9);
        assert_eq!(lines, ["one two", "three", "incomprehensibilities", "x"]);
    }

    #[test]
    fn cuts_at_columns_not_at_letters() {
        assert_eq!(shortened("日本語のツール", 6), "日本…");
        assert_eq!(shortened("fits", 4), "fits");
        assert_eq!(shortened("a bcd", 3), "a…");
    }

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        assert_eq!(
            harmless("a\x1b[2Jb\r\n\tc\u{9b}"),
            "a\u{fffd}[2Jb\u{fffd}\n\tc\u{fffd}"
        );
        assert_eq!(one_line(" a\n\n b\tc "), "a b c");
    }

    #[test]
    fn a_sentence_ends_where_another_begins() {
        assert_eq!(
            first_sentence("Reads, e.g. a file.\nThen more."),
            "Reads, e.g. a file."
        );
        assert_eq!(first_sentence("one. two"), "one. two");
    }

    #[test]
    fn counts_like_people() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(999), "999");
        assert_eq!(counted(1, "tool"), "1 tool");
        assert_eq!(counted(1200, "tool"), "1,200 tools");
    }
}
