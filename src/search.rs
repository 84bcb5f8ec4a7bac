//! Finds the tools that a query asks for, best first.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{Tool, Tools};
use crate::config::ToolSearchConfig;
use crate::names::ServerName;
use crate::search::alias::Alias;
use crate::search::encoder::semantic::{Key, Semantic, Vectors};
use crate::search::explain::Explanation;
use crate::search::layer::{Layer, Statistics};
use crate::search::outcome::Outcome;
use crate::search::wanted::Keywords;
use crate::search::weights::Weights;

mod alias;
pub mod encoder;
pub mod explain;
pub mod fields;
mod languages;
mod layer;
mod lexicon;
pub mod measure;
pub mod naming;
mod outcome;
mod query;
mod rank;
mod runs;
mod score;
mod segment;
mod stems;
mod synonyms;
pub mod trial;
mod vectors;
pub mod verdict;
mod wanted;
mod weights;
mod words;

/// An immutable index over the tools of many groups; cheap to clone and to derive another one from.
#[derive(Clone)]
pub struct Index {
    shared: Arc<Shared>,
    host: Arc<Layer>,
    servers: Arc<Layer>,
}

struct Shared {
    options: Options,
    aliases: Vec<Alias>,
    keywords: Vec<Keywords>,
    weights: Weights,
}

/// What a user adds to the ranking.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// A model's words → the name of a tool, as the model sees it.
    pub aliases: BTreeMap<String, String>,
    /// The name of a tool, as the model sees it → further words to find it by.
    pub keywords: BTreeMap<String, Vec<String>>,
}

impl From<&ToolSearchConfig> for Options {
    fn from(config: &ToolSearchConfig) -> Options {
        Options {
            aliases: config.aliases.clone(),
            keywords: config.keywords.clone(),
        }
    }
}

/// Tools that come and go together; their order is the order of equal scores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// A session's own tools.
    Host,
    Server(ServerName),
}

/// The best tools for a query, and whether they are likely to be what was meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub hits: Vec<Hit>,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub tool: Arc<Tool>,
    /// 1.7 or more for a tool that the query names; up to 1 for others, and more by an alias.
    pub score: f32,
    /// Whether it is probably not what was meant.
    pub weak: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// There are hits, but probably none is what was meant.
    Weak,
    /// No tool has anything to do with the query, or there are none.
    Nothing,
}

impl Default for Index {
    fn default() -> Index {
        Index::new(Options::default())
    }
}

impl Index {
    pub fn new(options: Options) -> Index {
        Index::weighed(options, Weights::default())
    }

    fn weighed(options: Options, weights: Weights) -> Index {
        let aliases = alias::parse(&options.aliases);
        let keywords = wanted::parse(&options.keywords);
        Index {
            shared: Arc::new(Shared {
                options,
                aliases,
                keywords,
                weights,
            }),
            host: Arc::default(),
            servers: Arc::default(),
        }
    }

    /// The index with these tools in place of those that the group had. No other group's postings are touched.
    pub fn with(&self, group: Group, tools: &Tools) -> Index {
        self.replace(&group, Some(tools))
    }

    /// The index without a group.
    pub fn without(&self, group: &Group) -> Index {
        self.replace(group, None)
    }

    fn replace(&self, group: &Group, tools: Option<&Tools>) -> Index {
        let mut res = self.clone();
        let layer = match group {
            Group::Host => &mut res.host,
            Group::Server(_) => &mut res.servers,
        };
        let Shared {
            options, weights, ..
        } = &*self.shared;
        *layer = Arc::new(layer.replace(group, tools, options, weights));
        res
    }

