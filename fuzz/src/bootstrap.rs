//! What launcher and ranks tell each other at the start: control frames, a host's plan, and the variables of an invitation.

use pmi::{HostPlan, Invitation, Message, Observation};

/// The launcher reads what a rank's socket delivers, in pieces of any length.
pub fn frames(bytes: &[u8]) {
    let mut pending = Vec::new();
    for piece in bytes.chunks(1 + usize::from(bytes.first().copied().unwrap_or(0) % 32)) {
        pending.extend_from_slice(piece);
        loop {
            match Message::decode(&pending) {
                Ok(Some((message, taken))) => {
                    assert!(taken > 0 && taken <= pending.len(), "{message:?} took {taken} bytes");
                    assert_eq!(message.encode(), &pending[..taken], "what is accepted is what is written");
                    pending.drain(..taken);
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    return;
                }
            }
        }
        // Nobody may make the launcher keep more than a frame.
        assert!(pending.len() < 8192, "{} bytes wait for a frame to be complete", pending.len());
    }
}

pub fn frame_seeds() -> Vec<Vec<u8>> {
    let life = [
        Message::Hello { version: 2, rank: 3, pid: 4711 },
        Message::Abort { rank: 3, code: 7, message: "no luck".into() },
        Message::Finalized { rank: 3 },
        Message::Exited { rank: 3, status: -1 },
        Message::Request {
            rank: 3,
            pid: 4711,
            reply: 9,
            request: pmi::Request::Spawn(vec![pmi::Program {
                command: "a".into(),
                ranks: 2,
                ..Default::default()
            }]),
        },
    ];
    let mut seeds: Vec<Vec<u8>> = life.iter().map(Message::encode).collect();
    seeds.push(seeds.concat());
    seeds
}

/// A host reads its plan.
pub fn plan(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match HostPlan::decode(&text) {
        Ok(plan) => {
            for rank in 0..plan.ranks.len().min(1000) as u32 {
                assert!(plan.context_of(rank) < plan.contexts.len());
            }
            assert_eq!(HostPlan::decode(&plan.encode()).as_ref(), Ok(&plan), "a plan survives its text form");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

pub fn plan_seeds() -> Vec<Vec<u8>> {
    let head = "protocol 3\nmode fiber\ncores 2\norder 0 1\nbind core\ncontrol 3\n";
    let program = "program 2 /bin/solve solve -v 10%25\n";
    let ranks = "rank 4 5 6\nrank -1 7 8\n";
    [
        String::new(),
        head.to_string(),
        format!("{head}{program}{ranks}"),
        format!("{head}{program}{program}{ranks}{ranks}"),
    ]
    .map(String::into_bytes)
    .to_vec()
}

/// A rank reads the variables that a launcher has set, `NAME=VALUE` a line.
pub fn invitation(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lookup = |name: &str| {
        text.lines()
            .find_map(|line| line.split_once('=').filter(|(found, _)| *found == name))
            .map(|(_, value)| value.to_string())
    };
    match Invitation::from_env(lookup) {
        Ok(Some(invitation)) => {
            assert!(invitation.rank < invitation.size && invitation.cores > 0);
            let again = invitation.to_env();
            let found =
                |name: &str| again.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            assert_eq!(Invitation::from_env(found), Ok(Some(invitation)));
        }
        Ok(None) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Err(error) = Observation::from_env(lookup) {
        assert!(!error.to_string().is_empty());
    }
}

pub fn invitation_seeds() -> Vec<Vec<u8>> {
    let invitation = Invitation {
        rank: 1,
        size: 4,
        segment_fd: 3,
        control_fd: 4,
        cores: 2,
        appnum: 0,
        launcher: 1,
        nodes: 12,
        first: 4,
        parent: Some(2),
    };
    let invitation = invitation.to_env();
    let lines: Vec<String> = invitation.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    vec![lines.concat().into_bytes(), Vec::new()]
}
