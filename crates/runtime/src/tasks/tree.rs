//! The budget of a tree: what a session's agents may use together, and have used.
//!
//! A run takes what its next request is expected to use, and a last chance with it, before the request is
//! sent. What the last chance needs stays its own until the run ends, so that it can always hand in what it
//! has. Invariant: what was used and what runs hold never exceed the limits, by what is expected; so the
//! tree exceeds them by at most what answers were longer than expected, however many run side by side.
//!
//! A run that does not get enough waits while requests of others are under way, for each of them may give
//! something back. If none is, waiting gains nothing: the run gets what is left for its last chance.

use std::{
    collections::BTreeMap,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use attache_kernel::{
    id::RunId,
    run::{Expected, Spent, limits::TreeAllowance},
};
use tokio::sync::Notify;

/// What the agents of a tree may use together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TreeLimits {
    /// Maximum number of tokens; `None` means no limit.
    pub max_tokens: Option<u64>,
    /// Maximum cost in US dollars; `None` means no limit.
    pub max_cost_usd: Option<f64>,
}

/// What a tree may use, and has used. Its runs share one.
#[derive(Debug, Default)]
pub(crate) struct TreeBudget {
    limits: TreeLimits,
    ledger: Mutex<Ledger>,
    /// Something was given back.
    freed: Notify,
    /// Where it is kept, if another process owns the tree. What is used here is what that one told.
    purse: Option<Arc<dyn Purse>>,
}

/// The budget of a tree that another process owns, as the runs of this process draw on it.
pub(crate) trait Purse: fmt::Debug + Send + Sync {
    /// Waits until a request of that run is paid for, or never will be. Dropping the future gives it up.
    fn fund(&self, run: &RunId, expected: Expected) -> FundingFuture<'_>;
    /// The run has used that much.
    fn spend(&self, run: &RunId, used: Spent);
    /// The request is over; see [`TreeShare::settle`].
    fn settle(&self, run: &RunId, request: Spent);
    /// The run has ended.
    fn close(&self, run: &RunId);
}

/// A wish to send a request, until it is granted or denied.
pub(crate) type FundingFuture<'a> = Pin<Box<dyn Future<Output = Funding> + Send + 'a>>;

#[derive(Debug, Default)]
struct Ledger {
    used: Spent,
    /// What each run holds.
    holds: BTreeMap<u64, Hold>,
    next_share: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Hold {
    amount: Spent,
    is_under_way: bool,
}

/// What became of the wish to send a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Funding {
    /// It is paid for: send it.
    Paid,
    /// There is no more than this for the run.
    Short(TreeAllowance),
}

impl TreeBudget {
    /// The budget of a tree, of which these tokens and this cost were used before.
    pub(crate) fn new(limits: TreeLimits, tokens: u64, cost_usd: f64) -> Self {
        let ledger = Ledger { used: Spent { tokens, cost_usd }, ..Ledger::default() };
        Self { limits, ledger: Mutex::new(ledger), freed: Notify::new(), purse: None }
    }

    /// A budget of which that much is left, and which another process keeps.
    pub(crate) fn kept_by(purse: Arc<dyn Purse>, left: TreeAllowance) -> Self {
        let limits = TreeLimits { max_tokens: left.tokens, max_cost_usd: left.cost_usd };
        Self { limits, purse: Some(purse), ..Self::default() }
    }

    /// Sets what is left of it, as counted by the process that owns the whole tree.
    pub(crate) fn leave(&self, left: TreeAllowance) {
        let mut ledger = self.ledger();
        if let (Some(most), Some(left)) = (self.limits.max_tokens, left.tokens) {
            ledger.used.tokens = most.saturating_sub(left);
        }
        if let (Some(most), Some(left)) = (self.limits.max_cost_usd, left.cost_usd) {
            ledger.used.cost_usd = most - left;
        }
    }

    /// What has not been used of it.
    pub(crate) fn left(&self) -> TreeLimits {
        let left = self.beyond(self.ledger().used);
        TreeLimits { max_tokens: left.tokens, max_cost_usd: left.cost_usd }
    }

