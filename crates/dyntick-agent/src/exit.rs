// SPDX-License-Identifier: GPL-2.0-only
//! The end of the agent's machine.

use dyntick_guest::names::{EXIT_PORT, EXIT_VALUE};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// The way out: a thread that has the right to use ports since before anything could take it, and sleeps.
pub struct Exit(Option<Sender<()>>);

impl Exit {
    /// Takes the right to use ports. Once the kernel is locked down, as by a script in the guest, it gives none
    /// (`arch/x86/kernel/ioport.c: SYSCALL_DEFINE1(iopl)`). A thread of its own has it, for what has it pays at each of
    /// its context switches, and passes it on to its children.
    pub fn prepare() -> Self {
        let (leave, told) = channel();
        let (say, said) = channel();
        let wait = move || {
            // SAFETY: PID 1 of a guest may use any port.
            let may = unsafe { libc::iopl(3) } == 0;
            let _ = say.send(may);
            if may && told.recv().is_ok() {
                // SAFETY: this port belongs to the debug-exit device.
                unsafe { std::arch::asm!("out dx, al", in("dx") EXIT_PORT, in("al") EXIT_VALUE) };
            }
        };
        let started = thread::Builder::new().name("exit".to_owned()).spawn(wait).is_ok();
        Self((started && said.recv() == Ok(true)).then_some(leave))
    }

    /// Ends the machine at once, without the kernel's orderly (and slow) power-off.
    pub fn leave(self) -> ! {
        // What was said on the console must have left the serial port before the machine is gone.
        let _ = rustix::termios::tcdrain(rustix::stdio::stderr());
        if self.0.is_some_and(|leave| leave.send(()).is_ok()) {
            // The machine ends a little later, at a moment that the host chooses: nothing may be said until then.
            thread::sleep(Duration::from_secs(10));
        }
        // Only where there is no such device: let the kernel end the machine.
        let _ = rustix::system::reboot(rustix::system::RebootCommand::Restart);
        std::process::exit(1)
    }
}
