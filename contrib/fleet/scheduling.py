# SPDX-License-Identifier: GPL-2.0-only
"""Measures the scheduling of a fleet's tasks by Ray on nodes that are only pretended, all on this machine.

    python contrib/fleet/scheduling.py --nodes 16 --cpus 1 --tasks 10000

Each task is one of a fleet without its work: it takes a core and the memory of a guest, and returns a run's bytes. So
the time is that of Ray and of the driver, which takes the results one by one as `dyntick.fleet.run` does. Each
pretended CPU has a worker, a process of this machine. They begin before the time is taken, and are counted apart.
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import ray
from ray.cluster_utils import Cluster

MEMORY_OF_GUEST = 1 << 30


def case(size: int) -> bytes:
    return bytes(size)


def hold(seconds: float) -> int:
    """Keeps a worker busy, so that another task needs another one."""
    time.sleep(seconds)
    return os.getpid()


def begin_workers(number: int) -> None:
    task = ray.remote(hold).options(num_cpus=1, memory=MEMORY_OF_GUEST)
    found: set[int] = set()
    while len(found) < number:
        found.update(ray.get([task.remote(1) for _ in range(number)]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the scheduling of a fleet's tasks on pretended nodes")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--cpus", type=int, default=1, help="pretended CPUs of each node, each a process here [default: 1]")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=800_000, help="the size of a run")
    given = parser.parse_args()
    cluster = Cluster(initialize_head=True, connect=False, head_node_args={"num_cpus": 0})
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        measure(cluster, given)
    finally:
        ray.shutdown()
        cluster.shutdown()


def measure(cluster: Cluster, given: argparse.Namespace) -> None:
    begin = time.monotonic()
    for _ in range(given.nodes):
        cluster.add_node(num_cpus=given.cpus, memory=given.cpus * MEMORY_OF_GUEST, object_store_memory=100 << 20)
    nodes = time.monotonic()
    begin_workers(given.nodes * given.cpus)
    workers = time.monotonic()
    task = ray.remote(case).options(num_cpus=1, memory=MEMORY_OF_GUEST, max_retries=3)
    used = time.process_time()
    waiting = [task.remote(given.bytes) for _ in range(given.tasks)]
    submitted = time.monotonic()
    taken = 0
    while waiting:
        # As many as the driver of a fleet asks for: each question costs time for each.
        asked = 500 + 2 * given.nodes * given.cpus
        done, left = ray.wait(waiting[:asked], num_returns=1)
        waiting[:asked] = left
        taken += sum(len(run) for run in ray.get(done))
    end = time.monotonic()
    used = time.process_time() - used
    print(f"{given.nodes} nodes of {given.cpus} CPUs began in {nodes - begin:.1f} s, their workers in {workers - nodes:.1f} s;")
    print(f"{given.tasks} tasks: {end - workers:.1f} s, {1000 * (end - workers) / given.tasks:.2f} ms each,")
    print(f"of which {1000 * (submitted - workers) / given.tasks:.2f} ms to submit; {taken / (end - workers) / 1e6:.0f} MB/s;")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"the driver took {1000 * used / given.tasks:.2f} ms of CPU time each and at most {most:.0f} MiB of memory")


if __name__ == "__main__":
    main()
