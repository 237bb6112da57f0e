//! Which names say that what stands beside them is a secret.
//!
//! A name is read by its last words: `DEPLOY_TOKEN`, `xApiKey` and `client-secret` are secrets, `tokenUsage`,
//! `max_tokens` and `secret_name` are not, because there the last word is something else. Words are told apart by
//! `_`, `-` and a change of case, so a name has one spelling of each word only (`token`, `Token`, `TOKEN`), which is
//! also what makes a fast search for them possible.

/// Longest name that is read; a longer run of letters is no name.
pub const MAX_NAME: usize = 64;

/// What a name promises of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// A password: any value may be one, however short.
    Password,
    /// A token, a secret, credentials: made by a machine. Code and grammars use the same words for other things.
    Secret,
    /// A key of an interface, or another that only its owner has.
    Key,
    /// The `Authorization` header: a scheme and its token.
    Authorization,
    /// The `Cookie` and `Set-Cookie` headers.
    Cookie,
    /// The word `Bearer`, before a token.
    Bearer,
    /// The word `Basic`, before Base64 of `user:password`.
    Basic,
    /// A signature over reasoning, or encrypted reasoning: private only as a JSON member with a long value.
    Private,
}

/// Words before `token` that make it something else: progress tokens, page tokens, tokens of a grammar.
const PUBLIC_TOKENS: &[&str] = &[
    "progress",
    "next",
    "page",
    "continuation",
    "start",
    "end",
    "stop",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "special",
    "cancellation",
    "cancel",
    "max",
    "min",
    "num",
    "per",
    "first",
    "last",
    "prev",
    "previous",
    "current",
    "syntax",
    "semantic",
    "reply",
    "sync",
    "partial",
    "peek",
    "parse",
    "expect",
    "consume",
    "lookahead",
    "design",
];

/// Words before `key` that make it a secret; a plain `key` is none, nor are `public_key` and `primary_key`.
const SECRET_KEYS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "encryption",
    "signing",
    "signature",
    "master",
    "auth",
    "account",
    "deploy",
    "service",
    "storage",
    "shared",
    "license",
    "subscription",
    "admin",
    "hmac",
    "jwt",
    "webhook",
    "openai",
    "anthropic",
    "xai",
    "grok",
    "gemini",
    "google",
    "azure",
    "aws",
    "groq",
    "mistral",
    "openrouter",
    "ssh",
];

/// Words that end a name in one piece (`dbpassword`, `authtoken`), with what they promise.
const ENDINGS: &[(&str, NameKind)] = &[
    ("password", NameKind::Password),
    ("passwd", NameKind::Password),
    ("passphrase", NameKind::Password),
    ("secret", NameKind::Secret),
    ("apikey", NameKind::Key),
    ("accesskey", NameKind::Key),
    ("secretkey", NameKind::Key),
    ("privatekey", NameKind::Key),
    ("authtoken", NameKind::Secret),
    ("accesstoken", NameKind::Secret),
    ("apitoken", NameKind::Secret),
];

/// Whether a variable, header or member of this name holds a secret.
///
/// A caller that launches an agent uses it to choose which values of the environment to hand to
/// [`Rules::with_secrets`](crate::Rules::with_secrets).
pub fn is_secret_name(name: &str) -> bool {
    matches!(
        classify(name.as_bytes()),
        Some(
            NameKind::Password
                | NameKind::Secret
                | NameKind::Key
                | NameKind::Authorization
                | NameKind::Cookie
        )
    )
}

/// Reads a name. Anything but ASCII letters, digits, `_` and `-` in it makes it none.
pub(crate) fn classify(name: &[u8]) -> Option<NameKind> {
    if name.len() < 3 || name.len() > MAX_NAME {
        return None;
    }
    // `API_KEY_2` and `TOKEN1` are numbered secrets.
    let end = name.iter().rposition(|b| !b.is_ascii_digit() && !is_joint(*b))? + 1;
    let name = &name[..end];
    // Almost every word of a text leaves here.
    let [.., x, y, z] = *name else { return None };
    match &[x | 0x20, y | 0x20, z | 0x20] {
        b"ken" | b"ret" | b"ord" | b"swd" | b"ase" | b"key" | b"ial" | b"als" | b"ass" | b"pat" | b"pwd"
        | b"uth" => {}
        b"ion" | b"kie" | b"rer" | b"sic" | b"ure" | b"ent" | b"ing" => {}
        _ => return None,
    }
    let start = word_start(name);
    let (last, before) = (&name[start..], &name[..start]);
    let mut buf = [0u8; MAX_NAME];
    let last_lower = lower(last, &mut buf)?;
    let small = last[1..].iter().all(u8::is_ascii_lowercase);
    match last_lower {
        "token" => {
            return (!PUBLIC_TOKENS.iter().any(|w| ends_with_word(before, w))).then_some(NameKind::Secret);
        }
        "key" => {
            return SECRET_KEYS
                .iter()
                .any(|w| ends_with_word(before, w))
                .then_some(NameKind::Key);
        }
        "credential" | "credentials" => return Some(NameKind::Secret),
        "secrets" => return None,
        // `by_pass` and `render_pass` are no passwords, and `PWD` is the working folder.
        "pass" | "pat" => {
            let joined = before.last() == Some(&b'_') && before.len() > 1;
            return (joined && last.iter().all(u8::is_ascii_uppercase)).then_some(NameKind::Password);
        }
        "pwd" => {
            return (before.last() == Some(&b'_') && before.len() > 1 && !ends_with_word(before, "old"))
                .then_some(NameKind::Password);
        }
        "auth" => return (name == b"_auth").then_some(NameKind::Secret),
        "authorization" => return Some(NameKind::Authorization),
        "cookie" => return (before.is_empty() || ends_with_word(before, "set")).then_some(NameKind::Cookie),
        "bearer" => return before.is_empty().then_some(NameKind::Bearer),
        "basic" => return before.is_empty().then_some(NameKind::Basic),
        "signature" if small => {
            return (before.is_empty() || ends_with_word(before, "thought")).then_some(NameKind::Private);
        }
        "content" | "reasoning" if small => {
            return ends_with_word(before, "encrypted").then_some(NameKind::Private);
        }
        _ => {}
    }
    ENDINGS
        .iter()
        .find(|(ending, _)| last_lower.ends_with(ending))
        .map(|(_, kind)| *kind)
}

