//! The folder: text files in a private temporary folder that is removed when the server ends.

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::TempDir;

use crate::demo::server::Server;
use crate::demo::tool::{Answer, Effect, Tool};

/// Larger files are refused, so that the folder cannot fill the disk.
const MAX_FILE_BYTES: usize = 1_000_000;

/// Nobody but this server writes into it and none of the tools makes links, so names alone decide what is inside.
pub struct Folder(TempDir);

pub fn server() -> io::Result<Server<Folder>> {
    use Effect::{Adds, Reads, Replaces};
    Ok(Server {
        name: "files",
        instructions: "Text files in a private folder. Paths are relative to it, and it is removed at the end.",
        tools: vec![
            Tool::new("list_directory", "List a directory", Reads, list_directory),
            Tool::new(
                "create_directory",
                "Create a directory",
                Adds,
                create_directory,
            ),
            Tool::new("read_file", "Read a file", Reads, read_file),
            Tool::new("write_file", "Write a file", Replaces, write_file),
            Tool::new("append_file", "Append to a file", Adds, append_file),
            Tool::new("edit_file", "Edit a file", Replaces, edit_file),
            Tool::new("move_file", "Move or rename", Replaces, move_file),
            Tool::new("delete_file", "Delete", Replaces, delete_file),
            Tool::new("search_files", "Search files", Reads, search_files),
            Tool::new("file_info", "File facts", Reads, file_info),
        ],
        state: Folder::with_examples()?,
    })
}

/// Lists the files and directories below a directory of the shared folder, with the sizes of files.
/// Directories end in a slash. Use this to find out what is there before you read or write.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDirectory {
    /// Directory to list, relative to the shared folder. "." is the folder itself.
    #[serde(default = "here")]
    path: String,
    /// Whether directories inside it are listed as well, down to any depth.
    #[serde(default)]
    recursive: bool,
    /// Whether names that begin with a dot are listed.
    #[serde(default)]
    include_hidden: bool,
}

fn here() -> String {
    ".".into()
}

fn list_directory(folder: &mut Folder, arguments: ListDirectory) -> Result<Answer, String> {
    let start = folder.resolve(&arguments.path)?;
    let entries = folder.entries(&start, arguments.recursive)?;
    let shown: Vec<String> = entries
        .iter()
        .filter(|entry| arguments.include_hidden || !entry.is_hidden())
        .map(Entry::line)
        .collect();
    if shown.is_empty() {
        return Ok(Answer::text("the directory is empty"));
    }
    Ok(Answer::text(shown.join("\n")))
}

/// Creates a directory in the shared folder, together with the directories above it that do not exist
/// yet. A directory that exists already is no error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateDirectory {
    /// Directory to create, relative to the shared folder, for example "reports/2026".
    path: String,
}

fn create_directory(folder: &mut Folder, arguments: CreateDirectory) -> Result<Answer, String> {
    let path = folder.resolve(&arguments.path)?;
    fs::create_dir_all(path).map_err(|error| said(&arguments.path, &error))?;
    Ok(Answer::text(format!("created {}", arguments.path)))
}

/// Reads a text file of the shared folder, as a whole or only some of its lines. Read only what you
/// need: long files are cut after the number of lines given, and the answer says how many lines there
/// are in all.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// File to read, relative to the shared folder.
    path: String,
    /// First line to return, counted from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    first_line: usize,
    /// Most lines to return.
    #[serde(default = "thousand")]
    #[schemars(range(min = 1, max = 10000))]
    max_lines: usize,
    /// Whether each line is preceded by its number, which helps with editing.
    #[serde(default)]
    line_numbers: bool,
}

fn one() -> usize {
    1
}

fn thousand() -> usize {
    1000
}

