//! A thousand users of the gateway, while servers are killed and keys change.

use super::{Setting, Verdict, example};
use crate::shell::{Outcome, command, execute, output_of};

/// The users, and the requests of all of them.
const USERS: &str = "1000";
const REQUESTS: &str = "1000000";

pub(super) fn run(setting: &Setting) -> Outcome<Verdict> {
    let build =
        ["build", "--release", "--quiet", "--package", "weir-gateway", "--example", "users"];
    execute(&mut command("cargo", &build))?;
    let (program, weir) = (example("users"), setting.weir.to_string_lossy());
    let printed = output_of(&mut command(&program.to_string_lossy(), &[&*weir, USERS, REQUESTS]))?;
    Ok(Verdict::Passed(printed.lines().map(str::to_owned).collect()))
}
