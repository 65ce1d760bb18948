# What each arm keeps of plain speed, from the raw trials of a record, with R alone (no package).
#
#     cryptbench report RUN --format csv --output trials.csv
#     Rscript with_r.R trials.csv

path <- commandArgs(trailingOnly = TRUE)[1]
trials <- read.csv(path, na.strings = "", stringsAsFactors = FALSE)

plain <- trials[trials$role == "plain", c("workload", "block", "requests_per_s")]
other <- trials[trials$role != "plain", c("workload", "block", "arm", "requests_per_s")]
pairs <- merge(other, plain, by = c("workload", "block"), suffixes = c("", "_plain"))
pairs$d <- log(pairs$requests_per_s / pairs$requests_per_s_plain)

# exp(mean of ln(arm / plain)) with its t interval, for each workload and arm.
for (cell in split(pairs, list(pairs$workload, pairs$arm), drop = TRUE)) {
  interval <- t.test(cell$d, conf.level = 0.95)$conf.int
  cat(cell$workload[1], cell$arm[1],
      format(exp(mean(cell$d)), digits = 15),
      format(exp(interval[1]), digits = 15), format(exp(interval[2]), digits = 15),
      sep = "\t")
  cat("\n")
}
