//! The events of a run, which the runner, the log, the display, the JSON lines and the local page all use.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ArmId, EmulatedDevice, Evidence, Plan, Record, Target, Trial, Why, WorkloadId, WorkloadStop,
};

/// One event of a run. As JSON it is an object whose field `event` contains its name.
///
/// [Kept](Event::is_kept) events are the lines of a run's log, from which its [record](crate::Fold) is
/// reconstructed. Front ends get the other events, and notes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run begins: the record with everything known before the measurement, without trials.
    Start(Box<Record>),
    /// The command line of the run, needed to resume it.
    Command {
        /// Words of the command line after the program's name.
        arguments: Vec<String>,
        /// Directory to which relative paths in the arguments refer.
        directory: String,
        /// The exact bytes of the words and the directory, if these texts differ from them because names are not
        /// Unicode or not printable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, schemars(with = "Option<(Vec<Value>, Value)>"))]
        exact: Option<(Vec<OsString>, OsString)>,
    },
    /// All arms are set up; contains the results of the set-up.
    Prepared {
        /// The plan, including values that only the machine could determine.
        plan: Box<Plan>,
        /// The target, including values that only the machine could determine.
        target: Box<Target>,
        /// In logs from earlier versions, all remarks up to this point.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// The measurements that explain costs are complete.
    Why(Box<Why>),
    /// A trial is complete.
    Measured(Box<Trial>),
    /// Every arm of a block has completed its trial.
    BlockEnd {
        /// Workload identifier.
        workload: WorkloadId,
        /// Block number from 0; absent for the discarded trials.
        block: Option<u32>,
    },
    /// Why each workload ended.
    Stops {
        /// One entry for each workload, in plan order.
        stops: Vec<WorkloadStop>,
    },
    /// The evidence on the arms' data at rest.
    Evidence {
        /// One entry for each examined arm.
        evidence: Vec<Evidence>,
    },
    /// A remark that a reader must know.
    Note {
        /// A sentence.
        text: String,
        /// Whether the remark is only recorded, and not shown during the run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aside: bool,
    },
    /// The run ended, by itself or on request.
    End {
        /// Duration of the run in seconds.
        elapsed_s: f64,
        /// Whether planned work is missing.
        partial: bool,
        /// How closely an emulated device followed its model's times.
        emulated: Option<EmulatedDevice>,
        /// Seconds for which a CPU limit throttled the run, since it began or was resumed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        throttled_s: Option<f64>,
    },
    /// An interrupted run is resumed.
    Resumed {
        /// Time at which the run is resumed, in seconds since its start, not counting the interruption.
        at_s: f64,
    },
    /// The plan and the target are known; nothing has been written except the empty scratch file.
    Planned {
        /// What will be measured.
        plan: Box<Plan>,
        /// Where it will be measured.
        target: Box<Target>,
    },
    /// Storage is being filled.
    Filling {
        /// Bytes written so far.
        done: u64,
        /// Total bytes.
        total: u64,
    },
    /// An arm is being set up.
    Preparing {
        /// The arm. An arm that replaces another is not in the plan yet.
        #[serde(rename = "arm_id")]
        arm: ArmId,
        /// Its label.
        what: String,
        /// The arm's number in the order in which the set-up of arms starts, from 1.
        number: usize,
        /// How many there are.
        of: usize,
    },
    /// An arm's data is being checked: whether it can be read back, and whether it is encrypted.
    Checking {
        /// The arm.
        #[serde(rename = "arm_id")]
        arm: ArmId,
    },
    /// A trial begins.
    #[serde(rename = "trial")]
    Begun {
        /// The workload.
        #[serde(rename = "workload_id")]
        workload: WorkloadId,
        /// The arm, or all arms that are interleaved.
        #[serde(rename = "arm_ids")]
        arms: Vec<ArmId>,
        /// Block number from 0; absent for a discarded trial.
        block: Option<u32>,
        /// Seconds used so far.
        elapsed_s: f64,
        /// The budget in seconds.
        budget_s: f64,
        /// Trials completed.
        trials_done: u32,
        /// Trials of the whole run, if their number is known in advance.
        trials: Option<u32>,
    },
    /// A workload has a new estimate of the share of plain speed that an arm keeps. After each
    /// block there is one event per arm, in plan order.
    Estimate {
        /// The workload.
        #[serde(rename = "workload_id")]
        workload: WorkloadId,
        /// The arm.
        #[serde(rename = "arm_id")]
        arm: ArmId,
        /// Ratio to plain.
        kept: f64,
        /// Lower end of the interval.
        low: f64,
        /// Upper end of the interval.
        high: f64,
    },
    /// The answer so far.
    Table {
        /// In the form of `report --format answer`.
        table: Value,
    },
    /// The record is saved.
    Saved {
        /// Directory of the record and its page.
        directory: String,
    },
    /// A published study has been repeated.
    Study {
        /// Its letter.
        study: String,
        /// The study's tables, with the values measured here.
        tables: Value,
    },
}

