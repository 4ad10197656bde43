/* Opening, migrating, refusing: what a start and a bad disk look like. */
#include "sim_vfs.h"
#include "store/conn.h"
#include "store/migrate.h"
#include "store_fixture.h"
#include "trainyard/base/file.h"
#include "trainyard/base/str.h"
#include "trainyard/domain/policy.h"
#include "trainyard/store/tenants.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int start_threaded(void **state)
{
    struct store_fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    store_fixture_start(fixture, true);
    *state = fixture;
    return 0;
}

static void path_of(const struct store_fixture *fixture, const char *name, char out[128])
{
    (void)snprintf(out, 128, "%s/%s", fixture->folder, name);
}

/* --- opening --- */

static ty_status open_expecting(struct store_fixture *fixture, const char *words)
{
    struct ty_error err = {0};
    struct ty_store *store = (struct ty_store *)fixture; /* must stay untouched */
    ty_status status = ty_store_open(&fixture->options, &store, &err);
    if (status == TY_OK) {
        ty_store_close(store);
        return status;
    }
    assert_ptr_equal(store, fixture);
    if (words && !strstr(err.text, words))
        fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    assert_null(strstr(err.text, fixture->folder));
    return status;
}

static void a_second_opener_is_refused_with_the_process_number(void **state)
{
    struct store_fixture *fixture = *state;
    char words[64];
    (void)snprintf(words, sizeof(words), "process %ld has this data folder open", (long)getpid());
    assert_int_equal(open_expecting(fixture, words), TY_CONFLICT);
    store_fixture_close(fixture);
    assert_int_equal(open_expecting(fixture, NULL), TY_OK);
    store_fixture_open(fixture);
}

/* The daemon was killed, and a child that it had only forked outlives it by a tenth of a second. */
static void a_lock_that_a_dead_daemon_left_to_its_child_is_waited_for(void **state)
{
    struct store_fixture *fixture = *state;
    char path[128];
    path_of(fixture, "trainyard.lock", path);
    store_fixture_close(fixture);
    pid_t daemon = fork();
    if (daemon == 0) {
        int fd = open(path, O_RDWR | O_TRUNC);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 || dprintf(fd, "%ld\n", (long)getpid()) < 0)
            _exit(1);
        pid_t child = fork();
        if (child == 0) {
            usleep(100 * 1000);
            _exit(0);
        }
        _exit(child < 0 ? 1 : 0);
    }
    int died = 0;
    assert_int_equal(waitpid(daemon, &died, 0), daemon);
    assert_int_equal(died, 0);
    int fd = open(path, O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
    close(fd);
    assert_int_equal(open_expecting(fixture, NULL), TY_OK);
    store_fixture_open(fixture);
}

static void a_foreign_writer_keeps_the_store_closed(void **state)
{
    struct store_fixture *fixture = *state;
    char path[128];
    sqlite3 *db = NULL;
    path_of(fixture, "trainyard.db", path);
    store_fixture_close(fixture);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(open_expecting(fixture, "another program"), TY_CONFLICT);
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    store_fixture_open(fixture);
}

static void a_missing_folder_has_its_own_words(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_fixture other = *fixture;
    other.options.folder = "/nonexistent/trainyard";
    assert_int_equal(open_expecting(&other, "open the data folder"), TY_NOT_FOUND);
}

static void what_was_written_is_there_after_a_restart(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct ty_tenant_counts counts = {0};
    unsigned char key[32];
    for (int i = 0; i < 20; i++)
        test_job_make(fixture, "mnist", "{\"a\":\"b\"}");
    memcpy(key, ty_store_key(fixture->store), sizeof(key));
    store_fixture_close(fixture);
    store_fixture_open(fixture);
    assert_int_equal(ty_tenants_count(fixture->reader, fixture->tenant, &counts, &err), TY_OK);
    assert_int_equal(counts.jobs, 20);
    assert_memory_equal(key, ty_store_key(fixture->store), sizeof(key));
}

static void files_are_for_their_owner_only(void **state)
{
    static const char *const names[] = {"trainyard.db", "store.key", "trainyard.lock",
                                        "trainyard.db-wal"};
    struct store_fixture *fixture = *state;
    test_job_make(fixture, "mnist", NULL);
    for (size_t i = 0; i < UNIT_COUNT(names); i++) {
        char path[128];
        struct stat about;
        path_of(fixture, names[i], path);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
    }
}

