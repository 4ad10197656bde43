/* The floor of every durable submit: one SQLite connection, the same columns in one table, spec,
 * transition and event beside it, committed in groups. */
#ifndef TESTS_BENCH_COMMIT_FLOOR_H
#define TESTS_BENCH_COMMIT_FLOOR_H

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SPEC = 700 };

static inline double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static inline void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* As an object's name is made: digits that grow with the time, here for 64 jobs alike, then random
 * ones. */
static inline void name_object(int64_t number, char out[64])
{
    unsigned scattered = (unsigned)((uint64_t)number * UINT64_C(2654435761) & 0xffffffU);
    (void)snprintf(out, 64, "mnist-%06llx%06x", (unsigned long long)number / 64, scattered);
}

struct floor {
    sqlite3 *db;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    sqlite3_stmt *job;
    sqlite3_stmt *spec;
    sqlite3_stmt *transition;
    sqlite3_stmt *event;
    int64_t made;
    char body[SPEC + 1];
};

static const char floor_schema[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000;"
    "PRAGMA cache_size=-65536;"
    "CREATE TABLE jobs (row INTEGER PRIMARY KEY, tenant INTEGER, id TEXT, name TEXT,"
    " object_name TEXT, namespace TEXT, state INTEGER, numbers TEXT, image TEXT, labels TEXT);"
    "CREATE UNIQUE INDEX jobs_id ON jobs (id);"
    "CREATE UNIQUE INDEX jobs_object ON jobs (object_name, namespace);"
    "CREATE INDEX jobs_state ON jobs (tenant, state);"
    "CREATE TABLE specs (job INTEGER PRIMARY KEY, spec TEXT);"
    "CREATE TABLE transitions (job INTEGER, sequence INTEGER, state INTEGER, cause INTEGER,"
    " at INTEGER, message TEXT, PRIMARY KEY (job, sequence)) WITHOUT ROWID;"
    "CREATE TABLE events (tenant INTEGER, sequence INTEGER, type INTEGER, at INTEGER, job INTEGER,"
    " job_id TEXT, message TEXT, PRIMARY KEY (tenant, sequence)) WITHOUT ROWID;";

static inline sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) != SQLITE_OK)
        die("prepare", sqlite3_errmsg(db));
    return stmt;
}

static inline void floor_open(struct floor *floor, const char *folder)
{
    char path[512];
    memset(floor->body, 'x', SPEC);
    (void)snprintf(path, sizeof(path), "%s/floor.db", folder);
    if (sqlite3_open(path, &floor->db) != SQLITE_OK ||
        sqlite3_exec(floor->db, floor_schema, NULL, NULL, NULL) != SQLITE_OK)
        die("floor", sqlite3_errmsg(floor->db));
    floor->begin = prepare(floor->db, "BEGIN IMMEDIATE");
    floor->commit = prepare(floor->db, "COMMIT");
    floor->job = prepare(floor->db, "INSERT INTO jobs VALUES (?1, 1, ?2, 'mnist', ?3, 'default', 0,"
                                    " '0 0 0 0 0 0 0 0 0 0 0 1 1 1 0 0 0 0 1767225600000000',"
                                    " 'pytorch/pytorch:2.0.0', '{}')");
    floor->spec = prepare(floor->db, "INSERT INTO specs VALUES (?1, ?2)");
    floor->transition = prepare(floor->db, "INSERT INTO transitions VALUES (?1, 1, 0, 1, ?2, '')");
    floor->event = prepare(floor->db, "INSERT INTO events VALUES (1, ?1, 1, ?2, ?1, ?3, '')");
}

static inline void step(sqlite3_stmt *stmt)
{
    if (sqlite3_step(stmt) != SQLITE_DONE)
        die("floor", sqlite3_errmsg(sqlite3_db_handle(stmt)));
    sqlite3_reset(stmt);
}

static inline double floor_many(struct floor *floor, int count, int group)
{
    double start = now();
    for (int i = 0; i < count; i++) {
        char id[40];
        char object_name[64];
        int64_t number = ++floor->made;
        (void)snprintf(id, sizeof(id), "job_%026lld", (long long)number);
        name_object(number, object_name);
        if (i % group == 0)
            step(floor->begin);
        sqlite3_bind_int64(floor->job, 1, number);
        sqlite3_bind_text(floor->job, 2, id, -1, SQLITE_STATIC);
        sqlite3_bind_text(floor->job, 3, object_name, -1, SQLITE_STATIC);
        step(floor->job);
        sqlite3_bind_int64(floor->spec, 1, number);
        sqlite3_bind_text(floor->spec, 2, floor->body, SPEC, SQLITE_STATIC);
        step(floor->spec);
        sqlite3_bind_int64(floor->transition, 1, number);
        sqlite3_bind_int64(floor->transition, 2, 1767225600000000);
        step(floor->transition);
        sqlite3_bind_int64(floor->event, 1, number);
        sqlite3_bind_int64(floor->event, 2, 1767225600000000);
        sqlite3_bind_text(floor->event, 3, id, -1, SQLITE_STATIC);
        step(floor->event);
        if (i % group == group - 1 || i == count - 1)
            step(floor->commit);
    }
    return (double)count / (now() - start);
}

#endif
