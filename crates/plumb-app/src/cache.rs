//! The response cache: answers that are the same for everybody, given without a work process.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;

use crate::answer::Answer;

/// An answer that is kept.
#[derive(Debug)]
pub(crate) struct Cached {
    pub(crate) body: Bytes,
    pub(crate) content_type: HeaderValue,
    pub(crate) tag: HeaderValue,
    bytes: usize,
    used: AtomicU64,
}

/// Answers by their path.
#[derive(Debug)]
pub(crate) struct Cache {
    size: usize,
    kept: RwLock<Kept>,
    uses: AtomicU64,
    hits: AtomicU64,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<String, Arc<Cached>>,
    bytes: usize,
    bytes_max: usize,
    fills: u64,
    evictions: u64,
}

/// What the cache holds and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CacheFigures {
    /// Bytes it may hold.
    pub(crate) size: usize,
    /// Bytes it holds.
    pub(crate) used: usize,
    /// The most bytes it has held.
    pub(crate) used_max: usize,
    /// Answers it holds.
    pub(crate) answers: usize,
    /// Answers given from it.
    pub(crate) hits: u64,
    /// Answers that a work process had to give first.
    pub(crate) misses: u64,
    /// Answers that had to leave for others.
    pub(crate) evictions: u64,
}

impl Cache {
    /// An empty cache of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        let (uses, hits) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { size, kept: RwLock::default(), uses, hits, hasher: RandomState::new() }
    }

    /// The answer kept for `path`.
    pub(crate) fn find(&self, path: &str) -> Option<Arc<Cached>> {
        let found = Arc::clone(self.read().answers.get(path)?);
        found.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    /// Keeps `answer` for `path`, and lets others go where it needs their room.
    pub(crate) fn keep(&self, path: String, answer: &Answer) {
        let content_type = answer.headers.iter().find(|(name, _)| *name == CONTENT_TYPE);
        let Some((_, content_type)) = content_type else { return };
        let tag = format!("\"{:016x}\"", self.hasher.hash_one(&answer.body));
        let Ok(tag) = HeaderValue::from_str(&tag) else { return };
        let bytes = answer.body.len() + path.len() + size_of::<Cached>();
        let mut kept = self.write();
        kept.fills += 1;
        if bytes > self.size {
            return;
        }
        kept.remove(&path);
        while kept.bytes + bytes > self.size {
            let oldest =
                kept.answers.iter().min_by_key(|(_, kept)| kept.used.load(Ordering::Relaxed));
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else { break };
            kept.remove(&oldest);
            kept.evictions += 1;
        }
        let used = AtomicU64::new(self.uses.fetch_add(1, Ordering::Relaxed));
        let (body, content_type) = (answer.body.clone(), content_type.clone());
        kept.answers.insert(path, Arc::new(Cached { body, content_type, tag, bytes, used }));
        kept.bytes += bytes;
        kept.bytes_max = kept.bytes_max.max(kept.bytes);
    }

    pub(crate) fn figures(&self) -> CacheFigures {
        let kept = self.read();
        CacheFigures {
            size: self.size,
            used: kept.bytes,
            used_max: kept.bytes_max,
            answers: kept.answers.len(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: kept.fills,
            evictions: kept.evictions,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, path: &str) {
        if let Some(gone) = self.answers.remove(path) {
            self.bytes -= gone.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: usize) -> Answer {
        Answer::new("image/gif", vec![1; bytes])
    }

    #[test]
    fn what_is_kept_is_found_and_counted() {
        let cache = Cache::new(10_000);
        assert!(cache.find("/a").is_none());
        cache.keep("/a".into(), &answer(100));
        let found = cache.find("/a").unwrap();
        assert_eq!((found.body.len(), found.content_type.to_str().unwrap()), (100, "image/gif"));
        let figures = cache.figures();
        assert_eq!((figures.hits, figures.misses, figures.answers), (1, 1, 1));
    }

    #[test]
    fn the_answer_unused_for_longest_makes_room() {
        let cache = Cache::new(3_000);
        for path in ["/a", "/b"] {
            cache.keep(path.into(), &answer(1_000));
        }
        cache.find("/a").unwrap();
        cache.keep("/c".into(), &answer(1_000));
        assert!(cache.find("/b").is_none() && cache.find("/a").is_some());
        cache.keep("/huge".into(), &answer(10_000));
        assert!(cache.find("/huge").is_none());
        let figures = cache.figures();
        assert_eq!((figures.evictions, figures.answers), (1, 2));
        assert!(figures.used <= figures.size && figures.used_max <= figures.size);
    }
}
