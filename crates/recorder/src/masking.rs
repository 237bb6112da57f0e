//! Masking, once, on the way in: before the tape and before the translator, so that the two agree.
//!
//! A frame is masked as one line of JSON. The text of a message and of a terminal comes in pieces, of which a secret may
//! span several; such a piece goes through the stream it belongs to, which holds back what could still become a secret.
//! What is held back when the stream ends becomes a frame of its own, made from the stream's last: so nothing is lost,
//! and a tape of masked frames gives the same rows as the frames did.
//!
//! A stream goes on over usage, titles and later tool updates, as the message does; it ends where a message ends for
//! the assembler: at the other channel, at a new tool, a plan or a request, at the answer, and with the process.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::LazyLock;

use tapline_redact::{Rules, StreamMask};
use tapline_translate::Direction;
use tapline_wire::{Block, Frame, Params, RawValue, Update, value};

/// Most streams of one connection whose state is kept; the oldest beyond it is let out.
const STREAMS: usize = 64;
/// Most tools of one connection that are remembered as known.
const KNOWN_TOOLS: usize = 4096;

static DEFAULT: LazyLock<Rules> =
    LazyLock::new(|| Rules::new().with_private_members(tapline_translate::dialects::private_members()));

/// The rules that a recorder has unless it is given others: all built-in ones, and what the dialects know as private.
pub fn default_rules() -> Rules {
    DEFAULT.clone()
}

/// The masking of one connection.
pub(crate) struct Masking {
    rules: Rules,
    streams: VecDeque<Stream>,
    /// The stream of the frame that was masked last, if that was clean and nothing came since.
    last: Option<usize>,
    known_tools: HashSet<u64>,
    hasher: RandomState,
}

struct Stream {
    session: Box<str>,
    what: What,
    mask: StreamMask,
    /// The stream's last frame, while it holds something back.
    last: String,
    /// A frame of the stream without its text, in which there was nothing to mask: what stood before, and after.
    clean: Option<(Box<str>, Box<str>)>,
}

impl Stream {
    /// Whether the frame was looked through before, but for its text.
    fn knows(&self, before: &str, after: &str) -> bool {
        self.clean
            .as_ref()
            .is_some_and(|(b, a)| **a == *after && **b == *before)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// A message: the kind of its chunks, and its id if it has one.
    Message(Box<str>, Option<Box<str>>),
    /// What a terminal prints.
    Terminal(Box<str>),
}

/// A masked line, and what had to be let out before it.
pub(crate) struct Masked<'a> {
    /// Frames that end streams; they come before the line.
    pub before: Vec<String>,
    pub line: Cow<'a, str>,
}

/// A line that differs from the one before in its text alone.
pub(crate) struct Repeated<'a> {
    /// The line, masked.
    pub line: Cow<'a, str>,
    /// Its text, masked.
    pub text: Cow<'a, str>,
}

/// A piece of a stream within a frame.
struct Piece<'u, 'a> {
    session: &'u str,
    kind: &'u str,
    message: Option<&'u str>,
    text: Cow<'a, str>,
    content: &'a RawValue,
}

impl<'a> Piece<'_, 'a> {
    /// Where the text stands in `line`, with its quotes.
    fn place(&self, line: &str) -> Option<Range<usize>> {
        if let Cow::Borrowed(text) = &self.text {
            // What was borrowed stands in the line as it is.
            let start = text.as_ptr().addr() - line.as_ptr().addr();
            return Some(start - 1..start + text.len() + 1);
        }
        value::member(self.content, "text").map(|raw| place(line, raw))
    }
}

