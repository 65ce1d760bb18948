//! One row for each measured trial.

use cryptbench_record::{Record, Trial};

use super::key::Keys;
use super::{Fields, Table, collect};

pub(super) fn table(record: &Record) -> Table {
    let keys = Keys::of(record);
    let measured = record.trials.iter().filter(|t| t.block.is_some());
    collect(row(&keys, &Trial::default()), measured.map(|t| row(&keys, t)))
}

fn row(keys: &Keys<'_>, t: &Trial) -> Fields {
    let mut row = keys.row(&t.workload, &t.arm);
    row.integer("sequence", Some(t.sequence));
    row.integer("block", t.block);
    row.real("at_s", Some(t.at_s));
    row.real("elapsed_s", Some(t.measured.elapsed_s));
    row.integer("requests", Some(t.measured.ios));
    row.integer("bytes", Some(t.measured.bytes));
    row.real("bandwidth_bytes_per_s", Some(t.bandwidth()));
    row.real("requests_per_s", Some(t.iops()));
    row.real("latency_mean_us", Some(t.measured.latency.mean_us));
    row.real("latency_p50_us", Some(t.measured.latency.p50_us));
    row.real("latency_p99_us", t.measured.latency.p99_us);
    row.real("latency_p999_us", t.measured.latency.p999_us);
    row.real("latency_max_us", Some(t.measured.latency.max_us));
    row.real("cpu_process_s", Some(t.measured.cpu_process_s));
    row.real("cpu_machine_s", Some(t.measured.cpu_machine_s));
    let a = t.measured.accounting.as_ref();
    row.real("cpu_generator_s", a.map(|a| a.generator_s));
    row.real("cpu_daemons_s", a.map(|a| a.daemons_s));
    row.real("cpu_kernel_s", a.map(|a| a.kernel_s));
    row.real("cpu_other_s", a.map(|a| a.other_s));
    row.real("cached_before_fraction", a.and_then(|a| a.cached_before));
    row.real("energy_j", a.and_then(|a| a.energy_j));
    row.real("battery_j", a.and_then(|a| a.battery_j));
    row.real("temperature_c", a.and_then(|a| a.temperature_c));
    row.real("frequency_mhz", a.and_then(|a| a.frequency_mhz));
    row.real("cpu_pressure_fraction", a.and_then(|a| a.cpu_pressure));
    row.real("io_pressure_fraction", a.and_then(|a| a.io_pressure));
    row.real("memory_pressure_fraction", a.and_then(|a| a.memory_pressure));
    row.real("stolen_s", a.and_then(|a| a.stolen_s));
    row.integer("device_read_bytes", t.measured.device.map(|d| d.read_bytes));
    row.integer("device_written_bytes", t.measured.device.map(|d| d.written_bytes));
    row.integer("device_reads", t.measured.device.map(|d| d.reads));
    row.integer("device_writes", t.measured.device.map(|d| d.writes));
    row
}
