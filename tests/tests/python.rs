//! A client in another language: the story in Python, with stubs generated from our own `.proto` files.

use std::process::Command;

use agrajag_tests::env;
use agrajag_tests::server::Setup;

fn run(command: &mut Command) -> String {
    let output = command.output().expect("Python starts");
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}:\n{printed}", output.status);
    printed
}

/// "A client in another language": every step of `tests/python/test_story.py` passes against the running binary.
#[tokio::test(flavor = "multi_thread")]
async fn the_story_in_python() {
    let python = env::required(env::PYTHON);
    let stubs = tempfile::tempdir().expect("a temporary folder");
    let proto = env::repository().join("proto");
    let files = std::fs::read_dir(proto.join("agrajag/v1")).expect("the .proto files");
    let files = files
        .map(|it| it.expect("a file").path())
        .filter(|it| it.extension().is_some_and(|it| it == "proto"));
    let mut generate = Command::new(&python);
    generate.args(["-m", "grpc_tools.protoc", "-I"]).arg(&proto);
    generate.arg("--python_out").arg(stubs.path()).arg("--grpc_python_out").arg(stubs.path());
    run(generate.args(files));

    let server = Setup::sqlite().spawn().await;
    let stories = env::repository().join("tests/python");
    let path = std::env::join_paths([stubs.path(), stories.as_path()]).expect("a search path");
    let mut story = Command::new(&python);
    story
        .args(["-m", "unittest", "-v", "test_story"])
        .env("PYTHONPATH", path)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let printed = run(story.env("AGRAJAG_SERVER", server.address.to_string()));
    assert!(printed.contains("Ran 8 tests") && printed.contains("\nOK"), "{printed}");
}
