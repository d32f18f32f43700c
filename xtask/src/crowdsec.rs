//! The test of CrowdSec's scenarios, with CrowdSec itself.

use weir_tools::packages;

use crate::shell::{Outcome, ignored_tests, root, target_folder};
use crate::summary;

/// The test that is skipped where CrowdSec cannot be unpacked.
const SKIPPED: &str = "CrowdSec: 1 test skipped, because its package cannot be unpacked";

/// Runs the test with Debian's package, which is unpacked and not installed, because its set-up
/// needs a network.
pub(crate) fn test() -> Outcome<Vec<String>> {
    let folder = root().join(target_folder()).join("crowdsec");
    if !folder.join("usr/bin/crowdsec").exists()
        && let Err(error) = packages::unpack("crowdsec", &folder)
    {
        println!("{error}");
        return Ok(vec![SKIPPED.to_owned()]);
    }
    let mut test = ignored_tests("integration", "crowdsec::");
    summary::run_tests(test.env("CROWDSEC_ROOT", folder))
}
