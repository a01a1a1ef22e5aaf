//! Tells the story: what is printed was compared with the server's answer before.
//!
//! Owns the form of the story and the count of facts. Knows no scene.

use std::fmt::Debug;
use std::io;

use serde_json::json;

use crate::error::Error;
use crate::output::{Format, Out};
use crate::table::Table;

/// The story so far.
pub(super) struct Teller<'a> {
    out: &'a mut Out,
    scenes: Vec<Scene>,
    n_facts: usize,
}

/// One scene: a title and what was seen.
#[derive(Debug, Default)]
struct Scene {
    title: String,
    lines: Vec<[String; 3]>,
}

impl<'a> Teller<'a> {
    /// Begins the story.
    pub(super) fn new(out: &'a mut Out) -> Self {
        Self { out, scenes: Vec::new(), n_facts: 0 }
    }

    /// How many facts were compared.
    #[cfg(test)]
    fn n_facts(&self) -> usize {
        self.n_facts
    }

    /// Begins a scene.
    pub(super) fn scene(&mut self, title: &str) {
        self.scenes.push(Scene { title: title.to_owned(), lines: Vec::new() });
    }

    /// One line of the scene: who, which tool, what.
    pub(super) fn line(&mut self, who: &str, tool: &str, what: impl Into<String>) {
        if let Some(scene) = self.scenes.last_mut() {
            scene.lines.push([who.to_owned(), tool.to_owned(), what.into()]);
        }
    }

    /// A fact of the story: what the server answered against what the story says.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if the server says otherwise: the demo ends with exit code 1.
    pub(super) fn same<T: PartialEq + Debug>(&mut self, what: &str, got: T, wanted: T) -> Result<(), Error> {
        self.fact(what, got == wanted, || format!("the server says {got:?}, the story {wanted:?}"))
    }

    /// A fact that is no comparison.
    pub(super) fn fact(
        &mut self,
        what: &str,
        holds: bool,
        otherwise: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        self.n_facts += 1;
        if holds {
            return Ok(());
        }
        let scene = self.scenes.last().map_or("", |it| it.title.as_str());
        Err(Error::failed(
            format!("the demo went otherwise in `{scene}`: {what}: {}", otherwise()),
            "this build does not do what it should: please report it with this line",
        ))
    }

    /// Prints the scene that is over, where people read along.
    pub(super) fn end_scene(&mut self) -> io::Result<()> {
        if self.out.format() == Format::Json {
            return Ok(());
        }
        let Some(scene) = self.scenes.last() else { return Ok(()) };
        self.out.line(&format!("\n{}. {}", self.scenes.len(), scene.title))?;
        let mut table = Table::list();
        for [who, tool, what] in &scene.lines {
            table.row([who, tool, what]);
        }
        self.out.table(&table)?;
        self.out.flush()
    }

    /// Ends the story.
    pub(super) fn end(self, seconds: f64) -> io::Result<()> {
        let n_facts = self.n_facts;
        match self.out.format() {
            Format::Table => self.out.line(&format!(
                "\nEach line was compared with the server's answers: {n_facts} facts in {seconds:.1} s. Next: \
                 agrajag serve"
            ))?,
            Format::Json => {
                let scenes: Vec<_> = self
                    .scenes
                    .iter()
                    .map(|scene| {
                        let lines: Vec<_> = scene
                            .lines
                            .iter()
                            .map(|[who, tool, what]| json!({"who": who, "tool": tool, "what": what}))
                            .collect();
                        json!({"title": scene.title, "lines": lines})
                    })
                    .collect();
                self.out.line(&json!({"facts": n_facts, "scenes": scenes}).to_string())?;
            }
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A story that cannot fail would show nothing.
    #[test]
    fn a_server_that_says_otherwise_ends_the_demo_with_exit_code_1() {
        let (mut out, _) = Out::captured(Format::Table);
        let mut teller = Teller::new(&mut out);
        teller.scene("a client disconnects");
        teller.same("state", "DOWN", "DOWN").expect("the same");
        let error = teller.same("state of `wiki`", "OK", "DOWN").expect_err("otherwise");
        assert_eq!(error.exit_code(), 1);
        let text = error.to_text();
        assert!(text.contains("a client disconnects") && text.contains("state of `wiki`"), "{text}");
        assert_eq!(teller.n_facts(), 2);
    }

    #[test]
    fn a_scene_is_numbered_and_the_json_holds_all_of_them() {
        let (mut out, written) = Out::captured(Format::Table);
        let mut teller = Teller::new(&mut out);
        for title in ["one", "two"] {
            teller.scene(title);
            teller.line("alice", "wiki", "DOWN");
            teller.end_scene().expect("memory");
        }
        teller.end(0.26).expect("memory");
        insta::assert_snapshot!(written.text());

        let (mut out, written) = Out::captured(Format::Json);
        let mut teller = Teller::new(&mut out);
        teller.scene("one");
        teller.line("alice", "wiki", "DOWN");
        teller.end_scene().expect("memory");
        teller.end(0.3).expect("memory");
        let story: serde_json::Value = serde_json::from_str(&written.text()).expect("one object");
        assert_eq!(story["scenes"][0]["lines"][0]["what"], "DOWN");
    }
}
