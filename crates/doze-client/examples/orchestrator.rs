//! A small orchestrator: three scripted agents build three pages of a shop. Killed in the middle and started again it
//! asks what every agent was doing, and each goes on where it was.
//!
//! `cargo run -p doze-client --example orchestrator -- FOLDER [STEPS]`: with STEPS it stops after so many steps of all agents
//! together and waits to be killed.

use std::error::Error;
use std::time::{Duration, Instant};

use doze_client::{Client, Paths};
use serde_json::{Value, json};

/// What an agent does, step by step.
const STEPS: [&str; 3] = ["write the page", "write its tests", "run them"];
const AGENTS: [(&str, &str); 3] = [("alex", "cart"), ("sam", "checkout"), ("kim", "search")];

struct Office {
    client: Client,
    cwd: String,
}

/// An agent at its task.
struct Agent {
    name: &'static str,
    page: &'static str,
    session: String,
    done: usize,
}

impl Office {
    fn call(&mut self, method: &str, mut params: Value) -> Result<Value, Box<dyn Error>> {
        params["cwd"] = json!(self.cwd);
        Ok(self.client.call(method, params, Instant::now() + Duration::from_secs(10))?)
    }

    /// The agent as its last state tells; a new one with what it should know before its task.
    fn agent(&mut self, name: &'static str, page: &'static str) -> Result<Agent, Box<dyn Error>> {
        let found = self.call("recall.recover", json!({"agent": name}))?;
        let Some(next) = found["work"]["next_steps"][0].as_str() else {
            let context = self.call("recall.context", json!({"agent": name}))?;
            println!("{name} begins, knowing {} facts", context["facts"].as_array().map_or(0, Vec::len));
            let session = format!("{name}-{}", std::process::id());
            return Ok(Agent { name, page, session, done: 0 });
        };
        println!("{name} goes on: {next}");
        println!("{}", found["text"].as_str().unwrap_or_default());
        let done = STEPS.iter().position(|step| *step == next).unwrap_or_default();
        let session = found["session"].as_str().unwrap_or(name).to_owned();
        Ok(Agent { name, page, session, done })
    }

    /// Tells how far an agent is, which is cheap enough for every step.
    fn note(&mut self, agent: &Agent) -> Result<(), Box<dyn Error>> {
        self.call(
            "work.set",
            json!({
                "agent": agent.name,
                "session": agent.session,
                "task_id": agent.page,
                "task_prompt": format!("Build the {} page", agent.page),
                "next_steps": &STEPS[agent.done..],
                "touch": [format!("src/{}.tsx", agent.page)],
            }),
        )?;
        Ok(())
    }

    /// Ends an agent's task: what it did is kept, and its state is cleared in the same step.
    fn commit(&mut self, agent: &Agent) -> Result<(), Box<dyn Error>> {
        let output =
            format!("Important: every page needs a test of its own.\nSUMMARY: built the {} page", agent.page);
        let done = self.call(
            "session.commit",
            json!({
                "agent": agent.name,
                "session": agent.session,
                "output": output,
                "changed_files": [format!("src/{}.tsx", agent.page)],
                "tokens": {"input": 4_500, "output": 1_200},
            }),
        )?;
        println!("{} is done: {}", agent.name, done["summary"]["what"].as_str().unwrap_or_default());
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let cwd = arguments.next().ok_or("usage: orchestrator FOLDER [STEPS]")?;
    let mut steps: Option<u32> = arguments.next().map(|steps| steps.parse()).transpose()?;
    let deadline = Instant::now() + Duration::from_secs(10);
    let client = Client::connect(&Paths::discover()?, "orchestrator/1", deadline)?;
    let mut office = Office { client, cwd };

    let open = office.call("work.list", json!({}))?;
    println!("{} agents were at work", open["items"].as_array().map_or(0, Vec::len));
    let mut agents = Vec::new();
    for (name, page) in AGENTS {
        let agent = office.agent(name, page)?;
        office.note(&agent)?;
        agents.push(agent);
    }
    // One step of each in turn, as if they worked side by side.
    while agents.iter().any(|agent| agent.done < STEPS.len()) {
        for agent in agents.iter_mut().filter(|agent| agent.done < STEPS.len()) {
            if steps == Some(0) {
                println!("waiting to be killed");
                loop {
                    std::thread::park();
                }
            }
            println!("{}: {}", agent.name, STEPS[agent.done]);
            agent.done += 1;
            steps = steps.map(|left| left - 1);
            if agent.done == STEPS.len() {
                office.commit(agent)?;
            } else {
                office.note(agent)?;
            }
        }
    }
    let roster = office.call("recall.roster", json!({}))?;
    println!("{}", roster["text"].as_str().unwrap_or_default());
    Ok(())
}
