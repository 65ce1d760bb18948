//! One row for each measured trial.

use std::collections::HashMap;

use cryptbench_record::{BusyThread, DiskCounts, Observation, Record, Threads, Trial};

use super::key::Keys;
use super::{Fields, Kind, Table, Value, collect};

pub(super) fn table(record: &Record) -> Table {
    let keys = Keys::of(record);
    let measured = || record.trials.iter().filter(|t| t.block.is_some());
    let mut disturbed = Marks::new();
    for t in measured().filter(|t| t.measured.disk.is_some()) {
        let is = || record.disk_disturbed(&t.workload, &t.arm).is_some();
        disturbed.entry((&t.workload, &t.arm)).or_insert_with(is);
    }
    let empty = row(&keys, &Trial::default(), &disturbed);
    collect(empty, measured().map(|t| row(&keys, t, &disturbed)))
}

/// Whether other programs used the disk, by workload and arm.
type Marks<'a> = HashMap<(&'a str, &'a str), bool>;

fn row(keys: &Keys<'_>, t: &Trial, disturbed: &Marks<'_>) -> Fields {
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
    let is_disturbed = disturbed.get(&(&t.workload[..], &t.arm[..])).copied();
    disk(&mut row, &t.measured, is_disturbed);
    threads(&mut row, t.measured.threads.as_ref());
    row
}

/// The busiest threads.
fn threads(row: &mut Fields, threads: Option<&Threads>) {
    let thread = |of: fn(&Threads) -> &Option<BusyThread>| threads.and_then(|t| of(t).as_ref());
    row.real("threads_span_s", threads.map(|t| t.span_s));
    let busiest = [thread(|t| &t.load), thread(|t| &t.helper), thread(|t| &t.kernel)];
    let names = [
        ("busiest_load_thread", "busiest_load_cpu_s"),
        ("busiest_helper_thread", "busiest_helper_cpu_s"),
        ("busiest_kernel_thread", "busiest_kernel_cpu_s"),
    ];
    for ((name, seconds), thread) in names.into_iter().zip(busiest) {
        row.text(name, thread.map(|thread| &thread.name[..]));
        row.real(seconds, thread.map(|thread| thread.cpu_s));
    }
    row.integer("helper_voluntary_switches", threads.and_then(|t| t.voluntary_switches));
    row.integer("helper_involuntary_switches", threads.and_then(|t| t.involuntary_switches));
}

/// The requests that reached the disk: the raw counts, which include ramps and the ends of slices, and the
/// figures derived from them.
fn disk(row: &mut Fields, measured: &Observation, is_disturbed: Option<bool>) {
    let (disk, while_measured) = (measured.disk.as_ref(), measured.disk_while_measured());
    row.real("disk_span_s", disk.map(|d| d.span_s));
    row.integer("disk_asked_requests", disk.map(|d| d.asked));
    row.integer("disk_asked_bytes", disk.map(|d| d.asked_bytes));
    row.integer("disk_reads", disk.map(|d| d.reads));
    row.integer("disk_read_bytes", disk.map(|d| d.read_bytes));
    row.real("disk_read_s", disk.map(|d| d.read_s));
    row.integer("disk_writes", disk.map(|d| d.writes));
    row.integer("disk_written_bytes", disk.map(|d| d.written_bytes));
    row.real("disk_write_s", disk.map(|d| d.write_s));
    row.real("disk_busy_s", disk.map(|d| d.busy_s));
    row.integer("disk_queued_before", disk.and_then(|d| d.queued));
    row.integer("disk_merged_reads", disk.and_then(|d| d.merged_reads));
    row.integer("disk_merged_writes", disk.and_then(|d| d.merged_writes));
    row.integer("disk_discards", disk.and_then(|d| d.discards));
    row.integer("disk_discarded_bytes", disk.and_then(|d| d.discarded_bytes));
    row.integer("disk_flushes", disk.and_then(|d| d.flushes));
    row.real("disk_flush_s", disk.and_then(|d| d.flush_s));
    row.real("disk_requests_per_request", disk.and_then(DiskCounts::per_request));
    row.real("disk_bytes_per_byte", disk.and_then(DiskCounts::per_byte));
    row.real("disk_mean_request_bytes", disk.and_then(DiskCounts::mean_bytes));
    row.real("disk_in_flight", while_measured.as_ref().and_then(DiskCounts::in_flight));
    row.real("disk_reads_in_flight", while_measured.as_ref().and_then(DiskCounts::reads_in_flight));
    row.real(
        "disk_writes_in_flight",
        while_measured.as_ref().and_then(DiskCounts::writes_in_flight),
    );
    row.real("disk_idle_fraction", while_measured.as_ref().and_then(DiskCounts::idle_share));
    row.push("disk_disturbed", Kind::Truth, disk.and(is_disturbed).map(Value::Truth));
}
