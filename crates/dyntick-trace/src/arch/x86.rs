// SPDX-License-Identifier: GPL-2.0-only
//! The events of x86's interrupt vectors, `irq_vectors:NAME_entry` and `irq_vectors:NAME_exit`
//! (arch/x86/include/asm/trace/irq_vectors.h; the same in 6.1 to 7.2). They carry nothing that their names do not show.

use dyntick_model::{EventKind, Interrupt};

/// A vector: the name of its events, and the source of its interrupts.
struct Vector {
    name: &'static str,
    source: Interrupt,
}

const fn vector(name: &'static str, source: Interrupt) -> Vector {
    Vector { name, source }
}

static VECTORS: [Vector; 11] = [
    vector("local_timer", Interrupt::Timer),
    vector("reschedule", Interrupt::Reschedule),
    vector("call_function", Interrupt::FunctionCall),
    vector("call_function_single", Interrupt::FunctionCallSingle),
    vector("irq_work", Interrupt::IrqWork),
    vector("thermal_apic", Interrupt::Thermal),
    vector("threshold_apic", Interrupt::Threshold),
    vector("deferred_error_apic", Interrupt::DeferredError),
    vector("error_apic", Interrupt::Controller),
    vector("spurious_apic", Interrupt::Spurious),
    vector("x86_platform_ipi", Interrupt::Platform),
];

/// The events of all vectors.
pub(crate) fn events() -> impl Iterator<Item = String> {
    VECTORS.iter().flat_map(Vector::events)
}

/// The events of one source: begin and end. [`Interrupt::Other`] has none.
pub(crate) fn events_of(source: Interrupt) -> impl Iterator<Item = String> {
    VECTORS.iter().filter(move |vector| vector.source == source).flat_map(Vector::events)
}

/// The meaning of an event. A vector that is not in the table is [`Interrupt::Other`].
pub(crate) fn kind_of(event: &str) -> Option<EventKind> {
    let name = event.strip_prefix("irq_vectors:")?;
    if let Some(vector) = name.strip_suffix("_entry") {
        return Some(EventKind::InterruptEntry { source: source_of(vector) });
    }
    let vector = name.strip_suffix("_exit")?;
    Some(EventKind::InterruptExit { source: source_of(vector) })
}

impl Vector {
    fn events(&self) -> [String; 2] {
        ["entry", "exit"].map(|end| format!("irq_vectors:{}_{end}", self.name))
    }
}

fn source_of(name: &str) -> Interrupt {
    VECTORS.iter().find(|vector| vector.name == name).map_or(Interrupt::Other, |vector| vector.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vector_has_a_source_and_each_source_its_vector() {
        for Vector { name, source } in &VECTORS {
            let events: Vec<String> = events_of(*source).collect();
            assert_eq!(events, [format!("irq_vectors:{name}_entry"), format!("irq_vectors:{name}_exit")]);
            assert_eq!(kind_of(&events[0]), Some(EventKind::InterruptEntry { source: *source }));
            assert_eq!(kind_of(&events[1]), Some(EventKind::InterruptExit { source: *source }));
        }
        let without: Vec<Interrupt> =
            Interrupt::ALL.into_iter().filter(|source| events_of(*source).count() == 0).collect();
        assert_eq!(without, [Interrupt::Other]);
    }

    #[test]
    fn unknown_vectors_are_other_interrupts() {
        let entry = kind_of("irq_vectors:posted_msi_entry");
        assert_eq!(entry, Some(EventKind::InterruptEntry { source: Interrupt::Other }));
        assert_eq!(kind_of("irq:irq_handler_entry"), None);
        assert_eq!(kind_of("irq_vectors:vector_alloc"), None);
    }
}
