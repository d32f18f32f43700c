//! The stages of the route to which sampled stacks belong.

use weir_profile::Stack;

/// The stages with the functions that mark them. A stack belongs to the first stage that has a
/// function in it, because a stage calls others: the gateway runs on the connections of a server.
const STAGES: [(&str, &[&str]); 10] = [
    ("admin", &["weir_inside::"]),
    // Release builds inline `take_turn`, but not the functions that it calls.
    (
        "append",
        &[
            "worker::Worker::take_turn",
            "block_parser::BlockParser::resolve",
            "block_parser::BlockParser::seal",
            "data_set::DataSet::append",
        ],
    ),
    ("read", &["PullSource", "weir_ingest::source::"]),
    ("queue", &["block_queue::BlockQueue::", "data_set::DataSet::wait_for_room"]),
    ("parse", &["worker::Worker::", "block_parser::BlockParser::"]),
    ("view", &["weir_query::", "weir_server::live::views::", "weir_server::turns::"]),
    ("listener", &["weir_feed::"]),
    ("source", &["weir_ingest::writer::", "weir_server::upload::", "weir_server::file::"]),
    ("gateway", &["weir_gateway::"]),
    ("server", &["weir_server::", "weir_net::"]),
];

/// The stage of all other stacks.
const OTHER: &str = "other";

/// Returns the stage of a stack.
pub(crate) fn stage_of(stack: &Stack) -> &'static str {
    let functions: Vec<String> = stack.functions.iter().map(|name| plain(name)).collect();
    let has =
        |marks: &[&str]| functions.iter().any(|name| marks.iter().any(|it| name.contains(it)));
    STAGES.iter().find(|(_, marks)| has(marks)).map_or(OTHER, |(stage, _)| stage)
}

/// Removes the angle brackets of `<Type>::method`, which only some symbols have.
fn plain(name: &str) -> String {
    name.replace(['<', '>'], "")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_profile::Stack;

    use super::stage_of;

    #[test]
    fn a_stack_belongs_to_the_first_stage_with_a_function_in_it() {
        for (functions, stage) in [
            (&["main", "weir_ingest::pipeline::worker::Worker::run", "weir_core::x"][..], "parse"),
            (
                &[
                    "<weir_ingest::pipeline::worker::Worker>::run::<()>",
                    "<weir_ingest::pipeline::worker::Worker>::take_turn::<()>",
                    "<weir_core::read::BlockReader>::resolve",
                ],
                "append",
            ),
            (
                &[
                    "<weir_ingest::pipeline::worker::Worker>::run::<()>",
                    "<weir_ingest::queue::block_queue::BlockQueue>::next_task",
                    "futex_wait",
                ],
                "queue",
            ),
            (
                &[
                    "<weir_ingest::pipeline::worker::Worker>::pull",
                    "<weir_ingest::writer::pull::Puller as weir_ingest::queue::job::PullSource>::pull",
                ],
                "read",
            ),
            (
                &["weir_net::serve::run", "weir_gateway::answer::answer", "weir_net::body"],
                "gateway",
            ),
            (&["weir_net::serve::run", "weir_server::routes::answer"], "server"),
            (&["weir_server::turns::start", "weir_query::report", "weir_core::fold"], "view"),
            (&["weir_server::upload::put::read", "weir_ingest::writer::flush"], "source"),
            (&["main", "epoll_wait"], "other"),
        ] {
            let functions = functions.iter().map(|name| Arc::from(*name)).collect();
            let stack = Stack { thread: "a".to_owned(), functions, samples: 1 };
            assert_eq!(stage_of(&stack), stage, "{stack:?}");
        }
    }
}
