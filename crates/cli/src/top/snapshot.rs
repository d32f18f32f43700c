//! What a program does, at one moment.

use weir_inside::{AdminAddress, AskError};
use weir_view::{Route, Tasks};

use super::controls::TaskOrder;
use super::{stages, tasks, threads};
use crate::display::safe;
use crate::terminal::{Painter, Screen, wrap};

/// The most tasks, and the most threads, of the text.
const TEXT_TASKS_MAX: usize = 10;

/// The answers of an admin server.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) route: Route,
    pub(super) tasks: Tasks,
}

/// The program to look at.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) admin: AdminAddress,
    /// The token of its admin server, if it has one.
    pub(super) token: Option<String>,
}

impl Program {
    /// Requests the route and the first `tasks_max` tasks in this order.
    pub(super) async fn look(
        &self,
        order: TaskOrder,
        tasks_max: usize,
    ) -> Result<Snapshot, AskError> {
        let token = self.token.as_deref();
        let route = self.admin.route(token).await?;
        let is_ascending = order.is_ascending();
        let tasks = self.admin.tasks(token, order.key, is_ascending, tasks_max).await?;
        Ok(Snapshot { route, tasks })
    }

    /// Requests what the text shows.
    pub(super) async fn look_for_text(&self) -> Result<Snapshot, AskError> {
        self.look(TaskOrder::default(), TEXT_TASKS_MAX).await
    }
}

impl Snapshot {
    /// Formats the sentence about the slowest stage, and the tables of all stages and of the
    /// busiest tasks and threads.
    pub(super) fn text(&self, screen: Screen) -> String {
        let columns = screen.text_columns;
        let painter = Painter { colour: screen.colour };
        let mut lines = wrap(&safe(&self.route.slowest.reason), ["", ""], columns);
        for table in [
            stages::all(&self.route),
            tasks::text_table(&self.tasks),
            threads::table(&self.tasks).cut(TEXT_TASKS_MAX, 0),
        ] {
            lines.push(String::new());
            lines.extend(table.lines(columns, painter));
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use weir_view::{Route, RouteStage, RouteStageKind, SlowestStage, Tasks};

    use super::Snapshot;
    use crate::terminal::Screen;

    #[test]
    fn a_text_has_all_stages_in_the_order_of_the_route() {
        let stage = |index: usize| RouteStage::new(RouteStageKind::Source, &index.to_string());
        let route = Route {
            stages: (0..50).map(stage).collect(),
            slowest: SlowestStage { stage: Some(49), reason: "A reason.".to_owned() },
            ..Route::default()
        };
        let screen = Screen { columns: 80, text_columns: usize::MAX, colour: false };
        let text = Snapshot { route, tasks: Tasks::default() }.text(screen);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["A reason.", ""]);
        assert_eq!(lines[2], "  stage   name  bytes  records  bytes/s  records/s  busy  held");
        assert_eq!((lines[3], lines[52]), ("  source  0", "> source  49"));
        assert_eq!(lines[54], "  task  name  state  busy  scheduled  polls/s  bytes/s");
        let threads = "  thread  state  on a processor  waits for one  busy  waits/s";
        assert_eq!(lines[55..], ["", threads]);
    }
}
