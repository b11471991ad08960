// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the emulator knows by itself, apart from the kernel's own accounting, in debugfs:
 *   cstate_emulator/idle_states     counters of each CPU
 *   cstate_emulator/package_states  counters of each package
 *   cstate_emulator/records/cpuN    struct em_record, one for each sleep, if recorded
 */
#include "emulator.h"

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

u32 em_record_limit;

static struct dentry *folder;
static const struct cpuidle_driver *driver;

/* A line of names, then a line for each CPU. */
static int idle_states_show(struct seq_file *file, void *unused)
{
	unsigned int number;
	int i;

	seq_puts(file, "cpu");
	for (i = 0; i < driver->state_count; i++) {
		const char *name = driver->states[i].name;

		if (driver->states[i].enter == em_enter)
			seq_printf(file, " %s_entries %s_time_ns %s_during_entry %s_not_entered", name, name, name, name);
	}
	seq_puts(file, " records lost overrun_ns\n");
	for_each_online_cpu(number) {
		const struct em_cpu *cpu = per_cpu_ptr(&em_cpus, number);

		seq_printf(file, "%u", number);
		for (i = 0; i < driver->state_count; i++) {
			const struct em_count *count = &cpu->count[i];

			if (driver->states[i].enter == em_enter)
				seq_printf(file, " %llu %llu %llu %llu", count->entries, em_ns(count->cycles),
					   count->during_entry, count->not_entered);
		}
		seq_printf(file, " %u %llu %llu\n", cpu->recorded, cpu->lost, em_ns(cpu->overrun));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(idle_states);

static int package_states_show(struct seq_file *file, void *unused)
{
	em_packages_show(file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(package_states);

static ssize_t records_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct em_cpu *cpu = file->private_data;
	u32 whole = smp_load_acquire(&cpu->recorded);

	return simple_read_from_buffer(to, size, at, cpu->records, whole * sizeof(*cpu->records));
}

static const struct file_operations records_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = records_read,
	.llseek = default_llseek,
};

static int make_records(u32 limit)
{
	struct dentry *place = debugfs_create_dir("records", folder);
	unsigned int number;

	for_each_possible_cpu(number) {
		struct em_cpu *cpu = per_cpu_ptr(&em_cpus, number);
		char name[16];

		cpu->records = vzalloc(array_size(limit, sizeof(*cpu->records)));
		if (!cpu->records)
			return -ENOMEM;
		snprintf(name, sizeof(name), "cpu%u", number);
		debugfs_create_file(name, 0400, place, cpu, &records_fops);
	}
	em_record_limit = limit;
	return 0;
}

int em_facts_init(const struct cpuidle_driver *drv, u32 records)
{
	driver = drv;
	folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("idle_states", 0444, folder, NULL, &idle_states_fops);
	debugfs_create_file("package_states", 0444, folder, NULL, &package_states_fops);
	return records ? make_records(records) : 0;
}

void em_facts_exit(void)
{
	unsigned int cpu;

	debugfs_remove(folder);
	for_each_possible_cpu(cpu)
		vfree(per_cpu(em_cpus, cpu).records);
}