fn is_joint(b: u8) -> bool {
    b == b'_' || b == b'-'
}

/// Where the last word of `name` begins.
fn word_start(name: &[u8]) -> usize {
    let mut at = name.len() - 1;
    let all_upper = name[at].is_ascii_uppercase();
    while at > 0 {
        let (this, before) = (name[at], name[at - 1]);
        if is_joint(before) || before.is_ascii_digit() {
            break;
        }
        let word_ends = if all_upper {
            before.is_ascii_lowercase()
        } else {
            this.is_ascii_uppercase()
        };
        if word_ends {
            break;
        }
        at -= 1;
    }
    at
}

/// Whether the last word of `name`, joints aside, is `word`. `API_`, `api-`, `Api` and `xApi` end with `api`.
fn ends_with_word(name: &[u8], word: &str) -> bool {
    let trimmed = name.iter().rposition(|b| !is_joint(*b)).map_or(0, |at| at + 1);
    let name = &name[..trimmed];
    let Some(start) = name.len().checked_sub(word.len()) else {
        return false;
    };
    let tail = &name[start..];
    tail.eq_ignore_ascii_case(word.as_bytes())
        && (start == 0
            || is_joint(name[start - 1])
            || name[start - 1].is_ascii_digit()
            || tail[0].is_ascii_uppercase())
}

/// `word` in small letters, if it is spelled in one of the three ways a word has.
fn lower<'b>(word: &[u8], buf: &'b mut [u8; MAX_NAME]) -> Option<&'b str> {
    let rest = &word[1..];
    let plain = rest.iter().all(u8::is_ascii_lowercase) || word.iter().all(u8::is_ascii_uppercase);
    if !plain {
        return None;
    }
    let out = &mut buf[..word.len()];
    out.copy_from_slice(word);
    out.make_ascii_lowercase();
    std::str::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_by_their_last_words() {
        for name in [
            "token",
            "TOKEN",
            "Token",
            "DEPLOY_TOKEN",
            "authToken",
            "access_token",
            "apiKey",
            "API_KEY",
            "APIKey",
            "x-api-key",
            "X-Api-Key",
            "apikey",
            "OPENAI_API_KEY",
            "aws_secret_access_key",
            "clientSecret",
            "client-secret",
            "SECRET",
            "password",
            "PGPASSWORD",
            "dbPassword",
            "db_passwd",
            "DB_PASS",
            "db_pwd",
            "passphrase",
            "Authorization",
            "authorization",
            "proxy-authorization",
            "Cookie",
            "set-cookie",
            "AccountKey",
            "GITHUB_PAT",
            "API_KEY_2",
            "TOKEN1",
            "_authToken",
            "_auth",
            "credentials",
            "private_key",
            "privateKey",
            "secretkey",
            "refreshToken",
        ] {
            assert!(is_secret_name(name), "{name} names a secret");
        }
        for name in [
            "tokens",
            "max_tokens",
            "token_count",
            "tokenUsage",
            "inputTokens",
            "progressToken",
            "nextPageToken",
            "next_token",
            "tokenizer",
            "secret_name",
            "passwordField",
            "key",
            "publicKey",
            "primary_key",
            "keyboard",
            "monkey",
            "PWD",
            "OLD_PWD",
            "OLDPWD",
            "bypass",
            "by_pass",
            "render_pass",
            "pass",
            "author",
            "cookies",
            "sessionId",
            "promptId",
            "messageId",
            "password_file",
            "TOKEN_URL",
            "tOKen",
            "stopToken",
            "",
            "_",
            "a",
        ] {
            assert!(!is_secret_name(name), "{name} names no secret");
        }
    }

    #[test]
    fn a_name_beyond_the_limit_is_none() {
        let longest = format!("{}_TOKEN", "A".repeat(MAX_NAME - 6));
        assert!(is_secret_name(&longest));
        assert!(!is_secret_name(&format!("A{longest}")));
    }
}
