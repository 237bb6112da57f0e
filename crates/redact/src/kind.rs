//! What a masked value was, as its mark says it.

/// What stood in the place of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A value that the caller named as secret.
    Known,
    /// A password by its name.
    Password,
    /// A token, key or secret by its name.
    Secret,
    /// A key or token by a vendor's shape.
    VendorKey,
    /// A JSON Web Token.
    Jwt,
    /// A private key block.
    PrivateKey,
    /// The token of an `Authorization` header or after `Bearer` or `Basic`.
    Authorization,
    /// The cookies of a header.
    Cookie,
    /// The password in an address.
    UrlPassword,
    /// The secret part of a webhook's address.
    Webhook,
    /// A private member of a frame: reasoning signatures, encrypted reasoning, host names.
    Private,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 11] = [
        Kind::Known,
        Kind::Password,
        Kind::Secret,
        Kind::VendorKey,
        Kind::Jwt,
        Kind::PrivateKey,
        Kind::Authorization,
        Kind::Cookie,
        Kind::UrlPassword,
        Kind::Webhook,
        Kind::Private,
    ];

    /// The text that takes the place of such a value.
    ///
    /// It says only the kind. A hash in it would tell whether two secrets are equal, but would also let anyone who reads
    /// a record confirm a guess at a weak one, and a key for it would make the same input give different records.
    pub const fn mark(self) -> &'static str {
        match self {
            Kind::Known => "[redacted:known]",
            Kind::Password => "[redacted:password]",
            Kind::Secret => "[redacted:secret]",
            Kind::VendorKey => "[redacted:vendor-key]",
            Kind::Jwt => "[redacted:jwt]",
            Kind::PrivateKey => "[redacted:private-key]",
            Kind::Authorization => "[redacted:authorization]",
            Kind::Cookie => "[redacted:cookie]",
            Kind::UrlPassword => "[redacted:url-password]",
            Kind::Webhook => "[redacted:webhook]",
            Kind::Private => "[redacted:private]",
        }
    }
}

/// How every mark begins.
pub(crate) const MARK_START: &str = "[redacted:";
