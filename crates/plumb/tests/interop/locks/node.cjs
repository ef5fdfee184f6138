// redlock of node, versions 4 and 5, as they are, against one server.
//
//     node node.cjs HOST PORT
//
// PLUMB_TEST_NODE names the folder with the packages. Prints what each saw, a line a step: the same
// for every server that does what Redis does.
"use strict";

const { createRequire } = require("node:module");
const load = createRequire(`${process.env.PLUMB_TEST_NODE}/`);
const Redis = load("ioredis");
const Redlock4 = load("redlock4");
const { default: Redlock5 } = load("redlock5");

const [host, port] = process.argv.slice(2);
const minute = 60_000;
const connect = () => new Redis(Number(port), host);
const say = (step, seen) => console.log(`${step}: ${JSON.stringify(seen)}`);
const failed = (promise) => promise.then(() => "done", (error) => error.name);

async function version4(one, two) {
    const once = { retryCount: 0 };
    const mine = new Redlock4([one], once);
    const other = new Redlock4([two], once);
    say("script before", await one.script("EXISTS", mine.scripts.lockScript.hash));
    const lock = await mine.lock("orders", minute);
    say("script after", await one.script("EXISTS", mine.scripts.lockScript.hash));
    say("value", (await two.get("orders")) === lock.value);
    say("taken", await failed(other.lock("orders", minute)));
    say("part taken", await failed(other.lock(["invoices", "orders"], minute)));
    say("nothing of it", await two.exists("invoices"));
    const before = await two.pttl("orders");
    await lock.extend(10 * minute);
    say("extended", (await two.pttl("orders")) > before);
    await lock.unlock();
    say("unlocked", await two.exists("orders"));
    say("again", await failed(lock.unlock()));
    const several = await other.lock(["a", "b", "c"], minute);
    say("several", await one.exists("a", "b", "c"));
    say("of them", await failed(mine.lock("b", minute)));
    await several.unlock();
    say("all gone", await one.exists("a", "b", "c"));
    const twice = await mine.lock(["d", "d"], minute);
    say("named twice", await one.exists("d"));
    say("and released", [await failed(twice.unlock()), await one.exists("d")]);
    await mine.lock("short", 50);
    const patient = new Redlock4([two], { retryCount: -1, retryDelay: 10, retryJitter: 0 });
    const next = await patient.lock("short", minute);
    say("after its time", (await one.get("short")) === next.value);
    await next.unlock();
}

async function version5(one, two) {
    const mine = new Redlock5([one], { retryCount: 0 });
    const other = new Redlock5([two], { retryCount: 0 });
    const lock = await mine.acquire(["orders"], minute);
    say("value", (await two.get("orders")) === lock.value);
    say("taken", await failed(other.acquire(["orders"], minute)));
    say("part taken", await failed(other.acquire(["invoices", "orders"], minute)));
    say("nothing of it", await two.exists("invoices"));
    const longer = await lock.extend(10 * minute);
    say("extended", (await two.pttl("orders")) > minute);
    await longer.release();
    say("released", await two.exists("orders"));
    say("again", await failed(longer.release()));
    const stays = await mine.acquire(["a", "b"], minute);
    const broken = { ...stays, resources: ["a", "b", "c"], expiration: Date.now() + minute };
    say("extended in part", await failed(mine.extend(broken, minute)));
    say("released in part", await failed(mine.release(broken)));
    say("what is left", await one.exists("a", "b"));
    const held = { automaticExtensionThreshold: 1_000 };
    const seen = await mine.using(["used"], 1_200, held, async (signal) => {
        let least = await two.pttl("used");
        for (;;) {
            const now = await two.pttl("used");
            if (now > least || signal.aborted) return [now > least, signal.aborted];
            least = now;
        }
    });
    say("extended by itself", seen);
    say("and gone", await one.exists("used"));
}

async function main() {
    const [one, two] = [connect(), connect()];
    for (const [name, version] of [["redlock 4", version4], ["redlock 5", version5]]) {
        console.log(name);
        await version(one, two);
    }
    await Promise.all([one.quit(), two.quit()]);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
