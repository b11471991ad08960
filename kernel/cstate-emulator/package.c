// SPDX-License-Identifier: GPL-2.0-only
/*
 * Package states: a package sleeps as deeply as the shallowest of its CPUs allows, and the first
 * that wakes waits until it is awake again. Whoever wakes meanwhile waits for that, too.
 */
#include "emulator.h"

#include <linux/cpumask.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/barrier.h>
#include <asm/cmpxchg.h>
#include <asm/processor.h>

struct em_package {
	unsigned int locked;		/* with interrupts off */
	unsigned int cpus;		/* that are online */
	unsigned int allowing[EM_PACKAGE_LEVELS];	/* CPUs, by the least level */
	unsigned int level;
	u64 asleep;			/* when the last of its CPUs has finished entering */
	u64 since;			/* when it entered its level */
	u64 ready;			/* when it is awake after its last exit */
	u64 entries[EM_PACKAGE_LEVELS];
	u64 cycles[EM_PACKAGE_LEVELS];
};

static struct em_package *packages;
static unsigned int package_count;
static u64 latency[EM_PACKAGE_LEVELS];
static const char *level_name[EM_PACKAGE_LEVELS];

static int refuse(const char *what, const char *entry, const char *why)
{
	pr_err("%s: '%s': %s\n", what, entry, why);
	return -EINVAL;
}

static int find_state(const struct cpuidle_driver *drv, const char *name)
{
	int i;

	for (i = 0; i < drv->state_count; i++)
		if (name && !strcmp(drv->states[i].name, name))
			return i;
	return -1;
}

/* One "STATE:LATENCY": STATE and what is deeper allow this level. */
static int parse_level(const struct cpuidle_driver *drv, unsigned int level, const char *whole, char *rest)
{
	int state = find_state(drv, strsep(&rest, ":"));
	u64 ns;

	if (state < 0 || em_states[state].package >= level || drv->states[state].enter != em_enter)
		return refuse("package", whole, "names no state, or none deeper than the one before");
	if (!rest || kstrtou64(rest, 10, &ns) || ns > NSEC_PER_SEC)
		return refuse("package", whole, "a package state is STATE:LATENCY in ns, at most 1000000000");
	latency[level] = em_cycles(ns);
	level_name[level] = drv->states[state].name;
	for (; state < drv->state_count; state++)
		em_states[state].package = level;
	return 0;
}

static int parse_levels(const struct cpuidle_driver *drv, char *rest)
{
	unsigned int level = 0;
	char *entry;

	while ((entry = strsep(&rest, ","))) {
		char whole[64];
		int error;

		strscpy(whole, entry, sizeof(whole));
		if (++level >= EM_PACKAGE_LEVELS)
			return refuse("package", whole, "there are at most 3 package states");
		error = parse_level(drv, level, whole, entry);
		if (error)
			return error;
	}
	return 0;
}

static int assign(struct em_package *package, const char *list)
{
	cpumask_var_t cpus;
	unsigned int cpu;
	int error;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	error = cpulist_parse(list, cpus);
	if (error || cpumask_empty(cpus))
		error = refuse("packages", list, "is no list of CPUs");
	for_each_cpu(cpu, cpus) {
		if (!error && cpu_possible(cpu) && per_cpu(em_cpus, cpu).package)
			error = refuse("packages", list, "has a CPU that is in a package already");
		if (!error && cpu_possible(cpu))
			per_cpu(em_cpus, cpu).package = package;
	}
	free_cpumask_var(cpus);
	return error;
}

static int assign_all(char *rest)
{
	unsigned int cpu;
	char *list;
	int error;

	if (!rest) {
		for_each_possible_cpu(cpu)
			per_cpu(em_cpus, cpu).package = packages;
		package_count = 1;
		return 0;
	}
	while ((list = strsep(&rest, "/"))) {
		error = package_count < nr_cpu_ids ? assign(&packages[package_count++], list) : -EINVAL;
		if (error)
			return error;
	}
	return 0;
}