static void a_damaged_key_is_told(void **state)
{
    struct store_fixture *fixture = *state;
    char path[128];
    struct ty_error err = {0};
    path_of(fixture, "store.key", path);
    store_fixture_close(fixture);
    assert_int_equal(ty_file_write(AT_FDCWD, path, "short", 5, 0600, &err), TY_OK);
    assert_int_equal(open_expecting(fixture, "store.key is damaged"), TY_CORRUPT);
    assert_int_equal(unlink(path), 0);
    store_fixture_open(fixture);
}

/* --- migrations --- */

static void run_sql(struct store_fixture *fixture, const char *sql)
{
    char path[128];
    sqlite3 *db = NULL;
    path_of(fixture, "trainyard.db", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void a_newer_database_is_refused_and_left_alone(void **state)
{
    struct store_fixture *fixture = *state;
    store_fixture_close(fixture);
    run_sql(fixture, "PRAGMA user_version = 1000");
    assert_int_equal(open_expecting(fixture, "schema version 1000"), TY_UNSUPPORTED);
    char back[64];
    (void)snprintf(back, sizeof(back), "PRAGMA user_version = %d",
                   ty_migrations[ty_migrations_count - 1].version);
    run_sql(fixture, back);
    store_fixture_open(fixture);
}

static void a_database_of_another_program_is_refused_and_left_alone(void **state)
{
    struct store_fixture *fixture = *state;
    char path[128];
    char log[160];
    store_fixture_close(fixture);
    path_of(fixture, "trainyard.db", path);
    (void)snprintf(log, sizeof(log), "%s-wal", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(log), 0);
    run_sql(fixture, "CREATE TABLE recipes (name TEXT); PRAGMA user_version = 3");
    assert_int_equal(open_expecting(fixture, "another program"), TY_CORRUPT);
    assert_int_not_equal(access(log, F_OK), 0); /* not even switched to a log */
    assert_int_equal(unlink(path), 0);
    store_fixture_open(fixture);
}

static void every_older_version_is_brought_up(void **state)
{
    struct store_fixture *fixture = *state;
    for (size_t version = 0; version <= ty_migrations_count; version++) {
        char path[128];
        struct ty_conn conn;
        struct ty_error err = {0};
        store_fixture_close(fixture);
        path_of(fixture, "trainyard.db", path);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(ty_conn_open(&conn, path, NULL, true, &err), TY_OK);
        assert_int_equal(ty_migrate(&conn, ty_migrations, version, &err), TY_OK);
        ty_conn_close(&conn);
        store_fixture_open(fixture);
        test_job_make(fixture, "mnist", NULL);
    }
}

static bool note_policy(void *context, const struct ty_tenant_record *tenant)
{
    char *told = context;
    snprintf(told + strlen(told), 512 - strlen(told), "%s %s\n", tenant->name, tenant->policy);
    return true;
}

static void tenants_from_before_policies_may_do_what_they_could(void **state)
{
    static const char before[] = "INSERT INTO tenants VALUES (1, 'default', 'default', NULL, -1, "
                                 "-1, -1, -1, -1, 0, 1, 1, 1),"
                                 " (2, 'team', 'team', NULL, -1, -1, -1, -1, -1, 0, 1, 1, 1)";
    struct store_fixture *fixture = *state;
    char path[128];
    char told[512] = "";
    struct ty_conn conn;
    struct ty_error err = {0};
    store_fixture_close(fixture);
    path_of(fixture, "trainyard.db", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ty_conn_open(&conn, path, NULL, true, &err), TY_OK);
    assert_int_equal(ty_migrate(&conn, ty_migrations, 5, &err), TY_OK);
    assert_int_equal(ty_conn_exec(&conn, before, "tenants", &err), TY_OK);
    ty_conn_close(&conn);
    store_fixture_open(fixture);
    assert_int_equal(ty_tenants_list(fixture->reader, 0, 10, note_policy, told, &err), TY_OK);
    assert_string_equal(
        told, "default " TY_POLICY_OPEN "\n"
              "team {\"images\":[\"*\"],\"volumes\":[\"*\"],\"storage_classes\":[\"*\"]}\n");
}

static void a_failing_migration_leaves_the_version_before_it(void **state)
{
    static const struct ty_migration steps[] = {
        {1, "0001_one",  "CREATE TABLE one (a INTEGER) STRICT;"                              },
        {2, "0002_bad",  "CREATE TABLE two (a INTEGER) STRICT; INSERT INTO three VALUES (1);"},
        {3, "0003_more", "CREATE TABLE four (a INTEGER) STRICT;"                             },
    };
    struct ty_conn conn;
    struct ty_error err = {0};
    int64_t value = 0;
    (void)state;
    assert_int_equal(ty_conn_open(&conn, ":memory:", NULL, true, &err), TY_OK);
    assert_int_equal(ty_migrate(&conn, steps, UNIT_COUNT(steps), &err), TY_INTERNAL);
    assert_non_null(strstr(err.text, "migration 2"));
    assert_int_equal(ty_conn_int(&conn, "PRAGMA user_version", -1, &value, &err), TY_OK);
    assert_int_equal(value, 1);
    assert_int_equal(ty_conn_int(&conn, "SELECT count(*) FROM sqlite_schema WHERE name = 'two'", -1,
                                 &value, &err),
                     TY_OK);
    assert_int_equal(value, 0);
    ty_conn_close(&conn);
}

static void every_statement_of_the_table_can_be_prepared(void **state)
{
    struct store_fixture *fixture = *state;
    char path[128];
    struct ty_conn conn;
    struct ty_error err = {0};
    store_fixture_close(fixture);
    path_of(fixture, "trainyard.db", path);
    assert_int_equal(ty_conn_open(&conn, path, NULL, true, &err), TY_OK);
    for (int sql = 0; sql < TY_SQL_COUNT; sql++) {
        sqlite3_stmt *stmt = NULL;
        assert_non_null(ty_sql_text((ty_sql)sql));
        if (ty_conn_stmt(&conn, (ty_sql)sql, &stmt, &err) != TY_OK)
            fail_msg("%s: %s", ty_sql_text((ty_sql)sql), sqlite3_errmsg(conn.db));
    }
    ty_conn_close(&conn);
    store_fixture_open(fixture);
}

/* No statement may walk a whole large table. */
static void no_statement_scans_a_table_that_grows_with_the_jobs(void **state)
{
    static const ty_sql may_scan[] = {TY_SQL_IDEMPOTENCY_OLDEST, TY_SQL_TOKEN_LOAD,
                                      TY_SQL_LEFTOVER_FIRST,     TY_SQL_JOB_LABELS_INSERT,
                                      TY_SQL_JOB_LABELS_DELETE,  TY_SQL_TENANT_LIST};
    struct store_fixture *fixture = *state;
    char path[128];
    struct ty_conn conn;
    struct ty_error err = {0};
    store_fixture_close(fixture);
    path_of(fixture, "trainyard.db", path);
    assert_int_equal(ty_conn_open(&conn, path, NULL, true, &err), TY_OK);
    for (int sql = TY_SQL_TENANT_INSERT; sql < TY_SQL_COUNT; sql++) {
        bool allowed = false;
        char text[2048];
        sqlite3_stmt *plan = NULL;
        for (size_t i = 0; i < UNIT_COUNT(may_scan); i++)
            allowed = allowed || may_scan[i] == (ty_sql)sql;
        (void)snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", ty_sql_text((ty_sql)sql));
        assert_int_equal(sqlite3_prepare_v2(conn.db, text, -1, &plan, NULL), SQLITE_OK);
        while (!allowed && sqlite3_step(plan) == SQLITE_ROW) {
            const char *line = (const char *)sqlite3_column_text(plan, 3);
            if (strstr(line, "TEMP B-TREE") ||
                (strncmp(line, "SCAN ", 5) == 0 && strcmp(line, "SCAN CONSTANT ROW") != 0))
                fail_msg("%s: %s", ty_sql_text((ty_sql)sql), line);
        }
        sqlite3_finalize(plan);
    }
    ty_conn_close(&conn);
    store_fixture_open(fixture);
}

/* --- damage --- */

static void flipped_bytes_are_told_at_the_start(void **state)
{
    struct sim_vfs *vfs = sim_vfs_create("sim-flip", 5);
    struct store_fixture fixture = {0};
    struct ty_error err = {0};
    size_t told = 0;
    (void)state;
    test_clock_init(&fixture.time, 1000000);
    fixture.options =
        (struct ty_store_options){.folder = "sim", .vfs = "sim-flip", .clock = &fixture.time.clock};
    store_fixture_open(&fixture);
    for (int i = 0; i < 200; i++)
        test_job_make(&fixture, "mnist", "{\"a\":\"b\"}");
    store_fixture_close(&fixture);
    /* A flip may hit a value that nothing can know to be wrong; many flips cannot all. */
    assert_int_equal(sim_vfs_flip(vfs, "trainyard.db", 400), 400);
    if (ty_store_open(&fixture.options, &fixture.store, &err) != TY_OK) {
        assert_int_equal(err.status, TY_CORRUPT);
        assert_true(strstr(err.text, "damaged") || strstr(err.text, "not a database") ||
                    strstr(err.text, "malformed") || strstr(err.text, "another program"));
        told = 1;
    }
    assert_int_equal(told, 1);
    sim_vfs_destroy(vfs);
}

static void a_file_that_is_no_database_is_told(void **state)
{
    struct store_fixture *fixture = *state;
    char path[128];
    char noise[8192];
    struct ty_error err = {0};
    path_of(fixture, "trainyard.db", path);
    store_fixture_close(fixture);
    memset(noise, 'z', sizeof(noise));
    assert_int_equal(ty_file_write(AT_FDCWD, path, noise, sizeof(noise), 0600, &err), TY_OK);
    assert_int_equal(open_expecting(fixture, "not a database"), TY_CORRUPT);
    assert_int_equal(unlink(path), 0);
    store_fixture_open(fixture);
}

/* Overwrite the root page of a table: nothing that an open reads, but part of the file's structure.
 */
static void damage_table(struct store_fixture *fixture, const char *table)
{
    char path[128];
    char sql[96];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    static const char noise[4096] = {0x0d, 0x7f, 0x7f, 0x7f, 0x7f};
    path_of(fixture, "trainyard.db", path);
    (void)snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", table);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    off_t at = (sqlite3_column_int64(stmt, 0) - 1) * 4096;
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, noise, sizeof(noise), at), sizeof(noise));
    close(fd);
}