/// Receives the events of a run.
pub trait Sink {
    /// Called for each event, by the measuring thread, outside measured time.
    fn take(&mut self, event: &Event);
}

impl<F: FnMut(&Event)> Sink for F {
    fn take(&mut self, event: &Event) {
        self(event);
    }
}

impl Event {
    /// Whether the run's log keeps the event.
    pub fn is_kept(&self) -> bool {
        match self {
            Self::Start(_)
            | Self::Command { .. }
            | Self::Prepared { .. }
            | Self::Why(_)
            | Self::Measured(_)
            | Self::BlockEnd { .. }
            | Self::Stops { .. }
            | Self::Evidence { .. }
            | Self::Note { .. }
            | Self::End { .. }
            | Self::Resumed { .. } => true,
            Self::Planned { .. }
            | Self::Filling { .. }
            | Self::Preparing { .. }
            | Self::Checking { .. }
            | Self::Begun { .. }
            | Self::Estimate { .. }
            | Self::Table { .. }
            | Self::Saved { .. }
            | Self::Study { .. } => false,
        }
    }

    /// Parses a line of a log, including one of an earlier version.
    ///
    /// # Errors
    /// If the line is not an event.
    pub fn parse(line: &str) -> serde_json::Result<Self> {
        serde_json::from_str(line).or_else(|error| of_earlier_version(line).ok_or(error))
    }
}

/// Up to version 0.1 a line was an object with one field, named like the event: `{"note": "…"}`.
fn of_earlier_version(line: &str) -> Option<Event> {
    let line: Map<String, Value> = serde_json::from_str(line).ok()?;
    let (name, content) = line.into_iter().next()?;
    let mut event = match content {
        Value::Object(fields) => fields,
        Value::String(text) => Map::from_iter([("text".to_owned(), text.into())]),
        list => Map::from_iter([(name.clone(), list)]),
    };
    let name = if name == "trial" { "measured".to_owned() } else { name };
    event.insert("event".to_owned(), name.into());
    serde_json::from_str(&Value::Object(event).to_string()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_earlier_versions_are_read() {
        for (line, now) in [
            (
                r#"{"block-end":{"workload":"w","block":3}}"#,
                r#"{"event":"block-end","workload":"w","block":3}"#,
            ),
            (r#"{"note":"A note."}"#, r#"{"event":"note","text":"A note."}"#),
            (
                r#"{"stops":[{"workload":"w","reason":"budget","pairs":2}]}"#,
                r#"{"event":"stops","stops":[{"workload":"w","reason":"budget","pairs":2}]}"#,
            ),
            (r#"{"evidence":[]}"#, r#"{"event":"evidence","evidence":[]}"#),
            (r#"{"resumed":{"at_s":1.5}}"#, r#"{"event":"resumed","at_s":1.5}"#),
        ] {
            let text = |line| serde_json::to_string(&Event::parse(line).unwrap()).unwrap();
            assert_eq!(text(line), now);
            assert_eq!(text(now), now);
        }
        let trial = serde_json::to_string(&Trial { at_s: 0.1, ..Trial::default() }).unwrap();
        let Ok(Event::Measured(read)) = Event::parse(&format!(r#"{{"trial":{trial}}}"#)) else {
            panic!("{trial}")
        };
        assert_eq!(serde_json::to_string(&read).unwrap(), trial);
        assert!(Event::parse(r#"{"nonsense":1}"#).is_err() && Event::parse("[]").is_err());
    }
}
