"""The table of each experiment of examples/seeds, by the name of its file."""

from __future__ import annotations

from collections.abc import Callable

from stored import Experiment

from . import connectors, locks, messages, network, pages, steps, users

TABLES: dict[str, Callable[[Experiment], None]] = {
    "message-sizes": network.message_sizes,
    "parallel": network.parallel,
    "four-clients": network.four_clients,
    "receive-heavy": network.receive_heavy,
    "packets": network.packets,
    "smc": network.smc,
    "network-or-database": steps.network_or_database,
    "locks-orders": locks.locks_orders,
    "locks-create": locks.locks_create,
    "locks-rolling": locks.locks_rolling,
    "pages": pages.pages,
    "first-hit": pages.first_hit,
    "slow-line": pages.slow_line,
    "list-details": steps.list_details,
    "work-processes": steps.work_processes,
    "remote-gateway": steps.remote_gateway,
    "failing-samples": steps.failing_samples,
    "twins": pages.twins,
    "large-pages": locks.large_pages,
    "connectors": connectors.connectors,
    "transform": messages.transform,
    "agents": messages.agents,
    "idocs": messages.idocs,
    "idocs-pools": messages.idocs_pools,
    "idocs-all": messages.idocs_all,
    "users": users.users,
}