static ty_status insert(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_jobs_insert(writer, context, NULL, err);
}

static void a_large_database_is_checked_beside_the_service(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    static char big[1000000];
    ty_status status = TY_OK;
    memset(big, 'x', sizeof(big));
    for (int i = 0; i < 20; i++) {
        struct test_job job;
        test_job_init(&job, fixture, "mnist", NULL);
        job.insert.spec = big;
        job.insert.spec_len = sizeof(big);
        test_job_store(fixture, &job);
    }
    store_fixture_close(fixture);
    store_fixture_open(fixture);
    assert_int_equal(ty_store_health(fixture->store, &err), TY_OK);
    store_fixture_close(fixture);
    damage_table(fixture, "job_leftovers");
    store_fixture_open(fixture); /* serves at once */
    for (int i = 0; i < 600 && status == TY_OK; i++) {
        usleep(50000);
        status = ty_store_health(fixture->store, &err);
    }
    assert_int_equal(status, TY_CORRUPT);
    assert_string_equal(err.code, "storage_corrupt");
    struct test_job job;
    test_job_init(&job, fixture, "mnist", NULL);
    assert_int_equal(store_apply(fixture->store, insert, &job.insert, &err), TY_CORRUPT);
}

/* --- a disk that refuses --- */

static ty_status try_job(struct store_fixture *fixture, struct ty_error *err)
{
    struct test_job job;
    test_job_init(&job, fixture, "mnist", NULL);
    return store_apply(fixture->store, insert, &job.insert, err);
}