int em_parse_packages(const struct cpuidle_driver *drv, const char *levels, const char *cpus)
{
	char *copy;
	int error;

	if (!levels)
		return cpus ? refuse("packages", cpus, "there is no package state: give package=") : 0;
	copy = kstrdup(levels, GFP_KERNEL);
	packages = kcalloc(nr_cpu_ids, sizeof(*packages), GFP_KERNEL);
	error = copy && packages ? parse_levels(drv, copy) : -ENOMEM;
	kfree(copy);
	if (error)
		return error;
	copy = cpus ? kstrdup(cpus, GFP_KERNEL) : NULL;
	error = cpus && !copy ? -ENOMEM : assign_all(copy);
	kfree(copy);
	return error;
}

/*
 * A lock of our own: those of the kernel may trace, and on a paravirtualized kernel halt, neither of which
 * may happen here.
 */
static __always_inline void lock(struct em_package *package)
{
	while (arch_xchg(&package->locked, 1))
		cpu_relax();
}

static __always_inline void unlock(struct em_package *package)
{
	smp_store_release(&package->locked, 0);
}

void em_packages_free(void)
{
	kfree(packages);
}

static void count_cpu(unsigned int cpu, int change)
{
	struct em_package *package = per_cpu(em_cpus, cpu).package;
	unsigned long flags;

	if (!package)
		return;
	local_irq_save(flags);
	lock(package);
	package->cpus += change;
	unlock(package);
	local_irq_restore(flags);
}

void em_package_add_cpu(unsigned int cpu)
{
	count_cpu(cpu, 1);
}

/* A CPU that is offline holds nothing up. */
void em_package_remove_cpu(unsigned int cpu)
{
	count_cpu(cpu, -1);
}

/* Ends the time in the present level and begins that in another. */
static __always_inline void set_level(struct em_package *package, unsigned int level, u64 now)
{
	if (package->level)
		package->cycles[package->level] += now - package->since;
	if (level)
		package->entries[level]++;
	package->level = level;
	package->since = now;
}

/* This CPU is asleep from a moment that is still to come, in a state that allows this level. */
noinstr void em_package_enter(struct em_package *package, unsigned int level, u64 asleep)
{
	unsigned int i, deepest = 0;

	if (!package || !level)
		return;
	lock(package);
	if ((s64)(asleep - package->asleep) > 0)
		package->asleep = asleep;
	for (i = 1; i <= level; i++)
		if (++package->allowing[i] == package->cpus)
			deepest = i;
	if (deepest > package->level)
		set_level(package, deepest, package->asleep);
	unlock(package);
}

static __always_inline u64 earlier(u64 one, u64 other)
{
	return (s64)(one - other) < 0 ? one : other;
}

static __always_inline u64 later(u64 one, u64 other)
{
	return (s64)(one - other) > 0 ? one : other;
}

/*
 * This CPU was woken, and its core would begin to wake at *begin or when it was woken, whichever is earlier.
 * It can only do so when the package is awake, and *begin becomes that time. Returns the level that the
 * package was in.
 */
noinstr unsigned int em_package_leave(struct em_package *package, unsigned int level, u64 woken, u64 *begin)
{
	unsigned int i, left;
	u64 leaves;

	if (!package || !level) {
		*begin = earlier(woken, *begin);
		return 0;
	}
	lock(package);
	for (i = 1; i <= level; i++)
		package->allowing[i]--;
	left = package->level;
	/* While the last CPU is still entering, the package is awake. */
	if (left && (s64)(woken - package->since) <= 0) {
		package->entries[left]--;
		package->level = left = 0;
	}
	if (left) {
		leaves = later(earlier(woken, *begin - latency[left]), package->since);
		set_level(package, 0, leaves);
		package->ready = leaves + latency[left];
	}
	*begin = later(earlier(woken, *begin), package->ready);
	unlock(package);
	return left;
}

void em_packages_show(struct seq_file *file)
{
	unsigned int number, level;

	for (number = 0; number < package_count; number++)
		for (level = 1; level < EM_PACKAGE_LEVELS && level_name[level]; level++)
			seq_printf(file, "package%u_%s_entries %llu\npackage%u_%s_time_ns %llu\n",
				   number, level_name[level], packages[number].entries[level],
				   number, level_name[level], em_ns(packages[number].cycles[level]));
}
