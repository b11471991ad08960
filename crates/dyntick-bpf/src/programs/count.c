// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts what interrupts a CPU, by cause, with durations. One program for each event of the kernel;
 * the loader attaches only those that were asked for.
 *
 * All run on the CPU that they count, with what they interrupt waiting. What an event tells is in
 * `args`, in the order of its TP_PROTO in the kernel's include/trace/events.
 */
#include "program.h"
#include "work.h"

/* Interrupt vectors: arch/x86/include/asm/trace/irq_vectors.h */

INLINE int vector_begins(u32 place)
{
	struct row *row = own_row();

	if (!row)
		return 0;
	row->hrtimers = 0;
	begin(row, &row->vector, place, 0);
	return 0;
}

INLINE int vector_ends(void)
{
	struct row *row = own_row();

	if (!row)
		return 0;
	row->stolen += end(row, &row->vector);
	return 0;
}

#define VECTOR(name, place) \
	SECTION("tp_btf/" #name "_entry") int name##_entry(u64 *args) { return vector_begins(place); } \
	SECTION("tp_btf/" #name "_exit") int name##_exit(u64 *args) { return vector_ends(); }

VECTOR(reschedule, RESCHEDULE)
VECTOR(call_function, CALL_FUNCTION)
VECTOR(call_function_single, CALL_FUNCTION_SINGLE)
VECTOR(irq_work, IRQ_WORK)
VECTOR(x86_platform_ipi, PLATFORM_IPI)
VECTOR(thermal_apic, THERMAL)
VECTOR(threshold_apic, THRESHOLD)
VECTOR(deferred_error_apic, DEFERRED_ERROR)
VECTOR(error_apic, ERROR)
VECTOR(spurious_apic, SPURIOUS)

SECTION("tp_btf/local_timer_entry")
int local_timer_entry(u64 *args)
{
	return vector_begins(LOCAL_TIMER);
}

SECTION("tp_btf/local_timer_exit")
int local_timer_exit(u64 *args)
{
	struct row *row = own_row();
	u64 ns;

	if (!row)
		return 0;
	ns = end(row, &row->vector);
	row->stolen += ns;
	if (ns && !row->hrtimers) {
		row->slots[EMPTY_TIMER].count++;
		took(&row->slots[EMPTY_TIMER], ns);
	}
	return 0;
}

/* Timers: include/trace/events/timer.h */

/* Whether the tick that this timer belongs to is stopped. */
INLINE int is_stopped(struct hrtimer *timer)
{
	struct tick_sched *tick = 0;
	struct tick_sched___before_6_9 *old = 0;
	char *base = (char *)timer - __builtin_preserve_field_info(tick->sched_timer, 0);
	u64 value = 0;

	if (__builtin_preserve_field_info(tick->flags, 2)) {
		read_kernel(&value, sizeof(value), base + __builtin_preserve_field_info(tick->flags, 0));
		return (value & TS_FLAG_STOPPED) != 0;
	}
	read_kernel(&value, sizeof(u32), base + __builtin_preserve_field_info(old->tick_stopped, 0));
	value <<= __builtin_preserve_field_info(old->tick_stopped, 4);
	return value >> __builtin_preserve_field_info(old->tick_stopped, 5) != 0;
}

SECTION("tp_btf/hrtimer_expire_entry")
int hrtimer_expire_entry(u64 *args)
{
	struct hrtimer *timer = (void *)args[0];
	struct row *row = own_row();
	u64 function;
	u32 place;

	if (!row)
		return 0;
	function = number(timer->function);
	row->hrtimers++;
	if (function == tick_function)
		place = is_stopped(timer) ? STOPPED_TICK : PERIODIC_TICK;
	else
		place = place_of(row, key_of(HRTIMER, function));
	begin(row, timer->is_soft ? &row->hrtimer[1] : &row->hrtimer[0], place, (u64)timer);
	return 0;
}

SECTION("tp_btf/hrtimer_expire_exit")
int hrtimer_expire_exit(u64 *args)
{
	struct row *row = own_row();

	if (!row)
		return 0;
	/* The timer may be gone by now, so it is known only by its address. */
	if (row->hrtimer[0].what == args[0])
		end(row, &row->hrtimer[0]);
	else if (row->hrtimer[1].what == args[0])
		end(row, &row->hrtimer[1]);
	return 0;
}

SECTION("tp_btf/timer_expire_entry")
int timer_expire_entry(u64 *args)
{
	struct timer_list *timer = (void *)args[0];
	struct row *row = own_row();

	if (row)
		begin(row, &row->timer, place_of(row, key_of(TIMER, number(timer->function))), args[0]);
	return 0;
}

SECTION("tp_btf/timer_expire_exit")
int timer_expire_exit(u64 *args)
{
	struct row *row = own_row();

	if (row)
		end(row, &row->timer);
	return 0;
}

/* Why the tick stays: success, dependency mask. */
SECTION("tp_btf/tick_stop")
int tick_stop(u64 *args)
{
	struct row *row = own_row();

	if (!row)
		return 0;
	if ((int)args[0])
		row->slots[TICK_STOPPED].count++;
	else
		slot_at(row, place_of(row, key_of(TICK_KEPT, (u32)args[1])))->count++;
	return 0;
}

/*
 * Functions that other CPUs call: include/trace/events/csd.h. Only those within an interrupt: a task that has every CPU
 * run one runs it here itself (kernel/smp.c: smp_call_function_many_cond), and an idle CPU that polls needs no IPI.
 */

/* The verifier knows no type for a pointer to a function, so this one takes its arguments as numbers. */
SECTION("raw_tp/csd_function_entry")
int csd_function_entry(u64 *args)
{
	struct row *row = own_row();

	if (row && row->vector.start)
		begin(row, &row->call, place_of(row, key_of(CALLED, args[0])), args[0]);
	return 0;
}

SECTION("tp_btf/csd_function_exit")
int csd_function_exit(u64 *args)
{
	struct row *row = own_row();

	if (row)
		end(row, &row->call);
	return 0;
}

/* Devices and softirqs: include/trace/events/irq.h */

SECTION("tp_btf/irq_handler_entry")
int irq_handler_entry(u64 *args)
{
	struct irqaction *action = (void *)args[1];
	struct row *row = own_row();
	struct slot *slot;
	u32 place;

	if (!row)
		return 0;
	/* A line that devices share has an event for each; they are one slot. */
	place = place_of(row, key_of(DEVICE, (u32)args[0] + 1));
	slot = slot_at(row, place);
	if (!slot->name[0])
		read_kernel_text(slot->name, sizeof(slot->name), action->name);
	begin(row, &row->device, place, args[0]);
	return 0;
}

SECTION("tp_btf/irq_handler_exit")
int irq_handler_exit(u64 *args)
{
	struct row *row = own_row();

	if (row)
		row->stolen += end(row, &row->device);
	return 0;
}

SECTION("tp_btf/softirq_entry")
int softirq_entry(u64 *args)
{
	u32 vector = args[0];
	struct row *row = own_row();

	if (row && vector < SOFTIRQS)
		begin(row, &row->softirq[vector], SOFTIRQ + vector, vector);
	return 0;
}

SECTION("tp_btf/softirq_exit")
int softirq_exit(u64 *args)
{
	u32 vector = args[0];
	struct row *row = own_row();

	if (row && vector < SOFTIRQS)
		row->stolen += end(row, &row->softirq[vector]);
	return 0;
}

/* Tasks and work items: include/trace/events/sched.h, workqueue.h */

/* Begins the turn of a task under its name, and that of the idle task as such. */
INLINE void begin_turn_of(struct row *row, struct task_struct *task, u32 thread, int is_own, u64 now)
{
	if (is_own)
		begin_turn(row, thread, COMMAND, first_of(task), second_of(task), now);
	else if (thread)
		begin_turn(row, thread, family_of(row, task), first_of(task), second_of(task), now);
	else
		begin_in(&row->slots[IDLE], row, &row->task, IDLE, 0, now);
}

/*
 * What is seen first of a task here is in a turn that lasts since each switch is seen: nothing else ran before. Of
 * another task than the idle task that is so only if the CPU was not idle then, as the switch from idle may not have
 * been traced.
 */
RARE int begin_unseen(struct row *row, struct task_struct *task, u64 now)
{
	u64 since;

	if (!row)
		return 0;
	since = row->since;
	if (!since || since > now || (task->pid && !row->busy))
		return 0;
	begin_turn_of(row, task, task->pid, 0, since);
	row->task.stolen = row->stolen_since;
	return end_at(row, &row->task, now);
}

/*
 * The switch to a task may not have been traced: some kernels of virtual machines do not when a CPU leaves idle.
 * Neither the end of the turn before is known then nor the begin of this one.
 */
RARE int begin_untraced(struct row *row, struct task_struct *task, u64 now)
{
	if (row)
		begin_turn_of(row, task, task->pid, 0, now);
	return 0;
}

/* A CPU switches between two tasks; `is_own` if the next one is known to be followed. */
INLINE void next_turn(struct row *row, struct task_struct *prev, u32 out, struct task_struct *next, u32 in, int is_own,
		      u64 now)
{
	if (row->works)
		switch_work(row, prev, next, now);
	if (!row->task.start)
		begin_unseen(row, prev, now);
	else if (row->task.what == out)
		end_at(row, &row->task, now);
	else
		begin_untraced(row, prev, now);
	begin_turn_of(row, next, in, is_own, now);
}

#ifndef SWITCH_ELSEWHERE
SECTION("tp_btf/sched_switch")
int sched_switch(u64 *args)
{
	struct task_struct *prev = (void *)args[1], *next = (void *)args[2];
	struct row *row = own_row();

	if (row)
		next_turn(row, prev, prev->pid, next, next->pid, 0, now_ns());
	return 0;
}
#endif

/* A task that executes another program has another name from then on, and another turn. */
SECTION("tp_btf/task_rename")
int task_rename(u64 *args)
{
	struct task_struct *task = (void *)args[0];
	struct row *row = own_row();
	u64 name[NAME / sizeof(u64)] = {};
	u64 now;

	/* One that does not run here is called by its name when its next turn begins. */
	if (!row || !row->task.start || (u32)task->pid != (u32)this_process_and_thread())
		return 0;
	read_kernel_text(name, sizeof(name), (void *)args[1]);
	now = now_ns();
	/* Else the switch to it was not traced. */
	if (row->task.what == (u32)task->pid)
		end_at(row, &row->task, now);
	begin_turn(row, task->pid, family_of(row, task), name[0], name[1], now);
	return 0;
}

SECTION("tp_btf/workqueue_execute_start")
int workqueue_execute_start(u64 *args)
{
	struct work_struct *work = (void *)args[0];
	struct row *row = own_row();

	if (row)
		begin_work(row, place_of(row, key_of(WORK, number(work->func))), args[0]);
	return 0;
}

SECTION("tp_btf/workqueue_execute_end")
int workqueue_execute_end(u64 *args)
{
	struct row *row = own_row();

	if (row && row->work.what == args[0])
		end_work(row);
	return 0;
}

/* Exceptions: arch/x86/include/asm/trace/exceptions.h, include/trace/events/nmi.h */

SECTION("tp_btf/page_fault_user")
int page_fault_user(u64 *args)
{
	struct row *row = own_row();

	if (row)
		row->slots[FAULT_USER].count++;
	return 0;
}

SECTION("tp_btf/page_fault_kernel")
int page_fault_kernel(u64 *args)
{
	struct row *row = own_row();

	if (row)
		row->slots[FAULT_KERNEL].count++;
	return 0;
}

/* Each handler is asked; the one that handled it tells the cause. */
SECTION("tp_btf/nmi_handler")
int nmi_handler(u64 *args)
{
	struct row *row = own_row();
	struct slot *slot;

	if (!row || !(int)args[2])
		return 0;
	slot = slot_at(row, place_of(row, key_of(NMI, args[0])));
	slot->count++;
	took(slot, args[1]);
	row->stolen += args[1];
	return 0;
}
