"""Two lock libraries of Redis against one server, as they are: redis-py's Lock and redlock-py.

    redis_locks.py HOST PORT

Prints what each saw as one JSON object.
"""

import json
import sys

import redis
import redis.exceptions
import redis.lock
import redlock


def with_redis_py(host: str, port: int) -> dict[str, object]:
    one, two = redis.Redis(host, port), redis.Redis(host, port)
    first = one.lock("orders", timeout=60)
    second = two.lock("orders", timeout=60)
    seen = {"first": first.acquire(blocking=False), "second": second.acquire(blocking=False)}
    seen["owned"] = first.owned()
    seen["extended"] = first.extend(30)
    seen["reacquired"] = first.reacquire()
    thief = redis.lock.Lock(two, "orders", timeout=60)
    thief.local.token = b"not mine"
    try:
        thief.release()
        seen["stolen"] = True
    except redis.exceptions.LockError:
        seen["stolen"] = False
    first.release()
    seen["third"] = second.acquire(blocking=False)
    second.release()
    with one.lock("orders", timeout=60):
        seen["locked"] = two.lock("orders").locked()
    return seen


def with_redlock(host: str, port: int) -> dict[str, object]:
    servers = [{"host": host, "port": port, "db": 0}]
    one = redlock.Redlock(servers, retry_count=1)
    two = redlock.Redlock(servers, retry_count=1)
    lock = one.lock("invoices", 60_000)
    seen: dict[str, object] = {"first": bool(lock), "second": bool(two.lock("invoices", 60_000))}
    one.unlock(lock)
    again = two.lock("invoices", 60_000)
    seen["third"] = bool(again)
    one.unlock(lock)  # of a lock that is over: it must not release the new one
    seen["fourth"] = bool(one.lock("invoices", 60_000))
    two.unlock(again)
    return seen


if __name__ == "__main__":
    place = (sys.argv[1], int(sys.argv[2]))
    print(json.dumps({"redis-py": with_redis_py(*place), "redlock": with_redlock(*place)}))