    /// The part of that run in it.
    pub(crate) fn share(self: Arc<Self>, run: RunId) -> TreeShare {
        let mut ledger = self.ledger();
        let id = ledger.next_share;
        ledger.next_share += 1;
        drop(ledger);
        TreeShare { budget: self, id, run }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_unlimited(&self) -> bool {
        self.limits == TreeLimits::default()
    }

    /// What the limits leave beside that.
    fn beyond(&self, taken: Spent) -> TreeAllowance {
        TreeAllowance {
            tokens: self.limits.max_tokens.map(|most| most.saturating_sub(taken.tokens)),
            cost_usd: self.limits.max_cost_usd.map(|most| (most - taken.cost_usd).max(0.0)),
        }
    }
}

/// The part of one run in the budget of its tree. What it holds goes back when it is dropped.
#[derive(Debug)]
pub(crate) struct TreeShare {
    budget: Arc<TreeBudget>,
    id: u64,
    run: RunId,
}

impl TreeShare {
    /// What becomes of a request, if that is known at once.
    pub(crate) fn fund_at_once(&self, expected: Expected) -> Option<Funding> {
        if self.budget.is_unlimited() {
            return Some(Funding::Paid);
        }
        if self.budget.purse.is_some() { None } else { self.take(expected) }
    }

    /// Waits until a request is paid for, or never will be.
    pub(crate) async fn fund(&self, expected: Expected) -> Funding {
        if let Some(purse) = &self.budget.purse {
            return purse.fund(&self.run, expected).await;
        }
        loop {
            // Made before looking, so that nothing given back meanwhile is missed.
            let freed = self.budget.freed.notified();
            match self.take(expected) {
                Some(funding) => return funding,
                None => freed.await,
            }
        }
    }

    /// Takes what a request needs, if it is there; `None` if others may give something back.
    fn take(&self, expected: Expected) -> Option<Funding> {
        let mut ledger = self.budget.ledger();
        let others = ledger.holds.iter().filter(|(id, _)| **id != self.id).map(|(_, hold)| hold);
        let taken = others.clone().fold(ledger.used, |sum, hold| plus(sum, hold.amount));
        let others_under_way = others.clone().any(|hold| hold.is_under_way);
        let left = self.budget.beyond(taken);
        let needed = times(expected.request, expected.requests);
        let (amount, funding) = if pays(left, needed) {
            (needed, Funding::Paid)
        } else if others_under_way {
            return None;
        } else {
            (within(left, expected.request), Funding::Short(left))
        };
        ledger.holds.insert(self.id, Hold { amount, is_under_way: funding == Funding::Paid });
        Some(funding)
    }

    /// The run has used so much.
    pub(crate) fn spend(&self, used: Spent) {
        if self.budget.is_unlimited() || used == Spent::default() {
            return;
        }
        if let Some(purse) = &self.budget.purse {
            return purse.spend(&self.run, used);
        }
        let mut ledger = self.budget.ledger();
        ledger.used = plus(ledger.used, used);
        if let Some(hold) = ledger.holds.get_mut(&self.id) {
            hold.amount = minus(hold.amount, used);
        }
    }

