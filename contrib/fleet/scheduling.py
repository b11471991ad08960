# SPDX-License-Identifier: GPL-2.0-only
"""Measures the scheduling of a fleet's tasks by Ray on nodes that are only pretended, all on this machine.

    python contrib/fleet/scheduling.py --nodes 20 --cpus 32 --cases 10000

Each task is one of a fleet without its work: it takes a core and the memory of a guest, and returns a run's bytes. So
the time is that of Ray and of the driver, which takes the results one by one as `dyntick.fleet.run` does.
"""

from __future__ import annotations

import argparse
import time

import ray
from ray.cluster_utils import Cluster

MEMORY_OF_GUEST = 1 << 30


def case(size: int) -> bytes:
    return bytes(size)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the scheduling of a fleet's tasks on pretended nodes")
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--cpus", type=int, default=32, help="pretended CPUs of each node")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=800_000, help="the size of a run")
    given = parser.parse_args()
    cluster = Cluster(initialize_head=True, connect=False, head_node_args={"num_cpus": 0})
    ray.init(address=cluster.address, log_to_driver=False)
    for _ in range(given.nodes):
        cluster.add_node(num_cpus=given.cpus, memory=given.cpus * MEMORY_OF_GUEST, object_store_memory=100 << 20)
    task = ray.remote(case).options(num_cpus=1, memory=MEMORY_OF_GUEST, max_retries=3)
    ray.get([task.remote(0) for _ in range(2)])
    begin = time.monotonic()
    waiting = [task.remote(given.bytes) for _ in range(given.cases)]
    placed = time.monotonic() - begin
    taken = 0
    while waiting:
        done, waiting = ray.wait(waiting, num_returns=1)
        taken += sum(len(run) for run in ray.get(done))
    seconds = time.monotonic() - begin
    print(f"{given.cases} cases on {given.nodes} nodes of {given.cpus} CPUs: {seconds:.1f} s,")
    print(f"submitted in {placed:.1f} s, {1000 * seconds / given.cases:.2f} ms each, {taken / seconds / 1e6:.0f} MB/s")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