impl Masking {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            streams: VecDeque::new(),
            last: None,
            known_tools: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// Masks a line of standard error.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.rules.mask(text)
    }

    /// The text of a line that differs from the one before in a message's text alone, and what may be let out of it.
    /// None for any other line; then nothing has happened.
    pub(crate) fn repeat<'a>(&mut self, line: &'a str) -> Option<Repeated<'a>> {
        let stream = &mut self.streams[self.last?];
        let (head, tail) = stream.clean.as_ref()?;
        let literal = line.strip_prefix(&**head)?.strip_suffix(&**tail)?;
        let text = tapline_wire::content::string(literal).filter(|text| !text.is_empty())?;
        let out = match &text {
            Cow::Borrowed(text) => stream.mask.push(text),
            Cow::Owned(text) => Cow::Owned(stream.mask.push(text).into_owned()),
        };
        if out == text {
            return Some(Repeated {
                line: Cow::Borrowed(line),
                text: out,
            });
        }
        let line = tapline_redact::replace_string(line, head.len()..head.len() + literal.len(), &out);
        if stream.mask.held() > 0 {
            stream.last.clone_from(&line);
        }
        Some(Repeated {
            line: Cow::Owned(line),
            text: out,
        })
    }

    /// Masks a line of the pipe; `frame` is what it was read as.
    pub(crate) fn line<'a>(
        &mut self,
        direction: Direction,
        line: &'a str,
        frame: Option<&Frame<'a>>,
    ) -> Masked<'a> {
        self.last = None;
        let Some(frame) = frame else {
            return Masked {
                before: Vec::new(),
                line: self.rules.mask_json(line),
            };
        };
        if let (
            Direction::In,
            Frame::Notification {
                params: Params::Update(update),
                ..
            },
        ) = (direction, frame)
        {
            if let Some(piece) = message_piece(update) {
                return self.piece(line, piece);
            }
            if let Some((terminal, raw)) = terminal_piece(update) {
                return self.terminal(line, update, &terminal, raw);
            }
        }
        let before = self.ended_by(direction, frame);
        Masked {
            before,
            line: self.rules.mask_json(line),
        }
    }

    /// The hot path: a piece of a message.
    fn piece<'a>(&mut self, line: &'a str, piece: Piece<'_, 'a>) -> Masked<'a> {
        let same = |s: &Stream| {
            *s.session == *piece.session
                && matches!(&s.what, What::Message(kind, id) if **kind == *piece.kind && id.as_deref() == piece.message)
        };
        let (before, at) = match self.streams.back() {
            Some(stream) if same(stream) => (Vec::new(), self.streams.len() - 1),
            _ => {
                // A chunk of another message or channel ends a message without an id.
                let before = self.end(|s| {
                    *s.session == *piece.session && matches!(&s.what, What::Message(_, None)) && !same(s)
                });
                let at = match self.streams.iter().position(same) {
                    Some(at) => at,
                    None => self.begin(
                        piece.session,
                        What::Message(piece.kind.into(), piece.message.map(Into::into)),
                    ),
                };
                (before, at)
            }
        };
        let stream = &mut self.streams[at];
        let out = stream.mask.push(&piece.text);
        let unchanged = matches!(&out, Cow::Borrowed(text) if text.len() == piece.text.len());
        let Some(place) = piece.place(line) else {
            return Masked {
                before,
                line: self.rules.mask_json(line),
            };
        };
        let (head, tail) = (&line[..place.start], &line[place.end..]);
        if unchanged && stream.knows(head, tail) {
            self.last = Some(at);
            return Masked {
                before,
                line: Cow::Borrowed(line),
            };
        }
        if unchanged && matches!(self.rules.mask_json(line), Cow::Borrowed(_)) {
            stream.clean = Some((head.into(), tail.into()));
            self.last = Some(at);
            return Masked {
                before,
                line: Cow::Borrowed(line),
            };
        }
        let masked = self.rules.mask_json_around(line, place, &out);
        self.last = stream.knows(head, tail).then_some(at);
        if stream.mask.held() > 0 {
            stream.last.clone_from(&masked);
        }
        Masked {
            before,
            line: Cow::Owned(masked),
        }
    }

    fn terminal<'a>(
        &mut self,
        line: &'a str,
        update: &Update<'a>,
        terminal: &str,
        raw: &'a RawValue,
    ) -> Masked<'a> {
        let session = update.session_id.as_deref().unwrap_or_default();
        let what = What::Terminal(terminal.into());
        let at = match self
            .streams
            .iter()
            .position(|s| *s.session == *session && s.what == what)
        {
            Some(at) => at,
            None => self.begin(session, what),
        };
        let text = value::text(raw).unwrap_or_default();
        let mut out = self.streams[at].mask.push(&text).into_owned();
        if has_exit(update) {
            out.push_str(&self.streams[at].mask.finish());
        }
        let masked = if out == *text
            && let Cow::Borrowed(line) = self.rules.mask_json(line)
        {
            Cow::Borrowed(line)
        } else {
            Cow::Owned(self.rules.mask_json_around(line, place(line, raw), &out))
        };
        let stream = &mut self.streams[at];
        if stream.mask.held() > 0 {
            masked.as_ref().clone_into(&mut stream.last);
        }
        Masked {
            before: Vec::new(),
            line: masked,
        }
    }

    fn begin(&mut self, session: &str, what: What) -> usize {
        // A stream that holds nothing back loses nothing by being forgotten.
        if self.streams.len() >= STREAMS {
            let at = self.streams.iter().position(|s| s.mask.held() == 0).unwrap_or(0);
            self.streams.remove(at);
        }
        let mask = self.rules.stream();
        self.streams.push_back(Stream {
            session: session.into(),
            what,
            mask,
            last: String::new(),
            clean: None,
        });
        self.streams.len() - 1
    }

    /// Ends the streams that a frame ends, and gives what they held back.
    fn ended_by(&mut self, direction: Direction, frame: &Frame<'_>) -> Vec<String> {
        let nameless = |s: &Stream| matches!(s.what, What::Message(_, None));
        match (direction, frame) {
            (
                Direction::In,
                Frame::Notification {
                    params: Params::Update(update),
                    ..
                },
            ) => {
                let session = update.session_id.as_deref().unwrap_or_default();
                let kind = update.kind.as_deref().unwrap_or_default();
                if kind.ends_with("message_chunk") || kind.ends_with("thought_chunk") {
                    // A part that is no text stands after the text that came before it.
                    return self.end(|s| *s.session == *session && matches!(s.what, What::Message(..)));
                }
                let splits = match update.kind.as_deref() {
                    Some("tool_call" | "tool_call_update") => self.is_new_tool(update),
                    Some("plan" | "plan_update") => true,
                    _ => false,
                };
                if splits {
                    self.end(|s| *s.session == *session && nameless(s))
                } else {
                    Vec::new()
                }
            }
            (Direction::In, Frame::Request { .. }) => self.end(nameless),
            (Direction::In, Frame::Answer { .. }) | (Direction::Out, Frame::Request { .. }) => {
                self.end(|s| matches!(s.what, What::Message(..)))
            }
            _ => Vec::new(),
        }
    }

    fn is_new_tool(&mut self, update: &Update<'_>) -> bool {
        let Some(call) = update.fields.tool_call_id.as_deref() else {
            return false;
        };
        let hash = self.hasher.hash_one((update.session_id.as_deref(), call));
        if self.known_tools.len() >= KNOWN_TOOLS {
            self.known_tools.clear();
        }
        self.known_tools.insert(hash)
    }

    fn end(&mut self, which: impl Fn(&Stream) -> bool) -> Vec<String> {
        let mut out = Vec::new();
        let rules = &self.rules;
        self.streams.retain_mut(|stream| {
            let ends = which(stream);
            if ends && stream.mask.held() > 0 {
                let rest = stream.mask.finish();
                out.extend(with_text(rules, &stream.last, &rest));
            }
            !ends
        });
        out
    }

    /// The connection ends: nothing is held back any more.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        self.last = None;
        self.end(|_| true)
    }
}

