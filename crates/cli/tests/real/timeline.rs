//! The rows of a session, as `export` gives them, and what may be asked of any.

use serde_json::{Value, json};

/// The rows of a session, and what was to be said in it.
pub(crate) struct Timeline {
    pub(crate) agent: String,
    pub(crate) rows: Vec<Value>,
    pub(crate) script: Value,
}

impl Timeline {
    /// All rows on standard error, for whoever works on a dialect (`TAPLINE_SHOW`).
    pub(crate) fn print(&self) {
        for row in &self.rows {
            eprintln!(
                "{}: {}",
                self.agent,
                row.to_string().chars().take(4000).collect::<String>()
            );
        }
    }

    /// The turn that a scenario's prompt began.
    pub(crate) fn turn(&self, scenario: &str) -> &Value {
        let word = format!("SCENARIO:{scenario}");
        let asked =
            |r: &&Value| r["kind"] == "user" && r["text"].as_str().is_some_and(|t| t.ends_with(&word));
        let users: Vec<&Value> = self.rows.iter().filter(asked).collect();
        assert_eq!(
            users.len(),
            1,
            "{}: one row for the prompt of {scenario}: {users:?}",
            self.agent
        );
        let turn = self
            .rows
            .iter()
            .find(|r| r["kind"] == "turn" && r["id"] == users[0]["turn"]);
        turn.unwrap_or_else(|| panic!("{}: no turn for {scenario}: {}", self.agent, users[0]))
    }

    /// Rows of a kind in a scenario's turn.
    pub(crate) fn of(&self, scenario: &str, kind: &str) -> Vec<&Value> {
        let turn = &self.turn(scenario)["id"];
        self.rows
            .iter()
            .filter(|r| r["kind"] == kind && r["turn"] == *turn)
            .collect()
    }

    /// The only row of a kind in a scenario's turn.
    pub(crate) fn only(&self, scenario: &str, kind: &str) -> &Value {
        let rows = self.of(scenario, kind);
        assert_eq!(
            rows.len(),
            1,
            "{}: one {kind} in {scenario}: {rows:?}",
            self.agent
        );
        rows[0]
    }

    /// The script's words stand in the timeline once, whole, in their turn.
    pub(crate) fn said(&self, scenario: &str, step: usize) {
        let words = self.script[scenario][step][0]["text"].as_str().expect("words");
        let own = self.of(scenario, "assistant");
        assert_eq!(
            own.iter().filter(|r| r["text"] == words).count(),
            1,
            "{}: {words:?} in {own:?}",
            self.agent
        );
        let everywhere: usize = self.texts().map(|t| t.matches(words).count()).sum();
        assert_eq!(everywhere, 1, "{}: {words:?}", self.agent);
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(|r| r["text"].as_str())
    }

    /// After the end of the process nothing is under way.
    pub(crate) fn nothing_runs(&self) {
        for row in &self.rows {
            let state = row["state"].as_str().unwrap_or_default();
            assert!(
                !["open", "running", "pending"].contains(&state),
                "{}: {row}",
                self.agent
            );
            assert!(
                row["kind"] != "turn" || row["end"].is_string(),
                "{}: {row}",
                self.agent
            );
            assert_ne!(row["kind"], "unknown", "{}: {row}", self.agent);
        }
    }

    /// A load adds no row and changes none; the prompt after it is a turn like any other.
    pub(crate) fn goes_on_from(&self, before: &Timeline) {
        let turn = self.turn("again");
        assert_eq!(turn["end"], "completed", "{}", self.agent);
        self.said("again", 0);
        let told = |r: &Value| {
            json!([
                r["id"],
                r["seq"],
                r["kind"],
                r["turn"],
                r["text"],
                r["state"],
                r["end"],
                r["content"],
                r["output"]
            ])
        };
        for (old, new) in before.rows.iter().zip(&self.rows) {
            assert_eq!(told(old), told(new), "{}", self.agent);
        }
        for row in &self.rows[before.rows.len()..] {
            assert!(
                row["turn"] == turn["id"] || row["id"] == turn["id"],
                "{}: the load added {row}",
                self.agent
            );
        }
    }
}
