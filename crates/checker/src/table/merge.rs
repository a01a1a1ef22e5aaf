//! Merging layers: replace by id in place, insert the rest, move what says `before:`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::bundled;
use crate::diagnostic::{Diagnostic, Severity};
use crate::limits;
use crate::parse::ParsedLayer;
use crate::rule::{FALLBACK_ID, LayerKind, Position, Rule};

use super::Entry;

/// The order while layers are merged. The fallback stands last.
pub(super) struct Order<'a> {
    /// Every rule, each id once; what the order holds are places in this list.
    slots: Vec<Slot<'a>>,
    by_id: BTreeMap<&'a str, usize>,
    order: Vec<usize>,
    /// How many layers there were.
    n_layers: usize,
}

struct Slot<'a> {
    rule: &'a Rule,
    layer: LayerKind,
    source: Arc<str>,
    /// The layer's number: narrower ones come later.
    turn: usize,
    /// The rule before which the place is. One that takes the place of another stands where that stood.
    before: Option<&'a str>,
}

/// A layer whose turn it is.
struct Turn<'a> {
    layer: &'a ParsedLayer,
    source: Arc<str>,
    number: usize,
    /// Rules that stand ahead of everything.
    n_first: usize,
}

impl<'a> Order<'a> {
    /// The bundled rules. Makes sure of a fallback.
    pub(super) fn new(layer: &'a ParsedLayer) -> Self {
        static FALLBACK: LazyLock<Rule> = LazyLock::new(Rule::last_resort);
        let mut order = Self { slots: Vec::new(), by_id: BTreeMap::new(), order: Vec::new(), n_layers: 0 };
        let turn = order.turn(layer);
        let own = layer.rules.last().filter(|it| it.id == FALLBACK_ID).unwrap_or(&FALLBACK);
        order.insert(0, None, own, &turn);
        for rule in layer.rules.iter().filter(|it| it.id != FALLBACK_ID) {
            order.insert(order.last(), None, rule, &turn);
        }
        order
    }

    /// Merges one layer into the order.
    pub(super) fn merge(&mut self, layer: &'a ParsedLayer, diagnostics: &mut Vec<Diagnostic>) {
        let mut turn = self.turn(layer);
        for rule in layer.rules.iter().filter(|it| it.position.is_none()) {
            self.put(rule, &turn);
        }
        let mut places = Places::of(layer);
        // A rule waits while the one that it is to stand before is itself still waiting.
        let ready = places.take(|rule, waits| match &rule.position {
            Some(Position::Before(id)) => !waits && self.by_id.contains_key(id.as_str()),
            _ => true,
        });
        self.place(ready, &mut places, &mut turn);
        let mut told = Told::default();
        let lost = places.take(|_, waits| !waits);
        self.give_up(lost, no_such_place, &mut places, &mut turn, &mut told);
        // What is left leads to rules that wait for each other.
        let circles = places.circles();
        self.give_up(circles, wait_for_each_other, &mut places, &mut turn, &mut told);
        diagnostics.append(&mut told.listed);
        if told.n_further > 0 {
            let message = format!("{} further rules have no such place; mend those first", told.n_further);
            diagnostics.push(diagnostic(&turn, 0, None, message));
        }
    }

    /// The rules in their order.
    pub(super) fn finish(self) -> Vec<Entry> {
        let slots = self.order.iter().filter_map(|it| self.slots.get(*it));
        let entry =
            |it: &Slot<'_>| Entry { rule: it.rule.clone(), layer: it.layer, source: Arc::clone(&it.source) };
        slots.map(entry).collect()
    }