/// The frame with another text in its stream's place.
fn with_text(rules: &Rules, line: &str, text: &str) -> Option<String> {
    let Ok(Frame::Notification {
        params: Params::Update(update),
        ..
    }) = tapline_wire::read(line)
    else {
        return None;
    };
    let at = match message_piece(&update) {
        Some(piece) => piece.place(line)?,
        None => place(line, terminal_piece(&update)?.1),
    };
    Some(rules.mask_json_around(line, at, text))
}

/// Where `raw` stands in `line`, of which it is a part.
fn place(line: &str, raw: &RawValue) -> Range<usize> {
    let start = raw.get().as_ptr().addr() - line.as_ptr().addr();
    start..start + raw.get().len()
}

fn message_piece<'u, 'a>(update: &'u Update<'a>) -> Option<Piece<'u, 'a>> {
    let kind = update.kind.as_deref()?;
    if !matches!(
        kind,
        "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk"
    ) {
        return None;
    }
    let content = update.fields.content?;
    let Block::Text { text } = Block::read(content)? else {
        return None;
    };
    let session = update.session_id.as_deref().unwrap_or_default();
    Some(Piece {
        session,
        kind,
        message: update.fields.message_id.as_deref(),
        text,
        content,
    })
}

/// What a terminal printed, beside a tool's update: the terminal, and where the text stands.
fn terminal_piece<'a>(update: &Update<'a>) -> Option<(Cow<'a, str>, &'a RawValue)> {
    if update.kind.as_deref() != Some("tool_call_update") {
        return None;
    }
    let meta = update.fields.meta.or(update.meta)?;
    let [whole, delta] = value::pick(meta, ["terminal_output", "terminal_output_delta"]);
    let [data, terminal] = value::pick(whole.or(delta)?, ["data", "terminal_id"]);
    let raw = data.filter(|raw| raw.get().starts_with('"'))?;
    Some((terminal.and_then(value::name)?, raw))
}

fn has_exit(update: &Update<'_>) -> bool {
    update
        .fields
        .meta
        .or(update.meta)
        .is_some_and(|meta| value::member(meta, "terminal_exit").is_some())
}
