//! What the runtime promises, tested through its public face, in one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acting;
mod changes;
mod credentials;
mod delegation;
mod discovery;
mod executor;
mod handles;
mod instances;
#[cfg(test)]
mod mail;
mod main_agent;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod public_face;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod scenarios;
mod standstill;
mod store;
#[cfg(test)]
mod tools;
mod transcripts;
mod trust;
mod watch;
