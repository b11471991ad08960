// SPDX-License-Identifier: GPL-2.0-only
//! The kernels of cases: each is found, fetched or built once, and stays in the cache while it is in use.

use super::Lab;
use dyntick_kernels::build::{Accept, BuildError};
use dyntick_kernels::cache::CacheError;
use dyntick_kernels::cache::unused::InUse;
use dyntick_kernels::find::{self, Kernel, KernelError};
use dyntick_model::Recipe;
use std::collections::BTreeMap;
use std::sync::MutexGuard;

/// The kernels by their name and recipe in a study, each with the reason if it could not be built: each of its cases
/// would try again.
pub type KnownKernels = BTreeMap<(String, Option<Recipe>), Result<Kernel, String>>;

impl Lab<'_> {
    fn known_kernels(&self) -> MutexGuard<'_, KnownKernels> {
        self.kernels.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A kernel that stays in the cache until the last [`InUse`] is dropped.
    pub(super) fn kernel_in_use(
        &self,
        name: &str,
        recipe: Option<&Recipe>,
        accept: Accept<'_>,
    ) -> Result<(Kernel, Vec<InUse>), KernelError> {
        let kernel = self.kernel(name, recipe, accept)?;
        if let Some(in_use) = hold(&kernel) {
            return Ok((kernel, in_use));
        }
        // It was removed since it was found, to make room for other kernels.
        self.known_kernels().remove(&(name.to_owned(), recipe.cloned()));
        let kernel = self.kernel(name, recipe, accept)?;
        let in_use = hold(&kernel).ok_or(CacheError::Unsteady(kernel.image.clone()))?;
        Ok((kernel, in_use))
    }

    /// The kernel of this name, fetched or built if it is not in the cache.
    pub(super) fn kernel(
        &self,
        name: &str,
        recipe: Option<&Recipe>,
        accept: Accept<'_>,
    ) -> Result<Kernel, KernelError> {
        let mut known = self.known_kernels();
        let question = (name.to_owned(), recipe.cloned());
        if let Some(known) = known.get(&question) {
            return known.clone().map_err(KernelError::FailedBefore);
        }
        let say = |text: &str| self.say(text);
        let _memory = self.memory.for_this_program(find::memory_to_examine(name));
        let kernel = match recipe {
            Some(recipe) => find::made_to_order(name, recipe, &self.cache, &say, accept),
            None => find::resolve(name, &self.cache, &say),
        };
        let result = match &kernel {
            Ok(kernel) => Ok(kernel.clone()),
            Err(KernelError::Build(error @ BuildError::Failed { .. })) => Err(error.to_string()),
            // Any other error may not occur the next time.
            Err(_) => return kernel,
        };
        // A study may have a thousand names for one kernel.
        const MOST_KERNELS: usize = 64;
        if known.len() >= MOST_KERNELS {
            known.clear();
        }
        known.insert(question, result);
        kernel
    }
}

/// Keeps a kernel and its modules in the cache; `None` if one of them was removed meanwhile.
fn hold(kernel: &Kernel) -> Option<Vec<InUse>> {
    let built = kernel.built.iter().map(|built| InUse::of(&built.folder));
    std::iter::once(InUse::hold(&kernel.image)).chain(built).collect()
}
