//! What must hold when something is short or wrong: full mailboxes, bad buffers, counts that disagree, cancelled operations.

use crate::support::{MODES, mpirun, on, program};

#[test]
fn a_rolling_window_of_collectives_outlives_full_mailboxes_on_chips() {
    let program = program("rolling.c");
    for chip in ["mppa256-andey", "mppa256-bostan"] {
        let job = mpirun(["--chip", chip, "--map", "scatter", "-n", "8"]).argument(&program);
        job.arguments(&["100", "20"]).run().expect_success().expect_output("no errors\n");
    }
    for mode in MODES {
        let job = on(mode, 4, &program).arguments(&["100", "20"]);
        job.run().expect_success().expect_output("no errors\n");
    }
}
