//! Where a value stands inside a JSON document.
//!
//! Every fault, every parse error and every entry of a conversion report names its place with a
//! [`Path`]. It is printed the way a JavaScript programmer would write it
//! (`prompt[3].content[1].output`), and is also available as a list of steps and as a JSON pointer.

use std::borrow::Cow;
use std::fmt;

/// One step from a container to a value inside it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// The member of an object with this name.
    Key(Cow<'static, str>),
    /// The item of an array at this position.
    Index(usize),
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Self {
        Step::Key(Cow::Borrowed(key))
    }
}

impl From<String> for Step {
    fn from(key: String) -> Self {
        Step::Key(Cow::Owned(key))
    }
}

/// The way from the top of a document to a value in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Path(Vec<Step>);

impl Path {
    /// The top of the document.
    pub fn root() -> Self {
        Self::default()
    }

    /// This path and one step more.
    pub fn join(&self, step: impl Into<Step>) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step.into());
        Path(steps)
    }

    /// Goes one step deeper.
    pub fn push(&mut self, step: impl Into<Step>) {
        self.0.push(step.into());
    }

    /// Goes one step back up; at the top it stays there.
    pub fn pop(&mut self) {
        self.0.pop();
    }

    /// The steps, outermost first.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The same place as a JSON pointer (RFC 6901); the top is the empty string.
    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.0 {
            pointer.push('/');
            match step {
                Step::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }

    /// Turns a path that was collected from the inside out the right way round.
    pub(crate) fn reversed(mut self) -> Self {
        self.0.reverse();
        self
    }
}

impl FromIterator<Step> for Path {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Path(steps.into_iter().collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if is_plain(key) => {
                    if position > 0 {
                        f.write_str(".")?;
                    }
                    f.write_str(key)?;
                }
                Step::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        Ok(())
    }
}

/// Whether a key can stand after a dot, as in JavaScript.
fn is_plain(key: &str) -> bool {
    let mut chars = key.chars();
    chars
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_as_a_javascript_programmer_would() {
        let path = Path::root()
            .join("prompt")
            .join(3)
            .join("content")
            .join("a b".to_owned())
            .join("x/y~".to_owned());
        assert_eq!(path.to_string(), r#"prompt[3].content["a b"]["x/y~"]"#);
        assert_eq!(path.pointer(), "/prompt/3/content/a b/x~1y~0");
        assert_eq!(Path::root().join(0).join("role").to_string(), "[0].role");
    }
}
