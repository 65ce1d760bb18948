//! The tables, their version, and the upgrade from older versions.
//!
//! `PRAGMA application_id` distinguishes the file from other SQLite databases, and `PRAGMA user_version` contains the
//! version. Version 1:
//!
//! - `records`: `id`; `digest`, SHA-256 of the document; `run_id`, `started`, `program_version`, `profile`, `machine`,
//!   `target`, `partial`; `added`, the time at which the record was added (RFC 3339, UTC); `source`, the location of
//!   the record at that time; `document`, the whole record as JSON.
//! - `cells`: one per workload and arm: `record`, its comparison key (`machine`, `target`, `workload`, `arm`),
//!   its labels, `has_plain`, `trials`, `ln_speed`, `ln_kept`, `cached`.
//!
//! Version 2: `cells` has `arm_set`, the set of arms that the program chose for the run, which is comparable only with
//! an identical set; empty if the user specified the systems. For older records, the set is derived as in
//! [`Plan::arm_set`](cryptbench_record::Plan::arm_set).
//!
//! Version 3: `records` has `title`, the user's title for the run; empty if there is no title.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::HistoryError;

/// `CBhs`, big-endian.
const APPLICATION: i64 = 0x4342_6873;

/// Step n (counting from 1) upgrades the database to version n.
const STEPS: [&str; 3] = ["
    CREATE TABLE records (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        digest TEXT NOT NULL UNIQUE,
        run_id TEXT NOT NULL,
        started TEXT NOT NULL,
        program_version TEXT NOT NULL,
        profile TEXT NOT NULL,
        machine TEXT NOT NULL,
        target TEXT NOT NULL,
        partial INTEGER NOT NULL,
        added TEXT NOT NULL,
        source TEXT NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE TABLE cells (
        record INTEGER NOT NULL REFERENCES records(id) ON DELETE CASCADE,
        machine TEXT NOT NULL,
        target TEXT NOT NULL,
        workload TEXT NOT NULL,
        workload_label TEXT NOT NULL,
        arm TEXT NOT NULL,
        arm_label TEXT NOT NULL,
        has_plain INTEGER NOT NULL,
        trials INTEGER NOT NULL,
        ln_speed REAL NOT NULL,
        ln_kept REAL,
        cached INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX cells_of_record ON cells(record);
    CREATE INDEX records_by_time ON records(started);
", "
    ALTER TABLE cells ADD COLUMN arm_set TEXT NOT NULL DEFAULT '';
    UPDATE cells SET arm_set = 'builtin-only' WHERE record IN (
        SELECT id FROM records WHERE
            (SELECT group_concat(json_extract(value, '$.id')) FROM json_each(document, '$.plan.arms'))
            = 'plain,plain-again,builtin/null,builtin/aes-256-xts/512,builtin/aes-256-xts/4096'
    );
    UPDATE cells SET arm_set = (SELECT json_extract(document, '$.plan.set') FROM records WHERE id = record)
        WHERE record IN (SELECT id FROM records WHERE json_type(document, '$.plan.set') = 'text');
", "
    ALTER TABLE records ADD COLUMN title TEXT NOT NULL DEFAULT '';
"];

/// The newest version.
pub const VERSION: i64 = STEPS.len() as i64;

/// How long one process waits for another process's transaction.
const PATIENCE: Duration = Duration::from_secs(20);

/// Opens the database. If `create` is set, a missing or empty file becomes a new database.
pub(crate) fn open(path: &Path, create: bool) -> Result<Connection, HistoryError> {
    let error = |source: rusqlite::Error| told(path, &source);
    if !path.exists() && !create {
        return Err(HistoryError::None { path: path.to_owned() });
    }
    let real = real(path).map_err(|source| HistoryError::Io { path: path.to_owned(), source })?;
    refuse_irregular(path, &real)?;
    // Rejects links: the path has already been resolved, so a link there must have been created since.
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let mut connection = Connection::open_with_flags(&real, flags).map_err(error)?;
    connection.busy_timeout(PATIENCE).map_err(error)?;
    let pragma = |c: &Connection, name: &str| {
        c.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
    };
    let objects = |c: &Connection| {
        c.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
    };
    let is_new = |c: &Connection| -> rusqlite::Result<bool> {
        Ok(pragma(c, "application_id")? == 0 && pragma(c, "user_version")? == 0 && objects(c)? == 0)
    };
    if !is_new(&connection).map_err(error)? {
        refuse_others(path, &connection)?;
        let sound: String =
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(error)?;
        if sound != "ok" {
            return Err(HistoryError::Damaged { path: path.to_owned(), what: sound });
        }
    } else if !create {
        return Err(HistoryError::None { path: path.to_owned() });
    }
    // Another process may be upgrading as well, so the decision is made inside the transaction.
    let behaviour = TransactionBehavior::Immediate;
    if pragma(&connection, "user_version").map_err(error)? < VERSION {
        let transaction = connection.transaction_with_behavior(behaviour).map_err(error)?;
        let version = pragma(&transaction, "user_version").map_err(error)?;
        for (i, step) in STEPS.iter().enumerate().skip(usize::try_from(version).unwrap_or(0)) {
            transaction.execute_batch(step).map_err(error)?;
            transaction.pragma_update(None, "user_version", i as i64 + 1).map_err(error)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(error)?;
        transaction.commit().map_err(error)?;
    }
    write_ahead(&connection).map_err(error)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(error)?;
    Ok(connection)
}

/// The path with links resolved; the file at the path need not exist yet.
fn real(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
            let name = path.file_name().ok_or(e)?;
            Ok(parent.unwrap_or(Path::new(".")).canonicalize()?.join(name))
        }
        found => found,
    }
}

/// Refuses a database that is a pipe or a device, and a link at any of the neighbouring paths to which SQLite writes.
fn refuse_irregular(path: &Path, real: &Path) -> Result<(), HistoryError> {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut file = real.as_os_str().to_owned();
        file.push(ending);
        if std::fs::symlink_metadata(&file).is_ok_and(|found| !found.is_file()) {
            let what = match ending {
                "" => "not a regular file".to_owned(),
                _ => format!("{} is not a regular file", cryptbench_text::shown(Path::new(&file))),
            };
            return Err(HistoryError::NotOurs { path: path.to_owned(), what });
        }
    }
    Ok(())
}

/// Enables the mode in which readers do not wait for writers. If the file system does not support this mode, the mode
/// is not changed.
///
/// SQLite reads the mode first and then upgrades to writing. If another process is writing, the change fails
/// immediately despite the timeout (see deadlocks in the documentation of `sqlite3_busy_handler`).
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(e)
                if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < until =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn refuse_others(path: &Path, connection: &Connection) -> Result<(), HistoryError> {
    let pragma = |name: &str| {
        connection
            .query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
            .map_err(|e| told(path, &e))
    };
    if pragma("application_id")? != APPLICATION {
        let what = "a database of another program".to_owned();
        return Err(HistoryError::NotOurs { path: path.to_owned(), what });
    }
    let found = pragma("user_version")?;
    if found > VERSION {
        return Err(HistoryError::Newer { path: path.to_owned(), found, known: VERSION });
    }
    Ok(())
}

/// Converts an SQLite error to an error of the history.
pub(crate) fn told(path: &Path, source: &rusqlite::Error) -> HistoryError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            HistoryError::NotOurs { path, what: "no database".to_owned() }
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            HistoryError::Damaged { path, what: source.to_string() }
        }
        _ => HistoryError::Database { path, what: source.to_string() },
    }
}