    fn turn(&mut self, layer: &'a ParsedLayer) -> Turn<'a> {
        self.n_layers += 1;
        Turn { layer, source: Arc::from(layer.source.as_str()), number: self.n_layers, n_first: 0 }
    }

    /// Places rules, then those that waited for them, and so on; those of one round as they stand in the layer.
    fn place(&mut self, mut ready: Vec<usize>, places: &mut Places<'a>, turn: &mut Turn<'a>) {
        while !ready.is_empty() {
            for rule in ready.iter().filter_map(|it| places.rule(*it)) {
                self.remove(&rule.id);
                let at = match before(rule) {
                    Some(id) => self.place_before(id, turn),
                    None => {
                        turn.n_first += 1;
                        (turn.n_first - 1).min(self.last())
                    }
                };
                self.insert(at, before(rule), rule, turn);
            }
            ready = places.behind(&ready);
        }
    }

    /// Places rules as if they did not say where, tells why, and places those that waited for them.
    fn give_up(
        &mut self,
        rules: Vec<usize>,
        why: impl Fn(&Rule, &Places<'a>, &Turn<'a>) -> Diagnostic,
        places: &mut Places<'a>,
        turn: &mut Turn<'a>,
        told: &mut Told,
    ) {
        for rule in rules.iter().filter_map(|it| places.rule(*it)) {
            match told.listed.len() < limits::MAX_DIAGNOSTICS {
                true => told.listed.push(why(rule, places, turn)),
                false => told.n_further += 1,
            }
            self.put(rule, turn);
        }
        let ready = places.behind(&rules);
        self.place(ready, places, turn);
    }

    /// In the place of the rule with its id, else where rules of the layer stand.
    fn put(&mut self, rule: &'a Rule, turn: &Turn<'a>) {
        match self.by_id.get(rule.id.as_str()).and_then(|it| self.slots.get_mut(*it)) {
            Some(slot) => *slot = Slot { before: slot.before, ..turn.slot(rule) },
            None => self.insert(self.default_place(turn.layer.kind), None, rule, turn),
        }
    }

    fn insert(&mut self, at: usize, before: Option<&'a str>, rule: &'a Rule, turn: &Turn<'a>) {
        self.order.insert(at.min(self.order.len()), self.slots.len());
        self.by_id.insert(&rule.id, self.slots.len());
        self.slots.push(Slot { before, ..turn.slot(rule) });
    }

    fn remove(&mut self, id: &str) {
        if let Some(slot) = self.by_id.remove(id) {
            self.order.retain(|it| *it != slot);
        }
    }

    /// The fallback's place.
    const fn last(&self) -> usize {
        self.order.len().saturating_sub(1)
    }

    fn find(&self, is_it: impl Fn(&Slot<'a>) -> bool) -> Option<usize> {
        self.order.iter().position(|it| self.slots.get(*it).is_some_and(&is_it))
    }

    /// Right before the rule; where a tenant or project names one of the twelve, ahead of the packs too, which stand between:
    /// what it says of a 403 counts before what any pack does (DESIGN §6). Of several layers that name the same place the
    /// narrower one's rules stand ahead.
    fn place_before(&self, id: &str, turn: &Turn<'a>) -> usize {
        let kind = turn.layer.kind;
        let slot = self.by_id.get(id);
        let Some(mut at) = slot.and_then(|slot| self.order.iter().position(|it| it == slot)) else {
            return self.default_place(kind);
        };
        if kind <= LayerKind::Pack {
            return at;
        }
        let is_bundled = || id != FALLBACK_ID && bundled::layer().rules.iter().any(|it| it.id == id);
        if self.find(|it| it.layer == LayerKind::Pack).is_some_and(|it| it < at) && is_bundled() {
            return self.find(|it| it.turn < turn.number).unwrap_or(at);
        }
        let is_behind = |it: &Slot<'a>| it.turn < turn.number && it.before == Some(id);
        while let Some(before) = at.checked_sub(1)
            && self.order.get(before).and_then(|it| self.slots.get(*it)).is_some_and(is_behind)
        {
            at = before;
        }
        at
    }

    /// Right before the fallback; for packs right before the first bundled rule.
    fn default_place(&self, kind: LayerKind) -> usize {
        match kind {
            LayerKind::Pack => {
                self.find(|it| it.layer == LayerKind::Bundled).map_or(self.last(), |it| it.min(self.last()))
            }
            _ => self.last(),
        }
    }
}

impl<'a> Turn<'a> {
    fn slot(&self, rule: &'a Rule) -> Slot<'a> {
        let source = Arc::clone(&self.source);
        Slot { rule, layer: self.layer.kind, source, turn: self.number, before: None }
    }
}

/// What is to be said of one layer.
#[derive(Default)]
struct Told {
    listed: Vec<Diagnostic>,
    n_further: usize,
}

/// The rules of a layer that say where they stand, until they do.
struct Places<'a> {
    rules: Vec<&'a Rule>,
    by_id: BTreeMap<&'a str, usize>,
    /// Of each rule those that are to stand before it.
    behind: Vec<Vec<usize>>,
    is_waiting: Vec<bool>,
}

impl<'a> Places<'a> {
    fn of(layer: &'a ParsedLayer) -> Self {
        let rules: Vec<&Rule> = layer.rules.iter().filter(|it| it.position.is_some()).collect();
        let by_id: BTreeMap<&str, usize> =
            rules.iter().enumerate().map(|(at, it)| (it.id.as_str(), at)).collect();
        let mut behind = vec![Vec::new(); rules.len()];
        for (at, rule) in rules.iter().enumerate() {
            let target = before(rule).and_then(|it| by_id.get(it));
            if let Some(list) = target.and_then(|it| behind.get_mut(*it)) {
                list.push(at);
            }
        }
        Self { is_waiting: vec![true; rules.len()], rules, by_id, behind }
    }

    fn rule(&self, at: usize) -> Option<&'a Rule> {
        self.rules.get(at).copied()
    }

    /// The one that a rule is to stand before, if that has no place yet.
    fn awaited(&self, at: usize) -> Option<usize> {
        let target = *self.by_id.get(before(self.rule(at)?)?)?;
        self.is_waiting.get(target).is_some_and(|it| *it).then_some(target)
    }

    /// Takes those out that are wanted. The second argument says whether the rule waits for one of the layer.
    fn take(&mut self, is_wanted: impl Fn(&Rule, bool) -> bool) -> Vec<usize> {
        let waiting = (0..self.rules.len()).filter(|it| self.is_waiting.get(*it).is_some_and(|it| *it));
        let is_wanted =
            |it: &usize| self.rule(*it).is_some_and(|rule| is_wanted(rule, self.awaited(*it).is_some()));
        let taken: Vec<usize> = waiting.filter(is_wanted).collect();
        self.leave(&taken);
        taken
    }

    fn leave(&mut self, rules: &[usize]) {
        for at in rules {
            if let Some(it) = self.is_waiting.get_mut(*at) {
                *it = false;
            }
        }
    }

    /// Takes those out that waited for these.
    fn behind(&mut self, rules: &[usize]) -> Vec<usize> {
        let behind = rules.iter().filter_map(|it| self.behind.get(*it)).flatten().copied();
        let mut behind: Vec<usize> =
            behind.filter(|it| self.is_waiting.get(*it).is_some_and(|it| *it)).collect();
        behind.sort_unstable();
        self.leave(&behind);
        behind
    }

    /// Takes those out that wait for themselves in the end.
    fn circles(&mut self) -> Vec<usize> {
        // Where each was met: the number of the walk.
        let mut met = vec![0; self.rules.len()];
        let mut circles = Vec::new();
        for (walk, start) in (1..).zip(0..self.rules.len()) {
            let mut at = Some(start).filter(|it| self.is_waiting.get(*it).is_some_and(|it| *it));
            while let Some(here) = at.filter(|it| met.get(*it) == Some(&0)) {
                met.iter_mut().skip(here).take(1).for_each(|it| *it = walk);
                at = self.awaited(here);
            }
            if let Some(first) = at.filter(|it| met.get(*it) == Some(&walk)) {
                circles.extend(self.circle(first));
            }
        }
        circles.sort_unstable();
        self.leave(&circles);
        circles
    }

    /// The rules of a circle from one of them on, by what each is to stand before.
    fn circle(&self, first: usize) -> Vec<usize> {
        let next = |at: &usize| self.by_id.get(before(self.rule(*at)?)?).copied();
        let walk = std::iter::successors(Some(first), |at| next(at).filter(|it| *it != first));
        walk.take(self.rules.len()).collect()
    }
}

/// The id of the rule to stand before.
fn before(rule: &Rule) -> Option<&str> {
    match &rule.position {
        Some(Position::Before(id)) => Some(id),
        _ => None,
    }
}

fn no_such_place(rule: &Rule, _: &Places<'_>, turn: &Turn<'_>) -> Diagnostic {
    let message = format!(
        "there is no rule `{}` to stand before; the rule stands right before the fallback, name one that exists",
        limits::head(before(rule).unwrap_or("first"), limits::MAX_ID_BYTES)
    );
    diagnostic(turn, rule.line, Some(rule), message)
}

fn wait_for_each_other(rule: &Rule, places: &Places<'_>, turn: &Turn<'_>) -> Diagnostic {
    /// Rules of a circle that are named.
    const MAX_NAMED: usize = 8;
    let circle = places.by_id.get(rule.id.as_str()).map(|it| places.circle(*it)).unwrap_or_default();
    let names = circle.iter().filter_map(|it| places.rule(*it)).map(|it| format!("`{}`", it.id));
    let mut names: Vec<String> = names.take(MAX_NAMED).collect();
    if circle.len() > names.len() {
        names.push("…".to_owned());
    }
    let message = format!(
        "the rules wait for each other: {} before `{}`; the rule stands right before the fallback, name another one",
        names.join(" before "),
        rule.id
    );
    diagnostic(turn, rule.line, Some(rule), message)
}

fn diagnostic(turn: &Turn<'_>, line: u32, rule: Option<&Rule>, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        source: turn.layer.source.clone(),
        line,
        column: 0,
        field: "before".to_owned(),
        rule_id: rule.map(|it| it.id.clone()),
        message,
    }
}
