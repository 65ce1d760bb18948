//! The arguments of `cryptbench serve`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct ServeArgs {
    /// Port on 127.0.0.1 [default: 7373, or a free port if that is in use]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// Also show the report of the fleet in this directory
    #[arg(long, value_name = "DIR")]
    pub fleet: Option<PathBuf>,
}
