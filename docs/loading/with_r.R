# What each arm keeps of plain speed, from the raw trials of a record, with R alone (no package).
#
#     cryptbench report RUN --format csv --output trials.csv
#     Rscript with_r.R trials.csv

path <- commandArgs(trailingOnly = TRUE)[1]
trials <- read.csv(path, na.strings = "", stringsAsFactors = FALSE)

# Arms are held against the geometric mean of plain and plain, repeated; the latter against plain.
trials$log <- log(trials$requests_per_s)
block <- c("workload", "block")
is_plain <- trials$role %in% c("plain", "plain-again")
first <- trials[trials$role == "plain", c(block, "log")]
both <- aggregate(log ~ workload + block, trials[is_plain, ], mean)
against <- function(arms, base) {
  merge(arms[c(block, "arm", "log")], base, by = block, suffixes = c("", "_plain"))
}
pairs <- rbind(against(trials[!is_plain, ], both), against(trials[trials$role == "plain-again", ], first))
pairs$d <- pairs$log - pairs$log_plain

# exp(mean of ln(arm / plain)) with its t interval, for each workload and arm.
for (cell in split(pairs, list(pairs$workload, pairs$arm), drop = TRUE)) {
  interval <- t.test(cell$d, conf.level = 0.95)$conf.int
  cat(cell$workload[1], cell$arm[1],
      format(exp(mean(cell$d)), digits = 15),
      format(exp(interval[1]), digits = 15), format(exp(interval[2]), digits = 15),
      sep = "\t")
  cat("\n")
}
