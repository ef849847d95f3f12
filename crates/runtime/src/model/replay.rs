//! stub
use super::{Chunks, Model, ModelCall, ModelFuture};
#[derive(Debug)]
pub struct ReplayModel;
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct ReplayError;
impl ReplayModel {
    pub fn load(_p: &std::path::Path) -> Result<Self, ReplayError> {
        Ok(Self)
    }
}
impl Model for ReplayModel {
    fn call<'a>(&'a self, _c: ModelCall<'a>, _k: Chunks<'a>) -> ModelFuture<'a> {
        Box::pin(std::future::pending())
    }
}