fn read_file(folder: &mut Folder, arguments: ReadFile) -> Result<Answer, String> {
    let text = folder.read(&arguments.path)?;
    let first = arguments.first_line.max(1);
    let max_lines = arguments.max_lines.clamp(1, 10_000);
    let n_lines = text.lines().count();
    let lines = text.lines().enumerate().skip(first - 1).take(max_lines);
    let shown: Vec<String> = lines
        .map(|(nth, line)| match arguments.line_numbers {
            true => format!("{:>5}  {line}", nth + 1),
            false => line.to_owned(),
        })
        .collect();
    let mut answer = shown.join("\n");
    if shown.len() < n_lines {
        let last = first + shown.len().saturating_sub(1);
        answer.push_str(&format!("\n[lines {first} to {last} of {n_lines}]"));
    }
    Ok(Answer::text(answer))
}

/// Writes a text file into the shared folder. Directories above it are created. A file that exists is
/// replaced as a whole only if overwriting is allowed; to change parts of a file use edit_file, to add
/// to its end use append_file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    /// File to write, relative to the shared folder, for example "reports/week-10.md".
    path: String,
    /// The whole text of the file. At most one megabyte.
    content: String,
    /// Whether a file that exists may be replaced.
    #[serde(default)]
    overwrite: bool,
}

fn write_file(folder: &mut Folder, arguments: WriteFile) -> Result<Answer, String> {
    let path = folder.resolve(&arguments.path)?;
    if path.exists() && !arguments.overwrite {
        return Err(format!(
            "`{}` exists already: set `overwrite` or take another name",
            arguments.path
        ));
    }
    folder.write(&arguments.path, &arguments.content)?;
    Ok(Answer::text(format!(
        "wrote {} ({} bytes)",
        arguments.path,
        arguments.content.len()
    )))
}

/// Adds text to the end of a file of the shared folder, and creates the file if there is none. Suited
/// to logs and lists that grow.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AppendFile {
    /// File to add to, relative to the shared folder.
    path: String,
    /// Text to add.
    content: String,
    /// Whether the text begins on a new line if the file does not end with a line break.
    #[serde(default = "yes")]
    on_new_line: bool,
}

fn yes() -> bool {
    true
}

fn append_file(folder: &mut Folder, arguments: AppendFile) -> Result<Answer, String> {
    let mut text = match folder.resolve(&arguments.path)?.exists() {
        true => folder.read(&arguments.path)?,
        false => String::new(),
    };
    if arguments.on_new_line && !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&arguments.content);
    folder.write(&arguments.path, &text)?;
    Ok(Answer::text(format!(
        "{} now has {} bytes",
        arguments.path,
        text.len()
    )))
}

/// Edits a text file of the shared folder by replacing pieces of it. Each piece has to occur exactly
/// once, so give enough of the lines around it. Either all edits are made or none: if one of the
/// pieces is not found, the file stays as it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditFile {
    /// File to edit, relative to the shared folder.
    path: String,
    /// The edits, in the order in which they are made.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
    /// Whether to say only what would change, and leave the file alone.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The piece to replace, to the letter, with its blanks and line breaks.
    old_text: String,
    /// What to put in its place. An empty text removes the piece.
    new_text: String,
}

fn edit_file(folder: &mut Folder, arguments: EditFile) -> Result<Answer, String> {
    let mut text = folder.read(&arguments.path)?;
    for (nth, edit) in arguments.edits.iter().enumerate() {
        let found = match edit.old_text.as_str() {
            "" => 0,
            old_text => text.matches(old_text).count(),
        };
        if found != 1 {
            return Err(format!(
                "`edits[{nth}].old_text` occurs {found} times, not once: the file was not changed"
            ));
        }
        text = text.replacen(&edit.old_text, &edit.new_text, 1);
    }
    if !arguments.dry_run {
        folder.write(&arguments.path, &text)?;
    }
    let would = if arguments.dry_run {
        "would make"
    } else {
        "made"
    };
    let edits = match arguments.edits.len() {
        1 => "1 edit".to_owned(),
        n_edits => format!("{n_edits} edits"),
    };
    Ok(Answer::text(format!(
        "{would} {edits} in {}",
        arguments.path
    )))
}

/// Moves a file or a directory within the shared folder, or renames it. Nothing is overwritten: the
/// call is refused if the new name is taken.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MoveFile {
    /// What to move, relative to the shared folder.
    source: String,
    /// Its new place and name, relative to the shared folder. Directories above it are created.
    destination: String,
}