static void a_full_disk_is_told_and_left_by_itself(void **state)
{
    struct sim_vfs *vfs = sim_vfs_create("sim-full", 6);
    struct store_fixture fixture = {0};
    struct ty_error err = {0};
    (void)state;
    test_clock_init(&fixture.time, 1000000);
    fixture.options =
        (struct ty_store_options){.folder = "sim", .vfs = "sim-full", .clock = &fixture.time.clock};
    store_fixture_open(&fixture);
    for (int cycle = 0; cycle < 20; cycle++) {
        struct ty_tenant_counts before;
        struct ty_tenant_counts after;
        int stored = 0;
        assert_int_equal(ty_tenants_count(fixture.reader, fixture.tenant, &before, &err), TY_OK);
        sim_vfs_set_capacity(vfs, sim_vfs_used(vfs) + 30000);
        while (try_job(&fixture, &err) == TY_OK)
            stored++;
        assert_int_equal(err.status, TY_STORAGE_FULL);
        assert_string_equal(err.code, "storage_full");
        assert_int_equal(ty_store_health(fixture.store, &err), TY_STORAGE_FULL);
        assert_int_equal(try_job(&fixture, &err), TY_STORAGE_FULL); /* at once */
        assert_int_equal(ty_tenants_count(fixture.reader, fixture.tenant, &after, &err), TY_OK);
        assert_int_equal(after.jobs, before.jobs + stored);
        sim_vfs_set_capacity(vfs, 0);
        (void)ty_store_drain(fixture.store); /* probes */
        assert_int_equal(ty_store_health(fixture.store, &err), TY_OK);
        assert_int_equal(try_job(&fixture, &err), TY_OK);
    }
    store_fixture_close(&fixture);
    sim_vfs_destroy(vfs);
}

