/* The least that a durable queue in SQLite costs: groups of messages in a table, each group flushed.
 *
 *   limit_queue FILE MESSAGES BYTES GROUP
 *
 * Inserts MESSAGES of BYTES in transactions of GROUP (write-ahead log, full synchronization, pages of
 * 16 KiB), then gives them out and deletes them in the same groups. Prints messages a second of both,
 * the processor time of one in microseconds, and the 99.9th percentile of the commits in
 * milliseconds. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static void do_sql(const char *text)
{
    if (sqlite3_exec(database, text, NULL, NULL, NULL) != SQLITE_OK)
        die(text);
}

static sqlite3_stmt *prepared(const char *text)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, text, -1, &statement, NULL) != SQLITE_OK)
        die(text);
    return statement;
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void commit(double *took)
{
    const double began = seconds(CLOCK_MONOTONIC);
    do_sql("COMMIT");
    *took = seconds(CLOCK_MONOTONIC) - began;
}

static void step(sqlite3_stmt *statement)
{
    if (sqlite3_step(statement) != SQLITE_DONE)
        die("step");
    sqlite3_reset(statement);
}

int main(int count, char **words)
{
    if (count != 5) {
        fprintf(stderr, "usage: limit_queue FILE MESSAGES BYTES GROUP\n");
        return 2;
    }
    const long messages = atol(words[2]), bytes = atol(words[3]), group = atol(words[4]);
    if (messages < 1 || bytes < 1 || group < 1 || sqlite3_open(words[1], &database) != SQLITE_OK)
        die(words[1]);
    do_sql("PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
           "PRAGMA wal_autocheckpoint=4096;"
           "CREATE TABLE message (id INTEGER PRIMARY KEY, body BLOB)");
    char *body = malloc((size_t)bytes);
    double *commits = calloc((size_t)(messages / group + 1), sizeof *commits);
    memset(body, 'x', (size_t)bytes);
    sqlite3_stmt *insert = prepared("INSERT INTO message VALUES (?, ?)");
    double began = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    long groups = 0;
    for (long id = 0; id < messages; groups++) {
        do_sql("BEGIN");
        for (long in = 0; in < group && id < messages; in++, id++) {
            sqlite3_bind_int64(insert, 1, id + 1);
            sqlite3_bind_blob(insert, 2, body, (int)bytes, SQLITE_STATIC);
            step(insert);
        }
        commit(&commits[groups]);
    }
    const double accepted = seconds(CLOCK_MONOTONIC) - began;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    qsort(commits, (size_t)groups, sizeof *commits, by_value);
    const long at = groups - 1 - groups / 1000;
    began = seconds(CLOCK_MONOTONIC);
    sqlite3_stmt *claim = prepared("SELECT body FROM message WHERE id > ? ORDER BY id LIMIT ?");
    sqlite3_stmt *forget = prepared("DELETE FROM message WHERE id > ? AND id <= ?");
    for (long last = 0; last < messages; last += group) {
        double ignored;
        sqlite3_bind_int64(claim, 1, last);
        sqlite3_bind_int64(claim, 2, group);
        while (sqlite3_step(claim) == SQLITE_ROW)
            body[0] = *(const char *)sqlite3_column_blob(claim, 0);
        sqlite3_reset(claim);
        do_sql("BEGIN");
        sqlite3_bind_int64(forget, 1, last);
        sqlite3_bind_int64(forget, 2, last + group);
        step(forget);
        commit(&ignored);
    }
    const double drained = seconds(CLOCK_MONOTONIC) - began;
    printf("{\"accepted_per_s\": %.0f, \"drained_per_s\": %.0f, \"cpu_us\": %.2f,"
           " \"commit_p999_ms\": %.2f}\n",
           (double)messages / accepted, (double)messages / drained, cpu / (double)messages * 1e6,
           commits[at] * 1e3);
    return 0;
}
