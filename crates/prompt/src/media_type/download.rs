//! Which URLs a server may fetch on behalf of a prompt.
//!
//! A prompt comes from outside, and so do its URLs. Before one is fetched its scheme and host are
//! checked, so that nobody reads the server's own network through it.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::error::SdkError;

/// Refuses URLs that are neither http, https nor data, and hosts that are local, private or reserved.
/// It looks at the text alone: whoever fetches must check each redirect and what a name resolves to.
pub fn validate_download_url(text: &str) -> Result<(), SdkError> {
    let refuse = |message: String| {
        Err(SdkError::Download {
            url: text.to_owned(),
            message,
        })
    };
    let Ok(url) = Url::parse(text) else {
        return refuse(format!("Invalid URL: {text}"));
    };
    match url.scheme() {
        "data" => return Ok(()),
        "http" | "https" => {}
        scheme => return refuse(format!("URL scheme must be http, https, or data, got {scheme}:")),
    }
    match url.host() {
        Some(Host::Ipv6(address)) if is_private_v6(address) => refuse(format!(
            "URL with IPv6 address [{address}] is not allowed",
            address = v6_text(&url)
        )),
        Some(Host::Ipv4(address)) if is_private_v4(address) => {
            refuse(format!("URL with IP address {address} is not allowed"))
        }
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => Ok(()),
        Some(Host::Domain(name)) => {
            // `localhost.` resolves as `localhost` does.
            let name = name.to_lowercase();
            let name = name.trim_end_matches('.');
            if name.is_empty() {
                refuse("URL must have a hostname".to_owned())
            } else if name == "localhost"
                || [".local", ".localhost", ".internal"]
                    .iter()
                    .any(|suffix| name.ends_with(suffix))
            {
                refuse(format!("URL with hostname {name} is not allowed"))
            } else {
                Ok(())
            }
        }
        None => refuse("URL must have a hostname".to_owned()),
    }
}

/// The address as the URL spells it, without brackets.
fn v6_text(url: &Url) -> &str {
    url.host_str().unwrap_or_default().trim_matches(['[', ']'])
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        // This network, private use, loopback.
        (0 | 10 | 127, ..) => true,
        // Shared address space, used inside some clouds.
        (100, 64..=127, _) => true,
        // Link-local, where clouds keep their metadata service.
        (169, 254, _) => true,
        (172, 16..=31, _) => true,
        // Protocol assignments, documentation, private use.
        (192, 0, 0 | 2) | (192, 168, _) => true,
        // Benchmarks, documentation.
        (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        // Multicast and reserved.
        (224.., ..) => true,
        _ => false,
    }
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let groups = address.segments();
    match groups {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => return true,
        // Unique local, link-local, site-local, multicast.
        [0xfc00..=0xfdff, ..] | [0xfe80..=0xfeff, ..] | [0xff00..=0xffff, ..] => return true,
        // Documentation.
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => return true,
        _ => {}
    }
    // An IPv4 address in the last 32 bits: compatible, mapped, translated, and the NAT64 prefixes.
    let embeds_v4 = matches!(
        groups,
        [0, 0, 0, 0, 0, 0, ..]
            | [0, 0, 0, 0, 0, 0xffff, ..]
            | [0, 0, 0, 0, 0xffff, 0, ..]
            | [0x64, 0xff9b, 0, 0, 0, 0, ..]
            | [0x64, 0xff9b, 1, ..]
    );
    let [.., high, low] = groups;
    embeds_v4 && is_private_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_addresses_that_hide_a_private_one() {
        for host in [
            "[64:ff9b::7f00:1]",
            "[64:ff9b:1::a9fe:a9fe]",
            "[::ffff:0:127.0.0.1]",
            "[3fff:0:1::1]",
            "[febf::1]",
        ] {
            assert!(
                validate_download_url(&format!("http://{host}/")).is_err(),
                "{host}"
            );
        }
        for host in [
            "[64:ff9b::101:101]",
            "[3fff:1000::1]",
            "[::ffff:1.1.1.1]",
            "1.1.1.1",
            "example.com.",
        ] {
            assert!(
                validate_download_url(&format!("http://{host}/")).is_ok(),
                "{host}"
            );
        }
    }
}
