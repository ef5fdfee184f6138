"""Lock libraries of Python against one server, as they are: redis-py's Lock, redlock-py, pottery.

    python.py HOST PORT

Prints what each saw, a line a step: the same for every server that does what Redis does.
"""

import json
import logging
import sys
import threading

import pottery
import redis
import redis.exceptions
import redis.lock
import redlock


def say(step: str, seen: object) -> None:
    print(f"{step}: {json.dumps(seen)}")


def failed(action) -> str:
    try:
        action()
    except Exception as error:  # whichever the library has for it
        return type(error).__name__
    return "done"


def with_redis_py(one: redis.Redis, two: redis.Redis) -> None:
    first = one.lock("orders", timeout=60)
    second = two.lock("orders", timeout=60)
    say("first", first.acquire(blocking=False))
    say("second", second.acquire(blocking=False))
    say("owned", [first.owned(), second.owned(), second.locked()])
    say("extended", [first.extend(30), two.ttl("orders") > 80])
    say("replaced", [first.extend(30, replace_ttl=True), two.ttl("orders") < 40])
    say("reacquired", [first.reacquire(), two.ttl("orders") > 50])
    thief = redis.lock.Lock(two, "orders", timeout=60)
    thief.local.token = b"not mine"
    say("stolen", [failed(thief.release), failed(lambda: thief.extend(5))])
    second = two.lock("orders", timeout=60, thread_local=False, sleep=0.01)
    waits = threading.Thread(target=second.acquire)
    waits.start()
    first.release()
    waits.join()
    say("waited", [second.owned(), failed(first.release)])
    second.release()
    with one.lock("orders", timeout=60):
        say("locked", two.lock("orders").locked())
    say("unlocked", two.lock("orders").locked())
    endless = one.lock("endless")
    say("endless", [endless.acquire(), two.pttl("endless"), two.ttl("endless")])
    say("not extended", failed(lambda: endless.extend(5)))
    endless.release()


def with_redlock(host: str, port: int) -> None:
    servers = [{"host": host, "port": port, "db": 0}]
    one = redlock.Redlock(servers, retry_count=1)
    two = redlock.Redlock(servers, retry_count=1)
    lock = one.lock("invoices", 60_000)
    say("first", bool(lock))
    say("second", bool(two.lock("invoices", 60_000)))
    one.unlock(lock)
    again = two.lock("invoices", 60_000)
    say("third", bool(again))
    one.unlock(lock)  # of a lock that is over: it must not release the new one
    say("fourth", bool(one.lock("invoices", 60_000)))
    two.unlock(again)


def with_pottery(one: redis.Redis, two: redis.Redis) -> None:
    mine = pottery.Redlock(key="orders", masters={one}, auto_release_time=60)
    other = pottery.Redlock(key="orders", masters={two}, auto_release_time=60)
    say("free", mine.locked())
    say("first", mine.acquire(blocking=False))
    say("second", other.acquire(blocking=False))
    say("locked", [50 < mine.locked() <= 60, other.locked()])
    mine.extend()
    say("extended", failed(other.extend))
    for _ in range(2):
        mine.extend()
    say("too often", failed(mine.extend))
    say("of another", failed(other.release))
    mine.release()
    say("again", failed(mine.release))
    with other:
        say("within", [other.locked() > 50, mine.acquire(blocking=False)])
    short = pottery.Redlock(key="orders", masters={one}, auto_release_time=0.3)
    say("short", short.acquire())
    say("after its time", mine.acquire())
    say("which is over", failed(short.release))
    mine.release()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    HOST, PORT = sys.argv[1], int(sys.argv[2])
    ONE, TWO = redis.Redis(HOST, PORT), redis.Redis(HOST, PORT)
    print("redis-py")
    with_redis_py(ONE, TWO)
    print("redlock-py")
    with_redlock(HOST, PORT)
    print("pottery")
    with_pottery(ONE, TWO)
