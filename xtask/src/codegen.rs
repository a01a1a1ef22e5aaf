//! `codegen`: `.proto` files → committed Rust code and descriptor set.
//!
//! Owns the settings of the generator and the comparison with what is committed. protox compiles the files in
//! process, so no protoc is needed on the machine. Knows nothing of what the messages mean.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use tonic_prost_build::FileDescriptorSet;

use crate::{process, workspace};

/// The one package family that is generated; what comes from `google.protobuf` is taken from `prost-types`.
const PACKAGE: &str = "agrajag.";

/// The file descriptor set, with imports and comments: reflection and the JSON mapping read it.
const DESCRIPTOR: &str = "descriptor.bin";

/// Regenerates the code, or with `check` compares it with what is committed and fails on any difference.
pub(crate) fn codegen(check: bool) -> Result<()> {
    let root = workspace::root();
    let out = root.join("proto/src/generated");
    let fresh = generate(&root.join("proto"), &root.join("rustfmt.toml"))?;
    let differences = compare(&out, &fresh)?;
    if check {
        if differences.is_empty() {
            println!("codegen: {} generated files are up to date", fresh.len());
            return Ok(());
        }
        bail!("generated code is stale; run `cargo xtask codegen`\n  {}", differences.join("\n  "));
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot create `{}`", out.display()))?;
    for stale in existing(&out)?.keys().filter(|name| !fresh.contains_key(*name)) {
        fs::remove_file(out.join(stale)).with_context(|| format!("cannot remove `{stale}`"))?;
    }
    let committed = existing(&out)?;
    // An unchanged file keeps its time, so that cargo rebuilds nothing.
    for (name, content) in fresh.iter().filter(|(name, content)| committed.get(*name) != Some(content)) {
        fs::write(out.join(name), content).with_context(|| format!("cannot write `{name}`"))?;
    }
    println!("codegen: {} files, {} changed", fresh.len(), differences.len());
    for difference in differences {
        println!("  {difference}");
    }
    Ok(())
}

/// Every `.proto` file below `dir`, relative to it and sorted, so that the order on disk cannot reach the output.
pub(crate) fn proto_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "proto") {
                found.push(path.strip_prefix(dir)?.to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Generates everything in memory: file name → content.
fn generate(proto_root: &Path, rustfmt_config: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let protos = proto_files(&proto_root.join("agrajag"))?;
    ensure!(!protos.is_empty(), "no .proto files below `{}`", proto_root.join("agrajag").display());

    let mut compiler = protox::Compiler::new([proto_root])?;
    compiler.include_imports(true).include_source_info(true);
    for proto in &protos {
        // protox prints positions through its Debug form, which anyhow's chain does not show.
        compiler
            .open_file(Path::new("agrajag").join(proto))
            .map_err(|error| anyhow::anyhow!("cannot compile `{}`: {error:?}", proto.display()))?;
    }

    let mut files = BTreeMap::from([(DESCRIPTOR.to_owned(), compiler.encode_file_descriptor_set())]);
    for (name, code) in rust_code(compiler.file_descriptor_set(), rustfmt_config)? {
        files.insert(name, code);
    }
    Ok(files)
}

fn rust_code(descriptors: FileDescriptorSet, rustfmt_config: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let scratch = tempfile::tempdir().context("cannot create a scratch folder")?;
    tonic_prost_build::configure()
        .btree_map(".")
        .emit_rerun_if_changed(false)
        .out_dir(scratch.path())
        .compile_fds(descriptors)
        .context("cannot generate code")?;

    let mut files = BTreeMap::new();
    for name in existing(scratch.path())?.into_keys().filter(|name| name.starts_with(PACKAGE)) {
        let path = scratch.path().join(&name);
        process::output(
            Command::new("rustfmt")
                .args(["--edition", "2024", "--config-path"])
                .arg(rustfmt_config)
                .arg(&path)
                .current_dir(workspace::root()),
        )?;
        files.insert(name, fs::read(&path)?);
    }
    Ok(files)
}

/// The files of a folder that may be absent: name → content.
fn existing(dir: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if !dir.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(dir).with_context(|| format!("cannot read `{}`", dir.display()))? {
        let path = entry?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(name, fs::read(&path)?);
        }
    }
    Ok(files)
}

/// One line per file that is missing, superfluous or different.
fn compare(committed: &Path, fresh: &BTreeMap<String, Vec<u8>>) -> Result<Vec<String>> {
    let old = existing(committed)?;
    let mut differences = Vec::new();
    for (name, content) in fresh {
        match old.get(name) {
            None => differences.push(format!("{name}: missing")),
            Some(was) if was != content => {
                differences.push(format!("{name}: {}", first_difference(was, content)))
            }
            Some(_) => {}
        }
    }
    differences.extend(
        old.keys().filter(|name| !fresh.contains_key(*name)).map(|name| format!("{name}: superfluous")),
    );
    Ok(differences)
}

fn first_difference(was: &[u8], is: &[u8]) -> String {
    let (Ok(was), Ok(is)) = (std::str::from_utf8(was), std::str::from_utf8(is)) else {
        return format!("{} bytes committed, {} generated", was.len(), is.len());
    };
    let line = was.lines().zip(is.lines()).take_while(|(was, is)| was == is).count();
    format!(
        "line {}: committed `{}`, generated `{}`",
        line + 1,
        was.lines().nth(line).unwrap_or("end of file").trim(),
        is.lines().nth(line).unwrap_or("end of file").trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTO: &str = r#"
        // A service for the test.
        syntax = "proto3";
        package agrajag.v1;
        import "google/protobuf/timestamp.proto";
        // Says hello.
        service HelloService { rpc Hello(HelloRequest) returns (HelloResponse); }
        message HelloRequest { map<string, string> words = 1; }
        message HelloResponse { google.protobuf.Timestamp at = 1; }
    "#;

    fn project(proto: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("agrajag/v1")).unwrap();
        fs::write(dir.path().join("agrajag/v1/hello.proto"), proto).unwrap();
        dir
    }

    fn generate_in(dir: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
        generate(dir, &workspace::root().join("rustfmt.toml"))
    }

    #[test]
    fn client_server_and_descriptor_come_out_the_same_each_time() {
        let dir = project(PROTO);
        let files = generate_in(dir.path()).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["agrajag.v1.rs", DESCRIPTOR]);
        let code = String::from_utf8(files["agrajag.v1.rs"].clone()).unwrap();
        for part in
            ["pub mod hello_service_client", "pub mod hello_service_server", "BTreeMap", "/// Says hello."]
        {
            assert!(code.contains(part), "{part} is not in the generated code");
        }
        let comment = b"Says hello.";
        assert!(
            files[DESCRIPTOR].windows(comment.len()).any(|window| window == comment),
            "comments are kept"
        );
        assert_eq!(files, generate_in(dir.path()).unwrap());
    }

    #[test]
    fn a_mistake_names_the_file_and_the_place() {
        let dir = project("syntax = \"proto3\";\npackage agrajag.v1;\nmessage A { Missing m = 1; }\n");
        let error = generate_in(dir.path()).unwrap_err().to_string();
        assert!(error.contains("hello.proto") && error.contains("Missing"), "{error}");
    }

    #[test]
    fn differences_are_told_by_file_and_line() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("same"), "a\n").unwrap();
        fs::write(dir.path().join("changed"), "a\nb\n").unwrap();
        fs::write(dir.path().join("old"), "").unwrap();
        let fresh = [("same", "a\n"), ("changed", "a\nc\n"), ("new", "")]
            .map(|(name, content)| (name.to_owned(), content.as_bytes().to_vec()))
            .into();
        assert_eq!(
            compare(dir.path(), &fresh).unwrap(),
            ["changed: line 2: committed `b`, generated `c`", "new: missing", "old: superfluous"]
        );
    }
}