fn move_file(folder: &mut Folder, arguments: MoveFile) -> Result<Answer, String> {
    let source = folder.resolve_inner(&arguments.source)?;
    let destination = folder.resolve_inner(&arguments.destination)?;
    if destination.exists() {
        return Err(format!("`{}` exists already", arguments.destination));
    }
    if destination.starts_with(&source) {
        return Err(format!(
            "`{}` cannot be moved into itself",
            arguments.source
        ));
    }
    if let Some(parent) = destination.parent() {
        fs::create_dir_all(parent).map_err(|error| said(&arguments.destination, &error))?;
    }
    fs::rename(source, destination).map_err(|error| said(&arguments.source, &error))?;
    Ok(Answer::text(format!(
        "moved {} to {}",
        arguments.source, arguments.destination
    )))
}

/// Deletes a file of the shared folder, or a directory. This cannot be undone. A directory that is not
/// empty is deleted with everything in it only if that is asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteFile {
    /// What to delete, relative to the shared folder.
    path: String,
    /// Whether a directory may be deleted with everything in it.
    #[serde(default)]
    recursive: bool,
}

fn delete_file(folder: &mut Folder, arguments: DeleteFile) -> Result<Answer, String> {
    let path = folder.resolve_inner(&arguments.path)?;
    let deleted = match (path.is_dir(), arguments.recursive) {
        (true, true) => fs::remove_dir_all(path),
        (true, false) => fs::remove_dir(path),
        (false, _) => fs::remove_file(path),
    };
    deleted.map_err(|error| said(&arguments.path, &error))?;
    Ok(Answer::text(format!("deleted {}", arguments.path)))
}

/// Searches the text files of the shared folder for a piece of text and returns the lines that hold it
/// with their files and numbers. Pieces are taken to the letter; there are no regular expressions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchFiles {
    /// The piece of text to look for.
    #[schemars(length(min = 1))]
    text: String,
    /// Directory in which to search, relative to the shared folder.
    #[serde(default = "here")]
    path: String,
    /// Only files whose names end so, for example [".md", ".txt"]. An empty list means all files.
    #[serde(default)]
    endings: Vec<String>,
    /// How upper and lower case are treated.
    #[serde(default)]
    case: CaseRule,
    /// Most lines to return.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CaseRule {
    /// "Bread" finds "bread".
    #[default]
    Ignore,
    /// "Bread" does not find "bread".
    Respect,
}

fn hundred() -> usize {
    100
}

fn search_files(folder: &mut Folder, arguments: SearchFiles) -> Result<Answer, String> {
    if arguments.text.is_empty() {
        return Err("`text` is empty".into());
    }
    let start = folder.resolve(&arguments.path)?;
    let wanted = arguments.text.to_lowercase();
    let is_hit = |line: &str| match arguments.case {
        CaseRule::Ignore => line.to_lowercase().contains(&wanted),
        CaseRule::Respect => line.contains(&arguments.text),
    };
    let mut hits = Vec::new();
    for entry in folder.entries(&start, true)? {
        let endings = &arguments.endings;
        let is_named = endings.is_empty() || endings.iter().any(|end| entry.name.ends_with(end));
        if entry.is_directory || !is_named {
            continue;
        }
        let text = folder.read(&entry.name)?;
        let lines = text.lines().enumerate().filter(|(_, line)| is_hit(line));
        hits.extend(lines.map(|(nth, line)| format!("{}:{}: {line}", entry.name, nth + 1)));
    }
    hits.truncate(arguments.limit.clamp(1, 1000));
    if hits.is_empty() {
        return Ok(Answer::text("nothing found"));
    }
    Ok(Answer::text(hits.join("\n")))
}

/// Tells whether something is a file or a directory, its size in bytes and, for text files, the number
/// of its lines and words. Use this before reading a file that may be large.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileInfo {
    /// File or directory, relative to the shared folder.
    path: String,
}

