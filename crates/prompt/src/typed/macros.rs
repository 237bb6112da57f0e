//! The three ways to declare a type: `record!`, `tagged!` and `words!`.

/// Declares a record: a struct, its constructor from the required members, and its [`Typed`] form.
///
/// ```text
/// record! {
///     /// A text part.
///     pub struct TextPart, "a text part", "type" = "text" {
///         required { /// The text. text: Text = "text", }
///         optional { /// For providers. provider_options: ProviderOptions = "providerOptions", }
///     }
/// }
/// ```
///
/// The tag after the words is left out for records that have none.
///
/// [`Typed`]: crate::typed::Typed
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, $called:literal $(, $tag_key:literal = $tag:literal)? {
            required { $( $(#[doc = $req_doc:literal])* $req:ident : $req_ty:ty = $req_key:literal, )* }
            optional { $( $(#[doc = $opt_doc:literal])* $opt:ident : $opt_ty:ty = $opt_key:literal, )* }
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $( $(#[doc = $req_doc])* pub $req: $req_ty, )*
            $( $(#[doc = $opt_doc])* pub $opt: Option<$opt_ty>, )*
            /// The order of the members as read, and the members this type does not know.
            pub members: $crate::typed::Members,
        }

        impl $name {
            /// One with its required members and nothing else.
            #[allow(clippy::new_without_default)]
            pub fn new($( $req: impl Into<$req_ty>, )*) -> Self {
                Self {
                    $( $req: $req.into(), )*
                    $( $opt: None, )*
                    members: $crate::typed::Members::default(),
                }
            }
        }

        impl $crate::typed::Typed for $name {
            const EXPECTED: &'static str = $called;

            fn read(value: $crate::json::Json, reader: &mut $crate::typed::Reader) -> Option<Self> {
                let object = reader.object(value, Self::EXPECTED)?;
                let keys = [$( $tag_key, )? $( $req_key, )* $( $opt_key, )*];
                #[allow(unused_mut)]
                let (mut slots, members) = $crate::typed::Slots::fill(keys, object);
                $( let tag = $crate::typed::read_tag(&mut slots, $tag_key, $tag, reader); )?
                $( let $req = $crate::typed::read_member::<$req_ty, _>(&mut slots, $req_key, reader); )*
                $( let $opt = $crate::typed::read_member::<Option<$opt_ty>, _>(&mut slots, $opt_key, reader); )*
                $( let _: &str = $tag_key; tag?; )?
                Some(Self { $( $req: $req?, )* $( $opt: $opt?, )* members })
            }

            fn write(&self, form: $crate::typed::Form) -> Option<$crate::json::Json> {
                let _ = form;
                Some($crate::json::Json::Object(self.members.arrange([
                    $( ($tag_key, Some($crate::json::Json::from($tag))), )?
                    $( ($req_key, $crate::typed::Typed::write(&self.$req, form)), )*
                    $( ($opt_key, $crate::typed::Typed::write(&self.$opt, form)), )*
                ])))
            }

            fn schema_name() -> Option<&'static str> {
                Some(stringify!($name))
            }

            fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let _ = &generator;
                let members = [
                    $( $crate::schema::Member::tag($tag_key, $tag), )?
                    $( $crate::schema::Member::needed::<$req_ty>($req_key, concat!($( $req_doc, )*), generator), )*
                    $( $crate::schema::Member::optional::<$opt_ty>($opt_key, concat!($( $opt_doc, )*), generator), )*
                ];
                $crate::schema::record(Self::EXPECTED, members)
            }
        }
    };
}

/// Declares a choice between records by the value of their tag.
macro_rules! tagged {
    (
        $(#[$meta:meta])*
        pub enum $name:ident, $called:literal, $tag_key:literal $(, list $list_mend:literal)? {
            $( $(#[$var_meta:meta])* $variant:ident($record:ty) = $tag:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "boxes would stand in the way of every match on it")]
        pub enum $name {
            $( $(#[$var_meta])* $variant($record), )*
        }

        impl $name {
            /// The tags that may stand here.
            pub const TAGS: &'static [&'static str] = &[$( $tag, )*];

            /// The tag of this one.
            pub fn tag(&self) -> &'static str {
                match self {
                    $( Self::$variant(_) => $tag, )*
                }
            }
        }

        $(
            impl From<$record> for $name {
                fn from(record: $record) -> Self {
                    Self::$variant(record)
                }
            }
        )*

        impl $crate::typed::Typed for $name {
            const EXPECTED: &'static str = $called;
            $( const LIST_MEND: &'static str = $list_mend; )?

            fn read(value: $crate::json::Json, reader: &mut $crate::typed::Reader) -> Option<Self> {
                match $crate::typed::find_tag(&value, $tag_key, Self::EXPECTED, Self::TAGS, reader)? {
                    $( $tag => Some(Self::$variant($crate::typed::Typed::read(value, reader)?)), )*
                    _ => None,
                }
            }

            fn write(&self, form: $crate::typed::Form) -> Option<$crate::json::Json> {
                match self {
                    $( Self::$variant(record) => $crate::typed::Typed::write(record, form), )*
                }
            }

            fn schema_name() -> Option<&'static str> {
                Some(stringify!($name))
            }

            fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let choices = [$( $crate::schema::of::<$record>(generator), )*];
                $crate::schema::choice(Self::EXPECTED, choices)
            }
        }
    };
}

/// Declares a choice between fixed strings.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident, $called:literal {
            $( $(#[$var_meta:meta])* $variant:ident = $word:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $( $(#[$var_meta])* $variant, )*
        }

        impl $name {
            /// Every word, in the order of the specification.
            pub const WORDS: &'static [&'static str] = &[$( $word, )*];

            /// The word itself.
            pub fn as_str(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )*
                }
            }
        }

        impl $crate::typed::Typed for $name {
            const EXPECTED: &'static str = $called;

            fn read(value: $crate::json::Json, reader: &mut $crate::typed::Reader) -> Option<Self> {
                match $crate::typed::read_word(&value, Self::EXPECTED, Self::WORDS, reader)? {
                    $( $word => Some(Self::$variant), )*
                    _ => None,
                }
            }

            fn write(&self, _: $crate::typed::Form) -> Option<$crate::json::Json> {
                Some($crate::json::Json::from(self.as_str()))
            }

            fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::schema::words(Self::WORDS)
            }
        }
    };
}

pub(crate) use {record, tagged, words};
