//! Reads agents, one a line, from the standard input, and prints what each says. Times go to standard
//! error.

use std::io::{self, BufRead, BufWriter, Write};
use std::time::Instant;

use weir_agents::{AgentField, AgentLists};

const FIELDS: [&str; 5] = ["agent", "system", "device", "crawler", "crawler_kind"];

fn main() -> io::Result<()> {
    let start = Instant::now();
    let lists = AgentLists::embedded();
    eprintln!("lists: {:?}", start.elapsed());
    let agents: Vec<Vec<u8>> = io::stdin().lock().split(b'\n').collect::<Result<_, _>>()?;
    for name in FIELDS {
        let field = AgentField::by_name(name).unwrap_or(AgentField::Agent);
        let start = Instant::now();
        let mut value = Vec::new();
        for agent in &agents {
            value.clear();
            lists.append(field, agent, &mut value);
        }
        eprintln!("{name} of {} agents: {:?}", agents.len(), start.elapsed());
    }
    let mut output = BufWriter::new(io::stdout().lock());
    for agent in &agents {
        output.write_all(agent)?;
        for name in FIELDS {
            let mut value = Vec::new();
            let field = AgentField::by_name(name).unwrap_or(AgentField::Agent);
            lists.append(field, agent, &mut value);
            output.write_all(b"\t")?;
            output.write_all(&value)?;
        }
        output.write_all(b"\n")?;
    }
    Ok(())
}
