//! The operations of a kind of resource, and the enum over all kinds of a system.

use cryptbench_text::chain;

use super::{AnyResource, Identity};
use crate::SystemError;

/// A kind of resource. Its fields are stored in the journal and are sufficient to find the resource after a
/// kill. They contain no secrets.
pub(crate) trait Resource: Clone + Into<AnyResource> + Send + 'static {
    /// The data held while the resource exists.
    type Live: Send;

    /// Whether a single system call creates it and fails if the name exists. If that call fails,
    /// nothing was created, and an existing resource belongs to someone else.
    const EXCLUSIVE: bool = false;

    /// Whether it is a key. Once a key is removed, the data that it decrypted is not accessible.
    const IS_KEY: bool = false;

    /// Destroys the resource. A resource that is already gone is not an error, and after an error
    /// it can be tried again.
    fn destroy(&self, live: &mut Self::Live, identity: Option<Identity>)
    -> Result<(), SystemError>;

    /// Destroys the remains of a killed process or a failed program, as far as they are proved to be ours.
    fn recover(&self, identity: Option<Identity>) -> Recovered;

    /// A text in the arguments of the program that creates it. Such a program can outlive a killed run, so recovery
    /// waits for it to exit.
    fn made_by(&self) -> Option<String> {
        None
    }

    /// Whether data written through it stays in a page cache below it.
    fn caches(&self, _live: &Self::Live) -> bool {
        false
    }
}

/// Whether it was ours and is now gone, or the error; `None` if nothing was found.
pub(crate) type Recovered = Option<Result<bool, String>>;

/// The name belongs to something else; that is not touched.
pub(super) const NOT_OURS: Recovered = Some(Ok(false));

/// It was ours; the result of removing it.
pub(super) fn removed<E: std::error::Error>(result: Result<(), E>) -> Recovered {
    Some(result.map(|()| true).map_err(|e| chain(&e)))
}

/// Lists the kinds with their names in the journal. `at` specifies the field that `path` returns, if that is not the
/// field `path`.
macro_rules! kinds {
    (@path $kind:ident) => { &$kind.path };
    (@path $kind:ident $field:ident) => { &$kind.$field };
    ($($(#[$about:meta])* $name:ident($kind:ty) $(at $field:ident)?,)*) => {
        /// A resource of any kind that must be removed, as a line of the journal.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "act", rename_all = "kebab-case")]
        pub enum AnyResource {
            $($(#[$about])* $name($kind),)*
        }

        $(impl From<$kind> for AnyResource {
            fn from(kind: $kind) -> Self {
                Self::$name(kind)
            }
        })*

        impl AnyResource {
            /// The path of the resource, or of its base.
            pub fn path(&self) -> &std::path::Path {
                match self {
                    $(Self::$name(kind) => kinds!(@path kind $($field)?),)*
                }
            }

            /// Its description for display: its kind and its fields.
            pub(super) fn told(&self) -> String {
                let Ok(serde_json::Value::Object(mut fields)) = serde_json::to_value(self) else {
                    return cryptbench_text::shown(self.path());
                };
                let kind = fields.remove("act").unwrap_or_default();
                let fields = fields.iter().map(|(name, value)| format!(", {name} {value}"));
                format!("{}{}", kind.as_str().unwrap_or_default(), fields.collect::<String>())
            }

            fn recover(&self, identity: Option<Identity>) -> Recovered {
                match self {
                    $(Self::$name(kind) => kind.recover(identity),)*
                }
            }

            fn made_by(&self) -> Option<String> {
                match self {
                    $(Self::$name(kind) => kind.made_by(),)*
                }
            }
        }
    };
}

pub(super) use kinds;
