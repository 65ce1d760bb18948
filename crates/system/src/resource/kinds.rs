//! The operations of a kind of resource, and the enum over all kinds of a system.

use cryptbench_text::chain;

use super::{AnyResource, Identity};
use crate::SystemError;

/// A kind of resource. Its fields are stored in the journal. They are sufficient to find the resource after a
/// kill, and do not contain secrets.
pub(crate) trait Resource: Clone + Into<AnyResource> + Send + 'static {
    /// The data held while the resource exists.
    type Live: Send;

    /// Whether the resource is created by a single system call that fails if the name exists. A failed call has
    /// then created nothing, and an existing resource belongs to someone else.
    const EXCLUSIVE: bool = false;

    /// Whether the resource is a key. Without the key, the data that it decrypted is inaccessible.
    const IS_KEY: bool = false;

    /// Destroys the resource. It is not an error if the resource no longer exists. After an error, the call can
    /// be repeated.
    fn destroy(&self, live: &mut Self::Live, identity: Option<Identity>)
    -> Result<(), SystemError>;

    /// Destroys the remains of a killed process or a failed program, if they can be proved to be ours.
    fn recover(&self, identity: Option<Identity>) -> Recovered;

    /// A text in the arguments of the program that creates the resource. That program can outlive a killed run,
    /// so recovery waits for it to exit.
    fn made_by(&self) -> Option<String> {
        None
    }

    /// Whether data that is written through the resource can stay in an underlying page cache.
    fn caches(&self, _live: &Self::Live) -> bool {
        false
    }
}

/// Whether the resource was ours and is now gone, or why it could not be removed; `None` if there was nothing.
pub(crate) type Recovered = Option<Result<bool, String>>;

/// The name belongs to another resource, which is left unchanged.
pub(super) const NOT_OURS: Recovered = Some(Ok(false));

/// The resource was ours: converts the result of its removal.
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
            /// The path of the resource, or of the file or device on which it is based.
            pub fn path(&self) -> &std::path::Path {
                match self {
                    $(Self::$name(kind) => kinds!(@path kind $($field)?),)*
                }
            }

            /// The resource's description for display: its kind and its fields.
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