    /// The request is over. The run keeps what one more of that size needs.
    pub(crate) fn settle(&self, request: Spent) {
        if self.budget.is_unlimited() {
            return;
        }
        if let Some(purse) = &self.budget.purse {
            return purse.settle(&self.run, request);
        }
        if let Some(hold) = self.budget.ledger().holds.get_mut(&self.id) {
            hold.is_under_way = false;
            hold.amount.tokens = hold.amount.tokens.min(request.tokens);
            hold.amount.cost_usd = hold.amount.cost_usd.min(request.cost_usd);
        }
        self.budget.freed.notify_waiters();
    }
}

impl Drop for TreeShare {
    fn drop(&mut self) {
        if let Some(purse) = self.budget.purse.as_ref().filter(|_| !self.budget.is_unlimited()) {
            return purse.close(&self.run);
        }
        self.budget.ledger().holds.remove(&self.id);
        self.budget.freed.notify_waiters();
    }
}

fn plus(one: Spent, other: Spent) -> Spent {
    let tokens = one.tokens.saturating_add(other.tokens);
    Spent { tokens, cost_usd: one.cost_usd + other.cost_usd }
}

fn minus(one: Spent, other: Spent) -> Spent {
    let tokens = one.tokens.saturating_sub(other.tokens);
    Spent { tokens, cost_usd: (one.cost_usd - other.cost_usd).max(0.0) }
}

fn times(one: Spent, requests: u64) -> Spent {
    (1..requests).fold(one, |sum, _| plus(sum, one))
}

fn pays(left: TreeAllowance, needed: Spent) -> bool {
    left.tokens.is_none_or(|left| needed.tokens <= left)
        && left.cost_usd.is_none_or(|left| needed.cost_usd <= left)
}

/// As much of it as is left.
fn within(left: TreeAllowance, wanted: Spent) -> Spent {
    Spent {
        tokens: left.tokens.map_or(wanted.tokens, |left| left.min(wanted.tokens)),
        cost_usd: left.cost_usd.map_or(wanted.cost_usd, |left| left.min(wanted.cost_usd)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAID: Option<Funding> = Some(Funding::Paid);

    /// The shares of two runs.
    fn shares(budget: &Arc<TreeBudget>) -> (TreeShare, TreeShare) {
        let share = |run: &str| Arc::clone(budget).share(RunId::new(run));
        (share("one"), share("other"))
    }

    fn budget(max_tokens: u64) -> Arc<TreeBudget> {
        let limits = TreeLimits { max_tokens: Some(max_tokens), max_cost_usd: None };
        Arc::new(TreeBudget::new(limits, 0, 0.0))
    }

    fn tokens(tokens: u64) -> Spent {
        Spent { tokens, cost_usd: 0.0 }
    }

    fn turn(request: u64) -> Expected {
        Expected { request: tokens(request), requests: 2 }
    }

    fn last_chance(request: u64) -> Expected {
        Expected { request: tokens(request), requests: 1 }
    }

    fn short(left: u64) -> Funding {
        Funding::Short(TreeAllowance { tokens: Some(left), cost_usd: None })
    }

    #[test]
    fn a_request_waits_for_those_of_others_and_gets_what_they_give_back() {
        let budget = budget(1000);
        let (one, other) = shares(&budget);
        assert_eq!(one.take(turn(300)), PAID);
        assert_eq!(other.take(turn(300)), None);
        one.spend(tokens(100));
        assert_eq!(other.take(turn(300)), None, "the last chance is still held");
        one.settle(tokens(120));
        assert_eq!(other.take(turn(300)), PAID);
        assert_eq!(budget.left().max_tokens, Some(900));
    }

    #[test]
    fn a_last_chance_is_never_taken_away_by_others() {
        let budget = budget(1000);
        let (one, other) = shares(&budget);
        assert_eq!(one.take(turn(300)), PAID);
        one.spend(tokens(300));
        one.settle(tokens(300));
        assert_eq!(other.take(turn(300)), Some(short(400)));
        assert_eq!(other.take(last_chance(350)), PAID);
        assert_eq!(one.take(turn(300)), None);
        other.spend(tokens(350));
        drop(other);
        assert_eq!(one.take(turn(300)), Some(short(350)));
        assert_eq!(one.take(last_chance(350)), PAID);
    }

    #[test]
    fn a_run_that_is_dropped_holds_nothing() {
        let budget = budget(1000);
        let (one, other) = shares(&budget);
        assert_eq!(one.take(turn(500)), PAID);
        assert_eq!(other.take(turn(500)), None);
        drop(one);
        assert_eq!(other.take(turn(500)), PAID);
    }

    #[test]
    fn money_counts_like_tokens() {
        let limits = TreeLimits { max_tokens: None, max_cost_usd: Some(1.0) };
        let budget = Arc::new(TreeBudget::new(limits, 0, 0.25));
        let (one, other) = shares(&budget);
        let turn = Expected { request: Spent { tokens: 9, cost_usd: 0.25 }, requests: 2 };
        assert_eq!(one.take(turn), PAID);
        one.spend(Spent { tokens: 9, cost_usd: 0.25 });
        one.settle(turn.request);
        let left = TreeAllowance { tokens: None, cost_usd: Some(0.25) };
        assert_eq!(other.take(turn), Some(Funding::Short(left)));
    }
}
