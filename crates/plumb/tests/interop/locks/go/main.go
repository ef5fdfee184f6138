// Lock libraries of Go against one server, as they are: redsync with its options, over go-redis and
// over redigo, and bsm/redislock.
//
//	redis_locks HOST PORT
//
// Prints what each saw, a line a step: the same for every server that does what Redis does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	driver "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	old "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
)

func say(step string, seen ...any) {
	fmt.Println(append([]any{step + ":"}, seen...)...)
}

// kind names an error of the libraries without what differs between runs.
func kind(err error) string {
	var taken *redsync.ErrTaken
	var node *redsync.ErrNodeTaken
	switch {
	case err == nil:
		return "nil"
	case errors.Is(err, redsync.ErrLockAlreadyExpired):
		return "already expired"
	case errors.Is(err, redsync.ErrExtendFailed), errors.Is(err, redsync.ErrFailed):
		return "failed"
	case errors.As(err, &taken):
		return "taken"
	case errors.As(err, &node):
		return "node taken"
	default:
		return err.Error()
	}
}

func withRedsync(pool driver.Pool, other driver.Pool) {
	mine, theirs := redsync.New(pool), redsync.New(other)
	long := []redsync.Option{redsync.WithExpiry(time.Minute), redsync.WithTries(1)}
	first := mine.NewMutex("orders", long...)
	second := theirs.NewMutex("orders", append(long, redsync.WithFailFast(true))...)
	say("lock", kind(first.Lock()))
	say("try", kind(second.TryLock()))
	valid, err := first.Valid()
	say("valid", valid, kind(err))
	valid, err = second.Valid()
	say("the other's", valid, kind(err))
	done, err := first.Extend()
	say("extend", done, kind(err))
	done, err = second.Extend()
	say("extend the other's", done, err != nil)
	done, err = second.Unlock()
	say("unlock the other's", done, err != nil)
	// whoever is told the value may unlock
	told := theirs.NewMutex("orders", append(long, redsync.WithValue(first.Value()))...)
	done, err = told.Unlock()
	say("unlock by value", done, kind(err))
	done, err = first.Unlock()
	say("unlock what is gone", done, kind(err))
	done, err = first.Extend()
	say("extend what is gone", done, err != nil)
	again := mine.NewMutex("orders", append(long, redsync.WithSetNXOnExtend(),
		redsync.WithValue("of a restart"), redsync.WithShufflePools(true))...)
	done, err = again.Extend()
	say("extend sets it", done, kind(err))
	say("held", kind(second.TryLock()))
	waits := theirs.NewMutex("orders", redsync.WithExpiry(time.Minute), redsync.WithTries(10_000),
		redsync.WithRetryDelay(5*time.Millisecond), redsync.WithTimeoutFactor(0.5),
		redsync.WithDriftFactor(0.02), redsync.WithGenValueFunc(func() (string, error) {
			return "of my own", nil
		}))
	granted := make(chan error)
	go func() { granted <- waits.Lock() }()
	done, err = again.Unlock()
	say("unlock", done, kind(err))
	say("waited", kind(<-granted), waits.Value())
	done, err = waits.Unlock()
	say("unlock", done, kind(err))
}

func withRedislock(one, two *redis.Client) {
	ctx := context.Background()
	mine, theirs := redislock.New(one), redislock.New(two)
	note := func(err error) string {
		if err == nil {
			return "nil"
		}
		return err.Error()
	}
	lock, err := mine.Obtain(ctx, "orders", time.Minute, nil)
	say("obtain", note(err))
	_, err = theirs.Obtain(ctx, "orders", time.Minute, nil)
	say("taken", note(err))
	left, err := lock.TTL(ctx)
	say("left", left > 50*time.Second && left <= time.Minute, note(err))
	say("refresh", note(lock.Refresh(ctx, time.Hour, nil)))
	left, err = lock.TTL(ctx)
	say("left", left > time.Minute, note(err))
	say("release", note(lock.Release(ctx)))
	say("again", note(lock.Release(ctx)), note(lock.Refresh(ctx, time.Minute, nil)))
	left, err = lock.TTL(ctx)
	say("left", left, note(err))

	own := func(metadata string) *redislock.Options {
		return &redislock.Options{Token: "0123456789abcdef", Metadata: metadata}
	}
	first, err := mine.Obtain(ctx, "own", time.Minute, own(" printer 1"))
	say("token", note(err), first.Token(), first.Metadata())
	again, err := theirs.Obtain(ctx, "own", time.Hour, own(" printer 2"))
	say("the same token", note(err), again.Metadata())
	value, err := one.Get(ctx, "own").Result()
	say("value", value, note(err))
	left, _ = again.TTL(ctx)
	say("left", left > time.Minute)
	say("the first", note(first.Refresh(ctx, time.Minute, nil)), note(first.Release(ctx)))
	other := &redislock.Options{Token: "fedcba9876543210"}
	_, err = mine.Obtain(ctx, "own", time.Minute, other)
	say("another token", note(err))
	say("release", note(again.Release(ctx)))

	short, err := mine.Obtain(ctx, "short", 50*time.Millisecond, nil)
	say("short", note(err))
	patient, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	next, err := theirs.Obtain(patient, "short", time.Minute, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond),
	})
	say("after its time", note(err), note(short.Release(ctx)))
	say("release", note(next.Release(ctx)))
}

func main() {
	address := os.Args[1] + ":" + os.Args[2]
	one := redis.NewClient(&redis.Options{Addr: address})
	two := redis.NewClient(&redis.Options{Addr: address})
	fmt.Println("redsync over go-redis")
	withRedsync(goredis.NewPool(one), goredis.NewPool(two))
	fmt.Println("redsync over redigo")
	dial := func() (old.Conn, error) { return old.Dial("tcp", address) }
	pool := &old.Pool{Dial: dial, MaxIdle: 2}
	withRedsync(redigo.NewPool(pool), redigo.NewPool(&old.Pool{Dial: dial, MaxIdle: 2}))
	fmt.Println("redislock")
	withRedislock(one, two)
}
