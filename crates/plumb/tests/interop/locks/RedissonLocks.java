// Redisson's locks against one server, as they are.
//
//     java -cp 'FOLDER/*' RedissonLocks.java HOST PORT
//
// Prints what was seen, a line a step: the same for every server that does what Redis does.

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class RedissonLocks {
    /** A client whose locks without a time live so long, and are renewed three times in it. */
    static RedissonClient client(String address, long watchdogMs) {
        Config config = new Config();
        config.setLockWatchdogTimeout(watchdogMs);
        config.useSingleServer()
            .setAddress("redis://" + address)
            .setConnectionMinimumIdleSize(1)
            .setConnectionPoolSize(4)
            .setSubscriptionConnectionMinimumIdleSize(1)
            .setSubscriptionConnectionPoolSize(2);
        return Redisson.create(config);
    }

    static void say(String step, Object... seen) {
        StringBuilder line = new StringBuilder(step).append(':');
        for (Object one : seen) {
            line.append(' ').append(one);
        }
        System.out.println(line);
    }

    static String failed(Callable<?> action) {
        try {
            action.call();
            return "done";
        } catch (Exception error) {
            return error.getClass().getSimpleName();
        }
    }

    static String unlock(RLock lock) {
        return failed(() -> {
            lock.unlock();
            return null;
        });
    }

    static void locks(RedissonClient one, RedissonClient two, ExecutorService other)
            throws Exception {
        RLock mine = one.getLock("orders");
        RLock theirs = two.getLock("orders");
        say("free", mine.isLocked(), mine.remainTimeToLive(), mine.getHoldCount());
        say("first", mine.tryLock(0, 60, TimeUnit.SECONDS));
        say("once more", mine.tryLock(0, 600, TimeUnit.SECONDS), mine.getHoldCount());
        say("renewed", mine.remainTimeToLive() > 60_000);
        say("no value", failed(() -> two.getBucket("orders").get()), mine.getHoldCount());
        say("whose", mine.isHeldByCurrentThread(), theirs.isHeldByCurrentThread());
        say("theirs", theirs.tryLock(), theirs.isLocked(), unlock(theirs));
        Future<Boolean> waits =
            other.submit(() -> theirs.tryLock(100, 60, TimeUnit.SECONDS));
        say("unlock", unlock(mine), mine.getHoldCount(), waits.isDone());
        say("unlock", unlock(mine));
        say("waited", waits.get(), theirs.isLocked());
        say("not mine", unlock(mine), other.submit(() -> unlock(theirs)).get());
        mine.lock(60, TimeUnit.SECONDS);
        say("by force", theirs.forceUnlock(), theirs.forceUnlock(), unlock(mine));
    }

    static void watchdog(RedissonClient one, RedissonClient two) throws Exception {
        RLock mine = one.getLock("watched");
        mine.lock();
        long least = mine.remainTimeToLive();
        for (int looks = 0; looks < 100_000; looks++) {
            long now = mine.remainTimeToLive();
            if (now > least || now < 0) {
                say("renewed by itself", now > least);
                break;
            }
            least = now;
        }
        say("still locked", two.getLock("watched").tryLock(), unlock(mine), mine.isLocked());
    }

    static void otherKinds(RedissonClient one, RedissonClient two) throws Exception {
        RLock spin = one.getSpinLock("spin");
        spin.lock(60, TimeUnit.SECONDS);
        say("spin", spin.tryLock(), two.getSpinLock("spin").tryLock());
        say("unlock", unlock(spin), unlock(spin), unlock(spin));
        RFencedLock fenced = one.getFencedLock("fenced");
        long token = fenced.lockAndGetToken();
        say("token", token > 0, fenced.getToken() == token, unlock(fenced));
        say("the next is higher", fenced.lockAndGetToken() > token, unlock(fenced));
        RLock several = one.getMultiLock(one.getLock("a"), one.getLock("b"));
        say("several", several.tryLock(0, 60, TimeUnit.SECONDS));
        say("one of them", two.getLock("b").tryLock(), two.getLock("b").isLocked());
        say("unlock", unlock(several), two.getLock("a").isLocked());
    }

    public static void main(String[] words) throws Exception {
        String address = words[0] + ":" + words[1];
        RedissonClient one = client(address, 4_500);
        RedissonClient two = client(address, 30_000);
        ExecutorService other = Executors.newSingleThreadExecutor();
        locks(one, two, other);
        watchdog(one, two);
        otherKinds(one, two);
        other.shutdown();
        one.shutdown(0, 10, TimeUnit.SECONDS);
        two.shutdown(0, 10, TimeUnit.SECONDS);
    }
}