static void a_failed_sync_stops_writes_until_the_next_start(void **state)
{
    struct sim_vfs *vfs = sim_vfs_create("sim-sync", 7);
    struct store_fixture fixture = {0};
    struct ty_store_figures figures;
    struct ty_error err = {0};
    (void)state;
    test_clock_init(&fixture.time, 1000000);
    fixture.options =
        (struct ty_store_options){.folder = "sim", .vfs = "sim-sync", .clock = &fixture.time.clock};
    store_fixture_open(&fixture);
    test_job_make(&fixture, "mnist", NULL);
    sim_vfs_fail_nth(vfs, SIM_SYNC, 1);
    assert_int_equal(try_job(&fixture, &err), TY_UNAVAILABLE);
    assert_string_equal(err.code, "storage_broken");
    for (int i = 0; i < 3; i++) {
        (void)ty_store_drain(fixture.store);
        assert_int_equal(try_job(&fixture, &err), TY_UNAVAILABLE);
    }
    ty_store_figures(fixture.store, &figures);
    assert_int_equal(figures.fsync_errors, 1);
    assert_int_equal(figures.failed_commits, 1);
    store_fixture_close(&fixture);
    sim_vfs_kill(vfs);
    store_fixture_open(&fixture);
    assert_int_equal(try_job(&fixture, &err), TY_OK);
    store_fixture_close(&fixture);
    sim_vfs_destroy(vfs);
}

static void a_write_error_is_told_and_left_by_itself(void **state)
{
    struct sim_vfs *vfs = sim_vfs_create("sim-eio", 8);
    struct store_fixture fixture = {0};
    struct ty_error err = {0};
    (void)state;
    test_clock_init(&fixture.time, 1000000);
    fixture.options =
        (struct ty_store_options){.folder = "sim", .vfs = "sim-eio", .clock = &fixture.time.clock};
    store_fixture_open(&fixture);
    for (uint64_t nth = 1; nth < 12; nth++) {
        sim_vfs_fail_nth(vfs, SIM_WRITE, nth);
        ty_status status = try_job(&fixture, &err);
        sim_vfs_fail_nth(vfs, SIM_WRITE, 0);
        assert_true(status == TY_OK || status == TY_UNAVAILABLE);
        if (status != TY_OK)
            assert_string_equal(err.code, "storage_failing");
        (void)ty_store_drain(fixture.store);
        assert_int_equal(ty_store_health(fixture.store, &err), TY_OK);
    }
    store_fixture_close(&fixture);
    sim_vfs_destroy(vfs);
}

/* A real small disk: a tmpfs where we may mount one, else a limit on the size of files. */
static bool make_small(const struct store_fixture *fixture, bool *mounted_out)
{
    const struct rlimit little = {2000000, RLIM_INFINITY};
    *mounted_out = mount("none", fixture->folder, "tmpfs", 0, "size=2m") == 0;
    if (*mounted_out)
        return true;
    (void)signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &little) == 0;
}

static bool make_large(const struct store_fixture *fixture, bool mounted)
{
    const struct rlimit any = {RLIM_INFINITY, RLIM_INFINITY};
    if (mounted)
        return mount("none", fixture->folder, "tmpfs", MS_REMOUNT, "size=64m") == 0;
    return setrlimit(RLIMIT_FSIZE, &any) == 0;
}

static ty_status fill_disk(struct store_fixture *fixture, struct ty_error *err)
{
    static char big[20000];
    ty_status status = TY_OK;
    memset(big, 'x', sizeof(big));
    for (int i = 0; i < 1000 && status == TY_OK; i++) {
        struct test_job job;
        test_job_init(&job, fixture, "mnist", NULL);
        job.insert.spec = big;
        job.insert.spec_len = sizeof(big);
        status = store_apply(fixture->store, insert, &job.insert, err);
    }
    return status;
}

