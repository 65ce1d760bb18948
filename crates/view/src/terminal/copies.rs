//! The table of copies: mean, standard deviation and speed, as users of the profile know them.

use cryptbench_answer::picture::copies::Copy;
use cryptbench_answer::quantity::{NONE, megabytes, seconds};
use cryptbench_record::Workload;

use super::layout::{add, clean, empty, fitted};
use super::picture::share;
use super::wrap;

pub(super) fn draw(copies: &[(&Workload, Vec<Copy<'_>>)], rule: &str, width: usize) -> String {
    let title = format!(
        "Copies, summarised {rule}; speed = bytes / mean time. Kept is our own estimate, from all trials."
    );
    let headings = ["copy", "mean", "sd", "speed", "trials", "% of plain"].map(str::to_owned);
    let mut table = empty(headings.into());
    for (workload, of_arms) in copies {
        let blanks = vec![String::new(); 5];
        add(&mut table, [vec![clean(&workload.label)], blanks].concat());
        for copy in of_arms {
            add(
                &mut table,
                vec![
                    format!("  {}", clean(&copy.arm.label)),
                    seconds(copy.mean_s),
                    copy.sd_s.map_or_else(|| NONE.to_owned(), seconds),
                    copy.speed.map_or_else(|| NONE.to_owned(), megabytes),
                    format!("{} of {}", copy.used, copy.trials),
                    share(copy.reading.ratio, copy.reading.mark),
                ],
            );
        }
    }
    format!("{}\n{}", wrap(&title, "", "  ", width), fitted(table, width))
}
