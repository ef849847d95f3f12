//! OAuth for servers on the network: a login by the user, and the tokens it gives.
//!
//! Invariants: a token is sent to the server it was given for and to that server's token and revocation endpoints,
//! nowhere else.
//! No redirect is followed. Endpoints use https; plain http is accepted on loopback, and only for a server that is
//! itself on loopback. A run never logs in: without a valid token it says what the user has to do.

mod bearer;
mod callback;
mod challenge;
mod error;
mod grant;
mod login;
mod logins;
mod metadata;
mod reach;
mod revocation;

pub(super) use self::{
    bearer::{AccessProblem, Bearer},
    challenge::Challenge,
};
pub use self::{
    error::LoginError,
    login::{Begun, LoginWish, begin},
    logins::{Login, Logins},
    revocation::{Revocation, log_out},
};
