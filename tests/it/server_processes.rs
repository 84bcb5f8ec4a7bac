//! What is left of a server's process tree, however it ends: nothing.

#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolcrib::config::{ServerConfig, TransportConfig};
use toolcrib::server::{ServerState, Status};

use crate::server::rig::{LIMIT, Rig, stdio};

/// Names the variable by which a tree is found again.
const MARK: &str = "TOOLCRIB_TEST_TREE";
/// Tells this program, started again by a test, which tree to hold.
const HOLD: &str = "TOOLCRIB_TEST_HOLD";

const NOBODY: [u32; 0] = [];

/// How a tree is started, and of how many processes it is, its supervisor included.
const TREES: [(&str, usize); 4] = [
    ("stubborn", 3),
    ("session", 3),
    ("helper", 3),
    ("daemon", 3),
];

fn tree(mode: &str, mark: &str) -> ServerConfig {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tree.py");
    let script = script.display();
    let mut config = match mode {
        "stubborn" => {
            let line = format!("python3 '{script}' stubborn; true");
            stdio("sh", &["-c".to_owned(), line])
        }
        mode => {
            let mut args = vec![script.to_string()];
            args.extend(mode.split(' ').map(str::to_owned));
            stdio("python3", &args)
        }
    };
    if let TransportConfig::Stdio(stdio) = &mut config.transport {
        stdio.env.insert(MARK.to_owned(), mark.to_owned());
    }
    config
}

fn mark(test: &str, mode: &str) -> String {
    format!("{test}-{mode}-{}", std::process::id())
}

/// Processes of a tree that are alive; the dead that nobody has fetched yet are not.
fn alive(mark: &str) -> Vec<u32> {
    let needle = format!("{MARK}={mark}\0");
    let pids = std::fs::read_dir("/proc").unwrap();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut all = environment.windows(needle.len());
        all.any(|part| part == needle.as_bytes())
    })
    .collect()
}

