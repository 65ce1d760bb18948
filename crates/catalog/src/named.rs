//! Enums whose values profiles and records store as keywords.

/// An enum whose variants have keywords: `ALL` lists the variants, `as_str` returns the keyword of a variant, and
/// `of` the variant of a keyword.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $visible:vis enum $kinds:ident {
        $($(#[$of:meta])* $kind:ident = $word:literal,)*
    }) => {
        $(#[$about])*
        $visible enum $kinds {
            $($(#[$of])* $kind,)*
        }

        impl $kinds {
            /// All of them.
            $visible const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The word for it.
            #[must_use]
            $visible const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }

            /// The variant with this keyword, if this version knows it.
            #[must_use]
            $visible fn of(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
            }
        }
    };
}