    /// All tools, in the order of equal scores.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        let segments = self.host.segments.iter().chain(&self.servers.segments);
        segments.flat_map(|segment| &segment.tools)
    }

    /// Every tool with the key of the text by which a sentence encoder knows it. The first call makes the keys.
    pub fn keyed_tools(&self) -> impl Iterator<Item = (&Key, &Arc<Tool>)> {
        let segments = self.host.segments.iter().chain(&self.servers.segments);
        segments.flat_map(|segment| segment.keys().iter().zip(&segment.tools))
    }

    /// Whether there is a vector for every tool. Quick: as long as nobody has made the keys, there is none.
    pub fn is_covered_by(&self, vectors: &Vectors) -> bool {
        let mut segments = self.host.segments.iter().chain(&self.servers.segments);
        segments.all(|segment| {
            let keys = segment.made_keys();
            keys.is_some_and(|keys| keys.iter().all(|key| vectors.get(key).is_some()))
        })
    }

    /// The admitted tools for a query, best first; equal scores in the order of server and name.
    ///
    /// A word that no tool has takes nothing away: the rest of the query decides.
    pub fn search(&self, query: &str, limit: usize, admit: impl Fn(&Tool) -> bool) -> Answer {
        self.search_with(query, limit, admit, None)
    }

    /// As `search`, with what a sentence encoder makes of the query and the tools; by words alone where it does not
    /// know every tool.
    pub fn search_with(
        &self,
        query: &str,
        limit: usize,
        admit: impl Fn(&Tool) -> bool,
        semantic: Option<Semantic<'_>>,
    ) -> Answer {
        let statistics = Statistics::new([&self.host, &self.servers]);
        Outcome::find(query, limit, admit, semantic, &self.shared, &statistics).answer()
    }

    /// A query as a sentence encoder should read it that knows English alone.
    pub fn in_english<'t>(&self, query: &'t str) -> Cow<'t, str> {
        let query = query::read_part(query);
        query::in_english(query, &Statistics::new([&self.host, &self.servers]))
    }

    /// The same ranking, and what each hit owes to which rule.
    pub fn explain(&self, query: &str, limit: usize, admit: impl Fn(&Tool) -> bool) -> Explanation {
        self.explain_with(query, limit, admit, None)
    }

    /// As `explain`, of the ranking by `search_with`.
    pub fn explain_with(
        &self,
        query: &str,
        limit: usize,
        admit: impl Fn(&Tool) -> bool,
        semantic: Option<Semantic<'_>>,
    ) -> Explanation {
        let statistics = Statistics::new([&self.host, &self.servers]);
        let outcome = Outcome::find(query, limit, admit, semantic, &self.shared, &statistics);
        Explanation::of(&outcome, &self.shared)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Map, json};

    use crate::catalog::Origin;
    use crate::catalog::memo::Memo;
    use crate::names::{ExposedName, ToolId};
    use crate::search::encoder::sentence::Sentence;
    use crate::search::explain::{Contribution, Rule};

    use super::*;

    /// `server/name: description (parameter, parameter)`, a line each; a host's tool where there is no server.
    const TOOLS: &str = "
        github/create_issue: Open a new issue in a GitHub repository (title, body)
        github/search_repos: Search GitHub for matching repositories (query)
        github/list_issues: List issues in a repository (repo)
        slack/send_message: Post a message into a Slack channel (channel, text)
        calendar/createEvent: Add an event to the user's calendar (title, start)
        tracker/save_issue: Create or update an issue (title)
        tracker/list_issues: List issues (project)
        payroll/run_payroll: Starta en lönekörning för anställda
        weather/weather_zh: 查询某个城市的天气预报
    ";

    fn tools(lines: &str) -> BTreeMap<Group, Vec<Arc<Tool>>> {
        let mut res: BTreeMap<Group, Vec<Arc<Tool>>> = BTreeMap::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, text) = line.split_once(": ").unwrap_or((line, ""));
            let (description, parameters) = text.split_once(" (").unwrap_or((text, ""));
            let properties: Map<_, _> = parameters
                .trim_end_matches(')')
                .split(", ")
                .map(|name| (name.to_owned(), json!({"type": "string"})))
                .collect();
            let (group, origin, exposed) = match name.split_once('/') {
                Some((server, tool)) => {
                    let id = ToolId::new(&ServerName::new(server).unwrap(), tool);
                    let exposed = ExposedName::of(&id);
                    (Group::Server(id.server.clone()), Origin::Mcp(id), exposed)
                }
                None => (Group::Host, Origin::Host, ExposedName::verbatim(name)),
            };
            res.entry(group).or_default().push(Arc::new(Tool {
                origin,
                exposed,
                title: None,
                description: description.to_owned(),
                input_schema: json!({"type": "object", "properties": properties}),
                extra: Map::new(),
                deferrable: true,
                tokens: 0,
                memo: Memo::default(),
            }));
        }
        res
    }

    fn index(lines: &str) -> Index {
        let empty = Index::new(Options::default());
        tools(lines)
            .into_iter()
            .fold(empty, |index, (group, tools)| {
                index.with(group, &tools.into())
            })
    }

    fn found(index: &Index, query: &str) -> String {
        let answer = index.search(query, 3, |_| true);
        let names: Vec<&str> = answer
            .hits
            .iter()
            .map(|hit| hit.tool.exposed.as_str().trim_start_matches("mcp_"))
            .collect();
        names.join(" ")
    }

    fn check(query: &str, expect: Expect) {
        expect.assert_eq(&found(&index(TOOLS), query));
    }

    #[test]
    fn an_unknown_word_never_empties_the_answer() {
        check(
            "please create github issue",
            expect!["github_create_issue github_list_issues github_search_repos"],
        );
        check(
            "file a bug report on github",
            expect!["github_list_issues github_create_issue github_search_repos"],
        );
        check(
            "mcp github list issues",
            expect!["github_list_issues github_create_issue tracker_list_issues"],
        );
    }

    #[test]
    fn a_word_may_be_misspelt_or_cut_short() {
        check(
            "creat isue",
            expect!["calendar_createEvent github_create_issue tracker_save_issue"],
        );
        check("cal", expect!["calendar_createEvent"]);
    }

    #[test]
    fn two_words_may_be_written_as_one_and_one_as_two() {
        let tools = "
            github/start: Open a ticket
            git/start: Begin a branch
            hub/start: Begin a hub
            disk/list_filesystems: What disks there are
            nas/file: Fetch one
            nas/system: What runs here
            nas/find_key_ring: Where keys are
        ";
        for (query, expected) in [
            ("start GitHub", "github_start"),
            ("start with the Git-Hub", "github_start"),
            ("the file system", "disk_list_filesystems"),
            ("FileSystems", "disk_list_filesystems"),
            ("keyring", "nas_find_key_ring"),
        ] {
            let found = found(&index(tools), query);
            assert!(found.starts_with(expected), "{query}: {found}");
        }
    }

    #[test]
    fn a_tool_gains_by_the_share_of_the_query_that_it_has() {
        let explanation = index(TOOLS).explain("list issues of a repository", 5, |_| true);
        let gains: Vec<(&str, f32)> = explanation
            .hits
            .iter()
            .filter_map(|hit| {
                let is_it = |it: &&Contribution| it.rule == Rule::QueryCoverage;
                let gain = hit.contributions.iter().find(is_it)?;
                Some((hit.tool.exposed.as_str(), gain.amount / hit.score))
            })
            .collect();
        let gain = |name| gains.iter().find(|(it, _)| *it == name).unwrap().1;
        assert!(gain("mcp_github_list_issues") > gain("mcp_tracker_list_issues") * 1.05);
        assert!(gain("mcp_github_list_issues") > gain("mcp_github_create_issue") * 1.05);
    }

    #[test]
    fn a_sentence_encoder_reads_english() {
        let index = index(TOOLS);
        for (query, english) in [
            ("list the issues", "list the issues"),
            ("crear una incidencia en github", "create issue github"),
            ("创建GitHub的issue", "create github issue"),
        ] {
            assert_eq!(index.in_english(query), english);
        }
    }

    #[test]
    fn stop_words_do_not_decide() {
        check(
            "the issue",
            expect!["tracker_save_issue tracker_list_issues github_list_issues"],
        );
    }

    #[test]
    fn a_name_comes_first_however_it_is_written() {
        for query in [
            "mcp_calendar_createEvent",
            "createEvent",
            "create_event",
            "CREATE EVENT",
            "calendar createEvent",
            "calendar.create-event",
            "createevent",
        ] {
            assert_eq!(
                found(&index(TOOLS), query).split(' ').next(),
                Some("calendar_createEvent"),
                "{query}"
            );
        }
    }

    #[test]
    fn tools_of_one_name_are_a_tie_in_the_order_of_servers() {
        let answer = index(TOOLS).search("list_issues", 3, |_| true);
        let servers: Vec<&str> = answer
            .hits
            .iter()
            .filter_map(|hit| hit.tool.server())
            .map(|server| server.as_str())
            .collect();
        assert_eq!(servers[..2], ["github", "tracker"]);
        assert_eq!(answer.hits[0].score, answer.hits[1].score);
        assert!(answer.hits[1].score > answer.hits[2].score);
    }

    #[test]
    fn words_of_any_script_are_found() {
        check("lonekorning", expect!["payroll_run_payroll"]);
        check(
            "天气",
            expect!["weather_weather_zh calendar_createEvent payroll_run_payroll"],
        );
        check("погода", expect![""]);
    }

    #[test]
    fn the_order_in_which_groups_came_does_not_matter() {
        let empty = Index::new(Options::default());
        let backwards = tools(TOOLS)
            .into_iter()
            .rev()
            .fold(empty, |index, (group, tools)| {
                index.with(group, &tools.into())
            });
        for query in ["list issues", "create", "github message", "titel"] {
            let scores = |index: &Index| -> Vec<(String, f32)> {
                let hits = index.search(query, 10, |_| true).hits;
                hits.into_iter()
                    .map(|hit| (hit.tool.exposed.to_string(), hit.score))
                    .collect()
            };
            assert_eq!(scores(&index(TOOLS)), scores(&backwards), "{query}");
        }
    }

    #[test]
    fn a_group_is_replaced_and_removed_whole() {
        let old = index(TOOLS);
        let github = Group::Server(ServerName::new("github").unwrap());
        let new = tools("github/fork: Copy a repository")[&github].clone();
        let replaced = old.with(github.clone(), &new.into());
        assert!(found(&replaced, "fork a repository").starts_with("github_fork"));
        assert!(!found(&replaced, "create github issue").contains("github_create_issue"));
        assert!(!found(&replaced.without(&github), "fork repository").contains("github"));
        assert!(found(&old, "search repositories").starts_with("github_search_repos"));
    }

    #[test]
    fn a_session_adds_tools_of_its_own() {
        let own = tools("open_door: Open the door of the house")[&Group::Host].clone();
        let session = index(TOOLS).with(Group::Host, &own.into());
        assert_eq!(
            found(&session, "open door"),
            "open_door github_create_issue"
        );
        assert_eq!(found(&session.without(&Group::Host), "door"), "");
    }

    #[test]
    fn only_admitted_tools_are_answered() {
        let answer = index(TOOLS).search("list issues", 5, |tool| {
            tool.server()
                .is_some_and(|server| server.as_str() == "tracker")
        });
        assert!(!answer.hits.is_empty());
        assert!(answer.hits.iter().all(|hit| {
            hit.tool
                .server()
                .is_some_and(|server| server.as_str() == "tracker")
        }));
    }

    #[test]
    fn a_query_that_means_nothing_here_finds_nothing() {
        let answer = index(TOOLS).search("zzgrmpf qqxyz", 5, |_| true);
        assert_eq!((answer.hits.len(), answer.verdict), (0, Verdict::Nothing));
        let empty = Index::new(Options::default());
        assert_eq!(empty.search("issue", 5, |_| true).verdict, Verdict::Nothing);
        assert_eq!(
            index(TOOLS).search("", 5, |_| true).verdict,
            Verdict::Nothing
        );
    }

    #[test]
    fn answers_that_lack_what_is_asked_for_are_weak() {
        let index = index(TOOLS);
        assert_eq!(
            index.search("list issues", 5, |_| true).verdict,
            Verdict::Good
        );
        let answer = index.search("brew espresso with the freshroast machine", 5, |_| true);
        assert_eq!(answer.verdict, Verdict::Weak);
        assert!(answer.hits.iter().all(|hit| hit.weak));
    }

    #[test]
    fn other_languages_are_understood() {
        for (query, expected) in [
            ("crear una incidencia", "tracker_save_issue"),
            ("创建日历事件", "calendar_createEvent"),
            ("gửi tin nhắn", "slack_send_message"),
            ("Nachricht senden", "slack_send_message"),
            ("envoyer un message", "slack_send_message"),
            ("メッセージを送信", "slack_send_message"),
            ("enviar mensagem", "slack_send_message"),
            ("weather forecast of a city", "weather_weather_zh"),
        ] {
            let first = found(&index(TOOLS), query);
            let first = first.split(' ').next().unwrap();
            let is_right =
                first == expected || expected == "tracker_save_issue" && first.contains("issue");
            assert!(is_right, "{query}: {first}");
        }
    }

    /// Each would take minutes if words were compared with all words before them, or all cuts of a word looked up.
    #[test]
    fn a_query_without_end_is_read_in_the_time_of_its_length() {
        let index = index(TOOLS);
        let statistics = Statistics::new([&index.host, &index.servers]);
        let distinct: String = (0..100_000).map(|n| format!("{n:x}q ")).collect();
        for text in [&distinct, &"issue".repeat(100_000), &"verq".repeat(100_000)] {
            let query = query::Query::parse(text, &statistics, &index.shared.weights);
            assert!(!query.asked.is_empty());
            let _ = query::in_english(text, &statistics);
        }
    }

    #[test]
    fn of_a_query_without_end_the_beginning_counts() {
        let index = index(TOOLS);
        let query = format!("list issues {}", "and so on ".repeat(1000));
        let longer = format!("{query} weather forecast");
        assert_eq!(
            index.search(&query, 5, |_| true),
            index.search(&longer, 5, |_| true)
        );
        assert!(found(&index, &longer).contains("list_issues"));
    }

    #[test]
    fn a_user_may_add_keywords_and_aliases() {
        let options = Options {
            aliases: [(
                "standup notes".to_owned(),
                "mcp_slack_send_message".to_owned(),
            )]
            .into(),
            keywords: [(
                "mcp_calendar_createEvent".to_owned(),
                vec!["rendezvous".to_owned()],
            )]
            .into(),
        };
        let groups = tools(TOOLS).into_iter();
        let index = groups.fold(Index::new(options), |index, (group, tools)| {
            index.with(group, &tools.into())
        });
        assert!(found(&index, "the standup notes").starts_with("slack_send_message"));
        assert!(
            found(&index, "list issues of our standup notes").starts_with("slack_send_message")
        );
        assert!(found(&index, "rendezvous").starts_with("calendar_createEvent"));
    }

    #[test]
    fn sentences_decide_where_words_do_not_and_explain_themselves() {
        let index = index(TOOLS);
        let direction = |angle: f32| Sentence::of_numbers(&[angle.cos(), angle.sin()]);
        let mut vectors = Vectors::default();
        for (number, (key, _)) in index.keyed_tools().enumerate() {
            vectors.insert(*key, Arc::new(direction(number as f32 / 10.0)));
        }
        let tools: Vec<_> = index.tools().collect();
        let (query, near) = (direction(0.3), tools[3]);
        let semantic = Semantic {
            query: &query,
            vectors: &vectors,
        };
        assert!(index.search("zzgrmpf", 5, |_| true).hits.is_empty());
        for text in [
            "zzgrmpf",
            "list issues of a repository",
            "send a message to the channel. add an event",
        ] {
            let answer = index.search_with(text, 9, |_| true, Some(semantic));
            let explanation = index.explain_with(text, 9, |_| true, Some(semantic));
            if text == "zzgrmpf" {
                assert_eq!(answer.hits[0].tool.exposed, near.exposed);
            }
            assert!(!answer.hits.is_empty());
            for (hit, explained) in answer.hits.iter().zip(&explanation.hits) {
                assert_eq!((&hit.tool, hit.score), (&explained.tool, explained.score));
                let sum: f32 = explained.contributions.iter().map(|it| it.amount).sum();
                assert!(
                    (sum - hit.score).abs() < 2e-3,
                    "{text}: {sum} is not {}",
                    hit.score
                );
            }
        }

        // Half a catalog would win over the other half, so a tool without a vector has all ranked by words.
        let (first, _) = index.keyed_tools().next().unwrap();
        let first = *first;
        vectors.retain(|key| *key != first);
        let semantic = Semantic {
            query: &query,
            vectors: &vectors,
        };
        let without = index.search_with("list issues", 5, |_| true, Some(semantic));
        assert_eq!(without, index.search("list issues", 5, |_| true));
    }

    /// Keywords and an alias of the user's, with sentences that point nowhere near these tools.
    #[test]
    fn what_a_user_adds_is_not_drowned_by_poor_meanings() {
        let options = Options {
            aliases: [("standup".to_owned(), "mcp_slack_send_message".to_owned())].into(),
            keywords: [(
                "mcp_calendar_createEvent".to_owned(),
                vec!["ring".to_owned(), "give".to_owned()],
            )]
            .into(),
        };
        let index = tools(TOOLS)
            .into_iter()
            .fold(Index::new(options), |index, (group, tools)| {
                index.with(group, &tools.into())
            });
        let first = |text: &str, cosine: f32| {
            let mut vectors = Vectors::default();
            for (key, tool) in index.keyed_tools() {
                let is_wanted = ["mcp_slack_send_message", "mcp_calendar_createEvent"]
                    .contains(&tool.exposed.as_str());
                let across = match is_wanted {
                    true => 0.0,
                    false => cosine,
                };
                let numbers = [across, (1.0 - across * across).sqrt()];
                vectors.insert(*key, Arc::new(Sentence::of_numbers(&numbers)));
            }
            let query = Sentence::of_numbers(&[1.0, 0.0]);
            let semantic = Semantic {
                query: &query,
                vectors: &vectors,
            };
            let answer = index.search_with(text, 9, |_| true, Some(semantic));
            let explanation = index.explain_with(text, 9, |_| true, Some(semantic));
            for (hit, explained) in answer.hits.iter().zip(&explanation.hits) {
                assert_eq!((&hit.tool, hit.score), (&explained.tool, explained.score));
                let sum: f32 = explained.contributions.iter().map(|it| it.amount).sum();
                assert!((sum - hit.score).abs() < 2e-3, "{text}: {sum}");
            }
            answer.hits[0].tool.exposed.to_string()
        };
        for text in ["give them a ring", "ring", "give her a ring on the balcony"] {
            assert_eq!(first(text, 0.15), "mcp_calendar_createEvent", "{text}");
        }
        assert_eq!(first("give a ring", 0.6), "mcp_calendar_createEvent");
        let text = "tidy the kitchen before our standup";
        assert_eq!(first(text, 0.15), "mcp_slack_send_message");
        // What is asked for besides them has a tool.
        for (text, cosine) in [
            ("list the issues of a repository that ring", 0.15),
            ("what the neighbours cooked for dinner, and a ring", 0.6),
        ] {
            assert_ne!(first(text, cosine), "mcp_calendar_createEvent", "{text}");
        }
    }

    #[test]
    fn an_explanation_adds_up() {
        let index = index(TOOLS);
        for query in [
            "list github issues",
            "create_issue",
            "send a message to the channel. add an event to the calendar",
        ] {
            let answer = index.search(query, 5, |_| true);
            let explanation = index.explain(query, 5, |_| true);
            assert_eq!(answer.verdict, explanation.verdict);
            for (hit, explained) in answer.hits.iter().zip(&explanation.hits) {
                assert_eq!(
                    (&hit.tool, hit.score, hit.weak),
                    (&explained.tool, explained.score, explained.is_weak())
                );
                let sum: f32 = explained.contributions.iter().map(|it| it.amount).sum();
                assert!(
                    (sum - hit.score).abs() < 2e-3,
                    "{query}: {sum} is not {}",
                    hit.score
                );
            }
        }
    }
}
