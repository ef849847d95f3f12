//! Paying for a request: before it is sent, its run takes what it needs from the budget of its tree.

use attache_kernel::run::limits::TreeAllowance;

use super::{Driver, Interruption};
use crate::{store::StoreError, tasks::Funding};

/// What became of the wish to send a request.
enum Wish {
    Granted,
    Denied(TreeAllowance),
    Interrupted(Interruption),
}

impl Driver {
    /// Waits until the tree pays for the next request. If it never will, the run is told, and no request
    /// is to be sent.
    pub(super) async fn is_paid_for(&mut self) -> Result<bool, StoreError> {
        match self.wish().await {
            Wish::Granted => Ok(true),
            Wish::Denied(left) => {
                self.feed(|run, now| run.tree_budget_spent(left, now)).await?;
                Ok(false)
            }
            Wish::Interrupted(interruption) => {
                self.interrupted(interruption).await?;
                Ok(false)
            }
        }
    }

    async fn wish(&mut self) -> Wish {
        let expected = self.run.expected();
        let funding = if let Some(funding) = self.share.fund_at_once(expected) {
            funding
        } else {
            tokio::select! {
                biased;
                interruption = self.interruption() => return Wish::Interrupted(interruption),
                funding = self.share.fund(expected) => funding,
            }
        };
        match funding {
            Funding::Paid => Wish::Granted,
            Funding::Short(left) => Wish::Denied(left),
        }
    }
}
