//! Secrets that are known by their shape alone: a vendor's opening and a body.

use crate::{
    Kind,
    machine::Verdict,
    swallow::{Class, Swallow},
};

/// One shape of secret, as a row of [`SHAPES`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Shape {
    /// What it is, for people.
    pub name: &'static str,
    /// How it begins, at the start of a word.
    pub opening: &'static str,
    /// Fewest bytes of body that make it one.
    pub min: usize,
    /// What its mark says.
    pub kind: Kind,
    pub(crate) class: Class,
    pub(crate) body: Body,
    /// A piece of the opening that the fast search looks for.
    pub(crate) trigger: &'static str,
}

/// What the body must look like, beyond its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Any,
    /// As made by a machine, where the opening alone is too common a word.
    Random,
    /// Capitals and digits.
    Capitals,
}

const fn key(
    name: &'static str,
    opening: &'static str,
    min: usize,
    body: Body,
    trigger: &'static str,
) -> Shape {
    Shape {
        name,
        opening,
        min,
        kind: Kind::VendorKey,
        class: Class::Word,
        body,
        trigger,
    }
}

const fn hook(name: &'static str, opening: &'static str, trigger: &'static str) -> Shape {
    Shape {
        name,
        opening,
        min: 20,
        kind: Kind::Webhook,
        class: Class::Path,
        body: Body::Any,
        trigger,
    }
}

/// The shapes, sorted by opening but for longer openings, which stand before those they begin with.
pub const SHAPES: &[Shape] = &[
    key("AWS access key id", "AKIA", 16, Body::Capitals, "AKIA"),
    key("AWS temporary access key id", "ASIA", 16, Body::Capitals, "ASIA"),
    key("Google API key", "AIza", 30, Body::Any, "AIza"),
    key("Google OAuth client secret", "GOCSPX-", 20, Body::Any, "GOCSP"),
    Shape {
        class: Class::Dotted,
        ..key("SendGrid key", "SG.", 40, Body::Random, "SG.")
    },
    key("DigitalOcean token", "dop_v1_", 32, Body::Any, "dop_"),
    key("Docker token", "dckr_pat_", 20, Body::Any, "dckr"),
    key("GitHub fine-grained token", "github_pat_", 20, Body::Any, "thub_"),
    key("GitHub personal token", "ghp_", 20, Body::Any, "ghp_"),
    key("GitHub OAuth token", "gho_", 20, Body::Any, "gho_"),
    key("GitHub user token", "ghu_", 20, Body::Any, "ghu_"),
    key("GitHub server token", "ghs_", 20, Body::Any, "ghs_"),
    key("GitHub refresh token", "ghr_", 20, Body::Any, "ghr_"),
    key("Grafana service token", "glsa_", 20, Body::Any, "glsa"),
    key("GitLab token", "glpat-", 16, Body::Any, "glpa"),
    key("Groq key", "gsk_", 20, Body::Random, "gsk_"),
    hook("Slack webhook", "https://hooks.slack.com/services/", "hook"),
    hook("Discord webhook", "https://discord.com/api/webhooks/", "hook"),
    key("Hugging Face token", "hf_", 20, Body::Random, "hf_"),
    Shape {
        class: Class::Dotted,
        ..key("Vault token", "hvs.", 20, Body::Random, "hvs.")
    },
    key("Linear key", "lin_api_", 20, Body::Any, "_api"),
    key("npm token", "npm_", 30, Body::Random, "npm_"),
    key("PyPI token", "pypi-", 30, Body::Random, "pypi"),
    key("Stripe restricted key", "rk_live_", 16, Body::Any, "k_li"),
    key("Stripe restricted test key", "rk_test_", 16, Body::Any, "k_te"),
    key("Shopify token", "shpat_", 20, Body::Any, "hpat"),
    key("Anthropic key", "sk-ant-", 12, Body::Any, "sk-"),
    key("Key in OpenAI's style", "sk-", 20, Body::Random, "sk-"),
    key("Stripe secret key", "sk_live_", 16, Body::Any, "k_li"),
    key("Stripe secret test key", "sk_test_", 16, Body::Any, "k_te"),
    key("Stripe webhook secret", "whsec_", 20, Body::Any, "whse"),
    key("xAI key", "xai-", 20, Body::Random, "xai-"),
    key("Slack token", "xoxa-", 12, Body::Any, "xox"),
    key("Slack bot token", "xoxb-", 12, Body::Any, "xox"),
    key("Slack user token", "xoxp-", 12, Body::Any, "xox"),
    key("Slack refresh token", "xoxr-", 12, Body::Any, "xox"),
    key("Slack session token", "xoxs-", 12, Body::Any, "xox"),
    Shape {
        class: Class::Dotted,
        ..key("Google OAuth token", "ya29.", 20, Body::Any, "ya29")
    },
];