fn file_info(folder: &mut Folder, arguments: FileInfo) -> Result<Answer, String> {
    let path = folder.resolve(&arguments.path)?;
    if path.is_dir() {
        let entries = folder.entries(&path, true)?;
        let files = entries.iter().filter(|entry| !entry.is_directory);
        return Ok(Answer::structured(json!({
            "kind": "directory",
            "files": files.clone().count(),
            "bytes": files.map(|entry| entry.bytes).sum::<u64>(),
        })));
    }
    let text = folder.read(&arguments.path)?;
    Ok(Answer::structured(json!({
        "kind": "file",
        "bytes": text.len(),
        "lines": text.lines().count(),
        "words": text.split_whitespace().count(),
    })))
}

struct Entry {
    /// Relative to the folder.
    name: String,
    is_directory: bool,
    bytes: u64,
}

impl Entry {
    fn is_hidden(&self) -> bool {
        self.name.split('/').any(|part| part.starts_with('.'))
    }

    fn line(&self) -> String {
        match self.is_directory {
            true => format!("{}/", self.name),
            false => format!("{} ({} bytes)", self.name, self.bytes),
        }
    }
}

impl Folder {
    fn with_examples() -> io::Result<Folder> {
        let folder = TempDir::with_prefix("toolcrib-files-")?;
        fs::create_dir(folder.path().join("reports"))?;
        let examples = [
            (
                "readme.md",
                "# Shared folder\n\nReports are written on Fridays.\n",
            ),
            (
                "reports/week-09.md",
                "# Week 9\n\n- release 1.4 is out\n- the office move is planned\n",
            ),
        ];
        for (name, text) in examples {
            fs::write(folder.path().join(name), text)?;
        }
        Ok(Folder(folder))
    }

    /// The place of a path inside the folder; anything that would lead out of it is refused.
    fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        let mut resolved = self.0.path().to_owned();
        for component in Path::new(path).components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) if !path.contains('\0') => resolved.push(name),
                _ => {
                    return Err(format!(
                        "`{path}` leads out of the shared folder: give a path inside it, without `..`"
                    ));
                }
            }
        }
        Ok(resolved)
    }

    /// Anything but the folder itself.
    fn resolve_inner(&self, path: &str) -> Result<PathBuf, String> {
        let resolved = self.resolve(path)?;
        if resolved == self.0.path() {
            return Err("the shared folder itself stays where it is".into());
        }
        Ok(resolved)
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let bytes = fs::read(self.resolve(path)?).map_err(|error| said(path, &error))?;
        String::from_utf8(bytes).map_err(|_| format!("`{path}` is not a text file"))
    }

    fn write(&self, path: &str, content: &str) -> Result<(), String> {
        if content.len() > MAX_FILE_BYTES {
            return Err(format!("a file may have at most {MAX_FILE_BYTES} bytes"));
        }
        let target = self.resolve_inner(path)?;
        let parent = target.parent().unwrap_or(self.0.path());
        let written = fs::create_dir_all(parent)
            .and_then(|()| fs::File::create(&target))
            .and_then(|mut file| file.write_all(content.as_bytes()));
        written.map_err(|error| said(path, &error))
    }

    /// Sorted by name, directories before what is in them.
    fn entries(&self, start: &Path, recursive: bool) -> Result<Vec<Entry>, String> {
        let mut entries = Vec::new();
        let mut directories = vec![start.to_owned()];
        while let Some(directory) = directories.pop() {
            let name = self.name(&directory);
            let listed = fs::read_dir(&directory).map_err(|error| said(&name, &error))?;
            for entry in listed {
                let path = entry.map_err(|error| said(&name, &error))?.path();
                let is_directory = path.is_dir();
                if is_directory && recursive {
                    directories.push(path.clone());
                }
                entries.push(Entry {
                    name: self.name(&path),
                    is_directory,
                    bytes: path.metadata().map_or(0, |metadata| metadata.len()),
                });
            }
        }
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }

    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(self.0.path()).unwrap_or(path);
        inside.to_string_lossy().into_owned()
    }
}