async fn until(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn until_up(mark: &str, n: usize) {
    until("the tree did not grow", LIMIT, || alive(mark).len() >= n).await;
}

async fn until_gone(mark: &str, limit: Duration) {
    let end = Instant::now() + limit;
    while !alive(mark).is_empty() {
        assert!(Instant::now() < end, "left of `{mark}`: {:?}", alive(mark));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn stop_leaves_nothing_of_any_tree() {
    for (mode, n) in TREES {
        let mark = mark("stop", mode);
        let mut rig = Rig::start(tree(mode, &mark));
        rig.state(ServerState::Ready).await;
        until_up(&mark, n).await;
        let started = Instant::now();
        rig.stop().await;
        assert!(started.elapsed() < Duration::from_secs(8), "{mode}");
        assert_eq!(alive(&mark), NOBODY, "{mode}");
    }
}

#[tokio::test]
async fn dropping_the_handle_leaves_nothing_of_any_tree() {
    for (mode, n) in TREES {
        let mark = mark("drop", mode);
        let mut rig = Rig::start(tree(mode, &mark));
        rig.state(ServerState::Ready).await;
        until_up(&mark, n).await;
        drop(rig);
        until_gone(&mark, Duration::from_secs(8)).await;
    }
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing() {
    let mark = mark("silent", "silent");
    let rig = Rig::start(tree("silent", &mark));
    until_up(&mark, 3).await;
    rig.stop().await;
    assert_eq!(alive(&mark), NOBODY);
}

#[tokio::test]
async fn a_start_that_is_given_up_at_any_moment_leaves_nothing() {
    let dropped = mark("moments", "dropped");
    let stopped = mark("moments", "stopped");
    for n in 0..20 {
        let mark = if n % 2 == 0 { &dropped } else { &stopped };
        let rig = Rig::start(tree("session", mark));
        tokio::time::sleep(Duration::from_millis(n * 12)).await;
        if n % 2 == 0 {
            drop(rig);
        } else {
            rig.stop().await;
            assert_eq!(alive(&stopped), NOBODY, "after {} ms", n * 12);
        }
    }
    until_gone(&dropped, Duration::from_secs(8)).await;
}

#[tokio::test]
async fn the_death_of_the_sidecar_leaves_nothing_of_any_tree() {
    for (mode, n) in [("silent", 3)].into_iter().chain(TREES) {
        let mark = mark("death", mode);
        let this = std::env::current_exe().unwrap();
        let mut sidecar = Command::new(this)
            .args(["--exact", "server_processes::holds_a_tree", "--ignored"])
            .env(HOLD, format!("{mode},{mark}"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until_up(&mark, n).await;
        sidecar.kill().unwrap();
        sidecar.wait().unwrap();
        until_gone(&mark, Duration::from_secs(4)).await;
    }
}

/// Plays the sidecar for the test above; by itself it does nothing.
#[tokio::test]
#[ignore = "started by the test of the sidecar's death"]
async fn holds_a_tree() {
    let Ok(hold) = std::env::var(HOLD) else {
        return;
    };
    let (mode, mark) = hold.split_once(',').unwrap();
    let _rig = Rig::start(tree(mode, mark));
    tokio::time::sleep(LIMIT).await;
}

/// The supervisor is the only one who knows all descendants: signals to it end the server, not only itself.
#[tokio::test]
async fn a_signal_to_the_supervisor_ends_the_whole_tree() {
    let mark = mark("signal", "daemon");
    let mut rig = Rig::start(tree("daemon", &mark));
    let status = rig.state(ServerState::Ready).await;
    until_up(&mark, 3).await;
    let all = alive(&mark);
    let supervisor = parent_of(status.pid.unwrap());
    assert!(all.contains(&supervisor));
    let killed = Command::new("kill").arg(supervisor.to_string()).status();
    assert!(killed.unwrap().success());
    rig.state(ServerState::Backoff).await;
    until(
        "its processes are still there",
        Duration::from_secs(4),
        || {
            let now = alive(&mark);
            !all.iter().any(|pid| now.contains(pid))
        },
    )
    .await;
    rig.stop().await;
    assert_eq!(alive(&mark), NOBODY);
}

/// Whoever kills the supervisor itself leaves nobody to look after the rest, so the sidecar does what it still can.
#[tokio::test]
async fn the_death_of_the_supervisor_is_the_end_of_the_server() {
    let mark = mark("orphan", "stubborn");
    let mut rig = Rig::start(tree("stubborn", &mark));
    let status = rig.state(ServerState::Ready).await;
    until_up(&mark, 3).await;
    let all = alive(&mark);
    let supervisor = parent_of(status.pid.unwrap());
    let killed = Command::new("kill")
        .args(["-9", &supervisor.to_string()])
        .status();
    assert!(killed.unwrap().success());
    let status = rig.state(ServerState::Backoff).await;
    assert_eq!(status.error.unwrap().kind, "exited");
    assert!(all.iter().all(|pid| !alive(&mark).contains(pid)));
    rig.stop().await;
    assert_eq!(alive(&mark), NOBODY);
}

fn parent_of(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.unwrap().trim().parse().unwrap()
}

async fn failure(mode: &str) -> Status {
    let mut rig = Rig::start(tree(mode, &mark("failure", mode)));
    let status = rig.state(ServerState::Backoff).await;
    rig.stop().await;
    status
}

#[tokio::test]
async fn the_exit_status_and_the_last_words_are_told() {
    let status = failure("exit 7").await;
    let error = status.error.unwrap();
    assert_eq!(error.kind, "exited");
    assert_eq!(
        error.message,
        "before the handshake was done, the process ended with exit code 7; its last words: the last line"
    );
    assert_eq!(status.stderr_tail, ["the last line"]);
    let error = failure("kill 9").await.error.unwrap();
    assert_eq!(
        error.message,
        "before the handshake was done, the process ended with signal 9 (SIGKILL)"
    );
}

#[tokio::test]
async fn mistakes_in_the_configuration_are_told_apart_and_not_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain");
    std::fs::write(&plain, "text").unwrap();
    let script = dir.path().join("script");
    std::fs::write(&script, "#!/nonexistent/interpreter\n").unwrap();
    make_executable(&script);
    let with_cwd = |cwd: PathBuf| {
        let mut config = stdio("sh", &[]);
        if let TransportConfig::Stdio(stdio) = &mut config.transport {
            stdio.cwd = Some(cwd);
        }
        config
    };
    let at = |path: &PathBuf| stdio(path.to_str().unwrap(), &[]);
    let cases = [
        ("commandNotFound", stdio("no-such-command-anywhere", &[])),
        ("commandNotFound", at(&script)),
        ("notExecutable", at(&plain)),
        ("cwdMissing", with_cwd(dir.path().join("none"))),
        ("cwdNotADirectory", with_cwd(plain.clone())),
    ];
    for (kind, config) in cases {
        let mut rig = Rig::start(config);
        let status = rig.state(ServerState::Failed).await;
        let error = status.error.unwrap();
        assert_eq!(error.kind, kind, "{}", error.message);
        rig.stop().await;
    }
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn restart_replaces_the_process_and_tells_its_new_id() {
    let mark = mark("restart", "stubborn");
    let mut rig = Rig::start(tree("stubborn", &mark));
    let before = rig.state(ServerState::Ready).await;
    rig.handle.restart();
    rig.state(ServerState::Connecting).await;
    let after = rig.state(ServerState::Ready).await;
    assert_ne!(before.pid, after.pid);
    assert_eq!(rig.handle.status().pid, after.pid);
    rig.stop().await;
    assert_eq!(alive(&mark), NOBODY);
}
