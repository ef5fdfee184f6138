/* The lock table of the limit program and its messages: open addressing over
 * entries that stay where they are. */
#ifndef LIMIT_TABLE_H
#define LIMIT_TABLE_H

#include "../net/limit.h"

enum {
    MESSAGE_BYTES = 64,
    KEY_BYTES = 48,
    FIRST_SLOTS = 1 << 16,
};

enum op { LOCK = 1, UNLOCK, RELEASE_ALL };
enum status { DONE, HELD, NOT_HELD };

struct message {
    uint8_t op;      /* of a request */
    uint8_t status;  /* of a reply */
    uint16_t owner;
    uint32_t number; /* comes back as it was sent */
    uint64_t fence;  /* of a reply: counts grants; for RELEASE_ALL: locks released */
    uint8_t key[KEY_BYTES];
};
_Static_assert(sizeof(struct message) == MESSAGE_BYTES, "64 bytes");

enum { NONE = 0 }; /* entry 0 is never used */

struct entry {
    uint8_t key[KEY_BYTES];
    uint32_t hash;
    uint16_t owner;
    uint16_t count;
    uint32_t earlier, later; /* of the same owner; `later` links free entries, too */
    uint64_t fence;
};

struct table {
    uint32_t *slots;
    uint32_t mask, used;
    struct entry *entries;
    uint32_t entries_end, entries_capacity, first_free;
    uint32_t first_of[UINT16_MAX + 1];
    uint64_t fence;
};

static struct table table;

static uint32_t hash_of(const uint8_t *key)
{
    uint64_t words[KEY_BYTES / 8], hash = 0x9e3779b97f4a7c15u;
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < KEY_BYTES / 8; i++) {
        hash = (hash ^ words[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

/* The slot that holds `key`, or the free one where it belongs. */
static uint32_t slot_of(const uint8_t *key, uint32_t hash)
{
    uint32_t slot = hash & table.mask;
    for (; table.slots[slot] != NONE; slot = (slot + 1) & table.mask) {
        const struct entry *entry = &table.entries[table.slots[slot]];
        if (entry->hash == hash && memcmp(entry->key, key, KEY_BYTES) == 0)
            break;
    }
    return slot;
}

static void set_slots(uint32_t count)
{
    free(table.slots);
    table.slots = calloc(count, sizeof *table.slots);
    if (table.slots == NULL)
        die("no memory for %u slots", count);
    table.mask = count - 1;
}

static void grow(void)
{
    const uint32_t *old = table.slots;
    const uint32_t old_count = table.mask + 1;
    table.slots = NULL;
    set_slots(2 * old_count);
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i] == NONE)
            continue;
        uint32_t slot = table.entries[old[i]].hash & table.mask;
        while (table.slots[slot] != NONE)
            slot = (slot + 1) & table.mask;
        table.slots[slot] = old[i];
    }
    free((void *)old);
}

static uint32_t new_entry(void)
{
    const uint32_t reused = table.first_free;
    if (reused != NONE) {
        table.first_free = table.entries[reused].later;
        return reused;
    }
    if (table.entries_end == table.entries_capacity) {
        table.entries_capacity *= 2;
        table.entries = realloc(table.entries, table.entries_capacity * sizeof *table.entries);
        if (table.entries == NULL)
            die("no memory for %u locks", table.entries_capacity);
    }
    return table.entries_end++;
}

static void insert(uint32_t slot, const struct message *request, uint32_t hash)
{
    const uint32_t index = new_entry();
    struct entry *entry = &table.entries[index];
    const uint32_t second = table.first_of[request->owner];
    *entry = (struct entry){ .hash = hash, .owner = request->owner, .count = 1,
                             .later = second, .fence = ++table.fence };
    memcpy(entry->key, request->key, KEY_BYTES);
    if (second != NONE)
        table.entries[second].earlier = index;
    table.first_of[request->owner] = index;
    table.slots[slot] = index;
    if (++table.used * 2 > table.mask)
        grow();
}

/* Whatever stands behind a freed slot and could not be found across it moves up. */
static void free_slot(uint32_t slot)
{
    uint32_t gap = slot;
    for (uint32_t next = (gap + 1) & table.mask; table.slots[next] != NONE;
         next = (next + 1) & table.mask) {
        const uint32_t home = table.entries[table.slots[next]].hash & table.mask;
        if (((next - home) & table.mask) >= ((next - gap) & table.mask)) {
            table.slots[gap] = table.slots[next];
            gap = next;
        }
    }
    table.slots[gap] = NONE;
}

static void remove_at(uint32_t slot)
{
    const uint32_t index = table.slots[slot];
    struct entry *entry = &table.entries[index];
    free_slot(slot);
    if (entry->earlier != NONE)
        table.entries[entry->earlier].later = entry->later;
    else
        table.first_of[entry->owner] = entry->later;
    if (entry->later != NONE)
        table.entries[entry->later].earlier = entry->earlier;
    entry->later = table.first_free;
    table.first_free = index;
    table.used--;
}

static enum status lock(const struct message *request, uint64_t *fence)
{
    const uint32_t hash = hash_of(request->key);
    const uint32_t slot = slot_of(request->key, hash);
    if (table.slots[slot] == NONE) {
        insert(slot, request, hash);
        *fence = table.fence;
        return DONE;
    }
    struct entry *entry = &table.entries[table.slots[slot]];
    *fence = entry->fence;
    if (entry->owner != request->owner)
        return HELD;
    entry->count++;
    return DONE;
}

static enum status unlock(const struct message *request)
{
    const uint32_t slot = slot_of(request->key, hash_of(request->key));
    if (table.slots[slot] == NONE)
        return NOT_HELD;
    struct entry *entry = &table.entries[table.slots[slot]];
    if (entry->owner != request->owner)
        return HELD;
    if (--entry->count == 0)
        remove_at(slot);
    return DONE;
}

static uint64_t release_all(uint16_t owner)
{
    uint64_t released = 0;
    while (table.first_of[owner] != NONE) {
        const struct entry *entry = &table.entries[table.first_of[owner]];
        remove_at(slot_of(entry->key, entry->hash));
        released++;
    }
    return released;
}

static void new_table(void)
{
    table.entries_capacity = FIRST_SLOTS;
    table.entries = allocate(table.entries_capacity * sizeof *table.entries);
    table.entries_end = NONE + 1;
    set_slots(FIRST_SLOTS);
}

static void serve_message(struct message *m)
{
    switch (m->op) {
    case LOCK: m->status = (uint8_t)lock(m, &m->fence); break;
    case UNLOCK: m->status = (uint8_t)unlock(m); break;
    case RELEASE_ALL: m->fence = release_all(m->owner); m->status = DONE; break;
    default: die("a request of kind %u", m->op);
    }
}

#endif