static void a_real_full_disk_is_told_and_left_by_itself(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct ty_tenant_counts counts;
    bool mounted = false;
    store_fixture_close(fixture);
    assert_true(make_small(fixture, &mounted));
    store_fixture_open(fixture);
    ty_status filled = fill_disk(fixture, &err);
    ty_status refused = try_job(fixture, &err);
    ty_status read = ty_tenants_count(fixture->reader, fixture->tenant, &counts, &err);
    assert_true(make_large(fixture, mounted));
    ty_status status = TY_STORAGE_FULL;
    for (int i = 0; i < 100 && status != TY_OK; i++) {
        atomic_fetch_add(&fixture->time.monotonic_ms, 1500);
        usleep(100000);
        status = try_job(fixture, &err);
    }
    store_fixture_close(fixture);
    if (mounted)
        assert_int_equal(umount2(fixture->folder, MNT_DETACH), 0);
    store_fixture_open(fixture);
    assert_int_equal(filled, TY_STORAGE_FULL);
    assert_int_equal(refused, TY_STORAGE_FULL);
    assert_int_equal(read, TY_OK);
    assert_int_equal(status, TY_OK);
}

static void a_read_only_folder_has_its_own_words(void **state)
{
    struct store_fixture *fixture = *state;
    char path[128];
    store_fixture_close(fixture);
    bool mounted = mount(fixture->folder, fixture->folder, NULL, MS_BIND, NULL) == 0 &&
                   mount(NULL, fixture->folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
    if (!mounted) {
        path_of(fixture, "trainyard.lock", path);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(chmod(fixture->folder, 0500), 0);
    }
    if (mounted || geteuid() != 0)
        assert_int_equal(open_expecting(fixture, "cannot be written"), TY_UNAVAILABLE);
    if (mounted)
        assert_int_equal(umount2(fixture->folder, MNT_DETACH), 0);
    else
        assert_int_equal(chmod(fixture->folder, 0700), 0);
    store_fixture_open(fixture);
}

/* --- the queue --- */

struct counted {
    struct ty_write write;
    struct store_fixture *fixture;
    ty_status asked; /* what apply returns, after it has written */
    ty_status told;
    char code[64];
    int applied;
    int ended;
    struct test_job job;
};

static ty_status counted_apply(struct ty_writer *writer, struct ty_write *write,
                               struct ty_error *err)
{
    struct counted *self = (struct counted *)write;
    self->applied++;
    ty_status status = ty_jobs_insert(writer, &self->job.insert, NULL, err);
    if (status == TY_OK && self->asked != TY_OK)
        return ty_fail_code(err, self->asked, "on_purpose", "on purpose");
    return status;
}

static void counted_done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    struct counted *self = (struct counted *)write;
    self->ended++;
    self->told = status;
    ty_str_copy(self->code, sizeof(self->code), err ? err->code : "");
}

static void counted_init(struct counted *self, struct store_fixture *fixture)
{
    memset(self, 0, sizeof(*self));
    self->write = (struct ty_write){.apply = counted_apply, .done = counted_done};
    self->fixture = fixture;
    test_job_init(&self->job, fixture, "mnist", NULL);
}

static void one_failing_write_does_not_undo_the_others(void **state)
{
    enum { WRITES = 10 };
    static const struct {
        const char *what;
        ty_status asked[WRITES];
    } cases[] = {
        {"none",      {0}                                                                         },
        {"the first", {TY_REFUSED}                                                                },
        {"the last",  {TY_OK, TY_OK, TY_OK, TY_OK, TY_OK, TY_OK, TY_OK, TY_OK, TY_OK, TY_CONFLICT}},
        {"some",      {[2] = TY_REFUSED, [3] = TY_INTERNAL, [7] = TY_LIMITED}                     },
        {"all",
         {TY_REFUSED, TY_REFUSED, TY_REFUSED, TY_REFUSED, TY_REFUSED, TY_REFUSED, TY_REFUSED,
          TY_REFUSED, TY_REFUSED, TY_REFUSED}                                                     },
    };
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct counted writes[WRITES];
        struct ty_tenant_counts before;
        struct ty_tenant_counts after;
        int good = 0;
        assert_int_equal(ty_tenants_count(fixture->reader, fixture->tenant, &before, &err), TY_OK);
        for (size_t w = 0; w < WRITES; w++) {
            counted_init(&writes[w], fixture);
            writes[w].asked = cases[i].asked[w];
            good += cases[i].asked[w] == TY_OK;
            assert_int_equal(ty_store_write(fixture->store, &writes[w].write, &err), TY_OK);
        }
        assert_int_equal(ty_store_drain(fixture->store), WRITES);
        for (size_t w = 0; w < WRITES; w++) {
            assert_int_equal(writes[w].ended, 1);
            assert_int_equal(writes[w].told, cases[i].asked[w]);
            assert_string_equal(writes[w].code, cases[i].asked[w] ? "on_purpose" : "");
        }
        assert_int_equal(ty_tenants_count(fixture->reader, fixture->tenant, &after, &err), TY_OK);
        assert_int_equal(after.jobs, before.jobs + good);
        assert_int_equal(after.last_event, before.last_event + good);
    }
}