/// How many bytes of a body are looked at to tell whether a machine made it.
pub(crate) const BODY_WINDOW: usize = 48;
/// How many bytes the parts of a JSON Web Token may have before the dot that proves it.
pub(crate) const MAX_JWT_HEADER: usize = 300;
/// Fewest bytes of Base64 after the opening line of a private key.
const MIN_PEM_BODY: usize = 16;
/// Longest opening line of a private key.
const MAX_PEM_OPENING: usize = 64;
/// How far behind the opening line the first Base64 may begin (line numbers, quotes, header names).
const MAX_PEM_GAP: usize = 32;

/// Where the shapes of each first byte stand in [`SHAPES`].
pub(crate) const fn first_bytes() -> [(u8, u8); 256] {
    let mut table = [(0u8, 0u8); 256];
    let mut at = 0;
    while at < SHAPES.len() {
        let first = SHAPES[at].opening.as_bytes()[0] as usize;
        if table[first].1 == 0 {
            table[first].0 = at as u8;
        }
        table[first].1 = at as u8 + 1;
        at += 1;
    }
    table
}

/// Sorted by first byte: from which row on, and up to which.
static FIRST: [(u8, u8); 256] = first_bytes();

/// What begins with `rest`, which stands at the start of a word.
pub(crate) fn at_word(rest: &[u8], end: bool) -> Verdict {
    let (from, to) = FIRST[rest[0] as usize];
    for shape in &SHAPES[from as usize..to as usize] {
        // Nearly every word differs in its second letter.
        if rest.len() > 1 && rest[1] != shape.opening.as_bytes()[1] {
            continue;
        }
        match shape.matches(rest, end) {
            Verdict::Keep => {}
            verdict => return verdict,
        }
    }
    if rest[0] == b'e' {
        jwt(rest, end)
    } else {
        Verdict::Keep
    }
}

impl Shape {
    fn matches(&self, rest: &[u8], end: bool) -> Verdict {
        let opening = self.opening.as_bytes();
        match starts(rest, opening, end) {
            Starts::No => return Verdict::Keep,
            Starts::Maybe => return Verdict::Open,
            Starts::Yes => {}
        }
        let after = &rest[opening.len()..];
        let window = if self.body == Body::Any {
            self.min
        } else {
            BODY_WINDOW.max(self.min)
        };
        let body = run(after, window, |b| self.class.holds(b));
        if body.len() < window && body.len() == after.len() && !end {
            return Verdict::Open;
        }
        let fits = body.len() >= self.min
            && match self.body {
                Body::Any => true,
                Body::Random => is_random(body),
                Body::Capitals => body[..self.min]
                    .iter()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()),
            };
        if !fits {
            return Verdict::Keep;
        }
        let keep = if self.kind == Kind::Webhook {
            opening.len()
        } else {
            0
        };
        Verdict::Mask {
            keep,
            kind: self.kind,
            swallow: Swallow::Class(self.class),
        }
    }
}

/// Three parts of Base64 with dots between, the first of which is a JSON object.
fn jwt(rest: &[u8], end: bool) -> Verdict {
    match starts(rest, b"eyJ", end) {
        Starts::No => return Verdict::Keep,
        Starts::Maybe => return Verdict::Open,
        Starts::Yes => {}
    }
    let header = run(rest, MAX_JWT_HEADER, |b| Class::Word.holds(b));
    let after = &rest[header.len()..];
    if header.len() == MAX_JWT_HEADER {
        return Verdict::Keep;
    }
    match after.first() {
        None if !end => return Verdict::Open,
        Some(b'.') if header.len() >= 10 => {}
        _ => return Verdict::Keep,
    }
    let payload = run(&after[1..], 10, |b| Class::Word.holds(b));
    if payload.len() == 10 {
        return Verdict::Mask {
            keep: 0,
            kind: Kind::Jwt,
            swallow: Swallow::Class(Class::Dotted),
        };
    }
    if payload.len() + 1 == after.len() && !end {
        Verdict::Open
    } else {
        Verdict::Keep
    }
}

