//! A fleet's report as comma-separated values: one row for each group and workload.

use cryptbench_fleet::Report;

const HEAD: &str = "cpu_model,disk_model,kernel,arm,arm_label,driver,workload,workload_label,machines,next_low_ratio,\
next_high_ratio,mean_ratio,low_ratio,high_ratio,between_sd,between_fraction,method,at_once";

/// Ratios are empty if too few machines were pooled.
pub fn lines(report: &Report) -> String {
    let mut rows: Vec<Vec<String>> = vec![HEAD.split(',').map(str::to_owned).collect()];
    for group in &report.groups {
        let kind = &group.kind;
        for row in &group.rows {
            let texts = [
                &kind.cpu_model,
                &kind.disk_model,
                &kind.kernel,
                &kind.arm,
                &kind.arm_label,
                &kind.driver,
                &row.workload,
                &row.label,
            ];
            let mut fields: Vec<String> = texts.into_iter().cloned().collect();
            fields.push(row.machines.to_string());
            match &row.pooled {
                None => fields.resize(HEAD.split(',').count() - 1, String::new()),
                Some(p) => {
                    let numbers = [
                        p.next_low_ratio,
                        p.next_high_ratio,
                        p.mean_ratio,
                        p.low_ratio,
                        p.high_ratio,
                        p.between_sd,
                        p.between_fraction,
                    ];
                    fields.extend(numbers.map(|n| n.to_string()));
                    fields.push(p.method.to_owned());
                }
            }
            fields.push(kind.at_once.map_or(String::new(), |n| n.to_string()));
            rows.push(fields);
        }
    }
    cryptbench_view::table::csv::lines(rows)
}