static void a_full_queue_refuses_and_calls_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct counted writes[4];
    store_fixture_close(fixture);
    fixture->options.queue_capacity = 3;
    store_fixture_open(fixture);
    for (size_t i = 0; i < 4; i++) {
        counted_init(&writes[i], fixture);
        ty_status status = ty_store_write(fixture->store, &writes[i].write, &err);
        assert_int_equal(status, i < 3 ? TY_OK : TY_UNAVAILABLE);
    }
    assert_string_equal(err.code, "write_queue_full");
    struct ty_store_figures figures;
    ty_store_figures(fixture->store, &figures);
    assert_int_equal(figures.queue_depth, 3);
    assert_int_equal(ty_store_drain(fixture->store), 3);
    assert_int_equal(writes[3].applied, 0);
    assert_int_equal(writes[3].ended, 0);
    assert_int_equal(ty_store_write(fixture->store, &writes[3].write, &err), TY_OK);
    assert_int_equal(ty_store_drain(fixture->store), 1);
    assert_int_equal(writes[3].told, TY_OK);
}

static void closing_finishes_what_is_queued(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct counted writes[200];
    for (size_t i = 0; i < UNIT_COUNT(writes); i++) {
        counted_init(&writes[i], fixture);
        assert_int_equal(ty_store_write(fixture->store, &writes[i].write, &err), TY_OK);
    }
    store_fixture_close(fixture);
    for (size_t i = 0; i < UNIT_COUNT(writes); i++)
        assert_int_equal(writes[i].told, TY_OK);
    store_fixture_open(fixture);
    struct ty_tenant_counts counts;
    assert_int_equal(ty_tenants_count(fixture->reader, fixture->tenant, &counts, &err), TY_OK);
    assert_int_equal(counts.jobs, UNIT_COUNT(writes));
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, store_fixture_setup, store_fixture_teardown)
#define THREADED(name) cmocka_unit_test_setup_teardown(name, start_threaded, store_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_second_opener_is_refused_with_the_process_number),
        TEST(a_lock_that_a_dead_daemon_left_to_its_child_is_waited_for),
        TEST(a_foreign_writer_keeps_the_store_closed),
        TEST(a_missing_folder_has_its_own_words),
        TEST(what_was_written_is_there_after_a_restart),
        TEST(files_are_for_their_owner_only),
        TEST(a_damaged_key_is_told),
        TEST(a_newer_database_is_refused_and_left_alone),
        TEST(a_database_of_another_program_is_refused_and_left_alone),
        TEST(every_older_version_is_brought_up),
        TEST(tenants_from_before_policies_may_do_what_they_could),
        TEST(a_failing_migration_leaves_the_version_before_it),
        TEST(every_statement_of_the_table_can_be_prepared),
        TEST(no_statement_scans_a_table_that_grows_with_the_jobs),
        TEST(a_file_that_is_no_database_is_told),
        THREADED(a_large_database_is_checked_beside_the_service),
        TEST(flipped_bytes_are_told_at_the_start),
        TEST(a_full_disk_is_told_and_left_by_itself),
        TEST(a_failed_sync_stops_writes_until_the_next_start),
        TEST(a_write_error_is_told_and_left_by_itself),
        THREADED(a_real_full_disk_is_told_and_left_by_itself),
        TEST(a_read_only_folder_has_its_own_words),
        TEST(one_failing_write_does_not_undo_the_others),
        TEST(a_full_queue_refuses_and_calls_nothing),
        THREADED(closing_finishes_what_is_queued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
