//! The generated files are up to date, and the contract still serves hosts that were written against its first version.

use std::path::Path;

use serde_json::Value;
use toolcrib::codegen;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn generated_files_are_up_to_date() {
    let stale = codegen::check(root()).unwrap();
    assert!(
        stale.is_empty(),
        "run `toolcrib codegen`; these are stale: {stale:?}"
    );
}

#[test]
fn generated_files_that_were_touched_or_are_missing_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let written = codegen::write(folder.path()).unwrap();
    assert_eq!(written.len(), codegen::generate().unwrap().len());
    assert!(codegen::check(folder.path()).unwrap().is_empty());

    std::fs::write(
        folder.path().join("clients/go/types.go"),
        "package toolcrib\n",
    )
    .unwrap();
    std::fs::remove_file(folder.path().join("schema/openrpc.json")).unwrap();
    let stale = codegen::check(folder.path()).unwrap();
    assert_eq!(stale, ["schema/openrpc.json", "clients/go/types.go"]);
    assert_eq!(codegen::write(folder.path()).unwrap(), stale);
}

#[test]
fn hosts_of_the_first_version_are_still_served() {
    let old: Value = serde_json::from_str(codegen::BASELINE).unwrap();
    let new: Value = serde_json::from_str(codegen::OPENRPC).unwrap();
    let breaks = codegen::compatibility::breaks(&old, &new);
    assert!(breaks.is_empty(), "{}", breaks.join("\n"));
}

#[test]
fn baseline_is_the_version_that_is_spoken() {
    let baseline: Value = serde_json::from_str(codegen::BASELINE).unwrap();
    let spoken = toolcrib::api::types::PROTOCOL_VERSION.to_string();
    assert_eq!(baseline["info"]["version"], spoken.as_str());
}
