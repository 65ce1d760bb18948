//! `cryptbench run --fleet`: runs the benchmark on one machine, and writes its record to the directory that all
//! machines share.

use std::path::Path;
use std::process::ExitCode;

use cryptbench_fleet::{FAILURE, Failure, Shared, node};
use cryptbench_record::Node;
use cryptbench_system::ALL;
use cryptbench_text::{chain, printable, shown};

use crate::exit::{self, Refusal};
use crate::output::Output;
use crate::run::args::RunArgs;
use crate::run::{Measured, measure_into, request};
use crate::say::{message, print, print_json};
use crate::signal::Signal;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run(args: &RunArgs, directory: &Path, signal: &Signal) -> anyhow::Result<ExitCode> {
    refuse_choosing(args)?;
    let shared = Shared::open(directory)?;
    let request = request(args);
    // The complete request, including options added in future versions. The program's version is included, because
    // another version may measure differently.
    let mut asked = match &request {
        Ok(request) => format!("{VERSION}\n{request:?}"),
        Err(_) => format!("{VERSION}\n{args:?}"),
    };
    asked.extend(args.result.at_once.map(|n| format!("\n{n} at once")));
    let node = Node { at_once: args.result.at_once, ..node(args.result.node.as_deref(), &asked) };
    if shared.is_done(&node) {
        let path = shared.record_of(&node);
        print(&format!(
            "{} has already measured this plan since it was booted: {}",
            printable(&node.name),
            shown(&path)
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let output = Output::Fleet(shared, node);
    let done =
        request.and_then(|request| measure_into(args, &request, &output, signal, (false, None)));
    let Output::Fleet(shared, node) = &output else { unreachable!("it is the fleet's") };
    let Measured { record, code, unmeasured, .. } = match done {
        Ok(measured) => measured,
        Err(error) => {
            leave_failure(shared, node, &chain(error.as_ref()), exit::code(&error));
            return Err(error);
        }
    };
    if unmeasured {
        let why = "the time budget ran out before the first pair of trials";
        leave_failure(shared, node, why, exit::UNMEASURED);
    }
    match args.shown.json {
        true => print_json(&record)?,
        false => {
            print(&format!(
                "{} measured: {}",
                printable(&node.name),
                shown(&shared.record_of(node))
            ));
        }
    }
    Ok(code)
}

/// Refuses a request that does not specify the systems: the machines would choose different systems, so their results
/// could not be pooled.
fn refuse_choosing(args: &RunArgs) -> anyhow::Result<()> {
    let is_named = !args.what.system.is_empty() && !args.what.system.iter().any(|name| name == ALL);
    if is_named
        || args.what.builtin_only
        || !args.place.pair.is_empty()
        || args.place.existing.is_some()
    {
        return Ok(());
    }
    let reason = "needs named systems (--system dm-crypt,gocryptfs), --builtin-only, --pair or --existing: otherwise \
    machines would choose different systems";
    Err(Refusal::usage(Path::new("--fleet"), reason).into())
}

fn leave_failure(shared: &Shared, node: &Node, why: &str, exit_code: u8) {
    let failure = Failure {
        schema: FAILURE.to_owned(),
        program_version: VERSION.to_owned(),
        node: node.clone(),
        why: why.to_owned(),
        exit_code,
        machine: cryptbench_runner::machine(0.0),
    };
    if let Err(error) = shared.leave_failure(&failure) {
        message(&chain(&error));
    }
}