/// The system's words without the place of the folder, which is nobody's business.
fn said(path: &str, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "is not a directory".to_owned(),
        io::ErrorKind::DirectoryNotEmpty => {
            "is not empty: set `recursive` to delete all of it".to_owned()
        }
        kind => kind.to_string(),
    };
    format!("`{path}` {reason}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::demo::tool::call;

    #[test]
    fn works_on_files() {
        let mut server = server().unwrap();
        let mut log = String::new();
        for (name, arguments) in [
            ("list_directory", json!({"recursive": true})),
            (
                "write_file",
                json!({"path": "a/b.txt", "content": "one\ntwo\nthree"}),
            ),
            ("write_file", json!({"path": "a/b.txt", "content": ""})),
            (
                "append_file",
                json!({"path": "a/b.txt", "content": "four\n"}),
            ),
            (
                "read_file",
                json!({"path": "a/b.txt", "first_line": 2, "max_lines": 2, "line_numbers": true}),
            ),
            (
                "edit_file",
                json!({"path": "a/b.txt", "edits": [{"old_text": "two", "new_text": "2"}]}),
            ),
            (
                "edit_file",
                json!({"path": "a/b.txt", "edits": [{"old_text": "o", "new_text": "0"}]}),
            ),
            ("search_files", json!({"text": "WEEK", "endings": [".md"]})),
            ("file_info", json!({"path": "a/b.txt"})),
            ("file_info", json!({"path": "."})),
            ("move_file", json!({"source": "a", "destination": "a/c"})),
            (
                "move_file",
                json!({"source": "a/b.txt", "destination": "c/d.txt"}),
            ),
            ("create_directory", json!({"path": "a/x"})),
            ("delete_file", json!({"path": "a"})),
            ("delete_file", json!({"path": "a", "recursive": true})),
            ("delete_file", json!({"path": "."})),
            ("read_file", json!({"path": "a/b.txt"})),
            ("read_file", json!({"path": "reports"})),
        ] {
            log += &format!("{name}: {}\n", call(&mut server, name, arguments));
        }
        expect![[r#"
            list_directory: readme.md (49 bytes)
            reports/
            reports/week-09.md (60 bytes)
            write_file: wrote a/b.txt (13 bytes)
            write_file: error: `a/b.txt` exists already: set `overwrite` or take another name
            append_file: a/b.txt now has 19 bytes
            read_file:     2  two
                3  three
            [lines 2 to 3 of 4]
            edit_file: made 1 edit in a/b.txt
            edit_file: error: `edits[0].old_text` occurs 2 times, not once: the file was not changed
            search_files: reports/week-09.md:1: # Week 9
            file_info: {"kind":"file","bytes":17,"lines":4,"words":4}
            file_info: {"kind":"directory","files":3,"bytes":126}
            move_file: error: `a` cannot be moved into itself
            move_file: moved a/b.txt to c/d.txt
            create_directory: created a/x
            delete_file: error: `a` is not empty: set `recursive` to delete all of it
            delete_file: deleted a
            delete_file: error: the shared folder itself stays where it is
            read_file: error: `a/b.txt` does not exist
            read_file: error: `reports` is a directory
        "#]]
        .assert_eq(&log);
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let mut server = server().unwrap();
        for path in [
            "..",
            "/",
            "/etc/passwd",
            "reports/../..",
            "./../x",
            "reports/..",
            "a\0b",
        ] {
            for (name, arguments) in [
                ("read_file", json!({"path": path})),
                (
                    "write_file",
                    json!({"path": path, "content": "x", "overwrite": true}),
                ),
                ("list_directory", json!({"path": path})),
                (
                    "move_file",
                    json!({"source": "readme.md", "destination": path}),
                ),
                ("delete_file", json!({"path": path, "recursive": true})),
            ] {
                let answer = call(&mut server, name, arguments);
                assert!(
                    answer.contains("leads out of the shared folder"),
                    "{name} {path:?}: {answer}"
                );
            }
        }
    }

    #[test]
    fn the_folder_goes_with_its_server() {
        let server = server().unwrap();
        let path = server.state.0.path().to_owned();
        assert!(path.join("readme.md").exists());
        drop(server);
        assert!(!path.exists());
    }
}
