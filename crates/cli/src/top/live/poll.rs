//! Requests to the program, once a second and after each change of the order.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use weir_inside::AskError;

use crate::top::controls::Controls;
use crate::top::snapshot::{Program, Snapshot};

/// The pause between two requests.
const INTERVAL: Duration = Duration::from_secs(1);

/// The most tasks that are requested. No screen has more rows.
pub(super) const TASKS_MAX: usize = 200;

/// The answer of the program, or why there is none.
pub(super) type Answer = Result<Snapshot, AskError>;

/// Requests a snapshot each second, unless the screen is paused.
pub(super) async fn poll(
    program: &Program,
    mut controls: watch::Receiver<Controls>,
    answers: mpsc::Sender<Answer>,
) -> Infallible {
    loop {
        let Controls { order, is_paused, .. } = *controls.borrow_and_update();
        if !is_paused {
            let answer = program.look(order, TASKS_MAX).await;
            if answers.send(answer).await.is_err() {
                // The screen ends this future together with itself.
                return pending().await;
            }
        }
        let is_same = |now: &Controls| now.order == order && now.is_paused == is_paused;
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = controls.wait_for(|now| !is_same(now)) => {}
        }
    }
}
