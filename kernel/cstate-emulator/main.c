// SPDX-License-Identifier: GPL-2.0-only
/*
 * An emulator of idle states: a cpuidle driver whose table is given when it is loaded, and whose
 * states cost their exit latency.
 */
#include "emulator.h"

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <asm/cpufeature.h>
#include <asm/tsc.h>

static char *states;
module_param(states, charp, 0444);
MODULE_PARM_DESC(states, "NAME:LATENCY:RESIDENCY[:OPTION...],... in ns; the first may be POLL");

static char *package;
module_param(package, charp, 0444);
MODULE_PARM_DESC(package, "package states: STATE:LATENCY[,STATE:LATENCY...] in ns, added to STATE's own");

static char *packages;
module_param(packages, charp, 0444);
MODULE_PARM_DESC(packages, "CPUs of each package: LIST[/LIST...]; one package of all where not given");

static char *wait = "spin";
module_param(wait, charp, 0444);
MODULE_PARM_DESC(wait, "how a latency is waited for: 'spin', or 'halt' in QEMU's virtual time");

/* Whether a CPU begins to wake before its timer is due. */
bool em_prewake;
module_param_named(prewake, em_prewake, bool, 0444);
MODULE_PARM_DESC(prewake, "whether a CPU is woken ahead of its timer, by the length of its exit");

static uint records;
module_param(records, uint, 0444);
MODULE_PARM_DESC(records, "sleeps to record on each CPU");

DEFINE_PER_CPU(struct em_cpu, em_cpus);
static DEFINE_PER_CPU(struct cpuidle_device, devices);
static int hotplug_state;

/* Whether latencies are waited for by halting. */
bool em_halts;

/* Without an owner, since a driver in use would otherwise keep the module from being removed. */
static struct cpuidle_driver driver = { .name = "cstate_emulator" };

#define NS_SHIFT 22

u64 em_cycles(u64 ns)
{
	return mul_u64_u32_div(ns, tsc_khz, USEC_PER_SEC);
}

static u32 ns_factor;

noinstr u64 em_ns(u64 cycles)
{
	return mul_u64_u32_shr(cycles, ns_factor, NS_SHIFT);
}

static int online(unsigned int cpu)
{
	struct cpuidle_device *device = per_cpu_ptr(&devices, cpu);
	int error;

	device->cpu = cpu;
	em_package_add_cpu(cpu);
	error = cpuidle_register_device(device);
	if (error)
		em_package_remove_cpu(cpu);
	return error;
}

static int offline(unsigned int cpu)
{
	struct cpuidle_device *device = per_cpu_ptr(&devices, cpu);

	if (device->registered)
		cpuidle_unregister_device(device);
	em_package_remove_cpu(cpu);
	return 0;
}

/* What this way of emulating cannot work on. */
static const char *lacks(void)
{
	if (!boot_cpu_has(X86_FEATURE_APIC))
		return "there is no local APIC";
	if (!boot_cpu_has(X86_FEATURE_CONSTANT_TSC) && !tsc_khz)
		return "there is no usable TSC";
	if (boot_cpu_has(X86_FEATURE_XENPV))
		return "Xen PV guests have no interrupt table of their own";
#ifdef X86_FEATURE_FRED
	if (cpu_feature_enabled(X86_FEATURE_FRED))
		return "interrupts come by FRED, not by the interrupt table: boot with fred=off";
#endif
	return NULL;
}

static int __init check(void)
{
	const char *lack = lacks();

	if (lack) {
		pr_err("cannot work here: %s\n", lack);
		return -ENODEV;
	}
	if (strcmp(wait, "spin") && strcmp(wait, "halt")) {
		pr_err("wait: '%s' is neither 'spin' nor 'halt'\n", wait);
		return -EINVAL;
	}
	if (!states) {
		pr_err("states: no table was given\n");
		return -EINVAL;
	}
	em_halts = !strcmp(wait, "halt");
	ns_factor = div_u64((u64)USEC_PER_SEC << NS_SHIFT, tsc_khz);
	return 0;
}

static int __init start(void)
{
	const char *other;
	int error = cpuidle_register_driver(&driver);

	if (error) {
		other = cpuidle_get_driver() ? cpuidle_get_driver()->name : "none (cpuidle.off=1?)";
		pr_err("the kernel refuses a driver for idle states (%d); it has: %s\n", error, other);
		return error;
	}
	error = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "cpuidle/cstate_emulator:online", online, offline);
	if (error < 0) {
		cpuidle_unregister_driver(&driver);
		return error;
	}
	hotplug_state = error;
	return 0;
}

static void release(void)
{
	em_facts_exit();
	em_packages_free();
	em_idt_exit();
}

static int __init em_init(void)
{
	int error = check();

	if (!error)
		error = em_parse_states(&driver, states);
	if (!error)
		error = em_parse_packages(&driver, package, packages);
	if (!error)
		error = em_lapic_init(em_halts);
	if (!error)
		error = em_idt_init();
	em_exit_init();
	if (!error)
		error = em_facts_init(&driver, records);
	if (!error)
		error = start();
	if (error)
		release();
	return error;
}

static void __exit em_exit(void)
{
	cpuhp_remove_state(hotplug_state);
	cpuidle_unregister_driver(&driver);
	release();
}

module_init(em_init);
module_exit(em_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Emulated CPU idle states");