/// The opening line of a private key, at the first of its dashes.
pub(crate) fn pem(rest: &[u8], end: bool) -> Verdict {
    // A removed line of a diff has a dash of its own before the five.
    let dashes = run(rest, 8, |b| b == b'-').len();
    if dashes == rest.len() && !end && dashes < 8 {
        return Verdict::Open;
    }
    if dashes < 5 {
        return Verdict::Keep;
    }
    let line = &rest[dashes..];
    match starts(line, b"BEGIN ", end) {
        Starts::No => return Verdict::Keep,
        Starts::Maybe => return Verdict::Open,
        Starts::Yes => {}
    }
    let label = run(line, MAX_PEM_OPENING, |b| {
        b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' '
    });
    match starts(&line[label.len()..], b"-----", end) {
        Starts::Maybe if label.len() < MAX_PEM_OPENING => return Verdict::Open,
        Starts::Yes if label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK") => {}
        _ => return Verdict::Keep,
    }
    let after = &line[label.len() + 5..];
    // The body may begin behind a line break, its escaped form, a quote, a line number, or the header lines of an
    // encrypted key.
    let mut gap = 0;
    loop {
        let body = run(&after[gap..], MIN_PEM_BODY, |b| {
            b.is_ascii_alphanumeric() || b == b'+' || b == b'/'
        });
        if body.len() == MIN_PEM_BODY || body.starts_with(b"Proc") {
            return Verdict::Mask {
                keep: 0,
                kind: Kind::PrivateKey,
                swallow: Swallow::pem(),
            };
        }
        if gap + body.len() == after.len() {
            return if end { Verdict::Keep } else { Verdict::Open };
        }
        // After the run comes a byte that is no Base64: the gap goes on behind it, if a key may have such a byte.
        gap += body.len() + 1;
        if gap > MAX_PEM_GAP || !Class::Pem.holds(after[gap - 1]) {
            return Verdict::Keep;
        }
        if gap >= after.len() {
            return if end { Verdict::Keep } else { Verdict::Open };
        }
    }
}

/// Longest name in an address, and longest password.
pub(crate) const MAX_URL_PART: usize = 150;

/// `://user:password@`, at the colon after the scheme.
pub(crate) fn url(rest: &[u8], end: bool) -> Verdict {
    match starts(rest, b"://", end) {
        Starts::No => return Verdict::Keep,
        Starts::Maybe => return Verdict::Open,
        Starts::Yes => {}
    }
    let authority = &rest[3..];
    let limit = 2 * MAX_URL_PART;
    let part = run(authority, limit, |b| Class::Authority.holds(b));
    if part.len() == authority.len() && part.len() < limit && !end {
        return Verdict::Open;
    }
    let Some(at) = part.iter().rposition(|b| *b == b'@') else {
        return Verdict::Keep;
    };
    let user = &part[..at];
    let keep = match user.iter().position(|b| *b == b':') {
        Some(colon) if colon + 1 < at => 3 + colon + 1,
        None if at >= 20 && is_random(user) => 3,
        _ => return Verdict::Keep,
    };
    if rest[keep] == b'$' || rest[keep..3 + at].iter().all(|b| *b == b'*') {
        return Verdict::Keep;
    }
    Verdict::Mask {
        keep,
        kind: Kind::UrlPassword,
        swallow: Swallow::Bytes(3 + at - keep),
    }
}

/// Whether bytes begin with an opening.
pub(crate) enum Starts {
    Yes,
    No,
    /// They are the beginning of it, and more may come.
    Maybe,
}

pub(crate) fn starts(rest: &[u8], opening: &[u8], end: bool) -> Starts {
    if rest.starts_with(opening) {
        Starts::Yes
    } else if !end && opening.starts_with(rest) {
        Starts::Maybe
    } else {
        Starts::No
    }
}

/// The bytes at the start of `rest` that `holds` admits, at most `max`.
pub(crate) fn run(rest: &[u8], max: usize, holds: impl Fn(u8) -> bool) -> &[u8] {
    let rest = &rest[..rest.len().min(max)];
    let len = rest.iter().position(|b| !holds(*b)).unwrap_or(rest.len());
    &rest[..len]
}

/// Whether a machine made it rather than a person: letters mixed with several digits, or with a digit and both cases.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let count = |test: fn(&u8) -> bool| value.iter().filter(|b| test(b)).count();
    let (lower, upper, digits) = (
        count(u8::is_ascii_lowercase),
        count(u8::is_ascii_uppercase),
        count(u8::is_ascii_digit),
    );
    lower + upper >= 2 && (digits >= 3 || (digits >= 1 && upper >= 1 && lower >= 1))
        || (upper >= 3 && lower >= 3 && value.len() >= 32)
}
