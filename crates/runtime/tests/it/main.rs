//! What the runtime promises, tested through its public face.

#[cfg(test)]
mod tools;
